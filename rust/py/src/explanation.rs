//! Conversion of explanations (a consensus with the intermediate results of its method) to Python.

use bucketrank_core::aggregate::{Details, Explanation};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aggregate::positions_of;

/// Copies the fields of each variant of [`Details`] to a dictionary; fields in brackets become arrays.
macro_rules! set_details {
    ($py:ident, $result:ident, $details:expr,
     $($variant:ident { $([$array:ident])* $($value:ident)* })*) => {
        match $details {
            $(Details::$variant { $($array,)* $($value,)* } => {
                $($result.set_item(stringify!($array), $array.into_pyarray($py))?;)*
                $($result.set_item(stringify!($value), $value)?;)*
            })*
            Details::External => {}
        }
    };
}

/// A dictionary of the consensus and the intermediate results of the method.
pub fn to_dict(py: Python<'_>, explanation: Explanation) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("positions", positions_of(py, &explanation.order))?;
    set_details! { py, result, explanation.details,
        Scores { [scores] }
        BucketPivot { [indecision] pivots distance }
        MarkovChain { [stationary] residual }
        MaximalLottery { [probabilities] margin unique }
        TauX { [scores] expected_tau_x boundary_gains upper_bound optimal unique }
        Kemeny { [scores] distance lower_bound gap optimal unique components }
        RankedPairs { [scores] discarded }
        Davidson { [utilities] [tie_terms] [utility_errors] [tie_term_errors] }
    }
    Ok(result)
}
