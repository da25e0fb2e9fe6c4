//! [`Rankings`]: validated ranking data, so that kernels cannot fail.

mod row_reader;

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::raw_position::RawPosition;
pub use crate::raw_position::MISSING;
use crate::run::{require_memory, Interrupt};
use crate::weights::Weights;

use row_reader::RowReader;

/// The largest number of labels: positions are stored in 16 bits, and 0 marks a missing label.
pub const MAX_LABELS: usize = u16::MAX as usize;

/// Number of positions that are read between two checks of the interrupt: a few milliseconds for rows that are not
/// dense.
const POSITIONS_PER_CHECK: usize = 1 << 18;

/// A set of rankings with ties over the same labels, possibly incomplete, possibly weighted.
///
/// Invariants: at least one row; 2 to [`MAX_LABELS`] labels; the positions of the labels that a row ranks are dense
/// (1..k without gaps); weights are finite, non-negative and have a positive sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Rankings {
    labels: usize,
    /// Row-major; [`MISSING`] where the row does not rank the label.
    positions: Vec<u16>,
    weights: Weights,
    complete: bool,
}

impl Rankings {
    /// Reads rankings from an array of positions (rows × labels) and optional weights. Positions are positive numbers;
    /// rows with gaps (1, 2, 2, 4) or fractions (1, 2.5, 2.5, 4) are ranked densely.
    ///
    /// # Errors
    /// An empty array, fewer than two or too many labels, a position that is zero or negative, [`Error::Memory`],
    /// [`Error::Interrupted`], or the errors of [`Weights::new`].
    ///
    /// # Examples
    /// ```
    /// use bucketrank_core::rankings::Rankings;
    /// use bucketrank_core::run::Interrupt;
    /// use ndarray::array;
    ///
    /// // The second row does not rank label 0; the third is a top-1 list.
    /// let y = array![[1.0, 2.0, 2.0], [f64::NAN, 2.0, 1.0], [1.0, f64::INFINITY, f64::INFINITY]];
    /// let rankings = Rankings::new(y.view(), None, &Interrupt::never())?;
    /// assert_eq!(rankings.row(2), [1, 2, 2]);
    /// # Ok::<(), bucketrank_core::error::Error>(())
    /// ```
    pub fn new<P: RawPosition>(
        positions: ArrayView2<'_, P>,
        weights: Option<&[f64]>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let (rows, labels) = check_shape(positions.dim())?;
        let weights = Weights::new(weights, rows)?;
        let mut compact = vec![MISSING; require_memory::<u16>("the rankings", &[rows, labels])?];
        let mut reader = RowReader::new(labels);
        let rows_per_check = (POSITIONS_PER_CHECK / labels).max(1);
        for (part, out) in compact.chunks_mut(rows_per_check * labels).enumerate() {
            // No check before the first part: a check reads the clock, which is a noticeable cost for small arrays.
            if part > 0 {
                interrupt.check()?;
            }
            reader.read_rows(positions, part * rows_per_check, out)?;
        }
        Ok(Self {
            labels,
            positions: compact,
            weights,
            complete: reader.complete,
        })
    }

    /// Wraps positions that are already dense.
    pub(crate) fn from_dense(labels: usize, positions: Vec<u16>, weights: Weights) -> Self {
        debug_assert_eq!(positions.len() % labels, 0);
        Self {
            labels,
            complete: !positions.contains(&MISSING),
            positions,
            weights,
        }
    }

    /// The same rankings with other weights, one per row.
    pub(crate) fn with_weights(&self, weights: Weights) -> Self {
        Self {
            weights,
            ..self.clone()
        }
    }

    /// A subset of the rankings, in the order of `rows`, with their weights, which must not all be 0.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let mut positions = Vec::with_capacity(rows.len() * self.labels);
        for &row in rows {
            positions.extend_from_slice(self.row(row));
        }
        Self::from_dense(self.labels, positions, self.weights.select(rows))
    }

    /// Number of rankings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len() / self.labels
    }

    /// Always false: the constructor rejects an empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Whether every row ranks every label.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The weights of the rows.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Positions of one ranking; [`MISSING`] where it does not rank the label.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u16] {
        &self.positions[row * self.labels..(row + 1) * self.labels]
    }

    /// Positions of `rows` rankings starting at `start`, row by row.
    pub(crate) fn block(&self, start: usize, rows: usize) -> &[u16] {
        &self.positions[start * self.labels..(start + rows) * self.labels]
    }

    /// All rankings in order.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u16]> {
        self.positions.chunks_exact(self.labels)
    }

    /// Number of buckets of one ranking.
    #[must_use]
    pub fn buckets(&self, row: usize) -> usize {
        self.row(row).iter().copied().max().unwrap_or(0).into()
    }

    /// Checks that every row ranks every label; `what` names the argument in the message.
    ///
    /// # Errors
    /// [`Error::Missing`] with the first missing label.
    pub fn require_complete(&self, what: &'static str) -> Result<()> {
        if self.complete {
            return Ok(());
        }
        match self.positions.iter().position(|&p| p == MISSING) {
            None => Ok(()),
            Some(index) => Err(Error::Missing {
                what,
                row: index / self.labels,
                label: index % self.labels,
            }),
        }
    }
}

