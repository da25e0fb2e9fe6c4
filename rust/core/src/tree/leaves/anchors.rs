//! [`AnchoredTree`]: a tree prepared for many predictions of shares that are smoothed by the m-estimate.
//!
//! Some nodes, the anchors, store their smoothed shares. The shares of a leaf are those of the anchor above it,
//! corrected by the few training rows between both: f = 1 at the leaf; each node on the way up contributes its weights
//! times q = f / (N + m) and leaves f = q · m to its parent, where N is the weight of the node and m the strength.

use crate::error::Result;
use crate::pairs::pair_count;
use crate::rankings::Rankings;
use crate::weights::Weights;

use super::shrinkage::Shrinkage;
use super::walk::ShareWalk;
use crate::tree::model::Tree;

/// Fractions below this are neglected on the path from a leaf to its anchor; it bounds the error of the shares.
pub(crate) const NEGLIGIBLE: f32 = 4e-7;

/// Number of possible values of `AnchorPlan::least`: the powers of two from 1 to 2³¹.
pub(crate) const LEAST_EXPONENTS: usize = 32;

/// Marks the slot of an anchor in `ClimbNode::parent`.
const ANCHOR: u32 = 1 << 31;

/// The shares of an anchor are padded to a multiple of this, in numbers.
pub(crate) const ANCHOR_LANES: usize = 16;

/// Length of the shares of an anchor, with padding.
pub(crate) fn anchor_stride(labels: usize) -> usize {
    (2 * pair_count(labels)).next_multiple_of(ANCHOR_LANES)
}

/// How the trees of a model are anchored.
pub(crate) struct AnchorPlan<'a> {
    pub(crate) rankings: &'a Rankings,
    /// Per training row: index of its ranking among the distinct rankings.
    pub(crate) ranking_of: &'a [u32],
    /// Strength of the m-estimate.
    pub(crate) strength: f64,
    /// Anchors are the lowest nodes with at least this many rows; with 1 they are the leaves.
    pub(crate) least: u32,
    /// The number 1 in fixed point, for the stored shares.
    pub(crate) unit: i32,
}

/// A tree with anchors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnchoredTree {
    nodes: Vec<ClimbNode>,
    /// Training rows in the order of the leaves; empty if every leaf is an anchor.
    rows: Vec<TailRow>,
    /// Per anchor the planes before and after, in fixed point, and the padding.
    anchors: Vec<i32>,
    /// Length of the shares of an anchor.
    stride: usize,
}

/// A node in the compact layout for paths from leaves to anchors.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ClimbNode {
    /// Index of the parent, or [`ANCHOR`] and the slot of the node's shares.
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

/// End of a climb from a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ClimbEnd<'a> {
    /// An anchor, with its shares: the planes before and after, and padding.
    Anchor(&'a [i32]),
    /// The root, which is no anchor: its parent has shares of ⅓.
    Root,
    /// The caller stopped.
    Stopped,
}

impl AnchoredTree {
    /// Computes the shares of the anchors. `weights` are those that the tree was grown with.
    pub(crate) fn new(tree: &Tree, weights: &Weights, plan: &AnchorPlan<'_>) -> Result<Self> {
        let anchors = plan.anchors(tree);
        let mut nodes: Vec<ClimbNode> = tree.nodes().iter().map(ClimbNode::new).collect();
        for (&anchor, slot) in anchors.iter().zip(0..) {
            nodes[anchor as usize].parent = ANCHOR | slot;
        }
        let stride = anchor_stride(tree.labels());
        let mut shares_of = vec![0; anchors.len() * stride];
        let shrinkage = Shrinkage::MEstimate {
            strength: plan.strength,
        };
        let unit = f64::from(plan.unit);
        let chosen = anchors.iter().copied();
        let walk = ShareWalk::new(tree, plan.rankings, weights, shrinkage, chosen);
        walk.visit(|node, shares| {
            let slot = nodes[node as usize].parent & !ANCHOR;
            let to = &mut shares_of[slot as usize * stride..][..stride];
            let [before, _, after] = shares.planes();
            for (to, share) in to.iter_mut().zip(before.iter().chain(after)) {
                *to = (share * unit).round() as i32;
            }
            Ok(())
        })?;
        let tail_row = |&row: &u32| TailRow {
            ranking: plan.ranking_of[row as usize],
            weight: weights.get(row as usize) as f32,
        };
        let has_tails = plan.least > 1;
        let rows = tree.node_rows(0).iter().filter(|_| has_tails);
        Ok(Self {
            nodes,
            rows: rows.map(tail_row).collect(),
            anchors: shares_of,
            stride,
        })
    }

