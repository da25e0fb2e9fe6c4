//! [`BoosterStage`]: the pair model of a booster.

use crate::error::Result;
use crate::predict::{BlockShares, LatentScores, PairModel, RowBlock};
use crate::run::{Interrupt, Jobs};

use super::Booster;

/// A booster after some of its rounds.
#[derive(Debug, Clone, Copy)]
pub struct BoosterStage<'a> {
    /// The booster.
    pub booster: &'a Booster,
    /// Number of rounds; all rounds if the booster has fewer.
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
        let scores = self.block_scores(block, interrupt)?;
        let compared = self.booster.compared_labels();
        LatentScores { compared }.write(&scores, out);
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
        let scores = self.booster.scores(block.view()?, self.rounds, jobs)?;
        Ok(scores.iter().copied().map(f64::from).collect())
    }
}
