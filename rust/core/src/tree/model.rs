//! [`Tree`]: a fitted tree in flat arrays.

use crate::error::Result;
use crate::features::Features;
use crate::pairs::PairCounts;
use crate::rankings::Rankings;
use crate::run::Interrupt;

use super::grow::{grow, PreorderNode, SharedEncoding, Subtree, LEAF};
use super::missing_side::{choose_missing_sides, MissingSide};
use super::node::{NodeSplit, TreeNode};
use super::params::TreeParams;
use super::split::criterion::Consensus;
use super::walker::FlatNode;

/// A fitted tree.
///
/// Node 0 is the root. The children of a node have consecutive indices, larger than its own. Every node owns a range of
/// `rows` that is the concatenation of its children's ranges, so that any aggregator can be applied to any node later.
/// Rows of weight 0 belong to no node.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(super) features: usize,
    pub(super) labels: usize,
    /// Rows of the training data, including those of weight 0.
    pub(super) training_rows: usize,
    pub(super) nodes: Vec<TreeNode>,
    pub(crate) thresholds: Vec<f64>,
    /// Training rows in the order of the leaves.
    pub(crate) rows: Vec<u32>,
    /// Compact copy of the nodes for prediction; empty for multiway trees.
    pub(super) flat_nodes: Vec<FlatNode>,
    /// Per node: whether a missing value goes to the first child, by [`choose_missing_sides`].
    pub(crate) missing_left: Vec<bool>,
}

impl Tree {
    /// Grows a tree.
    ///
    /// `consensus` is required by the criteria that compare rows with their consensus and ignored by entropy.
    /// `interrupt` is checked many times per second. O(rows · log rows · features · labels²).
    ///
    /// # Errors
    /// Different numbers of rows, a missing consensus, any error of the consensus, too many labels, or
    /// [`crate::error::Error::Interrupted`].
    pub fn fit(
        features: &Features,
        rankings: &Rankings,
        params: &TreeParams,
        consensus: Option<&dyn Consensus>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let encoding = SharedEncoding::default();
        Self::fit_with_encoding(&encoding, features, rankings, params, consensus, interrupt)
    }

    /// As [`Self::fit`], with an encoding of the rankings that all trees on them share; the weights may differ.
    pub(crate) fn fit_with_encoding(
        encoding: &SharedEncoding,
        features: &Features,
        rankings: &Rankings,
        params: &TreeParams,
        consensus: Option<&dyn Consensus>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let grown = grow(features, rankings, params, consensus, encoding, interrupt)?;
        Ok(Self::assemble(
            features.columns(),
            rankings.labels(),
            rankings.len(),
            grown,
        ))
    }

    /// Builds a tree from nodes in preorder, and gives siblings consecutive indices.
    pub(crate) fn assemble(
        features: usize,
        labels: usize,
        training_rows: usize,
        grown: Subtree,
    ) -> Self {
        let mut nodes = vec![TreeNode::UNSET; grown.nodes.len()];
        let mut sides = vec![MissingSide::default(); grown.nodes.len()];
        // Per node with pending children: (index of its next child, number of pending children, its own index).
        let mut open: Vec<(u32, u32, u32)> = vec![(0, 1, 0)];
        let (mut next_index, mut first_threshold, mut first_row) = (1, 0, 0);
        for from in &grown.nodes {
            while open.last().is_some_and(|parent_frame| parent_frame.1 == 0) {
                open.pop();
            }
            let Some(parent_frame) = open.last_mut() else {
                break;
            };
            let (index, parent) = (parent_frame.0, parent_frame.2);
            parent_frame.0 += 1;
            parent_frame.1 -= 1;
            let depth = if index == 0 {
                0
            } else {
                nodes[parent as usize].depth + 1
            };
            let children = if from.feature == LEAF {
                0
            } else {
                from.thresholds + 1
            };
            sides[index as usize] = from.missing;
            nodes[index as usize] = TreeNode {
                rows: from.rows,
                weight: from.weight,
                impurity: from.impurity,
                depth,
                parent,
                feature: from.feature,
                first_child: next_index,
                first_threshold,
                children,
                first_row,
            };
            if children == 0 {
                first_row += from.rows;
            } else {
                open.push((next_index, children, index));
                next_index += children;
                first_threshold += from.thresholds;
            }
        }
        Self {
            features,
            labels,
            training_rows,
            missing_left: choose_missing_sides(&nodes, &sides),
            flat_nodes: FlatNode::flatten(&nodes, &grown.thresholds),
            nodes,
            thresholds: grown.thresholds,
            rows: grown.rows,
        }
    }

