//! [`aggregate_scores`]: bucket orders from the scores of the latent model, row by row.

use ndarray::ArrayView2;

use super::many::{estimate_cost, CHUNK_COST};
use super::{Aggregator, Evidence, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::latent::LatentRow;
use crate::pairs::PairShares;
use crate::parallel::{run, Jobs};
use crate::run::Interrupt;

/// The bucket order of each row of scores (n utilities, then n tie terms), on `n_jobs` threads (0: all cores).
/// `compared` tells per label whether the training rankings compare it with another label. The result does not depend
/// on `n_jobs`.
///
/// # Errors
/// [`Error::TooLittleKnown`] for a method that needs rankings, [`Error::LabelCount`] when the number of labels
/// differs, [`Error::Interrupted`].
pub fn aggregate_scores(
    aggregator: &Aggregator,
    scores: ArrayView2<'_, f64>,
    compared: &[bool],
    n_jobs: usize,
    interrupt: &Interrupt,
) -> Result<Vec<BucketOrder>> {
    let labels = compared.len();
    if scores.ncols() != 2 * labels {
        return Err(Error::LabelCount {
            found: scores.ncols() / 2,
            expected: labels,
        });
    }
    let cost = estimate_cost(aggregator, 8, labels);
    let jobs = Jobs {
        n_jobs,
        chunk: CHUNK_COST / cost.max(1),
        interrupt,
    };
    // Buffers are allocated once per thread; allocation can fail, so each thread keeps the result.
    let state = || {
        let evidence = Evidence::new(labels, Needs::Shares);
        let buffers = evidence.and_then(|evidence| Ok((evidence, PairShares::unknown(labels)?)));
        (buffers, Workspace::default(), vec![0.0; 2 * labels])
    };
    run(
        jobs,
        scores.nrows(),
        state,
        |(buffers, workspace, row), item| {
            let (evidence, shares) = buffers.as_mut().map_err(|error| error.clone())?;
            for (to, from) in row.iter_mut().zip(scores.row(item)) {
                *to = *from;
            }
            LatentRow::new(row).write_known_shares(compared, shares.planes_mut());
            evidence.fill_from_shares(shares, aggregator);
            aggregator.aggregate(evidence, workspace)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{MarkovChain, TauX};
    use ndarray::array;

    #[test]
    fn rows_are_ordered_by_their_utilities() {
        let scores = array![
            [3.0, 0.0, -3.0, -9.0, -9.0, -9.0],
            [0.0, 0.1, 5.0, 2.0, 2.0, -9.0]
        ];
        let tau_x = Aggregator::TauX(TauX::default());
        let compared = [true; 3];
        let orders =
            aggregate_scores(&tau_x, scores.view(), &compared, 1, &Interrupt::never()).unwrap();
        assert_eq!(orders[0].positions(), [1, 2, 3]);
        assert_eq!(orders[1].positions(), [2, 2, 1]);
        let two =
            aggregate_scores(&tau_x, scores.view(), &compared, 2, &Interrupt::never()).unwrap();
        assert_eq!(orders, two);
        let chain = Aggregator::MarkovChain(MarkovChain::new(1).unwrap());
        let result = aggregate_scores(&chain, scores.view(), &compared, 1, &Interrupt::never());
        assert!(matches!(result, Err(Error::TooLittleKnown { .. })));
        let other = aggregate_scores(&tau_x, scores.view(), &[true; 4], 1, &Interrupt::never());
        assert!(matches!(other, Err(Error::LabelCount { .. })));
    }
}
