//! The one place where errors of the core become Python exceptions.

use bucketrank_core::error::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::PyErr;

/// Every error of the core is about a value, except the wish of the user to stop.
pub fn to_exception(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        error => PyValueError::new_err(error.to_string()),
    }
}
