//! Bindings of `bucketrank_core::metrics`.

use bucketrank_core::metrics;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::weights::Weights;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::to_exception;
use crate::positions::{named, vector, weights_to_vec, MaybeWeights, Positions, View};

/// Mean of the rank correlation τ_X.
#[pyfunction]
pub fn tau_x(
    py: Python<'_>,
    y_true: Positions<'_>,
    y_pred: Positions<'_>,
    weights: MaybeWeights<'_>,
) -> PyResult<f64> {
    let weights = weights_to_vec(&weights);
    let weights = weights.as_deref();
    let (truth, predicted) = (y_true.view(), y_pred.view());
    let value = py.detach(|| match (truth, predicted) {
        (View::Whole(a), View::Whole(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Whole(a), View::Real(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Real(a), View::Whole(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Real(a), View::Real(b)) => metrics::tau_x_of_arrays(a, b, weights),
    });
    value.map_err(|error| {
        let at_fault = if y_true.view().read(None).is_err() {
            "Y_true"
        } else {
            "Y_pred"
        };
        named(at_fault, error)
    })
}

/// τ_X of each row.
#[pyfunction]
pub fn tau_x_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    vector(py, py.detach(|| metrics::tau_x_rows(&truth, &predicted)))
}

/// Mean of τ_X over the labels that both rank.
#[pyfunction]
pub fn tau_x_ranked(
    py: Python<'_>,
    y_true: Positions<'_>,
    y_pred: Positions<'_>,
    weights: MaybeWeights<'_>,
) -> PyResult<f64> {
    let weights = weights_to_vec(&weights);
    let truth = y_true.rankings(py, weights.as_deref())?;
    let predicted = y_pred.rankings(py, None)?;
    py.detach(|| metrics::tau_x_ranked(&truth, &predicted))
        .map_err(to_exception)
}

/// τ_X of each row over the labels that both rank; NaN where these are fewer than two.
#[pyfunction]
pub fn tau_x_ranked_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    let values = py.detach(|| metrics::tau_x_ranked_rows(&truth, &predicted));
    let or_nan = |values: Vec<Option<f64>>| values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
    vector(py, values.map(or_nan))
}

/// Kendall's τ of each row of total orders.
#[pyfunction]
pub fn kendall_tau_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    vector(
        py,
        py.detach(|| metrics::kendall_tau_rows(&truth, &predicted)),
    )
}

/// Predicted minus true number of buckets of each row.
#[pyfunction]
pub fn bucket_count_differences<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    vector(
        py,
        py.detach(|| metrics::bucket_count_differences(&truth, &predicted)),
    )
}

/// Both arguments, in errors by their names.
fn both(
    py: Python<'_>,
    y_true: &Positions<'_>,
    y_pred: &Positions<'_>,
) -> PyResult<(Rankings, Rankings)> {
    Ok((
        y_true.named_rankings(py, "Y_true")?,
        y_pred.named_rankings(py, "Y_pred")?,
    ))
}

/// Weights, checked against the number of rows they belong to.
#[pyfunction]
pub fn check_weights<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray1<'py, f64>,
    rows: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let weights: Vec<f64> = weights.as_array().iter().copied().collect();
    Weights::new(Some(&weights), rows).map_err(to_exception)?;
    Ok(weights.into_pyarray(py))
}
