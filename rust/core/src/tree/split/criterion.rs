//! Impurity of any set of rows: the entropy criteria and those that need a consensus.

use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairCounts;
use crate::rankings::Rankings;

use super::entropy::{Exact, Seen};
use crate::tree::params::Criterion;

/// Rows of a data set with their pair counts.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// All rankings of the data set.
    pub rankings: &'a Rankings,
    /// The rows that belong to the sample, in no particular order.
    pub rows: &'a [u32],
    /// The pair counts of those rows.
    pub counts: &'a PairCounts,
}

/// Makes a bucket order of a sample; the criteria that compare rows with their consensus ask for it.
pub trait Consensus: Sync {
    /// The consensus of the rows.
    ///
    /// # Errors
    /// Whatever the aggregation reports.
    fn consensus(&self, sample: &Sample<'_>) -> Result<BucketOrder>;
}

impl<F: Fn(&Sample<'_>) -> Result<BucketOrder> + Sync> Consensus for F {
    fn consensus(&self, sample: &Sample<'_>) -> Result<BucketOrder> {
        self(sample)
    }
}

/// Impurity of sets of rows in the form that splits are compared in.
pub(crate) enum Impurity<'a> {
    Exact(Exact),
    Seen(Seen),
    Consensus {
        consensus: &'a dyn Consensus,
        costs: PairCosts,
    },
}

/// A set's part in an improvement. Integers for entropy; the impurity itself for the consensus criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    Integer(i64),
    Real(f64),
}

impl<'a> Impurity<'a> {
    pub(crate) fn new(
        criterion: Criterion,
        rankings: &Rankings,
        consensus: Option<&'a dyn Consensus>,
    ) -> Result<Self> {
        let pairs = rankings.labels() * (rankings.labels() - 1) / 2;
        let costs = match criterion {
            Criterion::Entropy => {
                return Ok(match whole_total(rankings) {
                    Some(total) if rankings.is_complete() => Self::Exact(Exact::new(pairs, total)),
                    _ => Self::Seen(Seen::new(pairs)),
                });
            }
            Criterion::Disagreements => PairCosts {
                opposite: 1.0,
                half: 1.0,
            },
            Criterion::Distance => PairCosts {
                opposite: 2.0,
                half: 1.0,
            },
        };
        let consensus = consensus.ok_or(Error::NoConsensus)?;
        Ok(Self::Consensus { consensus, costs })
    }

    /// Cost of a sample as part of a node of weight `node`.
    pub(crate) fn cost(&self, node: f64, weight: f64, sample: &Sample<'_>) -> Result<Cost> {
        let counts = sample.counts;
        let n = counts.labels();
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        let triples =
            pairs.map(|(u, v)| [counts.before(u, v), counts.tied(u, v), counts.before(v, u)]);
        Ok(match self {
            Self::Exact(exact) => {
                let class = exact.class(node as u64);
                let whole = class.get(weight as u64);
                Cost::Integer(
                    triples
                        .map(|[b, t, a]| {
                            class.get(b as u64) + class.get(a as u64) + class.get(t as u64) - whole
                        })
                        .sum(),
                )
            }
            Self::Seen(seen) => Cost::Integer(triples.map(|[b, t, a]| seen.entropy(b, t, a)).sum()),
            Self::Consensus { consensus, costs } => {
                Cost::Real(costs.mean(counts, &consensus.consensus(sample)?))
            }
        })
    }

    /// Impurity of a node from its own cost.
    pub(crate) fn impurity(&self, weight: f64, cost: Cost) -> f64 {
        match (self, cost) {
            (Self::Exact(exact), Cost::Integer(score)) => exact.impurity(weight as u64, score),
            (Self::Seen(seen), Cost::Integer(entropy)) => seen.impurity(entropy),
            (_, Cost::Integer(value)) => value as f64,
            (_, Cost::Real(value)) => value,
        }
    }

