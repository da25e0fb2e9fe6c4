//! [`ShallowTrees`]: trees of at most six levels of splits, which many rows pass together without following pointers.
//!
//! A feature value is coded by its rank: the count of the feature's thresholds below it. Ranks take two bytes, so that
//! a vector holds a feature of many rows. All rows of a vector are compared with all splits of a level, and the earlier
//! decisions of each row select the result of the split that it reaches. This takes more comparisons than a walk from
//! node to node, but one vector instruction compares many rows.

use std::array::from_fn;

use crate::simd::{dispatch, Kernel};

use super::threshold_ranks::{collect_thresholds, for_each_rank, rank};
use super::walker::{FlatNode, WalkDepth};

/// Rows per block of codes: a few vectors, so that the compiler vectorises the loops over them.
const LANES: usize = 64;

/// The codes of one feature for the rows of a block.
type CodeLanes = [i16; LANES];

/// Largest number of levels of splits.
const LEVELS: usize = 6;

/// Number of trees that one row passes together: enough to hide the latency of memory.
const TREES_AT_ONCE: usize = 16;

/// The splits of a level are evaluated in parts of eight; this is the number of parts of the last level.
const MOST_PARTS: usize = 1 << (LEVELS - 4);

/// Largest number of thresholds per feature: all ranks, and the threshold of [`CodedSplit::NONE`], fit in two bytes.
const MOST_THRESHOLDS: usize = i16::MAX as usize;

/// A split by rank: rows with a code above the threshold go right.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CodedSplit {
    threshold: i16,
    feature: u16,
}

impl CodedSplit {
    /// Sends all rows left.
    const NONE: Self = Self {
        threshold: i16::MAX,
        feature: 0,
    };
}

/// Trees of at most six levels of splits, with ranks in place of thresholds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShallowTrees {
    /// Per feature the distinct thresholds of the trees, ascending.
    thresholds: Vec<Vec<f64>>,
    trees: Vec<CompleteTree>,
}

/// Ranks of the values of rows, block by block; within a block of rows, feature by feature.
pub(crate) struct ColumnCodes {
    codes: Vec<CodeLanes>,
}

impl ShallowTrees {
    /// Codes trees with this many features, or `None` if a tree is too deep, or if there are too many features or
    /// thresholds of a feature.
    pub(crate) fn new(features: usize, trees: &[&[FlatNode]]) -> Option<Self> {
        let is_shallow = |nodes: &&[FlatNode]| match WalkDepth::of(nodes) {
            WalkDepth::Largest(depth) => depth as usize <= LEVELS,
            // A tree deeper than `WalkDepth::SHALLOW`, or without flat nodes.
            WalkDepth::Typical(_) => false,
        };
        let is_in_range = (1..=usize::from(u16::MAX)).contains(&features);
        if !is_in_range || !trees.iter().all(is_shallow) {
            return None;
        }
        let thresholds = collect_thresholds(features, trees.iter().copied(), MOST_THRESHOLDS)?;
        let trees = trees.iter();
        Some(Self {
            trees: trees
                .map(|nodes| CompleteTree::new(nodes, &thresholds))
                .collect(),
            thresholds,
        })
    }

    /// The ranks of the values of rows; no value is missing.
    pub(crate) fn code_rows(&self, values: &[f64]) -> ColumnCodes {
        let features = self.thresholds.len();
        let blocks = values.chunks(LANES * features);
        let mut codes = vec![[0; LANES]; blocks.len() * features];
        for (values, codes) in blocks.zip(codes.chunks_exact_mut(features)) {
            for (feature, codes) in codes.iter_mut().enumerate() {
                let values = values.iter().skip(feature).step_by(features);
                for_each_rank(&self.thresholds[feature], values, |row, rank| {
                    codes[row] = rank as i16;
                });
            }
        }
        ColumnCodes { codes }
    }

    /// The ranks of the values of one row.
    pub(crate) fn code_row(&self, row: &[f64]) -> Vec<i16> {
        let features = self.thresholds.iter().zip(row);
        features
            .map(|(thresholds, &value)| rank(thresholds, value) as i16)
            .collect()
    }

