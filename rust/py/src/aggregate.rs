//! Bindings of `bucketrank_core::aggregate`.

use std::borrow::Cow;

use bucketrank_core::aggregate::{
    aggregate_each, steps, Aggregator, Batch, Borda, BucketPivot, Copeland, Davidson, Details,
    Evidence, MarkovChain, MaximalLottery, Scorer, Search, TauX, Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::Result;
use bucketrank_core::pairs::{PairOrderMatrix, PairShares};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_exception;
use crate::interrupt::{stoppable, watched};
use crate::positions::{weights_to_vec, MaybeWeights, Positions, View};
use crate::sets::Sets;

/// An aggregator as the Python layer names it.
#[derive(Clone, PartialEq, FromPyObject)]
pub enum Spec {
    /// A method and its one parameter.
    Plain((String, f64)),
    /// A method that starts from the scores of another one.
    Ordered((String, (String, f64))),
}

impl Spec {
    /// The aggregator that the core knows.
    pub fn aggregator(&self) -> PyResult<Aggregator> {
        let (method, parameter) = match self {
            Self::Plain((method, parameter)) => (method, parameter),
            Self::Ordered((method, order)) => {
                let order = Self::Plain(order.clone()).aggregator()?;
                let order = Scorer::try_from(order).map_err(to_exception)?;
                let tau_x = TauX::new(search(method)?, Some(order));
                return Ok(Aggregator::TauX(tau_x));
            }
        };
        let checked: Result<Aggregator> = match method.as_str() {
            "borda" => Borda::new(*parameter).map(Aggregator::Borda),
            "copeland" => Copeland::new(*parameter).map(Aggregator::Copeland),
            "bucket_pivot" => BucketPivot::new(*parameter).map(Aggregator::BucketPivot),
            "markov_chain" => MarkovChain::new(*parameter as u8).map(Aggregator::MarkovChain),
            "davidson" => Davidson::new(*parameter).map(Aggregator::Davidson),
            "maximal_lottery" => Ok(Aggregator::MaximalLottery(MaximalLottery)),
            other => Ok(Aggregator::TauX(TauX::new(search(other)?, None))),
        };
        checked.map_err(to_exception)
    }
}

/// The search that a variant of `TauX` does.
fn search(method: &str) -> PyResult<Search> {
    match method {
        "tau_x_cut" => Ok(Search::Cut),
        "tau_x_local" => Ok(Search::Local),
        "tau_x_exact" => Ok(Search::Exact),
        other => Err(PyValueError::new_err(format!("unknown method {other:?}"))),
    }
}

/// The consensus of a set of rankings.
#[pyfunction]
pub fn aggregate<'py>(
    py: Python<'py>,
    spec: Spec,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let aggregator = spec.aggregator()?;
    let weights = weights_to_vec(&weights);
    let rankings = y.rankings(py, weights.as_deref())?;
    let steps = steps(&aggregator, rankings.len(), rankings.labels());
    let order = stoppable(py, steps, |stop| {
        let evidence = Evidence::from_rankings_until(&rankings, aggregator.needs(), stop)?;
        aggregator.aggregate(&evidence, &mut Workspace::stopping_at(stop))
    })?
    .map_err(to_exception)?;
    let positions: Vec<i64> = order.positions().iter().map(|&p| p.into()).collect();
    Ok(positions.into_pyarray(py))
}

/// The consensus of a set of rankings with the numbers it comes from.
#[pyfunction]
pub fn explain<'py>(
    py: Python<'py>,
    spec: Spec,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let aggregator = spec.aggregator()?;
    let weights = weights_to_vec(&weights);
    let rankings = y.rankings(py, weights.as_deref())?;
    let steps = steps(&aggregator, rankings.len(), rankings.labels());
    let explanation = stoppable(py, steps, |stop| {
        let evidence = Evidence::from_rankings_until(&rankings, aggregator.needs(), stop)?;
        aggregator.explain_in(&evidence, &mut Workspace::stopping_at(stop))
    })?
    .map_err(to_exception)?;
    let result = PyDict::new(py);
    let positions: Vec<i64> = explanation
        .order
        .positions()
        .iter()
        .map(|&p| p.into())
        .collect();
    result.set_item("positions", positions.into_pyarray(py))?;
    match explanation.details {
        Details::Scores { scores } => result.set_item("scores", scores.into_pyarray(py))?,
        Details::BucketPivot {
            indecision,
            pivots,
            distance,
        } => {
            result.set_item("indecision", indecision.into_pyarray(py))?;
            result.set_item("pivots", pivots)?;
            result.set_item("distance", distance)?;
        }
        Details::MarkovChain {
            stationary,
            iterations,
            residual,
        } => {
            result.set_item("stationary", stationary.into_pyarray(py))?;
            result.set_item("iterations", iterations)?;
            result.set_item("residual", residual)?;
        }
        Details::MaximalLottery {
            probabilities,
            margin,
            unique,
        } => {
            result.set_item("probabilities", probabilities.into_pyarray(py))?;
            result.set_item("margin", margin)?;
            result.set_item("unique", unique)?;
        }
        Details::TauX {
            scores,
            expected_tau_x,
            boundary_gains,
            upper_bound,
            optimal,
        } => {
            result.set_item("scores", scores.into_pyarray(py))?;
            result.set_item("expected_tau_x", expected_tau_x)?;
            result.set_item("boundary_gains", boundary_gains)?;
            result.set_item("upper_bound", upper_bound)?;
            result.set_item("optimal", optimal)?;
        }
        Details::Davidson {
            utilities,
            tie_terms,
            utility_errors,
            tie_term_errors,
        } => {
            result.set_item("utilities", utilities.into_pyarray(py))?;
            result.set_item("tie_terms", tie_terms.into_pyarray(py))?;
            result.set_item("utility_errors", utility_errors.into_pyarray(py))?;
            result.set_item("tie_term_errors", tie_term_errors.into_pyarray(py))?;
        }
    }
    Ok(result)
}

