//! A quick check of many sets of rankings before they are read.

use numpy::{Element, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Whether all sets are plain arrays with memory of their own and as many labels, which need no other check before
/// they are read. Until this is answered no thread aggregates anything: it must be quick.
#[pyfunction]
pub fn are_plain_sets(sets: &Bound<'_, PyList>) -> PyResult<bool> {
    let mut labels = None;
    for set in sets {
        let Some(own) = plain_labels(&set) else {
            return Ok(false);
        };
        if *labels.get_or_insert(own) != own || shares_memory(&set)? {
            return Ok(false);
        }
    }
    Ok(labels.is_some())
}

/// The number of labels of a plain array; none of anything else.
fn plain_labels(set: &Bound<'_, PyAny>) -> Option<usize> {
    // A subclass may mean something else by its numbers: some may be masked.
    if !set.is_exact_instance_of::<PyUntypedArray>() {
        return None;
    }
    match set.cast::<PyArray2<i64>>() {
        Ok(array) => contiguous_columns(array),
        Err(_) => contiguous_columns(set.cast::<PyArray2<f64>>().ok()?),
    }
}

fn contiguous_columns<T: Element>(array: &Bound<'_, PyArray2<T>>) -> Option<usize> {
    let usable = array.is_c_contiguous() && array.data().is_aligned();
    usable.then(|| array.shape()[1])
}

/// Whether an array is a view of another: many views of one array are compared with each other when they are read,
/// which takes longer than copying them.
fn shares_memory(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let base = array.getattr(intern!(array.py(), "base"))?;
    Ok(base.is_exact_instance_of::<PyUntypedArray>())
}
