//! Bindings of `bucketrank_core::linear`: the scores of the labels as linear functions. The scores are for each label a
//! utility, which orders the labels, and a tie term, its tendency to be tied.

use bucketrank_core::linear::{
    CategoricalFeature, LinearModel as CoreLinearModel, LinearOptions, LinearParams,
};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::border::arrays::{Matrix, MaybeWeights, Positions};
use crate::border::errors::Result;
use crate::border::models;
use crate::border::params::count;
use crate::border::run::run;

/// The parameters of a linear model, from the Python layer; their ranges are not checked yet.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LinearSpec<'py> {
    ridge: f64,
    intercept_ridge: f64,
    tolerance: f64,
    max_steps: Bound<'py, PyAny>,
    n_jobs: usize,
}

impl LinearSpec<'_> {
    /// The checked parameters.
    pub fn params(&self) -> Result<LinearParams> {
        Ok(LinearParams::new(LinearOptions {
            ridge: self.ridge,
            intercept_ridge: self.intercept_ridge,
            tolerance: self.tolerance,
            max_steps: count("max_steps", &self.max_steps, 1)?,
            n_jobs: self.n_jobs,
        })?)
    }
}

/// Categorical features from Python: pairs of a feature and its number of categories.
pub fn categorical_features(pairs: Vec<(u32, u32)>) -> Vec<CategoricalFeature> {
    let feature = |(feature, categories)| CategoricalFeature {
        feature,
        categories,
    };
    pairs.into_iter().map(feature).collect()
}

/// A fitted linear model.
#[pyclass(frozen, module = "bucketrank._core")]
pub struct LinearModel {
    pub(crate) fitted: CoreLinearModel,
}

/// A vector of numbers for Python.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// A matrix with a row and a column per coefficient, for Python.
type SquareMatrix<'py> = Bound<'py, PyArray2<f64>>;

#[pymethods]
impl LinearModel {
    /// Fits the model.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        x: Matrix<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        options: LinearSpec<'py>,
        categorical: Vec<(u32, u32)>,
    ) -> Result<Self> {
        let params = options.params()?;
        let rankings = y.read(py, &weights)?;
        let (values, categorical) = (x.as_array(), categorical_features(categorical));
        let fitted = run(py, |interrupt| {
            CoreLinearModel::fit(values, &categorical, &rankings, &params, interrupt)
        })?;
        Ok(Self { fitted })
    }

    /// Second derivatives of the minimised objective, and products of the gradients of the rankings if some have more
    /// than two labels. Coefficients are ordered by input (feature, indicator or category), with the intercept last;
    /// each input has n utilities and n tie terms.
    fn information<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        options: LinearSpec<'py>,
    ) -> Result<(SquareMatrix<'py>, Option<SquareMatrix<'py>>)> {
        let (model, params) = (&self.fitted, options.params()?);
        let (values, rankings) = (x.as_array(), y.read(py, &weights)?);
        let information = run(py, |interrupt| {
            model.information(values, &rankings, &params, interrupt)
        })?;
        let products = information.gradient_products.map(|p| p.into_pyarray(py));
        Ok((information.second_derivatives.into_pyarray(py), products))
    }

    /// Utilities and tie terms of each row.
    fn scores<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        let values = x.as_array();
        let scores = run(py, |interrupt| self.fitted.scores(values, interrupt))?;
        Ok(scores.into_pyarray(py))
    }

    /// Coefficients of the standardised features, then of the indicators of missing values and of categories, one row
    /// per score, and the intercepts.
    fn coefficients<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray2<f64>>, Numbers<'py>) {
        let (coefficients, intercepts) = self.fitted.coefficients();
        (coefficients.into_pyarray(py), intercepts.into_pyarray(py))
    }

    /// The features with an indicator of missing values.
    fn indicators<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let indicators = self.fitted.indicators().iter().map(|&i| i64::from(i));
        indicators.collect::<Vec<i64>>().into_pyarray(py)
    }

    /// The categorical features and their numbers of categories.
    fn categorical(&self) -> Vec<(u32, u32)> {
        let each = self.fitted.categorical().iter();
        each.map(|own| (own.feature, own.categories)).collect()
    }

    /// Mean and standard deviation of each feature, then of each indicator of missing values and of each category.
    fn scale<'py>(&self, py: Python<'py>) -> (Numbers<'py>, Numbers<'py>) {
        let (means, deviations) = self.fitted.scale();
        let array = |values: &[f64]| values.to_vec().into_pyarray(py);
        (array(means), array(deviations))
    }

    /// Per label, whether the training rankings compare it with another label.
    fn compared_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.fitted.compared_labels().to_vec().into_pyarray(py)
    }

    /// Numbers of features and labels.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.fitted.features(), self.fitted.labels())
    }

    /// Number of steps of the fit.
    #[getter]
    fn steps(&self) -> usize {
        self.fitted.steps()
    }

    /// Whether the fit reached its tolerance.
    #[getter]
    fn converged(&self) -> bool {
        self.fitted.has_converged()
    }

    /// The model as bytes, with a format version and a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        models::to_bytes(py, &self.fitted)
    }

    /// Reads the bytes of `to_bytes`; any other bytes are an error.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> Result<Self> {
        let fitted = models::from_bytes(py, data)?;
        Ok(Self { fitted })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        models::reduce::<Self>(py, self.to_bytes(py)?)
    }
}