    /// Improvement of a split: impurity of the node minus the weighted impurities of its children.
    pub(crate) fn improvement(&self, node: (f64, Cost), children: &[(f64, Cost)]) -> f64 {
        let integers = |children: &[(f64, Cost)]| -> Vec<(f64, i64)> {
            let whole = |&(weight, cost): &(f64, Cost)| match cost {
                Cost::Integer(value) => (weight, value),
                Cost::Real(value) => (weight, value as i64),
            };
            children.iter().map(whole).collect()
        };
        match (self, node.1) {
            (Self::Exact(exact), Cost::Integer(score)) => {
                let below: i64 = integers(children).iter().map(|child| child.1).sum();
                exact.improvement(node.0 as u64, below - score)
            }
            (Self::Seen(seen), Cost::Integer(entropy)) => {
                seen.improvement((node.0, entropy), integers(children).into_iter())
            }
            _ => {
                let below: f64 = children
                    .iter()
                    .map(|&(weight, cost)| weight * self.impurity(weight, cost))
                    .sum();
                self.impurity(node.0, node.1) - below / node.0
            }
        }
    }
}

/// The sum of the weights when all are whole and the sum is exact.
pub(crate) fn whole_total(rankings: &Rankings) -> Option<u64> {
    let weights = rankings.weights();
    let total = weights.total();
    let whole = (0..rankings.len()).all(|row| weights.get(row).fract() == 0.0);
    (whole && total < (1_u64 << 40) as f64).then_some(total as u64)
}

/// Whether the rows that rank both labels agree, for every pair of labels.
pub(crate) fn is_pure(counts: &PairCounts) -> bool {
    let n = counts.labels();
    (0..n).all(|u| {
        (u + 1..n).all(|v| {
            let kinds = [counts.before(u, v), counts.tied(u, v), counts.before(v, u)];
            kinds.iter().filter(|&&weight| weight > 0.0).count() <= 1
        })
    })
}

/// What a row costs on a pair where it does not agree with the consensus.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairCosts {
    /// Strictly opposite orders.
    opposite: f64,
    /// One ties, the other does not.
    half: f64,
}

impl PairCosts {
    /// Mean over the pairs of the cost per row that ranks both; an unseen pair costs nothing.
    fn mean(self, counts: &PairCounts, order: &BucketOrder) -> f64 {
        let n = counts.labels();
        let positions = order.positions();
        let mut sum = 0.0;
        for u in 0..n {
            for v in u + 1..n {
                let seen = counts.seen(u, v);
                if seen > 0.0 {
                    let (before, after) = (counts.before(u, v), counts.before(v, u));
                    let cost = match positions[u].cmp(&positions[v]) {
                        std::cmp::Ordering::Less => {
                            self.opposite * after + self.half * counts.tied(u, v)
                        }
                        std::cmp::Ordering::Equal => self.half * (before + after),
                        std::cmp::Ordering::Greater => {
                            self.opposite * before + self.half * counts.tied(u, v)
                        }
                    };
                    sum += cost / seen;
                }
            }
        }
        sum / (n * (n - 1) / 2) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn consensus_costs_follow_their_definitions() {
        // Pair (0,1): before twice, tied once, after once; the other pairs are unseen.
        let nan = f64::NAN;
        let y = array![
            [1.0, 2.0, nan],
            [1.0, 2.0, nan],
            [1.0, 1.0, nan],
            [2.0, 1.0, nan]
        ];
        let counts =
            PairCounts::from_rankings(&Rankings::new(y.view(), None).unwrap(), &Interrupt::never())
                .unwrap();
        let before = BucketOrder::from_scores(&[3.0, 2.0, 1.0], |_| false);
        let tied = BucketOrder::all_tied(3);
        let disagreements = PairCosts {
            opposite: 1.0,
            half: 1.0,
        };
        let distance = PairCosts {
            opposite: 2.0,
            half: 1.0,
        };
        assert_eq!(disagreements.mean(&counts, &before), 2.0 / 4.0 / 3.0);
        assert_eq!(disagreements.mean(&counts, &tied), 3.0 / 4.0 / 3.0);
        assert_eq!(distance.mean(&counts, &before), 3.0 / 4.0 / 3.0);
        assert_eq!(distance.mean(&counts, &tied), 3.0 / 4.0 / 3.0);
        assert!(!is_pure(&counts));
    }

    #[test]
    fn criteria_with_a_consensus_need_one() {
        let y = array![[1, 2_i64]];
        let rankings = Rankings::new(y.view(), None).unwrap();
        assert_eq!(
            Impurity::new(Criterion::Distance, &rankings, None).err(),
            Some(Error::NoConsensus)
        );
    }
}
