//! An estimate of the second derivatives of the objective, which tells the search for its minimum how far to go.

use crate::cholesky::Cholesky;

/// Second derivatives as if outputs did not influence each other.
///
/// Inputs may be strongly correlated, and a search that knew only the diagonal would take many steps to find that out.
pub(super) enum Curvature {
    /// For each output those in its coefficients, factorised.
    Factors(Vec<Cholesky>),
    /// For each coefficient, inputs being treated as if they were uncorrelated.
    Diagonal(Vec<f64>),
}

impl Curvature {
    /// Factorises the sums of curvature times inputs (0, 0), (1, 0), (1, 1), …, for all outputs each, plus the penalty
    /// of each input. `None` if that is not positive definite.
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

    /// Divides a gradient, n numbers for each input, by the second derivatives.
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
    fn each_output_is_divided_by_its_own_block() {
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
    fn a_diagonal_divides() {
        let mut gradient = [6.0, 1.0];
        Curvature::Diagonal(vec![2.0, 4.0]).divide(&mut gradient);
        assert_eq!(gradient, [3.0, 0.25]);
    }
}
