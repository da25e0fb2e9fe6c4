//! [`WeightProblem`] and [`RowListProblem`]: the reasons why a weight and a list of rows are invalid.

use std::fmt;

use super::pluralize;

/// Reason why a weight is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightProblem {
    /// Less than zero.
    Negative,
    /// NaN or infinite.
    NotFinite,
}

/// Reason why a list of rows is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowListProblem {
    /// No rows.
    Empty,
    /// A row that is not above the one before it.
    NotAscending {
        /// Index of the row in the list.
        index: usize,
        /// The row before it.
        previous: usize,
        /// The row found.
        found: usize,
    },
    /// A row that the data does not have.
    NoSuchRow {
        /// Index of the row in the list.
        index: usize,
        /// The row found.
        found: usize,
        /// Number of rows of the data.
        rows: usize,
    },
}

impl fmt::Display for RowListProblem {
    /// The place in the list and the problem, as the continuation of the name of the list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => write!(f, ": no rows; expected at least one"),
            Self::NotAscending {
                index,
                previous,
                found,
            } => write!(
                f,
                ", entry {index}: row {found} after row {previous}; expected rows in ascending order, each at most once"
            ),
            Self::NoSuchRow { index, found, rows } => write!(
                f,
                ", entry {index}: row {found}; expected an index below the {}",
                pluralize(rows, "row")
            ),
        }
    }
}
