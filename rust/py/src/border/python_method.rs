//! [`PythonMethod`]: an aggregator written in Python, called from the core.

use bucketrank_core::aggregate::{ExternalFailure, ExternalInput, ExternalMethod};
use bucketrank_core::rankings::{Rankings, MISSING};
use bucketrank_core::weights::Weights;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use super::arrays::matrix_to_array;

/// A Python object with a method that returns positions as floats: `_positions_of(C)` for a pair order matrix C, or
/// `_positions_of(Y, weights)` for rankings Y.
#[derive(Debug)]
pub struct PythonMethod {
    object: Py<PyAny>,
    name: String,
    reads_pair_order: bool,
}

impl PythonMethod {
    /// `name` appears in messages.
    pub fn new(object: Py<PyAny>, name: String, reads_pair_order: bool) -> Self {
        Self {
            object,
            name,
            reads_pair_order,
        }
    }

    fn call(&self, py: Python<'_>, input: ExternalInput<'_>) -> PyResult<Vec<f64>> {
        let method = self.object.bind(py).getattr("_positions_of")?;
        let result = match input {
            ExternalInput::PairOrder(matrix) => method.call1((matrix_to_array(py, matrix)?,)),
            ExternalInput::Rankings(rankings) => {
                let positions = float_positions(rankings).into_pyarray(py);
                method.call1((positions, weight_array(py, rankings)))
            }
        }?;
        let positions = result.cast_into::<PyArray1<f64>>()?;
        Ok(positions.try_readonly()?.as_array().to_vec())
    }
}

/// Positions, NaN where a label is missing.
fn float_positions(rankings: &Rankings) -> Array2<f64> {
    let shape = (rankings.len(), rankings.labels());
    Array2::from_shape_fn(shape, |(row, label)| match rankings.row(row)[label] {
        MISSING => f64::NAN,
        position => f64::from(position),
    })
}

/// The weights; `None` if all are 1.
fn weight_array<'py>(py: Python<'py>, rankings: &Rankings) -> Option<Bound<'py, PyArray1<f64>>> {
    let weights = match rankings.weights() {
        Weights::Unit(_) => return None,
        weights @ Weights::Each(_) => weights,
    };
    let each = (0..rankings.len()).map(|row| weights.get(row));
    Some(PyArray1::from_iter(py, each))
}

impl ExternalMethod for PythonMethod {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn reads_pair_order(&self) -> bool {
        self.reads_pair_order
    }

    fn aggregate(&self, input: ExternalInput<'_>) -> Result<Vec<f64>, ExternalFailure> {
        Python::attach(|py| {
            self.call(py, input).map_err(|error| {
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    ExternalFailure::Interrupted
                } else {
                    ExternalFailure::Failed(error.to_string())
                }
            })
        })
    }
}
