//! [`Standardiser`]: features on a common scale.

use ndarray::{Array2, ArrayView2};

use crate::weights::Weights;

/// Standardised values are clipped to ± this, to limit the influence of outliers.
const LIMIT: f64 = 6.0;

/// Mean and standard deviation of each feature, then of each indicator of missing values. Values of a constant feature
/// become 0, and so do missing values: they are replaced by the mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standardiser {
    pub(crate) means: Vec<f64>,
    /// 0 for a constant feature.
    pub(crate) deviations: Vec<f64>,
    /// The features with missing values in training, ascending. Each has an indicator: 1 if the value is missing, else 0.
    pub(crate) indicators: Vec<u32>,
}

impl Standardiser {
    /// Weighted means and deviations of values that are finite or missing.
    pub(super) fn new(values: ArrayView2<'_, f64>, weights: &Weights) -> Self {
        let mut scale = Self {
            means: Vec::with_capacity(values.ncols()),
            deviations: Vec::with_capacity(values.ncols()),
            indicators: Vec::new(),
        };
        for (feature, column) in values.columns().into_iter().enumerate() {
            if column.iter().any(|value| value.is_nan()) {
                scale.indicators.push(feature as u32);
                let present: Vec<(f64, f64)> = column
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| !value.is_nan())
                    .map(|(row, &value)| (weights.get(row), value))
                    .collect();
                let total = present.iter().map(|(weight, _)| weight).sum();
                scale.add_column(present.into_iter(), total);
            } else {
                let column = column.iter().enumerate();
                scale.add_column(
                    column.map(|(row, &value)| (weights.get(row), value)),
                    weights.total(),
                );
            }
        }
        for feature in scale.indicators.clone() {
            let column = values.column(feature as usize);
            let column = column.iter().enumerate();
            scale.add_column(
                column.map(|(row, value)| (weights.get(row), f64::from(value.is_nan()))),
                weights.total(),
            );
        }
        scale
    }

    /// Appends the mean and the deviation of weighted values with this total weight; 0 without values.
    fn add_column(&mut self, column: impl Iterator<Item = (f64, f64)> + Clone, total: f64) {
        // Divide by the largest value, because squares of large floats overflow.
        let unit = column
            .clone()
            .fold(0.0_f64, |unit, (_, value)| unit.max(value.abs()));
        let first = column.clone().next().map_or(0.0, |(_, value)| value);
        let is_constant = column.clone().all(|(_, value)| value == first);
        if is_constant || unit < f64::MIN_POSITIVE {
            self.means.push(first);
            self.deviations.push(0.0);
            return;
        }
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            let terms = column.clone();
            terms
                .map(|(weight, value)| weight * f(value / unit))
                .sum::<f64>()
                / total
        };
        let mean = weighted(&|value| value);
        let variance = weighted(&|value| (value - mean).powi(2));
        self.means.push(mean * unit);
        self.deviations.push(variance.sqrt() * unit);
    }

    /// Number of features, without indicators.
    pub(super) fn features(&self) -> usize {
        self.means.len() - self.indicators.len()
    }

    /// Standardised and clipped features and indicators, divided by the square root of their number, and a last column
    /// of ones.
    pub(crate) fn apply(&self, values: ArrayView2<'_, f64>) -> Array2<f64> {
        let columns = self.means.len();
        let shrink = 1.0 / (columns as f64).sqrt();
        let mut out = Array2::ones((values.nrows(), columns + 1));
        for (row, mut out) in values.rows().into_iter().zip(out.rows_mut()) {
            let indicators = self
                .indicators
                .iter()
                .map(|&feature| &row[feature as usize]);
            let indicators = indicators.map(|value| f64::from(value.is_nan()));
            for (j, value) in row.iter().copied().chain(indicators).enumerate() {
                let (mean, deviation) = (self.means[j], self.deviations[j]);
                out[j] = if deviation > 0.0 && !value.is_nan() {
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

    #[test]
    fn missing_values_become_the_mean_and_an_indicator() {
        let nan = f64::NAN;
        let x = array![
            [1.0, nan, 4.0],
            [nan, nan, 6.0],
            [3.0, nan, 8.0],
            [8.0, nan, 2.0]
        ];
        let weights = Weights::new(Some(&[1.0, 2.0, 1.0, 0.0]), 4).unwrap();
        let scale = Standardiser::new(x.view(), &weights);
        assert_eq!(
            (scale.features(), scale.indicators.clone()),
            (3, vec![0, 1])
        );
        // The values 1 and 3 with equal weights; no value; all values; half of the weight is missing; all of it.
        assert_eq!(scale.means, [2.0, 0.0, 6.0, 0.5, 1.0]);
        assert_eq!(scale.deviations, [1.0, 0.0, 2.0_f64.sqrt(), 0.5, 0.0]);
        let z = scale.apply(array![[nan, 7.0, nan], [3.0, nan, 6.0]].view()) * 5.0_f64.sqrt();
        let expected = array![[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, -1.0, 0.0]];
        for ((row, column), expected) in expected.indexed_iter() {
            assert!((z[[row, column]] - expected).abs() < 1e-14);
        }
    }
}
