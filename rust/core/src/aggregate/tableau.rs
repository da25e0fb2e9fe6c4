//! [`Tableau`]: a dense condensed simplex tableau for small linear programs.

/// Reduced costs up to here are zero.
pub(super) const ZERO: f64 = 1e-10;
/// A pivot must be larger than this.
const PIVOT: f64 = 1e-9;
/// Steps up to this length make no progress.
const STEP: f64 = 1e-12;
/// Room for the right-hand side and for vector instructions: rows are as long as a multiple of this.
const LANES: usize = 4;

/// The linear program did not end within the bound on pivots, or is unbounded; both mean trouble with rounding here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stuck;

/// Basic variables as affine functions of the nonbasic ones: `basic = right − body · nonbasic`, all of them ≥ 0.
/// The current vertex is `nonbasic = 0`. Variables are numbers that the user of the tableau gives a meaning.
#[derive(Debug, Default)]
pub(super) struct Tableau {
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    stride: usize,
    /// Row-major, `stride` a row: coefficients, right-hand side, padding. The objective is the last row: its value
    /// is `right − Σ cost · nonbasic`, so a negative cost is worth entering.
    body: Vec<f64>,
    pivot_row: Vec<f64>,
}

impl Tableau {
    /// A tableau of zeros with the given basic and nonbasic variables.
    pub(super) fn reset(
        &mut self,
        basic: impl IntoIterator<Item = usize>,
        nonbasic: impl IntoIterator<Item = usize>,
    ) {
        self.basic.clear();
        self.basic.extend(basic);
        self.nonbasic.clear();
        self.nonbasic.extend(nonbasic);
        self.stride = (self.nonbasic.len() + 1).next_multiple_of(LANES);
        self.body.clear();
        self.body.resize((self.basic.len() + 1) * self.stride, 0.0);
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

    /// Value of the basic variable of one row; of the objective for the row behind the last.
    pub(super) fn right(&self, row: usize) -> f64 {
        self.body[row * self.stride + self.nonbasic.len()]
    }

    pub(super) fn set_right(&mut self, row: usize, value: f64) {
        self.body[row * self.stride + self.nonbasic.len()] = value;
    }

    pub(super) fn objective(&self) -> f64 {
        self.right(self.basic.len())
    }

    /// Maximises the objective by the primal simplex method, starting with the column `first`, until no cost is
    /// negative or the objective exceeds `enough`.
    ///
    /// The column with the most negative cost enters; after steps without progress, the smallest variable does
    /// (Bland's rule), which cannot cycle. The number of pivots is bounded all the same.
    pub(super) fn maximise(&mut self, first: Option<usize>, enough: f64) -> Result<(), Stuck> {
        let limit = 1000 + 50 * (self.basic.len() + self.nonbasic.len());
        let mut idle = 0;
        let mut entering = first.or_else(|| self.entering(false));
        for _ in 0..limit {
            let Some(column) = entering else {
                return Ok(());
            };
            let careful = idle > 20;
            let row = self.leaving(column, careful).ok_or(Stuck)?;
            let progress = self.right(row) / self.row(row)[column] > STEP;
            idle = if progress { 0 } else { idle + 1 };
            self.pivot(row, column);
            if self.objective() > enough {
                return Ok(());
            }
            entering = self.entering(idle > 20);
        }
        Err(Stuck)
    }

    fn entering(&self, careful: bool) -> Option<usize> {
        let costs = self.costs().iter().enumerate();
        let mut candidates = costs.filter(|&(_, &cost)| cost < -ZERO);
        if careful {
            return candidates
                .map(|(column, _)| column)
                .min_by_key(|&column| self.nonbasic[column]);
        }
        let first = candidates.next()?;
        let best = candidates.fold(
            first,
            |best, next| if next.1 < best.1 { next } else { best },
        );
        Some(best.0)
    }

    /// The row that limits the column first. Among equal limits: the largest pivot, for accuracy, or the smallest
    /// variable when being careful not to cycle.
    fn leaving(&self, column: usize, careful: bool) -> Option<usize> {
        let mut best: Option<(usize, f64, f64)> = None;
        for row in 0..self.basic.len() {
            let pivot = self.body[row * self.stride + column];
            if pivot <= PIVOT {
                continue;
            }
            let limit = self.right(row).max(0.0) / pivot;
            let better = best.is_none_or(|(other, least, largest)| {
                if (limit - least).abs() > STEP {
                    limit < least
                } else if careful {
                    self.basic[row] < self.basic[other]
                } else {
                    pivot > largest
                }
            });
            if better {
                best = Some((row, limit, pivot));
            }
        }
        best.map(|(row, ..)| row)
    }

    /// Exchanges a basic and a nonbasic variable.
    fn pivot(&mut self, row: usize, column: usize) {
        let stride = self.stride;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_textbook_program() {
        // max 3x + 5y with x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6).
        let mut tableau = Tableau::default();
        tableau.reset([2, 3, 4], [0, 1]);
        for (row, (coefficients, right)) in
            [([1.0, 0.0], 4.0), ([0.0, 2.0], 12.0), ([3.0, 2.0], 18.0)]
                .into_iter()
                .enumerate()
        {
            tableau.row_mut(row).copy_from_slice(&coefficients);
            tableau.set_right(row, right);
        }
        tableau.costs_mut().copy_from_slice(&[-3.0, -5.0]);
        tableau.maximise(None, f64::INFINITY).unwrap();
        assert!((tableau.objective() - 36.0).abs() < 1e-12);
        let value = |variable| {
            let row = tableau.basic().iter().position(|&b| b == variable).unwrap();
            tableau.right(row)
        };
        assert!((value(0) - 2.0).abs() < 1e-12 && (value(1) - 6.0).abs() < 1e-12);
    }

    #[test]
    fn an_unbounded_program_is_stuck() {
        let mut tableau = Tableau::default();
        tableau.reset([1], [0]);
        tableau.row_mut(0)[0] = -1.0;
        tableau.costs_mut()[0] = -1.0;
        assert_eq!(tableau.maximise(None, f64::INFINITY), Err(Stuck));
    }

    #[test]
    fn a_program_that_cycles_without_care_ends() {
        // Beale's example.
        let mut tableau = Tableau::default();
        tableau.reset([4, 5, 6], [0, 1, 2, 3]);
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
        tableau.maximise(None, f64::INFINITY).unwrap();
        assert!((tableau.objective() - 0.05).abs() < 1e-12);
    }
}
