//! [`ScoreTree`]: a tree of a booster in flat arrays.

use ndarray::ArrayView2;

use crate::simd::{dispatch, Kernel};
use crate::tree::walker::{
    find_leaves, goes_right, walk_trees_together, FlatNode, FlatTree, WalkDepth, BATCH_ROWS,
    TREES_TOGETHER,
};

/// Below this many rows, walking one row through many trees at once is faster than many rows through one tree.
pub(super) const FEW_ROWS: usize = 8;

/// A tree whose leaves hold values to add to the scores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoreTree {
    pub(crate) nodes: Vec<FlatNode>,
    /// Per node: whether a missing value goes left; true for leaves.
    pub(crate) missing_left: Vec<bool>,
    depth: WalkDepth,
    /// Per node: its number among the leaves; unused for inner nodes.
    leaf_numbers: Vec<u32>,
    /// Leaf by leaf, in the order of the nodes: n utilities, then n tie terms.
    pub(crate) values: Vec<f32>,
    /// Per leaf: the weight of the sampled training rows that reach it.
    pub(crate) covers: Vec<f64>,
}

impl FlatTree for ScoreTree {
    #[inline(always)]
    fn flat_nodes(&self) -> &[FlatNode] {
        &self.nodes
    }
}

impl ScoreTree {
    /// The tree with these nodes; `missing_left` is true for leaves, and `values` and `covers` are in the order of the
    /// leaves.
    pub(crate) fn new(
        nodes: Vec<FlatNode>,
        missing_left: Vec<bool>,
        values: Vec<f32>,
        covers: Vec<f64>,
    ) -> Self {
        let mut leaves = 0;
        let number = |(index, node): (usize, &FlatNode)| {
            leaves += u32::from(node.is_leaf(index));
            leaves.saturating_sub(1)
        };
        Self {
            leaf_numbers: nodes.iter().enumerate().map(number).collect(),
            depth: WalkDepth::of(&nodes),
            nodes,
            missing_left,
            values,
            covers,
        }
    }

    /// Number of a leaf, given the index of its node.
    pub(crate) fn leaf_number(&self, node: usize) -> usize {
        self.leaf_numbers[node] as usize
    }

    /// Values that a leaf adds to the scores of its rows.
    #[inline(always)]
    pub(crate) fn leaf_values(&self, leaf: usize, outputs: usize) -> &[f32] {
        &self.values[leaf * outputs..(leaf + 1) * outputs]
    }
}

/// Adds the trees to the scores of at most [`BATCH_ROWS`] rows, in order: staged and one-shot prediction are
/// bit-identical. Values are missing only if `has_missing`.
pub(super) fn add_trees(
    trees: &[ScoreTree],
    (values, has_missing): (ArrayView2<'_, f64>, bool),
    outputs: usize,
    scores: &mut [f32],
) {
    let (rows, columns) = values.dim();
    let values = values.as_standard_layout();
    if rows < FEW_ROWS {
        let values = values.as_slice().unwrap_or_default();
        let rows = values.chunks_exact(columns.max(1));
        for (row, scores) in rows.zip(scores.chunks_exact_mut(outputs)) {
            add_trees_to_row(trees, row, has_missing, scores);
        }
        return;
    }
    let mut leaves = [0; BATCH_ROWS];
    let leaves = &mut leaves[..rows];
    for tree in trees {
        let values = values.as_slice().unwrap_or_default();
        let missing_left = has_missing.then_some(tree.missing_left.as_slice());
        let flat = (&tree.nodes[..], tree.depth);
        find_leaves(flat, missing_left, columns, values, leaves);
        dispatch(AddLeafValues {
            tree,
            leaves,
            outputs,
            scores,
        });
    }
}

/// Adds the values of the leaf of each row to its scores.
struct AddLeafValues<'a> {
    tree: &'a ScoreTree,
    /// Per row: index of the node that is its leaf.
    leaves: &'a [u32],
    outputs: usize,
    scores: &'a mut [f32],
}

