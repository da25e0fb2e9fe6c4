//! Aggregation of many sets of rankings at once, in parallel.

use super::{Aggregator, Evidence, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, InputPart, Result};
use crate::pairs::{PairOrderMatrix, PairShares};
use crate::rankings::Rankings;
use crate::run::{self, Interrupt, Jobs, Work};

/// Method, threads and interrupt of a batch of aggregations.
#[derive(Clone, Copy)]
pub struct BatchOptions<'a> {
    /// The method.
    pub aggregator: &'a Aggregator,
    /// Number of threads; 0 means all cores. The result does not depend on it.
    pub n_jobs: usize,
    /// Checked within each consensus, on every thread.
    pub interrupt: &'a Interrupt,
}

impl<'a> BatchOptions<'a> {
    fn jobs(self) -> Jobs<'a> {
        Jobs {
            n_jobs: self.n_jobs,
            interrupt: self.interrupt,
        }
    }
}

/// The consensus of each of `sets` sets of rankings. `read` is called on the thread that aggregates the set; `cost` is
/// the largest [`estimate_cost`] of a set.
///
/// # Errors
/// [`Error::InPart`] with the first error of `read` or [`Aggregator::aggregate`]; [`Error::Interrupted`].
pub fn aggregate_each(
    options: BatchOptions<'_>,
    sets: usize,
    cost: usize,
    read: impl Fn(usize) -> Result<Rankings> + Sync,
) -> Result<Vec<BucketOrder>> {
    let BatchOptions {
        aggregator,
        interrupt,
        ..
    } = options;
    let consensus = |workspace: &mut Workspace, set| {
        let rankings = read(set)?;
        let evidence = Evidence::for_method(&rankings, aggregator, interrupt)?;
        aggregator.aggregate(&evidence, workspace)
    };
    run::map(
        options.jobs(),
        Work::new(sets, cost),
        || Workspace::new(interrupt),
        |workspace, set| {
            let order = consensus(workspace, set);
            order.map_err(|error: Error| error.in_part(InputPart::Set(set)))
        },
    )
}

/// The consensus of each pair order matrix.
///
/// # Errors
/// The first error of [`Aggregator::aggregate`]; [`Error::Interrupted`].
pub fn aggregate_pair_orders(
    options: BatchOptions<'_>,
    matrices: &[PairOrderMatrix],
) -> Result<Vec<BucketOrder>> {
    let labels = matrices.iter().map(PairOrderMatrix::labels).max();
    aggregate_statistics(options, matrices, labels, Evidence::from_pair_order)
}

/// The consensus of each set of pair shares; otherwise as [`aggregate_pair_orders`].
///
/// # Errors
/// As [`aggregate_pair_orders`].
pub fn aggregate_pair_shares(
    options: BatchOptions<'_>,
    sets: &[PairShares],
) -> Result<Vec<BucketOrder>> {
    let labels = sets.iter().map(PairShares::labels).max();
    aggregate_statistics(options, sets, labels, Evidence::from_pair_shares)
}

fn aggregate_statistics<T: Clone + Sync>(
    options: BatchOptions<'_>,
    statistics: &[T],
    labels: Option<usize>,
    evidence: impl Fn(T) -> Evidence + Sync,
) -> Result<Vec<BucketOrder>> {
    let cost = estimate_cost(options.aggregator, 0, labels.unwrap_or(1));
    run::map(
        options.jobs(),
        Work::new(statistics.len(), cost),
        || Workspace::new(options.interrupt),
        |workspace, item| {
            let evidence = evidence(statistics[item].clone());
            options.aggregator.aggregate(&evidence, workspace)
        },
    )
}

