//! Bindings of `bucketrank_core::metrics`.

use bucketrank_core::metrics::{self, OverlapTies, PairAgreement};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::weights::Weights;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::border::arrays::{weights_to_vec, MaybeWeights, OrderTable, Positions, View};
use crate::border::errors::{BorderError, Result};
use crate::border::run::run;

/// One number per row.
type Scores<'py> = Bound<'py, PyArray1<f64>>;

/// Mean of the rank correlation τ_X.
#[pyfunction]
pub fn tau_x(
    py: Python<'_>,
    y_true: Positions<'_>,
    y_pred: Positions<'_>,
    weights: MaybeWeights<'_>,
) -> Result<f64> {
    let weights = weights_to_vec(&weights)?;
    let weights = weights.as_deref();
    let (truth, predicted) = (y_true.view(), y_pred.view());
    let value = py.detach(|| match (truth, predicted) {
        (View::Whole(a), View::Whole(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Whole(a), View::Real(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Real(a), View::Whole(b)) => metrics::tau_x_of_arrays(a, b, weights),
        (View::Real(a), View::Real(b)) => metrics::tau_x_of_arrays(a, b, weights),
    });
    value.map_err(|error| {
        let is_valid = y_true.view().read(None).is_ok();
        BorderError::in_argument(if is_valid { "Y_pred" } else { "Y_true" }, &error)
    })
}

/// τ_X of each row.
#[pyfunction]
pub fn tau_x_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Scores<'py>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    let values = py.detach(|| metrics::tau_x_rows(&truth, &predicted))?;
    Ok(values.into_pyarray(py))
}

/// Mean of τ_X, each over the labels that both rankings rank.
#[pyfunction]
pub fn tau_x_ranked(
    py: Python<'_>,
    y_true: Positions<'_>,
    y_pred: Positions<'_>,
    weights: MaybeWeights<'_>,
) -> Result<f64> {
    let truth = y_true.weighted(py, &weights)?;
    let predicted = y_pred.rankings(py)?;
    run(py, |interrupt| {
        metrics::tau_x_ranked(&truth, &predicted, interrupt)
    })
}

/// τ_X of each row over the labels that both rankings rank; NaN if these are fewer than two.
#[pyfunction]
pub fn tau_x_ranked_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Scores<'py>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    let values = run(py, |interrupt| {
        metrics::tau_x_ranked_rows(&truth, &predicted, interrupt)
    })?;
    let or_nan = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
    Ok(or_nan.collect::<Vec<f64>>().into_pyarray(py))
}

/// Kendall's τ of each row of total orders.
#[pyfunction]
pub fn kendall_tau_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Scores<'py>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    let values = py.detach(|| metrics::kendall_tau_rows(&truth, &predicted))?;
    Ok(values.into_pyarray(py))
}

/// Pairs of labels of each row: concordant, discordant, tied in the first, in the second, in both.
#[pyfunction]
pub fn pair_agreements<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
    require_complete: bool,
) -> Result<OrderTable<'py>> {
    let (truth, predicted) = checked(py, &y_true, &y_pred, require_complete)?;
    let rows = run(py, |interrupt| {
        metrics::pair_agreements(&truth, &predicted, interrupt)
    })?;
    let counts: Vec<[i64; 5]> = rows.iter().map(pair_counts).collect();
    Ok(Array2::from(counts).into_pyarray(py))
}

/// The counts in the order of the columns.
fn pair_counts(found: &PairAgreement) -> [i64; 5] {
    let counts = [
        found.concordant,
        found.discordant,
        found.tied_in_first,
        found.tied_in_second,
        found.tied_in_both,
    ];
    counts.map(|count| count as i64)
}

/// Rank-biased overlap of each row; NaN where fewer than two labels are ranked by both.
#[pyfunction]
pub fn rank_biased_overlaps<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
    require_complete: bool,
    p: f64,
    ties: &str,
) -> Result<Scores<'py>> {
    let ties = overlap_ties(ties)?;
    let (truth, predicted) = checked(py, &y_true, &y_pred, require_complete)?;
    let values = run(py, |interrupt| {
        metrics::rank_biased_overlaps(&truth, &predicted, p, ties, interrupt)
    })?;
    let or_nan = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
    Ok(or_nan.collect::<Vec<f64>>().into_pyarray(py))
}

fn overlap_ties(name: &str) -> Result<OverlapTies> {
    match name {
        "a" => Ok(OverlapTies::Unknown),
        "b" => Ok(OverlapTies::Corrected),
        "w" => Ok(OverlapTies::Together),
        other => {
            let message = format!("ties is {other:?}; expected 'a', 'b' or 'w'");
            Err(BorderError::value(message))
        }
    }
}

/// Predicted minus true number of buckets of each row.
#[pyfunction]
pub fn bucket_count_differences<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Bound<'py, PyArray1<i64>>> {
    let (truth, predicted) = both(py, &y_true, &y_pred)?;
    let values = py.detach(|| metrics::bucket_count_differences(&truth, &predicted))?;
    Ok(values.into_pyarray(py))
}

/// Reads both arguments; errors name the argument.
fn both(
    py: Python<'_>,
    y_true: &Positions<'_>,
    y_pred: &Positions<'_>,
) -> Result<(Rankings, Rankings)> {
    let truth = y_true.argument(py, "Y_true")?;
    Ok((truth, y_pred.argument(py, "Y_pred")?))
}

/// As [`both`], and rejects missing labels if complete rankings are required.
fn checked(
    py: Python<'_>,
    y_true: &Positions<'_>,
    y_pred: &Positions<'_>,
    require_complete: bool,
) -> Result<(Rankings, Rankings)> {
    let (truth, predicted) = both(py, y_true, y_pred)?;
    if require_complete {
        truth.require_complete("Y_true")?;
        predicted.require_complete("Y_pred")?;
    }
    Ok((truth, predicted))
}

/// Weights, checked against the number of rows they belong to.
#[pyfunction]
pub fn check_weights<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray1<'py, f64>,
    rows: usize,
) -> Result<Scores<'py>> {
    let weights = weights_to_vec(&Some(weights))?.unwrap_or_default();
    let weights = Weights::new(Some(&weights), rows)?;
    let scaled: Vec<f64> = (0..rows).map(|row| weights.get(row)).collect();
    Ok(scaled.into_pyarray(py))
}
