//! [`CodedTrees`]: the trees of a forest with ranks in place of thresholds, which finds the leaves of many rows fast.
//!
//! A value is greater than a threshold exactly if more thresholds of its feature are below it than the rank of that
//! threshold. With ranks a node takes 8 bytes and a feature 2, so that a tree and a batch of rows fit the cache.

use super::model::Tree;
use super::walker::{walk_together, BATCH_ROWS};

/// Rank of a leaf: no value has more thresholds below it.
const LEAF_RANK: u16 = u16::MAX;

/// Rows that walk through a tree together: their ranks take a part of the first-level cache.
const ROWS_AT_ONCE: usize = 256;

const _: () = assert!(ROWS_AT_ONCE <= BATCH_ROWS);

/// A node with the rank of its threshold. As in [`FlatNode`](super::walker::FlatNode), a leaf is its own left child.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CodedNode {
    threshold: u16,
    feature: u16,
    child: u32,
}

/// Binary trees with ranks in place of thresholds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CodedTrees {
    /// Per feature the distinct thresholds of all trees, ascending.
    thresholds: Vec<Vec<f64>>,
    trees: Vec<Vec<CodedNode>>,
}

impl CodedTrees {
    /// Codes trees with this many features, or `None` if a tree is not binary, or if there are too many features or
    /// thresholds of a feature for two bytes.
    pub(crate) fn new(features: usize, trees: &[&Tree]) -> Option<Self> {
        let is_binary = |tree: &&Tree| !tree.flat_nodes.is_empty();
        if features > usize::from(u16::MAX) || !trees.iter().all(is_binary) {
            return None;
        }
        let mut thresholds = vec![Vec::new(); features];
        for tree in trees {
            for (index, node) in tree.flat_nodes.iter().enumerate() {
                if !node.is_leaf(index) {
                    thresholds[node.feature as usize].push(node.threshold);
                }
            }
        }
        for own in &mut thresholds {
            own.sort_unstable_by(f64::total_cmp);
            own.dedup();
            own.shrink_to_fit();
            if own.len() > usize::from(LEAF_RANK) {
                return None;
            }
        }
        let trees = trees.iter().map(|tree| code_tree(tree, &thresholds));
        Some(Self {
            trees: trees.collect(),
            thresholds,
        })
    }

    /// The ranks of rows of values, none of which is missing.
    pub(crate) fn code_rows(&self, values: &[f64]) -> Vec<u16> {
        let features = self.thresholds.len();
        let mut codes = vec![0; values.len()];
        for (feature, thresholds) in self.thresholds.iter().enumerate() {
            let values = values.iter().skip(feature).step_by(features);
            let codes = codes.iter_mut().skip(feature).step_by(features);
            for (code, &value) in codes.zip(values) {
                *code = rank(thresholds, value);
            }
        }
        codes
    }

    /// Writes the leaf of each row in one tree, given the ranks of the rows.
    pub(crate) fn write_leaves(&self, tree: usize, codes: &[u16], leaves: &mut [u32]) {
        let nodes = self.trees[tree].as_slice();
        let features = self.thresholds.len();
        let batches = codes.chunks((ROWS_AT_ONCE * features).max(1));
        for (codes, leaves) in batches.zip(leaves.chunks_mut(ROWS_AT_ONCE)) {
            walk_together(nodes.len(), features, leaves, |first, index| {
                let node = nodes[index];
                let code = codes[first + usize::from(node.feature)];
                node.child + u32::from(code > node.threshold)
            });
        }
    }
}

/// Number of thresholds below a value.
fn rank(thresholds: &[f64], value: f64) -> u16 {
    thresholds.partition_point(|&threshold| threshold < value) as u16
}

fn code_tree(tree: &Tree, thresholds: &[Vec<f64>]) -> Vec<CodedNode> {
    let nodes = tree.flat_nodes.iter().enumerate();
    nodes
        .map(|(index, node)| CodedNode {
            threshold: if node.is_leaf(index) {
                LEAF_RANK
            } else {
                rank(&thresholds[node.feature as usize], node.threshold)
            },
            feature: node.feature as u16,
            child: node.child,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Splitter, TreeOptions, TreeParams};
    use super::*;
    use crate::features::Features;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    fn tree(splitter: Splitter, seed: u64) -> Tree {
        let x = Array2::from_shape_fn((300, 3), |(i, j)| {
            ((i * (7 + j) + i * i / 11) % 101) as f64 - 50.0
        });
        let y = Array2::from_shape_fn((300, 3), |(i, j)| ((i * i / 7 + j) % 3) as i64 + 1);
        let never = Interrupt::never();
        let features = Features::new(x.view(), &never).unwrap();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let params = TreeParams::new(TreeOptions {
            splitter,
            seed,
            ..TreeOptions::default()
        });
        Tree::fit(&features, &rankings, &params.unwrap(), None, &never).unwrap()
    }

    #[test]
    fn ranks_find_the_same_leaves_as_values() {
        let trees = [0, 1].map(|seed| tree(Splitter::RandomBinary, seed));
        let all: Vec<&Tree> = trees.iter().collect();
        let ranked = CodedTrees::new(3, &all).unwrap();
        // Thresholds themselves, -0.0, extreme values and values between.
        let mut values: Vec<f64> = trees[0].thresholds.iter().copied().take(60).collect();
        values.extend([-0.0, 0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 3.5]);
        let values: Vec<f64> = (0..3 * 600)
            .map(|i| values[(i * 37 + i / 11) % values.len()])
            .collect();
        let codes = ranked.code_rows(&values);
        for (index, tree) in trees.iter().enumerate() {
            assert!(tree.leaves() > 50);
            for rows in [0, 1, 17, 600] {
                let (mut found, mut expected) = (vec![9; rows], vec![8; rows]);
                ranked.write_leaves(index, &codes[..3 * rows], &mut found);
                tree.write_leaves(&values[..3 * rows], false, &mut expected);
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn multiway_trees_are_not_coded() {
        let multiway = tree(Splitter::EqualFrequency { max_splits: 4 }, 0);
        assert_eq!(CodedTrees::new(3, &[&multiway]), None);
    }
}
