//! Bindings of `bucketrank_core::aggregate`.

use std::borrow::Cow;

use bucketrank_core::aggregate::{self as core, aggregate_each, steps, Batch, Evidence, Workspace};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::Result;
use bucketrank_core::pairs::{PairOrderMatrix, PairShares};
use ndarray::{Array2, ArrayView2, ArrayView3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_exception;
use crate::explanation::to_dict;
use crate::interrupt::{stoppable, watched};
use crate::positions::{weights_to_vec, MaybeWeights, Positions, View};
use crate::sets::Sets;
use crate::spec::Spec;

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
    Ok(positions_of(py, &order))
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
    to_dict(py, explanation)
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
    Ok(positions_of(py, &order))
}

/// The consensus that each of many pair order matrices determines.
#[pyfunction]
pub fn aggregate_pair_orders<'py>(
    py: Python<'py>,
    spec: Spec,
    matrices: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let matrices = (matrices.as_array(), "matrix");
    each_table(
        py,
        &spec,
        matrices,
        n_jobs,
        PairOrderMatrix::new,
        core::aggregate_pair_orders,
    )
}

/// The consensus that each of many tables of pair shares determines: one row a pair, before, tied and after.
#[pyfunction]
pub fn aggregate_pair_shares<'py>(
    py: Python<'py>,
    spec: Spec,
    tables: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let tables = (tables.as_array(), "table");
    each_table(
        py,
        &spec,
        tables,
        n_jobs,
        PairShares::new,
        core::aggregate_pair_shares,
    )
}

/// The consensus of each of many statistics, which are checked first; errors say which one, and what it is called.
fn each_table<'py, T: Send + Sync>(
    py: Python<'py>,
    spec: &Spec,
    (tables, name): (ArrayView3<'_, f64>, &str),
    n_jobs: usize,
    check: impl Fn(ArrayView2<'_, f64>) -> Result<T> + Sync,
    aggregate: impl FnOnce(Batch<'_>, &[T]) -> Result<Vec<BucketOrder>> + Send,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let aggregator = spec.aggregator()?;
    let checked: Vec<T> = py
        .detach(|| {
            let each = tables.outer_iter().enumerate();
            each.map(|(index, table)| check(table).map_err(|error| (index, error)))
                .collect::<std::result::Result<_, _>>()
        })
        .map_err(|(index, error)| PyValueError::new_err(format!("{name} {index}: {error}")))?;
    let orders = watched(py, |stop, should_stop| {
        let batch = Batch {
            aggregator: &aggregator,
            n_jobs,
            should_stop,
            stop,
        };
        aggregate(batch, &checked).map(|orders| to_table(&orders))
    })?;
    Ok(orders.map_err(to_exception)?.into_pyarray(py))
}

/// The positions of a bucket order.
pub fn positions_of<'py>(py: Python<'py>, order: &BucketOrder) -> Bound<'py, PyArray1<i64>> {
    let positions: Vec<i64> = order.positions().iter().map(|&p| p.into()).collect();
    positions.into_pyarray(py)
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
