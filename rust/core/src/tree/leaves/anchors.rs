//! [`AnchoredTree`]: a tree for many predictions of pair shares (before, tied, after) smoothed by the m-estimate.
//!
//! Some nodes, the anchors, store their smoothed shares. The shares of a leaf are those of the anchor above it,
//! corrected by the few training rows between both. A climb to the anchor starts with the fraction f = 1: each node of
//! weight N contributes its pair weights times q = f / (N + m) and leaves f = q · m to its parent; m is the strength.
//!
//! For complete rankings the weights of a node are the same for all pairs, so these corrections are a weighted sum of
//! rankings, the tail of the leaf. It is computed once per leaf and stored.
//!
//! An exact anchor, at which any climb can end, stores its shares in 32 bits each. A coarse anchor stores them in 8
//! bits; it is made where only a small fraction f is left, so that its rounding errors are multiplied by f.

use crate::aligned::AlignedBuffer;
use crate::error::Result;
use crate::pairs::pair_count;
use crate::run::Interrupt;
use crate::weights::Weights;

use super::anchor_plan::{AnchorKind, AnchorPlan};
use super::leaf_tails::{LeafTails, Tail, TailBuilder};
use super::shrinkage::Shrinkage;
use super::walk::ShareWalk;
use crate::tree::model::Tree;

/// A climb stops when less than this fraction of the shares of the leaf is left, which bounds the error of the shares.
pub(crate) const NEGLIGIBLE: f32 = 4e-7;

/// Bit of the mark (the end of a climb) that says exact anchor; the other bits are its slot among the exact anchors.
const EXACT: u32 = 1 << 31;

/// Bit of the mark that says coarse anchor; the other bits are its slot, the index among the coarse anchors.
const COARSE: u32 = 1 << 30;

/// Mark of a climb that ends at the root, which is not an anchor.
const ROOT: u32 = EXACT | COARSE;

/// Mark of a climb that the caller stopped.
const STOPPED: u32 = ROOT | 1;

/// The byte that represents a share of 1 in a coarse anchor.
pub(crate) const COARSE_ONE: u8 = u8::MAX;

/// Largest error of a share in a coarse anchor.
const COARSE_ERROR: f32 = 0.5 / COARSE_ONE as f32;

/// The number of shares of an exact anchor is padded to a multiple of this.
pub(crate) const ANCHOR_LANES: usize = 16;

/// The number of shares of a coarse anchor is padded to a multiple of this.
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
#[derive(Debug)]
pub(crate) struct AnchoredTree {
    /// Nodes in preorder, so that a climb reads near memory; empty if every leaf is an anchor or `tails` is present.
    nodes: Vec<ClimbNode>,
    /// Per node of the tree: for a leaf that is an anchor, its mark; for a leaf with a stored tail, the start of that
    /// tail; for other nodes, the index in `nodes`.
    starts: Vec<u32>,
    /// Training rows in the order of the leaves; empty if `nodes` is empty.
    rows: Vec<TailRow>,
    /// The tails of the leaves that are not anchors, if every row ranks all labels and they fit in memory.
    tails: Option<LeafTails>,
    /// Per exact anchor its shares of before, then its shares of after, in fixed point, and the padding.
    exact: AlignedBuffer<i32>,
    /// Length of the shares of an exact anchor, with padding.
    exact_stride: usize,
    /// Per coarse anchor its shares of before, then its shares of after, and the padding.
    coarse: Vec<u8>,
    /// Length of the shares of a coarse anchor, with padding.
    coarse_stride: usize,
}

/// A node in the compact layout for climbs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ClimbNode {
    /// Index of the parent; for an anchor, its own mark instead.
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

/// A node on the path from a leaf to its anchor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClimbedNode {
    /// Range of its training rows in the order of the leaves.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Weight of these rows.
    pub(crate) weight: f32,
}

impl ClimbedNode {
    /// The two ranges of the node's rows that are not in `inner`, its child on the path.
    pub(crate) fn rows_outside(self, inner: Option<Self>) -> [(u32, u32); 2] {
        let (inner_start, inner_end) = inner.map_or((self.end, self.end), |i| (i.start, i.end));
        [(self.start, inner_start), (inner_end, self.end)]
    }
}

