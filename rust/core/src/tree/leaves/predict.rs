//! Predictions of a fitted tree from smoothed pair shares, with hard or soft routing. The pair shares of a leaf are,
//! per pair of labels, the shares of its rows that rank the first label before, tied with or after the second;
//! smoothing shrinks them towards the shares of the ancestors.

use ndarray::ArrayView2;

use crate::aggregate::Aggregator;
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{normalise, pair_count, PairShares};
use crate::predict::{PairModel, RowBlock, ShareConsensus};
use crate::run::{Interrupt, Jobs};

use super::shrinkage::Shrinkage;
use super::walk::ShareWalk;
use crate::tree::fitted::FittedTree;

/// Rows per block: many, because every block computes the shares of its leaves anew, from the root down.
const BLOCK_ROWS: usize = 2048;

impl FittedTree {
    /// Consensus of the smoothed shares of each leaf in `leaves`.
    ///
    /// # Errors
    /// The errors of [`Aggregator::aggregate`], which rejects methods that need rankings; [`Error::Interrupted`].
    ///
    /// # Panics
    /// If an index is not a node of the tree.
    pub fn smoothed_consensus(
        &self,
        aggregator: &Aggregator,
        shrinkage: Shrinkage,
        leaves: &[u32],
        jobs: Jobs<'_>,
    ) -> Result<Vec<BucketOrder>> {
        let walk = self.walk(shrinkage, leaves.iter().copied(), jobs.interrupt);
        let orders = walk.map(
            jobs,
            || ShareConsensus::new(jobs.interrupt),
            |consensus, _, shares| consensus.aggregate(aggregator, shares),
        )?;
        // Unless interrupted, all requested leaves have been visited.
        let order = |&leaf: &u32| orders[leaf as usize].clone().ok_or(Error::Interrupted);
        leaves.iter().map(order).collect()
    }

    /// Calls `visit` once per leaf in `leaves` with its smoothed shares, in any order.
    ///
    /// # Errors
    /// Any error of `visit`; [`Error::Interrupted`].
    ///
    /// # Panics
    /// If an index is not a node of the tree.
    pub fn visit_pair_shares(
        &self,
        shrinkage: Shrinkage,
        leaves: &[u32],
        interrupt: &Interrupt,
        visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let walk = self.walk(shrinkage, leaves.iter().copied(), interrupt);
        walk.visit(visit)
    }

    /// The tree as a [`PairModel`], which predicts the smoothed shares.
    ///
    /// # Errors
    /// [`Error::NoSoftRouting`] when `routing` is soft and the tree was fitted without soft routing.
    pub fn predictor(&self, shrinkage: Shrinkage, routing: Routing) -> Result<TreePredictor<'_>> {
        if routing == Routing::Soft && self.soft_routing().is_none() {
            return Err(Error::NoSoftRouting);
        }
        Ok(TreePredictor {
            fitted: self,
            shrinkage,
            routing,
        })
    }

    /// Prepares the traversal that computes the smoothed shares of `leaves`.
    fn walk(
        &self,
        shrinkage: Shrinkage,
        leaves: impl Iterator<Item = u32>,
        interrupt: &Interrupt,
    ) -> ShareWalk<'_> {
        let rankings = self.rankings();
        ShareWalk::new(
            self.tree(),
            rankings,
            rankings.weights(),
            shrinkage,
            leaves,
            interrupt,
        )
    }
}

/// How rows reach leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// Every row reaches one leaf.
    Hard,
    /// A row near a threshold reaches leaves on both sides; its shares are the weighted mean of the leaves' shares.
    Soft,
}

/// A fitted tree as a [`PairModel`].
#[derive(Debug, Clone, Copy)]
pub struct TreePredictor<'a> {
    fitted: &'a FittedTree,
    shrinkage: Shrinkage,
    routing: Routing,
}

/// A row at a leaf: index of the leaf, row in the block, and part of the row that reaches the leaf.
type Visit = (u32, u32, f64);

impl TreePredictor<'_> {
    /// The leaves that the rows of a block reach, sorted by leaf.
    fn visits(&self, block: RowBlock<'_>) -> Result<Vec<Visit>> {
        let tree = self.fitted.tree();
        let mut visits: Vec<Visit> = Vec::new();
        let soft = self.fitted.soft_routing();
        if let Some(soft) = soft.filter(|_| self.routing == Routing::Soft) {
            let shape = (block.rows, tree.features());
            let values = ArrayView2::from_shape(shape, block.values);
            let values = values.map_err(|_| Error::NoRows)?;
            soft.route(tree, values, |row, leaf, part| {
                visits.push((leaf, row as u32, part));
            })?;
        } else {
            let mut leaves = vec![0; block.rows];
            tree.write_leaves(block.values, block.has_missing, &mut leaves);
            let rows = leaves.into_iter().zip(0..);
            visits.extend(rows.map(|(leaf, row)| (leaf, row, 1.0)));
        }
        visits.sort_unstable_by_key(|&(leaf, row, _)| (leaf, row));
        Ok(visits)
    }
}

impl PairModel for TreePredictor<'_> {
    fn labels(&self) -> usize {
        self.fitted.tree().labels()
    }

    fn features(&self) -> usize {
        self.fitted.tree().features()
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
        let pairs = pair_count(self.labels());
        let visits = self.visits(block)?;
        shares.fill(0.0);
        let leaves = visits.iter().map(|visit| visit.0);
        self.fitted
            .walk(self.shrinkage, leaves, interrupt)
            .visit(|leaf, leaf_shares| {
                let from = visits.partition_point(|visit| visit.0 < leaf);
                for &(_, row, part) in visits[from..].iter().take_while(|visit| visit.0 == leaf) {
                    let sums = &mut shares[row as usize * 3 * pairs..][..3 * pairs];
                    for (sum, share) in sums.iter_mut().zip(leaf_shares.as_slice()) {
                        *sum += part * share;
                    }
                }
                Ok(())
            })?;
        if self.routing == Routing::Soft {
            shares.chunks_exact_mut(3 * pairs).for_each(normalise);
        }
        Ok(())
    }
}
