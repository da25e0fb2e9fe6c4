//! Bindings of `bucketrank_core::boost`: gradient boosting of utilities and tie terms, the scores of the labels.

use bucketrank_core::boost::{
    BoostOptions, BoostParams, Booster as CoreBooster, EarlyStopping, Observer, Thresholds,
};
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::border::arrays::{Matrix, MaybeWeights, Positions};
use crate::border::errors::{BindingError, Result};
use crate::border::models;
use crate::border::params::{check_bounded_count, count};
use crate::border::run::{run_jobs, run_with_callbacks};

/// The parameters of a booster, from the Python layer; counts are not checked yet.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BoosterSpec<'py> {
    rounds: Bound<'py, PyAny>,
    learning_rate: f64,
    max_depth: Bound<'py, PyAny>,
    min_samples_leaf: Bound<'py, PyAny>,
    ridge: f64,
    row_share: f64,
    feature_share: Option<f64>,
    max_bins: Bound<'py, PyAny>,
    thresholds: String,
    validation_share: Option<f64>,
    patience: Bound<'py, PyAny>,
    seed: u64,
    n_jobs: usize,
}

impl BoosterSpec<'_> {
    /// The checked parameters.
    pub fn params(self) -> Result<BoostParams> {
        Ok(BoostParams::new(BoostOptions {
            rounds: check_bounded_count("rounds", self.rounds.clone())?,
            learning_rate: self.learning_rate,
            max_depth: count("max_depth", &self.max_depth, 1)?,
            min_samples_leaf: count("min_samples_leaf", &self.min_samples_leaf, 1)?,
            ridge: self.ridge,
            row_share: self.row_share,
            feature_share: self.feature_share,
            max_bins: count("max_bins", &self.max_bins, 2)?,
            thresholds: self.thresholds()?,
            early_stopping: self.early_stopping()?,
            seed: self.seed,
            n_jobs: self.n_jobs,
        })?)
    }

    fn thresholds(&self) -> Result<Thresholds> {
        match self.thresholds.as_str() {
            "all" => Ok(Thresholds::All),
            "spaced" => Ok(Thresholds::Spaced),
            other => Err(BindingError::value(format!("unknown thresholds {other:?}"))),
        }
    }

    /// Early stopping, if rows are held out for validation. The patience is always checked.
    fn early_stopping(&self) -> Result<Option<EarlyStopping>> {
        let patience = count("patience", &self.patience, 1)?;
        let stopping = |validation_share| EarlyStopping {
            validation_share,
            patience,
        };
        Ok(self.validation_share.map(stopping))
    }
}

fn observer<'a>(
    interrupt: &'a Interrupt,
    on_round: &'a (dyn Fn(usize, Option<f64>) + Sync),
) -> Observer<'a> {
    Observer {
        interrupt,
        on_round,
    }
}

/// A fitted booster.
#[pyclass(frozen, module = "bucketrank._core")]
pub struct Booster {
    pub(crate) fitted: CoreBooster,
}

#[pymethods]
impl Booster {
    /// Boosts trees; after each round, `on_round` is called with the number of the round and its validation score.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        x: Matrix<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        options: BoosterSpec<'py>,
        on_round: Option<Py<PyAny>>,
    ) -> Result<Self> {
        let params = options.params()?;
        let (values, rankings) = (x.as_array(), y.read(py, &weights)?);
        let fitted = run_with_callbacks(py, |interrupt, raised| {
            let report = |round, score| raised.report(interrupt, on_round.as_ref(), (round, score));
            let observer = observer(interrupt, &report);
            CoreBooster::fit(values, &rankings, &params, &observer)
        })?;
        Ok(Self { fitted })
    }

    /// Utilities and tie terms of each row after each of several ascending numbers of rounds.
    fn staged_scores<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        rounds: Vec<usize>,
        n_jobs: usize,
    ) -> Result<Vec<Bound<'py, PyArray2<f64>>>> {
        let values = x.as_array();
        let stages = run_jobs(py, n_jobs, |jobs| {
            self.fitted.staged_scores(values, &rounds, jobs)
        })?;
        let to_array = |scores: Array2<f32>| scores.mapv(f64::from).into_pyarray(py);
        Ok(stages.into_iter().map(to_array).collect())
    }

    /// Per label, whether the training rankings compare it with another label.
    fn compared_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.fitted.compared_labels().to_vec().into_pyarray(py)
    }

    /// Share of each feature in the gain of all splits.
    fn feature_importances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.fitted.feature_importances().into_pyarray(py)
    }

    /// Mean log-likelihood per validation pair after each round.
    fn validation_scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.fitted.validation_scores().to_vec().into_pyarray(py)
    }

    /// Numbers of features and labels.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.fitted.features(), self.fitted.labels())
    }

    /// Number of rounds.
    #[getter]
    fn rounds(&self) -> usize {
        self.fitted.rounds()
    }

    /// The booster as bytes, with a format version and a checksum.
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
