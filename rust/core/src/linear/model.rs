//! [`LinearModel`]: the fitted linear model. Its scores are, for each label, a utility, which orders the labels, and a
//! tie term, the tendency to be tied.

use ndarray::{Array2, ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::features::check_values;
use crate::latent::compared_labels;
use crate::pairs::PairCounts;
use crate::rankings::Rankings;
use crate::run::{self, require_memory, Interrupt, Jobs, WorkMeter};
use crate::simd::{dispatch, Kernel};

use super::curvature::Curvature;
use super::objective::{nanoseconds_per_row, Objective};
use super::params::LinearParams;
use super::quasi_newton::{minimise, Minimum, StartingPoint, StoppingCriterion};
use super::standardise::{CategoricalFeature, Standardiser};

/// Predicted scores (utilities and tie terms) are clipped to ± this.
const LARGEST_SCORE: f64 = 25.0;

/// Utilities and tie terms of the labels as linear functions of standardised features.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    pub(crate) scale: Standardiser,
    /// Row-major, one row per input and one column per score (n utilities, then n tie terms, for n labels). The inputs
    /// are the features, the indicators of missing values, the indicators of categories, and the intercept.
    pub(crate) coefficients: Vec<f64>,
    /// Per label: whether the training rankings compare it with another label.
    pub(crate) compared: Vec<bool>,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

/// Where the fit of a model starts: the result of a fit on similar data.
pub(crate) struct LinearStart {
    indicators: Vec<u32>,
    coefficients: Vec<f64>,
    curvature: Curvature,
}

impl LinearStart {
    /// The starting point of a fit with `len` coefficients; `None` if the inputs of the two fits differ.
    fn starting_point(self, scale: &Standardiser, len: usize) -> Option<StartingPoint> {
        let is_same = self.coefficients.len() == len && self.indicators == scale.indicators;
        is_same.then_some(StartingPoint {
            point: self.coefficients,
            curvature: Some(self.curvature),
        })
    }
}

impl LinearModel {
    /// Fits the model. A categorical feature has one input per category instead of its value. Rows of weight 0 are left
    /// out. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// No features, infinite features, different numbers of rows in `values` and `rankings`, categorical features that
    /// are not ascending indices or have too many categories, too many labels for counting pairs, [`Error::Memory`],
    /// [`Error::Interrupted`], or threads that cannot be started.
    pub fn fit(
        values: ArrayView2<'_, f64>,
        categorical: &[CategoricalFeature],
        rankings: &Rankings,
        params: &LinearParams,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let data = (values, categorical);
        Ok(Self::fit_from(data, rankings, params, None, interrupt)?.0)
    }

    /// As [`Self::fit`], started at the result of a fit on similar data, which takes fewer steps. Also
    /// returns the start for a further fit.
    pub(crate) fn fit_from(
        (values, categorical): (ArrayView2<'_, f64>, &[CategoricalFeature]),
        rankings: &Rankings,
        params: &LinearParams,
        start: Option<LinearStart>,
        interrupt: &Interrupt,
    ) -> Result<(Self, LinearStart)> {
        if values.ncols() == 0 {
            return Err(Error::NoFeatures);
        }
        if values.nrows() != rankings.len() {
            return Err(Error::RowCounts {
                features: values.nrows(),
                rankings: rankings.len(),
            });
        }
        check_values(values)?;
        CategoricalFeature::check(categorical, values.ncols())?;
        let weights = rankings.weights();
        let positive: Vec<usize> = (0..rankings.len())
            .filter(|&row| weights.get(row) > 0.0)
            .collect();
        if positive.len() == rankings.len() {
            return fit_positive_rows((values, categorical), rankings, params, start, interrupt);
        }
        let values = values.select(Axis(0), &positive);
        let rankings = rankings.select(&positive);
        let data = (values.view(), categorical);
        fit_positive_rows(data, &rankings, params, start, interrupt)
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.compared.len()
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.scale.features()
    }

    /// The features with an indicator of missing values, ascending: those with missing values in training.
    #[must_use]
    pub fn indicators(&self) -> &[u32] {
        &self.scale.indicators
    }

    /// The categorical features, ascending. Each has one input per category.
    #[must_use]
    pub fn categorical(&self) -> &[CategoricalFeature] {
        &self.scale.categorical
    }

    /// Number of inputs other than the intercept: features and indicators.
    pub(crate) fn inputs(&self) -> usize {
        self.scale.means.len()
    }

    /// Per label: whether the training rankings compare it with another label.
    #[must_use]
    pub fn compared_labels(&self) -> &[bool] {
        &self.compared
    }

    /// Number of steps of the fit.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether the fit reached its tolerance.
    #[must_use]
    pub fn has_converged(&self) -> bool {
        self.converged
    }

    /// Coefficients of the standardised features, then of the indicators of missing values and of categories, one row
    /// per score (n utilities, then n tie terms), and the intercept of each score.
    #[must_use]
    pub fn coefficients(&self) -> (Array2<f64>, Vec<f64>) {
        let outputs = 2 * self.labels();
        let shrink = 1.0 / (self.inputs() as f64).sqrt();
        let at = |(output, feature): (usize, usize)| {
            self.coefficients[feature * outputs + output] * shrink
        };
        let intercepts = self.coefficients[self.inputs() * outputs..].to_vec();
        (
            Array2::from_shape_fn((outputs, self.inputs()), at),
            intercepts,
        )
    }

    /// Mean and standard deviation of each feature, then of each indicator. A constant feature has deviation 0 and no
    /// influence. A categorical feature has mean and deviation 0: only its indicators have influence.
    #[must_use]
    pub fn scale(&self) -> (&[f64], &[f64]) {
        (&self.scale.means, &self.scale.deviations)
    }

    /// Scores of rows: n utilities, then n tie terms per row, clipped to −25 to 25.
    ///
    /// # Errors
    /// A number of features that differs from training, an infinite value, [`Error::Memory`], [`Error::Interrupted`].
    pub fn scores(
        &self,
        values: ArrayView2<'_, f64>,
        interrupt: &Interrupt,
    ) -> Result<Array2<f64>> {
        let mut scores = self.raw_scores(values, interrupt)?;
        scores.mapv_inplace(|score: f64| score.clamp(-LARGEST_SCORE, LARGEST_SCORE));
        Ok(scores)
    }

    /// As [`Self::scores`], without clipping.
    pub(crate) fn raw_scores(
        &self,
        values: ArrayView2<'_, f64>,
        interrupt: &Interrupt,
    ) -> Result<Array2<f64>> {
        if values.ncols() != self.features() {
            return Err(Error::FeatureCount {
                found: values.ncols(),
                expected: self.features(),
            });
        }
        check_values(values)?;
        let outputs = 2 * self.labels();
        require_memory::<f64>("the scores", &[values.nrows(), outputs + self.inputs() + 1])?;
        let inputs = self.scale.apply(values);
        let mut scores = Array2::zeros((values.nrows(), outputs));
        let mut meter = WorkMeter::new(interrupt);
        let rows = inputs.rows().into_iter().zip(scores.rows_mut());
        for (inputs, scores) in rows {
            meter.add(self.coefficients.len() as u64)?;
            dispatch(AddInputsKernel {
                inputs: inputs.to_slice().unwrap_or_default(),
                coefficients: &self.coefficients,
                scores: scores.into_slice().unwrap_or_default(),
            });
        }
        Ok(scores)
    }
}

/// Adds the inputs of a row, times their coefficients, to its scores.
struct AddInputsKernel<'a> {
    inputs: &'a [f64],
    /// One row per input, one column per score.
    coefficients: &'a [f64],
    scores: &'a mut [f64],
}

impl Kernel for AddInputsKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let coefficients = self.coefficients.chunks_exact(self.scores.len());
        for (input, coefficients) in self.inputs.iter().zip(coefficients) {
            for (score, coefficient) in self.scores.iter_mut().zip(coefficients) {
                *score += input * coefficient;
            }
        }
    }
}

