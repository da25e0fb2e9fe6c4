//! The leximin-fairest maximal lottery, on the optimal face of a simplex tableau. A maximal lottery is a distribution
//! over the labels that no other distribution beats by an expected majority.
//!
//! After the game is solved, the nonbasic variables with zero cost span the set of all maximal lotteries. Each stage
//! maximises the smallest probability on this face and fixes the labels that have exactly this probability in every
//! solution of the stage; the next stage does the same for the other labels, until a single point is left. A convex set
//! has exactly one such leximin point, so the result is unique and does not depend on the order of the labels. Each
//! stage starts at the last vertex of the previous stage.

use super::symmetric_game::SymmetricGame;
use super::tableau::{SimplexFailure, Tableau, ZERO_COST};

/// Tolerance for the value of the game, for equal strategies and for feasibility.
const SOLVED_TOLERANCE: f64 = 1e-9;
/// A label whose coefficients in the tableau are all at most this has the same probability on the whole face.
const CONSTANT_TOLERANCE: f64 = 1e-10;

/// A maximal lottery.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lottery {
    pub(super) probabilities: Vec<f64>,
    /// Whether it is the only maximal lottery.
    pub(super) unique: bool,
}

/// Start of the simplex method; the result does not depend on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimplexStart {
    /// The first label that enters the basis.
    pub(super) label: usize,
    /// The pattern of the tableau's perturbation.
    pub(super) pattern: u64,
}

/// The leximin-fairest optimal strategy of the game.
///
/// Let A be the payoffs of the game. The game with payoffs 1 + A has value 1, so p solves the linear program: maximise
/// Σ p with (1 + A) p ≤ 1, p ≥ 0. The variables are the probabilities 0..n and the slacks n..2n of the constraints.
///
/// The costs of the solved program are the slacks and the probabilities of an optimal strategy of the opponent. By
/// symmetry, the optimal strategies of the opponent are the maximal lotteries too. A unique maximal lottery is strictly
/// complementary to itself, so all costs are positive. Conversely, positive costs make the solution unique.
pub(super) fn find_fairest(
    game: &SymmetricGame,
    start: SimplexStart,
    tableau: &mut Tableau,
) -> Result<Lottery, SimplexFailure> {
    let n = game.labels();
    write_program(game, start.pattern, tableau);
    tableau.maximise(Some(start.label))?;
    if (tableau.objective() - 1.0).abs() > SOLVED_TOLERANCE {
        return Err(SimplexFailure);
    }
    if tableau.costs().iter().all(|&cost| cost > ZERO_COST) {
        let probabilities = vertex_probabilities(n, tableau);
        let opponent = opponent_strategy(n, tableau);
        let differs = |(p, q): (&f64, &f64)| (p - q).abs() > SOLVED_TOLERANCE;
        if probabilities.iter().zip(&opponent).any(differs) {
            return Err(SimplexFailure);
        }
        return Ok(Lottery {
            probabilities,
            unique: true,
        });
    }
    recompute(game, tableau)?;
    let face = restrict_to_face(tableau, |_| true);
    Ok(Lottery {
        probabilities: LeximinStages::new(n, &face).run(face)?,
        unique: false,
    })
}

/// The program at the vertex 0, where all slacks are basic.
fn write_program(game: &SymmetricGame, pattern: u64, tableau: &mut Tableau) {
    let n = game.labels();
    tableau.reset(pattern, n..2 * n, 0..n);
    for label in 0..n {
        for (entry, margin) in tableau.row_mut(label).iter_mut().zip(game.row(label)) {
            *entry = 1.0 + margin;
        }
        tableau.set_right(label, 1.0);
    }
    tableau.costs_mut().fill(-1.0);
}

