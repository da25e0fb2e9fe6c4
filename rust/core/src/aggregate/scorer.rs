//! [`Scorer`]: the methods that give each label a score, which can order labels for other methods.

use super::{Aggregator, Borda, Copeland, Evidence, MarkovChain, MaximalLottery, Needs, Workspace};
use crate::error::{Error, Result};

/// A method whose scores order the labels, largest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scorer {
    /// Mean share of won comparisons.
    Borda(Borda),
    /// Number of won comparisons.
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

    /// Scores that differ by no more than this are equal up to rounding.
    pub(super) fn tie_tolerance(&self) -> f64 {
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
            Aggregator::TauX(_) => Err(Error::NoScores { method: "TauX" }),
        }
    }
}