/// Usual number of steps of a fit; used only to choose the number of threads.
const EXPECTED_STEPS: usize = 16;

/// Refuses a fit whose inputs, label relations (how many labels are after, before and tied with each label),
/// coefficients or derivatives cannot be allocated. `inputs` is the number of inputs other than the intercept.
fn check_memory((rows, inputs): (usize, usize), labels: usize) -> Result<()> {
    let outputs = 2 * labels;
    require_memory::<f64>("the standardised features", &[rows, inputs + 1])?;
    require_memory::<f64>("the relations of the labels", &[rows, outputs])?;
    // `Objective` adds up parts of the rows, with one gradient each; the minimiser holds up to 32 more vectors.
    let parts = rows.div_ceil(64).min(256);
    require_memory::<f64>("the derivatives", &[inputs + 1, outputs, parts + 32])?;
    Ok(())
}

/// Fits the model to rows that all have a positive weight.
fn fit_positive_rows(
    (values, categorical): (ArrayView2<'_, f64>, &[CategoricalFeature]),
    rankings: &Rankings,
    params: &LinearParams,
    start: Option<LinearStart>,
    interrupt: &Interrupt,
) -> Result<(LinearModel, LinearStart)> {
    let options = params.options();
    let scale = Standardiser::new(values, categorical, rankings.weights());
    check_memory((values.nrows(), scale.means.len()), rankings.labels())?;
    let compared = compared_labels(&PairCounts::from_rankings(rankings, interrupt)?);
    let inputs = scale.apply(values);
    let goal = StoppingCriterion {
        gradient: options.tolerance * rankings.weights().total(),
        max_steps: options.max_steps,
    };
    let jobs = Jobs {
        n_jobs: options.n_jobs,
        interrupt,
    };
    let per_row = nanoseconds_per_row(inputs.ncols(), rankings.labels());
    let nanoseconds = rankings.len() * per_row * EXPECTED_STEPS;
    let Minimum {
        point,
        curvature,
        steps,
        gradient,
    } = run::scope(jobs, nanoseconds as u64, |pool| {
        let objective = Objective::new(&inputs, rankings, options, (pool, interrupt));
        let start = start.and_then(|start| start.starting_point(&scale, objective.len()));
        match start.map(|start| minimise(start, goal, &objective, interrupt)) {
            // No starting point, or the objective is not defined there.
            None | Some(Err(Error::Unsolved { .. })) => {
                let start = StartingPoint::at(vec![0.0; objective.len()]);
                minimise(start, goal, &objective, interrupt)
            }
            Some(found) => found,
        }
    })?;
    let start = LinearStart {
        indicators: scale.indicators.clone(),
        coefficients: point.clone(),
        curvature,
    };
    let model = LinearModel {
        scale,
        coefficients: point,
        compared,
        steps,
        converged: gradient <= goal.gradient,
    };
    Ok((model, start))
}
