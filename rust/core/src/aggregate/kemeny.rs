//! [`Kemeny`]: the bucket order with the smallest total distance to the rankings.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::optimum::{
    refine_groups, search_locally, solve, Buckets, PairValues, SearchLimits, Solution,
};
use super::tau_x::BucketCutter;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairTable;

/// Largest number of steps of the automatic search in branch and bound: about a second.
const AUTO_STEPS: u64 = 1_000_000_000;

/// Range of positive label weights: the product of two label weights and a ranking weight neither overflows nor
/// vanishes.
const LABEL_WEIGHTS: RangeInclusive<f64> = 1e-70..=1e70;

/// How the bucket order of [`Kemeny`] is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KemenySearch {
    /// The exact search, which returns the best order found so far after a fixed number of steps. The result is
    /// reproducible, unless a time limit is given.
    #[default]
    Auto,
    /// Exact, until the optimum is proven or the time or memory limit is reached. Components (sets of labels that can
    /// be ordered independently of each other) of more than 64 labels are searched locally, with restarts.
    Exact,
    /// Local search by moves of single labels.
    Local,
}

/// Parameters of [`Kemeny`].
#[derive(Debug, Clone, PartialEq)]
pub struct KemenyParams {
    /// Distance of a pair that is tied in one order and strict in the other; a reversed pair has distance 1.
    pub penalty: f64,
    /// Permitted bucket orders.
    pub buckets: Buckets,
    /// The search.
    pub search: KemenySearch,
    /// Longest time of the exact search in seconds.
    pub time_limit: Option<f64>,
    /// Weight per label, 0 or from 1e-70 to 1e70: a pair weighs the product of its labels' weights.
    pub label_weights: Option<Vec<f64>>,
}

impl Default for KemenyParams {
    /// Penalty ½, all bucket orders.
    fn default() -> Self {
        Self {
            penalty: 0.5,
            buckets: Buckets::Any,
            search: KemenySearch::Auto,
            time_limit: None,
            label_weights: None,
        }
    }
}

/// Kemeny's consensus: the bucket order with the smallest sum of distances K^(p) to the rankings.
///
/// Per pair of labels a ranking and the consensus have distance 1 when they order it in opposite ways, and p (the
/// penalty) when it is tied in one and strict in the other; pairs that a ranking does not rank are ignored. With
/// p = ½ this is half the distance of Kemeny and Snell, and on complete rankings the consensus is that of
/// [`TauX`](super::TauX). For p from ½ to 1, K^(p) is a metric. For p > ½, ordering two labels may be cheaper than
/// tying them although the rankings do not distinguish them; the order of the labels in the search then decides.
///
/// Among bucket orders of equal distance, one with the most ties is chosen; among these, the first that the search
/// finds. The search indexes labels in the order in which [`TauX`](super::TauX) sorts them: by net preference (summed
/// over the other labels, the weight of the rankings that place the label before the other, minus the weight of those
/// that place it after), then by two keys for equal net preferences. Labels that are still equal are ordered by their
/// sorted costs against all other labels, then by their index in the data.
///
/// References: J. G. Kemeny, *Mathematics without numbers*, Daedalus 88, 1959; R. Fagin, R. Kumar, M. Mahdian,
/// D. Sivakumar and E. Vee, *Comparing partial rankings*, SIAM Journal on Discrete Mathematics 20, 2006.
#[derive(Debug, Clone, PartialEq)]
pub struct Kemeny {
    penalty: f64,
    buckets: Buckets,
    search: KemenySearch,
    time_limit: Option<Duration>,
    label_weights: Option<Arc<[f64]>>,
}

