//! [`RowSample`]: the rows that one tree is grown on.

use crate::run::Pool;

use super::bins::Bins;

/// Sampled rows with a compact copy of their bins. While a tree is grown, rows are indices into the sample.
pub(super) struct RowSample<'a> {
    pub(super) bins: &'a Bins,
    /// The rows, ascending.
    pub(super) rows: &'a [u32],
    /// All rows that are not in the sample, ascending.
    pub(super) others: Vec<u32>,
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
            others: complement(rows, bins.rows()),
            columns,
        }
    }

    /// Bin of each row of a feature.
    pub(super) fn column(&self, feature: usize) -> &[u8] {
        &self.columns[feature * self.rows.len()..(feature + 1) * self.rows.len()]
    }
}

/// The numbers below `end` that are not in `rows`, which are ascending.
fn complement(rows: &[u32], end: usize) -> Vec<u32> {
    let mut others = vec![0; end];
    let (mut found, mut next) = (0, 0);
    for row in 0..end as u32 {
        // Branch-free: each row is written, and overwritten by the next one if it is in `rows`.
        others[found] = row;
        let is_listed = rows.get(next) == Some(&row);
        next += usize::from(is_listed);
        found += usize::from(!is_listed);
    }
    others.truncate(found);
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complement_holds_all_other_rows() {
        assert_eq!(complement(&[1, 2, 5], 7), [0, 3, 4, 6]);
        assert_eq!(complement(&[0, 6], 7), [1, 2, 3, 4, 5]);
        assert_eq!(complement(&[0, 1, 2], 3), [0; 0]);
        assert_eq!(complement(&[], 2), [0, 1]);
    }
}
