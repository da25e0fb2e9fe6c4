//! [`TauX`]: the bucket order with the largest expected τ_X.

mod cut;
mod label_order;

pub(super) use cut::BucketCutter;

use std::time::Duration;

use super::optimum::{
    cut_only, refine_groups, search_locally, solve, BucketLimits, Buckets, PairValues,
    SearchLimits, Solution,
};
use super::scorer::Scorer;
use super::threshold::TOLERANCE;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairShares;

/// How to search for the best bucket order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TauXSearch {
    /// One order of the labels, cut into buckets in the best way. O(n²) after the sort.
    #[default]
    Cut,
    /// The cut, improved by moving labels and cutting again. O(n²) per round.
    Local,
    /// All bucket orders. Components (sets of labels that can be ordered independently of each other) of up to 14
    /// labels are solved by dynamic programming, of up to 64 labels by branch and bound, until the optimum is proven or
    /// the time or memory limit is reached. Larger components are searched locally, with restarts.
    Exact,
}

/// The bucket order with the largest expected τ_X (a rank correlation) with a random ranking that has the pair shares
/// of the evidence.
///
/// With the shares before, tied and after of each pair, placing u before v is worth before − after, tying them is
/// worth tied; an unknown pair is worth 0. The method has no threshold. Among bucket orders of equal value it prefers
/// those with more ties: labels without evidence, and labels that the shares do not distinguish, are tied.
///
/// The labels are ordered by the scores of another method, if one is given. Labels that are equal by one key are
/// ordered by the next: net preference `Σ_v (P[u before v] − P[v before u])`, net preference among the equal labels,
/// and the sum of the signed squared leads (a lead is P[u before v] − P[v before u]). Labels that are still equal stay
/// in one bucket in the cut; the local and the exact search order them by the sorted values of their relations to all
/// other labels, and by their index in the data only where these values do not differ. The order is cut by dynamic
/// programming; of the cuts with equal value and equally many ties, the one with the shortest last bucket is chosen.
/// Net preferences within 1e-9 count as equal; a tied pair adds 1e-9 to the value of a cut, and values within 1e-11
/// count as equal.
///
/// Reference: E. J. Emond and D. W. Mason, *A new rank correlation coefficient with application to the consensus
/// ranking problem*, Journal of Multi-Criteria Decision Analysis 11, 2002, for τ_X.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TauX {
    search: TauXSearch,
    order: Option<Scorer>,
    buckets: Buckets,
    time_limit: Option<Duration>,
}

impl TauX {
    /// The consensus by this search, with labels ordered by `order` or, if `None`, by net preference. In the exact
    /// search `order` only decides between equally good results.
    #[must_use]
    pub fn new(search: TauXSearch, order: Option<Scorer>) -> Self {
        Self {
            search,
            order,
            ..Self::default()
        }
    }

    /// The same search among the permitted bucket orders only.
    #[must_use]
    pub fn with_buckets(self, buckets: Buckets) -> Self {
        Self { buckets, ..self }
    }

