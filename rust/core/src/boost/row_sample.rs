//! [`RowSample`]: the rows that one tree is grown on.

use crate::run::Pool;

use super::bins::Bins;

/// Sampled rows with a compact copy of their bins. While a tree is grown, rows are indices into the sample.
pub(super) struct RowSample<'a> {
    pub(super) bins: &'a Bins,
    /// The rows, ascending.
    pub(super) rows: &'a [u32],
    /// Bin of each row, feature by feature.
    columns: Vec<u8>,
}

impl<'a> RowSample<'a> {
    /// Copies the bins of the rows.
    pub(super) fn new(bins: &'a Bins, rows: &'a [u32], pool: Pool) -> Self {
        let mut columns = vec![0; bins.features() * rows.len()];
        let nanoseconds = 2 * columns.len();
        pool.for_each_chunk(nanoseconds, &mut columns, rows.len(), |feature, copy| {
            let column = bins.column(feature);
            for (copy, &row) in copy.iter_mut().zip(rows) {
                *copy = column[row as usize];
            }
        });
        Self {
            bins,
            rows,
            columns,
        }
    }

    /// Bin of each row of a feature.
    pub(super) fn column(&self, feature: usize) -> &[u8] {
        &self.columns[feature * self.rows.len()..(feature + 1) * self.rows.len()]
    }
}