/// The consensus of each of many sets of rankings of the same labels.
#[pyfunction]
pub fn aggregate_many<'py>(
    py: Python<'py>,
    spec: Spec,
    sets: Sets<'py>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let aggregator = spec.aggregator()?;
    let views = sets.views();
    let table = watched(py, |stop, should_stop| {
        let batch = Batch {
            aggregator: &aggregator,
            n_jobs,
            should_stop,
            stop,
        };
        let size = |view: &View<'_>| {
            let (rows, labels) = view.shape();
            steps(&aggregator, rows, labels)
        };
        let steps = views.iter().map(size).max().unwrap_or(1);
        aggregate_each(batch, views.len(), steps, |set| {
            views[set].read(None).map(Cow::Owned)
        })
        .map(|orders| to_table(&orders))
    })?;
    Ok(table.map_err(to_exception)?.into_pyarray(py))
}

/// The consensus that a pair order matrix determines.
#[pyfunction]
pub fn aggregate_pair_order<'py>(
    py: Python<'py>,
    spec: Spec,
    matrix: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let aggregator = spec.aggregator()?;
    let view = matrix.as_array();
    let steps = steps(&aggregator, 0, view.nrows());
    let order = stoppable(py, steps, |stop| {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(view)?);
        aggregator.aggregate(&evidence, &mut Workspace::stopping_at(stop))
    })?
    .map_err(to_exception)?;
    let positions: Vec<i64> = order.positions().iter().map(|&p| p.into()).collect();
    Ok(positions.into_pyarray(py))
}

/// The consensus that each of many pair order matrices determines.
#[pyfunction]
pub fn aggregate_pair_orders<'py>(
    py: Python<'py>,
    spec: Spec,
    matrices: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let aggregator = spec.aggregator()?;
    let view = matrices.as_array();
    let checked: Vec<PairOrderMatrix> = py
        .detach(|| {
            view.outer_iter()
                .enumerate()
                .map(|(index, matrix)| PairOrderMatrix::new(matrix).map_err(|e| (index, e)))
                .collect::<std::result::Result<_, _>>()
        })
        .map_err(|(index, error)| PyValueError::new_err(format!("matrix {index}: {error}")))?;
    let table = watched(py, |stop, should_stop| {
        let batch = Batch {
            aggregator: &aggregator,
            n_jobs,
            should_stop,
            stop,
        };
        bucketrank_core::aggregate::aggregate_pair_orders(batch, &checked)
            .map(|orders| to_table(&orders))
    })?;
    Ok(table.map_err(to_exception)?.into_pyarray(py))
}

/// The consensus that each of many tables of pair shares determines: one row a pair, before, tied and after.
#[pyfunction]
pub fn aggregate_pair_shares<'py>(
    py: Python<'py>,
    spec: Spec,
    tables: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let aggregator = spec.aggregator()?;
    let view = tables.as_array();
    let checked: Vec<PairShares> = py
        .detach(|| {
            view.outer_iter()
                .enumerate()
                .map(|(index, table)| PairShares::new(table).map_err(|e| (index, e)))
                .collect::<std::result::Result<_, _>>()
        })
        .map_err(|(index, error)| PyValueError::new_err(format!("table {index}: {error}")))?;
    let table = watched(py, |stop, should_stop| {
        let batch = Batch {
            aggregator: &aggregator,
            n_jobs,
            should_stop,
            stop,
        };
        bucketrank_core::aggregate::aggregate_pair_shares(batch, &checked)
            .map(|orders| to_table(&orders))
    })?;
    Ok(table.map_err(to_exception)?.into_pyarray(py))
}

/// One row of positions a bucket order.
pub fn to_table(orders: &[BucketOrder]) -> Array2<i64> {
    let labels = orders.first().map_or(0, |order| order.positions().len());
    table_of(orders, labels)
}

/// As [`to_table`], also for no bucket order of so many labels.
pub fn table_of(orders: &[BucketOrder], labels: usize) -> Array2<i64> {
    let mut table = Array2::zeros((orders.len(), labels));
    for (mut row, order) in table.rows_mut().into_iter().zip(orders) {
        for (cell, &position) in row.iter_mut().zip(order.positions()) {
            *cell = position.into();
        }
    }
    table
}
