//! [`FlatNode`]: a compact layout of binary trees, for finding the leaves of many rows at once.

use super::node::TreeNode;

/// A node of a binary tree in flat arrays. The two children of an inner node are adjacent and come after it; a leaf is
/// its own left child, so that rows can stay at leaves of different depths while other rows continue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FlatNode {
    /// Values up to this one go left.
    pub(crate) threshold: f64,
    /// Index of the feature; 0 for a leaf.
    pub(crate) feature: u32,
    /// Index of the left child; the right child follows it.
    pub(crate) child: u32,
}

/// Number of trees to pass to [`walk_trees_together`], which walks one row through all of them: enough to hide the
/// latency of memory.
pub(crate) const TREES_TOGETHER: usize = 16;

/// Number of rows that [`walk_together`] walks through one tree at once: their state fits in the registers.
const ROWS_TOGETHER: usize = 8;

/// Steps between two checks of which rows have reached a leaf, after the first check.
const FURTHER_STEPS: u32 = 6;

/// Largest number of rows that one call of [`find_leaves`] or [`walk_together`] takes.
pub(crate) const BATCH_ROWS: usize = 512;

/// Number of steps (from a node to a child) that rows need from the root of a tree to their leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WalkDepth {
    /// No row needs more steps.
    Largest(u32),
    /// Most rows need no more steps, but some may.
    Typical(u32),
}

impl WalkDepth {
    /// Trees up to this depth are walked with as many steps as the deepest leaf needs.
    const SHALLOW: u32 = 10;

    /// An estimate of the depth that most leaves of a tree with this many nodes do not exceed.
    pub(crate) fn typical(nodes: usize) -> Self {
        Self::Typical(nodes.max(1).ilog2() + 2)
    }

    /// The depth of a shallow tree, or the typical depth of a deep one.
    pub(crate) fn of(nodes: &[FlatNode]) -> Self {
        let mut depths = vec![0_u32; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            if !node.is_leaf(index) {
                let (child, depth) = (node.child as usize, depths[index] + 1);
                depths[child..child + 2].fill(depth);
            }
        }
        match depths.iter().max() {
            Some(&depth) if depth <= Self::SHALLOW => Self::Largest(depth),
            _ => Self::typical(nodes.len()),
        }
    }
}

impl FlatNode {
    /// The leaf with this index.
    pub(crate) fn leaf(index: usize) -> Self {
        Self {
            threshold: f64::INFINITY,
            feature: 0,
            child: index as u32,
        }
    }

    /// Whether the node, which has this index, is a leaf.
    pub(crate) fn is_leaf(&self, index: usize) -> bool {
        self.child as usize == index
    }

    /// The flat nodes of a binary tree; empty if a node has more than two children.
    pub(super) fn flatten(nodes: &[TreeNode], thresholds: &[f64]) -> Vec<Self> {
        if nodes.iter().any(|node| node.children > 2) {
            return Vec::new();
        }
        let flatten_node = |(index, node): (usize, &TreeNode)| {
            if node.is_leaf() {
                return Self::leaf(index);
            }
            Self {
                threshold: thresholds[node.first_threshold as usize],
                feature: node.feature,
                child: node.first_child,
            }
        };
        nodes.iter().enumerate().map(flatten_node).collect()
    }
}

/// The leaf of one row; `goes_right` decides at each inner node, given its index and the node.
#[inline(always)]
pub(crate) fn find_leaf(
    nodes: &[FlatNode],
    goes_right: impl Fn(usize, &FlatNode) -> bool,
) -> usize {
    let mut index = 0;
    loop {
        let node = &nodes[index];
        if node.is_leaf(index) {
            return index;
        }
        index = node.child as usize + usize::from(goes_right(index, node));
    }
}

/// Whether a row with this value goes to the right child; `missing_left` says per node whether a missing value (NaN)
/// goes left, and must be true for leaves.
#[inline(always)]
pub(crate) fn goes_right(node: &FlatNode, index: usize, value: f64, missing_left: &[bool]) -> bool {
    (value > node.threshold) | (value.is_nan() && !missing_left[index])
}

/// Finds the leaves of at most [`BATCH_ROWS`] rows of values in a tree of this depth. With `missing_left` (see
/// [`goes_right`]) values may be missing; without it, all values must be finite.
pub(crate) fn find_leaves(
    (nodes, depth): (&[FlatNode], WalkDepth),
    missing_left: Option<&[bool]>,
    features: usize,
    values: &[f64],
    leaves: &mut [u32],
) {
    let tree = (nodes, depth);
    match missing_left {
        None => walk_or_find(tree, features, values, leaves, |node, _, value| {
            value > node.threshold
        }),
        Some(missing_left) => {
            walk_or_find(tree, features, values, leaves, |node, index, value| {
                goes_right(node, index, value, missing_left)
            });
        }
    }
}

/// Finds the leaves of a few rows one after the other, and the leaves of many rows together.
#[inline(always)]
fn walk_or_find(
    (nodes, depth): (&[FlatNode], WalkDepth),
    features: usize,
    values: &[f64],
    leaves: &mut [u32],
    goes_right: impl Fn(&FlatNode, usize, f64) -> bool,
) {
    // Fewer rows would leave most lanes unused.
    if leaves.len() < ROWS_TOGETHER / 2 {
        for (row, leaf) in values.chunks_exact(features).zip(leaves) {
            let found = find_leaf(nodes, |index, node| {
                goes_right(node, index, row[node.feature as usize])
            });
            *leaf = found as u32;
        }
        return;
    }
    walk_together(depth, features, leaves, |first, index| {
        let node = nodes[index];
        let value = values[first + node.feature as usize];
        node.child + u32::from(goes_right(&node, index, value))
    });
}

