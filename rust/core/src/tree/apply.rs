//! Finding the leaves of rows.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::features::check_values;
use crate::run::{require_memory, Interrupt};

use super::model::Tree;
use super::walker::{
    find_leaves, goes_right, walk_trees_together, FlatNode, FlatTree, WalkDepth, BATCH_ROWS,
    TREES_TOGETHER,
};

/// Rows between two checks of the interrupt: finding their leaves takes about a millisecond.
const BLOCK_ROWS: usize = 1 << 14;

impl FlatTree for &Tree {
    #[inline(always)]
    fn flat_nodes(&self) -> &[FlatNode] {
        &self.flat_nodes
    }
}

impl Tree {
    /// The leaf of each row.
    ///
    /// # Errors
    /// A number of features that differs from training, an infinite value, or [`Error::Interrupted`].
    pub fn apply(&self, values: ArrayView2<'_, f64>, interrupt: &Interrupt) -> Result<Vec<u32>> {
        let (rows, columns) = values.dim();
        if columns != self.features {
            return Err(Error::FeatureCount {
                found: columns,
                expected: self.features,
            });
        }
        require_memory::<u8>("the leaves of the rows", &[rows, size_of::<u32>()])?;
        if !values.is_standard_layout() {
            require_memory::<f64>("the features", &[rows, columns])?;
        }
        let has_missing = check_values(values)?;
        let values = values.as_standard_layout();
        let mut leaves = vec![0; rows];
        if let Some(values) = values.as_slice() {
            let blocks = values.chunks((BLOCK_ROWS * columns).max(1));
            for (values, leaves) in blocks.zip(leaves.chunks_mut(BLOCK_ROWS)) {
                interrupt.check()?;
                self.write_leaves(values, has_missing, leaves);
            }
        }
        Ok(leaves)
    }

    /// Writes the leaf of each row to `leaves`; `values` holds features row by row, without missing values unless
    /// `has_missing`.
    pub(crate) fn write_leaves(&self, values: &[f64], has_missing: bool, leaves: &mut [u32]) {
        let columns = self.features.max(1);
        let missing_left = has_missing.then_some(self.missing_left.as_slice());
        let batches = values.chunks(BATCH_ROWS * columns);
        for (values, leaves) in batches.zip(leaves.chunks_mut(BATCH_ROWS)) {
            if self.flat_nodes.is_empty() {
                for (row, leaf) in values.chunks_exact(columns).zip(leaves) {
                    *leaf = self.find_leaf(row);
                }
            } else {
                let depth = WalkDepth::typical(self.flat_nodes.len());
                let tree = (&self.flat_nodes[..], depth);
                find_leaves(tree, missing_left, columns, values, leaves);
            }
        }
    }

    /// Writes the leaf of one row in each tree; the trees are walked together, which hides the latency of memory.
    pub(crate) fn write_leaves_of_row(trees: &[&Self], row: &[f64], leaves: &mut [u32]) {
        for (trees, leaves) in trees
            .chunks(TREES_TOGETHER)
            .zip(leaves.chunks_mut(TREES_TOGETHER))
        {
            if trees.iter().any(|tree| tree.flat_nodes.is_empty()) {
                for (leaf, tree) in leaves.iter_mut().zip(trees) {
                    *leaf = tree.find_leaf(row);
                }
                continue;
            }
            if row.iter().any(|value| value.is_nan()) {
                walk_trees_together(trees, leaves, |tree, index, node| {
                    let value = row[node.feature as usize];
                    goes_right(node, index, value, &tree.missing_left)
                });
            } else {
                walk_trees_together(trees, leaves, |_, _, node| {
                    row[node.feature as usize] > node.threshold
                });
            }
        }
    }

    /// The nodes from the root to a node.
    ///
    /// # Panics
    /// If `node` is not a node of the tree.
    #[must_use]
    pub fn path(&self, node: u32) -> Vec<u32> {
        let mut path = vec![node];
        let mut index = node;
        while index != 0 {
            index = self.node(index).parent;
            path.push(index);
        }
        path.reverse();
        path
    }

