//! Bindings of `bucketrank_core::aggregate`.

use std::borrow::Cow;

use bucketrank_core::aggregate::{
    aggregate_each, steps, Aggregator, Batch, Borda, BucketPivot, Copeland, Details, Evidence,
    MarkovChain, MaximalLottery, Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::Result;
use bucketrank_core::pairs::PairOrderMatrix;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::to_exception;
use crate::interrupt::{stoppable, watched};
use crate::positions::{weights_to_vec, MaybeWeights, Positions, View};

/// An aggregator as the Python layer names it: a method and its one parameter.
#[derive(Clone, PartialEq, FromPyObject)]
pub struct Spec(String, f64);

impl Spec {
    /// The aggregator that the core knows.
    pub fn aggregator(&self) -> PyResult<Aggregator> {
        let Self(method, parameter) = self;
        let checked: Result<Aggregator> = match method.as_str() {
            "borda" => Borda::new(*parameter).map(Aggregator::Borda),
            "copeland" => Copeland::new(*parameter).map(Aggregator::Copeland),
            "bucket_pivot" => BucketPivot::new(*parameter).map(Aggregator::BucketPivot),
            "markov_chain" => MarkovChain::new(*parameter as u8).map(Aggregator::MarkovChain),
            "maximal_lottery" => Ok(Aggregator::MaximalLottery(MaximalLottery)),
            other => return Err(PyValueError::new_err(format!("unknown method {other:?}"))),
        };
        checked.map_err(to_exception)
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
    }
    Ok(result)
}

/// Many sets of rankings of the same labels.
pub enum Sets<'py> {
    /// Complete rankings, as many in each set.
    Whole(PyReadonlyArray3<'py, i64>),
    /// As many rankings in each set; NaN marks missing labels.
    Real(PyReadonlyArray3<'py, f64>),
    /// Sets of different sizes.
    List(Vec<Positions<'py>>),
}

impl<'py> FromPyObject<'_, 'py> for Sets<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyList>() {
            object.extract().map(Self::List)
        } else if object.cast::<PyArray3<i64>>().is_ok() {
            object.extract().map(Self::Whole)
        } else {
            object.extract().map(Self::Real)
        }
    }
}

impl Sets<'_> {
    fn views(&self) -> Vec<View<'_>> {
        match self {
            Self::Whole(sets) => sets.as_array().into_outer_iter().map(View::Whole).collect(),
            Self::Real(sets) => sets.as_array().into_outer_iter().map(View::Real).collect(),
            Self::List(sets) => sets.iter().map(Positions::view).collect(),
        }
    }
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

/// One row of positions a bucket order.
fn to_table(orders: &[BucketOrder]) -> Array2<i64> {
    let labels = orders.first().map_or(0, |order| order.positions().len());
    Array2::from_shape_fn((orders.len(), labels), |(row, label)| {
        orders[row].positions()[label].into()
    })
}
