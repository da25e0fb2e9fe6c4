//! [`Impurity`]: impurity of a set of rows, by entropy or by distance from the consensus (one ranking that an
//! aggregator computes from the rows).

use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairCounts;
use crate::rankings::Rankings;

use super::entropy::{IntegerEntropy, RoundedEntropy};
use crate::tree::params::Criterion;

/// Rows of a dataset with their pair counts.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// All rankings of the dataset.
    pub rankings: &'a Rankings,
    /// Indices of the sample's rows, in any order.
    pub rows: &'a [u32],
    /// Per pair of labels the weights of these rows that rank the first label before, tied with or after the second.
    pub counts: &'a PairCounts,
}

/// Aggregates a sample into a bucket order, for the criteria that compare rows with their consensus.
pub trait Consensus: Sync {
    /// The consensus of the rows.
    ///
    /// # Errors
    /// Any error of the aggregation.
    fn consensus(&self, sample: &Sample<'_>) -> Result<BucketOrder>;
}

impl<F: Fn(&Sample<'_>) -> Result<BucketOrder> + Sync> Consensus for F {
    fn consensus(&self, sample: &Sample<'_>) -> Result<BucketOrder> {
        self(sample)
    }
}

/// Computes the impurity of sets of rows.
pub(crate) enum Impurity<'a> {
    Entropy(EntropyScore),
    /// Mean cost of the rows relative to their consensus.
    Consensus {
        consensus: &'a dyn Consensus,
        costs: PairCosts,
    },
}

/// Result of a criterion for a set of rows, from which the improvement of a split is computed: an integer score for
/// entropy, the impurity itself for the consensus criteria.
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
        let costs = match criterion {
            Criterion::Entropy => {
                return Ok(Self::Entropy(EntropyScore::new(rankings)));
            }
            Criterion::Disagreements => PairCosts {
                opposite: 1.0,
                one_tied: 1.0,
            },
            Criterion::Distance => PairCosts {
                opposite: 2.0,
                one_tied: 1.0,
            },
        };
        let consensus = consensus.ok_or(Error::NoConsensus)?;
        Ok(Self::Consensus { consensus, costs })
    }

    /// Cost of a sample of weight `weight`: of a node of weight `node_weight`, or of a child of this node.
    pub(crate) fn cost(&self, node_weight: f64, weight: f64, sample: &Sample<'_>) -> Result<Cost> {
        let counts = sample.counts;
        Ok(match self {
            Self::Entropy(entropy) => {
                let columns = counts.table().triples().map(|triple| (1, triple));
                Cost::Integer(entropy.score(node_weight, weight, columns))
            }
            Self::Consensus { consensus, costs } => {
                Cost::Real(costs.mean(counts, &consensus.consensus(sample)?))
            }
        })
    }

    /// Impurity of a node, given its weight and cost.
    pub(crate) fn impurity(&self, weight: f64, cost: Cost) -> f64 {
        match (self, cost) {
            (Self::Entropy(entropy), Cost::Integer(score)) => entropy.impurity(weight, score),
            (_, Cost::Integer(value)) => value as f64,
            (_, Cost::Real(value)) => value,
        }
    }

    /// Improvement of a split: the node's impurity minus the weighted mean of its children's impurities.
    pub(crate) fn improvement(&self, node: (f64, Cost), children: &[(f64, Cost)]) -> f64 {
        if let (Self::Entropy(entropy), Cost::Integer(score)) = (self, node.1) {
            let integer = |&(weight, cost): &(f64, Cost)| match cost {
                Cost::Integer(value) => (weight, value),
                Cost::Real(value) => (weight, value as i64),
            };
            let children: Vec<(f64, i64)> = children.iter().map(integer).collect();
            return entropy.improvement((node.0, score), &children);
        }
        let below: f64 = children
            .iter()
            .map(|&(weight, cost)| weight * self.impurity(weight, cost))
            .sum();
        self.impurity(node.0, node.1) - below / node.0
    }
}

/// Integer scores of sets of rows by the entropy criterion, computed from their weights of before, tied and after.
pub(crate) enum EntropyScore {
    /// For complete rankings with integer weights.
    Integer(IntegerEntropy),
    /// With missing labels or fractional weights.
    Rounded(RoundedEntropy),
}

impl EntropyScore {
    pub(crate) fn new(rankings: &Rankings) -> Self {
        let pairs = rankings.labels() * (rankings.labels() - 1) / 2;
        match integer_total_weight(rankings) {
            Some(total) if rankings.is_complete() => {
                Self::Integer(IntegerEntropy::new(pairs, total))
            }
            _ => Self::Rounded(RoundedEntropy::new(pairs)),
        }
    }

