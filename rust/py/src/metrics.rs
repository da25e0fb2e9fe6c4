//! Bindings of `bucketrank_core::metrics`.

use bucketrank_core::error;
use bucketrank_core::metrics::{self, OverlapTies, PairAgreement};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use bucketrank_core::weights::Weights;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::border::arrays::{weights_to_vec, MaybeWeights, Positions, View};
use crate::border::errors::{BindingError, Result};
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
    let (views, weights) = ((y_true.view(), y_pred.view()), weights_to_vec(&weights)?);
    let weights = weights.as_deref();
    run(py, |interrupt| match views {
        (View::Integers(a), View::Integers(b)) => {
            metrics::tau_x_of_arrays(a, b, weights, interrupt)
        }
        (View::Integers(a), View::Floats(b)) => metrics::tau_x_of_arrays(a, b, weights, interrupt),
        (View::Floats(a), View::Integers(b)) => metrics::tau_x_of_arrays(a, b, weights, interrupt),
        (View::Floats(a), View::Floats(b)) => metrics::tau_x_of_arrays(a, b, weights, interrupt),
    })
}

/// τ_X of each row.
#[pyfunction]
pub fn tau_x_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Scores<'py>> {
    let values = compare(py, &y_true, &y_pred, metrics::tau_x_rows)?;
    Ok(values.into_pyarray(py))
}

/// Mean τ_X of the rows, each computed on the labels that both of its rankings rank.
#[pyfunction]
pub fn tau_x_ranked(
    py: Python<'_>,
    y_true: Positions<'_>,
    y_pred: Positions<'_>,
    weights: MaybeWeights<'_>,
) -> Result<f64> {
    let weights = weights_to_vec(&weights)?;
    let (truth, predicted) = (y_true.view(), y_pred.view());
    run(py, |interrupt| {
        let truth = truth.read_argument("Y_true", weights.as_deref(), interrupt)?;
        let predicted = predicted.read_argument("Y_pred", None, interrupt)?;
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
    let values = compare(py, &y_true, &y_pred, metrics::tau_x_ranked_rows)?;
    Ok(nan_for_none(py, values))
}

/// Kendall's τ of each row of total orders.
#[pyfunction]
pub fn kendall_tau_samples<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
) -> Result<Scores<'py>> {
    let values = compare(py, &y_true, &y_pred, metrics::kendall_tau_rows)?;
    Ok(values.into_pyarray(py))
}

/// Numbers of pairs of labels of each row: concordant, discordant, tied in the first, in the second, in both.
#[pyfunction]
pub fn pair_agreements<'py>(
    py: Python<'py>,
    y_true: Positions<'py>,
    y_pred: Positions<'py>,
    require_complete: bool,
) -> Result<Bound<'py, PyArray2<i64>>> {
    let rows = compare(py, &y_true, &y_pred, |truth, predicted, interrupt| {
        check_complete(truth, predicted, require_complete)?;
        metrics::pair_agreements(truth, predicted, interrupt)
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
    let values = compare(py, &y_true, &y_pred, |truth, predicted, interrupt| {
        check_complete(truth, predicted, require_complete)?;
        metrics::rank_biased_overlaps(truth, predicted, p, ties, interrupt)
    })?;
    Ok(nan_for_none(py, values))
}

/// The treatment of ties by the names of the variants of rank-biased overlap: RBO^a takes a tie as an unknown order,
/// RBO^b also corrects for ties so that equal rankings have overlap 1, RBO^w lets tied labels enter a prefix together.
fn overlap_ties(name: &str) -> Result<OverlapTies> {
    match name {
        "a" => Ok(OverlapTies::Unknown),
        "b" => Ok(OverlapTies::Corrected),
        "w" => Ok(OverlapTies::Together),
        other => {
            let message = format!("ties is {other:?}; expected 'a', 'b' or 'w'");
            Err(BindingError::value(message))
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
    let values = compare(py, &y_true, &y_pred, |truth, predicted, _| {
        metrics::bucket_count_differences(truth, predicted)
    })?;
    Ok(values.into_pyarray(py))
}

/// Applies a metric to both arguments; errors name the argument.
fn compare<T: Send>(
    py: Python<'_>,
    y_true: &Positions<'_>,
    y_pred: &Positions<'_>,
    metric: impl FnOnce(&Rankings, &Rankings, &Interrupt) -> error::Result<T> + Send,
) -> Result<T> {
    let (truth, predicted) = (y_true.view(), y_pred.view());
    run(py, |interrupt| {
        let truth = truth.read_argument("Y_true", None, interrupt)?;
        let predicted = predicted.read_argument("Y_pred", None, interrupt)?;
        metric(&truth, &predicted, interrupt)
    })
}

/// Rejects missing labels if complete rankings are required.
fn check_complete(truth: &Rankings, predicted: &Rankings, required: bool) -> error::Result<()> {
    if required {
        truth.require_complete("Y_true")?;
        predicted.require_complete("Y_pred")?;
    }
    Ok(())
}

fn nan_for_none(py: Python<'_>, values: Vec<Option<f64>>) -> Scores<'_> {
    let numbers = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
    numbers.collect::<Vec<f64>>().into_pyarray(py)
}

/// Checked weights of `rows` rows; weights near the limits of floats are scaled.
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
