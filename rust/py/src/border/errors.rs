//! Conversion of core errors to Python exceptions.

use std::fmt;

use bucketrank_core::error::{ComparisonError, Error};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

// Defined in Python, because a Rust class cannot extend an exception with the stable ABI of Python 3.10.
pyo3::import_exception!(bucketrank.errors, RankingError);

/// Error of a binding function: `?` converts core errors and Python exceptions to it.
pub struct BindingError(PyErr);

/// Result of a binding function.
pub type Result<T> = std::result::Result<T, BindingError>;

impl From<Error> for BindingError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        Self(match error.cause() {
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
            Error::Memory { .. } => PyMemoryError::new_err(message),
            Error::Unsolved { .. } | Error::Threads { .. } => PyRuntimeError::new_err(message),
            cause => match ErrorLocation::of(cause) {
                Some(location) => location.exception(cause, message),
                None => PyValueError::new_err(message),
            },
        })
    }
}

impl From<PyErr> for BindingError {
    fn from(exception: PyErr) -> Self {
        Self(exception)
    }
}

impl From<BindingError> for PyErr {
    fn from(error: BindingError) -> Self {
        error.0
    }
}

impl BindingError {
    /// A `ValueError` with this message.
    pub fn value(message: String) -> Self {
        Self(PyValueError::new_err(message))
    }
}

/// The invalid value of a ranking error.
#[derive(Clone, Copy, IntoPyObject)]
enum InvalidValue {
    Count(usize),
    Number(f64),
}

/// Location and value of an error in ranking data: the attributes of `RankingError`.
#[derive(Default)]
struct ErrorLocation {
    row: Option<usize>,
    label: Option<usize>,
    found: Option<InvalidValue>,
}

impl ErrorLocation {
    /// `None` for errors that are not about ranking data.
    fn of(error: &Error) -> Option<Self> {
        match *error {
            Error::NoRows => Some(Self::count(0)),
            Error::TooFewLabels { found }
            | Error::TooManyLabels { found, .. }
            | Error::LabelCount { found, .. }
            | Error::WeightCount { found, .. } => Some(Self::count(found)),
            Error::NothingToCompare { .. }
            | Error::NoPairs { .. }
            | Error::NoWeight { .. }
            | Error::WeightOverflow => Some(Self::default()),
            _ => Self::in_row(error),
        }
    }

    /// `None` for errors that are not about one row of the rankings.
    fn in_row(error: &Error) -> Option<Self> {
        use ComparisonError::{LabelIndex, Outcome, SelfComparison};
        Some(match *error {
            Error::Position { row, label, found } | Error::Unrankable { row, label, found } => {
                Self::row(row).label(label).number(found)
            }
            Error::Missing { row, label, .. } => Self::row(row).label(label).number(f64::NAN),
            Error::Tied { row, first, .. } => Self::row(row).label(first),
            Error::Weight { row, found, .. } | Error::WeightRange { row, found, .. } => {
                Self::row(row).number(found)
            }
            Error::Comparison(
                LabelIndex { row, .. } | SelfComparison { row, .. } | Outcome { row, .. },
            ) => Self::row(row),
            _ => return None,
        })
    }

    fn row(row: usize) -> Self {
        Self {
            row: Some(row),
            ..Self::default()
        }
    }

    fn label(self, label: usize) -> Self {
        Self {
            label: Some(label),
            ..self
        }
    }

    fn number(self, found: f64) -> Self {
        Self {
            found: Some(InvalidValue::Number(found)),
            ..self
        }
    }

    fn count(found: usize) -> Self {
        Self {
            found: Some(InvalidValue::Count(found)),
            ..Self::default()
        }
    }

    /// A `RankingError` whose `reason` is the message of `error` without its location.
    fn exception(&self, error: &Error, message: String) -> PyErr {
        let text = error.to_string();
        let location = self.to_string();
        let reason = text.strip_prefix(&location).unwrap_or(&text).to_owned();
        RankingError::new_err((message, self.row, self.label, self.found, reason))
    }
}

impl fmt::Display for ErrorLocation {
    /// The location as the start of an error message.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.row, self.label) {
            (Some(row), Some(label)) => write!(formatter, "row {row}, label {label}: "),
            (Some(row), None) => write!(formatter, "row {row}: "),
            (None, _) => Ok(()),
        }
    }
}
