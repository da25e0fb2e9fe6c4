//! Bindings of `bucketrank_core::comparisons`, and aggregation from counts of pairs (how often the first label is
//! before, tied with and after the second).

use bucketrank_core::aggregate::{Aggregator, Davidson, DavidsonFit, ErrorKind, Evidence};
use bucketrank_core::comparisons::{self as core, Comparisons, ContestSample, Effects};
use bucketrank_core::pairs::PairCounts;
use bucketrank_core::rankings::MISSING;
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aggregate::{apply, positions_of};
use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{whole_numbers, write_pair_rows, MaybeWeights, Positions};
use crate::border::board_data::{unit_kind, BoardInput, ComparisonInput, CountInput};
use crate::border::errors::{BindingError, Result};
use crate::border::run::run;
use crate::explanation::to_dict;

/// A table with one row per pair of labels and the columns before, tied and after (the weight of the rows that place
/// the first label before, tied with, or after the second); and per label the weight of the rows that rank it.
type Counts<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Counts how often the labels of each pair were compared, by outcome.
#[pyfunction]
pub fn count_comparisons<'py>(
    py: Python<'py>,
    comparisons: ComparisonInput<'py>,
) -> Result<Counts<'py>> {
    let arrays = comparisons.arrays()?;
    let counts = run(py, |interrupt| Comparisons::new(arrays)?.count(interrupt))?;
    Ok(to_arrays(py, &counts))
}

/// Counts how often each pair of labels is ranked, by outcome; also returns the largest number of labels that a row
/// ranks.
#[pyfunction]
pub fn count_rankings<'py>(
    py: Python<'py>,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<(Counts<'py>, usize)> {
    let rankings = y.read(py, &weights)?;
    let ranked = |row: &[u16]| row.iter().filter(|&&position| position != MISSING).count();
    let largest = rankings.rows().map(ranked).max().unwrap_or(0);
    let counts = run(py, |interrupt| {
        PairCounts::from_rankings(&rankings, interrupt)
    })?;
    Ok((to_arrays(py, &counts), largest))
}

fn to_arrays<'py>(py: Python<'py>, counts: &PairCounts) -> Counts<'py> {
    let mut table = Array2::zeros((counts.table().pairs(), 3));
    // The planes are the arrays of the weights before, tied and after.
    write_pair_rows(table.view_mut(), counts.table().planes());
    let ranked = (0..counts.labels()).map(|label| counts.ranked(label));
    let ranked: Vec<f64> = ranked.collect();
    (table.into_pyarray(py), ranked.into_pyarray(py))
}

/// The consensus of counted pairs.
#[pyfunction]
pub fn aggregate_counts<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    counts: CountInput<'py>,
) -> Result<Bound<'py, PyArray1<i64>>> {
    let counts = counts.counts()?;
    let evidence = |needs, _: &Interrupt| Evidence::from_counts(counts, needs);
    let order = apply(py, &spec, evidence, Aggregator::aggregate)?;
    Ok(positions_of(py, &order))
}

/// The consensus of counted pairs with the intermediate results of the method.
#[pyfunction]
pub fn explain_counts<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    counts: CountInput<'py>,
) -> Result<Bound<'py, PyDict>> {
    let counts = counts.counts()?;
    let evidence = |needs, _: &Interrupt| Evidence::from_counts(counts, needs);
    let explanation = apply(py, &spec, evidence, Aggregator::explain)?;
    Ok(to_dict(py, explanation)?)
}

/// Index of each label's component. Comparisons connect the labels of a component; component 0 is the largest.
#[pyfunction]
pub fn connected_components<'py>(
    py: Python<'py>,
    counts: CountInput<'py>,
) -> Result<Bound<'py, PyArray1<i64>>> {
    let counts = counts.counts()?;
    let components = run(py, |_| Ok(core::connected_components(&counts)))?;
    Ok(whole_numbers(py, components))
}

/// Options of a fit of Davidson's model.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct DavidsonOptions {
    order_effect: bool,
    by_group: bool,
    /// Whether errors are robust; `None` chooses by the data, see [`Self::is_robust`].
    robust: Option<bool>,
}

/// Fits Davidson's model to board data, that is, to comparisons, rankings or counts.
#[pyfunction]
pub fn fit_davidson<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    data: BoardInput<'py>,
    options: DavidsonOptions,
) -> Result<Bound<'py, PyDict>> {
    let (davidson, views) = (davidson(&spec)?, data.views()?);
    let (fit, robust) = run(py, |interrupt| {
        let (effects, unit) = (options.effects(), unit_kind(options.by_group));
        let sample = views.read(effects, unit, interrupt)?.sample;
        let robust = options.is_robust(&sample);
        let fit = DavidsonFit::new(davidson, &sample, error_kind(robust), interrupt)?;
        Ok((fit, robust))
    })?;
    Ok(fit_to_dict(py, fit, robust)?)
}

fn davidson(spec: &AggregatorSpec) -> Result<Davidson> {
    match spec.aggregator()? {
        Aggregator::Davidson(davidson) => Ok(davidson),
        _ => Err(BindingError::value("expected Davidson's model".into())),
    }
}

fn error_kind(robust: bool) -> ErrorKind {
    if robust {
        ErrorKind::Robust
    } else {
        ErrorKind::Information
    }
}

impl DavidsonOptions {
    fn effects(&self) -> Effects {
        Effects {
            order: self.order_effect,
            covariates: true,
        }
    }

    /// Whether standard errors are robust: by default if comparisons are grouped or a ranking has more than two labels,
    /// so that the comparisons of a unit (a group or a ranking) depend on each other, and there are several units.
    fn is_robust(&self, sample: &ContestSample) -> bool {
        let is_dependent = self.by_group || sample.units.largest() > 2;
        // A single unit says nothing about the differences between units.
        let has_units = sample.units.total() > 1;
        self.robust.unwrap_or(is_dependent && has_units)
    }
}

fn fit_to_dict(py: Python<'_>, fit: DavidsonFit, robust: bool) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("positions", positions_of(py, &fit.order))?;
    result.set_item("utilities", fit.utilities.into_pyarray(py))?;
    result.set_item("tie_terms", fit.tie_terms.into_pyarray(py))?;
    result.set_item("effects", fit.effects.into_pyarray(py))?;
    result.set_item("covariance", fit.covariance.into_pyarray(py))?;
    result.set_item("robust", robust)?;
    Ok(result)
}
