//! Comparisons of two labels per row: index arrays instead of a table of positions.
//!
//! A comparison is a row with an outcome; its contest is what was compared: the two labels with the values of their
//! [`Effects`] (being named first, and covariates). [`Comparisons`] checks the arrays once, [`Contests`] finds the
//! distinct contests, `identification.rs` checks that the data determines the effects, [`Units`] says which outcomes
//! are drawn together when comparisons are resampled, and [`ContestSample`] holds all of it.

mod contests;
mod graph;
mod identification;
mod sample;
mod units;

pub use contests::{Contests, Tallies};
pub use graph::connected_components;
pub use sample::{ContestSample, Effects, UnitKind};
pub use units::Units;
pub(crate) use units::{distinct_rows, is_whole};

use ndarray::ArrayView2;

use crate::error::{ComparisonError, Error, Result};
use crate::pairs::PairCounts;
use crate::run::Interrupt;
use crate::weights::Weights;

/// Number of possible outcomes of a comparison: the first label wins, a tie, the second label wins.
pub const OUTCOMES: usize = 3;

/// Rows between two interrupt checks: some milliseconds of work.
const ROWS_BETWEEN_CHECKS: usize = 1 << 20;

/// The arrays of [`Comparisons`], not yet checked.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonArrays<'a> {
    /// Number of labels.
    pub labels: usize,
    /// Index of the label shown first, per row.
    pub first: &'a [u32],
    /// Index of the other label, per row.
    pub second: &'a [u32],
    /// 0 when the first label wins, 1 for a tie, 2 when the second label wins.
    pub outcomes: &'a [u8],
    /// Non-negative weights; `None` for weights of 1.
    pub weights: Option<&'a [f64]>,
    /// Index of the group of each row; the rows of a group can be resampled together. `None` without groups.
    pub groups: Option<&'a [u32]>,
    /// Covariates, one row per comparison; no columns without covariates.
    pub covariates: ArrayView2<'a, f64>,
}

/// Comparisons of two labels per row, with weights, groups and covariates.
///
/// Invariants: at least one row and two labels; all arrays have one entry per row; each row compares two different
/// labels; outcomes are below [`OUTCOMES`]; weights as in [`Weights`]; covariates are finite.
#[derive(Debug, Clone)]
pub struct Comparisons<'a> {
    arrays: ComparisonArrays<'a>,
    weights: Weights,
}

impl<'a> Comparisons<'a> {
    /// Checks the arrays.
    ///
    /// # Errors
    /// [`Error::NoRows`], [`Error::TooFewLabels`], a [`ComparisonError`], and the errors of [`Weights::new`].
    pub fn new(arrays: ComparisonArrays<'a>) -> Result<Self> {
        if arrays.labels < 2 {
            return Err(Error::TooFewLabels {
                found: arrays.labels,
            });
        }
        if arrays.first.is_empty() {
            return Err(Error::NoRows);
        }
        check_lengths(&arrays)?;
        check_rows(&arrays)?;
        for ((row, column), &found) in arrays.covariates.indexed_iter() {
            if !found.is_finite() {
                return Err(Error::Comparison(ComparisonError::Covariate {
                    row,
                    column,
                    found,
                }));
            }
        }
        let weights = Weights::new(arrays.weights, arrays.first.len())?;
        Ok(Self { arrays, weights })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arrays.first.len()
    }

    /// Always false: the constructor rejects an empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.arrays.labels
    }

    /// Weights of the rows.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Group of each row, if there are groups.
    #[must_use]
    pub fn groups(&self) -> Option<&'a [u32]> {
        self.arrays.groups
    }

    /// Covariates, one row per comparison.
    #[must_use]
    pub fn covariates(&self) -> ArrayView2<'a, f64> {
        self.arrays.covariates
    }

    /// First label, second label and outcome of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (u32, u32, u8) {
        let arrays = &self.arrays;
        (arrays.first[row], arrays.second[row], arrays.outcomes[row])
    }

    /// Counts the pairs, in O(rows) time and O(n²) memory.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] and [`Error::Interrupted`].
    pub fn count(&self, interrupt: &Interrupt) -> Result<PairCounts> {
        let mut counts = PairCounts::empty(self.labels())?;
        for row in 0..self.len() {
            if row % ROWS_BETWEEN_CHECKS == 0 {
                interrupt.check()?;
            }
            let (first, second, outcome) = self.row(row);
            counts.add_comparison(
                first as usize,
                second as usize,
                outcome,
                self.weights.get(row),
            );
        }
        Ok(counts)
    }
}

