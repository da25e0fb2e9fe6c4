//! [`AnchorPlan`]: which nodes of a tree are anchors, the nodes whose smoothed pair shares are stored.
//!
//! The pair shares of a node are, per pair of labels, the shares of its rows that rank the first label before, tied
//! with or after the second. The m-estimate smooths them towards the smoothed shares of the parent, so a fraction of
//! the shares of a leaf comes from the rows of the leaf, and the parent contributes the rest, which in turn comes from
//! its rows and from its parent. A climb from the leaf towards the root adds up these contributions and ends at an
//! anchor; see [`AnchoredTree`](super::AnchoredTree).

use crate::rankings::Rankings;

use super::anchors::{step_up, NEGLIGIBLE};
use crate::tree::model::Tree;

/// Number of possible values of `AnchorPlan::min_rows`: the powers of two from 1 to 2³¹.
pub(crate) const MIN_ROWS_EXPONENTS: usize = 32;

/// How the trees of a model are anchored.
#[derive(Clone, Copy)]
pub(crate) struct AnchorPlan<'a> {
    pub(crate) rankings: &'a Rankings,
    /// Per training row: index of its ranking among the distinct rankings.
    pub(crate) ranking_of: &'a [u32],
    /// Strength of the m-estimate, which smooths the shares of a node towards those of its parent.
    pub(crate) strength: f64,
    /// Exact anchors are the lowest nodes with at least this many rows; with 1 they are the leaves.
    pub(crate) min_rows: u32,
    /// Coarse anchors are the lowest inner nodes that contribute at most this fraction to the shares of every leaf
    /// below them; 0 for no coarse anchors.
    pub(crate) coarse_fraction: f32,
    /// The integer that represents a share of 1 in the exact anchors.
    pub(crate) unit: i32,
    /// Largest size of the stored tails of one tree; the tail of a leaf is the weighted sum of the rankings of the rows
    /// that a climb from the leaf reads below its anchor.
    pub(crate) tail_bytes: usize,
}

/// How the shares of an anchor are stored: as fixed-point numbers, or as one byte per share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnchorKind {
    Exact,
    Coarse,
}

/// Results of climbing from all leaves of a tree towards the root, for one `coarse_fraction`.
pub(crate) struct ClimbFractions {
    /// Per node: the largest fraction that the parent of the node contributes to the shares of a leaf at or below the
    /// node; 0 if all climbs from these leaves end at or below the node.
    parent_fractions: Vec<f32>,
    /// Per node: whether it is a coarse anchor.
    is_coarse: Vec<bool>,
}

impl ClimbFractions {
    /// Number of coarse anchors.
    pub(crate) fn coarse_anchors(&self) -> usize {
        self.is_coarse.iter().filter(|&&coarse| coarse).count()
    }
}

impl AnchorPlan<'_> {
    /// Whether there may be leaves that are not anchors.
    pub(crate) fn has_tails(&self) -> bool {
        self.min_rows > 1
    }

    /// Number of exact anchors of a tree for each `min_rows` = 1, 2, 4, …
    pub(crate) fn exact_counts(
        tree: &Tree,
        fractions: &ClimbFractions,
    ) -> [usize; MIN_ROWS_EXPONENTS] {
        let mut counts = [0; MIN_ROWS_EXPONENTS];
        for index in 0..tree.nodes().len() as u32 {
            let [low, high] = exact_exponents(tree, index, fractions);
            for count in &mut counts[low.min(high)..high] {
                *count += 1;
            }
        }
        counts
    }

    /// The anchors of a tree, ascending.
    pub(super) fn anchors(&self, tree: &Tree) -> Vec<(u32, AnchorKind)> {
        let fractions = self.fractions(tree);
        let exponent = self.min_rows.ilog2() as usize;
        let kind = |index: u32| {
            if fractions.is_coarse[index as usize] {
                return Some(AnchorKind::Coarse);
            }
            let [low, high] = exact_exponents(tree, index, &fractions);
            (low..high).contains(&exponent).then_some(AnchorKind::Exact)
        };
        let nodes = 0..tree.nodes().len() as u32;
        nodes
            .filter_map(|index| Some((index, kind(index)?)))
            .collect()
    }

    /// Climbs from all leaves towards the root. Until a node is reached, its entry of `parent_fractions` is the largest
    /// fraction that the node itself contributes.
    pub(crate) fn fractions(&self, tree: &Tree) -> ClimbFractions {
        let nodes = tree.nodes().len();
        let mut fractions = ClimbFractions {
            parent_fractions: vec![0.0; nodes],
            is_coarse: vec![false; nodes],
        };
        if !self.rankings.is_complete() {
            // A pair that no row of a node ranks takes all its shares from the parent, so no fraction is small.
            fractions.parent_fractions.fill(1.0);
            return fractions;
        }
        for index in (0..nodes).rev() {
            let node = &tree.nodes()[index];
            let fraction = if node.is_leaf() {
                1.0
            } else {
                fractions.parent_fractions[index]
            };
            fractions.is_coarse[index] =
                !node.is_leaf() && fraction >= NEGLIGIBLE && fraction <= self.coarse_fraction;
            if fractions.is_coarse[index] {
                fractions.parent_fractions[index] = 0.0;
                continue;
            }
            let [_, parent_fraction] = step_up(fraction, node.weight as f32, self.strength as f32);
            fractions.parent_fractions[index] = parent_fraction;
            let parent = &mut fractions.parent_fractions[node.parent as usize];
            if index > 0 && parent_fraction > *parent {
                *parent = parent_fraction;
            }
        }
        fractions
    }
}

/// The binary exponents of `min_rows` for which a node is an exact anchor, from the first inclusive to the second
/// exclusive.
///
/// A leaf is an anchor if it has at least `min_rows` rows. An inner node is an anchor if it has at least `min_rows`
/// rows, and the climb from some leaf reaches it through a child with fewer rows.
fn exact_exponents(tree: &Tree, index: u32, fractions: &ClimbFractions) -> [usize; 2] {
    let node = tree.node(index);
    let end = |rows: u32| rows.max(1).ilog2() as usize + 1;
    if node.is_leaf() {
        return [0, end(node.rows)];
    }
    if fractions.is_coarse[index as usize] {
        return [0, 0];
    }
    let climbs_on = |child: &u32| fractions.parent_fractions[*child as usize] >= NEGLIGIBLE;
    let children = tree.children(index).filter(climbs_on);
    let smallest = children.map(|child| tree.node(child).rows).min();
    smallest.map_or([0, 0], |rows| [end(rows), end(node.rows)])
}
