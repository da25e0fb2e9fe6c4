//! [`DerivativeKind`]: the derivatives of the objective that a pass over the rows adds up.
//!
//! There is one coefficient per input (a feature, an indicator or the intercept) and output (for each label a utility,
//! which orders the labels, and a tie term, its tendency to be tied).

use ndarray::{Array2, ArrayView1};

use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// Which derivatives a pass over the rows adds up. Each is the product of a derivative in an output and of one or two
/// inputs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum DerivativeKind {
    /// First derivative in each coefficient.
    Gradient,
    /// Second derivative in each coefficient.
    Diagonal,
    /// Second derivatives in all pairs of coefficients of the same output: inputs (0, 0), (1, 0), (1, 1), (2, 0), …
    OutputBlocks,
}

impl DerivativeKind {
    /// Number of sums per output.
    pub(super) fn sums_per_output(self, inputs: usize) -> usize {
        match self {
            Self::Gradient | Self::Diagonal => inputs,
            Self::OutputBlocks => inputs * (inputs + 1) / 2,
        }
    }

    /// Writes the inputs, or the products of two inputs, that multiply the derivatives of a row in its outputs.
    #[inline(always)]
    pub(super) fn write_factors(self, inputs: ArrayView1<'_, f64>, factors: &mut [f64]) {
        match self {
            Self::Gradient => factors.iter_mut().zip(inputs).for_each(|(f, x)| *f = *x),
            Self::Diagonal => factors.iter_mut().zip(inputs).for_each(|(f, x)| *f = x * x),
            Self::OutputBlocks => {
                let mut rest = factors;
                for i in 0..inputs.len() {
                    let row;
                    (row, rest) = rest.split_at_mut(i + 1);
                    for (factor, x) in row.iter_mut().zip(inputs) {
                        *factor = inputs[i] * x;
                    }
                }
            }
        }
    }
}

/// Weighted sums of the products of all pairs of inputs, in the order of [`DerivativeKind::OutputBlocks`].
pub(super) fn sum_moments(inputs: &Array2<f64>, weights: &Weights) -> Vec<f64> {
    dispatch(MomentsKernel { inputs, weights })
}

struct MomentsKernel<'a> {
    inputs: &'a Array2<f64>,
    weights: &'a Weights,
}

impl Kernel for MomentsKernel<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let mut moments =
            vec![0.0; DerivativeKind::OutputBlocks.sums_per_output(self.inputs.ncols())];
        let mut factors = moments.clone();
        for (row, inputs) in self.inputs.rows().into_iter().enumerate() {
            DerivativeKind::OutputBlocks.write_factors(inputs, &mut factors);
            let weight = self.weights.get(row);
            for (moment, factor) in moments.iter_mut().zip(&factors) {
                *moment += weight * factor;
            }
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn factors_are_products_of_inputs() {
        let inputs = array![2.0, 3.0, 1.0];
        let factors = |kind: DerivativeKind| {
            let mut factors = vec![0.0; kind.sums_per_output(3)];
            kind.write_factors(inputs.view(), &mut factors);
            factors
        };
        assert_eq!(factors(DerivativeKind::Gradient), [2.0, 3.0, 1.0]);
        assert_eq!(factors(DerivativeKind::Diagonal), [4.0, 9.0, 1.0]);
        assert_eq!(
            factors(DerivativeKind::OutputBlocks),
            [4.0, 6.0, 9.0, 2.0, 3.0, 1.0]
        );
    }
}