/// Checks the numbers of rows and labels of an array of positions.
pub(crate) fn check_shape((rows, labels): (usize, usize)) -> Result<(usize, usize)> {
    if labels < 2 {
        return Err(Error::TooFewLabels { found: labels });
    }
    if labels > MAX_LABELS {
        return Err(Error::TooManyLabels {
            found: labels,
            limit: MAX_LABELS,
        });
    }
    if rows == 0 {
        return Err(Error::NoRows);
    }
    Ok((rows, labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, Array2};

    const NAN: f64 = f64::NAN;
    const REST: f64 = f64::INFINITY;

    #[test]
    fn reads_missing_labels_and_top_k_lists() {
        let y = array![
            [NAN, 1.0, 2.0],
            [1.0, REST, REST],
            [NAN, REST, 1.0],
            [REST, REST, REST]
        ];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let rows: Vec<_> = rankings.rows().map(<[u16]>::to_vec).collect();
        assert_eq!(
            rows,
            [[0, 1, 2], [1, 2, 2], [0, 2, 1], [1, 1, 1]].map(Vec::from)
        );
        assert!(!rankings.is_complete());
    }

    #[test]
    fn row_without_labels_is_valid() {
        let y = array![[NAN, NAN]];
        assert_eq!(
            Rankings::new(y.view(), None, &Interrupt::never())
                .unwrap()
                .row(0),
            [0, 0]
        );
    }

    #[test]
    fn gaps_and_fractions_are_ranked_densely() {
        let nan = NAN;
        let y = array![
            [1.0, 2.0, 2.0, 4.0],
            [1.0, 2.5, 2.5, 4.0],
            [0.5, nan, 1e300, 7.0],
            [REST, 3.0, REST, 9.5],
            [1.0, 2.0, 3.0, 4.0]
        ];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let rows: Vec<_> = rankings.rows().map(<[u16]>::to_vec).collect();
        let expected = [
            [1, 2, 2, 3],
            [1, 2, 2, 3],
            [1, 0, 3, 2],
            [3, 1, 3, 2],
            [1, 2, 3, 4],
        ];
        assert_eq!(rows, expected.map(Vec::from));
        // Integers beyond the precision of floats stay different.
        let large = array![[(1_i64 << 53) + 1, 1 << 53, i64::MAX]];
        assert_eq!(
            Rankings::new(large.view(), None, &Interrupt::never())
                .unwrap()
                .row(0),
            [2, 1, 3]
        );
        for labels in [3, 200] {
            let mut y = Array2::from_elem((2, labels), 1_i64);
            y[[1, 2]] = 3;
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            assert_eq!(rankings.row(1)[2], 2);
            // Arrays with other strides give the same rankings.
            let by_columns =
                Rankings::new(y.t().as_standard_layout().t(), None, &Interrupt::never()).unwrap();
            assert_eq!(by_columns, rankings);
        }
    }

    #[test]
    fn large_arrays_are_read_in_parts() {
        // Four parts, the last one short; rows with a gap, a missing label and an invalid position in different parts.
        let (rows, labels) = (3 * POSITIONS_PER_CHECK / 80 + 7, 80);
        let mut y = Array2::from_shape_fn((rows, labels), |(row, label)| {
            1.0 + ((row + label) % 60) as f64
        });
        let parts = [5, POSITIONS_PER_CHECK / 80 + 5, rows - 1];
        y[[parts[0], 3]] = 1000.0;
        y[[parts[1], 3]] = NAN;
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        for row in [0, parts[0], parts[1], rows - 2, rows - 1] {
            let alone = y.row(row).insert_axis(ndarray::Axis(0));
            let alone = Rankings::new(alone, None, &Interrupt::never()).unwrap();
            assert_eq!(rankings.row(row), alone.row(0), "row {row}");
        }
        assert!(!rankings.is_complete());
        let by_columns =
            Rankings::new(y.t().as_standard_layout().t(), None, &Interrupt::never()).unwrap();
        assert_eq!(by_columns, rankings);
        y[[parts[2], 4]] = 0.0;
        let error = Rankings::new(y.view(), None, &Interrupt::never()).unwrap_err();
        assert!(matches!(error, Error::Position { row, label: 4, .. } if row == rows - 1));
    }

    #[test]
    fn reading_can_be_interrupted() {
        let y = Array2::from_elem((POSITIONS_PER_CHECK, 2), 1_i64);
        let interrupt = Interrupt::new();
        assert!(Rankings::new(y.view(), None, &interrupt).is_ok());
        interrupt.request();
        let error = Rankings::new(y.view(), None, &interrupt).unwrap_err();
        assert_eq!(error, Error::Interrupted);
    }

    #[test]
    fn positions_that_are_not_positive_are_reported() {
        for found in [0.0, -3.0, f64::NEG_INFINITY, -0.0] {
            let y = array![[1.0, 2.0, 3.0], [1.0, found, 2.0]];
            let error = Rankings::new(y.view(), None, &Interrupt::never()).unwrap_err();
            let expected = Error::Position {
                row: 1,
                label: 1,
                found,
            };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn too_many_labels_is_an_error_not_an_overflow() {
        let y = Array2::from_elem((1, 70_000), 1_i64);
        assert!(matches!(
            Rankings::new(y.view(), None, &Interrupt::never()),
            Err(Error::TooManyLabels { .. })
        ));
        let y = Array2::from_elem((1, MAX_LABELS), 1_i64);
        assert!(Rankings::new(y.view(), None, &Interrupt::never()).is_ok());
    }

    #[test]
    fn a_missing_label_is_noticed_beside_any_number_of_positions() {
        for labels in [2_usize, 31, 32, 33, 63, 64, 65, 100] {
            let mut y = Array2::from_shape_fn((2, labels), |(_, label)| label as f64);
            y[[0, 0]] = NAN;
            y[[1, 0]] = labels as f64;
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            assert!(!rankings.is_complete(), "{labels} labels");
            assert_eq!(rankings.row(0)[0], MISSING);
            let complete = y.row(1).insert_axis(ndarray::Axis(0));
            assert!(Rankings::new(complete, None, &Interrupt::never())
                .unwrap()
                .is_complete());
        }
    }
}
