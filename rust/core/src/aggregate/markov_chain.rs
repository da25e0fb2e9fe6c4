//! [`MarkovChain`]: orders labels by the stationary distribution of a Markov chain that moves to labels ranked higher.

use super::stationary::{residual, Elimination};
use super::threshold::exceeds;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{PairCounts, PairOrderMatrix, RowShares};
use crate::run::Interrupt;

/// Labels are tied if their probabilities differ by no more than this.
pub(super) const TIE_TOLERANCE: f64 = 1e-10;

/// One of the four Markov chains of rank aggregation.
///
/// Let n be the number of labels, C(u,v) the share of rankings that place u before v (ties count half), N(u) the weight
/// of the rows that rank u, and ge(v,u) the weight of the rows that place v at least as high as u. The chain moves from
/// u to v with probability
/// - MC1: proportional to ge(v,u), over all v;
/// - MC2: that of picking a row that ranks u, then one of its labels at least as high as u;
/// - MC3: ge(v,u) / (N(u)·n) for v ≠ u, and stays otherwise;
/// - MC4: 1/n for each v ≠ u with C(u,v) ≤ ½, and stays otherwise.
///
/// From a label that no row ranks, the chain moves to a label drawn uniformly. Labels are sorted by the limit of the
/// distribution from the uniform start; neighbours that differ by at most 1e-10 are tied, and ties cascade. The limit
/// exists because every label has a self-loop. It does not depend on the order of the labels, even if the stationary
/// distribution is not unique. O(n³) for the limit.
///
/// Reference: C. Dwork, R. Kumar, M. Naor and D. Sivakumar, *Rank aggregation methods for the web*, WWW 2001.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkovChain {
    variant: ChainVariant,
}

/// Which of the four chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChainVariant {
    Mc1,
    Mc2,
    Mc3,
    Mc4,
}

impl MarkovChain {
    /// The chain MC1, MC2, MC3 or MC4.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `variant` is 1, 2, 3 or 4.
    pub fn new(variant: u8) -> Result<Self> {
        let variant = match variant {
            1 => ChainVariant::Mc1,
            2 => ChainVariant::Mc2,
            3 => ChainVariant::Mc3,
            4 => ChainVariant::Mc4,
            _ => {
                return Err(Error::Parameter {
                    name: "variant",
                    found: variant.into(),
                    expected: "1, 2, 3 or 4",
                })
            }
        };
        Ok(Self { variant })
    }

    /// The number of the chain, 1 to 4.
    #[must_use]
    pub fn variant(&self) -> u8 {
        match self.variant {
            ChainVariant::Mc1 => 1,
            ChainVariant::Mc2 => 2,
            ChainVariant::Mc3 => 3,
            ChainVariant::Mc4 => 4,
        }
    }

    /// Writes the transition probabilities of this chain.
    fn fill(self, evidence: &Evidence, chain: &mut TransitionMatrix) -> Result<()> {
        chain.reset(evidence.labels());
        match self.variant {
            ChainVariant::Mc1 => chain.fill_mc1(counts(evidence, "MarkovChain(1)")?),
            ChainVariant::Mc2 => {
                chain.fill_mc2(evidence.row_shares().ok_or(Error::TooLittleKnown {
                    method: "MarkovChain(2)",
                    needed: "the rankings themselves",
                    known: evidence.describe(),
                })?);
            }
            ChainVariant::Mc3 => chain.fill_mc3(counts(evidence, "MarkovChain(3)")?),
            ChainVariant::Mc4 => chain.fill_mc4(evidence.pair_order()),
        }
        Ok(())
    }

    /// Writes the stationary distribution to the scores of the workspace.
    pub(super) fn fill_scores(self, evidence: &Evidence, workspace: &mut Workspace) -> Result<()> {
        let Workspace { chain, scores, .. } = workspace;
        self.fill(evidence, chain)?;
        chain.elimination.run(&mut chain.moves, scores)
    }
}

fn counts<'a>(evidence: &'a Evidence, method: &'static str) -> Result<&'a PairCounts> {
    evidence.counts().ok_or(Error::TooLittleKnown {
        method,
        needed: "the rankings or their pair counts",
        known: evidence.describe(),
    })
}

impl Aggregate for MarkovChain {
    fn needs(&self) -> Needs {
        match self.variant {
            ChainVariant::Mc1 | ChainVariant::Mc3 => Needs::Counts,
            ChainVariant::Mc2 => Needs::RowStatistics,
            ChainVariant::Mc4 => Needs::PairOrder,
        }
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.fill_scores(evidence, workspace)?;
        let Workspace { scores, order, .. } = workspace;
        Ok(BucketOrder::from_scores_with_buffer(
            scores,
            |drop| drop <= TIE_TOLERANCE,
            order,
        ))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let order = self.aggregate(evidence, workspace)?;
        // The elimination overwrote the chain.
        self.fill(evidence, &mut workspace.chain)?;
        let stationary = workspace.scores.clone();
        let residual = residual(&workspace.chain.moves, &stationary);
        Ok(Explanation {
            order,
            details: Details::MarkovChain {
                stationary,
                residual,
            },
        })
    }
}

