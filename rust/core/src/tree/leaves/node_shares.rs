//! Smoothed pair shares of the children of a node.

use crate::error::Result;
use crate::pairs::{PairShares, PairTable};
use crate::simd::{dispatch, Kernel};

use super::rules::{ApplyFormula, ShareFormula, ShrinkageRule};

/// The statistics of a node that its children build on.
#[derive(Debug, Clone)]
pub(crate) struct NodeShares {
    /// Weights of before, tied and after of each pair.
    pub(crate) counts: PairTable<f64>,
    pub(crate) shares: PairShares,
}

impl NodeShares {
    pub(crate) fn new(labels: usize) -> Result<Self> {
        Ok(Self {
            shares: PairShares::unknown(labels)?,
            counts: PairTable::new(labels),
        })
    }

    /// Smooths the shares of the root, whose counts are known.
    pub(crate) fn fill_root(&mut self, choice: &ShrinkageRule<'_>) {
        let mut nothing = self.clone();
        nothing.counts.clear();
        nothing.shares.as_mut_slice().fill(1.0 / 3.0);
        self.fill_below(choice, &nothing);
    }

    /// Smooths the shares of a node whose counts are known.
    pub(crate) fn fill_below(&mut self, choice: &ShrinkageRule<'_>, parent: &Self) {
        choice.make(ShrinkChild {
            own: self.counts.planes(),
            parent,
            shares: &mut self.shares,
        });
    }

    /// Smooths the shares of a node whose counts are in these planes.
    pub(crate) fn fill_from<C: PairWeight>(
        &mut self,
        choice: &ShrinkageRule<'_>,
        own: [&[C]; 3],
        parent: &Self,
    ) {
        choice.make(ShrinkChild {
            own,
            parent,
            shares: &mut self.shares,
        });
    }

    /// Turns the statistics of a node into those of one of its two children; those of the other one are given.
    pub(crate) fn become_sibling<C: PairWeight>(
        &mut self,
        choice: &ShrinkageRule<'_>,
        other: [&[C]; 3],
    ) {
        choice.make(ShrinkSibling { node: self, other });
    }

    /// Takes over counts.
    pub(crate) fn set_counts(&mut self, counts: [&[u8]; 3]) {
        dispatch(SetCounts { node: self, counts });
    }
}

/// A number of rows, or a sum of weights.
pub(crate) trait PairWeight: Copy {
    fn value(self) -> f64;
}

impl PairWeight for u8 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl PairWeight for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

struct ShrinkChild<'a, C> {
    own: [&'a [C]; 3],
    parent: &'a NodeShares,
    shares: &'a mut PairShares,
}

struct ShrinkSibling<'a, C> {
    node: &'a mut NodeShares,
    other: [&'a [C]; 3],
}

struct SetCounts<'a> {
    node: &'a mut NodeShares,
    counts: [&'a [u8]; 3],
}

/// Work on all pairs by a rule.
struct WithFormula<'a, W, R> {
    work: W,
    rule: R,
    strengths: &'a [f64],
}

impl<C: PairWeight> ApplyFormula for ShrinkChild<'_, C> {
    fn with<R: ShareFormula>(self, rule: R, strengths: &[f64]) {
        let work = self;
        dispatch(WithFormula {
            work,
            rule,
            strengths,
        });
    }
}

impl<C: PairWeight> ApplyFormula for ShrinkSibling<'_, C> {
    fn with<R: ShareFormula>(self, rule: R, strengths: &[f64]) {
        let work = self;
        dispatch(WithFormula {
            work,
            rule,
            strengths,
        });
    }
}

impl<C: PairWeight, R: ShareFormula> Kernel for WithFormula<'_, ShrinkChild<'_, C>, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { work, rule, .. } = self;
        let pairs = work.shares.pairs();
        let strengths = &self.strengths[..pairs];
        let [b, t, a] = work.own.map(|plane| &plane[..pairs]);
        let [pb, pt, pa] = work.parent.counts.planes().map(|plane| &plane[..pairs]);
        let [qb, qt, qa] = work.parent.shares.planes().map(|plane| &plane[..pairs]);
        let [ob, ot, oa] = work.shares.planes_mut().map(|plane| &mut plane[..pairs]);
        for i in 0..pairs {
            [ob[i], ot[i], oa[i]] = rule.shares(
                strengths[i],
                [b[i].value(), t[i].value(), a[i].value()],
                [pb[i], pt[i], pa[i]],
                [qb[i], qt[i], qa[i]],
            );
        }
    }
}

