//! Aggregation of many sets of rankings at once, in parallel.

use std::borrow::Cow;

use super::{Aggregator, Evidence, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::pairs::{PairOrderMatrix, PairShares};
use crate::parallel::{run, Jobs};
use crate::rankings::Rankings;
use crate::run::Interrupt;

/// Elementary steps that are worth a thread's attention: about a millisecond.
pub(super) const CHUNK_STEPS: usize = 1 << 21;

/// How many sets of rankings are to be aggregated.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The method.
    pub aggregator: &'a Aggregator,
    /// Number of threads; 0 stands for as many as there are. The result does not depend on it.
    pub n_jobs: usize,
    /// Checked within each consensus, on every thread.
    pub interrupt: &'a Interrupt,
}

/// The consensus of each of so many sets of rankings. A set is read where and when it is aggregated; `steps` is the
/// largest number of elementary [`steps`] for one of them.
///
/// # Errors
/// [`Error::InSet`] with the error of the first set that has one, be it from `read` or from
/// [`Aggregator::aggregate`]; [`Error::Interrupted`].
pub fn aggregate_each<'a>(
    batch: Batch<'_>,
    sets: usize,
    steps: usize,
    read: impl Fn(usize) -> Result<Cow<'a, Rankings>> + Sync,
) -> Result<Vec<BucketOrder>> {
    let Batch {
        aggregator,
        interrupt,
        ..
    } = batch;
    let consensus = |workspace: &mut Workspace, set| {
        let rankings = read(set)?;
        let evidence = Evidence::for_method(&rankings, aggregator, interrupt)?;
        aggregator.aggregate(&evidence, workspace)
    };
    let jobs = Jobs {
        n_jobs: batch.n_jobs,
        chunk: CHUNK_STEPS / steps.max(1),
        interrupt,
    };
    run(
        jobs,
        sets,
        || Workspace::with_interrupt(interrupt),
        |workspace, set| consensus(workspace, set).map_err(|error| in_set(set, error)),
    )
}

fn in_set(set: usize, error: Error) -> Error {
    match error {
        Error::Interrupted => Error::Interrupted,
        error => Error::InSet {
            set,
            error: Box::new(error),
        },
    }
}

/// The consensus of each set of rankings, on `n_jobs` threads (0: as many as there are). The result does not
/// depend on `n_jobs`. `interrupt` ends it early.
///
/// # Errors
/// As [`aggregate_each`].
pub fn aggregate_many(
    aggregator: &Aggregator,
    sets: &[Rankings],
    n_jobs: usize,
    interrupt: &Interrupt,
) -> Result<Vec<BucketOrder>> {
    let batch = Batch {
        aggregator,
        n_jobs,
        interrupt,
    };
    let steps = sets
        .iter()
        .map(|set| steps(aggregator, set.len(), set.labels()));
    aggregate_each(batch, sets.len(), steps.max().unwrap_or(1), |set| {
        Ok(Cow::Borrowed(&sets[set]))
    })
}

/// The consensus of each pair order matrix.
///
/// # Errors
/// As [`Aggregator::aggregate`], for the first matrix that has an error; [`Error::Interrupted`].
pub fn aggregate_pair_orders(
    batch: Batch<'_>,
    matrices: &[PairOrderMatrix],
) -> Result<Vec<BucketOrder>> {
    let labels = matrices.iter().map(PairOrderMatrix::labels).max();
    aggregate_statistics(batch, matrices, labels, Evidence::from_pair_order)
}

/// The consensus of each set of pair shares; otherwise as [`aggregate_pair_orders`].
///
/// # Errors
/// As [`aggregate_pair_orders`].
pub fn aggregate_pair_shares(batch: Batch<'_>, sets: &[PairShares]) -> Result<Vec<BucketOrder>> {
    let labels = sets.iter().map(PairShares::labels).max();
    aggregate_statistics(batch, sets, labels, Evidence::from_pair_shares)
}

fn aggregate_statistics<T: Clone + Sync>(
    batch: Batch<'_>,
    statistics: &[T],
    labels: Option<usize>,
    evidence: impl Fn(T) -> Evidence + Sync,
) -> Result<Vec<BucketOrder>> {
    let steps = steps(batch.aggregator, 0, labels.unwrap_or(1));
    let jobs = Jobs {
        n_jobs: batch.n_jobs,
        chunk: CHUNK_STEPS / steps.max(1),
        interrupt: batch.interrupt,
    };
    run(
        jobs,
        statistics.len(),
        || Workspace::with_interrupt(batch.interrupt),
        |workspace, item| {
            let evidence = evidence(statistics[item].clone());
            batch.aggregator.aggregate(&evidence, workspace)
        },
    )
}

