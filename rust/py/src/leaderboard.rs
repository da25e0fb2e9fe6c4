//! Bindings of `bucketrank_core::leaderboard`: resampled scores of labels, and which labels they separate.

use bucketrank_core::aggregate::{Aggregator, Scorer};
use bucketrank_core::comparisons::{Effects, UnitKind};
use bucketrank_core::leaderboard::{
    self as core, rank_by_score, tiers, BoardMethod, CriticalValue, RankInterval, ResampleOptions,
    ScoreSample, Separation,
};
use bucketrank_core::run::Interrupt;
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{whole_numbers, Matrix};
use crate::border::board_data::{unit_kind, BoardInput};
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
    let (method, views) = (board_method(spec.aggregator()?)?, data.views()?);
    let sample = run_with_callbacks(py, |interrupt, raised| {
        let read = views.read(options.effects(method), options.unit(), interrupt)?;
        let mut report = |finished: usize| raised.report(interrupt, progress.as_ref(), (finished,));
        let options = options.sampling(interrupt);
        core::resample_scores(read.board_data(), method, options, &mut report)
    })?;
    Ok(sample_to_dict(py, sample)?)
}

/// The method of a leaderboard; an error names an aggregator without scores.
fn board_method(aggregator: Aggregator) -> Result<BoardMethod> {
    Ok(match aggregator {
        Aggregator::Davidson(davidson) => BoardMethod::Davidson(davidson),
        other => BoardMethod::Scorer(Scorer::try_from(other)?),
    })
}

impl SamplingOptions {
    fn sampling<'a>(&self, interrupt: &'a Interrupt) -> ResampleOptions<'a> {
        ResampleOptions {
            resamples: self.resamples,
            seed: self.seed,
            n_jobs: self.n_jobs,
            interrupt,
        }
    }

    /// Only Davidson's model has effects.
    fn effects(&self, method: BoardMethod) -> Effects {
        let has_effects = matches!(method, BoardMethod::Davidson(_));
        Effects {
            order: has_effects && self.order_effect,
            covariates: has_effects,
        }
    }

    fn unit(&self) -> UnitKind {
        unit_kind(self.by_group)
    }
}

fn sample_to_dict(py: Python<'_>, sample: ScoreSample) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("scores", sample.scores.into_pyarray(py))?;
    result.set_item("resampled", sample.resampled.into_pyarray(py))?;
    result.set_item("tolerance", sample.tolerance)?;
    Ok(result)
}

/// Options of the tests which labels differ.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SeparationOptions {
    simultaneous: bool,
    /// If `simultaneous`, the joint confidence of all comparisons; otherwise the critical value of each comparison.
    level: f64,
    tolerance: f64,
}

/// Which label is significantly ahead of which (`ahead`), with the ranks, rank intervals and tiers that follow.
#[pyfunction]
pub fn separate_labels<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    resampled: Matrix<'py>,
    components: Vec<usize>,
    options: SeparationOptions,
) -> Result<Bound<'py, PyDict>> {
    let scores: Vec<f64> = scores.as_array().to_vec();
    let (view, tolerance) = (resampled.as_array(), options.tolerance);
    let separation = run(py, |interrupt| {
        let critical = options.critical();
        Separation::new(&scores, view, &components, critical, tolerance, interrupt)
    })?;
    let columns = rank_columns(&scores, &components, tolerance, separation.ahead.view());
    Ok(separation_to_dict(py, separation, columns)?)
}

fn separation_to_dict<'py>(
    py: Python<'py>,
    separation: Separation,
    columns: [(&'static str, Vec<usize>); 4],
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, column) in columns {
        result.set_item(name, whole_numbers(py, column))?;
    }
    result.set_item("critical", separation.critical)?;
    result.set_item("ahead", separation.ahead.into_pyarray(py))?;
    result.set_item("probability", separation.probability.into_pyarray(py))?;
    Ok(result)
}

impl SeparationOptions {
    fn critical(&self) -> CriticalValue {
        if self.simultaneous {
            CriticalValue::Simultaneous(self.level)
        } else {
            CriticalValue::Fixed(self.level)
        }
    }
}

/// Ranks, and the rank intervals and tiers that follow from the matrix `ahead`.
fn rank_columns(
    scores: &[f64],
    components: &[usize],
    tolerance: f64,
    ahead: ArrayView2<'_, bool>,
) -> [(&'static str, Vec<usize>); 4] {
    let intervals = RankInterval::of_all(ahead, components);
    let (low, high) = intervals.iter().map(|i| (i.low, i.high)).unzip();
    [
        ("rank", rank_by_score(scores, components, tolerance)),
        ("rank_low", low),
        ("rank_high", high),
        ("tier", tiers(scores, ahead, components)),
    ]
}
