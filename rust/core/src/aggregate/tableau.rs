//! [`Tableau`]: a dense condensed simplex tableau for small linear programs.
//!
//! Majority games are degenerate: many constraints meet in one vertex, where the simplex method pivots without moving
//! and accumulates rounding errors. It therefore runs on a perturbed right-hand side, which has no degenerate vertices,
//! and updates the true right-hand side alongside. A few steps of the dual simplex method make the final basis optimal
//! for the true right-hand side too.

use crate::run::{Interrupt, WorkMeter};

/// Reduced costs up to this are zero.
pub(super) const ZERO_COST: f64 = 1e-10;
/// A pivot must be larger than this.
const MIN_PIVOT: f64 = 1e-8;
/// Unperturbed values of basic variables may be this far below zero.
const FEASIBILITY_TOLERANCE: f64 = 1e-11;
/// Size of the perturbation of the right-hand side.
const PERTURBATION: f64 = 1e-6;
/// Perturbed values may fall this far below zero if that allows a larger pivot.
const RATIO_TOLERANCE: f64 = 1e-10;

/// Rows are padded to a multiple of this, for vector instructions.
const LANES: usize = 4;

/// The simplex method was interrupted, exceeded the limit of pivots or found the program unbounded; the last two are
/// caused by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SimplexFailure;

/// Basic variables as affine functions of the nonbasic ones: `basic = right − body · nonbasic`, all variables ≥ 0. The
/// current vertex is `nonbasic = 0`. Variables are numbered by the caller.
#[derive(Debug, Default)]
pub(super) struct Tableau {
    /// Counts the work of pivots; an interruption ends with [`SimplexFailure`].
    meter: WorkMeter,
    /// Seed of the perturbation.
    pattern: u64,
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    /// Numbers per row of `body`.
    stride: usize,
    /// Row-major, `stride` numbers per row: coefficients, right-hand side, perturbed right-hand side, padding. The
    /// objective is the last row: its value is `right − Σ cost · nonbasic`, so a column with a negative cost improves
    /// it.
    body: Vec<f64>,
    pivot_row: Vec<f64>,
}

impl Tableau {
    /// A tableau of zeros with the given basic and nonbasic variables. `pattern` selects the perturbation of the
    /// right-hand side.
    pub(super) fn reset(
        &mut self,
        pattern: u64,
        basic: impl IntoIterator<Item = usize>,
        nonbasic: impl IntoIterator<Item = usize>,
    ) {
        self.pattern = pattern;
        self.basic.clear();
        self.basic.extend(basic);
        self.nonbasic.clear();
        self.nonbasic.extend(nonbasic);
        self.stride = (self.nonbasic.len() + 2).next_multiple_of(LANES);
        self.body.clear();
        self.body.resize((self.basic.len() + 1) * self.stride, 0.0);
    }

    pub(super) fn interrupt(&self) -> &Interrupt {
        self.meter.interrupt()
    }

