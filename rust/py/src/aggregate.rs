//! Bindings of `bucketrank_core::aggregate`.

use std::borrow::Cow;

use bucketrank_core::aggregate::{
    self as core, aggregate_each, estimate_cost, Aggregator, BatchOptions, Evidence, Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error;
use bucketrank_core::pairs::{PairOrderMatrix, PairShares};
use bucketrank_core::run::require_memory;
use ndarray::{ArrayView2, ArrayView3};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    order_table, whole_numbers, Matrix, MaybeWeights, OrderTable, Positions, View,
};
use crate::border::errors::{BorderError, Result};
use crate::border::run::run;
use crate::border::sets::Sets;
use crate::explanation::to_dict;

/// Positions of one bucket order.
type Order<'py> = Bound<'py, PyArray1<i64>>;

/// The consensus of a set of rankings.
#[pyfunction]
pub fn aggregate<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Order<'py>> {
    let aggregator = spec.aggregator()?;
    let rankings = y.weighted(py, &weights)?;
    let order = run(py, |interrupt| {
        let evidence = Evidence::from_rankings(&rankings, aggregator.needs(), interrupt)?;
        aggregator.aggregate(&evidence, &mut Workspace::with_interrupt(interrupt))
    })?;
    Ok(positions_of(py, &order))
}

/// The consensus of a set of rankings with the intermediate results of the method.
#[pyfunction]
pub fn explain<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
) -> Result<Bound<'py, PyDict>> {
    let aggregator = spec.aggregator()?;
    let rankings = y.weighted(py, &weights)?;
    let explanation = run(py, |interrupt| {
        let evidence = Evidence::from_rankings(&rankings, aggregator.needs(), interrupt)?;
        aggregator.explain_in(&evidence, &mut Workspace::with_interrupt(interrupt))
    })?;
    Ok(to_dict(py, explanation)?)
}

/// The consensus of each of many sets of rankings of the same labels.
#[pyfunction]
pub fn aggregate_many<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    sets: Sets<'py>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    let aggregator = spec.aggregator()?;
    let views = sets.views()?;
    let cost = largest_cost(&aggregator, &views);
    let orders = run(py, |interrupt| {
        let options = BatchOptions {
            aggregator: &aggregator,
            n_jobs,
            interrupt,
        };
        let read_set = |set: usize| views[set].read(None).map(Cow::Owned);
        aggregate_each(options, views.len(), cost, read_set)
    })?;
    Ok(to_table(py, &orders))
}

/// Estimated cost of the most expensive set.
fn largest_cost(aggregator: &Aggregator, sets: &[View<'_>]) -> usize {
    let shapes = sets.iter().map(View::shape);
    let costs = shapes.map(|(rows, labels)| estimate_cost(aggregator, rows, labels));
    costs.max().unwrap_or(1)
}

/// The consensus of a pair order matrix.
#[pyfunction]
pub fn aggregate_pair_order<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    matrix: Matrix<'py>,
) -> Result<Order<'py>> {
    let aggregator = spec.aggregator()?;
    let view = matrix.as_array();
    let order = run(py, |interrupt| {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(view)?);
        aggregator.aggregate(&evidence, &mut Workspace::with_interrupt(interrupt))
    })?;
    Ok(positions_of(py, &order))
}

/// The consensus of each of many pair order matrices.
#[pyfunction]
pub fn aggregate_pair_orders<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    matrices: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    require_tables(&matrices)?;
    let matrices = checked(py, matrices.as_array(), "matrix", PairOrderMatrix::new)?;
    aggregate_statistics(py, &spec, n_jobs, |batch| {
        core::aggregate_pair_orders(batch, &matrices)
    })
}

/// The consensus of each of many tables of pair shares: one row per pair; before, tied and after.
#[pyfunction]
pub fn aggregate_pair_shares<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    tables: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    require_tables(&tables)?;
    let tables = checked(py, tables.as_array(), "table", PairShares::new)?;
    aggregate_statistics(py, &spec, n_jobs, |batch| {
        core::aggregate_pair_shares(batch, &tables)
    })
}

/// Checks that copies of many statistics can be allocated.
fn require_tables(tables: &PyReadonlyArray3<'_, f64>) -> Result<()> {
    require_memory::<f64>("the statistics of pairs", &[tables.len(), 2])?;
    Ok(())
}

/// Checks each matrix or table; an error names the first invalid one.
fn checked<T: Send>(
    py: Python<'_>,
    tables: ArrayView3<'_, f64>,
    name: &str,
    check: impl Fn(ArrayView2<'_, f64>) -> error::Result<T> + Sync,
) -> Result<Vec<T>> {
    py.detach(|| {
        let each = tables.outer_iter().enumerate();
        each.map(|(index, table)| {
            check(table).map_err(|error| BorderError::within(&format!("{name} {index}: "), &error))
        })
        .collect()
    })
}

fn aggregate_statistics<'py>(
    py: Python<'py>,
    spec: &AggregatorSpec,
    n_jobs: usize,
    aggregate: impl FnOnce(BatchOptions<'_>) -> error::Result<Vec<BucketOrder>> + Send,
) -> Result<OrderTable<'py>> {
    let aggregator = spec.aggregator()?;
    let orders = run(py, |interrupt| {
        aggregate(BatchOptions {
            aggregator: &aggregator,
            n_jobs,
            interrupt,
        })
    })?;
    Ok(to_table(py, &orders))
}

/// The positions of a bucket order.
pub fn positions_of<'py>(py: Python<'py>, order: &BucketOrder) -> Order<'py> {
    whole_numbers(py, order.positions().iter().copied())
}

/// One row of positions per bucket order.
pub fn to_table<'py>(py: Python<'py>, orders: &[BucketOrder]) -> OrderTable<'py> {
    let labels = orders.first().map_or(0, |order| order.positions().len());
    order_table(orders, labels).into_pyarray(py)
}