impl Kemeny {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the penalty is from 0 to 1, the time limit is not negative, and label weights are 0
    /// or from 1e-70 to 1e70, with at least one above 0.
    pub fn new(params: KemenyParams) -> Result<Self> {
        let invalid = |name, found, expected| Error::Parameter {
            name,
            found,
            expected,
        };
        if !(0.0..=1.0).contains(&params.penalty) {
            return Err(invalid("penalty", params.penalty, "a number from 0 to 1"));
        }
        let time_limit = params.time_limit.map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                invalid(
                    "time_limit",
                    seconds,
                    "a number of seconds that is not negative",
                )
            })
        });
        let weights = params.label_weights.as_deref().unwrap_or(&[1.0]);
        let is_weight = |weight: &f64| *weight == 0.0 || LABEL_WEIGHTS.contains(weight);
        if let Some(&weight) = weights.iter().find(|weight| !is_weight(weight)) {
            let expected = "0 or numbers from 1e-70 to 1e70";
            return Err(invalid("label_weights", weight, expected));
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(invalid("label_weights", 0.0, "at least one weight above 0"));
        }
        Ok(Self {
            penalty: params.penalty,
            buckets: params.buckets.checked()?,
            search: params.search,
            time_limit: time_limit.transpose()?,
            label_weights: params.label_weights.map(Arc::from),
        })
    }

    /// Estimated nanoseconds for one consensus.
    pub(super) fn estimate_cost(&self, labels: usize) -> usize {
        let exact = match self.search {
            KemenySearch::Local => 0,
            _ => 3_usize.pow(labels.min(14) as u32),
        };
        labels.saturating_mul(labels).saturating_mul(40) + exact
    }

    /// Weights of before, tied and after per pair: the counts or, without counts, the pair shares, as if they were the
    /// counts of one ranking.
    fn pairs(evidence: &Evidence) -> Result<&PairTable<f64>> {
        let counts = evidence.counts().map(crate::pairs::PairCounts::table);
        let shares = evidence.pair_shares().map(crate::pairs::PairShares::table);
        counts.or(shares).ok_or(Error::TooLittleKnown {
            method: "Kemeny",
            needed: "rankings or the shares of before, tied and after",
            known: evidence.describe(),
        })
    }

    fn check_label_weights(&self, labels: usize) -> Result<()> {
        match &self.label_weights {
            Some(weights) if weights.len() != labels => Err(Error::LabelWeightCount {
                found: weights.len(),
                labels,
            }),
            _ => Ok(()),
        }
    }

    fn pair_weight(&self, u: usize, v: usize) -> f64 {
        let weight = |weights: &Arc<[f64]>| weights[u] * weights[v];
        self.label_weights.as_ref().map_or(1.0, weight)
    }

    /// Costs of u before v, tied, and u after v.
    fn costs(&self, pairs: &PairTable<f64>, u: usize, v: usize) -> [f64; 3] {
        let [before, tied, after] = pairs.get(u, v);
        let (weight, penalty) = (self.pair_weight(u, v), self.penalty);
        [
            after + penalty * tied,
            penalty * (before + after),
            before + penalty * tied,
        ]
        .map(|cost| weight * cost)
    }

    /// Largest cost of a pair, by which costs are divided for the search.
    fn scale(&self, pairs: &PairTable<f64>) -> f64 {
        let n = pairs.labels();
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        let largest = each
            .flat_map(|(u, v)| self.costs(pairs, u, v))
            .fold(0.0, f64::max);
        if largest > 0.0 {
            largest
        } else {
            1.0
        }
    }

    /// Finds the bucket order, and writes the net preferences of the labels to the scores of the workspace.
    ///
    /// In the search, the value of a relation is the mean of both strict costs of the pair minus the cost of the
    /// relation.
    fn find_order(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<ScaledSolution> {
        let pairs = Self::pairs(evidence)?;
        let n = pairs.labels();
        self.check_label_weights(n)?;
        let limits = self.buckets.limits(n)?;
        let scale = self.scale(pairs);
        // The values of u before v and of a tie.
        let value = |u: usize, v: usize| {
            let [before, tied, after] = self.costs(pairs, u, v).map(|cost| cost / scale);
            ((after - before) / 2.0, f64::midpoint(before, after) - tied)
        };
        let order = sort_for_search(n, value, &mut workspace.cutter);
        workspace.scores.clone_from(&workspace.cutter.net);
        let values = PairValues::new(n, |i, j| value(order[i], order[j]));
        let search = |steps| SearchLimits {
            steps,
            time: self.time_limit,
        };
        let interrupt = &workspace.interrupt;
        let solution = match self.search {
            KemenySearch::Auto => solve(&values, limits, search(Some(AUTO_STEPS)), interrupt),
            KemenySearch::Exact => solve(&values, limits, search(None), interrupt),
            KemenySearch::Local => search_locally(&values, limits, interrupt),
        }?;
        let mut positions = vec![0; n];
        for (&label, &bucket) in order.iter().zip(&solution.bucket_of) {
            positions[label] = bucket as u16 + 1;
        }
        Ok(ScaledSolution {
            order: BucketOrder::from_dense(positions),
            solution,
            scale,
        })
    }
}

