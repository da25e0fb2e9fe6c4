//! Predictions of a forest: pair shares (per pair of labels the shares of before, tied and after) averaged over its
//! trees.
//!
//! Anchors are nodes whose shares are stored. The shares of other leaves are computed by a climb to an anchor; see
//! [`AnchoredTree`](crate::tree::AnchoredTree).

use std::sync::Arc;

use ndarray::ArrayView2;

use crate::aggregate::Aggregator;
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{pair_count, PairShares};
use crate::predict::{self, PairModel, RowBlock};
use crate::run::{Interrupt, Jobs};
use crate::tree::{CodedTrees, LeafStart, RowRanks, Shrinkage, Tree};

use super::anchor_sums::{AnchorSums, NO_SLOT, TREES_AT_ONCE};
use super::share_index::ShareIndex;
use super::share_sums::ShareSums;
use super::tails::{TailSums, NO_START};
use super::{Forest, ForestTree, TreeKind};

/// Below this many rows, walking one row through many trees at once is faster than many rows through one tree.
const FEW_ROWS: usize = 8;

/// From this many rows on, replacing the values of the rows by ranks saves more time than it takes.
const MANY_ROWS: usize = 64;

/// Rows per block: the nodes and anchors of a tree stay in cache while the rows of a block walk through it.
const BLOCK_ROWS: usize = 1024;

/// Which trees vote for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voters<'a> {
    /// All trees.
    All,
    /// The rows are all training rows, and only trees grown without a row vote for it.
    OutOfBag,
    /// The rows are the training rows with these indices, and only trees of one half that were grown without a row vote
    /// for it.
    OutOfBagHalf(&'a [usize], ForestHalf),
}

/// One half of the trees of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForestHalf {
    /// The first half, which has one more tree if their number is odd.
    First,
    /// The other trees.
    Second,
}

impl ForestHalf {
    fn contains(self, tree: usize, trees: usize) -> bool {
        (2 * tree < trees) == (self == Self::First)
    }
}

impl Voters<'_> {
    /// Index of the training row that must be out of bag, if any.
    fn training_row(self, row: usize) -> Option<usize> {
        match self {
            Self::All => None,
            Self::OutOfBag => Some(row),
            Self::OutOfBagHalf(rows, _) => rows.get(row).copied(),
        }
    }

    /// Whether the tree with this index may vote for a row.
    fn includes(self, tree: usize, members: &[ForestTree]) -> bool {
        let is_in_half = match self {
            Self::All => return true,
            Self::OutOfBag => true,
            Self::OutOfBagHalf(_, half) => half.contains(tree, members.len()),
        };
        is_in_half && members[tree].kind == TreeKind::Bootstrap
    }

    /// Whether the number of predicted rows and the indices of training rows are valid.
    fn fits(self, rows: usize, training_rows: usize) -> bool {
        match self {
            Self::All => true,
            Self::OutOfBag => rows == training_rows,
            Self::OutOfBagHalf(chosen, _) => {
                rows == chosen.len() && chosen.iter().all(|&row| row < training_rows)
            }
        }
    }
}

/// A forest prepared for predictions: a [`PairModel`] that predicts the averaged shares.
pub struct ForestPredictor<'a> {
    forest: &'a Forest,
    index: Arc<ShareIndex>,
    voters: Voters<'a>,
    /// Per tree and training row whether the tree was grown with the row; empty if all trees vote, and for a tree that
    /// never votes.
    in_bag: Vec<Vec<bool>>,
}

impl PairModel for ForestPredictor<'_> {
    fn labels(&self) -> usize {
        self.forest.rankings.labels()
    }

    fn features(&self) -> usize {
        self.forest.features
    }

    fn block_rows(&self) -> usize {
        BLOCK_ROWS
    }

    fn write_shares(
        &self,
        block: RowBlock<'_>,
        shares: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut by_row = shares.chunks_exact_mut(3 * pair_count(self.labels()));
        self.for_each_row(block, interrupt, |sums| {
            if let Some(shares) = by_row.next() {
                sums.write(shares);
            }
            Ok(())
        })
    }

    fn visit_shares(
        &self,
        block: RowBlock<'_>,
        buffer: &mut Vec<f64>,
        interrupt: &Interrupt,
        visit: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        buffer.resize(3 * pair_count(self.labels()), 0.0);
        self.for_each_row(block, interrupt, |sums| {
            sums.write(buffer);
            visit(buffer)
        })
    }
}

