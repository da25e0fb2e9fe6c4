//! [`BestSplit`]: the best split among candidates that are found in any order.

use crate::tree::draw::TOLERANCE;
use crate::tree::missing_side::MissingSide;

/// A binary split between two values of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitCandidate {
    pub(crate) feature: u32,
    /// Ranks, among the distinct values of the feature, of the largest value on the left and the smallest on the right.
    pub(crate) ranks: (u32, u32),
    /// Side of the missing values of the feature.
    pub(crate) missing: MissingSide,
    /// Decrease of the impurity.
    pub(crate) improvement: f64,
}

/// Keeps the best improvement found so far and all candidates close enough to it to be chosen.
#[derive(Debug, Clone)]
pub(crate) struct BestSplit {
    /// The best improvement so far.
    best: f64,
    /// All candidates at most [`MARGIN`] worse than the best, and older ones that may be worse.
    near: Vec<SplitCandidate>,
}

/// Candidates worse than the best by more than this are dropped. They cannot affect the result: [`BestSplit::choose`]
/// compares candidates in a fixed order with [`TOLERANCE`], which is a thousand times smaller.
pub(crate) const MARGIN: f64 = 1e-9;

impl BestSplit {
    pub(crate) fn new() -> Self {
        Self {
            best: f64::NEG_INFINITY,
            near: Vec::new(),
        }
    }

    /// The best improvement so far.
    pub(crate) fn improvement(&self) -> f64 {
        self.best
    }

    /// Adds a candidate unless it is clearly worse than the best.
    pub(crate) fn add(&mut self, candidate: SplitCandidate) {
        if candidate.improvement < self.best - MARGIN {
            return;
        }
        self.best = self.best.max(candidate.improvement);
        if self.near.len() == self.near.capacity() {
            let best = self.best;
            self.near.retain(|near| near.improvement >= best - MARGIN);
        }
        self.near.push(candidate);
    }

    /// Adds all candidates of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for &candidate in &other.near {
            self.add(candidate);
        }
    }

    /// Chooses the split. Candidates are sorted by feature, then by the side of missing values (left last), then by
    /// threshold; a later one replaces an earlier one only if it is better by more than [`TOLERANCE`]. So the result
    /// does not depend on the order in which candidates were added.
    pub(crate) fn choose(self) -> Option<SplitCandidate> {
        self.choose_by(|best, next| next.improvement > best.improvement + TOLERANCE)
    }

    /// As [`Self::choose`], for improvements with an error of at most `error`: where that error could change the
    /// choice, candidates are compared by their improvements from `exact`.
    pub(crate) fn choose_confirmed(
        self,
        error: f64,
        exact: impl Fn(&SplitCandidate) -> f64,
    ) -> Option<SplitCandidate> {
        self.choose_by(|best, next| {
            // Both improvements may be wrong by `error`.
            let excess = next.improvement - best.improvement - TOLERANCE;
            if excess.abs() > 2.0 * error {
                excess > 0.0
            } else {
                exact(next) > exact(best) + TOLERANCE
            }
        })
    }

    fn choose_by(
        mut self,
        is_better: impl Fn(&SplitCandidate, &SplitCandidate) -> bool,
    ) -> Option<SplitCandidate> {
        let best = self.best;
        self.near.retain(|near| near.improvement >= best - MARGIN);
        self.near.sort_unstable_by_key(|near| {
            (
                near.feature,
                near.missing == MissingSide::Left,
                near.ranks.0,
            )
        });
        self.near.into_iter().reduce(
            |best, next| {
                if is_better(&best, &next) {
                    next
                } else {
                    best
                }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_candidates_does_not_matter() {
        let candidate = |feature, rank, improvement| SplitCandidate {
            feature,
            ranks: (rank, rank + 1),
            missing: MissingSide::Heavier,
            improvement,
        };
        let all = [
            candidate(2, 0, 0.5),
            candidate(1, 7, 0.5 - 5e-13),
            candidate(1, 9, 0.5),
            candidate(0, 0, 0.3),
            candidate(3, 0, 0.5 + 1e-13),
        ];
        let mut forward = BestSplit::new();
        let mut backward = BestSplit::new();
        for i in 0..all.len() {
            forward.add(all[i]);
            backward.add(all[all.len() - 1 - i]);
        }
        assert_eq!(forward.choose(), Some(all[1]));
        assert_eq!(backward.choose(), Some(all[1]));
        assert_eq!(BestSplit::new().choose(), None);
    }
}
