//! [`Curvature`]: an estimate of the second derivatives of the objective, which scales the steps of the minimiser.
//!
//! There is one coefficient per input (a feature, an indicator or the intercept) and output (for each label a utility,
//! which orders the labels, and a tie term, its tendency to be tied).

use crate::cholesky::Cholesky;

/// Second derivatives without the terms between different outputs.
///
/// The terms between inputs are kept where possible: features are often strongly correlated, and with a diagonal
/// estimate the minimiser would need many more steps.
pub(super) enum Curvature {
    /// One Cholesky factor per output.
    Factors(Vec<Cholesky>),
    /// The diagonal, one number per coefficient: the terms between inputs are left out as well.
    Diagonal(Vec<f64>),
}

impl Curvature {
    /// Factorises one matrix per output, plus `ridge(input)` on its diagonal. `blocks` holds the lower triangles,
    /// inputs (0, 0), (1, 0), (1, 1), …; the entries of all outputs for the same two inputs are adjacent. `None` if a
    /// matrix is not positive definite.
    pub(super) fn factorise(
        blocks: &[f64],
        inputs: usize,
        outputs: usize,
        ridge: impl Fn(usize) -> f64,
    ) -> Option<Self> {
        let factor = |output: usize| {
            let mut lower = blocks.iter().skip(output).step_by(outputs);
            let mut matrix = vec![0.0; inputs * inputs];
            for (i, row) in matrix.chunks_exact_mut(inputs).enumerate() {
                for (value, sum) in row[..=i].iter_mut().zip(&mut lower) {
                    *value = *sum;
                }
                row[i] += ridge(i);
            }
            Cholesky::new(matrix, inputs)
        };
        let factors: Option<Vec<_>> = (0..outputs).map(factor).collect();
        factors.map(Self::Factors)
    }

    /// Divides a gradient by the second derivatives.
    pub(super) fn divide(&self, gradient: &mut [f64]) {
        match self {
            Self::Factors(factors) => {
                for (output, factor) in factors.iter().enumerate() {
                    let own = gradient.iter().skip(output).step_by(factors.len());
                    let mut solved: Vec<f64> = own.copied().collect();
                    factor.solve(&mut solved);
                    let own = gradient.iter_mut().skip(output).step_by(factors.len());
                    for (value, solved) in own.zip(solved) {
                        *value = solved;
                    }
                }
            }
            Self::Diagonal(diagonal) => {
                for (value, curvature) in gradient.iter_mut().zip(diagonal) {
                    *value /= curvature;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divide_solves_one_system_per_output() {
        // Two outputs of two inputs: [[4, 1], [1, 3]] and [[2, -1], [-1, 5]].
        let blocks = [3.5, 1.5, 1.0, -1.0, 2.5, 4.5];
        let curvature = Curvature::factorise(&blocks, 2, 2, |_| 0.5).unwrap();
        let mut gradient = [6.0, 1.0, 7.0, 4.0];
        curvature.divide(&mut gradient);
        let solution = [1.0, 1.0, 2.0, 1.0];
        assert!(gradient
            .iter()
            .zip(solution)
            .all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(Curvature::factorise(&[-1.0], 1, 1, |_| 0.5).is_none());
    }

    #[test]
    fn divide_by_a_diagonal() {
        let mut gradient = [6.0, 1.0];
        Curvature::Diagonal(vec![2.0, 4.0]).divide(&mut gradient);
        assert_eq!(gradient, [3.0, 0.25]);
    }
}
