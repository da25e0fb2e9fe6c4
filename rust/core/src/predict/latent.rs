//! [`LatentScores`]: converts the scores that a latent model predicts for the labels to pair shares.
//!
//! The scores are for each label a utility, which orders the labels, and a tie term, its tendency to be tied. Pair
//! shares are, for each pair of labels, how often the first is before, tied with, or after the second.

use super::{PairModel, RowBlock};
use crate::error::Result;
use crate::latent::LatentRow;
use crate::pairs::pair_count;
use crate::run::Interrupt;

/// The model of pair shares whose features are scores of n labels: n utilities, then n tie terms.
#[derive(Debug, Clone, Copy)]
pub struct LatentScores<'a> {
    /// Per label: whether the training rankings compare it with another label.
    pub compared: &'a [bool],
}

impl LatentScores<'_> {
    /// Writes the shares that rows of `scores` determine, row by row.
    pub(crate) fn write(&self, scores: &[f64], shares: &mut [f64]) {
        let labels = self.compared.len();
        let pairs = pair_count(labels);
        let rows = scores.chunks_exact(2 * labels);
        for (scores, shares) in rows.zip(shares.chunks_exact_mut(3 * pairs)) {
            write_row_shares(scores, self.compared, shares);
        }
    }
}

/// Writes the shares of one row of scores: before of all pairs, then tied, then after. Pairs with a label that is not
/// `compared` get shares of ⅓.
pub(super) fn write_row_shares(scores: &[f64], compared: &[bool], shares: &mut [f64]) {
    let pairs = shares.len() / 3;
    let (before, rest) = shares.split_at_mut(pairs);
    let (tied, after) = rest.split_at_mut(pairs);
    LatentRow::new(scores).write_known_shares(compared, [before, tied, after]);
}

impl PairModel for LatentScores<'_> {
    fn labels(&self) -> usize {
        self.compared.len()
    }

    fn features(&self) -> usize {
        2 * self.compared.len()
    }

    fn accepts_missing(&self) -> bool {
        false
    }

    fn write_shares(&self, block: RowBlock<'_>, out: &mut [f64], _: &Interrupt) -> Result<()> {
        self.write(block.values, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Aggregator, MarkovChain, TauX};
    use crate::error::Error;
    use crate::predict::consensus;
    use crate::run::Jobs;
    use ndarray::array;

    #[test]
    fn labels_are_ordered_by_their_utilities() {
        let scores = array![
            [3.0, 0.0, -3.0, -9.0, -9.0, -9.0],
            [0.0, 0.1, 5.0, 2.0, 2.0, -9.0]
        ];
        let tau_x = Aggregator::TauX(TauX::default());
        let never = Interrupt::never();
        let jobs = |n_jobs| Jobs {
            n_jobs,
            interrupt: &never,
        };
        let compared = [true; 3];
        let model = LatentScores {
            compared: &compared,
        };
        let orders = consensus(&model, &tau_x, scores.view(), jobs(1)).unwrap();
        assert_eq!(orders[0].positions(), [1, 2, 3]);
        assert_eq!(orders[1].positions(), [2, 2, 1]);
        let two = consensus(&model, &tau_x, scores.view(), jobs(2)).unwrap();
        assert_eq!(orders, two);
        let chain = Aggregator::MarkovChain(MarkovChain::new(1).unwrap());
        let result = consensus(&model, &chain, scores.view(), jobs(1));
        // MC1 needs pair counts, but a model predicts shares only.
        assert!(matches!(result, Err(Error::TooLittleKnown { .. })));
        let four = [true; 4];
        let other = consensus(
            &LatentScores { compared: &four },
            &tau_x,
            scores.view(),
            jobs(1),
        );
        assert!(matches!(other, Err(Error::FeatureCount { .. })));
    }
}
