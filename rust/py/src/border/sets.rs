//! [`Sets`]: many sets of rankings in one call, and a quick check before they are read.

use bucketrank_core::run::require_memory;
use numpy::{
    Element, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arrays::{Positions, View};
use super::errors::Result;

/// Many sets of rankings of the same labels.
pub enum Sets<'py> {
    /// Complete rankings, the same number in each set.
    Integers(PyReadonlyArray3<'py, i64>),
    /// The same number of rankings in each set; NaN marks missing labels.
    Floats(PyReadonlyArray3<'py, f64>),
    /// Sets that may differ in size.
    List(Vec<Positions<'py>>),
}

impl<'py> FromPyObject<'_, 'py> for Sets<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyList>() {
            object.extract().map(Self::List)
        } else if object.cast::<PyArray3<i64>>().is_ok() {
            object.extract().map(Self::Integers)
        } else {
            object.extract().map(Self::Floats)
        }
    }
}

impl Sets<'_> {
    /// One view per set.
    pub fn views(&self) -> Result<Vec<View<'_>>> {
        require_memory::<View<'_>>("the sets", &[self.len(), 2])?;
        Ok(match self {
            Self::Integers(sets) => sets
                .as_array()
                .into_outer_iter()
                .map(View::Integers)
                .collect(),
            Self::Floats(sets) => sets
                .as_array()
                .into_outer_iter()
                .map(View::Floats)
                .collect(),
            Self::List(sets) => sets.iter().map(Positions::view).collect(),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Integers(sets) => sets.shape()[0],
            Self::Floats(sets) => sets.shape()[0],
            Self::List(sets) => sets.len(),
        }
    }
}

/// Whether all sets are plain arrays that own their memory and have the same number of labels. Such sets need no other
/// check before they are read. Plain means exactly the class `ndarray`, a dtype of i64 or f64, and contiguous. This
/// check must be quick, because no thread can start to aggregate before it returns.
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

/// The number of labels of a plain array; `None` for other objects.
fn plain_labels(set: &Bound<'_, PyAny>) -> Option<usize> {
    // The values of a subclass may have another meaning, such as masked values.
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

/// Whether an array is a view of another array. Such arrays are copied, because the borrow checks of the crate `numpy`
/// compare all views of an array with each other, which takes longer.
fn shares_memory(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let base = array.getattr(intern!(array.py(), "base"))?;
    Ok(base.is_exact_instance_of::<PyUntypedArray>())
}
