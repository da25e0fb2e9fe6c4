//! Prediction of pair shares: [`PairModel`], and the one loop over rows that serves all models.
//!
//! The pair shares of a row say, for each pair of labels, how often the first is predicted to be before, tied with, or
//! after the second. They are stored as three planes, one number per pair each: before, then tied, then after.

mod consensus;
mod latent;

pub use consensus::{consensus, ShareConsensus};
pub use latent::LatentScores;

use self::latent::write_row_shares;

use ndarray::{ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::features::{check_finite, check_values};
use crate::pairs::{pair_count, PairShares};
use crate::run::{self, Interrupt, Jobs, Work};

/// Largest number of rows per block, unless the model asks for another one.
const BLOCK_ROWS: usize = 256;

/// Blocks per thread, so that threads end at nearly the same time.
const BLOCKS_PER_THREAD: usize = 4;

/// With several threads, a block may have fewer rows than the model asks for, by at most this factor.
const MAX_BLOCK_REDUCTION: usize = 4;

/// Estimated time to predict a row, without the time that grows with its number of shares.
const NANOSECONDS_PER_ROW: usize = 5000;

/// Shares held in memory per block: 16 MB.
const NUMBERS_PER_BLOCK: usize = 1 << 21;

/// Consecutive rows that are predicted together.
#[derive(Debug, Clone, Copy)]
pub struct RowBlock<'a> {
    /// Features of the rows, row by row; no value is infinite.
    pub values: &'a [f64],
    /// Whether values may be missing (NaN).
    pub has_missing: bool,
    /// Index of the first row among all rows that are predicted.
    pub first: usize,
    /// Number of rows.
    pub rows: usize,
}

impl<'a> RowBlock<'a> {
    /// The features as an array.
    pub(crate) fn view(&self) -> Result<ArrayView2<'a, f64>> {
        let columns = self.values.len() / self.rows.max(1);
        ArrayView2::from_shape((self.rows, columns), self.values).map_err(|_| Error::NoRows)
    }
}

/// The shares of the rows of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockShares<'a> {
    /// Row by row: the planes before, tied and after.
    Shares(Vec<f64>),
    /// Scores of the latent model, which take less memory, row by row: n utilities (which order the labels), then n tie
    /// terms (their tendencies to be tied).
    Scores {
        /// The scores.
        scores: Vec<f64>,
        /// Per label: whether the training rankings compare it with another label.
        compared: &'a [bool],
    },
}

impl BlockShares<'_> {
    /// The scores of a row, if scores are stored and every label was compared with another one in training.
    pub(crate) fn known_scores(&self, row: usize) -> Option<&[f64]> {
        match self {
            Self::Scores { scores, compared } if compared.iter().all(|&compared| compared) => {
                let numbers = 2 * compared.len();
                Some(&scores[row * numbers..][..numbers])
            }
            _ => None,
        }
    }

    /// The planes before, tied and after of a row. Scores are converted into `buffer`, which has the length of the
    /// planes.
    pub(crate) fn row<'s>(&'s self, row: usize, buffer: &'s mut [f64]) -> &'s [f64] {
        match self {
            Self::Shares(shares) => &shares[row * buffer.len()..][..buffer.len()],
            Self::Scores { scores, compared } => {
                let numbers = 2 * compared.len();
                write_row_shares(&scores[row * numbers..][..numbers], compared, buffer);
                buffer
            }
        }
    }
}

/// A model that predicts for each pair of labels how often the first is before, tied with, or after the second.
pub trait PairModel: Sync {
    /// Number of labels.
    fn labels(&self) -> usize;

    /// Number of features.
    fn features(&self) -> usize;

    /// Whether features may be missing (NaN).
    fn accepts_missing(&self) -> bool {
        true
    }

    /// Largest number of rows per block: so many that the fixed work per block is small compared with that of its rows.
    fn block_rows(&self) -> usize {
        BLOCK_ROWS
    }