    /// The shares of a leaf that is an anchor.
    #[inline]
    pub(crate) fn leaf_anchor(&self, leaf: u32) -> Option<&[i32]> {
        let parent = self.nodes[leaf as usize].parent;
        (parent & ANCHOR != 0).then(|| self.anchor(parent & !ANCHOR))
    }

    fn anchor(&self, slot: u32) -> &[i32] {
        &self.anchors[slot as usize * self.stride..][..self.stride]
    }

    /// Calls `visit` with each node from a leaf up to its anchor, which is not visited, or until it returns false.
    pub(crate) fn climb(
        &self,
        leaf: u32,
        mut visit: impl FnMut(ClimbedNode) -> bool,
    ) -> ClimbEnd<'_> {
        let mut index = leaf;
        loop {
            let node = self.nodes[index as usize];
            if node.parent & ANCHOR != 0 {
                return ClimbEnd::Anchor(self.anchor(node.parent & !ANCHOR));
            }
            let level = ClimbedNode {
                start: node.first_row,
                end: node.first_row + node.rows,
                weight: node.weight,
            };
            if !visit(level) {
                return ClimbEnd::Stopped;
            }
            if index == 0 {
                return ClimbEnd::Root;
            }
            index = node.parent;
        }
    }

    /// Number of anchors.
    #[cfg(test)]
    pub(crate) fn anchors(&self) -> usize {
        self.anchors.len() / self.stride
    }

    /// The training rows of a range of a [`ClimbedNode`].
    pub(crate) fn rows(&self, start: u32, end: u32) -> &[TailRow] {
        &self.rows[start as usize..end as usize]
    }
}

impl ClimbNode {
    fn new(node: &crate::tree::TreeNode) -> Self {
        Self {
            parent: node.parent,
            first_row: node.first_row,
            rows: node.rows,
            weight: node.weight as f32,
        }
    }
}

impl AnchorPlan<'_> {
    /// Number of anchors of a tree for each `least` = 1, 2, 4, …; that of the plan is ignored.
    pub(crate) fn anchor_counts(&self, tree: &Tree) -> [usize; LEAST_EXPONENTS] {
        let remainders = self.remainders(tree);
        let mut counts = [0; LEAST_EXPONENTS];
        for index in 0..tree.nodes().len() as u32 {
            let [low, high] = anchor_exponents(tree, index, &remainders);
            for count in &mut counts[low.min(high)..high] {
                *count += 1;
            }
        }
        counts
    }

    /// The anchors of a tree, ascending.
    fn anchors(&self, tree: &Tree) -> Vec<u32> {
        let remainders = self.remainders(tree);
        let exponent = self.least.ilog2() as usize;
        let is_anchor = |&index: &u32| {
            let [low, high] = anchor_exponents(tree, index, &remainders);
            (low..high).contains(&exponent)
        };
        (0..tree.nodes().len() as u32).filter(is_anchor).collect()
    }

    /// Per node: the largest fraction that its parent contributes to the shares of a leaf below it.
    fn remainders(&self, tree: &Tree) -> Vec<f32> {
        if !self.rankings.is_complete() {
            // A pair that no row below ranks takes its shares from the parent.
            return vec![1.0; tree.nodes().len()];
        }
        let mut remainders = vec![0.0_f32; tree.nodes().len()];
        for index in (0..tree.nodes().len()).rev() {
            let node = &tree.nodes()[index];
            let above = if node.is_leaf() {
                1.0
            } else {
                remainders[index]
            };
            let [_, remainder] = step_up(above, node.weight as f32, self.strength as f32);
            remainders[index] = remainder;
            let parent = &mut remainders[node.parent as usize];
            if index > 0 && remainder > *parent {
                *parent = remainder;
            }
        }
        remainders
    }
}

/// The factor of a node's weights in the shares of a leaf, and the fraction that is left to its parent.
#[inline]
pub(crate) fn step_up(fraction: f32, weight: f32, strength: f32) -> [f32; 2] {
    let factor = fraction / (weight + strength);
    [factor, factor * strength]
}

/// Range of the exponents of `least` for which a node is an anchor: from the first, up to but not including the second.
///
/// A leaf is an anchor if it has at least `least` rows. An inner node is one if it has at least `least` rows, and a child
/// with fewer rows whose leaves need its shares.
fn anchor_exponents(tree: &Tree, index: u32, remainders: &[f32]) -> [usize; 2] {
    let node = tree.node(index);
    let end = |rows: u32| rows.max(1).ilog2() as usize + 1;
    if node.is_leaf() {
        return [0, end(node.rows)];
    }
    let needed = |child: &u32| remainders[*child as usize] >= NEGLIGIBLE;
    let children = tree.children(index).filter(needed);
    let smallest = children.map(|child| tree.node(child).rows).min();
    smallest.map_or([0, 0], |rows| [end(rows), end(node.rows)])
}
