//! Cross-validation of many aggregators (methods that find the consensus of rankings) on the same trees.
//!
//! A tree grown with [`Criterion::Entropy`] does not depend on the aggregator, so each split of the data grows one
//! tree, and every aggregator is applied to its leaves. The splits of all problems (datasets) are jobs of one queue,
//! the most expensive first. The result of a job depends on its problem and split only.

mod evaluate;
mod folds;

pub use evaluate::{Evaluation, Job, Outcome, Problem};
pub use folds::{fold_of_rows, Split};

use crate::error::Result;
use crate::run::{self, Interrupt, Jobs, Work};
use crate::tree::Criterion;

/// The error of a failed job.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// Index of the job.
    pub job: usize,
    /// The error.
    pub error: crate::error::Error,
}

/// Runs all jobs on `n_jobs` threads (0: all cores). Passes each result, with the index of its job, to `finished` on
/// the calling thread as soon as it is available. `interrupt` ends the work early.
///
/// # Errors
/// `Ok(Err(…))` is the first error of a job; the results of jobs that were finished or running at that time have been
/// passed on. `Err(…)` is an error of [`run::stream`].
pub fn cross_validate(
    jobs: &[Job<'_>],
    n_jobs: usize,
    interrupt: &Interrupt,
    finished: &mut dyn FnMut(usize, Evaluation),
) -> Result<std::result::Result<(), FailedJob>> {
    // Most expensive first: an expensive job that starts last would leave the other threads idle.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(jobs[job].cost()));
    let total = jobs.iter().map(Job::cost).fold(0, usize::saturating_add);
    let work = Work::new(jobs.len(), total / jobs.len().max(1));
    let mut failed = None;
    run::stream(
        Jobs { n_jobs, interrupt },
        work,
        || (),
        |(), item| jobs[order[item]].evaluate(interrupt),
        |item, result| match result {
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

impl Job<'_> {
    /// Estimated nanoseconds of the job.
    fn cost(&self) -> usize {
        let per_tree = self.problem.cost();
        // Criteria other than entropy aggregate the rows of every candidate split of a node.
        if self.tree.options().criterion == Criterion::Entropy {
            per_tree
        } else {
            per_tree.saturating_mul(self.problem.rows())
        }
    }
}