/// Where the climb from a leaf towards the root ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ClimbEnd<'a> {
    /// An exact anchor, with its shares of before, then those of after, and padding.
    Exact(&'a [i32]),
    /// A coarse anchor, with its shares in the same layout.
    Coarse(&'a [u8]),
    /// The root, which is not an anchor: its imaginary parent has shares of ⅓.
    Root,
    /// The caller stopped.
    Stopped,
}

/// Where the shares of a leaf are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafStart {
    /// The leaf is an exact anchor: its slot.
    Anchor(u32),
    /// The index for [`AnchoredTree::tail`] and [`AnchoredTree::climb`].
    Climb(u32),
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
            tails: None,
            exact: AlignedBuffer::zeroed(exact as usize * exact_stride),
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
        if plan.has_tails() && plan.rankings.is_complete() {
            anchored.store_tails(tree, plan);
        }
        Ok(anchored)
    }

    /// Replaces the nodes and rows by the tails of the leaves, unless these take more memory than planned.
    fn store_tails(&mut self, tree: &Tree, plan: &AnchorPlan<'_>) {
        let mut builder = TailBuilder::new(plan);
        let mut starts = self.starts.clone();
        for leaf in (0..starts.len()).filter(|&index| tree.node(index as u32).is_leaf()) {
            let LeafStart::Climb(start) = self.leaf_start(leaf as u32) else {
                continue;
            };
            let add = |ranking, weight| builder.add(ranking, weight);
            let (mark, fraction) = self.climb_rankings(start, plan.strength as f32, add);
            let error = match mark {
                STOPPED => fraction,
                _ if mark & EXACT != 0 => 0.0,
                _ => fraction * COARSE_ERROR,
            };
            match builder.finish_leaf(mark, fraction, error) {
                Some(tail) => starts[leaf] = tail,
                None => return,
            }
        }
        self.tails = Some(builder.finish());
        self.starts = starts;
        self.nodes = Vec::new();
        self.rows = Vec::new();
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

    /// Where the shares of a leaf are, or where the climb to them starts.
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

    /// The end of a climb, given by its mark.
    #[inline]
    fn end(&self, mark: u32) -> ClimbEnd<'_> {
        match mark {
            ROOT => ClimbEnd::Root,
            STOPPED => ClimbEnd::Stopped,
            _ if mark & EXACT != 0 => ClimbEnd::Exact(self.exact(mark & !EXACT)),
            _ => ClimbEnd::Coarse(self.coarse(mark & !COARSE)),
        }
    }

    /// Calls `visit` with each node from a leaf, given by [`LeafStart::Climb`], up to the last one below its anchor.
    /// The climb stops early when `visit` returns false.
    pub(crate) fn climb(&self, start: u32, visit: impl FnMut(ClimbedNode) -> bool) -> ClimbEnd<'_> {
        self.end(self.climb_to_mark(start, visit))
    }

    /// As [`Self::climb`], but returns the mark of the end.
    fn climb_to_mark(&self, start: u32, mut visit: impl FnMut(ClimbedNode) -> bool) -> u32 {
        let mut index = start;
        loop {
            let node = self.nodes[index as usize];
            if node.parent & (EXACT | COARSE) != 0 {
                return node.parent;
            }
            let level = ClimbedNode {
                start: node.first_row,
                end: node.first_row + node.rows,
                weight: node.weight,
            };
            if !visit(level) {
                return STOPPED;
            }
            if index == 0 {
                return ROOT;
            }
            index = node.parent;
        }
    }

    /// The stored tail of a leaf that is not an anchor, given by [`LeafStart::Climb`].
    #[inline]
    pub(crate) fn tail(&self, start: u32) -> Option<Tail<'_>> {
        let tails = self.tails.as_ref()?;
        Some(tails.tail(start, |mark| self.end(mark)))
    }

    /// Reads parts of a stored tail, so that it is in the cache when it is needed.
    #[inline]
    pub(crate) fn touch_tail(&self, start: u32) -> u32 {
        self.tails.as_ref().map_or(0, |tails| tails.touch(start))
    }

    /// Computes the tail of a leaf that is not an anchor, given by [`LeafStart::Climb`]: calls `add` with rankings and
    /// their weights in the shares of the leaf. Every row must rank all labels. Returns the end of the climb, and the
    /// fraction that this end contributes.
    pub(crate) fn compute_tail(
        &self,
        start: u32,
        strength: f32,
        add: impl FnMut(u32, f32),
    ) -> (ClimbEnd<'_>, f32) {
        let (mark, fraction) = self.climb_rankings(start, strength, add);
        (self.end(mark), fraction)
    }

    /// As [`Self::compute_tail`], but returns the mark of the end.
    fn climb_rankings(
        &self,
        start: u32,
        strength: f32,
        mut add: impl FnMut(u32, f32),
    ) -> (u32, f32) {
        let mut levels: Vec<(ClimbedNode, f32)> = Vec::new();
        let mut fraction = 1.0;
        let mark = self.climb_to_mark(start, |node| {
            let [factor, parent_fraction] = step_up(fraction, node.weight, strength);
            levels.push((node, factor));
            fraction = parent_fraction;
            fraction >= NEGLIGIBLE
        });
        // A row of a node is also in all nodes above it, so the factors are summed from the top.
        let mut factor = 0.0;
        for (index, &(node, own)) in levels.iter().enumerate().rev() {
            factor += own;
            let inner = index.checked_sub(1).map(|below| levels[below].0);
            for (start, end) in node.rows_outside(inner) {
                for row in self.rows(start, end) {
                    add(row.ranking, factor * row.weight);
                }
            }
        }
        (mark, fraction)
    }

    /// Memory of the anchors, in bytes.
    #[cfg(test)]
    pub(crate) fn anchor_bytes(&self) -> usize {
        size_of_val(&*self.exact) + self.coarse.len()
    }

    /// The training rows of a range given by [`ClimbedNode::rows_outside`].
    pub(crate) fn rows(&self, start: u32, end: u32) -> &[TailRow] {
        &self.rows[start as usize..end as usize]
    }
}

/// [`AnchoredTree`]'s `nodes`, if any, and `starts`. `marks` holds the marks of anchors, and 0 for other nodes.
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

/// The factor of a node's weights in the shares of a leaf, and the fraction that the node's parent contributes to them.
#[inline]
pub(crate) fn step_up(fraction: f32, weight: f32, strength: f32) -> [f32; 2] {
    let factor = fraction / (weight + strength);
    [factor, factor * strength]
}