    /// Finds the leaf of one row; also works for multiway trees, which have no flat nodes.
    fn find_leaf(&self, row: &[f64]) -> u32 {
        let mut index = 0;
        while let Some(split) = self.split(index) {
            index = split.child_of(row);
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Splitter, TreeOptions, TreeParams};
    use super::*;
    use crate::{features::Features, rankings::Rankings};
    use ndarray::{array, Array2};

    fn trees() -> (Array2<f64>, [Tree; 2]) {
        let x = Array2::from_shape_fn((50, 2), |(i, j)| ((i * (7 + j)) % 23) as f64);
        let y = Array2::from_shape_fn((50, 2), |(i, j)| (((i * i) % 2) ^ j) as i64 + 1);
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let fit = |splitter| {
            let options = TreeOptions {
                splitter,
                ..TreeOptions::default()
            };
            let params = TreeParams::new(options).unwrap();
            Tree::fit(&features, &rankings, &params, None, &Interrupt::never()).unwrap()
        };
        let multiway = Splitter::EqualFrequency { max_splits: 4 };
        (x.clone(), [fit(Splitter::BestBinary), fit(multiway)])
    }

    #[test]
    fn training_rows_reach_their_own_leaves() {
        let (x, trees) = trees();
        for tree in &trees {
            assert!(tree.leaves() > 4);
            let leaves = tree.apply(x.view(), &Interrupt::never()).unwrap();
            let mut backwards = x.view();
            backwards.invert_axis(ndarray::Axis(0));
            let reversed = tree.apply(backwards, &Interrupt::never()).unwrap();
            let copies = [tree; 40];
            let mut of_row = [0; 40];
            Tree::write_leaves_of_row(&copies, &x.row(7).to_vec(), &mut of_row);
            assert_eq!(of_row, [leaves[7]; 40]);
            for (row, &leaf) in leaves.iter().enumerate() {
                assert!(tree.node_rows(leaf).contains(&(row as u32)));
                assert_eq!(reversed[x.nrows() - 1 - row], leaf);
                let path = tree.path(leaf);
                assert_eq!((path[0], path[path.len() - 1]), (0, leaf));
                assert!(path.windows(2).all(|w| tree.children(w[0]).contains(&w[1])));
            }
        }
    }

    #[test]
    fn mismatched_data_is_rejected() {
        let (_, [tree, _]) = trees();
        let apply = |x: Array2<f64>| tree.apply(x.view(), &Interrupt::never());
        assert!(apply(array![[1.0]]).is_err());
        assert!(apply(array![[1.0, f64::INFINITY]]).is_err());
        assert!(apply(Array2::zeros((0, 2))).unwrap().is_empty());
    }

    #[test]
    fn leaves_do_not_depend_on_blocks_and_work_can_be_interrupted() {
        let (x, trees) = trees();
        let rows = 2 * BLOCK_ROWS + 7;
        let many = Array2::from_shape_fn((rows, 2), |(i, j)| x[[i % x.nrows(), j]]);
        let interrupt = Interrupt::new();
        for tree in &trees {
            let few = tree.apply(x.view(), &interrupt).unwrap();
            let leaves = tree.apply(many.view(), &interrupt).unwrap();
            assert_eq!(leaves.len(), rows);
            assert!((0..rows).all(|row| leaves[row] == few[row % few.len()]));
        }
        interrupt.request();
        assert_eq!(
            trees[0].apply(x.view(), &interrupt),
            Err(Error::Interrupted)
        );
    }

    #[test]
    fn single_rows_reach_the_same_leaves_as_many_rows_even_at_thresholds() {
        let (x, trees) = trees();
        let mut rows: Vec<[f64; 2]> = x.rows().into_iter().map(|row| [row[0], row[1]]).collect();
        for node in 0..trees[0].nodes().len() as u32 {
            if let Some(split) = trees[0].split(node) {
                // Rows with a value at, just below and just above each threshold.
                for threshold in split.thresholds {
                    for value in [*threshold, threshold.next_down(), threshold.next_up()] {
                        rows.extend([[value, 3.0], [3.0, value], [value, value]]);
                    }
                }
            }
        }
        rows.extend([[f64::NAN, 4.0], [4.0, f64::NAN], [f64::NAN; 2]]);
        for tree in &trees {
            let table = Array2::from(rows.clone());
            let expected = tree.apply(table.view(), &Interrupt::never()).unwrap();
            for (row, expected) in rows.iter().zip(expected) {
                let mut leaves = [0; 3];
                Tree::write_leaves_of_row(&[tree; 3], row, &mut leaves);
                assert_eq!(leaves, [expected; 3], "{row:?}");
                assert_eq!(tree.find_leaf(row), expected, "{row:?}");
            }
        }
    }
}
