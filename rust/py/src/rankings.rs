//! Bindings of `bucketrank_core::{rankings, pairs, missing}`.

use bucketrank_core::categories::{self, MISSING_CATEGORY};
use bucketrank_core::missing;
use bucketrank_core::pairs::{PairCounts, PairOrderMatrix};
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::border::arrays::{rankings_to_array, MaybeWeights, OrderTable, Positions, View};
use crate::border::errors::{BorderError, Result};
use crate::border::run::run;

/// Checked positions as integers, 0 where a label is missing.
#[pyfunction]
pub fn parse_positions<'py>(py: Python<'py>, y: Positions<'py>) -> Result<OrderTable<'py>> {
    rankings_to_array(py, &y.rankings(py)?)
}

/// Dense ranks of arbitrary numbers, 0 where a label is missing.
#[pyfunction]
pub fn to_dense_ranks<'py>(py: Python<'py>, values: Positions<'py>) -> Result<OrderTable<'py>> {
    let view = values.view();
    let ranked = run(py, |interrupt| match view {
        View::Whole(values) => missing::rank_rows(values, interrupt),
        View::Real(values) => missing::rank_rows(values, interrupt),
    })?;
    rankings_to_array(py, &ranked)
}

/// Rankings with randomly dropped labels, 0 where a label is missing.
#[pyfunction]
pub fn drop_labels<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    fraction: f64,
    seed: u64,
) -> Result<OrderTable<'py>> {
    let rankings = y.rankings(py)?;
    let dropped = py.detach(|| missing::drop_labels(&rankings, fraction, seed))?;
    rankings_to_array(py, &dropped)
}

/// The position of each category in the order of their rankings; negative codes are missing.
#[pyfunction]
pub fn order_categories<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray1<'py, i64>,
    categories: usize,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Bound<'py, PyArray1<i64>>> {
    let rankings = y.weighted(py, &weights)?;
    let code = |&code: &i64| u32::try_from(code).unwrap_or(MISSING_CATEGORY);
    let codes: Vec<u32> = codes.as_array().iter().map(code).collect();
    let order = py.detach(|| categories::order_categories(&codes, categories, &rankings))?;
    Ok(order
        .into_iter()
        .map(i64::from)
        .collect::<Vec<_>>()
        .into_pyarray(py))
}

/// The pair order matrix C.
#[pyfunction]
pub fn pair_order_matrix<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Bound<'py, PyArray2<f64>>> {
    let rankings = y.weighted(py, &weights)?;
    let matrix = run(py, |interrupt| {
        PairCounts::from_rankings(&rankings, interrupt).map(|c| PairOrderMatrix::from_counts(&c))
    })?;
    let n = matrix.labels();
    // The matrix is square by construction, so the view always exists.
    let view = ArrayView2::from_shape((n, n), matrix.as_slice())
        .map_err(|error| BorderError::value(error.to_string()))?;
    Ok(view.to_pyarray(py))
}
