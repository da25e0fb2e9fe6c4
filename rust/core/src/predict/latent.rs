//! Pair models of the latent model: from scores, boosters and linear models.

use ndarray::ArrayView2;

use super::{BlockShares, PairModel, RowBlock};
use crate::boost::Booster;
use crate::error::{Error, Result};
use crate::latent::LatentRow;
use crate::linear::LinearModel;
use crate::pairs::pair_count;
use crate::run::{Interrupt, Jobs};

/// The model whose features are scores: n utilities, then n tie terms.
#[derive(Debug, Clone, Copy)]
pub struct LatentScores<'a> {
    /// Per label: whether the training rankings compare it with another label.
    pub compared: &'a [bool],
}

impl LatentScores<'_> {
    /// Writes the shares of rows of scores.
    fn write<'s>(&self, rows: impl Iterator<Item = &'s [f64]>, shares: &mut [f64]) {
        let pairs = pair_count(self.compared.len());
        for (scores, shares) in rows.zip(shares.chunks_exact_mut(3 * pairs)) {
            write_row_shares(scores, self.compared, shares);
        }
    }
}

/// Writes the planes before, tied and after of one row of scores.
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
        self.write(block.values.chunks_exact(self.features()), out);
        Ok(())
    }
}

/// A booster after some of its rounds.
#[derive(Debug, Clone, Copy)]
pub struct BoosterStage<'a> {
    /// The booster.
    pub booster: &'a Booster,
    /// Number of rounds; more than it has stand for all.
    pub rounds: usize,
}

impl PairModel for BoosterStage<'_> {
    fn labels(&self) -> usize {
        self.booster.labels()
    }

    fn features(&self) -> usize {
        self.booster.features()
    }

    fn write_shares(
        &self,
        block: RowBlock<'_>,
        out: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let compared = self.booster.compared_labels();
        let scores = self.block_scores(block, interrupt)?;
        LatentScores { compared }.write(scores.chunks_exact(2 * compared.len()), out);
        Ok(())
    }

    fn block_shares(&self, block: RowBlock<'_>, interrupt: &Interrupt) -> Result<BlockShares<'_>> {
        Ok(BlockShares::Scores {
            scores: self.block_scores(block, interrupt)?,
            compared: self.booster.compared_labels(),
        })
    }
}

impl BoosterStage<'_> {
    fn block_scores(&self, block: RowBlock<'_>, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let jobs = Jobs {
            n_jobs: 1,
            interrupt,
        };
        let scores = self.booster.scores(view(block)?, self.rounds, jobs)?;
        Ok(scores.iter().copied().map(f64::from).collect())
    }
}

impl PairModel for &LinearModel {
    fn labels(&self) -> usize {
        LinearModel::labels(self)
    }

    fn features(&self) -> usize {
        LinearModel::features(self)
    }

    fn write_shares(
        &self,
        block: RowBlock<'_>,
        out: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let scores = self.scores(view(block)?, interrupt)?;
        let compared = self.compared_labels();
        let rows = scores.as_slice().unwrap_or_default();
        LatentScores { compared }.write(rows.chunks_exact(2 * compared.len()), out);
        Ok(())
    }

    fn block_shares(&self, block: RowBlock<'_>, interrupt: &Interrupt) -> Result<BlockShares<'_>> {
        Ok(BlockShares::Scores {
            scores: self.scores(view(block)?, interrupt)?.into_iter().collect(),
            compared: self.compared_labels(),
        })
    }
}

/// The features of a block as an array.
fn view(block: RowBlock<'_>) -> Result<ArrayView2<'_, f64>> {
    let columns = block.values.len() / block.rows.max(1);
    ArrayView2::from_shape((block.rows, columns), block.values).map_err(|_| Error::NoRows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Aggregator, MarkovChain, TauX};
    use crate::predict::consensus;
    use ndarray::array;

    #[test]
    fn rows_are_ordered_by_their_utilities() {
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
