//! Bindings of `bucketrank_core::cross_validation`.

use bucketrank_core::aggregate::Aggregator;
use bucketrank_core::cross_validation::{self as core, Evaluation, FailedJob, Job, Split};
use bucketrank_core::tree::TreeParams;
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{whole_numbers, Matrix, MaybeWeights, Positions};
use crate::border::errors::Result;
use crate::border::run::{run, run_with_callbacks};
use crate::tree::TreeSpec;

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
        let rankings = y.read(py, &weights)?;
        let values = x.as_array();
        let problem = run(py, |_| core::Problem::new(values, rankings, seed))?;
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

/// The seeds of a split: for dropping labels, and for the random draws of a learner.
#[pyfunction]
pub fn split_seeds(seed: u64, missing: f64, repeat: u32, fold: u32) -> (u64, u64) {
    let split = Split {
        missing,
        repeat,
        fold,
    };
    (split.missing_seed(seed), split.learner_seed(seed))
}

/// A job of the core as passed by the Python layer: index of the problem, share of labels to drop, repeat, fold, index
/// of the tree, and index of the list of aggregators.
type Task = (usize, f64, u32, u32, usize, usize);

/// Specifications of trees and aggregators; tasks refer to them by index.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MethodSpecs {
    trees: Vec<TreeSpec>,
    /// For the split criteria that compare rows with the consensus of their node; one for all trees.
    tree_aggregator: AggregatorSpec,
    /// Lists of aggregators that are applied to the leaves.
    aggregators: Vec<Vec<AggregatorSpec>>,
}

impl MethodSpecs {
    fn methods(self) -> Result<Methods> {
        let trees = self.trees.into_iter().map(TreeSpec::params);
        let parsed = |specs: &Vec<AggregatorSpec>| -> Result<Vec<Aggregator>> {
            specs.iter().map(AggregatorSpec::aggregator).collect()
        };
        Ok(Methods {
            trees: trees.collect::<Result<_>>()?,
            tree_aggregator: self.tree_aggregator.aggregator()?,
            aggregators: self.aggregators.iter().map(parsed).collect::<Result<_>>()?,
        })
    }
}

/// Trees and aggregators to evaluate.
struct Methods {
    trees: Vec<TreeParams>,
    tree_aggregator: Aggregator,
    aggregators: Vec<Vec<Aggregator>>,
}

impl Methods {
    /// The jobs of all tasks.
    fn jobs<'a>(
        &'a self,
        problems: &'a [Bound<'_, Problem>],
        n_folds: u32,
        tasks: &[Task],
    ) -> Result<Vec<Job<'a>>> {
        let problems: Vec<&Problem> = problems.iter().map(Bound::get).collect();
        let jobs = tasks.iter().map(|task| self.job(&problems, n_folds, task));
        let jobs: Option<Vec<Job<'_>>> = jobs.collect();
        Ok(jobs.ok_or_else(|| PyIndexError::new_err("an index of a task is out of range"))?)
    }

    /// The job of a task; `None` for an index out of range.
    fn job<'a>(&'a self, problems: &[&'a Problem], n_folds: u32, task: &Task) -> Option<Job<'a>> {
        let &(problem, missing, repeat, fold, tree, aggregators) = task;
        Some(Job {
            problem: &problems.get(problem)?.0,
            split: Split {
                missing,
                repeat,
                fold,
            },
            n_folds,
            tree: self.trees.get(tree)?,
            tree_aggregator: &self.tree_aggregator,
            aggregators: self.aggregators.get(aggregators)?,
        })
    }
}

/// Runs all tasks and passes each result to `finished` as it completes. If a task fails, returns its index and the
/// error message.
#[pyfunction]
pub fn cross_validate<'py>(
    py: Python<'py>,
    problems: Vec<Bound<'py, Problem>>,
    tasks: Vec<Task>,
    methods: MethodSpecs,
    n_folds: u32,
    n_jobs: usize,
    finished: Py<PyAny>,
) -> Result<Option<(usize, String)>> {
    let methods = methods.methods()?;
    let jobs = methods.jobs(&problems, n_folds, &tasks)?;
    let done = run_with_callbacks(py, |interrupt, raised| {
        let mut report = |job, found| raised.call(interrupt, &finished, (job, to_tuple(&found)));
        core::cross_validate(&jobs, n_jobs, interrupt, &mut report)
    })?;
    let failure = |failed: FailedJob| (failed.job, failed.error.to_string());
    Ok(done.err().map(failure))
}

/// Number of leaves, depth, seconds to grow the tree, mean number of buckets of the held-out rankings; for each
/// aggregator the rank correlation τ_X, the mean number of predicted buckets, and seconds.
type EvaluationTuple = (usize, usize, f64, f64, Vec<(f64, f64, f64)>);

fn to_tuple(evaluation: &Evaluation) -> EvaluationTuple {
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
