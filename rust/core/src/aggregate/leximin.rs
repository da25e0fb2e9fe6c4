//! The fairest of all maximal lotteries, on the optimal face of a simplex tableau.
//!
//! After the game is solved, the nonbasic variables with zero cost span the set of all maximal lotteries. On it the
//! smallest probability is maximised; labels that hold it there are fixed, and the smallest of the others is
//! maximised, until a single point is left. A convex set has exactly one such leximin point, so the result is
//! unique and does not depend on the order of the labels. Each stage continues from the vertex of the one before.

use super::symmetric_game::SymmetricGame;
use super::tableau::{Stuck, Tableau, ZERO};

/// A face smaller than this is a point.
const POINT: f64 = 1e-9;
/// The smallest objective that counts as reaching the value of the game.
const SOLVED: f64 = 1e-9;
/// Coefficients up to here do not move a label's probability.
const FLAT: f64 = 1e-10;

/// A maximal lottery.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lottery {
    pub(super) probabilities: Vec<f64>,
    /// Whether it is the only one.
    pub(super) unique: bool,
}

/// The leximin-fairest optimal strategy of the game.
///
/// The game with payoff 1 + A has value 1, so p solves: maximise Σ p with (1 + A) p ≤ 1, p ≥ 0. The variables are the
/// probabilities 0..n and the slacks n..2n of the constraints.
///
/// Every cost of the solved program positive means that its solution is unique. Otherwise the face may still be a
/// point, which one more program decides: the current vertex is where all free variables are 0, so their sum can grow
/// unless it is the only one.
pub(super) fn fairest(
    game: &SymmetricGame,
    safest: usize,
    tableau: &mut Tableau,
) -> Result<Lottery, Stuck> {
    let n = game.labels();
    tableau.reset(n..2 * n, 0..n);
    for label in 0..n {
        for (entry, margin) in tableau.row_mut(label).iter_mut().zip(game.row(label)) {
            *entry = 1.0 + margin;
        }
        tableau.set_right(label, 1.0);
    }
    tableau.costs_mut().fill(-1.0);
    tableau.maximise(Some(safest), f64::INFINITY)?;
    if (tableau.objective() - 1.0).abs() > SOLVED {
        return Err(Stuck);
    }
    if tableau.costs().iter().all(|&cost| cost > ZERO) {
        return Ok(Lottery {
            probabilities: vertex(n, tableau),
            unique: true,
        });
    }
    let mut face = restrict(tableau, |_, cost| cost <= ZERO, |_| true);
    face.costs_mut().fill(-1.0);
    face.maximise(None, POINT)?;
    if face.objective() <= POINT {
        return Ok(Lottery {
            probabilities: vertex(n, &face),
            unique: true,
        });
    }
    Ok(Lottery {
        probabilities: Stages::new(n, &face).run(face)?,
        unique: false,
    })
}

/// Probabilities at the current vertex.
fn vertex(n: usize, tableau: &Tableau) -> Vec<f64> {
    let mut p = vec![0.0; n];
    for (row, &variable) in tableau.basic().iter().enumerate() {
        if variable < n {
            p[variable] = tableau.right(row);
        }
    }
    p
}

/// The part of a tableau with some columns (by variable and cost) and rows (by number); costs become 0.
fn restrict(
    tableau: &Tableau,
    column: impl Fn(usize, f64) -> bool,
    row: impl Fn(usize) -> bool,
) -> Tableau {
    let costs = tableau.nonbasic().iter().zip(tableau.costs()).enumerate();
    let columns: Vec<usize> = costs
        .filter(|&(_, (&variable, &cost))| column(variable, cost))
        .map(|(index, _)| index)
        .collect();
    let rows: Vec<usize> = (0..tableau.basic().len()).filter(|&r| row(r)).collect();
    let mut part = Tableau::default();
    part.reset(
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

/// Maximisation of the smallest probability among the free labels, again and again.
struct Stages {
    labels: usize,
    /// Labels whose probability is not decided; in the tableau, their variables count from `level`.
    free: Vec<bool>,
    fixed: Vec<f64>,
    /// The largest smallest probability of the free labels so far.
    level: f64,
}

impl Stages {
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

    fn run(mut self, mut face: Tableau) -> Result<Vec<f64>, Stuck> {
        // Every stage fixes a label.
        for _ in 0..=self.labels {
            self.fix_constants(&face);
            if !self.free.contains(&true) {
                return Ok(self.fixed);
            }
            face = self.raise(&face)?;
        }
        Err(Stuck)
    }

    /// Fixes the labels whose probability is the same on the whole face.
    fn fix_constants(&mut self, face: &Tableau) {
        for (row, &variable) in face.basic().iter().enumerate() {
            if self.is_free(variable) && face.row(row).iter().all(|x| x.abs() <= FLAT) {
                self.fix(variable, self.level + face.right(row));
            }
        }
    }

    /// Maximises t where every free probability is at least `level + t`, and fixes the labels that stop it.
    fn raise(&mut self, face: &Tableau) -> Result<Tableau, Stuck> {
        let t = 2 * self.labels;
        let columns = face.nonbasic().len();
        let mut stage = Tableau::default();
        stage.reset(
            face.basic().iter().copied(),
            face.nonbasic().iter().copied().chain([t]),
        );
        for (row, &variable) in face.basic().iter().enumerate() {
            // The variable of a free label now counts from t: as a column it is replaced by itself + t, as a row it
            // loses t.
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
        stage.maximise(Some(columns), f64::INFINITY)?;

        self.level += stage.objective();
        for (&variable, &cost) in stage.nonbasic().iter().zip(stage.costs()) {
            if cost > ZERO && self.is_free(variable) {
                self.fix(variable, self.level);
            }
        }
        // t never leaves: its row is the objective, so the cost of a column that could push it out is positive.
        let basic = stage.basic();
        Ok(restrict(
            &stage,
            |_, cost| cost <= ZERO,
            |row| basic[row] != t,
        ))
    }

    fn is_free(&self, variable: usize) -> bool {
        variable < self.labels && self.free[variable]
    }

    fn fix(&mut self, label: usize, probability: f64) {
        self.free[label] = false;
        self.fixed[label] = probability;
    }
}
