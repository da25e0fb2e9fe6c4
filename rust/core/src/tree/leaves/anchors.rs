//! [`AnchoredTree`]: a tree prepared for many predictions of shares that are smoothed by the m-estimate.
//!
//! Some nodes, the anchors, store their smoothed shares. The shares of a leaf are those of the anchor above it,
//! corrected by the few training rows between both: f = 1 at the leaf; each node on the way up contributes its weights
//! times q = f / (N + m) and leaves f = q · m to its parent, where N is the weight of the node and m the strength.
//!
//! An exact anchor can end the way of any leaf. A coarse anchor stores one byte per share; it is made where only a small
//! fraction f is left, so that its rounding errors are multiplied by f.

use crate::error::Result;
use crate::pairs::pair_count;
use crate::run::Interrupt;
use crate::weights::Weights;

use super::anchor_plan::{AnchorKind, AnchorPlan};
use super::shrinkage::Shrinkage;
use super::walk::ShareWalk;
use crate::tree::model::Tree;

/// Fraction of the shares of a leaf that is not followed further up: it bounds the error of the shares.
pub(crate) const NEGLIGIBLE: f32 = 4e-7;

/// Marks the slot of an exact anchor in `ClimbNode::parent`.
const EXACT: u32 = 1 << 31;

/// Marks the slot of a coarse anchor in `ClimbNode::parent`.
const COARSE: u32 = 1 << 30;

/// The largest share of a coarse anchor.
pub(crate) const COARSE_ONE: u8 = u8::MAX;

/// The shares of an exact anchor are padded to a multiple of this, in numbers.
pub(crate) const ANCHOR_LANES: usize = 16;

/// The shares of a coarse anchor are padded to a multiple of this, in bytes.
pub(crate) const COARSE_LANES: usize = 32;

/// Length of the shares of an exact anchor, with padding.
pub(crate) fn anchor_stride(labels: usize) -> usize {
    (2 * pair_count(labels)).next_multiple_of(ANCHOR_LANES)
}

/// Length of the shares of a coarse anchor, with padding.
pub(crate) fn coarse_stride(labels: usize) -> usize {
    (2 * pair_count(labels)).next_multiple_of(COARSE_LANES)
}

/// A tree with anchors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnchoredTree {
    /// In preorder, so that the nodes on the way up from a leaf are near each other; empty if every leaf is an anchor.
    nodes: Vec<ClimbNode>,
    /// Per node of the tree: [`EXACT`] and the slot of a leaf that is an anchor, else its index in `nodes`.
    starts: Vec<u32>,
    /// Training rows in the order of the leaves; empty if every leaf is an anchor.
    rows: Vec<TailRow>,
    /// Per exact anchor the planes before and after, in fixed point, and the padding.
    exact: Vec<i32>,
    /// Length of the shares of an exact anchor.
    exact_stride: usize,
    /// Per coarse anchor the planes before and after, and the padding.
    coarse: Vec<u8>,
    /// Length of the shares of a coarse anchor.
    coarse_stride: usize,
}

/// A node in the compact layout of the way up.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ClimbNode {
    /// Index of the parent, or [`EXACT`] or [`COARSE`] and the slot of the node's shares.
    parent: u32,
    first_row: u32,
    rows: u32,
    weight: f32,
}

/// A training row below an anchor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TailRow {
    /// Index among the distinct rankings.
    pub(crate) ranking: u32,
    pub(crate) weight: f32,
}

/// A node between a leaf and its anchor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClimbedNode {
    /// Range of its rows.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Their weight.
    pub(crate) weight: f32,
}

/// What ends the way up from a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ClimbEnd<'a> {
    /// An exact anchor, with its shares: the planes before and after, and padding.
    Exact(&'a [i32]),
    /// A coarse anchor, with its shares.
    Coarse(&'a [u8]),
    /// The root, which is no anchor: its parent has shares of ⅓.
    Root,
    /// The caller stopped.
    Stopped,
}

/// Where the shares of a leaf come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafStart {
    /// The leaf is an exact anchor: its slot.
    Anchor(u32),
    /// The index for [`AnchoredTree::step`] and [`AnchoredTree::climb`].
    Climb(u32),
}

/// One step on the way up from a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step<'a> {
    /// A node that is no anchor, and its parent; `None` for the root.
    Up(ClimbedNode, Option<u32>),
    /// The node ends the way.
    End(ClimbEnd<'a>),
}

impl AnchoredTree {
    /// Computes the shares of the anchors. `weights` are those that the tree was grown with.
    pub(crate) fn new(
        tree: &Tree,
        weights: &Weights,
        plan: &AnchorPlan<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let anchors = plan.anchors(tree);
        let mut marks = vec![0; tree.nodes().len()];
        let (mut exact, mut coarse) = (0, 0);
        for &(anchor, kind) in &anchors {
            let (mark, next) = match kind {
                AnchorKind::Exact => (EXACT, &mut exact),
                AnchorKind::Coarse => (COARSE, &mut coarse),
            };
            marks[anchor as usize] = mark | *next;
            *next += 1;
        }
        let (nodes, starts) = climb_nodes(tree, &marks, plan.has_tails());
        let tail_row = |&row: &u32| TailRow {
            ranking: plan.ranking_of[row as usize],
            weight: weights.get(row as usize) as f32,
        };
        let rows = tree.node_rows(0).iter().filter(|_| plan.has_tails());
        let exact_stride = anchor_stride(tree.labels());
        let coarse_stride = coarse_stride(tree.labels());
        let mut anchored = Self {
            nodes,
            starts,
            rows: rows.map(tail_row).collect(),
            exact: vec![0; exact as usize * exact_stride],
            exact_stride,
            coarse: vec![0; coarse as usize * coarse_stride],
            coarse_stride,
        };
        let shrinkage = Shrinkage::MEstimate {
            strength: plan.strength,
        };
        let chosen = anchors.iter().map(|&(node, _)| node);
        let walk = ShareWalk::new(tree, plan.rankings, weights, shrinkage, chosen, interrupt);
        walk.visit(|node, shares| {
            let [before, _, after] = shares.planes();
            let shares = before.iter().chain(after).copied();
            anchored.store(marks[node as usize], shares, plan.unit);
            Ok(())
        })?;
        Ok(anchored)
    }

