//! [`ShrinkageRule`]: the choice of the formula for the smoothed shares of a pair of labels in a node, which are
//! computed from the counts in the node and its parent and the smoothed shares in the parent.

use crate::simd::{dispatch, Kernel};

use super::shrinkage::Shrinkage;

/// A formula for the smoothed shares of one pair of labels.
pub(crate) trait ShareFormula: Copy {
    /// Smoothed shares (before, tied, after) of a pair in a node.
    ///
    /// `strength` is the strength of the shrinkage of this pair. `own` and `parent` are the pair's weights of before,
    /// tied and after in the node and in its parent; `smoothed` are its smoothed shares in the parent.
    fn shares(self, strength: f64, own: [f64; 3], parent: [f64; 3], smoothed: [f64; 3])
        -> [f64; 3];
}

/// A loop over all pairs, generic over the formula.
pub(crate) trait PairLoop {
    /// Applies `formula` to each pair; `strengths` holds one strength per pair.
    fn run<F: ShareFormula>(self, formula: F, strengths: &[f64]);
}

/// The shrinkage of one node with its inputs.
pub(crate) struct ShrinkageRule<'a> {
    pub(crate) shrinkage: Shrinkage,
    /// Strength of the shrinkage per pair.
    pub(crate) strengths: &'a [f64],
    /// Weights of the node and of its parent if every row ranks all labels, so that every pair has these weights;
    /// `None` selects formulas that sum the weights per pair.
    pub(crate) weights: Option<[f64; 2]>,
}

impl ShrinkageRule<'_> {
    /// Runs the loop with the formula for this shrinkage.
    pub(crate) fn apply(&self, pairs: impl PairLoop) {
        match (self.shrinkage, self.weights) {
            (Shrinkage::None, _) => self.run(pairs, OwnShares),
            (Shrinkage::MEstimate { .. }, None) => self.run(pairs, MEstimate),
            (Shrinkage::MEstimate { strength }, Some([own, _])) => {
                let factor = 1.0 / (own + strength);
                self.run(pairs, CompleteMEstimate { factor, strength });
            }
            (Shrinkage::Path { .. }, None) => self.run(pairs, Path),
            (Shrinkage::Path { strength }, Some([own, parent])) => {
                let kept = parent / (parent + strength);
                let formula = CompletePath {
                    own: kept / own,
                    parent: kept / parent,
                };
                self.run(pairs, formula);
            }
        }
    }

    fn run(&self, pairs: impl PairLoop, formula: impl ShareFormula) {
        dispatch(RunLoop {
            pairs,
            formula,
            strengths: self.strengths,
        });
    }
}

/// A loop with its formula.
struct RunLoop<'a, L, F> {
    pairs: L,
    formula: F,
    strengths: &'a [f64],
}

impl<L: PairLoop, F: ShareFormula> Kernel for RunLoop<'_, L, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.pairs.run(self.formula, self.strengths);
    }
}

/// The unsmoothed shares; 0 if no row ranks both labels.
#[derive(Clone, Copy)]
struct OwnShares;

impl ShareFormula for OwnShares {
    #[inline(always)]
    fn shares(self, _: f64, own: [f64; 3], _: [f64; 3], _: [f64; 3]) -> [f64; 3] {
        let seen = own[0] + own[1] + own[2];
        let scale = if seen > 0.0 { seen } else { 1.0 };
        [own[0] / scale, own[1] / scale, own[2] / scale]
    }
}

/// [`Shrinkage::MEstimate`].
#[derive(Clone, Copy)]
struct MEstimate;

impl ShareFormula for MEstimate {
    #[inline(always)]
    fn shares(
        self,
        strength: f64,
        own: [f64; 3],
        parent: [f64; 3],
        smoothed: [f64; 3],
    ) -> [f64; 3] {
        let factor = 1.0 / (own[0] + own[1] + own[2] + strength);
        let formula = CompleteMEstimate { factor, strength };
        formula.shares(strength, own, parent, smoothed)
    }
}

/// [`MEstimate`] if all rows rank all labels: the factor is the same for all pairs.
#[derive(Clone, Copy)]
struct CompleteMEstimate {
    /// 1 / (weight of the node + strength).
    factor: f64,
    strength: f64,
}

impl ShareFormula for CompleteMEstimate {
    #[inline(always)]
    fn shares(self, _: f64, own: [f64; 3], _: [f64; 3], smoothed: [f64; 3]) -> [f64; 3] {
        let share = |own: f64, smoothed: f64| (own + self.strength * smoothed) * self.factor;
        [
            share(own[0], smoothed[0]),
            share(own[1], smoothed[1]),
            share(own[2], smoothed[2]),
        ]
    }
}

/// [`Shrinkage::Path`]: hierarchical shrinkage along the path from the root.
#[derive(Clone, Copy)]
struct Path;

impl ShareFormula for Path {
    #[inline(always)]
    fn shares(
        self,
        strength: f64,
        own: [f64; 3],
        parent: [f64; 3],
        smoothed: [f64; 3],
    ) -> [f64; 3] {
        let seen = own[0] + own[1] + own[2];
        let parent_seen = parent[0] + parent[1] + parent[2];
        // A pair unseen in a node is unseen below it, so its shares stay constant.
        let is_seen = seen > 0.0;
        let own_factor = 1.0 / if is_seen { seen } else { 1.0 };
        // The root has no parent and keeps its own shares.
        let has_parent = parent_seen > 0.0;
        let parent_seen = if has_parent { parent_seen } else { 1.0 };
        // With N = parent_seen and λ = strength, kept = N / (N + λ) is the fraction of the difference from the parent
        // that remains, and parent_factor = kept / N.
        let parent_factor = 1.0 / (parent_seen + strength);
        let kept = parent_seen * parent_factor;
        let share = |own: f64, parent: f64, smoothed: f64| {
            let own = own * own_factor;
            let shrunk = clamp_share(smoothed + (own * kept - parent * parent_factor));
            let value = if has_parent { shrunk } else { own };
            if is_seen {
                value
            } else {
                smoothed
            }
        };
        [
            share(own[0], parent[0], smoothed[0]),
            share(own[1], parent[1], smoothed[1]),
            share(own[2], parent[2], smoothed[2]),
        ]
    }
}

/// [`Path`] if all rows rank all labels: the factors are the same for all pairs.
#[derive(Clone, Copy)]
struct CompletePath {
    /// Factor of the node's weights (before, tied and after).
    own: f64,
    /// Factor of the parent's weights.
    parent: f64,
}

impl ShareFormula for CompletePath {
    #[inline(always)]
    fn shares(self, _: f64, own: [f64; 3], parent: [f64; 3], smoothed: [f64; 3]) -> [f64; 3] {
        let share = |own: f64, parent: f64, smoothed: f64| {
            clamp_share(smoothed + (own * self.own - parent * self.parent))
        };
        [
            share(own[0], parent[0], smoothed[0]),
            share(own[1], parent[1], smoothed[1]),
            share(own[2], parent[2], smoothed[2]),
        ]
    }
}

/// Clamps to [0, 1], which rounding can exceed when all rows agree.
#[inline(always)]
fn clamp_share(share: f64) -> f64 {
    let share = if share > 0.0 { share } else { 0.0 };
    if share < 1.0 {
        share
    } else {
        1.0
    }
}
