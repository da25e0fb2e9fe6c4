//! [`TauX`]: the bucket order with the largest expected τ_X.

mod cut;
mod exact;
mod local;

pub(super) use cut::BucketCutter;
pub use exact::MAX_EXACT_LABELS;

use super::scorer::Scorer;
use super::threshold::TOLERANCE;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairShares;
use local::PairValues;

/// How the best bucket order is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TauXSearch {
    /// One order of the labels, cut into buckets in the best way. O(n²) after the sort.
    #[default]
    Cut,
    /// The cut, improved by moving labels and cutting again. O(n²) per round.
    Local,
    /// All bucket orders, for up to [`MAX_EXACT_LABELS`] labels. O(3ⁿ).
    Exact,
}

/// The consensus that maximises the expected τ_X with a ranking like those of the evidence.
///
/// With the shares before, tied and after of each pair, placing u before v is worth before − after, tying them is
/// worth tied; an unknown pair is worth 0. The method has no threshold. The labels are ordered by their
/// net preference `Σ_v (P[u before v] − P[v before u])`, equal ones by index, or by the scores of another method,
/// equal ones by net preference; that order is cut by dynamic programming, among equally good cuts with the
/// shortest last bucket. Comparisons treat values within 1e-9 as equal.
///
/// Reference: E. J. Emond and D. W. Mason, *A new rank correlation coefficient with application to the consensus
/// ranking problem*, Journal of Multi-Criteria Decision Analysis 11, 2002, for τ_X.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TauX {
    search: TauXSearch,
    order: Option<Scorer>,
}

impl TauX {
    /// The consensus by this search, with labels ordered by `order` or, if `None`, by net preference. In the exact
    /// search `order` only decides between equally good results.
    #[must_use]
    pub fn new(search: TauXSearch, order: Option<Scorer>) -> Self {
        Self { search, order }
    }

    /// Whether the labels are ordered by net preference, which needs the shares only.
    pub(super) fn orders_by_net_preference(&self) -> bool {
        self.order.is_none()
    }

    /// Estimated cost of one consensus, in elementary steps.
    pub(super) fn estimate_cost(&self, labels: usize) -> usize {
        let order = self.order.map_or(1, |_| labels) * labels.pow(2);
        order
            + match self.search {
                TauXSearch::Cut => 4 * labels.pow(2),
                TauXSearch::Local => 40 * labels.pow(2),
                TauXSearch::Exact => 3_usize.pow(labels.min(MAX_EXACT_LABELS) as u32),
            }
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
        let by_index = |run: &mut [usize]| run.sort_unstable();
        let by_net = |order: &mut [usize]| sort_descending(order, &cutter.net, TOLERANCE, by_index);
        if let Some(scorer) = &self.order {
            sort_descending(order, scores, scorer.tie_tolerance(), by_net);
        } else {
            by_net(order);
            scores.clone_from(&cutter.net);
        }
        Ok(())
    }

    /// Finds a bucket order by the configured search.
    fn find_order(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<SearchResult> {
        let shares = Self::shares(evidence)?;
        let n = shares.labels();
        if self.search == TauXSearch::Exact && n > MAX_EXACT_LABELS {
            return Err(Error::TooManyForExact {
                found: n,
                limit: MAX_EXACT_LABELS,
            });
        }
        workspace.cutter.read_shares(shares);
        self.sort_labels(evidence, workspace)?;
        let Workspace { order, cutter, .. } = workspace;
        let cut_order = cutter.cut_order(order);
        if self.search == TauXSearch::Cut {
            return Ok(SearchResult {
                order: cut_order,
                optimal: false,
            });
        }
        let values = PairValues::new(shares, order);
        let start: Vec<usize> = order
            .iter()
            .map(|&label| usize::from(cut_order.positions()[label]) - 1)
            .collect();
        let mut places = values.improve(start, cutter);
        let mut optimal = false;
        if self.search == TauXSearch::Exact {
            // If every pair attains its best outcome, the result is already optimal.
            if values.upper_bound() - values.value(&places) > TOLERANCE {
                if let Some(better) = exact::find_better(&values, values.value(&places) + TOLERANCE)
                {
                    places = better;
                }
            }
            optimal = true;
        }
        let mut positions = vec![0; n];
        for (&label, &place) in order.iter().zip(&places) {
            positions[label] = place as u16 + 1;
        }
        Ok(SearchResult {
            order: BucketOrder::from_dense(positions),
            optimal,
        })
    }
}

/// A bucket order, and whether the search was exhaustive.
struct SearchResult {
    order: BucketOrder,
    optimal: bool,
}

/// Sorts labels by score, largest first; `within` orders each run of labels whose neighbours differ by no more than
/// `tie`, so that rounding does not affect the order.
fn sort_descending(order: &mut [usize], scores: &[f64], tie: f64, within: impl Fn(&mut [usize])) {
    order.sort_unstable_by(|&u, &v| scores[v].total_cmp(&scores[u]).then(u.cmp(&v)));
    let mut start = 0;
    for end in 1..=order.len() {
        let ends = end == order.len() || scores[order[end - 1]] - scores[order[end]] > tie;
        if ends {
            if end - start > 1 {
                within(&mut order[start..end]);
            }
            start = end;
        }
    }
}

impl Aggregate for TauX {
    fn needs(&self) -> Needs {
        self.order
            .map_or(Needs::Shares, |scorer| scorer.needs().max(Needs::Shares))
    }

    fn preserves_unanimity(&self) -> bool {
        self.orders_by_net_preference()
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.find_order(evidence, workspace)
            .map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let found = self.find_order(evidence, workspace)?;
        let shares = Self::shares(evidence)?;
        let expected = shares.expected_tau_x(&found.order);
        let upper_bound = upper_bound(shares);
        Ok(Explanation {
            details: Details::TauX {
                scores: workspace.scores.clone(),
                expected_tau_x: expected,
                boundary_gains: boundary_gains(shares, &found.order),
                upper_bound: if found.optimal { expected } else { upper_bound },
                optimal: found.optimal || upper_bound - expected <= TOLERANCE,
            },
            order: found.order,
        })
    }
}

/// Upper bound of the expected τ_X: the best outcome of each pair.
fn upper_bound(shares: &PairShares) -> f64 {
    let [before, tied, after] = shares.planes();
    let best = before.iter().zip(tied).zip(after);
    let sum: f64 = best.map(|((b, t), a)| (b - a).abs().max(*t)).sum();
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