    /// Writes the shares of the rows of a block, row by row: the planes before, tied and after. The shares of a row do
    /// not depend on the other rows of its block.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and errors of the model.
    fn write_shares(
        &self,
        block: RowBlock<'_>,
        shares: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()>;

    /// Calls `visit` with the shares of each row of the block, in order; `buffer` is scratch memory. A model that
    /// computes shares row by row overrides this, so that they are used while they are in the cache.
    ///
    /// # Errors
    /// As [`Self::write_shares`], and errors of `visit`.
    fn visit_shares(
        &self,
        block: RowBlock<'_>,
        buffer: &mut Vec<f64>,
        interrupt: &Interrupt,
        visit: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        let numbers = 3 * pair_count(self.labels());
        buffer.resize(block.rows * numbers, 0.0);
        self.write_shares(block, buffer, interrupt)?;
        buffer.chunks_exact(numbers).try_for_each(visit)
    }

    /// The shares that [`Self::write_shares`] writes, or scores that determine them.
    ///
    /// # Errors
    /// As [`Self::write_shares`].
    fn block_shares(&self, block: RowBlock<'_>, interrupt: &Interrupt) -> Result<BlockShares<'_>> {
        let mut shares = vec![0.0; block.rows * 3 * pair_count(self.labels())];
        self.write_shares(block, &mut shares, interrupt)?;
        Ok(BlockShares::Shares(shares))
    }
}

/// Computes `f` from the shares of each row, block by block on `jobs.n_jobs` threads. `state` makes the scratch memory
/// of a thread. The result does not depend on the number of threads.
///
/// # Errors
/// A number of features that differs from the model's, an infinite value, a NaN if the model does not accept missing
/// values, errors of the model and of `f`, and [`Error::Interrupted`].
pub fn map_shares<S, T: Send>(
    model: &dyn PairModel,
    values: ArrayView2<'_, f64>,
    jobs: Jobs<'_>,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, &PairShares) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if values.ncols() != model.features() {
        return Err(Error::FeatureCount {
            found: values.ncols(),
            expected: model.features(),
        });
    }
    let has_missing = check_values(values)?;
    if has_missing && !model.accepts_missing() {
        check_finite(values)?;
    }
    let numbers = 3 * pair_count(model.labels());
    let block_rows = rows_per_block(model, values.nrows(), jobs.n_jobs);
    let scratch = || (state(), vec![], PairShares::unknown(model.labels()));
    let blocks = values.nrows().div_ceil(block_rows);
    let nanoseconds = values.nrows() * (NANOSECONDS_PER_ROW + 4 * numbers) / blocks.max(1);
    let blocks = run::map(
        jobs,
        Work::new(blocks, nanoseconds),
        scratch,
        |(state, buffer, row_shares), block| {
            let row_shares = row_shares.as_mut().map_err(|error| error.clone())?;
            let first = block * block_rows;
            let rows = block_rows.min(values.nrows() - first);
            let part = values.slice_axis(Axis(0), (first..first + rows).into());
            let part = part.as_standard_layout();
            let block = RowBlock {
                values: part.as_slice().unwrap_or_default(),
                has_missing,
                first,
                rows,
            };
            let mut results = Vec::with_capacity(rows);
            model.visit_shares(block, buffer, jobs.interrupt, &mut |shares| {
                row_shares.as_mut_slice().copy_from_slice(shares);
                results.push(f(state, row_shares)?);
                Ok(())
            })?;
            Ok(results)
        },
    )?;
    Ok(blocks.into_iter().flatten().collect())
}

/// Number of rows per block.
fn rows_per_block(model: &dyn PairModel, rows: usize, n_jobs: usize) -> usize {
    let most = model.block_rows().max(1);
    let block = if n_jobs == 1 {
        most
    } else {
        let shared = rows.div_ceil(n_jobs.max(1).saturating_mul(BLOCKS_PER_THREAD));
        shared.clamp(most.div_ceil(MAX_BLOCK_REDUCTION), most)
    };
    let numbers = 3 * pair_count(model.labels());
    block.min(NUMBERS_PER_BLOCK / numbers.max(1)).max(1)
}
