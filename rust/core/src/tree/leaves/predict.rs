//! Predictions of a fitted tree from smoothed pair shares, with hard or soft routing.

use ndarray::{ArrayView2, Axis};

use crate::aggregate::{Aggregator, Evidence, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{pair_count, PairShares};
use crate::parallel::{run, Jobs};

use super::shrinkage::Shrinkage;
use super::walk::LeafWalk;
use crate::tree::fitted::FittedTree;

/// Sums held in memory per batch of rows: 16 MB.
const SUMS_PER_BATCH: usize = 1 << 21;

impl FittedTree {
    /// Consensus of the smoothed shares of each leaf in `leaves`.
    ///
    /// # Errors
    /// As [`Aggregator::aggregate`], which rejects methods that need rankings; [`Error::Interrupted`].
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
        let orders = self.walk(shrinkage, leaves.iter().copied()).map(
            jobs,
            ShareConsensus::new,
            |consensus, _, shares| consensus.aggregate(aggregator, shares),
        )?;
        // Unless interrupted, all requested leaves have been visited.
        let order = |&leaf: &u32| orders[leaf as usize].clone().ok_or(Error::Interrupted);
        leaves.iter().map(order).collect()
    }

    /// Calls `visit` once per leaf in `leaves` with its smoothed shares, in any order.
    ///
    /// # Errors
    /// Any error of `visit`.
    ///
    /// # Panics
    /// If an index is not a node of the tree.
    pub fn visit_pair_shares(
        &self,
        shrinkage: Shrinkage,
        leaves: &[u32],
        visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        self.walk(shrinkage, leaves.iter().copied()).visit(visit)
    }

    /// Computes `f` from the shares of each row: the weighted mean of the shares of the leaves that it reaches by soft
    /// routing. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`crate::tree::SoftRouting::route`]; any error of `f`; [`Error::NoSoftRouting`] for a tree without soft
    /// routing; [`Error::Interrupted`].
    pub fn map_soft_shares<S, T: Send>(
        &self,
        shrinkage: Shrinkage,
        values: ArrayView2<'_, f64>,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let soft = self.soft_routing().ok_or(Error::NoSoftRouting)?;
        let numbers = 3 * pair_count(self.tree().labels());
        let batch_rows = (SUMS_PER_BATCH / numbers).max(1);
        let batches = run(
            Jobs { chunk: 1, ..jobs },
            values.nrows().div_ceil(batch_rows),
            &state,
            |state, batch| {
                let end = values.nrows().min((batch + 1) * batch_rows);
                let rows = values.slice_axis(Axis(0), (batch * batch_rows..end).into());
                // (leaf, row, share of the row that reaches the leaf).
                let mut visits: Vec<(u32, u32, f64)> = Vec::new();
                soft.route(self.tree(), rows, |row, leaf, share| {
                    visits.push((leaf, row as u32, share));
                })?;
                visits.sort_unstable_by_key(|&(leaf, row, _)| (leaf, row));
                let mut sums = vec![0.0; rows.nrows() * numbers];
                let leaves = visits.iter().map(|visit| visit.0);
                self.walk(shrinkage, leaves).visit(|leaf, shares| {
                    let from = visits.partition_point(|visit| visit.0 < leaf);
                    for &(_, row, share) in
                        visits[from..].iter().take_while(|visit| visit.0 == leaf)
                    {
                        let sums = &mut sums[row as usize * numbers..][..numbers];
                        for (sum, value) in sums.iter_mut().zip(shares.as_slice()) {
                            *sum += share * value;
                        }
                    }
                    Ok(())
                })?;
                let mut shares = PairShares::unknown(self.tree().labels())?;
                let rows = sums.chunks_exact(numbers);
                rows.map(|sums| {
                    shares.as_mut_slice().copy_from_slice(sums);
                    shares.normalise();
                    f(state, &shares)
                })
                .collect::<Result<Vec<T>>>()
            },
        )?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// Consensus of each row with soft routing.
    ///
    /// # Errors
    /// As [`Self::map_soft_shares`] and [`Aggregator::aggregate`].
    pub fn soft_consensus(
        &self,
        aggregator: &Aggregator,
        shrinkage: Shrinkage,
        values: ArrayView2<'_, f64>,
        jobs: Jobs<'_>,
    ) -> Result<Vec<BucketOrder>> {
        self.map_soft_shares(
            shrinkage,
            values,
            jobs,
            ShareConsensus::new,
            |consensus, shares| consensus.aggregate(aggregator, shares),
        )
    }

    fn walk(&self, shrinkage: Shrinkage, leaves: impl Iterator<Item = u32>) -> LeafWalk<'_> {
        let rankings = self.rankings();
        LeafWalk::new(self.tree(), rankings, rankings.weights(), shrinkage, leaves)
    }
}

/// Aggregates pair shares into bucket orders, reusing buffers between calls.
pub(crate) struct ShareConsensus {
    evidence: Option<Evidence>,
    workspace: Workspace,
}

impl ShareConsensus {
    pub(crate) fn new() -> Self {
        Self {
            evidence: None,
            workspace: Workspace::new(),
        }
    }

    /// Aggregates the shares into a bucket order.
    pub(crate) fn aggregate(
        &mut self,
        aggregator: &Aggregator,
        shares: &PairShares,
    ) -> Result<BucketOrder> {
        let evidence = match &mut self.evidence {
            Some(evidence) => evidence,
            none => none.insert(Evidence::new(shares.labels(), Needs::Shares)?),
        };
        evidence.fill_from_shares(shares, aggregator);
        aggregator.aggregate(evidence, &mut self.workspace)
    }
}