    /// Writes the leaf of one row in each tree from `first` on, given the ranks of the row. A leaf is given by its
    /// index among the leaves of the tree.
    pub(crate) fn write_leaves_of_row(&self, first: usize, codes: &[i16], leaves: &mut [u32]) {
        let mut paths = [0; TREES_AT_ONCE];
        let groups = self.trees[first..].chunks(TREES_AT_ONCE);
        for (trees, leaves) in groups.zip(leaves.chunks_mut(TREES_AT_ONCE)) {
            let paths = &mut paths[..trees.len()];
            paths.fill(0);
            for _ in 0..LEVELS {
                for (path, tree) in paths.iter_mut().zip(trees) {
                    let split = tree.splits[*path % WIDTH];
                    let goes_right = codes[usize::from(split.feature)] > split.threshold;
                    *path = 2 * *path + 1 + usize::from(goes_right);
                }
            }
            for ((leaf, path), tree) in leaves.iter_mut().zip(paths).zip(trees) {
                *leaf = u32::from(tree.leaves[(*path + 1) % WIDTH]);
            }
        }
    }

    /// Writes the leaf of each row in one tree, given the ranks of the rows. A leaf is given by its index among the
    /// leaves of the tree.
    pub(crate) fn write_leaves(&self, tree: usize, codes: &ColumnCodes, leaves: &mut [u32]) {
        dispatch(LeavesKernel {
            tree: &self.trees[tree],
            features: self.thresholds.len(),
            codes: &codes.codes,
            leaves,
        });
    }
}

/// Number of leaves of a [`CompleteTree`]; it has one split fewer.
const WIDTH: usize = 1 << LEVELS;

/// A tree extended to a complete binary tree of [`LEVELS`] levels of splits, in whole cache lines. Below a leaf of the
/// original tree, all rows go left.
#[derive(Debug, Clone, PartialEq)]
#[repr(align(64))]
struct CompleteTree {
    /// The splits, level by level; the last entry is unused.
    splits: [CodedSplit; WIDTH],
    /// For each leaf of the complete tree, from left to right: the leaf of the original tree that contains it, as an
    /// index among the original leaves in the order of the nodes.
    leaves: [u8; WIDTH],
}

impl CompleteTree {
    fn new(nodes: &[FlatNode], thresholds: &[Vec<f64>]) -> Self {
        let mut tree = Self {
            splits: [CodedSplit::NONE; WIDTH],
            leaves: [0; WIDTH],
        };
        let mut splits = tree.splits.iter_mut();
        let mut level = vec![0];
        for _ in 0..LEVELS {
            let mut next = Vec::with_capacity(2 * level.len());
            for (index, split) in level.into_iter().zip(&mut splits) {
                let node = &nodes[index as usize];
                if node.is_leaf(index as usize) {
                    next.extend([index; 2]);
                } else {
                    *split = CodedSplit {
                        threshold: rank(&thresholds[node.feature as usize], node.threshold) as i16,
                        feature: node.feature as u16,
                    };
                    next.extend([node.child, node.child + 1]);
                }
            }
            level = next;
        }
        let is_leaf = |index: usize| nodes[index].is_leaf(index);
        for (leaf, index) in tree.leaves.iter_mut().zip(level) {
            *leaf = (0..index as usize).filter(|&i| is_leaf(i)).count() as u8;
        }
        tree
    }

    /// The original leaf of each row of a block, given the ranks of the rows by feature.
    #[inline(always)]
    fn leaves(&self, codes: &[CodeLanes]) -> [u32; LANES] {
        let mut decisions = [[0; LANES]; LEVELS];
        // Per row the index of the split that it reaches, within the level; a decision of −1 means right.
        let mut paths = [0_i16; LANES];
        for level in 0..LEVELS {
            let splits = &self.splits[(1 << level) - 1..(2 << level) - 1];
            let decision = decide_level(splits, codes, &decisions[..level]);
            for l in 0..LANES {
                paths[l] = paths[l] * 2 - decision[l];
            }
            decisions[level] = decision;
        }
        paths.map(|path| u32::from(self.leaves[path as usize % WIDTH]))
    }
}

struct LeavesKernel<'a> {
    tree: &'a CompleteTree,
    features: usize,
    codes: &'a [CodeLanes],
    leaves: &'a mut [u32],
}

impl Kernel for LeavesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let blocks = self.codes.chunks_exact(self.features);
        for (codes, leaves) in blocks.zip(self.leaves.chunks_mut(LANES)) {
            let found = self.tree.leaves(codes);
            leaves.copy_from_slice(&found[..leaves.len()]);
        }
    }
}

/// Whether each row goes right (−1) or left (0) at its split of a level, given its decisions at the levels above.
#[inline(always)]
fn decide_level(splits: &[CodedSplit], codes: &[CodeLanes], above: &[CodeLanes]) -> CodeLanes {
    match above.len() {
        0 => decide::<1, 0>(splits, codes, above),
        1 => decide::<2, 1>(splits, codes, above),
        2 => decide::<4, 2>(splits, codes, above),
        _ => {
            let (above, last) = above.split_at(above.len() - 3);
            let mut parts = [[0; LANES]; MOST_PARTS];
            for (part, splits) in parts.iter_mut().zip(splits.chunks_exact(8)) {
                *part = decide::<8, 3>(splits, codes, last);
            }
            let mut count = splits.len() / 8;
            for decision in above {
                count /= 2;
                for part in 0..count {
                    parts[part] = select(&parts[part], &parts[count + part], decision);
                }
            }
            parts[0]
        }
    }
}

