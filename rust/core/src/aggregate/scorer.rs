//! [`Scorer`]: a method that gives each label a score. Other methods can start from the order of the labels by these
//! scores: `TauX` cuts it into buckets.

use super::{Aggregator, Borda, Copeland, Evidence, MarkovChain, MaximalLottery, Needs, Workspace};
use crate::error::{Error, Result};

/// A method by whose scores labels are ordered, largest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scorer {
    /// Sum over the other labels of the share of rankings that place the label before the other, ties counting half.
    Borda(Borda),
    /// Number of other labels against which the label wins by majority, draws counting half.
    Copeland(Copeland),
    /// Stationary distribution.
    MarkovChain(MarkovChain),
    /// Probability in the lottery.
    MaximalLottery(MaximalLottery),
}

impl Scorer {
    /// Statistics that [`Evidence`] must hold for the scores.
    #[must_use]
    pub fn needs(&self) -> Needs {
        match *self {
            Self::Borda(method) => Aggregator::Borda(method).needs(),
            Self::Copeland(method) => Aggregator::Copeland(method).needs(),
            Self::MarkovChain(method) => Aggregator::MarkovChain(method).needs(),
            Self::MaximalLottery(method) => Aggregator::MaximalLottery(method).needs(),
        }
    }

    /// Writes the scores of all labels to the workspace.
    pub(super) fn fill_scores(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<()> {
        match self {
            Self::Borda(_) => {
                Borda::fill_scores(evidence.pair_order(), &mut workspace.scores);
                Ok(())
            }
            Self::Copeland(method) => {
                method.fill_scores(evidence.pair_order(), workspace);
                Ok(())
            }
            Self::MarkovChain(method) => method.fill_scores(evidence, workspace),
            Self::MaximalLottery(_) => MaximalLottery::fill_scores(evidence, workspace),
        }
    }

    /// The scores of all labels.
    ///
    /// # Errors
    /// The errors of the wrapped method.
    pub(crate) fn scores(
        &self,
        evidence: &Evidence,
        workspace: &mut Workspace,
    ) -> Result<Vec<f64>> {
        self.fill_scores(evidence, workspace)?;
        Ok(workspace.scores.clone())
    }

    /// Scores that differ by at most this are equal up to rounding.
    pub(crate) fn tie_tolerance(&self) -> f64 {
        match self {
            Self::Borda(_) | Self::Copeland(_) => super::threshold::TOLERANCE,
            Self::MarkovChain(_) => super::markov_chain::TIE_TOLERANCE,
            Self::MaximalLottery(_) => super::maximal_lottery::TIE_TOLERANCE,
        }
    }
}

impl TryFrom<Aggregator> for Scorer {
    type Error = Error;

    fn try_from(aggregator: Aggregator) -> Result<Self> {
        match aggregator {
            Aggregator::Borda(method) => Ok(Self::Borda(method)),
            Aggregator::Copeland(method) => Ok(Self::Copeland(method)),
            Aggregator::MarkovChain(method) => Ok(Self::MarkovChain(method)),
            Aggregator::MaximalLottery(method) => Ok(Self::MaximalLottery(method)),
            Aggregator::BucketPivot(_) => Err(Error::NoScores {
                method: "BucketPivot",
            }),
            Aggregator::Davidson(_) => Err(Error::NoScores { method: "Davidson" }),
            Aggregator::ReciprocalRankFusion(_) => Err(Error::NoScores {
                method: "ReciprocalRankFusion",
            }),
            Aggregator::Schulze(_) => Err(Error::NoScores { method: "Schulze" }),
            Aggregator::RankedPairs(_) => Err(Error::NoScores {
                method: "RankedPairs",
            }),
            Aggregator::External(_) => Err(Error::NoScores {
                method: "an external method",
            }),
            Aggregator::Kemeny(_) => Err(Error::NoScores { method: "Kemeny" }),
            Aggregator::TauX(_) => Err(Error::NoScores { method: "TauX" }),
        }
    }
}