    /// The same search, which ends its exact part after this time. Results may then depend on the machine.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Option<Duration>) -> Self {
        Self { time_limit, ..self }
    }

    /// Whether the labels are ordered by net preference, which needs only the pair shares.
    pub(super) fn orders_by_net_preference(&self) -> bool {
        self.order.is_none()
    }

    /// Estimated nanoseconds for one consensus.
    pub(super) fn estimate_cost(&self, labels: usize) -> usize {
        let pairs = labels.saturating_mul(labels);
        let order = self.order.map_or(1, |_| labels).saturating_mul(pairs);
        order.saturating_add(match self.search {
            TauXSearch::Cut => pairs.saturating_mul(4),
            TauXSearch::Local => pairs.saturating_mul(40),
            TauXSearch::Exact => 3_usize.pow(labels.min(14) as u32),
        })
    }

    fn shares(evidence: &Evidence) -> Result<&PairShares> {
        evidence.pair_shares().ok_or(Error::TooLittleKnown {
            method: "TauX",
            needed: "the share of before, tied and after of each pair",
            known: evidence.describe(),
        })
    }

    /// Writes the order of the labels and their scores to the workspace.
    fn sort_labels(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<()> {
        if let Some(scorer) = &self.order {
            scorer.fill_scores(evidence, workspace)?;
        }
        let Workspace {
            scores,
            order,
            cutter,
            ..
        } = workspace;
        order.clear();
        order.extend(0..evidence.labels());
        if let Some(scorer) = &self.order {
            cutter.sort_labels(order, Some((scores, scorer.tie_tolerance())));
        } else {
            cutter.sort_labels(order, None);
            scores.clone_from(&cutter.net);
        }
        Ok(())
    }

    /// Finds a bucket order by the configured search.
    fn find_order(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<SearchResult> {
        let shares = Self::shares(evidence)?;
        workspace.cutter.read_shares(shares);
        self.sort_labels(evidence, workspace)?;
        if self.search == TauXSearch::Cut && self.buckets == Buckets::Any {
            let Workspace { order, cutter, .. } = workspace;
            return Ok(SearchResult {
                order: cutter.cut_order(order),
                solution: None,
            });
        }
        let n = shares.labels();
        let limits = self.buckets.limits(n)?;
        let Workspace {
            order,
            cutter,
            interrupt,
            ..
        } = workspace;
        let value = |u: usize, v: usize| {
            let [before, tied, after] = shares.get(u, v);
            (before - after, tied)
        };
        refine_groups(order, &mut cutter.equal_labels(n), value);
        let values = PairValues::new(n, |i, j| value(order[i], order[j]));
        let solution = self.search_values(&values, limits, interrupt)?;
        let mut positions = vec![0; n];
        for (&label, &bucket) in order.iter().zip(&solution.bucket_of) {
            positions[label] = bucket as u16 + 1;
        }
        Ok(SearchResult {
            order: BucketOrder::from_dense(positions),
            solution: Some(solution),
        })
    }

    fn search_values(
        &self,
        values: &PairValues,
        limits: BucketLimits,
        interrupt: &crate::run::Interrupt,
    ) -> Result<Solution> {
        match self.search {
            TauXSearch::Cut => cut_only(values, limits, interrupt),
            TauXSearch::Local => search_locally(values, limits, interrupt),
            TauXSearch::Exact => {
                let search = SearchLimits {
                    steps: None,
                    time: self.time_limit,
                };
                solve(values, limits, search, interrupt)
            }
        }
    }
}

/// A bucket order, with the bound and the proof that its search found.
struct SearchResult {
    order: BucketOrder,
    /// `None` for a cut without limits on the buckets.
    solution: Option<Solution>,
}

impl Aggregate for TauX {
    fn needs(&self) -> Needs {
        self.order
            .map_or(Needs::Shares, |scorer| scorer.needs().max(Needs::Shares))
    }

    fn preserves_unanimity(&self) -> bool {
        self.orders_by_net_preference() && self.buckets == Buckets::Any
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.find_order(evidence, workspace)
            .map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let found = self.find_order(evidence, workspace)?;
        let shares = Self::shares(evidence)?;
        let expected = shares.expected_tau_x(&found.order);
        let mut upper_bound = upper_bound(shares, self.buckets);
        let (mut optimal, mut unique) = (false, None);
        if let Some(solution) = &found.solution {
            (optimal, unique) = (solution.optimal, solution.unique);
            upper_bound = upper_bound.min(solution.bound / shares.pairs() as f64);
        }
        optimal |= upper_bound - expected <= TOLERANCE;
        Ok(Explanation {
            details: Details::TauX {
                scores: workspace.scores.clone(),
                expected_tau_x: expected,
                boundary_gains: boundary_gains(shares, &found.order),
                upper_bound: if optimal { expected } else { upper_bound },
                optimal,
                unique,
            },
            order: found.order,
        })
    }
}

/// Upper bound of the expected τ_X: the best permitted relation of each pair.
fn upper_bound(shares: &PairShares, buckets: Buckets) -> f64 {
    let [before, tied, after] = shares.planes();
    let best = before.iter().zip(tied).zip(after);
    let worth = |b: f64, t: f64, a: f64| match buckets {
        Buckets::Strict => (b - a).abs(),
        _ => (b - a).abs().max(t),
    };
    let sum: f64 = best.map(|((&b, &t), &a)| worth(b, t, a)).sum();
    sum / shares.pairs() as f64
}

/// Per boundary between adjacent buckets: loss of expected τ_X if the buckets were merged.
fn boundary_gains(shares: &PairShares, order: &BucketOrder) -> Vec<f64> {
    let mut gains = vec![0.0; order.buckets().saturating_sub(1)];
    let positions = order.positions();
    for u in 0..positions.len() {
        for v in 0..positions.len() {
            if positions[u] + 1 == positions[v] {
                let [before, tied, after] = shares.get(u, v);
                gains[usize::from(positions[u]) - 1] += before - after - tied;
            }
        }
    }
    for gain in &mut gains {
        *gain /= shares.pairs() as f64;
    }
    gains
}

#[cfg(test)]
mod tests;
