//! Conversion of explanations to Python.

use bucketrank_core::aggregate::{Details, Explanation};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aggregate::positions_of;

/// The consensus and the intermediate results of the method, by name.
pub fn to_dict(py: Python<'_>, explanation: Explanation) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("positions", positions_of(py, &explanation.order))?;
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
            residual,
        } => {
            result.set_item("stationary", stationary.into_pyarray(py))?;
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
            unique,
        } => {
            result.set_item("scores", scores.into_pyarray(py))?;
            result.set_item("expected_tau_x", expected_tau_x)?;
            result.set_item("boundary_gains", boundary_gains)?;
            result.set_item("upper_bound", upper_bound)?;
            result.set_item("optimal", optimal)?;
            result.set_item("unique", unique)?;
        }
        Details::Kemeny {
            scores,
            distance,
            lower_bound,
            gap,
            optimal,
            unique,
            components,
        } => {
            result.set_item("scores", scores.into_pyarray(py))?;
            result.set_item("distance", distance)?;
            result.set_item("lower_bound", lower_bound)?;
            result.set_item("gap", gap)?;
            result.set_item("optimal", optimal)?;
            result.set_item("unique", unique)?;
            result.set_item("components", components)?;
        }
        Details::External => {}
        Details::RankedPairs { scores, discarded } => {
            result.set_item("scores", scores.into_pyarray(py))?;
            result.set_item("discarded", discarded)?;
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
