//! [`PairStatisticError`]: errors in pair order matrices (entry (u,v): the share of rankings with u before v, ties
//! counting half) and in tables of pair shares (for each pair of labels the shares of rankings that place the first
//! before, tied with, or after the second).

use thiserror::Error;

use super::display::format_number;

/// Error in statistics of pairs that the caller computed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PairStatisticError {
    /// A pair order matrix that is not square.
    #[error("the pair order matrix has shape ({rows}, {columns}); expected a square matrix")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// An invalid entry of a pair order matrix.
    #[error("pair order matrix, row {row}, column {column}: {}; expected {expected}", format_number(*found))]
    PairOrder {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The value found.
        found: f64,
        /// The expected value.
        expected: &'static str,
    },
    /// Two opposite entries of a pair order matrix whose sum is not 1.
    #[error(
        "pair order matrix, rows {row} and {column}: C[{row}][{column}] + C[{column}][{row}] = {}; expected 1",
        format_number(*sum)
    )]
    NotComplementary {
        /// First label.
        row: usize,
        /// Second label.
        column: usize,
        /// The sum found.
        sum: f64,
    },
    /// A table of pair shares with an invalid shape.
    #[error(
        "the table of pair shares has shape ({pairs}, {columns}); expected one row for each of n(n-1)/2 pairs of \
         labels and the columns before, tied, after"
    )]
    PairTable {
        /// Number of rows.
        pairs: usize,
        /// Number of columns.
        columns: usize,
    },
    /// Invalid shares of a pair.
    #[error(
        "pair {pair}: shares {found:?}; expected numbers from 0 to 1 that add up to 1, or three zeros for a pair \
         without evidence"
    )]
    PairShare {
        /// Index of the pair.
        pair: usize,
        /// The shares found: before, tied and after.
        found: [f64; 3],
    },
}
