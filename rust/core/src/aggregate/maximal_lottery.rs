//! [`MaximalLottery`]: orders labels by their probability in a lottery that no other lottery beats.

use super::leximin::{find_fairest, Lottery, SimplexStart};
use super::lottery_lp;
use super::symmetric_game::SymmetricGame;
use super::tableau::Tableau;
use super::threshold::TOLERANCE;
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};

/// Labels are tied if their probabilities differ by no more than this.
pub(super) const TIE_TOLERANCE: f64 = 1e-9;

/// Number of perturbation patterns that the simplex method tries.
const PATTERNS: u64 = 4;

/// Orders labels by their probability in a maximal lottery.
///
/// With the pair order matrix C (the share of rankings that place u before v, ties counting half) and the margins
/// A = C − Cᵀ, a lottery p is maximal when pᵀA ≥ 0: no label is preferred to it by an expected majority. Labels are
/// sorted by p; neighbours that differ by at most 1e-9 are tied, and ties cascade. If there are several maximal
/// lotteries, p is the leximin-fairest: its smallest probability is as large as possible, then the second smallest, and
/// so on. It is unique, gives interchangeable labels equal probabilities, and does not depend on the order of the
/// labels.
///
/// Solved by a dense simplex method on the symmetric game and verified, with a general solver as fallback: about O(n³)
/// in practice.
///
/// References: P. C. Fishburn, *Probabilistic social choice based on simple voting comparisons*, Review of Economic
/// Studies 51, 1984; G. Kreweras, *Aggregation of preference orderings*, 1965.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaximalLottery;

impl MaximalLottery {
    /// The method, which has no parameters.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Writes the probabilities of the leximin-fairest lottery to the scores of the workspace.
    pub(super) fn fill_scores(evidence: &Evidence, workspace: &mut Workspace) -> Result<()> {
        let (lottery, _) = solve(evidence, workspace)?;
        workspace.scores = lottery.probabilities;
        Ok(())
    }
}

