//! The one error type of the crate. Variants carry the data of the message, so that callers can match on
//! them and bindings can translate them without parsing text. Rows and labels count from 0.

use thiserror::Error;

/// What is wrong with one position of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionProblem {
    /// Zero, negative, or minus infinity.
    BelowOne,
    /// Not a whole number.
    Fractional,
    /// Larger than the number of labels, so the row cannot be dense.
    BeyondLabels,
}

/// What is wrong with one weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightProblem {
    /// Less than zero.
    Negative,
    /// NaN or infinite.
    NotFinite,
}

/// Everything that can be wrong with the input of this crate.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An array without rows.
    #[error("found 0 rows; expected at least one ranking")]
    NoRows,
    /// Fewer than two labels.
    #[error("found {found} label(s); expected at least 2, because a ranking compares labels")]
    TooFewLabels {
        /// The number of columns found.
        found: usize,
    },
    /// More labels than the method can hold.
    #[error("found {found} labels; expected at most {limit}")]
    TooManyLabels {
        /// The number of columns found.
        found: usize,
        /// The largest number that works.
        limit: usize,
    },
    /// A position that no ranking can have.
    #[error("row {row}, label {label}: position {}; {}", shown(*found), position_hint(*problem, *labels))]
    Position {
        /// Row of the position.
        row: usize,
        /// Column of the position.
        label: usize,
        /// The value found there.
        found: f64,
        /// Number of labels of the ranking.
        labels: usize,
        /// What is wrong with it.
        problem: PositionProblem,
    },
    /// A row that skips a position.
    #[error(
        "row {row}, label {label}: position {found}, but no label of the row is at position {absent}; \
         positions must be dense (1, 2, ... without gaps); to_dense_ranks closes gaps"
    )]
    Gap {
        /// Row with the gap.
        row: usize,
        /// A label placed behind the gap.
        label: usize,
        /// The position of that label.
        found: usize,
        /// The smallest position without a label.
        absent: usize,
    },
    /// A label without a position where complete rankings are needed.
    #[error(
        "{what}, row {row}, label {label}: position missing (NaN); expected complete rankings"
    )]
    Missing {
        /// Which argument the row belongs to.
        what: &'static str,
        /// Row of the missing label.
        row: usize,
        /// The missing label.
        label: usize,
    },
    /// Rankings of which no two rows can be compared.
    #[error(
        "none of {rows} rows has a positive weight and two labels that both rankings rank; nothing to compare"
    )]
    NothingToCompare {
        /// Number of rows.
        rows: usize,
    },
    /// A tie where total orders are needed.
    #[error(
        "{what}, row {row}: labels {first} and {second} are tied; expected total orders (no ties)"
    )]
    Tied {
        /// Which argument the row belongs to.
        what: &'static str,
        /// Row of the tie.
        row: usize,
        /// One of the tied labels.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Two arrays whose shapes should agree.
    #[error("{left} has shape ({}, {}) but {right} has shape ({}, {}); expected equal shapes",
        left_shape.0, left_shape.1, right_shape.0, right_shape.1)]
    Shapes {
        /// Name of the first array.
        left: &'static str,
        /// Its rows and columns.
        left_shape: (usize, usize),
        /// Name of the second array.
        right: &'static str,
        /// Its rows and columns.
        right_shape: (usize, usize),
    },
    /// Another number of weights than of rows.
    #[error("found {found} weights for {rows} rows; expected one weight a row")]
    WeightCount {
        /// Number of weights.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A weight that is no weight.
    #[error("row {row}: weight {}; expected a finite number that is not negative", shown(*found))]
    Weight {
        /// Row of the weight.
        row: usize,
        /// The value found.
        found: f64,
        /// What is wrong with it.
        problem: WeightProblem,
    },
    /// All weights are zero.
    #[error("all {rows} weights are zero; expected at least one positive weight")]
    NoWeight {
        /// Number of rows.
        rows: usize,
    },
    /// Finite weights whose sum is not.
    #[error("the weights add up to infinity; expected a finite sum")]
    WeightOverflow,
    /// A share or probability outside [0, 1].
    #[error("{name} is {}; expected a number from 0 to 1", shown(*found))]
    Fraction {
        /// Name of the parameter.
        name: &'static str,
        /// The value found.
        found: f64,
    },
    /// A pair order matrix that is not square.
    #[error("the pair order matrix has shape ({rows}, {columns}); expected a square matrix")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A pair order matrix with an entry that is no share.
    #[error("pair order matrix, row {row}, column {column}: {}; expected {expected}", shown(*found))]
    PairOrder {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The value found.
        found: f64,
        /// What would be right there.
        expected: &'static str,
    },
    /// Two opposite entries of a pair order matrix that do not add up.
    #[error(
        "pair order matrix, rows {row} and {column}: C[{row}][{column}] + C[{column}][{row}] = {}; expected 1",
        shown(*sum)
    )]
    NotComplementary {
        /// First label.
        row: usize,
        /// Second label.
        column: usize,
        /// The sum found.
        sum: f64,
    },
    /// A table of pair shares of an impossible shape.
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
    /// Shares of a pair that are none.
    #[error(
        "pair {pair}: shares {found:?}; expected numbers from 0 to 1 that add up to 1, or 0 three times for a pair \
         of which nothing is known"
    )]
    PairShare {
        /// Place of the pair.
        pair: usize,
        /// What was found for before, tied and after.
        found: [f64; 3],
    },
    /// A value to rank that cannot be compared.
    #[error("row {row}, label {label}: {} cannot be ranked; expected a number above minus infinity", shown(*found))]
    Unrankable {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        label: usize,
        /// The value found.
        found: f64,
    },
    /// A feature value that cannot be compared with a threshold.
    #[error("X, row {row}, column {column}: {}; expected a finite number", shown(*found))]
    Feature {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value found.
        found: f64,
    },
    /// A feature matrix without columns.
    #[error("the feature matrix has no columns; expected at least one feature")]
    NoFeatures,
    /// Features and rankings of different lengths.
    #[error("X has {features} rows but Y has {rankings}; expected one ranking a row of features")]
    RowCounts {
        /// Rows of the feature matrix.
        features: usize,
        /// Number of rankings.
        rankings: usize,
    },
    /// Another number of features than the model was fitted on.
    #[error("found {found} features; the model was fitted on {expected}")]
    FeatureCount {
        /// Columns found.
        found: usize,
        /// Columns of the training data.
        expected: usize,
    },
    /// A parameter of a method with a value that makes no sense.
    #[error("{name} is {}; expected {expected}", shown(*found))]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value found.
        found: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A method that was given less than it needs.
    #[error(
        "{method} needs {needed}, but only {known} is known; Borda, Copeland, BucketPivot, \
         MarkovChain(4) and MaximalLottery work on a pair order matrix"
    )]
    TooLittleKnown {
        /// Name of the method.
        method: &'static str,
        /// What it needs.
        needed: &'static str,
        /// What it was given.
        known: &'static str,
    },
    /// More labels than an exact search can go through.
    #[error(
        "found {found} labels; the exact search goes through all bucket orders and takes at most {limit} labels; \
         method=\"local\" has no limit"
    )]
    TooManyForExact {
        /// The number of labels found.
        found: usize,
        /// The largest number that works.
        limit: usize,
    },
    /// An order asked of a method that has no scores.
    #[error("{method} has no scores to order labels by; expected Borda, Copeland, MarkovChain or MaximalLottery")]
    NoScores {
        /// Name of the method.
        method: &'static str,
    },
    /// Rankings of another number of labels than expected.
    #[error("found rankings of {found} labels; expected {expected} labels")]
    LabelCount {
        /// The number of labels found.
        found: usize,
        /// The number that was prepared for.
        expected: usize,
    },
    /// A problem that neither the kernel nor its fallback could solve to the required accuracy.
    #[error("no {what} found to the required accuracy: {why}")]
    Unsolved {
        /// What was searched for.
        what: &'static str,
        /// What went wrong.
        why: String,
    },
    /// A criterion that asks for a consensus, and nobody to make one.
    #[error(
        "this criterion compares rankings with a consensus; expected an aggregator, found none"
    )]
    NoConsensus,
    /// Soft routing asked of a tree with several thresholds in a node.
    #[error("soft routing needs binary splits; expected splitter \"best\"")]
    SoftMultiway,
    /// Soft routing asked of a tree that was fitted without it.
    #[error("the tree was fitted without soft routing; expected routing \"soft\" at the fit")]
    NoSoftRouting,
    /// Bytes that are no saved model of this version.
    #[error("cannot read the saved {what}: {problem}")]
    SavedModel {
        /// The kind of model.
        what: String,
        /// What is wrong with the bytes.
        problem: String,
    },
    /// A model saved by a newer release.
    #[error(
        "the saved {what} has format version {found}; this release reads versions up to {newest}"
    )]
    SavedModelVersion {
        /// The kind of model.
        what: String,
        /// The version found.
        found: u32,
        /// The newest version that can be read.
        newest: u32,
    },
    /// Rows of which none ranks two labels, where pairs are needed.
    #[error("none of the {rows} {part} rows ranks two labels; expected at least one pair of labels to compare")]
    NoPairs {
        /// What the rows are for.
        part: &'static str,
        /// How many there are.
        rows: usize,
    },
    /// A number of folds that the rows cannot be dealt into.
    #[error(
        "found {found} folds for {rows} rows; expected at least 2 folds and at most one a row"
    )]
    Folds {
        /// Number of folds asked for.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// The threads asked for could not be started.
    #[error("cannot start {n_jobs} threads")]
    Threads {
        /// Number of threads asked for.
        n_jobs: usize,
    },
    /// An error in one of many sets of rankings.
    #[error("set {set}: {error}")]
    InSet {
        /// Number of the set.
        set: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A number for people: in scientific notation where it would have very many digits.
fn shown(number: f64) -> String {
    let size = number.abs();
    if size.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

fn position_hint(problem: PositionProblem, labels: usize) -> String {
    match problem {
        PositionProblem::BelowOne => "positions start at 1".into(),
        PositionProblem::Fractional => "positions are whole numbers".into(),
        PositionProblem::BeyondLabels => {
            format!("with {labels} labels positions end at {labels}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_where_what_and_why() {
        let error = Error::Position {
            row: 7,
            label: 2,
            found: 0.0,
            labels: 4,
            problem: PositionProblem::BelowOne,
        };
        assert_eq!(
            error.to_string(),
            "row 7, label 2: position 0; positions start at 1"
        );
        for (found, expected) in [
            (1e300, "1e300"),
            (-1e-300, "-1e-300"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(shown(found), expected);
        }
        let error = Error::Weight {
            row: 3,
            found: -1.5,
            problem: WeightProblem::Negative,
        };
        assert_eq!(
            error.to_string(),
            "row 3: weight -1.5; expected a finite number that is not negative"
        );
    }
}
