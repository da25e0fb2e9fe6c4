//! Bindings of `bucketrank_core::{rankings, pairs, missing}`.

use bucketrank_core::missing;
use bucketrank_core::pairs::{PairCounts, PairOrderMatrix};
use ndarray::ArrayView2;
use numpy::{PyArray2, ToPyArray};
use pyo3::prelude::*;

use crate::errors::to_exception;
use crate::interrupt::stoppable;
use crate::positions::{to_array, weights_to_vec, MaybeWeights, Positions, View};

/// Checked positions as integers, 0 where a label is missing.
#[pyfunction]
pub fn parse_positions<'py>(
    py: Python<'py>,
    y: Positions<'py>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    Ok(to_array(py, &y.rankings(py, None)?))
}

/// Dense ranks of arbitrary numbers, 0 where a label is missing.
#[pyfunction]
pub fn to_dense_ranks<'py>(
    py: Python<'py>,
    values: Positions<'py>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let view = values.view();
    let ranked = py.detach(|| match view {
        View::Whole(values) => missing::to_dense_ranks(values),
        View::Real(values) => missing::to_dense_ranks(values),
    });
    Ok(to_array(py, &ranked.map_err(to_exception)?))
}

/// Rankings without the labels that the seed drops, 0 where a label is missing.
#[pyfunction]
pub fn drop_labels<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    fraction: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let rankings = y.rankings(py, None)?;
    let dropped = py
        .detach(|| missing::drop_labels(&rankings, fraction, seed))
        .map_err(to_exception)?;
    Ok(to_array(py, &dropped))
}

/// The pair order matrix C.
#[pyfunction]
pub fn pair_order_matrix<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let weights = weights_to_vec(&weights);
    let rankings = y.rankings(py, weights.as_deref())?;
    let pairs = rankings.labels() * rankings.labels();
    let matrix = stoppable(py, rankings.len().saturating_mul(pairs) / 8, |stop| {
        PairCounts::from_rankings_until(&rankings, stop).map(|c| PairOrderMatrix::from_counts(&c))
    })?
    .map_err(to_exception)?;
    let n = matrix.labels();
    // The matrix is square by construction, so the view always exists.
    let view = ArrayView2::from_shape((n, n), matrix.as_slice())
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(view.to_pyarray(py))
}
