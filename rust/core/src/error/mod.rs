//! [`enum@Error`]: the error type of the crate. Variants carry the data of the message, so that callers can match on
//! them and bindings can translate them without parsing text. Rows and labels count from 0.

mod comparison;
mod display;
mod input_part;
mod pair_statistic;
mod problem;

pub use comparison::ComparisonError;
pub(crate) use display::pluralize;
use display::{describe_position, describe_zero_weights, format_number};
pub use input_part::InputPart;
pub use pair_statistic::PairStatisticError;
pub use problem::{RowListProblem, WeightProblem};
use thiserror::Error;

/// Error of a fallible function of this crate.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An array without rows.
    #[error("found 0 rows; expected at least one ranking")]
    NoRows,
    /// Fewer than two labels.
    #[error("found {}; expected at least 2, because a ranking compares labels", pluralize(*found, "label"))]
    TooFewLabels {
        /// The number of columns found.
        found: usize,
    },
    /// More labels than the method supports.
    #[error("found {found} labels; expected at most {limit}")]
    TooManyLabels {
        /// The number of columns found.
        found: usize,
        /// The largest supported number.
        limit: usize,
    },
    /// A position that is zero or negative.
    #[error("row {row}, label {label}: position {}; {}", format_number(*found), describe_position(*found))]
    Position {
        /// Row of the position.
        row: usize,
        /// Column of the position.
        label: usize,
        /// The value found there.
        found: f64,
    },
    /// A missing position where complete rankings are required.
    #[error(
        "{what}, row {row}, label {label}: position missing (NaN); expected complete rankings, or missing=\"ignore\" to \
         compare the labels that both rank"
    )]
    Missing {
        /// Name of the argument that has the row.
        what: &'static str,
        /// Row of the missing label.
        row: usize,
        /// The missing label.
        label: usize,
    },
    /// Two sets of rankings without a pair of rows that can be compared.
    #[error(
        "none of {} has a positive weight and two labels that both rankings rank; nothing to compare",
        pluralize(*rows, "row")
    )]
    NothingToCompare {
        /// Number of rows.
        rows: usize,
    },
    /// A tie where total orders are required.
    #[error(
        "{what}, row {row}: labels {first} and {second} are tied; expected total orders (no ties); tau_x and tau_b \
         allow ties"
    )]
    Tied {
        /// Name of the argument that has the row.
        what: &'static str,
        /// Row of the tie.
        row: usize,
        /// The first tied label.
        first: usize,
        /// The second tied label.
        second: usize,
    },
    /// Two arrays with different shapes where equal shapes are required.
    #[error("{left} has shape ({}, {}) but {right} has shape ({}, {}); expected equal shapes",
        left_shape.0, left_shape.1, right_shape.0, right_shape.1)]
    Shapes {
        /// Name of the first array.
        left: &'static str,
        /// Numbers of rows and columns of the first array.
        left_shape: (usize, usize),
        /// Name of the second array.
        right: &'static str,
        /// Numbers of rows and columns of the second array.
        right_shape: (usize, usize),
    },
    /// The number of weights differs from the number of rows.
    #[error(
        "found {} for {}; expected one weight per row",
        pluralize(*found, "weight"), pluralize(*rows, "row")
    )]
    WeightCount {
        /// Number of weights.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A negative, NaN or infinite weight.
    #[error("row {row}: weight {}; expected a finite number that is not negative", format_number(*found))]
    Weight {
        /// Row of the weight.
        row: usize,
        /// The value found.
        found: f64,
        /// Why it is invalid.
        problem: WeightProblem,
    },
    /// All weights are zero.
    #[error("{}; expected at least one positive weight", describe_zero_weights(*rows))]
    NoWeight {
        /// Number of rows.
        rows: usize,
    },
    /// Finite weights with an infinite sum.
    #[error("the weights add up to infinity; expected a finite sum")]
    WeightOverflow,
    /// A positive weight that is too small relative to the largest weight.
    #[error(
        "row {row}: weight {} is too small for the largest weight, {}; expected a ratio of at least 1e-427, or 0",
        format_number(*found), format_number(*largest)
    )]
    WeightRange {
        /// Row of the weight.
        row: usize,
        /// The value found.
        found: f64,
        /// The largest weight.
        largest: f64,
    },
    /// A share or probability outside [0, 1].
    #[error("{name} is {}; expected a number from 0 to 1", format_number(*found))]
    Fraction {
        /// Name of the parameter.
        name: &'static str,
        /// The value found.
        found: f64,
    },
    /// An invalid pair order matrix or table of pair shares.
    #[error(transparent)]
    PairStatistic(PairStatisticError),
    /// A value that cannot be ranked.
    #[error(
        "row {row}, label {label}: {} cannot be ranked; expected a number above minus infinity",
        format_number(*found)
    )]
    Unrankable {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        label: usize,
        /// The value found.
        found: f64,
    },
    /// A NaN or infinite feature value.
    #[error("X, row {row}, column {column}: {}; expected a finite number", format_number(*found))]
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
    /// The numbers of rows of features and rankings differ.
    #[error(
        "X has {} but y has {rankings}; expected one ranking per row of features",
        pluralize(*features, "row")
    )]
    RowCounts {
        /// Rows of the feature matrix.
        features: usize,
        /// Number of rankings.
        rankings: usize,
    },
    /// The number of features differs from that of the training data.
    #[error("found {}; the model was fitted on {expected}", pluralize(*found, "feature"))]
    FeatureCount {
        /// Columns found.
        found: usize,
        /// Columns of the training data.
        expected: usize,
    },
    /// An invalid value of a parameter.
    #[error("{name} is {}; expected {expected}", format_number(*found))]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value found.
        found: f64,
        /// The expected values.
        expected: &'static str,
    },
    /// An invalid list of rows.
    #[error("{name}{problem}")]
    RowList {
        /// Name of the list.
        name: String,
        /// Why it is invalid.
        problem: RowListProblem,
    },
    /// A consensus method needs a statistic of the rankings that is not available.
    #[error(
        "{method} needs {needed}, but only {known} is available; Borda, Copeland, BucketPivot, \
         MarkovChain(4), MaximalLottery, Schulze and RankedPairs work on a pair order matrix"
    )]
    TooLittleKnown {
        /// Name of the method.
        method: &'static str,
        /// The statistic that the method needs.
        needed: &'static str,
        /// The statistics that are available.
        known: &'static str,
    },
    /// A failure of a consensus method that the calling program implements.
    #[error("{method}, on {input}: {message}")]
    External {
        /// Name of the method.
        method: String,
        /// Description of the method's input.
        input: String,
        /// What went wrong.
        message: String,
    },
    /// A minimum number of buckets that exceeds the number of labels.
    #[error("n_buckets is {found}, but there are {labels} labels; expected at most one bucket per label")]
    TooManyBuckets {
        /// The minimum number of buckets.
        found: usize,
        /// Number of labels.
        labels: usize,
    },
    /// The number of label weights differs from the number of labels.
    #[error("found {} for {labels} labels; expected one weight per label", pluralize(*found, "label weight"))]
    LabelWeightCount {
        /// Number of weights.
        found: usize,
        /// Number of labels.
        labels: usize,
    },
    /// A method without scores where scores are required.
    #[error("{method} has no scores to order labels by; expected a method with scores, such as Borda, Copeland, MarkovChain or MaximalLottery")]
    NoScores {
        /// Name of the method.
        method: &'static str,
    },
    /// Rankings with an unexpected number of labels.
    #[error("found rankings of {}; expected {expected} labels", pluralize(*found, "label"))]
    LabelCount {
        /// The number of labels found.
        found: usize,
        /// The number of labels expected.
        expected: usize,
    },
    /// A numerical problem that could not be solved to the required accuracy.
    #[error("no {what} found to the required accuracy: {why}")]
    Unsolved {
        /// The solution that was sought.
        what: &'static str,
        /// Why it was not found.
        why: String,
    },
    /// A split criterion that compares rankings with a consensus, without an aggregator that computes the consensus.
    #[error(
        "this criterion compares rankings with a consensus; expected an aggregator, found none"
    )]
    NoConsensus,
    /// Soft routing (rows near a threshold follow both branches) requested for a tree with several thresholds per node.
    #[error("soft routing needs binary splits; expected splitter \"best\"")]
    SoftMultiway,
    /// Soft routing requested from a tree that was fitted without it.
    #[error("the tree was fitted without soft routing; expected routing \"soft\" at the fit")]
    NoSoftRouting,
    /// A mixture without components (the models that it averages).
    #[error("found no component; expected at least one model")]
    NoComponents,
    /// A row for which every component of a mixture fails.
    #[error("row {row}: no component gives finite shares")]
    NoFiniteShares {
        /// The row.
        row: usize,
    },
    /// Bytes that are not a valid saved model.
    #[error("cannot read the saved {what}: {problem}")]
    SavedModel {
        /// The kind of model.
        what: String,
        /// Why the bytes are invalid.
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
        /// The newest supported version.
        newest: u32,
    },
    /// No row ranks two labels, where pairs are required.
    #[error(
        "none of the {} ranks two labels; expected at least one pair of labels to compare",
        pluralize(*rows, &format!("{part} row"))
    )]
    NoPairs {
        /// The role of the rows, such as training.
        part: &'static str,
        /// Number of rows.
        rows: usize,
    },
    /// An invalid number of folds.
    #[error(
        "found {} for {}; expected at least 2 folds and at most one per row",
        pluralize(*found, "fold"), pluralize(*rows, "row")
    )]
    Folds {
        /// The number of folds requested.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// More memory than can be allocated.
    #[error(
        "{what} would take {bytes:.1e} bytes, more than the available memory; expected smaller data"
    )]
    Memory {
        /// The part of the work that needs the memory.
        what: &'static str,
        /// The memory needed.
        bytes: f64,
    },
    /// More rows than trees and boosters can number.
    #[error("found {found} rows; expected at most {limit}")]
    TooManyRows {
        /// The number of rows found.
        found: usize,
        /// The largest supported number.
        limit: usize,
    },
    /// The requested threads could not be started.
    #[error("cannot start {}", pluralize(*n_jobs, "thread"))]
    Threads {
        /// The number of threads requested.
        n_jobs: usize,
    },
    /// An error in one part of the input.
    #[error("{part}{error}")]
    InPart {
        /// The part.
        part: InputPart,
        /// The error of that part.
        error: Box<Error>,
    },
    /// An error in comparisons of two labels.
    #[error(transparent)]
    Comparison(ComparisonError),
    /// The call was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Result of a fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;
