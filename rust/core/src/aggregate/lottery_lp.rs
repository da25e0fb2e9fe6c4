//! The leximin-fairest maximal lottery by a general linear-programming solver: slow and independent of the simplex
//! method in `leximin.rs`. Used when that method fails, and as its oracle in tests.

use good_lp::{
    constraint, microlp, variable, Expression, ProblemVariables, Solution, SolverModel, Variable,
};

use super::leximin::Lottery;
use super::symmetric_game::SymmetricGame;
use crate::error::{Error, Result};
use crate::run::Interrupt;

/// Differences up to this are rounding errors of the solver.
const ROUNDING: f64 = 1e-9;

/// The leximin-fairest optimal strategy of the game: its smallest probability is as large as possible, then the second
/// smallest, and so on.
pub(super) fn find_fairest(game: &SymmetricGame, interrupt: &Interrupt) -> Result<Lottery> {
    let n = game.labels();
    let mut fixed: Vec<Option<f64>> = vec![None; n];
    let mut unique = None;
    // Every stage fixes a label.
    for _ in 0..n {
        let free: Vec<usize> = (0..n).filter(|&u| fixed[u].is_none()).collect();
        if free.is_empty() {
            break;
        }
        interrupt.check()?;
        let (level, p) = maximise_floor(game, &fixed)?;
        if unique.is_none() {
            unique = Some(is_unique(game, &p)?);
        }
        if unique == Some(true) {
            return Ok(Lottery {
                probabilities: p,
                unique: true,
            });
        }
        for label in labels_at_level(game, &fixed, level, free)? {
            fixed[label] = Some(level);
        }
    }
    Ok(Lottery {
        probabilities: fixed.into_iter().map(|p| p.unwrap_or(0.0)).collect(),
        unique: false,
    })
}

/// Maximises the smallest probability of the labels that are not fixed; returns it with a lottery that attains it.
fn maximise_floor(game: &SymmetricGame, fixed: &[Option<f64>]) -> Result<(f64, Vec<f64>)> {
    let mut variables = ProblemVariables::new();
    let p = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
    let level = variables.add(variable().min(0.0).max(1.0));
    let mut model = build_program(variables, &p, level.into(), game);
    for (&p, fixed) in p.iter().zip(fixed) {
        match fixed {
            Some(value) => model.add_constraint(constraint!(p == *value)),
            None => model.add_constraint(constraint!(p >= level)),
        };
    }
    let solution = model.solve().map_err(to_unsolved)?;
    let values = p.iter().map(|&p| solution.value(p)).collect();
    Ok((solution.value(level), values))
}

/// The candidates whose probability cannot exceed `level` while all free labels have at least `level`.
fn labels_at_level(
    game: &SymmetricGame,
    fixed: &[Option<f64>],
    level: f64,
    mut candidates: Vec<usize>,
) -> Result<Vec<usize>> {
    loop {
        let mut variables = ProblemVariables::new();
        let p = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
        let total: Expression = candidates.iter().map(|&u| Expression::from(p[u])).sum();
        let mut model = build_program(variables, &p, total, game);
        for (&p, fixed) in p.iter().zip(fixed) {
            // The level is rounded; a slightly lower floor keeps the program feasible.
            let floor = fixed.unwrap_or(level) - ROUNDING / 100.0;
            model.add_constraint(constraint!(p >= floor));
            if let Some(value) = fixed {
                model.add_constraint(constraint!(p <= value + ROUNDING / 100.0));
            }
        }
        let solution = model.solve().map_err(to_unsolved)?;
        let before = candidates.len();
        let mut highest = (0, f64::NEG_INFINITY);
        for &u in &candidates {
            let value = solution.value(p[u]);
            if value > highest.1 {
                highest = (u, value);
            }
        }
        let kept: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|&u| solution.value(p[u]) <= level + ROUNDING)
            .collect();
        if kept.len() == before {
            return Ok(candidates);
        }
        if kept.is_empty() {
            // At least one candidate cannot exceed the level and does so here by rounding only: discard the highest
            // candidate and keep the others.
            candidates.retain(|&u| u != highest.0);
            if candidates.is_empty() {
                return Ok(vec![highest.0]);
            }
            return Ok(candidates);
        }
        candidates = kept;
    }
}

/// Whether this is the only maximal lottery.
fn is_unique(game: &SymmetricGame, p: &[f64]) -> Result<bool> {
    let (support, rest): (Vec<usize>, Vec<usize>) =
        (0..game.labels()).partition(|&u| p[u] > ROUNDING);
    // Any other maximal lottery has a smaller probability for a label of the support, or a positive one for a
    // label outside.
    for (labels, sign) in support
        .iter()
        .map(|&u| (vec![u], -1.0))
        .chain([(rest, 1.0)])
    {
        let mut variables = ProblemVariables::new();
        let q = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
        let total: Expression = labels.iter().map(|&u| sign * q[u]).sum();
        let model = build_program(variables, &q, total, game);
        let solution = model.solve().map_err(to_unsolved)?;
        let differs = |&u: &usize| sign * (solution.value(q[u]) - p[u]) > 10.0 * ROUNDING;
        if labels.iter().any(differs) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The linear program of maximal lotteries, with an objective to maximise.
fn build_program(
    variables: ProblemVariables,
    p: &[Variable],
    objective: Expression,
    game: &SymmetricGame,
) -> impl SolverModel<Error = good_lp::ResolutionError> {
    let mut model = variables.maximise(objective).using(microlp);
    let total: Expression = p.iter().map(|&p| Expression::from(p)).sum();
    model.add_constraint(constraint!(total == 1.0));
    for v in 0..game.labels() {
        // The margin against v is −A(v,·) p.
        let lead: Expression = p
            .iter()
            .zip(game.row(v))
            .filter(|&(_, &a)| a != 0.0)
            .map(|(&p, &a)| -a * p)
            .sum();
        model.add_constraint(constraint!(lead >= 0.0));
    }
    model
}

#[allow(clippy::needless_pass_by_value)] // signature required by map_err
fn to_unsolved(error: good_lp::ResolutionError) -> Error {
    Error::Unsolved {
        what: "maximal lottery",
        why: error.to_string(),
    }
}
