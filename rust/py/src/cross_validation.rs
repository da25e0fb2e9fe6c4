//! Bindings of `bucketrank_core::cross_validation`.

use bucketrank_core::aggregate::Aggregator;
use bucketrank_core::cross_validation::{self as core, Evaluation, Job, Split};
use bucketrank_core::tree::TreeParams;
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{whole_numbers, Matrix, MaybeWeights, Positions};
use crate::border::errors::Result;
use crate::border::run::run_with_callbacks;
use crate::tree::Options;

/// Data to cross-validate on, checked once.
#[pyclass(frozen, module = "bucketrank._core")]
pub struct Problem(core::Problem);

#[pymethods]
impl Problem {
    #[new]
    fn new<'py>(
        py: Python<'py>,
        x: Matrix<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        seed: u64,
    ) -> Result<Self> {
        let rankings = y.weighted(py, &weights)?;
        let values = x.as_array();
        let problem = py.detach(|| core::Problem::new(values, rankings, seed))?;
        Ok(Self(problem))
    }
}

/// The fold of each row in one repeat.
#[pyfunction]
pub fn fold_of_rows(
    py: Python<'_>,
    rows: usize,
    n_folds: u32,
    seed: u64,
    repeat: u32,
) -> Result<Bound<'_, PyArray1<i64>>> {
    let folds = core::fold_of_rows(rows, n_folds, seed, repeat)?;
    Ok(whole_numbers(py, folds))
}

/// The seeds of a split: of the labels that are dropped, and of what a learner draws.
#[pyfunction]
pub fn split_seeds(seed: u64, missing: f64, repeat: u32, fold: u32) -> (u64, u64) {
    let split = Split {
        missing,
        repeat,
        fold,
    };
    (split.missing_seed(seed), split.learner_seed(seed))
}

/// A job as the Python layer names it; the first and the last two are indices of problem, tree and aggregators.
type Task = (usize, f64, u32, u32, usize, usize);

/// Trees to grow and aggregators to ask, which tasks refer to by index.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Methods {
    trees: Vec<Options>,
    tree_aggregator: AggregatorSpec,
    aggregators: Vec<Vec<AggregatorSpec>>,
}

/// Does all tasks and hands their results to `finished` as they come. Returns the task that failed with its message.
#[pyfunction]
pub fn cross_validate<'py>(
    py: Python<'py>,
    problems: Vec<Bound<'py, Problem>>,
    tasks: Vec<Task>,
    methods: Methods,
    n_folds: u32,
    n_jobs: usize,
    finished: Bound<'py, PyAny>,
) -> Result<Option<(usize, String)>> {
    let trees: Vec<TreeParams> = methods
        .trees
        .into_iter()
        .map(Options::params)
        .collect::<Result<_>>()?;
    let tree_aggregator = methods.tree_aggregator.aggregator()?;
    let aggregators: Vec<Vec<Aggregator>> = methods
        .aggregators
        .iter()
        .map(|specs| specs.iter().map(AggregatorSpec::aggregator).collect())
        .collect::<Result<_>>()?;
    let problems: Vec<&Problem> = problems.iter().map(Bound::get).collect();
    let jobs: Vec<Job<'_>> = tasks
        .iter()
        .map(|&(problem, missing, repeat, fold, tree, methods)| {
            Some(Job {
                problem: &problems.get(problem)?.0,
                split: Split {
                    missing,
                    repeat,
                    fold,
                },
                n_folds,
                tree: trees.get(tree)?,
                tree_aggregator: &tree_aggregator,
                aggregators: aggregators.get(methods)?,
            })
        })
        .collect::<Option<_>>()
        .ok_or_else(|| PyIndexError::new_err("a task refers to what is not there"))?;
    let finished = finished.unbind();
    let done = run_with_callbacks(py, |interrupt, raised| {
        let mut hand_over = |job: usize, evaluation: Evaluation| {
            Python::attach(|py| {
                if let Err(error) = finished.call1(py, (job, to_tuple(&evaluation))) {
                    raised.keep(error);
                    interrupt.request();
                }
            });
        };
        core::cross_validate(&jobs, n_jobs, interrupt, &mut hand_over)
    })?;
    let failed = done.err();
    Ok(failed.map(|failed| (failed.job, failed.error.to_string())))
}

/// Leaves, depth, seconds for the tree, true buckets; and for each aggregator τ_X, buckets, seconds.
type Row = (usize, usize, f64, f64, Vec<(f64, f64, f64)>);

fn to_tuple(evaluation: &Evaluation) -> Row {
    let outcomes = evaluation.outcomes.iter();
    let outcomes = outcomes.map(|outcome| {
        let seconds = outcome.consensus_time.as_secs_f64();
        (outcome.tau_x, outcome.predicted_buckets, seconds)
    });
    (
        evaluation.leaves,
        evaluation.depth,
        evaluation.tree_time.as_secs_f64(),
        evaluation.true_buckets,
        outcomes.collect(),
    )
}
