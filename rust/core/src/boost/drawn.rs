//! The rows that one tree is grown from, with their bins side by side.

use crate::parallel::each_chunk;

use super::bins::Bins;

/// Drawn rows. Whoever grows a tree knows them by their places among the drawn ones.
pub(super) struct Drawn<'a> {
    pub(super) bins: &'a Bins,
    /// The rows, ascending.
    pub(super) rows: &'a [u32],
    /// Feature by feature the bin of each row.
    columns: Vec<u8>,
}

impl<'a> Drawn<'a> {
    /// Copies the bins of the rows; `spread` when the caller runs in a pool of several threads.
    pub(super) fn new(bins: &'a Bins, rows: &'a [u32], spread: bool) -> Self {
        let mut columns = vec![0; bins.features() * rows.len()];
        each_chunk(spread, &mut columns, rows.len().max(1), |feature, copy| {
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

    /// The bin of each row.
    pub(super) fn column(&self, feature: usize) -> &[u8] {
        &self.columns[feature * self.rows.len()..(feature + 1) * self.rows.len()]
    }
}