/// As [`decide_level`], for at most eight splits, whose number is known at compile time.
#[inline(always)]
fn decide<const SPLITS: usize, const ABOVE: usize>(
    splits: &[CodedSplit],
    codes: &[CodeLanes],
    above: &[CodeLanes],
) -> CodeLanes {
    let thresholds: [i16; SPLITS] = from_fn(|i| splits[i].threshold);
    let values: [&CodeLanes; SPLITS] = from_fn(|i| &codes[usize::from(splits[i].feature)]);
    let above: [&CodeLanes; ABOVE] = from_fn(|i| &above[i]);
    let mut decisions = [0; LANES];
    for l in 0..LANES {
        let mut goes_right = [0_i16; SPLITS];
        for i in 0..SPLITS {
            goes_right[i] = -i16::from(values[i][l] > thresholds[i]);
        }
        let mut count = SPLITS;
        for above in above {
            count /= 2;
            for i in 0..count {
                goes_right[i] = (goes_right[i] & !above[l]) | (goes_right[count + i] & above[l]);
            }
        }
        decisions[l] = goes_right[0];
    }
    decisions
}

/// Takes each number from `right` where the decision is −1, else from `left`.
#[inline(always)]
fn select(left: &CodeLanes, right: &CodeLanes, decision: &CodeLanes) -> CodeLanes {
    let mut selected = [0; LANES];
    for l in 0..LANES {
        selected[l] = (left[l] & !decision[l]) | (right[l] & decision[l]);
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::walker::find_leaf;

    /// A pseudo-random tree: a node of each level above `depth` is split with probability 7/8.
    fn tree(depth: usize, seed: usize) -> Vec<FlatNode> {
        let mut nodes = vec![FlatNode::leaf(0)];
        let mut level = vec![0];
        for _ in 0..depth {
            let mut next = Vec::new();
            for index in level {
                let draw = (index * 7919 + seed * 104_729 + 13) % 1009;
                if draw.is_multiple_of(8) && index > 0 {
                    continue;
                }
                let child = nodes.len();
                nodes[index] = FlatNode {
                    threshold: (draw % 11) as f64 / 2.0,
                    feature: (draw / 11 % 3) as u32,
                    child: child as u32,
                };
                nodes.extend([child, child + 1].map(FlatNode::leaf));
                next.extend([child, child + 1]);
            }
            level = next;
        }
        nodes
    }

    #[test]
    fn rows_find_the_same_leaves_together_and_alone() {
        let trees: Vec<Vec<FlatNode>> = (0..=LEVELS).map(|depth| tree(depth, depth)).collect();
        let all: Vec<&[FlatNode]> = trees.iter().map(Vec::as_slice).collect();
        let shallow = ShallowTrees::new(3, &all).unwrap();
        // Thresholds themselves, values between them, and extreme values.
        let value = |i: usize| match i * 37 % 29 {
            0 => f64::MAX,
            1 => f64::MIN,
            2 => -0.0,
            other => other as f64 / 4.0,
        };
        let values: Vec<f64> = (0..3 * 200).map(value).collect();
        for rows in [0, 1, LANES - 1, LANES, 200] {
            let values = &values[..3 * rows];
            let codes = shallow.code_rows(values);
            for (index, nodes) in trees.iter().enumerate() {
                let mut found = vec![9; rows];
                shallow.write_leaves(index, &codes, &mut found);
                for (row, leaf) in values.chunks_exact(3).zip(found) {
                    let expected =
                        find_leaf(nodes, |_, node| row[node.feature as usize] > node.threshold);
                    let expected_leaf = (0..expected).filter(|&i| nodes[i].is_leaf(i)).count();
                    assert_eq!(leaf as usize, expected_leaf);
                    let mut alone = vec![9; trees.len() - index];
                    shallow.write_leaves_of_row(index, &shallow.code_row(row), &mut alone);
                    assert_eq!(alone[0], leaf);
                }
            }
        }
    }

    #[test]
    fn deep_trees_are_not_coded() {
        let deep = tree(LEVELS + 1, 1);
        assert!(matches!(WalkDepth::of(&deep), WalkDepth::Largest(7)));
        assert_eq!(ShallowTrees::new(3, &[&deep]), None);
    }
}
