//! The best split among candidates that are found in any order.

use crate::tree::draw::TOLERANCE;

/// A split of a node's rows at a boundary of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitCandidate {
    pub(crate) feature: u32,
    /// Rank of the largest value on the left and of the smallest on the right.
    pub(crate) ranks: (u32, u32),
    pub(crate) improvement: f64,
}

/// Keeps the candidates that may still win.
#[derive(Debug, Clone)]
pub(crate) struct BestSplit {
    best: f64,
    near: Vec<SplitCandidate>,
}

/// Candidates this much worse than the best cannot win, nor keep another from winning: the rule of
/// [`TOLERANCE`] compares candidates in a fixed order, and only those a few tolerances apart matter to each other.
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

    pub(crate) fn offer(&mut self, candidate: SplitCandidate) {
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

    pub(crate) fn merge(&mut self, other: &Self) {
        for &candidate in &other.near {
            self.offer(candidate);
        }
    }

    /// The winner: features by index and thresholds upwards, a candidate replaces the best only if it is better
    /// by more than the tolerance.
    pub(crate) fn winner(mut self) -> Option<SplitCandidate> {
        let best = self.best;
        self.near.retain(|near| near.improvement >= best - MARGIN);
        self.near
            .sort_unstable_by_key(|near| (near.feature, near.ranks.0));
        self.near.into_iter().reduce(|best, next| {
            if next.improvement > best.improvement + TOLERANCE {
                next
            } else {
                best
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_offers_does_not_matter() {
        let candidate = |feature, rank, improvement| SplitCandidate {
            feature,
            ranks: (rank, rank + 1),
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
            forward.offer(all[i]);
            backward.offer(all[all.len() - 1 - i]);
        }
        assert_eq!(forward.winner(), Some(all[1]));
        assert_eq!(backward.winner(), Some(all[1]));
        assert_eq!(BestSplit::new().winner(), None);
    }
}
