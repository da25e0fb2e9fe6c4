//! [`StripSums`]: sums over rows of the product of two inputs and the moments of the row.
//!
//! There is one coefficient per input (a feature, an indicator or the intercept) and output (for each label a utility,
//! which orders the labels, and a tie term, its tendency to be tied), so the second derivatives of a model form one
//! small matrix over its outputs for each two inputs.

use ndarray::Array2;

use crate::error::Result;
use crate::rankings::Rankings;
use crate::run::{self, Interrupt, Jobs, Work};
use crate::simd::{dispatch, Kernel};

/// Rows per block: small enough for their moments to stay in cache while they are added.
const BLOCK_ROWS: usize = 8;

/// The moments of a row: numbers that are multiplied by products of two inputs and added up over the rows.
pub(super) trait RowMoments: Sync {
    /// Number of moments.
    fn size(&self) -> usize;

    /// Factor of the moments of a row.
    fn weight(&self, row: usize) -> f64;

    /// Writes the moments of a row to `values`.
    fn write(&self, row: usize, values: &mut [f64]);

    /// Expands the summed moments of two inputs to the 2n × 2n matrix of their outputs: calls `add(row, column, value)`
    /// for each entry.
    fn expand(&self, sums: &[f64], add: &mut dyn FnMut(usize, usize, f64));
}

/// Computes a symmetric matrix that has one row and one column per coefficient. Strip j has the entries of
/// input j with all inputs k ≤ j.
pub(super) struct StripSums<'a> {
    pub(super) inputs: &'a Array2<f64>,
    pub(super) rankings: &'a Rankings,
    pub(super) n_jobs: usize,
    pub(super) interrupt: &'a Interrupt,
}

impl StripSums<'_> {
    /// Computes the matrix, adding up all rows. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`], or threads that cannot be started.
    pub(super) fn add_up<M: RowMoments>(&self, moments: &M) -> Result<Array2<f64>> {
        let columns = self.inputs.ncols();
        let outputs = 2 * self.rankings.labels();
        let jobs = Jobs {
            n_jobs: self.n_jobs,
            interrupt: self.interrupt,
        };
        let nanoseconds = self.rankings.len() * moments.size() * (20 + columns) / 3;
        // Longest strips first, for balanced threads.
        let strips = run::map(
            jobs,
            Work::new(columns, nanoseconds),
            || (),
            |(), index| self.sum_strip(moments, columns - 1 - index),
        )?;
        let mut matrix = Array2::zeros((outputs * columns, outputs * columns));
        for (index, strip) in strips.into_iter().enumerate() {
            let j = columns - 1 - index;
            for (k, sums) in strip.chunks_exact(moments.size()).enumerate() {
                moments.expand(sums, &mut |row, column, value| {
                    matrix[[outputs * j + row, outputs * k + column]] += value;
                    if k < j {
                        matrix[[outputs * k + column, outputs * j + row]] += value;
                    }
                });
            }
        }
        Ok(matrix)
    }

    /// For each input k ≤ j: Σ over rows of weight · `x_j` · `x_k` · the moments of the row.
    fn sum_strip<M: RowMoments>(&self, moments: &M, j: usize) -> Result<Vec<f64>> {
        let size = moments.size();
        let mut sums = vec![0.0; (j + 1) * size];
        let mut values = vec![0.0; BLOCK_ROWS * size];
        for first in (0..self.rankings.len()).step_by(BLOCK_ROWS) {
            self.interrupt.check()?;
            let last = self.rankings.len().min(first + BLOCK_ROWS);
            for (row, values) in (first..last).zip(values.chunks_exact_mut(size)) {
                moments.write(row, values);
            }
            dispatch(StripKernel {
                inputs: self.inputs,
                moments,
                rows: first..last,
                j,
                values: &values,
                sums: &mut sums,
            });
        }
        Ok(sums)
    }
}

/// Adds a block of rows to the sums of one strip.
struct StripKernel<'a, M> {
    inputs: &'a Array2<f64>,
    moments: &'a M,
    rows: std::ops::Range<usize>,
    j: usize,
    /// Moments of the rows of the block, row by row.
    values: &'a [f64],
    sums: &'a mut [f64],
}

impl<M: RowMoments> Kernel for StripKernel<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = self.moments.size();
        for (k, sums) in self.sums.chunks_exact_mut(size).enumerate() {
            for (row, values) in self.rows.clone().zip(self.values.chunks_exact(size)) {
                let inputs = self.inputs.row(row);
                let factor = self.moments.weight(row) * inputs[self.j] * inputs[k];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += factor * value;
                }
            }
        }
    }
}