    pub(super) fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.meter = WorkMeter::new(interrupt);
    }

    pub(super) fn pattern(&self) -> u64 {
        self.pattern
    }

    pub(super) fn basic(&self) -> &[usize] {
        &self.basic
    }

    pub(super) fn nonbasic(&self) -> &[usize] {
        &self.nonbasic
    }

    /// Coefficients of one row.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.body[row * self.stride..row * self.stride + self.nonbasic.len()]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.body[row * self.stride..row * self.stride + self.nonbasic.len()]
    }

    /// Costs of the nonbasic variables.
    pub(super) fn costs(&self) -> &[f64] {
        self.row(self.basic.len())
    }

    pub(super) fn costs_mut(&mut self) -> &mut [f64] {
        self.row_mut(self.basic.len())
    }

    /// Value of the basic variable of a row, or of the objective for row `basic().len()`.
    pub(super) fn right(&self, row: usize) -> f64 {
        self.body[row * self.stride + self.nonbasic.len()]
    }

    pub(super) fn set_right(&mut self, row: usize, value: f64) {
        self.body[row * self.stride + self.nonbasic.len()] = value;
    }

    pub(super) fn objective(&self) -> f64 {
        self.right(self.basic.len())
    }

    /// Maximises the objective, starting with the column `first`.
    pub(super) fn maximise(&mut self, first: Option<usize>) -> Result<(), SimplexFailure> {
        self.perturb_right();
        let limit = 1000 + 50 * (self.basic.len() + self.nonbasic.len());
        let mut entering = first.or_else(|| self.entering());
        for _ in 0..limit {
            let Some(column) = entering else {
                return self.restore_feasibility(limit);
            };
            let row = self.leaving(column).ok_or(SimplexFailure)?;
            self.pivot(row, column)?;
            entering = self.entering();
        }
        Err(SimplexFailure)
    }

    /// Makes exactly the wanted variables basic, largest pivots first.
    pub(super) fn exchange_basis(&mut self, wanted: &[bool]) -> Result<(), SimplexFailure> {
        loop {
            let mut best = (0, 0, 0.0);
            for (row, _) in (self.basic.iter().enumerate()).filter(|&(_, &b)| !wanted[b]) {
                let entries = self.row(row).iter().zip(&self.nonbasic).enumerate();
                for (column, (entry, _)) in entries.filter(|&(_, (_, &v))| wanted[v]) {
                    if entry.abs() > best.2 {
                        best = (row, column, entry.abs());
                    }
                }
            }
            let (row, column, size) = best;
            if size > MIN_PIVOT {
                self.pivot(row, column)?;
            } else if self.basic.iter().all(|&b| wanted[b]) {
                return Ok(());
            } else {
                return Err(SimplexFailure);
            }
        }
    }

    /// Perturbs the right-hand side by pseudo-random amounts, the same on every machine.
    fn perturb_right(&mut self) {
        let columns = self.nonbasic.len();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * self.pattern + 1);
        for row in self.body.chunks_exact_mut(self.stride) {
            // A step of the generator xorshift64.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            row[columns + 1] = row[columns].max(0.0) + PERTURBATION * (0.5 + uniform);
        }
    }

    /// The column with the most negative cost.
    fn entering(&self) -> Option<usize> {
        let costs = self.costs().iter().enumerate();
        let (column, &cost) =
            costs.reduce(|best, next| if next.1 < best.1 { next } else { best })?;
        (cost < -ZERO_COST).then_some(column)
    }

    /// The row that first limits the entering column. Among nearly equal limits, the row with the largest pivot, for
    /// accuracy (Harris' ratio test).
    fn leaving(&self, column: usize) -> Option<usize> {
        let perturbed = self.nonbasic.len() + 1;
        let rows = || {
            let rows = self.body.chunks_exact(self.stride).take(self.basic.len());
            rows.enumerate()
                .map(|(row, x)| (row, x[column], x[perturbed].max(0.0)))
        };
        let mut limit = f64::INFINITY;
        for (_, pivot, right) in rows() {
            if pivot > MIN_PIVOT && right + RATIO_TOLERANCE < limit * pivot {
                limit = (right + RATIO_TOLERANCE) / pivot;
            }
        }
        rows()
            .filter(|&(_, pivot, right)| pivot > MIN_PIVOT && right <= limit * pivot)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(row, ..)| row)
    }

    /// Dual simplex method: makes the unperturbed values of the basic variables non-negative and keeps the
    /// costs non-negative.
    fn restore_feasibility(&mut self, limit: usize) -> Result<(), SimplexFailure> {
        for _ in 0..limit {
            let rows = (0..self.basic.len()).map(|row| (row, self.right(row)));
            let lowest = rows.reduce(|low, next| if next.1 < low.1 { next } else { low });
            let Some((row, _)) = lowest.filter(|&(_, value)| value < -FEASIBILITY_TOLERANCE) else {
                return Ok(());
            };
            let entries = self.row(row).iter().zip(self.costs()).enumerate();
            let (column, _) = entries
                .filter(|&(_, (&entry, _))| entry < -MIN_PIVOT)
                .map(|(column, (entry, cost))| (column, cost.max(0.0) / -entry))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .ok_or(SimplexFailure)?;
            self.pivot(row, column)?;
        }
        Err(SimplexFailure)
    }

    /// Exchanges a basic and a nonbasic variable.
    fn pivot(&mut self, row: usize, column: usize) -> Result<(), SimplexFailure> {
        let stride = self.stride;
        let interrupted = self.meter.add(self.body.len() as u64);
        interrupted.map_err(|_| SimplexFailure)?;
        let inverse = 1.0 / self.body[row * stride + column];
        self.pivot_row.clear();
        let own = &self.body[row * stride..(row + 1) * stride];
        self.pivot_row.extend(own.iter().map(|x| x * inverse));
        self.pivot_row[column] = inverse;
        let pivot_row = &self.pivot_row[..stride];
        for other in self.body.chunks_exact_mut(stride) {
            let factor = other[column];
            if factor != 0.0 {
                other[column] = 0.0;
                for (x, p) in other.iter_mut().zip(pivot_row) {
                    *x -= factor * p;
                }
            }
        }
        self.body[row * stride..(row + 1) * stride].copy_from_slice(pivot_row);
        std::mem::swap(&mut self.basic[row], &mut self.nonbasic[column]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_textbook_program() {
        // max 3x + 5y with x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6).
        let mut tableau = Tableau::default();
        tableau.reset(0, [2, 3, 4], [0, 1]);
        for (row, (coefficients, right)) in
            [([1.0, 0.0], 4.0), ([0.0, 2.0], 12.0), ([3.0, 2.0], 18.0)]
                .into_iter()
                .enumerate()
        {
            tableau.row_mut(row).copy_from_slice(&coefficients);
            tableau.set_right(row, right);
        }
        tableau.costs_mut().copy_from_slice(&[-3.0, -5.0]);
        tableau.maximise(None).unwrap();
        assert!((tableau.objective() - 36.0).abs() < 1e-12);
        let value = |variable| {
            let row = tableau.basic().iter().position(|&b| b == variable).unwrap();
            tableau.right(row)
        };
        assert!((value(0) - 2.0).abs() < 1e-12 && (value(1) - 6.0).abs() < 1e-12);
    }

    #[test]
    fn unbounded_program_fails() {
        let mut tableau = Tableau::default();
        tableau.reset(0, [1], [0]);
        tableau.row_mut(0)[0] = -1.0;
        tableau.costs_mut()[0] = -1.0;
        assert_eq!(tableau.maximise(None), Err(SimplexFailure));
    }

    #[test]
    fn beales_cycling_program_terminates() {
        let mut tableau = Tableau::default();
        tableau.reset(0, [4, 5, 6], [0, 1, 2, 3]);
        let rows = [
            ([0.25, -60.0, -1.0 / 25.0, 9.0], 0.0),
            ([0.5, -90.0, -1.0 / 50.0, 3.0], 0.0),
            ([0.0, 0.0, 1.0, 0.0], 1.0),
        ];
        for (row, (coefficients, right)) in rows.into_iter().enumerate() {
            tableau.row_mut(row).copy_from_slice(&coefficients);
            tableau.set_right(row, right);
        }
        tableau
            .costs_mut()
            .copy_from_slice(&[-0.75, 150.0, -0.02, 6.0]);
        tableau.maximise(None).unwrap();
        assert!((tableau.objective() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn dual_simplex_starts_from_an_infeasible_vertex() {
        // min x + y with x + 2y ≥ 4, 3x + y ≥ 6: 2.8 at (1.6, 1.2).
        let mut tableau = Tableau::default();
        tableau.reset(0, [2, 3], [0, 1]);
        for (row, (coefficients, right)) in [([-1.0, -2.0], -4.0), ([-3.0, -1.0], -6.0)]
            .into_iter()
            .enumerate()
        {
            tableau.row_mut(row).copy_from_slice(&coefficients);
            tableau.set_right(row, right);
        }
        tableau.costs_mut().copy_from_slice(&[1.0, 1.0]);
        tableau.maximise(None).unwrap();
        assert!((tableau.objective() + 2.8).abs() < 1e-12);
        assert!((0..2).all(|row| tableau.right(row) > 1.0));
    }

    #[test]
    fn the_first_of_the_most_negative_costs_enters() {
        let mut tableau = Tableau::default();
        tableau.reset(0, [4], [0, 1, 2, 3]);
        for (costs, expected) in [
            ([1.0, -2.0, -2.0, -1.0], Some(1)),
            ([0.0, -1.0, -3.0, -3.0], Some(2)),
            ([0.0, 1.0, 0.0, 2.0], None),
            ([0.0, -1e-300, 0.0, 0.0], None),
        ] {
            tableau.costs_mut().copy_from_slice(&costs);
            assert_eq!(tableau.entering(), expected);
        }
    }
}
