//! What a fitted tree predicts from smoothed pair shares, with hard and with soft routing.

use ndarray::{ArrayView2, Axis};

use crate::aggregate::{Aggregator, Evidence, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{pair_count, PairShares};
use crate::parallel::{run, Jobs};

use super::shrinkage::Shrinkage;
use super::walk::LeafWalk;
use crate::tree::fitted::FittedTree;

/// Numbers that are added up at the same time: 16 MB.
const SUMS_AT_ONCE: usize = 1 << 21;

impl FittedTree {
    /// The consensus of the smoothed shares of each of some leaves, in the form of [`FittedTree::consensus`].
    ///
    /// # Errors
    /// As [`Aggregator::aggregate`], which refuses methods that need rankings, or [`Error::Interrupted`].
    ///
    /// # Panics
    /// When there is no such node.
    pub fn smoothed_consensus(
        &self,
        aggregator: &Aggregator,
        shrinkage: Shrinkage,
        leaves: &[u32],
        jobs: Jobs<'_>,
    ) -> Result<Vec<BucketOrder>> {
        let orders = self.leaf_shares(shrinkage, leaves).map(
            jobs,
            ShareConsensus::new,
            |consensus, _, shares| consensus.of(aggregator, shares),
        )?;
        // Every leaf asked for has been visited.
        let order = |&leaf: &u32| orders[leaf as usize].clone().ok_or(Error::Interrupted);
        leaves.iter().map(order).collect()
    }

    /// Calls `visit` with the smoothed shares of each of some leaves, each once, in any order.
    ///
    /// # Errors
    /// What `visit` reports.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn visit_pair_shares(
        &self,
        shrinkage: Shrinkage,
        leaves: &[u32],
        visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        self.leaf_shares(shrinkage, leaves).visit(visit)
    }

    /// Computes `f` from the shares of each row: the mean of those of the leaves that it reaches by soft routing. The
    /// result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`crate::tree::SoftRouting::route`], what `f` reports, [`Error::NoSoftRouting`] for a tree without, or
    /// [`Error::Interrupted`].
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
        let at_once = (SUMS_AT_ONCE / numbers).max(1);
        let blocks = run(
            Jobs { chunk: 1, ..jobs },
            values.nrows().div_ceil(at_once),
            &state,
            |state, block| {
                let end = values.nrows().min((block + 1) * at_once);
                let rows = values.slice_axis(Axis(0), (block * at_once..end).into());
                let mut parts: Vec<(u32, u32, f64)> = Vec::new();
                soft.route(self.tree(), rows, |row, leaf, share| {
                    parts.push((leaf, row as u32, share));
                })?;
                parts.sort_unstable_by_key(|&(leaf, row, _)| (leaf, row));
                let mut sums = vec![0.0; rows.nrows() * numbers];
                let leaves = parts.iter().map(|part| part.0);
                self.walk(shrinkage, leaves).visit(|leaf, shares| {
                    let from = parts.partition_point(|part| part.0 < leaf);
                    for &(_, row, share) in parts[from..].iter().take_while(|part| part.0 == leaf) {
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
        Ok(blocks.into_iter().flatten().collect())
    }

    /// The consensus of each row with soft routing.
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
            |consensus, shares| consensus.of(aggregator, shares),
        )
    }

    fn leaf_shares(&self, shrinkage: Shrinkage, leaves: &[u32]) -> LeafWalk<'_> {
        self.walk(shrinkage, leaves.iter().copied())
    }

    fn walk(&self, shrinkage: Shrinkage, leaves: impl Iterator<Item = u32>) -> LeafWalk<'_> {
        let rankings = self.rankings();
        LeafWalk::new(self.tree(), rankings, rankings.weights(), shrinkage, leaves)
    }
}

/// Makes bucket orders of shares, one after the other, with the same buffers.
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

    pub(crate) fn of(
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
