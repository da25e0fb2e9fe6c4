//! [`ComparisonError`]: errors in comparisons of two labels per row.

use thiserror::Error;

use super::display::{format_number, pluralize};

/// Error in comparisons, their covariates, or the units that are resampled (comparisons, groups of them, or rankings).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// An array whose number of entries differs from the number of comparisons.
    #[error(
        "{name} has {} for {}; expected one per comparison",
        entries(*found), pluralize(*expected, "comparison")
    )]
    ArrayLength {
        /// Name of the array.
        name: &'static str,
        /// Number of entries found.
        found: usize,
        /// Number of comparisons.
        expected: usize,
    },
    /// A label index that is out of range.
    #[error("row {row}: label {found}; expected an index below the {labels} labels")]
    LabelIndex {
        /// Row of the index.
        row: usize,
        /// The index found.
        found: usize,
        /// Number of labels.
        labels: usize,
    },
    /// A label that is compared with itself.
    #[error("row {row}: label {label} is compared with itself; expected two different labels")]
    SelfComparison {
        /// Row of the comparison.
        row: usize,
        /// The label.
        label: usize,
    },
    /// An unknown code of an outcome.
    #[error("row {row}: outcome {found}; expected 0 (first), 1 (tie) or 2 (second)")]
    Outcome {
        /// Row of the comparison.
        row: usize,
        /// The code found.
        found: u8,
    },
    /// A NaN or infinite covariate.
    #[error("covariates, row {row}, column {column}: {}; expected a finite number", format_number(*found))]
    Covariate {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value found.
        found: f64,
    },
    /// A covariate whose effect the data does not identify.
    #[error(
        "the effect of covariate {column} is not identified: the column is zero, or a linear combination of label \
         differences, the order effect and the columns before it"
    )]
    Collinear {
        /// Column of the covariate.
        column: usize,
    },
    /// An order effect (the advantage of the label named first) that the data does not identify.
    #[error(
        "the order effect is not identified: differences between the labels explain it; expected pairs of labels that \
         are compared in both orders"
    )]
    UnidentifiedOrder,
    /// Too few units to resample or to estimate errors from.
    #[error("the number of {noun} is {found}; expected at least 2")]
    TooFewUnits {
        /// Number of units.
        found: u64,
        /// Name of the units, and what they are needed for.
        noun: &'static str,
    },
    /// A single ranking has no standard errors.
    #[error(
        "found 1 ranking of more than two labels; standard errors of rankings need at least 2, because the pairs of \
         a ranking are not independent"
    )]
    TooFewRankings,
    /// Counts that are not whole numbers cannot be resampled.
    #[error(
        "the pair of labels {first} and {second} has a count of {}; expected whole numbers of at most 2^53 in total, \
         because comparisons are resampled one by one; pass the comparisons with their weights instead",
        format_number(*found)
    )]
    NotWhole {
        /// First label of the pair.
        first: usize,
        /// Second label of the pair.
        second: usize,
        /// The count found.
        found: f64,
    },
    /// Comparisons without groups, although whole groups are to be drawn.
    #[error(
        "the comparisons have no groups; expected a group per comparison to draw whole groups"
    )]
    NoGroups,
}

/// Formats a number of entries.
fn entries(number: usize) -> String {
    let noun = if number == 1 { "entry" } else { "entries" };
    format!("{number} {noun}")
}
