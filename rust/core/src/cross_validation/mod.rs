//! Cross-validation of many aggregators on the same trees.
//!
//! An entropy tree does not depend on the aggregator, so each split of the data grows one tree, and every aggregator is
//! applied to its leaves. The splits of all problems are jobs of one queue, the most expensive first. The result of a job
//! depends on its problem and split only.

mod evaluate;
mod folds;

pub use evaluate::{Evaluation, Job, Outcome, Problem};
pub use folds::{fold_of_rows, Split};

use crate::error::Result;
use crate::parallel::{stream, Jobs};
use crate::run::Interrupt;
use crate::tree::Criterion;

/// Jobs with a smaller total cost run on the calling thread, because they finish before another thread has started.
const MIN_PARALLEL_COST: usize = 1 << 21;

/// The error of a failed job.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// Index of the job.
    pub job: usize,
    /// The error.
    pub error: crate::error::Error,
}

/// Does all jobs on `n_jobs` threads (0: as many as there are) and hands each result, with the index of its job, to
/// `finished` on the calling thread as soon as it is there. `interrupt` ends the work early.
///
/// # Errors
/// The first error that was noticed; jobs that had been finished by then, or were running, have been handed over.
/// `Ok(Err(…))` names the job.
pub fn cross_validate(
    jobs: &[Job<'_>],
    n_jobs: usize,
    interrupt: &Interrupt,
    finished: &mut dyn FnMut(usize, Evaluation),
) -> Result<std::result::Result<(), FailedJob>> {
    // Most expensive first: an expensive job that starts last would leave the other threads idle.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(jobs[job].cost()));
    let cost = jobs.iter().map(Job::cost);
    if cost.fold(0, usize::saturating_add) <= MIN_PARALLEL_COST {
        return run_sequentially(jobs, &order, interrupt, finished);
    }
    let mut failed = None;
    let pool = Jobs {
        n_jobs,
        chunk: 1,
        interrupt,
    };
    stream(
        pool,
        order.len(),
        |item| jobs[order[item]].evaluate(interrupt),
        &mut |item, result| match result {
            Ok(evaluation) => {
                finished(order[item], evaluation);
                true
            }
            Err(error) => {
                failed.get_or_insert(FailedJob {
                    job: order[item],
                    error,
                });
                false
            }
        },
    )?;
    Ok(failed.map_or(Ok(()), Err))
}

/// Runs the jobs on the calling thread.
fn run_sequentially(
    jobs: &[Job<'_>],
    order: &[usize],
    interrupt: &Interrupt,
    finished: &mut dyn FnMut(usize, Evaluation),
) -> Result<std::result::Result<(), FailedJob>> {
    for &job in order {
        interrupt.check()?;
        match jobs[job].evaluate(interrupt) {
            Ok(evaluation) => finished(job, evaluation),
            Err(error) => return Ok(Err(FailedJob { job, error })),
        }
    }
    Ok(Ok(()))
}

impl Job<'_> {
    /// Estimated cost of the job.
    fn cost(&self) -> usize {
        let per_tree = self.problem.cost();
        // Criteria other than entropy aggregate the rows of every candidate split.
        if self.tree.options().criterion == Criterion::Entropy {
            per_tree
        } else {
            per_tree.saturating_mul(self.problem.rows())
        }
    }
}
