//! Fitted models as bytes for files and pickles: containers, the core's file format with a version and a checksum.

use bucketrank_core::saved::SavedModel;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use pyo3::PyTypeInfo;

use super::errors::Result;
use super::run::run;

/// The container of a model.
pub fn to_bytes<'py, M: SavedModel + Sync>(
    py: Python<'py>,
    model: &M,
) -> Result<Bound<'py, PyBytes>> {
    let bytes = run(py, |_| Ok(model.to_bytes()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Reads the container of a model; any other bytes are an error.
pub fn from_bytes<M: SavedModel + Send>(py: Python<'_>, data: &[u8]) -> Result<M> {
    run(py, |_| M::from_bytes(data))
}

/// The return value of `__reduce__` for an object of class `C`: `C.from_bytes` and its argument.
pub fn reduce<'py, C: PyTypeInfo>(
    py: Python<'py>,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyTuple>> {
    let read = py.get_type::<C>().getattr("from_bytes")?;
    (read, (bytes,)).into_pyobject(py)
}
