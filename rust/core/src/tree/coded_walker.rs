//! [`CodedTrees`]: the trees of a forest with ranks in place of thresholds, for finding the leaves of many rows fast.
//!
//! The rank of a feature value is the count of the feature's thresholds below it. A value is greater than a threshold
//! exactly if its rank is greater. With ranks a node takes 8 bytes and a value 2, so that a tree and a batch of rows
//! fit in the cache.

use super::model::Tree;
use super::threshold_ranks::{collect_thresholds, for_each_rank, rank};
use super::walker::{walk_together, WalkDepth, BATCH_ROWS};
use crate::warm::warm_up;

/// Stands for the threshold's rank in a leaf: no value has a greater rank, so rows in a leaf go to its left child,
/// which is the leaf itself.
const LEAF_RANK: u16 = u16::MAX;

/// Rows that walk through a tree together: their ranks fit in a part of the first-level cache.
const ROWS_AT_ONCE: usize = 256;

/// Smallest number of trees that share ranks: with fewer, computing the ranks of the rows would take longer than it
/// saves.
const MIN_GROUP_TREES: usize = 16;

const _: () = assert!(ROWS_AT_ONCE <= BATCH_ROWS);

/// Trees with at most this many nodes per row are loaded into the cache before the walk.
const WARM_NODES_PER_ROW: usize = 8;

/// A node of a tree, with the rank of its threshold. As in [`FlatNode`](super::walker::FlatNode), a leaf is its own
/// left child.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CodedNode {
    /// Rank of the threshold.
    threshold: u16,
    feature: u16,
    /// Index of the left child; the right child follows it.
    child: u32,
}

/// Binary trees with ranks in place of thresholds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CodedTrees {
    /// Trees that share the ranks of their thresholds; all groups but the last have the same size.
    groups: Vec<CodedGroup>,
}

/// Trees whose thresholds are ranked together.
#[derive(Debug, Clone, PartialEq)]
struct CodedGroup {
    /// Per feature the distinct thresholds of the trees, ascending.
    thresholds: Vec<Vec<f64>>,
    trees: Vec<Vec<CodedNode>>,
}

/// Ranks of the values of rows.
pub(crate) struct RowRanks {
    /// Per group of trees the ranks, row by row.
    ranks: Vec<Vec<u16>>,
}

impl CodedTrees {
    /// Replaces the thresholds of trees with this many features by ranks, or returns `None` if a tree is not binary, or
    /// if there are too many features or thresholds of a feature for two bytes.
    pub(crate) fn new(features: usize, trees: &[&Tree]) -> Option<Self> {
        let is_binary = |tree: &&Tree| !tree.flat_nodes.is_empty();
        if features > usize::from(u16::MAX) || !trees.iter().all(is_binary) {
            return None;
        }
        // Halves the groups until the ranks of each group fit in two bytes.
        let mut size = trees.len().max(1);
        while size >= trees.len().clamp(1, MIN_GROUP_TREES) {
            let coded = Self::with_group_size(features, trees, size);
            if coded.is_some() {
                return coded;
            }
            size = size.div_ceil(2).min(size - 1);
        }
        None
    }

    /// As [`Self::new`], with groups of `size` trees; `None` if the ranks of a group do not fit in two bytes.
    fn with_group_size(features: usize, trees: &[&Tree], size: usize) -> Option<Self> {
        let groups = trees.chunks(size);
        let groups = groups.map(|trees| CodedGroup::new(features, trees));
        Some(Self {
            groups: groups.collect::<Option<_>>()?,
        })
    }

    /// The ranks of the values of rows; no value is missing.
    pub(crate) fn rank_rows(&self, values: &[f64]) -> RowRanks {
        RowRanks {
            ranks: self.groups.iter().map(|g| g.rank_rows(values)).collect(),
        }
    }