impl Aggregate for MaximalLottery {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let (lottery, _) = solve(evidence, workspace)?;
        Ok(BucketOrder::from_scores_with_buffer(
            &lottery.probabilities,
            |drop| drop <= TIE_TOLERANCE,
            &mut workspace.order,
        ))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let (lottery, margin) = solve(evidence, workspace)?;
        let order = BucketOrder::from_scores(&lottery.probabilities, |drop| drop <= TIE_TOLERANCE);
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

/// The leximin-fairest lottery and its margin, verified.
fn solve(evidence: &Evidence, workspace: &mut Workspace) -> Result<(Lottery, f64)> {
    let Workspace { game, tableau, .. } = workspace;
    game.fill(evidence.pair_order(), tableau.interrupt())?;
    let (safest, worst) = game.safest_label();
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
    if let Some(checked) = solve_by_simplex(game, safest, tableau) {
        return Ok(checked);
    }
    tableau.interrupt().check()?;
    let lottery = lottery_lp::find_fairest(game, tableau.interrupt())?;
    check_lottery(game, lottery).ok_or_else(|| Error::Unsolved {
        what: "maximal lottery",
        why: "the solution of the linear program fails its check".into(),
    })
}

/// The leximin-fairest lottery by the simplex kernel; `None` if all patterns fail.
fn solve_by_simplex(
    game: &SymmetricGame,
    safest: usize,
    tableau: &mut Tableau,
) -> Option<(Lottery, f64)> {
    (0..PATTERNS).find_map(|pattern| {
        // A failure may be an interruption.
        tableau.interrupt().check().ok()?;
        let start = SimplexStart {
            label: safest,
            pattern,
        };
        let lottery = find_fairest(game, start, tableau).ok()?;
        check_lottery(game, lottery)
    })
}

/// The lottery, normalised, with its margin; `None` if it is not a maximal lottery.
fn check_lottery(game: &SymmetricGame, mut lottery: Lottery) -> Option<(Lottery, f64)> {
    let p = &mut lottery.probabilities;
    if p.iter().any(|&p| !p.is_finite() || p < -TOLERANCE) {
        return None;
    }
    for p in p.iter_mut() {
        *p = p.max(0.0);
    }
    let total: f64 = p.iter().sum();
    if (total - 1.0).abs() > TOLERANCE {
        return None;
    }
    for p in p.iter_mut() {
        *p /= total;
    }
    let margin = game.worst_margin(p);
    (margin >= -TOLERANCE / 2.0).then_some((lottery, margin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::PairOrderMatrix;
    use crate::run::Interrupt;
    use ndarray::{array, Array2};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    fn lottery(matrix: &Array2<f64>) -> (Lottery, f64) {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(matrix.view()).unwrap());
        solve(&evidence, &mut Workspace::default()).unwrap()
    }

    /// A matrix whose margins are multiples of 1/`levels`, so that several maximal lotteries are common.
    fn random_matrix(labels: usize, levels: u32, rng: &mut Pcg64) -> Array2<f64> {
        let mut c = Array2::from_elem((labels, labels), 0.5);
        for u in 0..labels {
            for v in u + 1..labels {
                let share = f64::from(rng.random_range(0..=levels)) / f64::from(levels);
                c[[u, v]] = share;
                c[[v, u]] = 1.0 - share;
            }
        }
        c
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-9, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn condorcet_winner_gets_all_and_a_cycle_shares() {
        let c = array![[0.5, 0.6, 0.6], [0.4, 0.5, 0.9], [0.4, 0.1, 0.5]];
        assert_eq!(lottery(&c).0.probabilities, [1.0, 0.0, 0.0]);
        // Margins 0.2, 0.4, 0.6 along the cycle: each label gets the margin of the opposite pair.
        let c = array![[0.5, 0.6, 0.2], [0.4, 0.5, 0.7], [0.8, 0.3, 0.5]];
        let (cycle, margin) = lottery(&c);
        assert_close(&cycle.probabilities, &[0.4 / 1.2, 0.6 / 1.2, 0.2 / 1.2]);
        assert!(cycle.unique && margin.abs() < 1e-12);
    }

    #[test]
    fn undecided_labels_share_equally() {
        for n in [2, 3, 50, 200] {
            let (all, _) = lottery(&Array2::from_elem((n, n), 0.5));
            assert!(!all.unique);
            assert_close(&all.probabilities, &vec![1.0 / n as f64; n]);
        }
    }

    #[test]
    fn simplex_kernel_agrees_with_the_general_solver() {
        let mut rng = Pcg64::seed_from_u64(7);
        let (mut several, mut unique) = (0, 0);
        for round in 0..400 {
            let c = random_matrix(2 + round % 8, 1 + round as u32 % 5, &mut rng);
            let mut game = SymmetricGame::default();
            let matrix = PairOrderMatrix::new(c.view()).unwrap();
            game.fill(&matrix, &Interrupt::never()).unwrap();
            let (kernel, _) =
                solve_by_simplex(&game, game.safest_label().0, &mut Tableau::default())
                    .expect("solved");
            let (general, _) = check_lottery(
                &game,
                lottery_lp::find_fairest(&game, &Interrupt::never()).unwrap(),
            )
            .unwrap();
            assert_eq!(kernel.unique, general.unique, "{c}");
            for (a, b) in kernel.probabilities.iter().zip(&general.probabilities) {
                assert!((a - b).abs() < 1e-7, "{c}\n{kernel:?}\n{general:?}");
            }
            *(if kernel.unique {
                &mut unique
            } else {
                &mut several
            }) += 1;
        }
        assert!(several > 50 && unique > 50, "{several} {unique}");
    }

    #[test]
    fn simplex_kernel_solves_large_games() {
        let mut rng = Pcg64::seed_from_u64(8);
        for (labels, levels) in [
            (60, 2),
            (60, 3),
            (60, 1),
            (120, 10),
            (200, 2),
            (200, 1 << 30),
        ] {
            let mut game = SymmetricGame::default();
            let c = random_matrix(labels, levels, &mut rng);
            let matrix = PairOrderMatrix::new(c.view()).unwrap();
            game.fill(&matrix, &Interrupt::never()).unwrap();
            let solved = solve_by_simplex(&game, game.safest_label().0, &mut Tableau::default());
            let (_, margin) = solved.unwrap_or_else(|| panic!("{labels} {levels}"));
            assert!(margin.abs() < 1e-11, "{labels} {levels}: {margin}");
        }
    }
}
