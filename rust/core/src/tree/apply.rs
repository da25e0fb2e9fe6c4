//! Finding the leaves of rows.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::features::check_finite;

use super::model::Tree;
use super::node::TreeNode;

/// A node in the compact layout of the walk. A leaf is its own child, so that rows can stay at leaves of different depths
/// while others go on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WalkNode {
    threshold: f64,
    feature: u32,
    /// Index of the left child; the right child follows it.
    child: u32,
}

/// Rows that walk together, enough to hide the latency of memory.
const LANES: usize = 16;

/// Steps between checks for rows that have reached a leaf. Leaves differ in depth; without checks, all rows would take
/// as many steps as the deepest leaf needs.
const STEPS_PER_CHECK: usize = 4;

/// Rows per batch.
const BATCH_ROWS: usize = 512;

impl WalkNode {
    /// The compact nodes of a binary tree; empty if a node has more than two children.
    pub(super) fn flatten(nodes: &[TreeNode], thresholds: &[f64]) -> Vec<Self> {
        if nodes.iter().any(|node| node.children > 2) {
            return Vec::new();
        }
        let flatten_node = |(index, node): (usize, &TreeNode)| {
            if node.is_leaf() {
                Self {
                    threshold: f64::INFINITY,
                    feature: 0,
                    child: index as u32,
                }
            } else {
                Self {
                    threshold: thresholds[node.first_threshold as usize],
                    feature: node.feature,
                    child: node.first_child,
                }
            }
        };
        nodes.iter().enumerate().map(flatten_node).collect()
    }
}

impl Tree {
    /// The leaf of each row.
    ///
    /// # Errors
    /// Another number of features than in training, or a NaN or infinite value.
    pub fn apply(&self, values: ArrayView2<'_, f64>) -> Result<Vec<u32>> {
        let (rows, columns) = values.dim();
        if columns != self.features {
            return Err(Error::FeatureCount {
                found: columns,
                expected: self.features,
            });
        }
        check_finite(values)?;
        let values = values.as_standard_layout();
        let mut leaves = vec![0; rows];
        if let Some(values) = values.as_slice() {
            let batches = values.chunks(BATCH_ROWS * columns);
            for (values, leaves) in batches.zip(leaves.chunks_mut(BATCH_ROWS)) {
                if self.walk_nodes.is_empty() {
                    for (row, leaf) in values.chunks_exact(columns).zip(leaves) {
                        *leaf = self.find_leaf(row);
                    }
                } else {
                    self.walk(values, leaves);
                }
            }
        }
        Ok(leaves)
    }

    /// The nodes from the root to the leaf of a row.
    ///
    /// # Errors
    /// As [`Tree::apply`].
    pub fn decision_path(&self, row: &[f64]) -> Result<Vec<u32>> {
        let shape = ndarray::ArrayView2::from_shape((1, row.len()), row);
        let leaf = match shape {
            Ok(view) => self.apply(view)?[0],
            Err(_) => 0,
        };
        Ok(self.path(leaf))
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

    /// Finds the leaves of a batch of rows in a binary tree. Takes a few steps with all active rows, drops those that have
    /// reached a leaf, and repeats.
    fn walk(&self, values: &[f64], leaves: &mut [u32]) {
        let mut active = [0_u16; BATCH_ROWS];
        let mut count = leaves.len();
        for (row, active) in (0..).zip(&mut active[..count]) {
            *active = row;
        }
        while count > 0 {
            let mut kept = 0;
            for start in (0..count).step_by(LANES) {
                let lanes = LANES.min(count - start);
                let mut rows = [active[start]; LANES];
                rows[..lanes].copy_from_slice(&active[start..start + lanes]);
                let mut at = rows.map(|row| leaves[usize::from(row)]);
                let firsts = rows.map(|row| usize::from(row) * self.features);
                let mut before = at;
                for _ in 0..STEPS_PER_CHECK {
                    before = at;
                    for (at, &first) in at.iter_mut().zip(&firsts) {
                        let node = self.walk_nodes[*at as usize];
                        let value = values[first + node.feature as usize];
                        *at = node.child + u32::from(value > node.threshold);
                    }
                }
                for lane in 0..lanes {
                    leaves[usize::from(rows[lane])] = at[lane];
                    // Branch-free: every row is written, and overwritten by the next unless it is still active.
                    active[kept] = rows[lane];
                    kept += usize::from(at[lane] != before[lane]);
                }
            }
            count = kept;
        }
    }

    /// Finds the leaf of one row in any tree.
    fn find_leaf(&self, row: &[f64]) -> u32 {
        let mut index = 0;
        while let Some(split) = self.split(index) {
            let value = row[split.feature as usize];
            let child = split.thresholds.partition_point(|&t| value > t);
            index = split.first_child + child as u32;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Splitter, TreeOptions, TreeParams};
    use super::*;
    use crate::run::Interrupt;
    use crate::{features::Features, rankings::Rankings};
    use ndarray::{array, Array2};

    fn trees() -> (Array2<f64>, [Tree; 2]) {
        let x = Array2::from_shape_fn((50, 2), |(i, j)| ((i * (7 + j)) % 23) as f64);
        let y = Array2::from_shape_fn((50, 2), |(i, j)| (((i * i) % 2) ^ j) as i64 + 1);
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None).unwrap();
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
            let leaves = tree.apply(x.view()).unwrap();
            let mut backwards = x.view();
            backwards.invert_axis(ndarray::Axis(0));
            let reversed = tree.apply(backwards).unwrap();
            for (row, &leaf) in leaves.iter().enumerate() {
                assert!(tree.node_rows(leaf).contains(&(row as u32)));
                assert_eq!(reversed[x.nrows() - 1 - row], leaf);
                let path = tree.decision_path(&x.row(row).to_vec()).unwrap();
                assert_eq!((path[0], path[path.len() - 1]), (0, leaf));
                assert!(path.windows(2).all(|w| tree.children(w[0]).contains(&w[1])));
            }
        }
    }

    #[test]
    fn mismatched_data_is_rejected() {
        let (_, [tree, _]) = trees();
        assert!(tree.apply(array![[1.0]].view()).is_err());
        assert!(tree.apply(array![[1.0, f64::NAN]].view()).is_err());
        assert!(tree.apply(Array2::zeros((0, 2)).view()).unwrap().is_empty());
    }
}
