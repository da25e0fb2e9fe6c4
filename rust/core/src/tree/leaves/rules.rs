//! How smoothed shares of a pair follow from its counts and from the node above.

use super::shrinkage::Shrinkage;

/// A formula for the shares of a pair.
pub(crate) trait ShareFormula: Copy {
    /// From the strength for the pair, its weights of before, tied and after in the node and in the one above, and its
    /// smoothed shares above.
    fn shares(self, strength: f64, own: [f64; 3], above: [f64; 3], smoothed: [f64; 3]) -> [f64; 3];
}

/// Work on all pairs, generic over the formula.
pub(crate) trait ApplyFormula {
    /// `strengths` are those for each pair.
    fn with<R: ShareFormula>(self, rule: R, strengths: &[f64]);
}

/// Inputs that choose the shrinkage formula of a node.
pub(crate) struct ShrinkageRule<'a> {
    pub(crate) shrinkage: Shrinkage,
    /// Strength for each pair.
    pub(crate) strengths: &'a [f64],
    /// Weights of the node and of the one above, where those are the weights of each pair.
    pub(crate) weights: Option<[f64; 2]>,
}

impl ShrinkageRule<'_> {
    /// Does the work by the rule that fits.
    pub(crate) fn make(&self, work: impl ApplyFormula) {
        let strengths = self.strengths;
        match (self.shrinkage, self.weights) {
            (Shrinkage::None, _) => work.with(OwnShares, strengths),
            (Shrinkage::MEstimate { .. }, None) => work.with(Estimate, strengths),
            (Shrinkage::MEstimate { strength }, Some([own, _])) => {
                let factor = 1.0 / (own + strength);
                work.with(EvenEstimate { factor, strength }, strengths);
            }
            (Shrinkage::Path { .. }, None) => work.with(Path, strengths),
            (Shrinkage::Path { strength }, Some([own, above])) => {
                let kept = above / (above + strength);
                let rule = EvenPath {
                    own: kept / own,
                    above: kept / above,
                };
                work.with(rule, strengths);
            }
        }
    }
}

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

#[derive(Clone, Copy)]
struct Estimate;

impl ShareFormula for Estimate {
    #[inline(always)]
    fn shares(self, strength: f64, own: [f64; 3], above: [f64; 3], smoothed: [f64; 3]) -> [f64; 3] {
        let factor = 1.0 / (own[0] + own[1] + own[2] + strength);
        let rule = EvenEstimate { factor, strength };
        rule.shares(strength, own, above, smoothed)
    }
}

/// The m-estimate where all rows rank the pair.
#[derive(Clone, Copy)]
struct EvenEstimate {
    factor: f64,
    strength: f64,
}

impl ShareFormula for EvenEstimate {
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

#[derive(Clone, Copy)]
struct Path;

impl ShareFormula for Path {
    #[inline(always)]
    fn shares(self, strength: f64, own: [f64; 3], above: [f64; 3], smoothed: [f64; 3]) -> [f64; 3] {
        let (seen, seen_above) = (own[0] + own[1] + own[2], above[0] + above[1] + above[2]);
        // A pair unseen in a node is unseen below it, so its shares stay constant.
        let known = seen > 0.0;
        let own_factor = 1.0 / if known { seen } else { 1.0 };
        // The root has nothing above it, and takes its own shares as they are.
        let inner = seen_above > 0.0;
        let seen_above = if inner { seen_above } else { 1.0 };
        // kept = N / (N + λ), the part of the difference that stays, and kept / N.
        let above_factor = 1.0 / (seen_above + strength);
        let kept = seen_above * above_factor;
        let share = |own: f64, above: f64, smoothed: f64| {
            let own = own * own_factor;
            let moved = possible(smoothed + (own * kept - above * above_factor));
            let value = if inner { moved } else { own };
            if known {
                value
            } else {
                smoothed
            }
        };
        [
            share(own[0], above[0], smoothed[0]),
            share(own[1], above[1], smoothed[1]),
            share(own[2], above[2], smoothed[2]),
        ]
    }
}

/// The path where all rows rank the pair: the factors are the same for all pairs.
#[derive(Clone, Copy)]
struct EvenPath {
    own: f64,
    above: f64,
}

impl ShareFormula for EvenPath {
    #[inline(always)]
    fn shares(self, _: f64, own: [f64; 3], above: [f64; 3], smoothed: [f64; 3]) -> [f64; 3] {
        let share = |own: f64, above: f64, smoothed: f64| {
            possible(smoothed + (own * self.own - above * self.above))
        };
        [
            share(own[0], above[0], smoothed[0]),
            share(own[1], above[1], smoothed[1]),
            share(own[2], above[2], smoothed[2]),
        ]
    }
}

/// Where all rows agree, rounding must not lead beyond 0 and 1.
#[inline(always)]
fn possible(share: f64) -> f64 {
    let share = if share > 0.0 { share } else { 0.0 };
    if share < 1.0 {
        share
    } else {
        1.0
    }
}