    /// Writes the leaf of each row in one tree, given the ranks of the rows.
    pub(crate) fn write_leaves(&self, tree: usize, ranks: &RowRanks, leaves: &mut [u32]) {
        let size = self.groups[0].trees.len();
        let (group, ranks) = (&self.groups[tree / size], &ranks.ranks[tree / size]);
        let nodes = group.trees[tree % size].as_slice();
        // The rows do not reach most nodes of a larger tree.
        if nodes.len() <= WARM_NODES_PER_ROW * leaves.len() {
            warm_up(nodes, |node| node.child);
        }
        let depth = WalkDepth::typical(nodes.len());
        let features = group.thresholds.len();
        let batches = ranks.chunks((ROWS_AT_ONCE * features).max(1));
        for (ranks, leaves) in batches.zip(leaves.chunks_mut(ROWS_AT_ONCE)) {
            walk_together(depth, features, leaves, |first, index| {
                let node = nodes[index];
                let rank = ranks[first + usize::from(node.feature)];
                node.child + u32::from(rank > node.threshold)
            });
        }
    }
}

impl CodedGroup {
    /// Replaces the thresholds of the trees by ranks; `None` if a feature has too many thresholds for two bytes.
    fn new(features: usize, trees: &[&Tree]) -> Option<Self> {
        let nodes = trees.iter().map(|tree| &tree.flat_nodes[..]);
        let thresholds = collect_thresholds(features, nodes, usize::from(LEAF_RANK))?;
        let trees = trees.iter().map(|tree| code_tree(tree, &thresholds));
        Some(Self {
            trees: trees.collect(),
            thresholds,
        })
    }

    /// The ranks of the values of rows, row by row.
    fn rank_rows(&self, values: &[f64]) -> Vec<u16> {
        let features = self.thresholds.len();
        let mut ranks = vec![0; values.len()];
        for (feature, thresholds) in self.thresholds.iter().enumerate() {
            let values = values.iter().skip(feature).step_by(features);
            for_each_rank(thresholds, values, |row, rank| {
                ranks[row * features + feature] = rank as u16;
            });
        }
        ranks
    }
}

/// The nodes of a tree with ranks in place of thresholds.
fn code_tree(tree: &Tree, thresholds: &[Vec<f64>]) -> Vec<CodedNode> {
    let nodes = tree.flat_nodes.iter().enumerate();
    nodes
        .map(|(index, node)| CodedNode {
            threshold: if node.is_leaf(index) {
                LEAF_RANK
            } else {
                rank(&thresholds[node.feature as usize], node.threshold) as u16
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
        let one = CodedTrees::new(3, &all).unwrap();
        assert_eq!(one.groups.len(), 1);
        let two = CodedTrees::with_group_size(3, &all, 1).unwrap();
        assert_eq!(two.groups.len(), 2);
        // Thresholds themselves, -0.0, extreme values and values between.
        let mut values: Vec<f64> = trees[0].thresholds.iter().copied().take(60).collect();
        values.extend([-0.0, 0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 3.5]);
        let values: Vec<f64> = (0..3 * 600)
            .map(|i| values[(i * 37 + i / 11) % values.len()])
            .collect();
        for rows in [0, 1, 17, 600] {
            let values = &values[..3 * rows];
            for coded in [&one, &two] {
                let ranks = coded.rank_rows(values);
                for (index, tree) in trees.iter().enumerate() {
                    assert!(tree.leaves() > 50);
                    let (mut found, mut expected) = (vec![9; rows], vec![8; rows]);
                    coded.write_leaves(index, &ranks, &mut found);
                    tree.write_leaves(values, false, &mut expected);
                    assert_eq!(found, expected);
                }
            }
        }
    }

    #[test]
    fn multiway_trees_are_not_coded() {
        let multiway = tree(Splitter::EqualFrequency { max_splits: 4 }, 0);
        assert_eq!(CodedTrees::new(3, &[&multiway]), None);
    }
}
