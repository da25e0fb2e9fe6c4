//! Containers (files or pickles) of estimators and of pair counts: a description in JSON, and parts that are arrays or
//! fitted models.

use bucketrank_core::boost::Booster as CoreBooster;
use bucketrank_core::error;
use bucketrank_core::forest::Forest as CoreForest;
use bucketrank_core::linear::LinearModel as CoreLinear;
use bucketrank_core::saved::{
    check_header, Container, ContainerWriter, Element, ElementType, SavedModel, Section,
    SectionWriter,
};
use bucketrank_core::tree::FittedTree;
use ndarray::ArrayD;
use numpy::{IntoPyArray, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::boost::Booster;
use crate::border::errors::Result;
use crate::border::run::run;
use crate::forest::Forest;
use crate::linear::LinearModel;
use crate::tree::Tree;

/// The kind of object in these containers; pair counts have the same kind as estimators.
const KIND: &str = "estimator";
const DESCRIPTION: &str = "description";
/// Name of the string with the type of a part: [`ARRAY`] or the name of a model.
const TYPE: &str = "type";
const ARRAY: &str = "array";
const VALUES: &str = "values";

/// A part of a container to be written.
#[derive(FromPyObject)]
pub enum Part {
    Tree(Py<Tree>),
    Forest(Py<Forest>),
    Booster(Py<Booster>),
    Linear(Py<LinearModel>),
    Floats(#[pyo3(from_py_with = copy_array::<f64>)] ArrayD<f64>),
    Integers(#[pyo3(from_py_with = copy_array::<i64>)] ArrayD<i64>),
    Flags(#[pyo3(from_py_with = copy_array::<bool>)] ArrayD<bool>),
}

/// A part that was read.
enum ReadPart {
    Tree(Box<FittedTree>),
    Forest(Box<CoreForest>),
    Booster(CoreBooster),
    Linear(CoreLinear),
    Floats(ArrayD<f64>),
    Integers(ArrayD<i64>),
    Flags(ArrayD<bool>),
}

/// Writes a container with a description and parts.
#[pyfunction]
pub fn pack<'py>(
    py: Python<'py>,
    description: &str,
    parts: Vec<Part>,
) -> Result<Bound<'py, PyBytes>> {
    let bytes = run(py, |_| {
        let mut container = ContainerWriter::new(KIND);
        let mut root = container.root();
        root.text(DESCRIPTION, description);
        for (index, part) in parts.iter().enumerate() {
            part.write(&mut root.section(&index.to_string()));
        }
        Ok(container.finish())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Reads the bytes of `pack`; `what` names the object in messages.
#[pyfunction]
pub fn unpack<'py>(
    py: Python<'py>,
    data: &[u8],
    what: &str,
) -> Result<(String, Vec<Bound<'py, PyAny>>)> {
    let (description, parts) = run(py, |_| read(data, what))?;
    let parts = parts.into_iter().map(|part| part.into_object(py));
    Ok((description, parts.collect::<PyResult<_>>()?))
}

/// Checks the magic number, the version and the length of a container from its first bytes.
#[pyfunction]
pub fn check_saved_header(header: &[u8], length: usize, what: &str) -> Result<()> {
    Ok(check_header(header, length, what)?)
}

fn read(data: &[u8], what: &str) -> error::Result<(String, Vec<ReadPart>)> {
    let mut container = Container::open(data, what, KIND)?;
    let mut root = container.root();
    let description = root.text(DESCRIPTION)?.to_owned();
    let mut parts = Vec::new();
    loop {
        let section = root.section(&parts.len().to_string());
        if !section.has(TYPE) {
            break;
        }
        parts.push(read_part(section)?);
    }
    container.finish()?;
    Ok((description, parts))
}

fn read_part(mut section: Section<'_, '_>) -> error::Result<ReadPart> {
    Ok(match section.text(TYPE)? {
        FittedTree::NAME => ReadPart::Tree(Box::new(section.model()?)),
        CoreForest::NAME => ReadPart::Forest(Box::new(section.model()?)),
        CoreBooster::NAME => ReadPart::Booster(section.model()?),
        CoreLinear::NAME => ReadPart::Linear(section.model()?),
        ARRAY => match section.element_type(VALUES) {
            Some(ElementType::I64) => ReadPart::Integers(read_array(section)?),
            Some(ElementType::Bool) => ReadPart::Flags(read_array(section)?),
            _ => ReadPart::Floats(read_array(section)?),
        },
        other => return Err(section.problem(&format!("unknown type {other:?} of a part"))),
    })
}

fn read_array<T: Element>(mut section: Section<'_, '_>) -> error::Result<ArrayD<T>> {
    let (shape, values) = section.array(VALUES)?;
    ArrayD::from_shape_vec(shape, values)
        .map_err(|_| section.problem("the shape of an array is too large"))
}

fn copy_array<T: numpy::Element + Clone>(array: &Bound<'_, PyAny>) -> PyResult<ArrayD<T>> {
    let array: PyReadonlyArrayDyn<'_, T> = array.extract()?;
    Ok(array.as_array().to_owned())
}

impl Part {
    fn write(&self, section: &mut SectionWriter<'_>) {
        match self {
            Self::Tree(tree) => write_model(&tree.get().fitted, section),
            Self::Forest(forest) => write_model(&forest.get().forest, section),
            Self::Booster(booster) => write_model(&booster.get().fitted, section),
            Self::Linear(model) => write_model(&model.get().fitted, section),
            Self::Floats(values) => write_array(values, section),
            Self::Integers(values) => write_array(values, section),
            Self::Flags(values) => write_array(values, section),
        }
    }
}

fn write_model<M: SavedModel>(model: &M, section: &mut SectionWriter<'_>) {
    section.text(TYPE, M::NAME);
    model.write(section);
}

fn write_array<T: Element>(values: &ArrayD<T>, section: &mut SectionWriter<'_>) {
    section.text(TYPE, ARRAY);
    section.array(VALUES, values.shape(), values.iter().copied());
}

impl ReadPart {
    fn into_object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Tree(tree) => Bound::new(py, Tree::from(*tree))?.into_any(),
            Self::Forest(forest) => Bound::new(py, Forest { forest: *forest })?.into_any(),
            Self::Booster(booster) => Bound::new(py, Booster { fitted: booster })?.into_any(),
            Self::Linear(model) => Bound::new(py, LinearModel { fitted: model })?.into_any(),
            Self::Floats(values) => values.into_pyarray(py).into_any(),
            Self::Integers(values) => values.into_pyarray(py).into_any(),
            Self::Flags(values) => values.into_pyarray(py).into_any(),
        })
    }
}