/// A bucket order, and the result of the search for it.
struct ScaledSolution {
    order: BucketOrder,
    solution: Solution,
    /// The costs were divided by this number, so `solution.bound` is a bound of scaled values.
    scale: f64,
}

/// Sorts the labels for the search, in the order that [`Kemeny`] describes. `cutter`, the dynamic program of `TauX`,
/// computes the keys and keeps the net preferences.
fn sort_for_search(
    n: usize,
    value: impl Fn(usize, usize) -> (f64, f64),
    cutter: &mut BucketCutter,
) -> Vec<usize> {
    cutter.read_values(n, &value);
    let mut order: Vec<usize> = (0..n).collect();
    cutter.sort_labels(&mut order, None);
    refine_groups(&mut order, &mut cutter.equal_labels(n), value);
    order
}

impl Default for Kemeny {
    fn default() -> Self {
        Self {
            penalty: 0.5,
            buckets: Buckets::Any,
            search: KemenySearch::Auto,
            time_limit: None,
            label_weights: None,
        }
    }
}

impl Aggregate for Kemeny {
    fn needs(&self) -> Needs {
        Needs::Counts
    }

    fn preserves_unanimity(&self) -> bool {
        // A penalty of 0 makes ties free, and limits or label weights may forbid the ranking or ignore a pair.
        self.penalty > 0.0 && self.buckets == Buckets::Any && self.label_weights.is_none()
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.find_order(evidence, workspace)
            .map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let found = self.find_order(evidence, workspace)?;
        let pairs = Self::pairs(evidence)?;
        let n = pairs.labels();
        let positions = found.order.positions();
        let (mut distance, mut mean_costs) = (0.0, 0.0);
        for u in 0..n {
            for v in u + 1..n {
                // In scaled costs, because the sum of the costs may overflow.
                let costs = self.costs(pairs, u, v).map(|cost| cost / found.scale);
                distance += match positions[u].cmp(&positions[v]) {
                    std::cmp::Ordering::Less => costs[0],
                    std::cmp::Ordering::Equal => costs[1],
                    std::cmp::Ordering::Greater => costs[2],
                };
                mean_costs += f64::midpoint(costs[0], costs[2]);
            }
        }
        let Solution {
            bound,
            optimal,
            unique,
            components,
            ..
        } = found.solution;
        let lower_bound = if optimal {
            distance
        } else {
            // `bound` is an upper bound of `mean_costs` minus the distance.
            (mean_costs - bound).clamp(0.0, distance)
        };
        Ok(Explanation {
            order: found.order,
            details: Details::Kemeny {
                scores: workspace.scores.clone(),
                distance: distance * found.scale,
                lower_bound: lower_bound * found.scale,
                gap: (distance - lower_bound) * found.scale,
                optimal,
                unique,
                components,
            },
        })
    }
}

#[cfg(test)]
mod tests;