/// The leaves of the rows of a block, tree by tree.
struct BlockLeaves<'a> {
    trees: Vec<&'a Tree>,
    block: RowBlock<'a>,
    /// For blocks of few rows: row by row, the leaf in each tree.
    of_few_rows: Vec<u32>,
    /// For blocks of many rows: the trees with ranks in place of thresholds, and the ranks of the rows.
    coded: Option<(&'a CodedTrees, RowRanks)>,
}

impl<'a> BlockLeaves<'a> {
    fn new(forest: &'a Forest, index: &'a ShareIndex, block: RowBlock<'a>) -> Self {
        let trees: Vec<&Tree> = forest.members.iter().map(|m| &m.tree).collect();
        let mut of_few_rows = Vec::new();
        if block.rows < FEW_ROWS {
            of_few_rows.resize(trees.len() * block.rows, 0);
            let rows = block.values.chunks_exact(forest.features.max(1));
            for (row, leaves) in rows.zip(of_few_rows.chunks_exact_mut(trees.len().max(1))) {
                Tree::write_leaves_of_row(&trees, row, leaves);
            }
        }
        let is_coded = block.rows >= MANY_ROWS && !block.has_missing;
        let coded = is_coded.then(|| index.coded_trees(forest.features, &trees));
        Self {
            coded: coded
                .flatten()
                .map(|coded| (coded, coded.rank_rows(block.values))),
            trees,
            block,
            of_few_rows,
        }
    }

    /// Writes the leaf of each row in one tree.
    fn write(&self, tree: usize, leaves: &mut [u32]) {
        if let Some((coded, ranks)) = &self.coded {
            return coded.write_leaves(tree, ranks, leaves);
        }
        if self.of_few_rows.is_empty() {
            return self.trees[tree].write_leaves(
                self.block.values,
                self.block.has_missing,
                leaves,
            );
        }
        let of_tree = self.of_few_rows.iter().skip(tree).step_by(self.trees.len());
        for (leaf, &found) in leaves.iter_mut().zip(of_tree) {
            *leaf = found;
        }
    }
}

impl ForestPredictor<'_> {
    /// Calls `visit` with the summed pair shares of each row, in order.
    fn for_each_row(
        &self,
        block: RowBlock<'_>,
        interrupt: &Interrupt,
        mut visit: impl FnMut(&ShareSums) -> Result<()>,
    ) -> Result<()> {
        let mut anchors = AnchorSums::new(self.labels(), block.rows);
        let trees = self.index.trees.len();
        let mut starts = vec![NO_START; block.rows * trees * usize::from(self.index.has_tails)];
        self.find_leaves(block, interrupt, &mut anchors, &mut starts)?;
        let mut sums = ShareSums::new(&self.index, self.labels());
        let mut tails = TailSums::new(&self.index, self.forest.rankings.is_complete());
        for row in 0..block.rows {
            sums.start(&anchors, row);
            if self.index.has_tails {
                tails.add(&starts[row * trees..][..trees], &mut sums, interrupt)?;
            }
            visit(&sums)?;
        }
        Ok(())
    }

    /// Adds the shares of the leaves that are anchors to `anchors`. For the other leaves, writes the start of the climb
    /// to the anchor to `starts`: row by row, one number per tree.
    fn find_leaves(
        &self,
        block: RowBlock<'_>,
        interrupt: &Interrupt,
        anchors: &mut AnchorSums,
        starts: &mut [u32],
    ) -> Result<()> {
        let finder = BlockLeaves::new(self.forest, &self.index, block);
        let all_trees = self.index.trees.len();
        let mut leaves = vec![0; block.rows];
        let at_once = anchors.trees_at_once();
        let mut slots = vec![NO_SLOT; block.rows * at_once];
        let groups = self.index.trees.chunks(at_once);
        for (group, first) in groups.zip((0..).step_by(at_once)) {
            interrupt.check()?;
            slots.fill(NO_SLOT);
            let of_trees = slots.chunks_exact_mut(block.rows);
            for ((tree, anchored), slots) in (first..).zip(group).zip(of_trees) {
                if !self.voters.includes(tree, &self.forest.members) {
                    continue;
                }
                finder.write(tree, &mut leaves);
                for ((row, &leaf), slot) in leaves.iter().enumerate().zip(slots) {
                    if self.voters != Voters::All && !self.votes(tree, block.first + row) {
                        continue;
                    }
                    match anchored.leaf_start(leaf) {
                        LeafStart::Anchor(anchor) => *slot = anchor,
                        LeafStart::Climb(start) => starts[row * all_trees + tree] = start,
                    }
                }
            }
            let mut tables: [&[i32]; TREES_AT_ONCE] = [&[]; TREES_AT_ONCE];
            for (table, anchored) in tables.iter_mut().zip(group) {
                *table = anchored.exact_table();
            }
            anchors.add(&tables[..group.len()], &slots);
        }
        Ok(())
    }

    /// Number of trees that vote for each of the first `rows` rows.
    pub(crate) fn voter_counts(&self, rows: usize) -> Vec<usize> {
        let members = &self.forest.members;
        let trees = (0..members.len()).filter(|&tree| self.voters.includes(tree, members));
        let trees: Vec<usize> = trees.collect();
        let count = |row| trees.iter().filter(|&&tree| self.votes(tree, row)).count();
        (0..rows).map(count).collect()
    }

    /// Whether a tree votes for a row, if [`Voters::includes`] holds for the tree.
    fn votes(&self, tree: usize, row: usize) -> bool {
        let Some(training_row) = self.voters.training_row(row) else {
            return true;
        };
        !self.in_bag[tree][training_row] && self.forest.rankings.weights().get(training_row) > 0.0
    }
}

