//! [`BoosterStage`]: the pair model of a booster.

use crate::error::Result;
use crate::predict::{LatentScores, PairModel, RowBlock};
use crate::run::{Interrupt, Jobs};

use super::Booster;

/// A booster after some of its rounds.
#[derive(Debug, Clone, Copy)]
pub struct BoosterStage<'a> {
    /// The booster.
    pub booster: &'a Booster,
    /// Number of rounds; a larger number than the booster has stands for all rounds.
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
        let jobs = Jobs {
            n_jobs: 1,
            interrupt,
        };
        let scores = self.booster.scores(block.view()?, self.rounds, jobs)?;
        let scores = scores.mapv(f64::from);
        let compared = self.booster.compared_labels();
        LatentScores { compared }.write(scores.as_slice().unwrap_or_default(), out);
        Ok(())
    }
}
