//! [`Cholesky`] solves symmetric positive definite systems of linear equations; [`CholeskySolver`] solves many systems
//! with the same matrix.

use crate::simd::{dispatch, Kernel};

/// Cholesky factor: the lower triangle L with L·Lᵀ = matrix.
pub(crate) struct Cholesky {
    lower: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factorises a row-major matrix; only its lower triangle is read. `None` unless it is positive definite.
    pub(crate) fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        for j in 0..size {
            for i in j..size {
                let (head, tail) = matrix.split_at(i * size);
                let row_j = if i == j {
                    &tail[..j]
                } else {
                    &head[j * size..j * size + j]
                };
                let dot: f64 = tail[..j].iter().zip(row_j).map(|(a, b)| a * b).sum();
                let remainder = tail[j] - dot;
                let value = if i > j {
                    remainder / matrix[j * size + j]
                } else if remainder > 0.0 {
                    remainder.sqrt()
                } else {
                    return None;
                };
                matrix[i * size + j] = value;
            }
        }
        Some(Self {
            lower: matrix,
            size,
        })
    }

    /// Replaces b by L⁻¹ b.
    fn substitute_forward(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = &self.lower[i * self.size..i * self.size + i];
            let dot: f64 = row.iter().zip(&*b).map(|(a, b)| a * b).sum();
            b[i] = (b[i] - dot) / self.lower[i * self.size + i];
        }
    }

    /// Replaces b by the solution of matrix · x = b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.substitute_forward(b);
        for i in (0..self.size).rev() {
            let row = &self.lower[i * self.size..i * self.size + i];
            b[i] /= self.lower[i * self.size + i];
            let solved = b[i];
            for (b, l) in b.iter_mut().zip(row) {
                *b -= l * solved;
            }
        }
    }
}

/// A Cholesky factor with its transpose: both substitutions subtract multiples of rows, which compiles to vector
/// instructions. Takes twice the memory; solutions differ from those of [`Cholesky`] by rounding.
pub(crate) struct CholeskySolver {
    factor: Cholesky,
    /// The transpose Lᵀ, row-major.
    upper: Vec<f64>,
    /// `1 / L_ii`.
    inverse_diagonal: Vec<f64>,
}

impl From<Cholesky> for CholeskySolver {
    fn from(factor: Cholesky) -> Self {
        let (size, lower) = (factor.size, &factor.lower);
        let mut upper = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                upper[j * size + i] = lower[i * size + j];
            }
        }
        let inverse_diagonal = lower.iter().step_by(size + 1).map(|d| 1.0 / d).collect();
        Self {
            factor,
            upper,
            inverse_diagonal,
        }
    }
}

impl CholeskySolver {
    /// Replaces b by the solution of matrix · x = b. The solution is bit-identical with every instruction set.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        dispatch(SolveKernel { solver: self, b });
    }
}

struct SolveKernel<'a> {
    solver: &'a CholeskySolver,
    b: &'a mut [f64],
}

impl Kernel for SolveKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { solver, b } = self;
        let size = solver.factor.size;
        for i in 0..size {
            let solved = b[i] * solver.inverse_diagonal[i];
            b[i] = solved;
            let row = &solver.upper[i * size + i + 1..(i + 1) * size];
            subtract_multiple(&mut b[i + 1..], row, solved);
        }
        for i in (0..size).rev() {
            let solved = b[i] * solver.inverse_diagonal[i];
            b[i] = solved;
            let row = &solver.factor.lower[i * size..i * size + i];
            subtract_multiple(&mut b[..i], row, solved);
        }
    }
}

#[inline(always)]
fn subtract_multiple(b: &mut [f64], row: &[f64], factor: f64) {
    for (b, l) in b.iter_mut().zip(row) {
        *b -= l * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solve_inverts_the_product() {
        let matrix = vec![4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];
        let factor = Cholesky::new(matrix.clone(), 3).unwrap();
        let expected = [1.0, -2.0, 3.0];
        let mut b: Vec<f64> = matrix
            .chunks(3)
            .map(|row| row.iter().zip(expected).map(|(a, x)| a * x).sum())
            .collect();
        let mut again = b.clone();
        factor.solve(&mut b);
        CholeskySolver::from(factor).solve(&mut again);
        for solution in [b, again] {
            let mut both = solution.iter().zip(expected);
            assert!(both.all(|(x, y)| (x - y).abs() < 1e-14));
        }
    }

    #[test]
    fn indefinite_matrices_have_no_factor() {
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
    }
}