/// Transition probabilities between different labels.
#[derive(Debug, Default)]
pub(super) struct TransitionMatrix {
    /// Row-major probabilities; the diagonal is not read.
    moves: Vec<f64>,
    labels: usize,
    elimination: Elimination,
}

impl TransitionMatrix {
    pub(super) fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.elimination.set_interrupt(interrupt);
    }

    fn reset(&mut self, labels: usize) {
        self.labels = labels;
        self.moves.clear();
        self.moves.resize(labels * labels, 0.0);
    }

    /// Calls `fill` for the row of each label that is ranked; the others get the uniform row.
    fn fill_ranked(
        &mut self,
        ranked: impl Fn(usize) -> f64,
        fill: impl Fn(usize, f64, &mut [f64]),
    ) {
        let n = self.labels;
        for (u, moves) in self.moves.chunks_exact_mut(n).enumerate() {
            let weight = ranked(u);
            if weight > 0.0 {
                fill(u, weight, moves);
            } else {
                moves.fill(1.0 / n as f64);
            }
        }
    }

    fn fill_mc1(&mut self, counts: &PairCounts) {
        counts.write_at_least_as_high(&mut self.moves);
        self.fill_ranked(
            |u| counts.ranked(u),
            |_, weight, moves| {
                // Divide by N(u) before summing, because the sum of the weights could overflow.
                let mut total = 0.0;
                for p in moves.iter_mut() {
                    *p /= weight;
                    total += *p;
                }
                for p in moves.iter_mut() {
                    *p /= total;
                }
            },
        );
    }

    fn fill_mc2(&mut self, shares: &RowShares) {
        self.fill_ranked(
            |u| shares.ranked(u),
            |u, weight, moves| {
                for (v, p) in moves.iter_mut().enumerate() {
                    *p = shares.sum(u, v) / weight;
                }
            },
        );
    }

    fn fill_mc3(&mut self, counts: &PairCounts) {
        let n = self.labels as f64;
        counts.write_at_least_as_high(&mut self.moves);
        self.fill_ranked(
            |u| counts.ranked(u),
            |_, weight, moves| {
                for p in moves.iter_mut() {
                    *p = *p / weight / n;
                }
            },
        );
    }

    fn fill_mc4(&mut self, pair_order: &PairOrderMatrix) {
        let step = 1.0 / self.labels as f64;
        for (p, &c) in self.moves.iter_mut().zip(pair_order.as_slice()) {
            *p = if exceeds(c, 0.5) { 0.0 } else { step };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use ndarray::array;

    fn stationary(variant: u8, y: &Rankings) -> Vec<f64> {
        let chain = MarkovChain::new(variant).unwrap();
        let evidence =
            Evidence::from_rankings(y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        match chain
            .explain(&evidence, &mut Workspace::default())
            .unwrap()
            .details
        {
            Details::MarkovChain {
                stationary,
                residual,
            } => {
                assert!(residual < 1e-15);
                stationary
            }
            _ => panic!("details of another method"),
        }
    }

    #[test]
    fn stationary_distributions_of_two_opposed_rows() {
        // A row of weight 3 places label 0 first; a row of weight 1 places label 1 first.
        let y = array![[1.0, 2.0], [2.0, 1.0]];
        let y = Rankings::new(y.view(), Some(&[3.0, 1.0]), &Interrupt::never()).unwrap();
        // MC1: P(0,1) = (1/4)/(5/4) = 1/5, P(1,0) = (3/4)/(7/4) = 3/7. MC2 and MC3: (1/4)/2 and (3/4)/2.
        for (variant, odds) in [(1, 15.0 / 7.0), (2, 3.0), (3, 3.0)] {
            let p = stationary(variant, &y);
            assert!((p[0] / p[1] - odds).abs() < 1e-12, "MC{variant}: {p:?}");
        }
        assert_eq!(stationary(4, &y), [1.0, 0.0]);
    }

    #[test]
    fn errors_name_the_chain_that_works_on_a_pair_order_matrix() {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::undecided(3));
        for variant in 1..=3 {
            let chain = MarkovChain::new(variant).unwrap();
            let error = chain
                .aggregate(&evidence, &mut Workspace::default())
                .unwrap_err();
            assert!(error.to_string().contains("MarkovChain(4)"), "{error}");
        }
        assert!(MarkovChain::new(0).is_err() && MarkovChain::new(5).is_err());
    }
}