fn check_lengths(arrays: &ComparisonArrays<'_>) -> Result<()> {
    let expected = arrays.first.len();
    let lengths = [
        ("second", Some(arrays.second.len())),
        ("outcome", Some(arrays.outcomes.len())),
        ("group", arrays.groups.map(<[u32]>::len)),
        ("covariates", Some(arrays.covariates.nrows())),
    ];
    for (name, found) in lengths {
        let found = found.unwrap_or(expected);
        if found != expected {
            return Err(Error::Comparison(ComparisonError::ArrayLength {
                name,
                found,
                expected,
            }));
        }
    }
    Ok(())
}

fn check_rows(arrays: &ComparisonArrays<'_>) -> Result<()> {
    let rows = arrays.first.iter().zip(arrays.second).zip(arrays.outcomes);
    for (row, ((&first, &second), &outcome)) in rows.enumerate() {
        let largest = first.max(second) as usize;
        if largest >= arrays.labels {
            return Err(Error::Comparison(ComparisonError::LabelIndex {
                row,
                found: largest,
                labels: arrays.labels,
            }));
        }
        if first == second {
            return Err(Error::Comparison(ComparisonError::SelfComparison {
                row,
                label: first as usize,
            }));
        }
        if usize::from(outcome) >= OUTCOMES {
            return Err(Error::Comparison(ComparisonError::Outcome {
                row,
                found: outcome,
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ndarray::Array2;

    /// Arrays without weights and groups.
    pub(crate) fn arrays_without_weights<'a>(
        labels: usize,
        first: &'a [u32],
        second: &'a [u32],
        outcomes: &'a [u8],
        covariates: &'a Array2<f64>,
    ) -> ComparisonArrays<'a> {
        ComparisonArrays {
            labels,
            first,
            second,
            outcomes,
            weights: None,
            groups: None,
            covariates: covariates.view(),
        }
    }

    #[test]
    fn comparisons_are_counted_like_rankings_of_two_labels() {
        let none = Array2::zeros((4, 0));
        let mut arrays =
            arrays_without_weights(3, &[0, 1, 2, 2], &[1, 0, 1, 1], &[0, 2, 1, 0], &none);
        arrays.weights = Some(&[1.0, 2.0, 0.5, 1.0]);
        let counts = Comparisons::new(arrays)
            .unwrap()
            .count(&Interrupt::never())
            .unwrap();
        assert_eq!(counts.table().get(0, 1), [3.0, 0.0, 0.0]);
        assert_eq!(counts.table().get(1, 2), [0.0, 0.5, 1.0]);
        assert_eq!(
            (counts.ranked(0), counts.ranked(1), counts.ranked(2)),
            (3.0, 4.5, 1.5)
        );
    }

    #[test]
    fn invalid_arrays_are_rejected() {
        let none = Array2::zeros((2, 0));
        let bad = |first: &[u32], second: &[u32], outcomes: &[u8], labels| {
            Comparisons::new(arrays_without_weights(
                labels, first, second, outcomes, &none,
            ))
            .unwrap_err()
        };
        assert_eq!(bad(&[], &[], &[], 2), Error::NoRows);
        assert_eq!(bad(&[0], &[1], &[0], 1), Error::TooFewLabels { found: 1 });
        let length = bad(&[0, 1], &[1], &[0, 0], 2).to_string();
        assert!(length.contains("second has 1 entry for"), "{length}");
        assert_eq!(
            bad(&[0, 1], &[1, 1], &[0, 0], 2),
            Error::Comparison(ComparisonError::SelfComparison { row: 1, label: 1 })
        );
        assert!(bad(&[0, 5], &[1, 1], &[0, 0], 2)
            .to_string()
            .starts_with("row 1: label 5;"));
        assert!(bad(&[0, 0], &[1, 1], &[0, 3], 2)
            .to_string()
            .starts_with("row 1: outcome 3;"));
        let infinite = Array2::from_elem((1, 1), f64::INFINITY);
        let error =
            Comparisons::new(arrays_without_weights(2, &[0], &[1], &[0], &infinite)).unwrap_err();
        assert!(error.to_string().contains("row 0, column 0"), "{error}");
        let mut negative = arrays_without_weights(2, &[0, 1], &[1, 0], &[0, 0], &none);
        negative.weights = Some(&[1.0, -1.0]);
        assert!(matches!(
            Comparisons::new(negative),
            Err(Error::Weight { row: 1, .. })
        ));
    }
}
