//! Ranking data on its way in and out.

use bucketrank_core::error::{Error, Result};
use bucketrank_core::rankings::Rankings;
use ndarray::{Array2, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An array of positions as the Python layer hands it over: native 64-bit integers or floats, any strides.
pub enum Positions<'py> {
    /// Complete rankings.
    Whole(PyReadonlyArray2<'py, i64>),
    /// NaN marks missing labels.
    Real(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Positions<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // Asked before: an exception for each array of floats would cost more than reading it.
        if object.cast::<PyArray2<i64>>().is_ok() {
            object.extract().map(Self::Whole)
        } else {
            object.extract().map(Self::Real)
        }
    }
}

/// Optional weights, one a row.
pub type MaybeWeights<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// A view of positions that other threads may read.
pub enum View<'a> {
    /// Complete rankings.
    Whole(ArrayView2<'a, i64>),
    /// NaN marks missing labels.
    Real(ArrayView2<'a, f64>),
}

impl View<'_> {
    /// Number of rows and of labels.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Whole(view) => view.dim(),
            Self::Real(view) => view.dim(),
        }
    }

    /// Reads the rankings.
    pub fn read(&self, weights: Option<&[f64]>) -> Result<Rankings> {
        match self {
            Self::Whole(view) => Rankings::new(view.view(), weights),
            Self::Real(view) => Rankings::new(view.view(), weights),
        }
    }
}

impl Positions<'_> {
    /// The array without the interpreter's part of it.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Whole(array) => View::Whole(array.as_array()),
            Self::Real(array) => View::Real(array.as_array()),
        }
    }

    /// Reads the rankings of one of two arguments; errors say which.
    pub fn named_rankings(&self, py: Python<'_>, name: &str) -> PyResult<Rankings> {
        let view = self.view();
        py.detach(|| view.read(None))
            .map_err(|error| named(name, error))
    }

    /// Reads the rankings, detached from the interpreter.
    pub fn rankings(&self, py: Python<'_>, weights: Option<&[f64]>) -> PyResult<Rankings> {
        let view = self.view();
        py.detach(|| view.read(weights))
            .map_err(crate::errors::to_exception)
    }
}

/// The exception of an error in one of two arguments; some errors name it themselves.
pub fn named(name: &str, error: Error) -> PyErr {
    match error {
        Error::Position { .. } | Error::Gap { .. } => {
            PyValueError::new_err(format!("{name}, {error}"))
        }
        error => crate::errors::to_exception(error),
    }
}

/// Copies weights of any stride.
pub fn weights_to_vec(weights: &MaybeWeights<'_>) -> Option<Vec<f64>> {
    weights
        .as_ref()
        .map(|weights| weights.as_array().iter().copied().collect())
}

/// Positions as an integer array, 0 where a label is missing.
pub fn to_array<'py>(py: Python<'py>, rankings: &Rankings) -> Bound<'py, PyArray2<i64>> {
    let shape = (rankings.len(), rankings.labels());
    let mut out = Array2::zeros(shape);
    for (mut row, positions) in out.rows_mut().into_iter().zip(rankings.rows()) {
        for (value, &position) in row.iter_mut().zip(positions) {
            *value = i64::from(position);
        }
    }
    out.into_pyarray(py)
}

/// A vector as an array, or the exception of its error.
pub fn vector<T: numpy::Element>(
    py: Python<'_>,
    values: Result<Vec<T>>,
) -> PyResult<Bound<'_, PyArray1<T>>> {
    values
        .map(|values| values.into_pyarray(py))
        .map_err(crate::errors::to_exception)
}