/// Estimated nanoseconds for aggregating `rows` rankings of `labels` labels.
#[must_use]
pub fn estimate_cost(aggregator: &Aggregator, rows: usize, labels: usize) -> usize {
    let pairs = labels.saturating_mul(labels);
    let method = match aggregator {
        Aggregator::MarkovChain(_)
        | Aggregator::MaximalLottery(_)
        | Aggregator::Schulze(_)
        | Aggregator::RankedPairs(_) => pairs.saturating_mul(labels),
        Aggregator::TauX(method) => method.estimate_cost(labels),
        Aggregator::Kemeny(method) => method.estimate_cost(labels),
        // About a dozen factorisations of a matrix with two rows per label.
        Aggregator::Davidson(_) => pairs.saturating_mul(labels).saturating_mul(100),
        _ => pairs.saturating_mul(4),
    };
    method.saturating_add(rows.saturating_mul(pairs) / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Borda, Davidson, MarkovChain, MaximalLottery};
    use ndarray::{array, Array2};

    fn options<'a>(aggregator: &'a Aggregator, interrupt: &'a Interrupt) -> BatchOptions<'a> {
        BatchOptions {
            aggregator,
            n_jobs: 2,
            interrupt,
        }
    }

    #[test]
    fn errors_and_interrupts_are_returned() {
        let matrices = vec![PairOrderMatrix::undecided(3); 5];
        let (never, requested) = (Interrupt::never(), Interrupt::new());
        requested.request();
        let borda = Aggregator::Borda(Borda::default());
        let orders = aggregate_pair_orders(options(&borda, &never), &matrices).unwrap();
        assert_eq!(orders, vec![BucketOrder::all_tied(3); 5]);
        let stopped = aggregate_pair_orders(options(&borda, &requested), &matrices);
        assert_eq!(stopped, Err(Error::Interrupted));
        let chain = Aggregator::MarkovChain(MarkovChain::new(1).unwrap());
        let error = aggregate_pair_orders(options(&chain, &never), &matrices).unwrap_err();
        assert!(matches!(error, Error::TooLittleKnown { .. }));
    }

    #[test]
    fn error_names_the_first_invalid_set() {
        let borda = Aggregator::Borda(Borda::default());
        let good = array![[1, 2, 3_i64]];
        let orders = aggregate_each(options(&borda, &Interrupt::never()), 9, 1 << 21, |set| {
            let y = if set % 4 == 2 {
                good.mapv(|p| p - 1)
            } else {
                good.clone()
            };
            Rankings::new(y.view(), None, &Interrupt::never())
        });
        let Err(Error::InPart { part, error }) = orders else {
            panic!("{orders:?}")
        };
        assert_eq!(part, InputPart::Set(2));
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
    fn interrupt_ends_a_consensus_early() {
        let interrupt = Interrupt::new();
        interrupt.request();
        // No Condorcet winner, so that the lottery needs pivots.
        let y = array![[1, 2, 3_i64], [2, 3, 1], [3, 1, 2]];
        let heavy = Rankings::new(y.view(), Some(&[1.0, 1.5, 2.0]), &Interrupt::never()).unwrap();
        let many = Rankings::new(
            Array2::from_elem((500, 3), 1_i64).view(),
            None,
            &Interrupt::never(),
        )
        .unwrap();
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
            let mut workspace = Workspace::new(&interrupt);
            let stopped = aggregator.aggregate(&evidence, &mut workspace);
            assert_eq!(stopped, Err(Error::Interrupted), "{aggregator:?}");
            assert_eq!(
                aggregator.explain(&evidence, &mut workspace),
                Err(Error::Interrupted)
            );
        }
    }

    #[test]
    fn cost_estimates_grow_with_the_order_of_the_method() {
        let growth = |aggregator: &Aggregator| {
            let cost = |labels| estimate_cost(aggregator, 0, labels) as f64;
            cost(400) / cost(200)
        };
        let davidson = Aggregator::Davidson(Davidson::default());
        let lottery = Aggregator::MaximalLottery(MaximalLottery);
        for cubic in [&davidson, &lottery] {
            assert_eq!(growth(cubic), 8.0);
        }
        let borda = Aggregator::Borda(Borda::default());
        assert_eq!(growth(&borda), 4.0);
        assert!(estimate_cost(&davidson, 0, 50) > estimate_cost(&lottery, 0, 50));
        // Rows add the time for counting their pairs.
        let rows = |rows| estimate_cost(&borda, rows, 8) - estimate_cost(&borda, 0, 8);
        assert_eq!((rows(1000), rows(3000)), (8000, 24_000));
    }
}