    /// The nodes in preorder.
    pub(crate) fn preorder(&self) -> Vec<PreorderNode> {
        let mut out = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![0];
        while let Some(index) = stack.pop() {
            let node = self.node(index);
            out.push(PreorderNode {
                rows: node.rows,
                weight: node.weight,
                impurity: node.impurity,
                feature: node.feature,
                thresholds: node.children.saturating_sub(1),
                missing: MissingSide::learnt(self.missing_left[index as usize]),
            });
            stack.extend((node.first_child..node.first_child + node.children).rev());
        }
        out
    }

    /// Number of features of the training data.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of training rows, including rows of weight 0.
    #[must_use]
    pub fn training_rows(&self) -> usize {
        self.training_rows
    }

    /// All nodes; the root is the first.
    #[must_use]
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// One node.
    #[must_use]
    pub fn node(&self, index: u32) -> &TreeNode {
        &self.nodes[index as usize]
    }

    /// The split of an inner node; `None` for a leaf.
    #[must_use]
    pub fn split(&self, index: u32) -> Option<NodeSplit<'_>> {
        let node = self.node(index);
        let start = node.first_threshold as usize;
        (!node.is_leaf()).then(|| NodeSplit {
            feature: node.feature,
            thresholds: &self.thresholds[start..start + node.children as usize - 1],
            first_child: node.first_child,
            missing_left: self.missing_left[index as usize],
        })
    }

    /// Indices of the children of a node; empty for a leaf.
    #[must_use]
    pub fn children(&self, index: u32) -> std::ops::Range<u32> {
        let node = self.node(index);
        node.first_child..node.first_child + node.children
    }

    /// The training rows of a node.
    #[must_use]
    pub fn node_rows(&self, index: u32) -> &[u32] {
        let node = self.node(index);
        &self.rows[node.first_row as usize..(node.first_row + node.rows) as usize]
    }

    /// Indices of the leaves, ascending.
    pub fn leaf_indices(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes.len() as u32).filter(|&index| self.node(index).is_leaf())
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_leaf()).count()
    }

    /// Depth of the deepest leaf; 0 if the root is a leaf.
    #[must_use]
    pub fn depth(&self) -> usize {
        let depths = self.nodes.iter().map(|node| node.depth);
        depths.max().unwrap_or(0) as usize
    }

    /// Pair counts of the training rows of a node.
    ///
    /// # Errors
    /// Too many labels for pair counts.
    ///
    /// # Panics
    /// If `rankings` has fewer rows or labels than the training data.
    pub fn pair_counts(&self, index: u32, rankings: &Rankings) -> Result<PairCounts> {
        let mut counts = PairCounts::empty(self.labels)?;
        for &row in self.node_rows(index) {
            counts.add(
                rankings.row(row as usize),
                rankings.weights().get(row as usize),
            );
        }
        Ok(counts)
    }

    /// Per feature the weighted decrease of impurity over the nodes that it splits, normalised to sum 1; all 0 if no
    /// impurity decreases.
    #[must_use]
    pub fn feature_importances(&self) -> Vec<f64> {
        let mut importances = vec![0.0; self.features];
        for index in 0..self.nodes.len() as u32 {
            if let Some(split) = self.split(index) {
                let weighted_impurity = |node: &TreeNode| node.weight * node.impurity;
                let below: f64 = self
                    .children(index)
                    .map(|child| weighted_impurity(self.node(child)))
                    .sum();
                importances[split.feature as usize] += weighted_impurity(self.node(index)) - below;
            }
        }
        let total: f64 = importances.iter().sum();
        for importance in &mut importances {
            *importance = if total > 0.0 {
                *importance / total
            } else {
                0.0
            };
        }
        importances
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Criterion, Splitter, TreeOptions};
    use super::*;
    use crate::bucket_order::BucketOrder;
    use crate::tree::Sample;
    use ndarray::{array, Array2};

    fn fit(x: &Array2<f64>, y: &Array2<i64>, options: TreeOptions) -> Tree {
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let params = TreeParams::new(options).unwrap();
        let borda_like = |sample: &Sample<'_>| {
            let n = sample.counts.labels();
            let ahead = |u| (0..n).map(|v| sample.counts.before(u, v)).sum();
            let scores: Vec<f64> = (0..n).map(ahead).collect();
            Ok(BucketOrder::from_scores(&scores, |drop| drop <= 0.0))
        };
        Tree::fit(
            &features,
            &rankings,
            &params,
            Some(&borda_like),
            &Interrupt::never(),
        )
        .unwrap()
    }

    fn example() -> (Array2<f64>, Array2<i64>) {
        let x = array![[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 6.0]];
        let y = array![[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1], [1, 1, 1]];
        (x, y)
    }

    #[test]
    fn siblings_are_consecutive_and_row_ranges_nest() {
        let (x, y) = example();
        let tree = fit(&x, &y, TreeOptions::default());
        assert_eq!((tree.leaves(), tree.nodes().len()), (3, 5));
        for index in 0..tree.nodes().len() as u32 {
            let children: Vec<u32> = tree
                .children(index)
                .flat_map(|child| {
                    assert!(child > index);
                    assert_eq!(tree.node(child).parent, index);
                    tree.node_rows(child).to_vec()
                })
                .collect();
            if !tree.node(index).is_leaf() {
                assert_eq!(children, tree.node_rows(index));
            }
        }
        let leaves = tree.apply(x.view(), &Interrupt::never()).unwrap();
        for (row, &leaf) in leaves.iter().enumerate() {
            assert!(tree.node_rows(leaf).contains(&(row as u32)));
        }
        let importances = tree.feature_importances();
        assert!((importances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn every_criterion_and_splitter_separates_the_example() {
        let (x, y) = example();
        for criterion in [
            Criterion::Entropy,
            Criterion::Disagreements,
            Criterion::Distance,
        ] {
            for splitter in [
                Splitter::BestBinary,
                Splitter::EqualFrequency { max_splits: 3 },
                Splitter::EqualWidth { max_splits: 5 },
            ] {
                let options = TreeOptions {
                    criterion,
                    splitter,
                    ..TreeOptions::default()
                };
                let tree = fit(&x, &y, options);
                for leaf in tree.leaf_indices() {
                    let rows = tree.node_rows(leaf);
                    let same = |&row: &u32| y.row(row as usize) == y.row(rows[0] as usize);
                    assert!(rows.iter().all(same), "{options:?}");
                    assert_eq!(tree.node(leaf).impurity, 0.0);
                }
            }
        }
    }

    #[test]
    fn stopping_rules_are_respected() {
        let (x, y) = example();
        let base = TreeOptions::default();
        let stump = fit(
            &x,
            &y,
            TreeOptions {
                max_depth: Some(1),
                ..base
            },
        );
        assert_eq!((stump.depth(), stump.leaves()), (1, 2));
        let alone = fit(
            &x,
            &y,
            TreeOptions {
                min_samples_split: 6,
                ..base
            },
        );
        assert_eq!(alone.nodes().len(), 1);
        let balanced = fit(
            &x,
            &y,
            TreeOptions {
                min_samples_leaf: 2,
                ..base
            },
        );
        assert!(balanced.nodes().iter().all(|node| node.rows >= 2));
    }
}