/// Recomputes the tableau of the current basis, with the largest pivots first, to remove the rounding errors of earlier
/// pivots: the zeros of the tableau determine the face.
fn recompute(game: &SymmetricGame, tableau: &mut Tableau) -> Result<(), SimplexFailure> {
    let mut wanted = vec![false; 2 * game.labels()];
    tableau.basic().iter().for_each(|&b| wanted[b] = true);
    write_program(game, tableau.pattern(), tableau);
    tableau.exchange_basis(&wanted)?;
    let infeasible = |x: &f64| *x < -SOLVED_TOLERANCE;
    let rights = (0..game.labels()).map(|row| tableau.right(row));
    if tableau.costs().iter().any(infeasible) || rights.into_iter().any(|x| infeasible(&x)) {
        return Err(SimplexFailure);
    }
    Ok(())
}

/// Optimal strategy of the opponent at the current vertex: the costs of the slacks.
fn opponent_strategy(n: usize, tableau: &Tableau) -> Vec<f64> {
    let mut q = vec![0.0; n];
    for (&variable, &cost) in tableau.nonbasic().iter().zip(tableau.costs()) {
        if variable >= n {
            q[variable - n] = cost;
        }
    }
    q
}

/// Probabilities at the current vertex.
fn vertex_probabilities(n: usize, tableau: &Tableau) -> Vec<f64> {
    let mut p = vec![0.0; n];
    for (row, &variable) in tableau.basic().iter().enumerate() {
        if variable < n {
            p[variable] = tableau.right(row);
        }
    }
    p
}

/// The optimal face of a tableau: its columns with zero cost, and its rows whose basic variable satisfies `keep`.
fn restrict_to_face(tableau: &Tableau, keep: impl Fn(usize) -> bool) -> Tableau {
    let columns: Vec<usize> = (0..tableau.nonbasic().len())
        .filter(|&column| tableau.costs()[column] <= ZERO_COST)
        .collect();
    let rows: Vec<usize> = (0..tableau.basic().len())
        .filter(|&row| keep(tableau.basic()[row]))
        .collect();
    let mut part = Tableau::default();
    part.set_interrupt(tableau.interrupt());
    part.reset(
        tableau.pattern(),
        rows.iter().map(|&r| tableau.basic()[r]),
        columns.iter().map(|&c| tableau.nonbasic()[c]),
    );
    for (new, &old) in rows.iter().enumerate() {
        let from = tableau.row(old);
        for (entry, &c) in part.row_mut(new).iter_mut().zip(&columns) {
            *entry = from[c];
        }
        part.set_right(new, tableau.right(old).max(0.0));
    }
    part
}

/// Repeated maximisation of the smallest probability among the free labels.
struct LeximinStages {
    labels: usize,
    /// Labels whose probability is not fixed; their variables in the tableau are relative to `level`.
    free: Vec<bool>,
    /// Probability of each label that is fixed.
    fixed: Vec<f64>,
    /// Smallest probability of the free labels, as maximised so far.
    level: f64,
}

impl LeximinStages {
    fn new(labels: usize, face: &Tableau) -> Self {
        // Labels that are neither basic nor a column of the face have probability 0 in every maximal lottery.
        let mut free = vec![false; labels];
        for &variable in face.basic().iter().chain(face.nonbasic()) {
            if variable < labels {
                free[variable] = true;
            }
        }
        Self {
            labels,
            free,
            fixed: vec![0.0; labels],
            level: 0.0,
        }
    }

    fn run(mut self, mut face: Tableau) -> Result<Vec<f64>, SimplexFailure> {
        // Every stage fixes a label.
        for _ in 0..=self.labels {
            self.fix_constants(&face);
            if !self.free.contains(&true) {
                return Ok(self.fixed);
            }
            face = self.raise(&face)?;
        }
        Err(SimplexFailure)
    }

    /// Fixes the labels whose probability is the same on the whole face.
    fn fix_constants(&mut self, face: &Tableau) {
        for (row, &variable) in face.basic().iter().enumerate() {
            if self.is_free(variable) && face.row(row).iter().all(|x| x.abs() <= CONSTANT_TOLERANCE)
            {
                self.fix(variable, self.level + face.right(row));
            }
        }
    }

