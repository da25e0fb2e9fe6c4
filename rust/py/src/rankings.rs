//! Bindings of `bucketrank_core::{rankings, pairs, missing, categories}`.

use bucketrank_core::categories::{self, MISSING_CATEGORY};
use bucketrank_core::missing;
use bucketrank_core::pairs::{PairCounts, PairOrderMatrix};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::border::arrays::{
    matrix_to_array, rankings_to_array, whole_numbers, MaybeWeights, OrderTable, Positions, View,
};
use crate::border::errors::Result;
use crate::border::run::run;

/// Checked positions as integers, 0 where a label is missing.
#[pyfunction]
pub fn parse_positions<'py>(py: Python<'py>, y: Positions<'py>) -> Result<OrderTable<'py>> {
    rankings_to_array(py, &y.read(py, &None)?)
}

/// Dense ranks of arbitrary numbers, 0 where a label is missing.
#[pyfunction]
pub fn to_dense_ranks<'py>(py: Python<'py>, values: Positions<'py>) -> Result<OrderTable<'py>> {
    let view = values.view();
    let ranked = run(py, |interrupt| match view {
        View::Integers(values) => missing::to_dense_ranks(values, interrupt),
        View::Floats(values) => missing::to_dense_ranks(values, interrupt),
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
    let rankings = y.read(py, &None)?;
    let dropped = run(py, |_| missing::drop_labels(&rankings, fraction, seed))?;
    rankings_to_array(py, &dropped)
}

/// The position of each category in an order of the categories that is computed from the rankings of their rows.
/// Negative codes are missing.
#[pyfunction]
pub fn order_categories<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray1<'py, i64>,
    categories: usize,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Bound<'py, PyArray1<i64>>> {
    let rankings = y.read(py, &weights)?;
    let codes = category_codes(&codes);
    let order = run(py, |interrupt| {
        categories::order_categories(&codes, categories, &rankings, interrupt)
    })?;
    Ok(whole_numbers(py, order))
}

/// Copies the codes of categories; negative ones are missing.
fn category_codes(codes: &PyReadonlyArray1<'_, i64>) -> Vec<u32> {
    let code = |&code: &i64| u32::try_from(code).unwrap_or(MISSING_CATEGORY);
    codes.as_array().iter().map(code).collect()
}

/// The pair order matrix: per ordered pair of labels the share of rankings that place the first before the second, ties
/// counting half.
#[pyfunction]
pub fn pair_order_matrix<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Bound<'py, PyArray2<f64>>> {
    let rankings = y.read(py, &weights)?;
    let matrix = run(py, |interrupt| {
        PairCounts::from_rankings(&rankings, interrupt).map(|c| PairOrderMatrix::from_counts(&c))
    })?;
    Ok(matrix_to_array(py, &matrix)?)
}
