//! Sending rows down the tree.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::features::check_finite;

use super::model::{Node, Tree};

/// What a walk needs of a node, side by side in memory. A leaf leads back to itself, so that rows of different
/// depths can walk together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    threshold: f64,
    feature: u32,
    child: u32,
}

/// Rows that walk together: enough to hide the latency of memory.
const LANES: usize = 16;

/// Steps between two looks at which rows have arrived. Leaves differ much in depth: without looking, all rows would
/// go as many steps as the deepest.
const STEPS: usize = 4;

/// Rows whose places are kept at once.
const BLOCK: usize = 512;

impl Step {
    /// The steps of a binary tree; empty when a node has more than two children.
    pub(super) fn all(nodes: &[Node], thresholds: &[f64]) -> Vec<Self> {
        if nodes.iter().any(|node| node.children > 2) {
            return Vec::new();
        }
        let step = |(index, node): (usize, &Node)| {
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
        nodes.iter().enumerate().map(step).collect()
    }
}

impl Tree {
    /// The leaf of each row.
    ///
    /// # Errors
    /// Another number of features than in training, or a value that is not finite.
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
            let blocks = values.chunks(BLOCK * columns);
            for (values, leaves) in blocks.zip(leaves.chunks_mut(BLOCK)) {
                if self.steps.is_empty() {
                    for (row, leaf) in values.chunks_exact(columns).zip(leaves) {
                        *leaf = self.leaf(row);
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
    /// When there is no such node.
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

    /// Walks a block of rows through a binary tree: some at once, a few steps, then on with those not yet at a leaf.
    fn walk(&self, values: &[f64], leaves: &mut [u32]) {
        let mut walking = [0_u16; BLOCK];
        let mut count = leaves.len();
        for (row, walking) in (0..).zip(&mut walking[..count]) {
            *walking = row;
        }
        while count > 0 {
            let mut kept = 0;
            for start in (0..count).step_by(LANES) {
                let lanes = LANES.min(count - start);
                let mut rows = [walking[start]; LANES];
                rows[..lanes].copy_from_slice(&walking[start..start + lanes]);
                let mut at = rows.map(|row| leaves[usize::from(row)]);
                let firsts = rows.map(|row| usize::from(row) * self.features);
                let mut before = at;
                for _ in 0..STEPS {
                    before = at;
                    for (at, &first) in at.iter_mut().zip(&firsts) {
                        let step = self.steps[*at as usize];
                        let value = values[first + step.feature as usize];
                        *at = step.child + u32::from(value > step.threshold);
                    }
                }
                for lane in 0..lanes {
                    leaves[usize::from(rows[lane])] = at[lane];
                    // Written behind what has been read, and kept or overwritten.
                    walking[kept] = rows[lane];
                    kept += usize::from(at[lane] != before[lane]);
                }
            }
            count = kept;
        }
    }

    /// Walks one row through any tree.
    fn leaf(&self, row: &[f64]) -> u32 {
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
    fn rows_arrive_where_they_were_in_training() {
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
    fn foreign_data_is_refused() {
        let (_, [tree, _]) = trees();
        assert!(tree.apply(array![[1.0]].view()).is_err());
        assert!(tree.apply(array![[1.0, f64::NAN]].view()).is_err());
        assert!(tree.apply(Array2::zeros((0, 2)).view()).unwrap().is_empty());
    }
}
