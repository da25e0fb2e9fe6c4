//! Aggregation of many sets of rankings at once, in parallel.

use super::{Aggregator, Evidence, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::{PairOrderMatrix, PairShares};
use crate::parallel::{run, Jobs};
use crate::rankings::Rankings;

/// Elementary steps that are worth a thread's attention: about a millisecond.
pub(super) const CHUNK_STEPS: usize = 1 << 21;

/// The consensus of each set of rankings, on `n_jobs` threads (0: as many as there are). The result does not
/// depend on `n_jobs`. `should_stop` is asked now and then on the calling thread.
///
/// # Errors
/// As [`Aggregator::aggregate`], for the first set that has an error; [`crate::error::Error::TooManyLabels`];
/// [`crate::error::Error::Interrupted`].
pub fn aggregate_many(
    aggregator: &Aggregator,
    sets: &[Rankings],
    n_jobs: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<BucketOrder>> {
    let steps = sets
        .iter()
        .map(|set| steps(aggregator, set.labels()) + set.len() * set.labels().pow(2) / 8)
        .max();
    let jobs = Jobs {
        n_jobs,
        chunk: CHUNK_STEPS / steps.unwrap_or(1).max(1),
        should_stop,
    };
    run(jobs, sets.len(), Workspace::default, |workspace, item| {
        let evidence = Evidence::from_rankings(&sets[item], aggregator.needs())?;
        aggregator.aggregate(&evidence, workspace)
    })
}

/// The consensus of each pair order matrix; otherwise as [`aggregate_many`].
///
/// # Errors
/// As [`aggregate_many`].
pub fn aggregate_pair_orders(
    aggregator: &Aggregator,
    matrices: &[PairOrderMatrix],
    n_jobs: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<BucketOrder>> {
    let labels = matrices.iter().map(PairOrderMatrix::labels).max();
    let jobs = Jobs {
        n_jobs,
        chunk: CHUNK_STEPS / steps(aggregator, labels.unwrap_or(1)).max(1),
        should_stop,
    };
    run(
        jobs,
        matrices.len(),
        Workspace::default,
        |workspace, item| {
            let evidence = Evidence::from_pair_order(matrices[item].clone());
            aggregator.aggregate(&evidence, workspace)
        },
    )
}

/// The consensus of each set of pair shares; otherwise as [`aggregate_many`].
///
/// # Errors
/// As [`aggregate_many`].
pub fn aggregate_pair_shares(
    aggregator: &Aggregator,
    sets: &[PairShares],
    n_jobs: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<BucketOrder>> {
    let labels = sets.iter().map(PairShares::labels).max();
    let jobs = Jobs {
        n_jobs,
        chunk: CHUNK_STEPS / steps(aggregator, labels.unwrap_or(1)).max(1),
        should_stop,
    };
    run(jobs, sets.len(), Workspace::default, |workspace, item| {
        let evidence = Evidence::from_pair_shares(sets[item].clone());
        aggregator.aggregate(&evidence, workspace)
    })
}

/// A rough number of elementary steps for one consensus.
pub(super) fn steps(aggregator: &Aggregator, labels: usize) -> usize {
    match aggregator {
        Aggregator::MarkovChain(_) | Aggregator::MaximalLottery(_) => labels.pow(3),
        Aggregator::TauX(method) => method.steps(labels),
        // A dozen factorisations of a matrix of twice the labels.
        Aggregator::Davidson(_) => 100 * labels.pow(3),
        _ => 4 * labels.pow(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Borda, MarkovChain};
    use crate::error::Error;

    #[test]
    fn errors_and_requests_to_stop_arrive() {
        let matrices = vec![PairOrderMatrix::undecided(3); 5];
        let borda = Aggregator::Borda(Borda::default());
        let orders = aggregate_pair_orders(&borda, &matrices, 2, &|| false).unwrap();
        assert_eq!(orders, vec![BucketOrder::all_tied(3); 5]);
        let stopped = aggregate_pair_orders(&borda, &matrices, 1, &|| true);
        assert_eq!(stopped, Err(Error::Interrupted));
        let chain = Aggregator::MarkovChain(MarkovChain::new(1).unwrap());
        let error = aggregate_pair_orders(&chain, &matrices, 1, &|| false).unwrap_err();
        assert!(matches!(error, Error::TooLittleKnown { .. }));
    }
}