/// Walks rows through a tree of this depth, a few rows at a time: first as many steps as most rows need, then a few
/// more with the rows that have not reached a leaf, and so on. There are at most [`BATCH_ROWS`] rows. For a row whose
/// values start at the index `first`, `step(first, node)` returns the next node.
#[inline(always)]
pub(super) fn walk_together(
    depth: WalkDepth,
    features: usize,
    leaves: &mut [u32],
    step: impl Fn(usize, usize) -> u32,
) {
    leaves.fill(0);
    let mut active = [0_u16; BATCH_ROWS];
    let mut count = leaves.len();
    for (row, active) in (0..).zip(&mut active[..count]) {
        *active = row;
    }
    let (mut steps, is_largest) = match depth {
        WalkDepth::Largest(steps) => (steps.max(1), true),
        WalkDepth::Typical(steps) => (steps.max(1), false),
    };
    while count > 0 {
        let mut kept = 0;
        for start in (0..count).step_by(ROWS_TOGETHER) {
            let lanes = ROWS_TOGETHER.min(count - start);
            let mut rows = [active[start]; ROWS_TOGETHER];
            rows[..lanes].copy_from_slice(&active[start..start + lanes]);
            let mut at = rows.map(|row| leaves[usize::from(row)]);
            let firsts = rows.map(|row| usize::from(row) * features);
            for _ in 1..steps {
                for (at, &first) in at.iter_mut().zip(&firsts) {
                    *at = step(first, *at as usize);
                }
            }
            let before = at;
            for (at, &first) in at.iter_mut().zip(&firsts) {
                *at = step(first, *at as usize);
            }
            for lane in 0..lanes {
                leaves[usize::from(rows[lane])] = at[lane];
                // Branch-free: every row is written, and overwritten by the next unless it is still active.
                active[kept] = rows[lane];
                kept += usize::from(at[lane] != before[lane]);
            }
        }
        count = if is_largest { 0 } else { kept };
        steps = FURTHER_STEPS;
    }
}

/// A tree in the compact layout.
pub(crate) trait FlatTree {
    /// The nodes of the tree.
    fn flat_nodes(&self) -> &[FlatNode];
}

/// Writes the leaf of one row in each of several trees, which are walked together to hide the latency of memory;
/// `goes_right` decides at each node, given the tree, the index of the node and the node.
#[inline(always)]
pub(crate) fn walk_trees_together<T: FlatTree>(
    trees: &[T],
    leaves: &mut [u32],
    goes_right: impl Fn(&T, usize, &FlatNode) -> bool,
) {
    leaves.fill(0);
    let mut is_moving = true;
    while is_moving {
        is_moving = false;
        for (at, tree) in leaves.iter_mut().zip(trees) {
            let index = *at as usize;
            let node = tree.flat_nodes()[index];
            let next = node.child + u32::from(goes_right(tree, index, &node));
            is_moving |= next != *at;
            *at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_find_the_same_leaves_alone_and_together() {
        // A chain of 9 splits: at depth d, values up to d go left to a leaf, and larger values go on.
        let mut nodes = Vec::new();
        for depth in 0..9 {
            nodes.push(FlatNode {
                threshold: f64::from(depth),
                feature: depth % 2,
                child: 2 * depth + 1,
            });
            nodes.push(FlatNode::leaf(2 * depth as usize + 1));
        }
        nodes.push(FlatNode::leaf(18));
        for rows in [0, 1, 3, 4, 16, 17, 400] {
            let values: Vec<f64> = (0..2 * rows).map(|i| f64::from(i % 23) / 2.0).collect();
            let mut leaves = vec![7; rows as usize];
            let shallow = (&nodes[..], WalkDepth::of(&nodes));
            assert_eq!(shallow.1, WalkDepth::Largest(9));
            find_leaves(shallow, None, 2, &values, &mut leaves);
            let mut again = leaves.clone();
            let typical = (&nodes[..], WalkDepth::typical(nodes.len()));
            find_leaves(typical, Some(&[true; 19]), 2, &values, &mut again);
            assert_eq!(again, leaves);
            for (row, &leaf) in values.chunks_exact(2).zip(&leaves) {
                let expected = (0..9).find(|&depth| row[depth % 2] <= depth as f64);
                assert_eq!(leaf as usize, expected.map_or(18, |depth| 2 * depth + 1));
            }
        }
    }

    #[test]
    fn missing_values_go_to_the_side_of_each_node() {
        // Node 0 sends missing values right, node 2 sends them left.
        let inner = |feature, child| FlatNode {
            threshold: 0.0,
            feature,
            child,
        };
        let nodes = [
            inner(0, 1),
            FlatNode::leaf(1),
            inner(1, 3),
            FlatNode::leaf(3),
            FlatNode::leaf(4),
        ];
        let missing_left = [false, true, true, true, true];
        let nan = f64::NAN;
        let one = [[-1.0, nan], [nan, 1.0], [nan, nan], [1.0, nan]];
        for copies in [0, 1, 8] {
            let values: Vec<f64> = one.repeat(copies).into_flattened();
            let mut leaves = vec![0; 4 * copies];
            let tree = (&nodes[..], WalkDepth::of(&nodes));
            find_leaves(tree, Some(&missing_left), 2, &values, &mut leaves);
            assert_eq!(leaves, [1, 4, 3, 3].repeat(copies));
        }
    }
}
