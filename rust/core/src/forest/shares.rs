//! Predictions of a forest: pair shares averaged over its trees.

use ndarray::{ArrayView2, Axis};

use crate::aggregate::Aggregator;
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{pair_count, PairShares};
use crate::parallel::{run, Jobs};
use crate::simd::{dispatch, Kernel};
use crate::tree::{LeafWalk, ShareConsensus, Shrinkage};

use super::{Forest, ForestTree, TreeKind};

/// Sums held in memory per group of trees: 16 MB.
const SUMS_PER_BATCH: usize = 1 << 21;

/// Trees are summed in this many groups, and the groups in order, so that sums do not depend on the number of threads.
const GROUPS: usize = 8;

/// Which trees vote for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voters<'a> {
    /// All trees.
    All,
    /// The rows are the training rows, and only trees grown without a row vote for it.
    OutOfBag,
    /// As `OutOfBag`, for the training rows with these indices.
    OutOfBagOf(&'a [usize]),
}

impl Voters<'_> {
    /// Index of the training row that must be out of bag, if any.
    fn training_row(self, row: usize) -> Option<usize> {
        match self {
            Self::All => None,
            Self::OutOfBag => Some(row),
            Self::OutOfBagOf(rows) => rows.get(row).copied(),
        }
    }

    /// Whether the number of rows and the indices are valid.
    fn fits(self, rows: usize, training_rows: usize) -> bool {
        match self {
            Self::All => true,
            Self::OutOfBag => rows == training_rows,
            Self::OutOfBagOf(chosen) => {
                rows == chosen.len() && chosen.iter().all(|&row| row < training_rows)
            }
        }
    }
}

impl Forest {
    /// Computes `f` from the averaged shares of each row. The shares of a tree are smoothed by an m-estimate of this
    /// strength. Rows without a voting tree have shares of 0.
    ///
    /// # Errors
    /// As [`crate::tree::Tree::apply`]; any error of `f`; [`Error::RowCounts`] if out-of-bag rows are not those of the
    /// training data; [`Error::Interrupted`].
    pub fn map_shares<S, T: Send>(
        &self,
        values: ArrayView2<'_, f64>,
        strength: f64,
        voters: Voters<'_>,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let shrinkage = Shrinkage::MEstimate { strength }.check()?;
        if !voters.fits(values.nrows(), self.rankings.len()) {
            return Err(Error::RowCounts {
                features: values.nrows(),
                rankings: self.rankings.len(),
            });
        }
        let labels = self.rankings.labels();
        let numbers = 3 * pair_count(labels);
        let batch_rows = (SUMS_PER_BATCH / numbers).max(1);
        let mut results = Vec::with_capacity(values.nrows());
        for start in (0..values.nrows()).step_by(batch_rows) {
            let end = values.nrows().min(start + batch_rows);
            let batch = RowBatch {
                values: values.slice_axis(Axis(0), (start..end).into()),
                start,
                voters,
                shrinkage,
            };
            let groups = GROUPS.min(self.members.len()).max(1);
            let size = self.members.len().div_ceil(groups);
            let mut sums = run(
                Jobs { chunk: 1, ..jobs },
                groups,
                || (),
                |(), group| {
                    let mut sums = vec![0.0; (end - start) * numbers];
                    for member in self.members.iter().skip(group * size).take(size) {
                        self.add(member, &batch, &mut sums)?;
                    }
                    Ok(sums)
                },
            )?
            .into_iter();
            let mut total = sums.next().unwrap_or_default();
            for sums in sums {
                for (total, sum) in total.iter_mut().zip(&sums) {
                    *total += sum;
                }
            }
            // Rows are fast here, so a task takes several of them.
            let rows = Jobs { chunk: 64, ..jobs };
            let state = || (state(), PairShares::unknown(labels));
            results.extend(run(rows, end - start, state, |(state, shares), row| {
                let shares = shares.as_mut().map_err(|error| error.clone())?;
                let sums = &total[row * numbers..(row + 1) * numbers];
                shares.as_mut_slice().copy_from_slice(sums);
                shares.normalise();
                f(state, shares)
            })?);
        }
        Ok(results)
    }

    /// Consensus of the averaged shares of each row.
    ///
    /// # Errors
    /// As [`Self::map_shares`] and [`Aggregator::aggregate`].
    pub fn consensus(
        &self,
        aggregator: &Aggregator,
        values: ArrayView2<'_, f64>,
        strength: f64,
        voters: Voters<'_>,
        jobs: Jobs<'_>,
    ) -> Result<Vec<BucketOrder>> {
        self.map_shares(
            values,
            strength,
            voters,
            jobs,
            ShareConsensus::new,
            |consensus, shares| consensus.aggregate(aggregator, shares),
        )
    }

    /// Per training row the number of trees grown without it.
    #[must_use]
    pub fn out_of_bag_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.rankings.len()];
        let own = self.rankings.weights();
        for member in self
            .members
            .iter()
            .filter(|m| m.kind == TreeKind::Bootstrap)
        {
            let weights = self.weights(member.kind, member.seed);
            for (row, count) in counts.iter_mut().enumerate() {
                *count += usize::from(weights.get(row) == 0.0 && own.get(row) > 0.0);
            }
        }
        counts
    }

    /// Adds the shares that a tree predicts for the rows of a batch.
    fn add(&self, member: &ForestTree, batch: &RowBatch<'_>, sums: &mut [f64]) -> Result<()> {
        if batch.voters != Voters::All && member.kind == TreeKind::ExtraTrees {
            return Ok(());
        }
        let numbers = 3 * pair_count(self.rankings.labels());
        let weights = self.weights(member.kind, member.seed);
        let leaves = member.tree.apply(batch.values)?;
        let mut visits: Vec<(u32, u32)> = leaves.iter().copied().zip(0..).collect();
        let own = self.rankings.weights();
        visits.retain(|&(_, row)| {
            let training_row = batch.voters.training_row(batch.start + row as usize);
            training_row.is_none_or(|row| weights.get(row) == 0.0 && own.get(row) > 0.0)
        });
        visits.sort_unstable();
        let leaves_of_rows = visits.iter().map(|visit| visit.0);
        let walk = LeafWalk::new(
            &member.tree,
            &self.rankings,
            &weights,
            batch.shrinkage,
            leaves_of_rows,
        );
        walk.visit(|leaf, shares| {
            let from = visits.partition_point(|visit| visit.0 < leaf);
            for &(_, row) in visits[from..].iter().take_while(|visit| visit.0 == leaf) {
                let sums = &mut sums[row as usize * numbers..][..numbers];
                dispatch(AddShares {
                    sums,
                    shares: shares.as_slice(),
                });
            }
            Ok(())
        })
    }
}

struct AddShares<'a> {
    sums: &'a mut [f64],
    shares: &'a [f64],
}

impl Kernel for AddShares<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, share) in self.sums.iter_mut().zip(self.shares) {
            *sum += share;
        }
    }
}

/// Rows that are predicted together.
struct RowBatch<'a> {
    values: ArrayView2<'a, f64>,
    /// Index of the first row.
    start: usize,
    voters: Voters<'a>,
    shrinkage: Shrinkage,
}
