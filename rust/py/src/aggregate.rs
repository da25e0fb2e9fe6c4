//! Bindings of `bucketrank_core::aggregate`: the consensus of rankings or of pair statistics.

use bucketrank_core::aggregate::{
    self as core, aggregate_each, estimate_cost, Aggregator, BatchOptions, Evidence, Needs,
    Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::{self, InputPart};
use bucketrank_core::pairs::{PairOrderMatrix, PairShares};
use bucketrank_core::run::{require_memory, Interrupt};
use ndarray::{ArrayView2, ArrayView3};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    order_table, weights_to_vec, whole_numbers, Matrix, MaybeWeights, OrderTable, Positions, View,
};
use crate::border::errors::Result;
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
    let order = apply(
        py,
        &spec,
        prepare_evidence(&y, &weights)?,
        Aggregator::aggregate,
    )?;
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
    let explanation = apply(
        py,
        &spec,
        prepare_evidence(&y, &weights)?,
        Aggregator::explain,
    )?;
    Ok(to_dict(py, explanation)?)
}

/// Applies a method of the aggregator (`aggregate` or `explain`) to the statistics of rankings that it needs, which
/// `evidence` computes.
pub fn apply<T: Send>(
    py: Python<'_>,
    spec: &AggregatorSpec,
    evidence: impl FnOnce(Needs, &Interrupt) -> error::Result<Evidence> + Send,
    method: fn(&Aggregator, &Evidence, &mut Workspace) -> error::Result<T>,
) -> Result<T> {
    let aggregator = spec.aggregator()?;
    run(py, |interrupt| {
        let evidence = evidence(aggregator.needs(), interrupt)?;
        method(&aggregator, &evidence, &mut Workspace::new(interrupt))
    })
}

/// Returns a closure that reads weighted rankings and computes the statistics that an aggregator needs; [`apply`] calls
/// it while detached from the interpreter.
fn prepare_evidence<'a>(
    y: &'a Positions<'_>,
    weights: &MaybeWeights<'_>,
) -> Result<impl FnOnce(Needs, &Interrupt) -> error::Result<Evidence> + Send + use<'a>> {
    let (view, weights) = (y.view(), weights_to_vec(weights)?);
    Ok(move |needs, interrupt: &Interrupt| {
        let rankings = view.read(weights.as_deref(), interrupt)?;
        Evidence::from_rankings(&rankings, needs, interrupt)
    })
}

/// The consensus of each of many sets of rankings of the same labels.
#[pyfunction]
pub fn aggregate_many<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    sets: Sets<'py>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    let views = sets.views()?;
    aggregate_batch(py, &spec, n_jobs, |batch| {
        let cost = largest_cost(batch.aggregator, &views);
        let read_set = |set: usize| views[set].read(None, batch.interrupt);
        aggregate_each(batch, views.len(), cost, read_set)
    })
}

/// Estimated cost of the most expensive set.
fn largest_cost(aggregator: &Aggregator, sets: &[View<'_>]) -> usize {
    let shapes = sets.iter().map(View::shape);
    let costs = shapes.map(|(rows, labels)| estimate_cost(aggregator, rows, labels));
    costs.max().unwrap_or(1)
}

/// The consensus of a pair order matrix: per ordered pair of labels the share of rankings that place the first before
/// the second, ties counting half.
#[pyfunction]
pub fn aggregate_pair_order<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    matrix: Matrix<'py>,
) -> Result<Order<'py>> {
    let view = matrix.as_array();
    let evidence = |_, _: &Interrupt| PairOrderMatrix::new(view).map(Evidence::from_pair_order);
    let order = apply(py, &spec, evidence, Aggregator::aggregate)?;
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
    let matrices = matrices.as_array();
    aggregate_batch(py, &spec, n_jobs, |batch| {
        let matrices = check_each(matrices, InputPart::Matrix, PairOrderMatrix::new)?;
        core::aggregate_pair_orders(batch, &matrices)
    })
}

/// The consensus of each of many tables of pair shares: one row per pair of labels, with the shares of rankings that
/// place the first before, tied with, and after the second.
#[pyfunction]
pub fn aggregate_pair_shares<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    tables: PyReadonlyArray3<'py, f64>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    let tables = tables.as_array();
    aggregate_batch(py, &spec, n_jobs, |batch| {
        let tables = check_each(tables, InputPart::Table, PairShares::new)?;
        core::aggregate_pair_shares(batch, &tables)
    })
}

/// Checks each matrix or table; an error names the first invalid one.
fn check_each<T>(
    tables: ArrayView3<'_, f64>,
    part: fn(usize) -> InputPart,
    check: fn(ArrayView2<'_, f64>) -> error::Result<T>,
) -> error::Result<Vec<T>> {
    require_memory::<f64>("the statistics of pairs", &[tables.len(), 2])?;
    let each = tables.outer_iter().enumerate();
    each.map(|(index, table)| check(table).map_err(|error| error.in_part(part(index))))
        .collect()
}

/// Aggregates many inputs on `n_jobs` threads.
fn aggregate_batch<'py>(
    py: Python<'py>,
    spec: &AggregatorSpec,
    n_jobs: usize,
    aggregate: impl FnOnce(BatchOptions<'_>) -> error::Result<Vec<BucketOrder>> + Send,
) -> Result<OrderTable<'py>> {
    let aggregator = &spec.aggregator()?;
    let orders = run(py, |interrupt| {
        aggregate(BatchOptions {
            aggregator,
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
