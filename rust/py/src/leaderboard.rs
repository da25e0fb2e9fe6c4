//! Bindings of `bucketrank_core::leaderboard`.

use bucketrank_core::aggregate::{Aggregator, Scorer};
use bucketrank_core::comparisons::{Effects, UnitKind};
use bucketrank_core::leaderboard::{
    self as core, rank_by_score, tiers, BoardData, BoardMethod, CriticalValue, RankInterval,
    ResampleOptions, ScoreSample, Separation,
};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{whole_numbers, Matrix};
use crate::border::board_data::BoardInput;
use crate::border::errors::Result;
use crate::border::run::{run, run_with_callbacks};

/// Options of resampling.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SamplingOptions {
    order_effect: bool,
    by_group: bool,
    resamples: usize,
    seed: u64,
    n_jobs: usize,
}

/// Scores of the data and of resamples; `progress` is called with the number of finished resamples.
#[pyfunction]
pub fn resample_scores<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    data: BoardInput<'py>,
    options: SamplingOptions,
    progress: Option<Py<PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let method = match spec.aggregator()? {
        Aggregator::Davidson(davidson) => BoardMethod::Davidson(davidson),
        other => BoardMethod::Scorer(Scorer::try_from(other)?),
    };
    let views = data.views()?;
    let sample = run_with_callbacks(py, |interrupt, raised| {
        let read = views.read(options.effects(method), options.unit(), interrupt)?;
        let data = match &read.rankings {
            Some(rankings) => BoardData::Rankings(rankings, &read.sample),
            None => BoardData::Comparisons(&read.sample),
        };
        let mut report = |finished: usize| {
            if let Some(progress) = &progress {
                raised.call(interrupt, progress, (finished,));
            }
        };
        let sampling = ResampleOptions {
            resamples: options.resamples,
            seed: options.seed,
            n_jobs: options.n_jobs,
            interrupt,
        };
        core::resample_scores(data, method, sampling, &mut report)
    })?;
    Ok(sample_to_dict(py, sample)?)
}

impl SamplingOptions {
    /// Only Davidson's model knows effects.
    fn effects(&self, method: BoardMethod) -> Effects {
        let has_effects = matches!(method, BoardMethod::Davidson(_));
        Effects {
            order: has_effects && self.order_effect,
            covariates: has_effects,
        }
    }

    fn unit(&self) -> UnitKind {
        if self.by_group {
            UnitKind::Group
        } else {
            UnitKind::Row
        }
    }
}

fn sample_to_dict(py: Python<'_>, sample: ScoreSample) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("scores", sample.scores.into_pyarray(py))?;
    result.set_item("resampled", sample.resampled.into_pyarray(py))?;
    result.set_item("tolerance", sample.tolerance)?;
    Ok(result)
}

/// Options of the comparison of all labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SeparationOptions {
    simultaneous: bool,
    /// The confidence of simultaneous comparisons, or the critical value of single ones.
    level: f64,
    tolerance: f64,
}

/// Who is ahead of whom, ranks, rank intervals and tiers.
#[pyfunction]
pub fn separate_labels<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    resampled: Matrix<'py>,
    components: Vec<usize>,
    options: SeparationOptions,
) -> Result<Bound<'py, PyDict>> {
    let scores: Vec<f64> = scores.as_array().to_vec();
    let view = resampled.as_array();
    let critical = if options.simultaneous {
        CriticalValue::Simultaneous(options.level)
    } else {
        CriticalValue::Fixed(options.level)
    };
    let found = run(py, |interrupt| {
        let tolerance = options.tolerance;
        Separation::new(&scores, view, &components, critical, tolerance, interrupt)
    })?;
    let result = PyDict::new(py);
    let ahead = found.ahead.view();
    let intervals = RankInterval::of_all(ahead, &components);
    let ranks = rank_by_score(&scores, &components, options.tolerance);
    result.set_item("rank", whole_numbers(py, ranks))?;
    result.set_item(
        "rank_low",
        whole_numbers(py, intervals.iter().map(|i| i.low)),
    )?;
    result.set_item(
        "rank_high",
        whole_numbers(py, intervals.iter().map(|i| i.high)),
    )?;
    result.set_item(
        "tier",
        whole_numbers(py, tiers(&scores, ahead, &components)),
    )?;
    result.set_item("critical", found.critical)?;
    result.set_item("ahead", found.ahead.into_pyarray(py))?;
    result.set_item("probability", found.probability.into_pyarray(py))?;
    Ok(result)
}