    /// Stores the shares of the anchor with this mark.
    fn store(&mut self, mark: u32, shares: impl Iterator<Item = f64>, unit: i32) {
        if mark & EXACT != 0 {
            let start = (mark & !EXACT) as usize * self.exact_stride;
            for (to, share) in self.exact[start..].iter_mut().zip(shares) {
                *to = (share * f64::from(unit)).round() as i32;
            }
        } else {
            let start = (mark & !COARSE) as usize * self.coarse_stride;
            for (to, share) in self.coarse[start..].iter_mut().zip(shares) {
                *to = (share * f64::from(COARSE_ONE)).round() as u8;
            }
        }
    }

    /// Where the shares of a leaf are, or where the way up to them starts.
    #[inline]
    pub(crate) fn leaf_start(&self, leaf: u32) -> LeafStart {
        let start = self.starts[leaf as usize];
        if start & EXACT != 0 {
            LeafStart::Anchor(start & !EXACT)
        } else {
            LeafStart::Climb(start)
        }
    }

    /// The shares of all exact anchors, slot by slot.
    pub(crate) fn exact_table(&self) -> &[i32] {
        &self.exact
    }

    fn exact(&self, slot: u32) -> &[i32] {
        &self.exact[slot as usize * self.exact_stride..][..self.exact_stride]
    }

    fn coarse(&self, slot: u32) -> &[u8] {
        &self.coarse[slot as usize * self.coarse_stride..][..self.coarse_stride]
    }

    /// The node with this index, given by [`LeafStart::Climb`] or a step before, and its parent or what ends the way up.
    #[inline(always)]
    pub(crate) fn step(&self, index: u32) -> Step<'_> {
        let node = self.nodes[index as usize];
        if node.parent & EXACT != 0 {
            return Step::End(ClimbEnd::Exact(self.exact(node.parent & !EXACT)));
        }
        if node.parent & COARSE != 0 {
            return Step::End(ClimbEnd::Coarse(self.coarse(node.parent & !COARSE)));
        }
        let level = ClimbedNode {
            start: node.first_row,
            end: node.first_row + node.rows,
            weight: node.weight,
        };
        let parent = (index > 0).then_some(node.parent);
        Step::Up(level, parent)
    }

    /// Calls `visit` with each node from a leaf, given by [`LeafStart::Climb`], up to its anchor, which is not visited,
    /// or until it returns false.
    pub(crate) fn climb(
        &self,
        start: u32,
        mut visit: impl FnMut(ClimbedNode) -> bool,
    ) -> ClimbEnd<'_> {
        let mut index = start;
        loop {
            match self.step(index) {
                Step::End(top) => return top,
                Step::Up(level, _) if !visit(level) => return ClimbEnd::Stopped,
                Step::Up(_, None) => return ClimbEnd::Root,
                Step::Up(_, Some(parent)) => index = parent,
            }
        }
    }

    /// Memory of the anchors, in bytes.
    #[cfg(test)]
    pub(crate) fn anchor_bytes(&self) -> usize {
        size_of_val(&*self.exact) + self.coarse.len()
    }

    /// The training rows of a range of a [`ClimbedNode`].
    pub(crate) fn rows(&self, start: u32, end: u32) -> &[TailRow] {
        &self.rows[start as usize..end as usize]
    }
}

/// The nodes of the ways up, if there are any, and where each leaf starts; `marks` holds the mark of each anchor, else 0.
fn climb_nodes(tree: &Tree, marks: &[u32], has_tails: bool) -> (Vec<ClimbNode>, Vec<u32>) {
    let mut starts = marks.to_vec();
    if !has_tails {
        return (Vec::new(), starts);
    }
    let mut nodes = Vec::with_capacity(marks.len());
    let mut stack = vec![(0, 0)];
    while let Some((index, parent)) = stack.pop() {
        let (node, mark) = (tree.node(index), marks[index as usize]);
        let position = nodes.len() as u32;
        nodes.push(ClimbNode {
            parent: if mark == 0 { parent } else { mark },
            first_row: node.first_row,
            rows: node.rows,
            weight: node.weight as f32,
        });
        if !(node.is_leaf() && mark & EXACT != 0) {
            starts[index as usize] = position;
        }
        if !node.is_leaf() {
            stack.extend(tree.children(index).rev().map(|child| (child, position)));
        }
    }
    (nodes, starts)
}

/// The factor of a node's weights in the shares of a leaf, and the fraction that is left to its parent.
#[inline]
pub(crate) fn step_up(fraction: f32, weight: f32, strength: f32) -> [f32; 2] {
    let factor = fraction / (weight + strength);
    [factor, factor * strength]
}
