//! [`MaximalLottery`]: the lottery over labels that no other lottery beats.

use super::leximin::{fairest, Lottery};
use super::lottery_lp;
use super::symmetric_game::SymmetricGame;
use super::tableau::Tableau;
use super::threshold::TOLERANCE;
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};

/// Probabilities that drop by no more than this are tied.
const TIE: f64 = 1e-9;

/// Labels by their probability in a maximal lottery.
///
/// With the margins A = C − Cᵀ, a lottery p is maximal when pᵀA ≥ 0: no label is preferred to it by an expected
/// majority. Labels are sorted by p; drops up to 1e-9 are ties, which cascade. Where there are many maximal
/// lotteries, this is the leximin-fairest: its smallest probability is as large as possible, then the next one,
/// and so on. It is unique, treats interchangeable labels alike, and does not depend on the order of the labels.
///
/// Solved by a dense simplex method on the symmetric game, checked afterwards, with a general solver as fallback:
/// about O(n³) in practice.
///
/// References: P. C. Fishburn, *Probabilistic social choice based on simple voting comparisons*, Review of Economic
/// Studies 51, 1984; G. Kreweras, *Aggregation of preference orderings*, 1965.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaximalLottery;

impl MaximalLottery {
    /// The method has no parameters.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Aggregate for MaximalLottery {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let (lottery, _) = solve(evidence, workspace)?;
        Ok(BucketOrder::from_scores_in(
            &lottery.probabilities,
            |drop| drop <= TIE,
            &mut workspace.order,
        ))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let (lottery, margin) = solve(evidence, workspace)?;
        let order = BucketOrder::from_scores(&lottery.probabilities, |drop| drop <= TIE);
        Ok(Explanation {
            order,
            details: Details::MaximalLottery {
                probabilities: lottery.probabilities,
                margin,
                unique: lottery.unique,
            },
        })
    }
}

/// The canonical lottery and its margin, checked.
fn solve(evidence: &Evidence, workspace: &mut Workspace) -> Result<(Lottery, f64)> {
    let Workspace { game, tableau, .. } = workspace;
    game.fill(evidence.pair_order());
    let (safest, worst) = game.safest();
    if worst > 0.0 {
        // A Condorcet winner: every other lottery loses against it.
        let mut probabilities = vec![0.0; game.labels()];
        probabilities[safest] = 1.0;
        let lottery = Lottery {
            probabilities,
            unique: true,
        };
        // Against the winner itself the margin is 0.
        return Ok((lottery, 0.0));
    }
    if let Some(checked) = by_simplex(game, safest, tableau) {
        return Ok(checked);
    }
    let lottery = lottery_lp::fairest(game)?;
    check(game, lottery).ok_or_else(|| Error::Unsolved {
        what: "maximal lottery",
        why: "the solution of the linear program fails its check".into(),
    })
}

fn by_simplex(
    game: &SymmetricGame,
    safest: usize,
    tableau: &mut Tableau,
) -> Option<(Lottery, f64)> {
    fairest(game, safest, tableau)
        .ok()
        .and_then(|lottery| check(game, lottery))
}

/// The lottery, cleared of rounding, with its margin; `None` if it is no maximal lottery.
fn check(game: &SymmetricGame, mut lottery: Lottery) -> Option<(Lottery, f64)> {
    let p = &mut lottery.probabilities;
    if p.iter().any(|&p| !p.is_finite() || p < -TOLERANCE) {
        return None;
    }
    p.iter_mut().for_each(|p| *p = p.max(0.0));
    let total: f64 = p.iter().sum();
    if (total - 1.0).abs() > TOLERANCE {
        return None;
    }
    p.iter_mut().for_each(|p| *p /= total);
    let margin = game.margin(p);
    (margin >= -TOLERANCE / 2.0).then_some((lottery, margin))
}
