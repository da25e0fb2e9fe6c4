//! Cross-validation of many aggregators on the same trees.
//!
//! An entropy tree does not depend on the aggregator. So each split of the data grows one tree, and every aggregator
//! is asked for its leaves. All splits of all problems are jobs of one queue, the largest first; what a job
//! computes depends on its problem and split alone.

mod evaluate;
mod folds;

pub use evaluate::{Evaluation, Job, Outcome, Problem};
pub use folds::{fold_of_rows, Split};

use crate::error::Result;
use crate::parallel::{stream, Jobs};
use crate::run::Interrupt;
use crate::tree::Criterion;

/// All jobs together of no more steps end before a thread has started.
const SHORT: usize = 1 << 21;

/// An error, and the job in which it arose.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// Index of the job.
    pub job: usize,
    /// What went wrong.
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
    // A large job that starts last would keep one thread busy while the others have nothing left to do.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(jobs[job].steps()));
    let steps = jobs.iter().map(Job::steps);
    if steps.fold(0, usize::saturating_add) <= SHORT {
        return in_turn(jobs, &order, interrupt, finished);
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

/// Does short jobs on the calling thread.
fn in_turn(
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
    /// A rough measure of the work.
    fn steps(&self) -> usize {
        let per_tree = self.problem.steps();
        // Other criteria aggregate at every candidate.
        if self.tree.options().criterion == Criterion::Entropy {
            per_tree
        } else {
            per_tree.saturating_mul(self.problem.rows())
        }
    }
}
