//! [`Standardiser`]: features on a common scale.

use ndarray::{Array2, ArrayView2};

use crate::weights::Weights;

/// Standardised values are clipped to ± this, to limit the influence of outliers.
const LIMIT: f64 = 6.0;

/// Mean and standard deviation of each feature. Values of a constant feature become 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standardiser {
    pub(crate) means: Vec<f64>,
    /// 0 for a constant feature.
    pub(crate) deviations: Vec<f64>,
}

impl Standardiser {
    /// Weighted means and deviations of finite values.
    pub(super) fn new(values: ArrayView2<'_, f64>, weights: &Weights) -> Self {
        let total = weights.total();
        let mut means = Vec::with_capacity(values.ncols());
        let mut deviations = Vec::with_capacity(values.ncols());
        for column in values.columns() {
            // Divide by the largest value, because squares of large floats overflow.
            let unit = column
                .iter()
                .fold(0.0_f64, |unit, value| unit.max(value.abs()));
            let is_constant = column.iter().all(|value| *value == column[0]);
            if is_constant || unit < f64::MIN_POSITIVE {
                means.push(column[0]);
                deviations.push(0.0);
                continue;
            }
            let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
                let terms = column.iter().enumerate();
                terms
                    .map(|(row, value)| weights.get(row) * f(value / unit))
                    .sum::<f64>()
                    / total
            };
            let mean = weighted(&|value| value);
            let variance = weighted(&|value| (value - mean).powi(2));
            means.push(mean * unit);
            deviations.push(variance.sqrt() * unit);
        }
        Self { means, deviations }
    }

    /// Standardised and clipped values divided by the square root of the number of features, and a last column of ones.
    pub(crate) fn apply(&self, values: ArrayView2<'_, f64>) -> Array2<f64> {
        let (rows, columns) = values.dim();
        let shrink = 1.0 / (columns as f64).sqrt();
        let mut out = Array2::ones((rows, columns + 1));
        for (row, mut out) in values.rows().into_iter().zip(out.rows_mut()) {
            for (j, &value) in row.iter().enumerate() {
                let (mean, deviation) = (self.means[j], self.deviations[j]);
                out[j] = if deviation > 0.0 {
                    // Divide first: the difference of two large numbers can overflow.
                    let standard = value / deviation - mean / deviation;
                    standard.clamp(-LIMIT, LIMIT) * shrink
                } else {
                    0.0
                };
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_are_standardised_and_clipped() {
        let x = array![[1.0, 5.0, f64::MAX], [2.0, 5.0, -f64::MAX], [3.0, 5.0, 0.0]];
        let weights = Weights::new(Some(&[1.0, 2.0, 1.0]), 3).unwrap();
        let scale = Standardiser::new(x.view(), &weights);
        assert_eq!(scale.means[0], 2.0);
        assert!((scale.deviations[0] - 0.5_f64.sqrt()).abs() < 1e-15);
        let z = scale.apply(x.view());
        assert!(z.iter().all(|value| value.is_finite()));
        assert_eq!(z.column(1).to_vec(), [0.0; 3]);
        assert_eq!(z.column(3).to_vec(), [1.0; 3]);
        let far = scale.apply(array![[1e9, 7.0, 0.0]].view());
        assert!((far[[0, 0]] - LIMIT / 3.0_f64.sqrt()).abs() < 1e-14);
    }
}
