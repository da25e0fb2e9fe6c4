//! Bindings of `bucketrank_core::shap`: SHAP values of the scores of labels.

use bucketrank_core::shap::ScoreModel;
use ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;

use crate::boost::Booster;
use crate::border::arrays::Matrix;
use crate::border::errors::Result;
use crate::border::run::run_jobs;
use crate::forest::Forest;
use crate::linear::LinearModel;
use crate::tree::{Smoothing, Tree};

/// SHAP values for Python: rows × features × labels.
pub type ShapTable<'py> = Bound<'py, PyArray3<f64>>;

/// A fitted model whose label scores are explained.
#[derive(FromPyObject)]
pub enum ExplainedModel {
    /// A tree and the smoothing of its leaves.
    Tree(Py<Tree>, Smoothing),
    /// A forest and the strength of its m-estimate.
    Forest(Py<Forest>, f64),
    /// A booster.
    Booster((Py<Booster>,)),
    /// A linear model.
    Linear((Py<LinearModel>,)),
}

impl ExplainedModel {
    fn scores(&self) -> Result<ScoreModel<'_>> {
        Ok(match self {
            Self::Tree(tree, smoothing) => {
                ScoreModel::Tree(&tree.get().fitted, smoothing.shrinkage()?)
            }
            Self::Forest(forest, strength) => ScoreModel::Forest(&forest.get().forest, *strength),
            Self::Booster((booster,)) => ScoreModel::Booster(&booster.get().fitted),
            Self::Linear((linear,)) => ScoreModel::Linear(&linear.get().fitted),
        })
    }
}

/// SHAP values of rows: rows × features × labels.
#[pyfunction]
pub fn shap_values<'py>(
    py: Python<'py>,
    model: ExplainedModel,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<ShapTable<'py>> {
    let (scores, values) = (model.scores()?, x.as_array());
    let shap: Array3<f64> = run_jobs(py, n_jobs, |jobs| scores.shap_values(values, jobs))?;
    Ok(shap.into_pyarray(py))
}

/// Score of each label when no feature is known.
#[pyfunction]
pub fn shap_base_values(
    py: Python<'_>,
    model: ExplainedModel,
    n_jobs: usize,
) -> Result<Bound<'_, PyArray1<f64>>> {
    let scores = model.scores()?;
    let base = run_jobs(py, n_jobs, |jobs| scores.base_values(jobs))?;
    Ok(base.into_pyarray(py))
}

/// The explained score of each row and label.
#[pyfunction]
pub fn label_scores<'py>(
    py: Python<'py>,
    model: ExplainedModel,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<Bound<'py, PyArray2<f64>>> {
    let (scores, values) = (model.scores()?, x.as_array());
    let scores = run_jobs(py, n_jobs, |jobs| scores.label_scores(values, jobs))?;
    Ok(scores.into_pyarray(py))
}