    /// Score of rows of weight `weight`, all in a node of weight `node_weight`. An item of `columns` is a number of
    /// pairs of labels with equal weights, and these weights of before, tied and after.
    pub(crate) fn score(
        &self,
        node_weight: f64,
        weight: f64,
        columns: impl Iterator<Item = (i64, [f64; 3])>,
    ) -> i64 {
        match self {
            Self::Integer(entropy) => {
                let table = entropy.table_for(node_weight as u64);
                let seen = table.get(weight as u64);
                let score = |[b, t, a]: [f64; 3]| {
                    table.get(b as u64) + table.get(a as u64) + table.get(t as u64) - seen
                };
                columns.map(|(pairs, triple)| pairs * score(triple)).sum()
            }
            Self::Rounded(rounding) => columns
                .map(|(pairs, [b, t, a])| pairs * rounding.entropy(b, t, a))
                .sum(),
        }
    }

    /// Impurity of a node, given its weight and score.
    pub(crate) fn impurity(&self, weight: f64, score: i64) -> f64 {
        match self {
            Self::Integer(entropy) => entropy.impurity(weight as u64, score),
            Self::Rounded(rounding) => rounding.impurity(score),
        }
    }

    /// Improvement of a split, given (weight, score) of the node and of each child.
    pub(crate) fn improvement(&self, node: (f64, i64), children: &[(f64, i64)]) -> f64 {
        match self {
            Self::Integer(entropy) => {
                let below: i64 = children.iter().map(|child| child.1).sum();
                entropy.improvement(node.0 as u64, below - node.1)
            }
            Self::Rounded(rounding) => rounding.improvement(node, children.iter().copied()),
        }
    }
}

/// Sum of the weights, if all are integers and the sum is below 2⁴⁰.
pub(crate) fn integer_total_weight(rankings: &Rankings) -> Option<u64> {
    let weights = rankings.weights();
    let total = weights.total();
    let are_integers = (0..rankings.len()).all(|row| weights.get(row).fract() == 0.0);
    (are_integers && total < (1_u64 << 40) as f64).then_some(total as u64)
}

/// Whether, for every pair of labels, all rows that rank both agree.
pub(crate) fn is_pure(counts: &PairCounts) -> bool {
    let mut triples = counts.table().triples();
    triples.all(|triple| triple.iter().filter(|&&weight| weight > 0.0).count() <= 1)
}

/// Cost of a row on a pair of labels on which it disagrees with the consensus.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairCosts {
    /// Row and consensus order the pair oppositely.
    opposite: f64,
    /// Exactly one of row and consensus ties the pair.
    one_tied: f64,
}

impl PairCosts {
    /// Mean over all pairs of the mean cost per row that ranks both labels; 0 for a pair that no row ranks.
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
                            self.opposite * after + self.one_tied * counts.tied(u, v)
                        }
                        std::cmp::Ordering::Equal => self.one_tied * (before + after),
                        std::cmp::Ordering::Greater => {
                            self.opposite * before + self.one_tied * counts.tied(u, v)
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
    fn consensus_costs_match_their_definitions() {
        // Pair (0,1): before twice, tied once, after once; the other pairs are unseen.
        let nan = f64::NAN;
        let y = array![
            [1.0, 2.0, nan],
            [1.0, 2.0, nan],
            [1.0, 1.0, nan],
            [2.0, 1.0, nan]
        ];
        let counts = PairCounts::from_rankings(
            &Rankings::new(y.view(), None, &Interrupt::never()).unwrap(),
            &Interrupt::never(),
        )
        .unwrap();
        let before = BucketOrder::from_scores(&[3.0, 2.0, 1.0], |_| false);
        let tied = BucketOrder::all_tied(3);
        let disagreements = PairCosts {
            opposite: 1.0,
            one_tied: 1.0,
        };
        let distance = PairCosts {
            opposite: 2.0,
            one_tied: 1.0,
        };
        assert_eq!(disagreements.mean(&counts, &before), 2.0 / 4.0 / 3.0);
        assert_eq!(disagreements.mean(&counts, &tied), 3.0 / 4.0 / 3.0);
        assert_eq!(distance.mean(&counts, &before), 3.0 / 4.0 / 3.0);
        assert_eq!(distance.mean(&counts, &tied), 3.0 / 4.0 / 3.0);
        assert!(!is_pure(&counts));
    }

    #[test]
    fn consensus_criteria_require_an_aggregator() {
        let y = array![[1, 2_i64]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        assert_eq!(
            Impurity::new(Criterion::Distance, &rankings, None).err(),
            Some(Error::NoConsensus)
        );
    }
}