impl<C: PairWeight, R: ShareFormula> Kernel for WithFormula<'_, ShrinkSibling<'_, C>, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { work, rule, .. } = self;
        let pairs = work.node.shares.pairs();
        let strengths = &self.strengths[..pairs];
        let [b, t, a] = work.other.map(|plane| &plane[..pairs]);
        let [pb, pt, pa] = work
            .node
            .counts
            .planes_mut()
            .map(|plane| &mut plane[..pairs]);
        let shares = work.node.shares.planes_mut();
        let [qb, qt, qa] = shares.map(|plane| &mut plane[..pairs]);
        for i in 0..pairs {
            let above = [pb[i], pt[i], pa[i]];
            let own = [
                above[0] - b[i].value(),
                above[1] - t[i].value(),
                above[2] - a[i].value(),
            ];
            [qb[i], qt[i], qa[i]] = rule.shares(strengths[i], own, above, [qb[i], qt[i], qa[i]]);
            [pb[i], pt[i], pa[i]] = own;
        }
    }
}

impl Kernel for SetCounts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let planes = self.node.counts.planes_mut();
        for (plane, bytes) in planes.into_iter().zip(self.counts) {
            for (count, &byte) in plane.iter_mut().zip(bytes) {
                *count = f64::from(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shrinkage::Shrinkage;
    use super::*;

    fn node(counts: [f64; 3]) -> NodeShares {
        let mut node = NodeShares::new(2).unwrap();
        for (plane, count) in node.counts.planes_mut().into_iter().zip(counts) {
            plane[0] = count;
        }
        node
    }

    fn choice(
        shrinkage: Shrinkage,
        strengths: &[f64],
        weights: Option<[f64; 2]>,
    ) -> ShrinkageRule<'_> {
        ShrinkageRule {
            shrinkage,
            strengths,
            weights,
        }
    }

    #[test]
    fn a_path_of_two_nodes_by_hand() {
        let path = Shrinkage::Path { strength: 2.0 };
        let mut root = node([2.0, 1.0, 1.0]);
        root.fill_root(&choice(path, &[2.0], None));
        assert_eq!(root.shares.as_slice(), [0.5, 0.25, 0.25]);
        // Half the difference remains and a third of it is taken back: 1 + 2/4 = 3/2.
        let weight = 2.0 / 3.0;
        let expected = [
            f64::midpoint(1.0, weight),
            0.25 - 0.25 * weight,
            0.25 - 0.25 * weight,
        ];
        for weights in [None, Some([1.0, 4.0])] {
            let choice = choice(path, &[2.0], weights);
            let mut child = node([1.0, 0.0, 0.0]);
            child.fill_below(&choice, &root);
            let mut sibling = root.clone();
            sibling.become_sibling(&choice, [&[1.0], &[1.0], &[1.0]]);
            for (found, expected) in child.shares.as_slice().iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15);
            }
            assert_eq!(sibling.counts, child.counts);
            assert_eq!(sibling.shares, child.shares);
        }
        let mut empty = node([0.0; 3]);
        empty.fill_below(&choice(path, &[2.0], None), &root);
        assert_eq!(empty.shares, root.shares);
        let mut unseen = node([0.0; 3]);
        unseen.fill_root(&choice(path, &[0.0], None));
        assert_eq!(unseen.shares.as_slice(), [1.0 / 3.0; 3]);
    }

    #[test]
    fn an_m_estimate_by_hand() {
        let estimate = Shrinkage::MEstimate { strength: 1.0 };
        let mut root = node([2.0, 0.0, 0.0]);
        root.fill_root(&choice(estimate, &[1.0], None));
        let shares = root.shares.as_slice();
        assert!((shares[0] - (2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
        for weights in [None, Some([1.0, 2.0])] {
            let mut child = node([0.0; 3]);
            let own: [&[u8]; 3] = [&[0], &[1], &[0]];
            child.fill_from(&choice(estimate, &[1.0], weights), own, &root);
            let found = child.shares.as_slice();
            assert!((found[1] - f64::midpoint(1.0, shares[1])).abs() < 1e-15);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }
}
