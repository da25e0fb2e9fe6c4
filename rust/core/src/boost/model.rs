//! [`ScoreTree`]: a tree of a booster in flat arrays.

use ndarray::ArrayView2;

/// The feature of a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// A node. The two children of an inner node are adjacent and come after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoreTreeNode {
    /// Values up to this one go left.
    pub(crate) threshold: f64,
    /// Feature of the split; [`LEAF`] for a leaf.
    pub(crate) feature: u32,
    /// Index of the left child; for a leaf, its number among the leaves.
    pub(crate) child: u32,
}

/// A tree whose leaves hold additions to the scores.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScoreTree {
    pub(crate) nodes: Vec<ScoreTreeNode>,
    /// Leaf by leaf: n utilities, then n tie terms.
    pub(crate) values: Vec<f32>,
}

impl ScoreTree {
    /// Number of the leaf of a row; `goes_right` decides at each inner node.
    #[inline(always)]
    pub(super) fn leaf(&self, goes_right: impl Fn(usize, &ScoreTreeNode) -> bool) -> usize {
        let mut index = 0;
        loop {
            let node = &self.nodes[index];
            if node.feature == LEAF {
                return node.child as usize;
            }
            index = node.child as usize + usize::from(goes_right(index, node));
        }
    }

    /// Additions of a leaf to the scores of its rows.
    pub(super) fn leaf_values(&self, leaf: usize, outputs: usize) -> &[f32] {
        &self.values[leaf * outputs..(leaf + 1) * outputs]
    }
}

/// Adds the trees to the scores of rows, in order: staged and one-shot prediction are bit-identical.
pub(super) fn add_trees(
    trees: &[ScoreTree],
    values: ArrayView2<'_, f64>,
    outputs: usize,
    scores: &mut [f32],
) {
    for tree in trees {
        for (row, scores) in values
            .rows()
            .into_iter()
            .zip(scores.chunks_exact_mut(outputs))
        {
            let leaf = tree.leaf(|_, node| row[node.feature as usize] > node.threshold);
            for (score, value) in scores.iter_mut().zip(tree.leaf_values(leaf, outputs)) {
                *score += value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn add_trees_sums_leaf_values() {
        let inner = |feature, threshold| ScoreTreeNode {
            threshold,
            feature,
            child: 1,
        };
        let leaf = |child| ScoreTreeNode {
            threshold: 0.0,
            feature: LEAF,
            child,
        };
        let stump = |feature, threshold, values: [f32; 4]| ScoreTree {
            nodes: vec![inner(feature, threshold), leaf(0), leaf(1)],
            values: values.to_vec(),
        };
        let trees = [
            stump(0, 0.5, [1.0, 2.0, 3.0, 4.0]),
            stump(1, 0.0, [10.0, 20.0, 30.0, 40.0]),
        ];
        let x = array![[0.5, 1.0], [0.6, 0.0]];
        let mut scores = vec![0.0; 4];
        add_trees(&trees, x.view(), 2, &mut scores);
        assert_eq!(scores, [31.0, 42.0, 13.0, 24.0]);
    }
}
