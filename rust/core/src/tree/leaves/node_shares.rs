//! [`NodeShares`]: pair counts of a node (per pair of labels the weights of the rows that rank the first label before,
//! tied with or after the second) and its pair shares, which are smoothed towards those of its parent.

use crate::error::Result;
use crate::pairs::{PairShares, PairTable};
use crate::simd::{dispatch, Kernel};

use super::share_formula::{PairLoop, ShareFormula, ShrinkageRule};

/// Pair counts and smoothed pair shares of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeShares {
    /// Per pair the weights of before, tied and after, in a plane each.
    pub(crate) counts: PairTable<f64>,
    /// Smoothed shares in the same layout.
    pub(crate) shares: PairShares,
}

impl NodeShares {
    pub(crate) fn new(labels: usize) -> Result<Self> {
        Ok(Self {
            shares: PairShares::unknown(labels)?,
            counts: PairTable::new(labels),
        })
    }

    /// Computes the shares of the root from its counts; its imaginary parent has shares of ⅓ and no rows.
    pub(crate) fn smooth_root(&mut self, rule: &ShrinkageRule<'_>) {
        let mut parent = self.clone();
        parent.counts.clear();
        parent.shares.as_mut_slice().fill(1.0 / 3.0);
        self.smooth(rule, &parent);
    }

    /// Computes the shares of a node from its counts and its parent.
    pub(crate) fn smooth(&mut self, rule: &ShrinkageRule<'_>, parent: &Self) {
        rule.apply(SmoothChild {
            own: self.counts.planes(),
            parent,
            shares: &mut self.shares,
        });
    }

    /// As [`Self::smooth`], with the counts in `own` instead of `self.counts`.
    pub(crate) fn smooth_counts<C: PairWeight>(
        &mut self,
        rule: &ShrinkageRule<'_>,
        own: [&[C]; 3],
        parent: &Self,
    ) {
        rule.apply(SmoothChild {
            own,
            parent,
            shares: &mut self.shares,
        });
    }

    /// Replaces a node by one of its two children: its counts are those of the node minus `other`, the counts of the
    /// other child.
    pub(crate) fn replace_by_sibling<C: PairWeight>(
        &mut self,
        rule: &ShrinkageRule<'_>,
        other: [&[C]; 3],
    ) {
        rule.apply(SmoothSibling { node: self, other });
    }

    /// Copies byte counts into `self.counts`.
    pub(crate) fn set_counts(&mut self, counts: [&[u8]; 3]) {
        dispatch(SetCounts { node: self, counts });
    }
}

/// The weight of a relation of a pair: a number of rows in a byte, or a sum of weights.
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

/// The loop of [`NodeShares::smooth`].
struct SmoothChild<'a, C> {
    own: [&'a [C]; 3],
    parent: &'a NodeShares,
    shares: &'a mut PairShares,
}

/// The loop of [`NodeShares::replace_by_sibling`].
struct SmoothSibling<'a, C> {
    node: &'a mut NodeShares,
    other: [&'a [C]; 3],
}

/// The loop of [`NodeShares::set_counts`].
struct SetCounts<'a> {
    node: &'a mut NodeShares,
    counts: [&'a [u8]; 3],
}

impl<C: PairWeight> PairLoop for SmoothChild<'_, C> {
    #[inline(always)]
    fn run<F: ShareFormula>(self, formula: F, strengths: &[f64]) {
        let pairs = self.shares.pairs();
        let strengths = &strengths[..pairs];
        // Before, tied and after: counts of the node (b, t, a) and of its parent (p), shares of the parent (q), output
        // (o).
        let [b, t, a] = self.own.map(|plane| &plane[..pairs]);
        let [pb, pt, pa] = self.parent.counts.planes().map(|plane| &plane[..pairs]);
        let [qb, qt, qa] = self.parent.shares.planes().map(|plane| &plane[..pairs]);
        let [ob, ot, oa] = self.shares.planes_mut().map(|plane| &mut plane[..pairs]);
        for i in 0..pairs {
            [ob[i], ot[i], oa[i]] = formula.shares(
                strengths[i],
                [b[i].value(), t[i].value(), a[i].value()],
                [pb[i], pt[i], pa[i]],
                [qb[i], qt[i], qa[i]],
            );
        }
    }
}

impl<C: PairWeight> PairLoop for SmoothSibling<'_, C> {
    #[inline(always)]
    fn run<F: ShareFormula>(self, formula: F, strengths: &[f64]) {
        let pairs = self.node.shares.pairs();
        let strengths = &strengths[..pairs];
        // Before, tied and after: counts of the other child (b, t, a) and of the node (p), shares of the node (q).
        let [b, t, a] = self.other.map(|plane| &plane[..pairs]);
        let [pb, pt, pa] = self
            .node
            .counts
            .planes_mut()
            .map(|plane| &mut plane[..pairs]);
        let shares = self.node.shares.planes_mut();
        let [qb, qt, qa] = shares.map(|plane| &mut plane[..pairs]);
        for i in 0..pairs {
            let parent = [pb[i], pt[i], pa[i]];
            let own = [
                parent[0] - b[i].value(),
                parent[1] - t[i].value(),
                parent[2] - a[i].value(),
            ];
            [qb[i], qt[i], qa[i]] =
                formula.shares(strengths[i], own, parent, [qb[i], qt[i], qa[i]]);
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

    fn rule(
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
    fn path_shrinkage_of_two_nodes_matches_the_formula() {
        let path = Shrinkage::Path { strength: 2.0 };
        let mut root = node([2.0, 1.0, 1.0]);
        root.smooth_root(&rule(path, &[2.0], None));
        assert_eq!(root.shares.as_slice(), [0.5, 0.25, 0.25]);
        // The difference from the root is divided by 1 + λ/N = 1 + 2/4 = 3/2.
        let weight = 2.0 / 3.0;
        let expected = [
            f64::midpoint(1.0, weight),
            0.25 - 0.25 * weight,
            0.25 - 0.25 * weight,
        ];
        for weights in [None, Some([1.0, 4.0])] {
            let rule = rule(path, &[2.0], weights);
            let mut child = node([1.0, 0.0, 0.0]);
            child.smooth(&rule, &root);
            let mut sibling = root.clone();
            sibling.replace_by_sibling(&rule, [&[1.0], &[1.0], &[1.0]]);
            for (found, expected) in child.shares.as_slice().iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15);
            }
            assert_eq!(sibling.counts, child.counts);
            assert_eq!(sibling.shares, child.shares);
        }
        let mut empty = node([0.0; 3]);
        empty.smooth(&rule(path, &[2.0], None), &root);
        assert_eq!(empty.shares, root.shares);
        let mut unseen = node([0.0; 3]);
        unseen.smooth_root(&rule(path, &[0.0], None));
        assert_eq!(unseen.shares.as_slice(), [1.0 / 3.0; 3]);
    }

    #[test]
    fn m_estimate_matches_the_formula() {
        let estimate = Shrinkage::MEstimate { strength: 1.0 };
        let mut root = node([2.0, 0.0, 0.0]);
        root.smooth_root(&rule(estimate, &[1.0], None));
        let shares = root.shares.as_slice();
        assert!((shares[0] - (2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
        for weights in [None, Some([1.0, 2.0])] {
            let mut child = node([0.0; 3]);
            let own: [&[u8]; 3] = [&[0], &[1], &[0]];
            child.smooth_counts(&rule(estimate, &[1.0], weights), own, &root);
            let found = child.shares.as_slice();
            assert!((found[1] - f64::midpoint(1.0, shares[1])).abs() < 1e-15);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }
}
