//! [`TauX`]: the bucket order with the largest expected τ_X.

mod cut;
mod exact;
mod local;

pub(super) use cut::Cut;
pub use exact::MAX_EXACT_LABELS;

use super::scorer::Scorer;
use super::threshold::TOLERANCE;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::PairShares;
use local::Ranked;

/// How a bucket order is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// One order of the labels, cut into buckets in the best way. O(n²) after the sort.
    #[default]
    Cut,
    /// From the cut by moving labels and cutting again, as long as that improves. O(n²) a round.
    Local,
    /// All bucket orders, for up to [`MAX_EXACT_LABELS`] labels. O(3ⁿ).
    Exact,
}

/// The consensus that maximises the expected τ_X with a ranking like those of the evidence.
///
/// With the shares before, tied and after of each pair, placing u before v earns before − after, tying them earns
/// tied; a pair of which nothing is known earns nothing. There is no threshold to tune. The labels are ordered by their
/// net preference `Σ_v (P[u before v] − P[v before u])`, equal ones by index, or by the scores of another method,
/// equal ones by net preference; that order is cut by dynamic programming, among equally good cuts with the
/// shortest last bucket. Comparisons treat values within 1e-9 as equal.
///
/// Reference: E. J. Emond and D. W. Mason, *A new rank correlation coefficient with application to the consensus
/// ranking problem*, Journal of Multi-Criteria Decision Analysis 11, 2002, for τ_X.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TauX {
    search: Search,
    order: Option<Scorer>,
}

impl TauX {
    /// The consensus by this search; the labels are ordered by `order`, or by net preference. The exact search
    /// goes through all orders: `order` then only decides between equally good results.
    #[must_use]
    pub fn new(search: Search, order: Option<Scorer>) -> Self {
        Self { search, order }
    }

    /// Whether the labels are ordered by net preference, which needs the shares only.
    pub(super) fn is_by_net_preference(&self) -> bool {
        self.order.is_none()
    }

    /// A rough number of elementary steps for one consensus.
    pub(super) fn steps(&self, labels: usize) -> usize {
        let order = self.order.map_or(1, |_| labels) * labels.pow(2);
        order
            + match self.search {
                Search::Cut => 4 * labels.pow(2),
                Search::Local => 40 * labels.pow(2),
                Search::Exact => 3_usize.pow(labels.min(MAX_EXACT_LABELS) as u32),
            }
    }

    fn shares(evidence: &Evidence) -> Result<&PairShares> {
        evidence.pair_shares().ok_or(Error::TooLittleKnown {
            method: "TauX",
            needed: "the share of before, tied and after of each pair",
            known: evidence.known(),
        })
    }

    /// Writes the order of the labels, and leaves their scores in the workspace.
    fn sort(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<()> {
        if let Some(scorer) = &self.order {
            scorer.fill(evidence, workspace)?;
        }
        let Workspace {
            scores, order, cut, ..
        } = workspace;
        order.clear();
        order.extend(0..evidence.labels());
        let by_index = |run: &mut [usize]| run.sort_unstable();
        let by_net = |order: &mut [usize]| descending(order, &cut.net, TOLERANCE, by_index);
        if let Some(scorer) = &self.order {
            descending(order, scores, scorer.tie(), by_net);
        } else {
            by_net(order);
            scores.clone_from(&cut.net);
        }
        Ok(())
    }

    fn search(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Found> {
        let shares = Self::shares(evidence)?;
        let n = shares.labels();
        if self.search == Search::Exact && n > MAX_EXACT_LABELS {
            return Err(Error::TooManyForExact {
                found: n,
                limit: MAX_EXACT_LABELS,
            });
        }
        workspace.cut.read(shares);
        self.sort(evidence, workspace)?;
        let Workspace { order, cut, .. } = workspace;
        let cut_order = cut.run(order);
        if self.search == Search::Cut {
            return Ok(Found {
                order: cut_order,
                optimal: false,
            });
        }
        let ranked = Ranked::new(shares, order);
        let start: Vec<usize> = order
            .iter()
            .map(|&label| usize::from(cut_order.positions()[label]) - 1)
            .collect();
        let mut places = ranked.improve(start, cut);
        let mut optimal = false;
        if self.search == Search::Exact {
            // Where every pair gets the most that it can, nothing is left to search for.
            if ranked.bound() - ranked.value(&places) > TOLERANCE {
                if let Some(better) = exact::better(&ranked, ranked.value(&places) + TOLERANCE) {
                    places = better;
                }
            }
            optimal = true;
        }
        let mut positions = vec![0; n];
        for (&label, &place) in order.iter().zip(&places) {
            positions[label] = place as u16 + 1;
        }
        Ok(Found {
            order: BucketOrder::from_dense(positions),
            optimal,
        })
    }
}

/// A bucket order, and whether the search has gone through all others.
struct Found {
    order: BucketOrder,
    optimal: bool,
}

/// Sorts labels by score, largest first; `within` orders each run of labels whose neighbours differ by no more than
/// `tie`, so that rounding decides nothing.
fn descending(order: &mut [usize], scores: &[f64], tie: f64, within: impl Fn(&mut [usize])) {
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

    fn keeps_agreement(&self) -> bool {
        self.is_by_net_preference()
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.search(evidence, workspace).map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let found = self.search(evidence, workspace)?;
        let shares = Self::shares(evidence)?;
        let expected = shares.expected_tau_x(&found.order);
        let upper_bound = bound(shares);
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

/// What the expected τ_X would be if every pair could be placed on its own.
fn bound(shares: &PairShares) -> f64 {
    let [before, tied, after] = shares.planes();
    let best = before.iter().zip(tied).zip(after);
    let sum: f64 = best.map(|((b, t), a)| (b - a).abs().max(*t)).sum();
    sum / shares.pairs() as f64
}

/// For each boundary between neighbouring buckets how much expected τ_X would be lost without it.
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