impl Kernel for AddLeafValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.scores.chunks_exact_mut(self.outputs);
        for (&node, scores) in self.leaves.iter().zip(rows) {
            let leaf = self.tree.leaf_numbers[node as usize] as usize;
            let values = self.tree.leaf_values(leaf, self.outputs);
            for (score, value) in scores.iter_mut().zip(values) {
                *score += value;
            }
        }
    }
}

/// As [`add_trees`], for one row: the trees are walked together, and their values are added in order.
fn add_trees_to_row(trees: &[ScoreTree], row: &[f64], has_missing: bool, scores: &mut [f32]) {
    let outputs = scores.len();
    let value_of = |node: &FlatNode| row[node.feature as usize];
    let mut leaves = [0; TREES_TOGETHER];
    for trees in trees.chunks(TREES_TOGETHER) {
        let leaves = &mut leaves[..trees.len()];
        if has_missing {
            walk_trees_together(trees, leaves, |tree, index, node| {
                goes_right(node, index, value_of(node), &tree.missing_left)
            });
        } else {
            walk_trees_together(trees, leaves, |_, _, node| value_of(node) > node.threshold);
        }
        for (tree, leaf) in trees.iter().zip(leaves.iter_mut()) {
            *leaf = tree.leaf_numbers[*leaf as usize];
        }
        add_leaves_to_row(trees, leaves, outputs, scores);
    }
}

/// Adds the values of one leaf per tree to the scores of one row, in order. `leaves` holds the numbers of the leaves.
pub(super) fn add_leaves_to_row(
    trees: &[ScoreTree],
    leaves: &[u32],
    outputs: usize,
    scores: &mut [f32],
) {
    // Reads that do not wait for each other load many cache lines at the same time.
    let first_values = trees.iter().zip(leaves).map(|(tree, &leaf)| {
        let values = tree.leaf_values(leaf as usize, outputs);
        let lines = values.iter().step_by(16);
        lines.fold(0, |all, v| all | v.to_bits())
    });
    std::hint::black_box(first_values.fold(0, |all, bits| all | bits));
    for (tree, &leaf) in trees.iter().zip(leaves) {
        let values = tree.leaf_values(leaf as usize, outputs);
        for (score, value) in scores.iter_mut().zip(values) {
            *score += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn add_trees_sums_leaf_values() {
        let stump = |feature, threshold, values: [f32; 4]| {
            let root = FlatNode {
                threshold,
                feature,
                child: 1,
            };
            let nodes = vec![root, FlatNode::leaf(1), FlatNode::leaf(2)];
            let missing_left = vec![feature == 0, true, true];
            ScoreTree::new(nodes, missing_left, values.to_vec(), vec![1.0; 2])
        };
        let trees = [
            stump(0, 0.5, [1.0, 2.0, 3.0, 4.0]),
            stump(1, 0.0, [10.0, 20.0, 30.0, 40.0]),
        ];
        let x = array![[0.5, 1.0], [0.6, 0.0]];
        let mut scores = vec![0.0; 4];
        add_trees(&trees, (x.view(), false), 2, &mut scores);
        assert_eq!(scores, [31.0, 42.0, 13.0, 24.0]);
        // The first tree sends missing values left, the second sends them right.
        let x = array![[f64::NAN, f64::NAN], [0.6, f64::NAN]];
        let mut scores = vec![0.0; 4];
        add_trees(&trees, (x.view(), true), 2, &mut scores);
        assert_eq!(scores, [31.0, 42.0, 33.0, 44.0]);
        // Many rows are walked together.
        let rows = 2 * FEW_ROWS;
        let many = ndarray::Array2::from_shape_fn((rows, 2), |(row, column)| x[[row % 2, column]]);
        let mut scores = vec![0.0; 2 * rows];
        add_trees(&trees, (many.view(), true), 2, &mut scores);
        assert_eq!(scores, [31.0, 42.0, 33.0, 44.0].repeat(FEW_ROWS));
    }
}