    /// Maximises t where every free probability is at least `level + t`, and fixes the labels that limit it.
    fn raise(&mut self, face: &Tableau) -> Result<Tableau, SimplexFailure> {
        let t = 2 * self.labels;
        let columns = face.nonbasic().len();
        let mut stage = Tableau::default();
        stage.set_interrupt(face.interrupt());
        stage.reset(
            face.pattern(),
            face.basic().iter().copied(),
            face.nonbasic().iter().copied().chain([t]),
        );
        for (row, &variable) in face.basic().iter().enumerate() {
            // Make the variables of free labels relative to t: a nonbasic variable x becomes x + t, and t is subtracted
            // from a basic variable.
            let shifted: f64 = face
                .row(row)
                .iter()
                .zip(face.nonbasic())
                .filter(|&(_, &column)| self.is_free(column))
                .map(|(x, _)| x)
                .sum();
            let own = if self.is_free(variable) { 1.0 } else { 0.0 };
            let entries = stage.row_mut(row);
            entries[..columns].copy_from_slice(face.row(row));
            entries[columns] = shifted + own;
            stage.set_right(row, face.right(row));
        }
        stage.costs_mut()[columns] = -1.0;
        stage.maximise(Some(columns))?;

        self.level += stage.objective();
        for (&variable, &cost) in stage.nonbasic().iter().zip(stage.costs()) {
            if cost > ZERO_COST && self.is_free(variable) {
                self.fix(variable, self.level);
            }
        }
        // t stays basic: its row is the objective, so every column that could replace it has a positive cost.
        Ok(restrict_to_face(&stage, |variable| variable != t))
    }

    fn is_free(&self, variable: usize) -> bool {
        variable < self.labels && self.free[variable]
    }

    fn fix(&mut self, label: usize, probability: f64) {
        self.free[label] = false;
        self.fixed[label] = probability;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::PairOrderMatrix;
    use crate::run::Interrupt;
    use ndarray::array;

    fn solve(c: &ndarray::Array2<f64>) -> Lottery {
        let mut game = SymmetricGame::default();
        let matrix = PairOrderMatrix::new(c.view()).unwrap();
        game.fill(&matrix, &Interrupt::never()).unwrap();
        let start = SimplexStart {
            label: 0,
            pattern: 0,
        };
        find_fairest(&game, start, &mut Tableau::default()).unwrap()
    }

    #[test]
    fn unbeaten_labels_share_and_beaten_labels_get_zero() {
        // Only one pair is decided: 0 beats 2.
        let c = array![[0.5, 0.5, 0.8], [0.5, 0.5, 0.5], [0.2, 0.5, 0.5]];
        let lottery = solve(&c);
        assert!(!lottery.unique);
        for (p, expected) in lottery.probabilities.iter().zip([0.5, 0.5, 0.0]) {
            assert!((p - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn second_smallest_probability_is_maximised_too() {
        // A cycle 0 > 1 > 2 > 0 with margins 0.2, 0.2, 0.4; labels 3 and 4 are undecided against all.
        let c = array![
            [0.5, 0.6, 0.3, 0.5, 0.5],
            [0.4, 0.5, 0.6, 0.5, 0.5],
            [0.7, 0.4, 0.5, 0.5, 0.5],
            [0.5, 0.5, 0.5, 0.5, 0.5],
            [0.5, 0.5, 0.5, 0.5, 0.5]
        ];
        let lottery = solve(&c);
        // The probabilities of the cycle have the ratio 1 : 2 : 1, so the smallest of all five is at most 1/6; labels
        // 3 and 4 attain it too.
        let expected = [1.0, 2.0, 1.0, 1.0, 1.0].map(|x| x / 6.0);
        for (p, expected) in lottery.probabilities.iter().zip(expected) {
            assert!((p - expected).abs() < 1e-12, "{lottery:?}");
        }
    }
}
