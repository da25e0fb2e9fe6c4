//! [`Tree`]: the grown tree in flat arrays.

use crate::error::Result;
use crate::features::Features;
use crate::pairs::PairCounts;
use crate::rankings::Rankings;
use crate::run::Interrupt;

use super::apply::Step;
use super::grow::{grow, Grown, SharedEncoding, Subtree, LEAF};
use super::params::TreeParams;
use super::split::criterion::Consensus;

/// A fitted tree.
///
/// Node 0 is the root; the children of a node stand side by side behind it. Every node owns a range of the
/// training rows, and the ranges of its children make up its own, so that any aggregator can be asked for any
/// node later. Rows of weight 0 belong to no node.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(super) features: usize,
    pub(super) labels: usize,
    /// Rows of the training data, including those of weight 0.
    pub(super) training_rows: usize,
    pub(super) nodes: Vec<Node>,
    pub(crate) thresholds: Vec<f64>,
    pub(crate) rows: Vec<u32>,
    pub(super) steps: Vec<Step>,
}

/// One node of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Number of training rows.
    pub rows: u32,
    /// Sum of their weights.
    pub weight: f64,
    /// Impurity of the rows.
    pub impurity: f64,
    /// Distance from the root.
    pub depth: u32,
    /// The node above; the root is its own parent.
    pub parent: u32,
    pub(super) feature: u32,
    pub(super) first_child: u32,
    pub(super) first_threshold: u32,
    pub(super) children: u32,
    pub(super) first_row: u32,
}

/// How an inner node sends rows to its children: child i takes values above `thresholds[i - 1]` and up to
/// `thresholds[i]`; its index is `first_child + i`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSplit<'a> {
    /// The feature that is compared.
    pub feature: u32,
    /// Ascending; one less than children.
    pub thresholds: &'a [f64],
    /// Index of the first child.
    pub first_child: u32,
}

impl Tree {
    /// Grows a tree.
    ///
    /// `consensus` is needed by the criteria that compare rows with their consensus, and ignored by entropy.
    /// `interrupt` is checked many times per second. O(rows · log rows · features · labels²).
    ///
    /// # Errors
    /// Different numbers of rows, a missing consensus or what it reports, too many labels, or
    /// [`crate::error::Error::Interrupted`].
    pub fn fit(
        features: &Features,
        rankings: &Rankings,
        params: &TreeParams,
        consensus: Option<&dyn Consensus>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let start = SharedEncoding::default();
        Self::fit_from(&start, features, rankings, params, consensus, interrupt)
    }

    /// As [`Self::fit`], with a start that all trees on the same rankings, with any weights, may share.
    pub(crate) fn fit_from(
        start: &SharedEncoding,
        features: &Features,
        rankings: &Rankings,
        params: &TreeParams,
        consensus: Option<&dyn Consensus>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let grown = grow(features, rankings, params, consensus, start, interrupt)?;
        Ok(Self::assemble(
            features.columns(),
            rankings.labels(),
            rankings.len(),
            grown,
        ))
    }

    /// Numbers the nodes so that siblings stand side by side.
    pub(crate) fn assemble(
        features: usize,
        labels: usize,
        training_rows: usize,
        grown: Subtree,
    ) -> Self {
        let mut nodes = vec![Node::UNSET; grown.nodes.len()];
        // The next child to come of each open node: (its index, how many are left, its parent).
        let mut open: Vec<(u32, u32, u32)> = vec![(0, 1, 0)];
        let (mut free, mut first_threshold, mut first_row) = (1, 0, 0);
        for from in &grown.nodes {
            while open.last().is_some_and(|frame| frame.1 == 0) {
                open.pop();
            }
            let Some(frame) = open.last_mut() else { break };
            let (index, parent) = (frame.0, frame.2);
            frame.0 += 1;
            frame.1 -= 1;
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
            nodes[index as usize] = Node {
                rows: from.rows,
                weight: from.weight,
                impurity: from.impurity,
                depth,
                parent,
                feature: from.feature,
                first_child: free,
                first_threshold,
                children,
                first_row,
            };
            if children == 0 {
                first_row += from.rows;
            } else {
                open.push((free, children, index));
                free += children;
                first_threshold += from.thresholds;
            }
        }
        let steps = Step::all(&nodes, &grown.thresholds);
        Self {
            features,
            labels,
            training_rows,
            nodes,
            thresholds: grown.thresholds,
            rows: grown.rows,
            steps,
        }
    }

    /// The tree in preorder, as it was grown.
    pub(crate) fn preorder(&self) -> Vec<Grown> {
        let mut out = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![0];
        while let Some(index) = stack.pop() {
            let node = self.node(index);
            out.push(Grown {
                rows: node.rows,
                weight: node.weight,
                impurity: node.impurity,
                feature: node.feature,
                thresholds: node.children.saturating_sub(1),
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

    /// Number of rows of the training data, including rows of weight 0.
    #[must_use]
    pub fn training_rows(&self) -> usize {
        self.training_rows
    }

    /// All nodes; the root is the first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    #[must_use]
    pub fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// How an inner node splits; `None` for a leaf.
    #[must_use]
    pub fn split(&self, index: u32) -> Option<NodeSplit<'_>> {
        let node = self.node(index);
        let start = node.first_threshold as usize;
        (!node.is_leaf()).then(|| NodeSplit {
            feature: node.feature,
            thresholds: &self.thresholds[start..start + node.children as usize - 1],
            first_child: node.first_child,
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

    /// Depth of the deepest leaf; 0 for a tree that is only a root.
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
    /// When `rankings` are not those that the tree was fitted on.
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

    /// For each feature the weighted decrease of impurity over the nodes that it splits, as shares of the sum;
    /// all 0 when nothing decreases.
    #[must_use]
    pub fn feature_importances(&self) -> Vec<f64> {
        let mut importances = vec![0.0; self.features];
        for index in 0..self.nodes.len() as u32 {
            if let Some(split) = self.split(index) {
                let mass = |node: &Node| node.weight * node.impurity;
                let below: f64 = self
                    .children(index)
                    .map(|child| mass(self.node(child)))
                    .sum();
                importances[split.feature as usize] += mass(self.node(index)) - below;
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

impl Node {
    const UNSET: Self = Self {
        rows: 0,
        weight: 0.0,
        impurity: 0.0,
        depth: 0,
        parent: 0,
        feature: LEAF,
        first_child: 0,
        first_threshold: 0,
        children: 0,
        first_row: 0,
    };

    /// Whether the node has no children.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.children == 0
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
        let rankings = Rankings::new(y.view(), None).unwrap();
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
    fn siblings_stand_together_and_ranges_nest() {
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
        let leaves = tree.apply(x.view()).unwrap();
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
    fn leaf_rules_hold() {
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
