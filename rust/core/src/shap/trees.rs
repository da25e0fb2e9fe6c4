//! Trees, forests and boosters as sums of trees, whose leaves have one score per label.
//!
//! Borda scores of a leaf are computed from its pair shares (per pair of labels the shares of its rows that rank the
//! first label before, tied with or after the second). [`ShareWalk`] computes them, shrunk towards those of the leaf's
//! ancestors as [`Shrinkage`] says.

use std::ops::Range;

use crate::aggregate::Borda;
use crate::boost::{Booster, ScoreTree};
use crate::error::Result;
use crate::forest::Forest;
use crate::pairs::PairOrderMatrix;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::tree::walker::goes_right;
use crate::tree::{FittedTree, ShareWalk, Shrinkage, Tree};
use crate::weights::Weights;

use super::path_tree::SplitTree;
use super::tree_sum::TreeSum;

impl SplitTree for Tree {
    fn node_count(&self) -> usize {
        self.nodes().len()
    }

    fn children(&self, node: usize) -> Range<usize> {
        let children = Self::children(self, node as u32);
        children.start as usize..children.end as usize
    }

    fn feature(&self, node: usize) -> usize {
        self.split(node as u32)
            .map_or(0, |split| split.feature as usize)
    }

    fn child_of(&self, node: usize, row: &[f64]) -> usize {
        self.split(node as u32)
            .map_or(node, |split| split.child_of(row) as usize)
    }

    fn cover(&self, leaf: usize) -> f64 {
        self.node(leaf as u32).weight
    }
}

impl SplitTree for ScoreTree {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn children(&self, node: usize) -> Range<usize> {
        let child = self.nodes[node].child as usize;
        if child == node {
            0..0
        } else {
            child..child + 2
        }
    }

    fn feature(&self, node: usize) -> usize {
        self.nodes[node].feature as usize
    }

    fn child_of(&self, node: usize, row: &[f64]) -> usize {
        let flat = &self.nodes[node];
        let value = row[flat.feature as usize];
        flat.child as usize + usize::from(goes_right(flat, node, value, &self.missing_left))
    }

    fn cover(&self, leaf: usize) -> f64 {
        self.covers[self.leaf_number(leaf)]
    }
}

/// Utilities of a booster.
impl TreeSum for Booster {
    type Member = ScoreTree;

    fn features(&self) -> usize {
        Self::features(self)
    }

    fn constants(&self) -> Vec<f64> {
        // `start` has the constant utilities of all labels, then their constant tie terms.
        let utilities = &self.start[..self.labels()];
        utilities.iter().map(|&utility| utility.into()).collect()
    }

    fn tree_count(&self) -> usize {
        self.trees.len()
    }

    fn tree(&self, index: usize) -> &ScoreTree {
        &self.trees[index]
    }

    fn leaf_values(&self, index: usize, _: &Interrupt) -> Result<Vec<f64>> {
        let leaves = self.trees[index].values.chunks_exact(self.start.len());
        let utilities = leaves.flat_map(|values| &values[..self.labels()]);
        Ok(utilities.map(|&utility| utility.into()).collect())
    }
}

/// Borda scores of the leaves of a tree with hard routing (each row reaches one leaf).
pub(super) struct TreeScores<'a> {
    pub(super) fitted: &'a FittedTree,
    pub(super) shrinkage: Shrinkage,
}

impl TreeSum for TreeScores<'_> {
    type Member = Tree;

    fn features(&self) -> usize {
        self.fitted.tree().features()
    }

    fn constants(&self) -> Vec<f64> {
        vec![0.0; self.fitted.tree().labels()]
    }

    fn tree_count(&self) -> usize {
        1
    }

    fn tree(&self, _: usize) -> &Tree {
        self.fitted.tree()
    }

    fn leaf_values(&self, _: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let rankings = self.fitted.rankings();
        let leaves = LeafScores {
            tree: self.fitted.tree(),
            rankings,
            weights: rankings.weights(),
            shrinkage: self.shrinkage,
        };
        leaves.compute(1.0, interrupt)
    }
}

/// Mean over the trees of a forest of the Borda scores of their leaves.
pub(super) struct ForestScores<'a> {
    pub(super) forest: &'a Forest,
    pub(super) shrinkage: Shrinkage,
}

impl TreeSum for ForestScores<'_> {
    type Member = Tree;

    fn features(&self) -> usize {
        self.forest.features()
    }

    fn constants(&self) -> Vec<f64> {
        vec![0.0; self.forest.rankings().labels()]
    }

    fn tree_count(&self) -> usize {
        self.forest.trees()
    }

    fn tree(&self, index: usize) -> &Tree {
        &self.forest.members[index].tree
    }

    fn leaf_values(&self, index: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
        // Its kind (bootstrap or extra-trees) and its seed determine the weights that the tree was grown with.
        let member = &self.forest.members[index];
        let leaves = LeafScores {
            tree: &member.tree,
            rankings: self.forest.rankings(),
            weights: &self.forest.weights(member.kind, member.seed),
            shrinkage: self.shrinkage,
        };
        leaves.compute(1.0 / self.forest.trees() as f64, interrupt)
    }
}

/// Computes the Borda scores of the leaves of a tree.
struct LeafScores<'a> {
    tree: &'a Tree,
    rankings: &'a Rankings,
    /// The weights that the tree was grown with.
    weights: &'a Weights,
    shrinkage: Shrinkage,
}

impl LeafScores<'_> {
    /// Borda scores of all leaves, leaf by leaf, times `factor`.
    fn compute(&self, factor: f64, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let labels = self.tree.labels();
        let leaves: Vec<u32> = self.tree.leaf_indices().collect();
        let mut values = vec![0.0; leaves.len() * labels];
        let mut pair_order = PairOrderMatrix::undecided(labels);
        let mut scores = Vec::new();
        let walk = ShareWalk::new(
            self.tree,
            self.rankings,
            self.weights,
            self.shrinkage,
            leaves.iter().copied(),
            interrupt,
        );
        walk.visit(|leaf, shares| {
            shares.write_pair_order(&mut pair_order);
            Borda::fill_scores(&pair_order, &mut scores);
            let index = leaves.partition_point(|&other| other < leaf);
            for (value, score) in values[index * labels..].iter_mut().zip(&scores) {
                *value = factor * score;
            }
            Ok(())
        })?;
        Ok(values)
    }
}