impl Forest {
    /// Prepares predictions with shares that are smoothed by an m-estimate of this strength. The first call computes
    /// the anchors of the trees; later calls with the same strength reuse them. Rows without a voting tree have shares
    /// of 0.
    ///
    /// Shares differ from the exact ones by less than 1e-6.
    ///
    /// # Errors
    /// An invalid strength; [`Error::Interrupted`].
    pub fn predictor<'a>(
        &'a self,
        strength: f64,
        voters: Voters<'a>,
        jobs: Jobs<'_>,
    ) -> Result<ForestPredictor<'a>> {
        Shrinkage::MEstimate { strength }.check()?;
        let index = self.cache.get(self, strength, jobs)?;
        let in_bag = |(index, member): (usize, &ForestTree)| {
            if !voters.includes(index, &self.members) {
                return Vec::new();
            }
            let mut in_bag = vec![false; self.rankings.len()];
            for &row in member.tree.node_rows(0) {
                in_bag[row as usize] = true;
            }
            in_bag
        };
        let members = self.members.iter().enumerate();
        let trees = members.filter(|_| voters != Voters::All);
        Ok(ForestPredictor {
            forest: self,
            index,
            voters,
            in_bag: trees.map(in_bag).collect(),
        })
    }

    /// Computes `f` from the averaged shares of each row; see [`Self::predictor`].
    ///
    /// # Errors
    /// The errors of [`Self::predictor`] and [`predict::map_shares`]; [`Error::RowCounts`] if out-of-bag rows are not
    /// those of the training data.
    pub fn map_shares<S, T: Send>(
        &self,
        values: ArrayView2<'_, f64>,
        strength: f64,
        voters: Voters<'_>,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let predictor = self.checked_predictor(values, strength, voters, jobs)?;
        predict::map_shares(&predictor, values, jobs, state, f)
    }

    /// Consensus of the averaged shares of each row.
    ///
    /// # Errors
    /// The errors of [`Self::map_shares`] and [`Aggregator::aggregate`].
    pub fn consensus(
        &self,
        aggregator: &Aggregator,
        values: ArrayView2<'_, f64>,
        strength: f64,
        voters: Voters<'_>,
        jobs: Jobs<'_>,
    ) -> Result<Vec<BucketOrder>> {
        let predictor = self.checked_predictor(values, strength, voters, jobs)?;
        predict::consensus(&predictor, aggregator, values, jobs)
    }

    fn checked_predictor<'a>(
        &'a self,
        values: ArrayView2<'_, f64>,
        strength: f64,
        voters: Voters<'a>,
        jobs: Jobs<'_>,
    ) -> Result<ForestPredictor<'a>> {
        if !voters.fits(values.nrows(), self.rankings.len()) {
            return Err(Error::RowCounts {
                features: values.nrows(),
                rankings: self.rankings.len(),
            });
        }
        self.predictor(strength, voters, jobs)
    }

    /// Per training row, the number of trees on bootstrap samples that do not contain it; 0 for rows of weight 0.
    #[must_use]
    pub fn out_of_bag_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.rankings.len()];
        let ranking_weights = self.rankings.weights();
        for member in self
            .members
            .iter()
            .filter(|m| m.kind == TreeKind::Bootstrap)
        {
            let weights = self.weights(member.kind, member.seed);
            for (row, count) in counts.iter_mut().enumerate() {
                *count += usize::from(weights.get(row) == 0.0 && ranking_weights.get(row) > 0.0);
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests;
