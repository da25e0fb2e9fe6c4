//! The linear model as a [`PairModel`], which predicts for each pair of labels how often the first is before, tied
//! with, or after the second.

use crate::error::Result;
use crate::predict::{BlockShares, LatentScores, PairModel, RowBlock};
use crate::run::Interrupt;

use super::LinearModel;

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
        let scores = self.scores(block.view()?, interrupt)?;
        let compared = self.compared_labels();
        LatentScores { compared }.write(scores.as_slice().unwrap_or_default(), out);
        Ok(())
    }

    fn block_shares(&self, block: RowBlock<'_>, interrupt: &Interrupt) -> Result<BlockShares<'_>> {
        Ok(BlockShares::Scores {
            scores: self.scores(block.view()?, interrupt)?.into_iter().collect(),
            compared: self.compared_labels(),
        })
    }
}