/// A rough number of elementary steps for the consensus of so many rankings.
#[must_use]
pub fn steps(aggregator: &Aggregator, rows: usize, labels: usize) -> usize {
    let pairs = labels.saturating_mul(labels);
    let method = match aggregator {
        Aggregator::MarkovChain(_) | Aggregator::MaximalLottery(_) => pairs.saturating_mul(labels),
        Aggregator::TauX(method) => method.steps(labels),
        // A dozen factorisations of a matrix of twice the labels.
        Aggregator::Davidson(_) => pairs.saturating_mul(labels).saturating_mul(100),
        _ => pairs.saturating_mul(4),
    };
    method.saturating_add(rows.saturating_mul(pairs) / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Borda, MarkovChain, MaximalLottery};
    use ndarray::{array, Array2};

    fn batch<'a>(aggregator: &'a Aggregator, interrupt: &'a Interrupt) -> Batch<'a> {
        Batch {
            aggregator,
            n_jobs: 2,
            interrupt,
        }
    }

    #[test]
    fn errors_and_requests_to_stop_arrive() {
        let matrices = vec![PairOrderMatrix::undecided(3); 5];
        let (never, requested) = (Interrupt::never(), Interrupt::new());
        requested.request();
        let borda = Aggregator::Borda(Borda::default());
        let orders = aggregate_pair_orders(batch(&borda, &never), &matrices).unwrap();
        assert_eq!(orders, vec![BucketOrder::all_tied(3); 5]);
        let stopped = aggregate_pair_orders(batch(&borda, &requested), &matrices);
        assert_eq!(stopped, Err(Error::Interrupted));
        let chain = Aggregator::MarkovChain(MarkovChain::new(1).unwrap());
        let error = aggregate_pair_orders(batch(&chain, &never), &matrices).unwrap_err();
        assert!(matches!(error, Error::TooLittleKnown { .. }));
    }

    #[test]
    fn the_first_set_that_cannot_be_read_is_named() {
        let borda = Aggregator::Borda(Borda::default());
        let good = array![[1, 2, 3_i64]];
        let orders = aggregate_each(batch(&borda, &Interrupt::never()), 9, 1 << 21, |set| {
            let y = if set % 4 == 2 {
                good.mapv(|p| p - 1)
            } else {
                good.clone()
            };
            Rankings::new(y.view(), None).map(Cow::Owned)
        });
        let Err(Error::InSet { set: 2, error }) = orders else {
            panic!("{orders:?}")
        };
        assert!(matches!(
            *error,
            Error::Position {
                row: 0,
                label: 0,
                ..
            }
        ));
    }

    #[test]
    fn a_request_to_stop_is_heard_within_a_consensus() {
        let interrupt = Interrupt::new();
        interrupt.request();
        // No Condorcet winner, so that the lottery needs pivots.
        let y = array![[1, 2, 3_i64], [2, 3, 1], [3, 1, 2]];
        let heavy = Rankings::new(y.view(), Some(&[1.0, 1.5, 2.0])).unwrap();
        let many = Rankings::new(Array2::from_elem((500, 3), 1_i64).view(), None).unwrap();
        assert_eq!(
            Evidence::from_rankings(&heavy, super::super::Needs::PairOrder, &interrupt).err(),
            Some(Error::Interrupted)
        );
        assert!(
            Evidence::from_rankings(&many, super::super::Needs::PairOrder, &interrupt).is_err()
        );
        for aggregator in [
            Aggregator::MaximalLottery(MaximalLottery),
            Aggregator::MarkovChain(MarkovChain::new(4).unwrap()),
        ] {
            let evidence =
                Evidence::from_rankings(&heavy, aggregator.needs(), &Interrupt::never()).unwrap();
            let mut workspace = Workspace::with_interrupt(&interrupt);
            let stopped = aggregator.aggregate(&evidence, &mut workspace);
            assert_eq!(stopped, Err(Error::Interrupted), "{aggregator:?}");
            assert_eq!(
                aggregator.explain_in(&evidence, &mut workspace),
                Err(Error::Interrupted)
            );
        }
    }
}
