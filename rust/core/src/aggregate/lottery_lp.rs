//! The fairest maximal lottery by a general solver of linear programs: slow, and independent of the simplex kernel.

use good_lp::{
    constraint, microlp, variable, Expression, ProblemVariables, Solution, SolverModel, Variable,
};

use super::leximin::Lottery;
use super::symmetric_game::SymmetricGame;
use crate::error::{Error, Result};
use crate::run::Interrupt;

/// Differences up to here are rounding of the solver.
const SAME: f64 = 1e-9;

/// The leximin-fairest optimal strategy of the game.
pub(super) fn fairest(game: &SymmetricGame, interrupt: &Interrupt) -> Result<Lottery> {
    let n = game.labels();
    let mut floor: Vec<Option<f64>> = vec![None; n];
    let mut unique = None;
    // Every stage fixes a label.
    for _ in 0..n {
        let free: Vec<usize> = (0..n).filter(|&u| floor[u].is_none()).collect();
        if free.is_empty() {
            break;
        }
        interrupt.check()?;
        let (level, p) = highest_floor(game, &floor)?;
        if unique.is_none() {
            unique = Some(is_only(game, &p)?);
        }
        if unique == Some(true) {
            return Ok(Lottery {
                probabilities: p,
                unique: true,
            });
        }
        for label in stoppers(game, &floor, level, free)? {
            floor[label] = Some(level);
        }
    }
    Ok(Lottery {
        probabilities: floor.into_iter().map(|p| p.unwrap_or(0.0)).collect(),
        unique: false,
    })
}

/// The largest smallest probability of the labels that are not fixed, and a lottery that has it.
fn highest_floor(game: &SymmetricGame, fixed: &[Option<f64>]) -> Result<(f64, Vec<f64>)> {
    let mut variables = ProblemVariables::new();
    let p = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
    let level = variables.add(variable().min(0.0).max(1.0));
    let mut model = optimal(variables, &p, level.into(), game);
    for (&p, fixed) in p.iter().zip(fixed) {
        match fixed {
            Some(value) => model.add_constraint(constraint!(p == *value)),
            None => model.add_constraint(constraint!(p >= level)),
        };
    }
    let solution = model.solve().map_err(unsolved)?;
    let values = p.iter().map(|&p| solution.value(p)).collect();
    Ok((solution.value(level), values))
}

/// Those of the labels whose probability cannot exceed the level while all others keep to it.
fn stoppers(
    game: &SymmetricGame,
    fixed: &[Option<f64>],
    level: f64,
    mut suspects: Vec<usize>,
) -> Result<Vec<usize>> {
    loop {
        let mut variables = ProblemVariables::new();
        let p = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
        let total: Expression = suspects.iter().map(|&u| Expression::from(p[u])).sum();
        let mut model = optimal(variables, &p, total, game);
        for (&p, fixed) in p.iter().zip(fixed) {
            // The level is rounded; a hair below it keeps the program feasible.
            let floor = fixed.unwrap_or(level) - SAME / 100.0;
            model.add_constraint(constraint!(p >= floor));
            if let Some(value) = fixed {
                model.add_constraint(constraint!(p <= value + SAME / 100.0));
            }
        }
        let solution = model.solve().map_err(unsolved)?;
        let before = suspects.len();
        let mut highest = (0, f64::NEG_INFINITY);
        for &u in &suspects {
            let value = solution.value(p[u]);
            if value > highest.1 {
                highest = (u, value);
            }
        }
        let kept: Vec<usize> = suspects
            .iter()
            .copied()
            .filter(|&u| solution.value(p[u]) <= level + SAME)
            .collect();
        if kept.len() == before {
            return Ok(suspects);
        }
        if kept.is_empty() {
            // Only rounding lifts the last suspects: some label must hold the level.
            suspects.retain(|&u| u != highest.0);
            if suspects.is_empty() {
                return Ok(vec![highest.0]);
            }
            return Ok(suspects);
        }
        suspects = kept;
    }
}

/// Whether no maximal lottery differs from this one.
fn is_only(game: &SymmetricGame, p: &[f64]) -> Result<bool> {
    let (support, rest): (Vec<usize>, Vec<usize>) = (0..game.labels()).partition(|&u| p[u] > SAME);
    // Another lottery has less on a label of the support, or some outside.
    for (labels, sign) in support
        .iter()
        .map(|&u| (vec![u], -1.0))
        .chain([(rest, 1.0)])
    {
        let mut variables = ProblemVariables::new();
        let q = variables.add_vector(variable().min(0.0).max(1.0), game.labels());
        let total: Expression = labels.iter().map(|&u| sign * q[u]).sum();
        let model = optimal(variables, &q, total, game);
        let solution = model.solve().map_err(unsolved)?;
        let moved = |&u: &usize| sign * (solution.value(q[u]) - p[u]) > 10.0 * SAME;
        if labels.iter().any(moved) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The program of maximal lotteries with an objective to maximise.
fn optimal(
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

#[allow(clippy::needless_pass_by_value)] // it is used as a function for map_err
fn unsolved(error: good_lp::ResolutionError) -> Error {
    Error::Unsolved {
        what: "maximal lottery",
        why: error.to_string(),
    }
}
