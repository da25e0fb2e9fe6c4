//! [`Order`]: which derivatives of the objective are summed over the rows.

use ndarray::{Array2, ArrayView1};

use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// What is summed over the rows: for each output its derivative times inputs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// First derivatives in each coefficient.
    First,
    /// Second derivatives in each coefficient.
    Diagonal,
    /// Second derivatives in any two coefficients of an output: inputs (0, 0), (1, 0), (1, 1), (2, 0), …
    Blocks,
}

impl Order {
    /// Numbers of an output.
    pub(super) fn len(self, inputs: usize) -> usize {
        match self {
            Self::First | Self::Diagonal => inputs,
            Self::Blocks => inputs * (inputs + 1) / 2,
        }
    }

    /// What the derivatives of a row are multiplied by.
    #[inline(always)]
    pub(super) fn write_factors(self, inputs: ArrayView1<'_, f64>, factors: &mut [f64]) {
        match self {
            Self::First => factors.iter_mut().zip(inputs).for_each(|(f, x)| *f = *x),
            Self::Diagonal => factors.iter_mut().zip(inputs).for_each(|(f, x)| *f = x * x),
            Self::Blocks => {
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

/// The weighted sums of products of two inputs, in the order of [`Order::Blocks`].
pub(super) fn moments(inputs: &Array2<f64>, weights: &Weights) -> Vec<f64> {
    dispatch(Moments { inputs, weights })
}

struct Moments<'a> {
    inputs: &'a Array2<f64>,
    weights: &'a Weights,
}

impl Kernel for Moments<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let mut moments = vec![0.0; Order::Blocks.len(self.inputs.ncols())];
        let mut factors = moments.clone();
        for (row, inputs) in self.inputs.rows().into_iter().enumerate() {
            Order::Blocks.write_factors(inputs, &mut factors);
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
        let factors = |order: Order| {
            let mut factors = vec![0.0; order.len(3)];
            order.write_factors(inputs.view(), &mut factors);
            factors
        };
        assert_eq!(factors(Order::First), [2.0, 3.0, 1.0]);
        assert_eq!(factors(Order::Diagonal), [4.0, 9.0, 1.0]);
        assert_eq!(factors(Order::Blocks), [4.0, 6.0, 9.0, 2.0, 3.0, 1.0]);
    }
}
