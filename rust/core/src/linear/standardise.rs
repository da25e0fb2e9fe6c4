//! [`Standardiser`]: features and their indicators on a common scale, the inputs of a linear model.

use ndarray::{Array2, ArrayView2};

use crate::categories::MAX_CATEGORIES;
use crate::error::{Error, Result};
use crate::weights::Weights;

/// Standardised values are clipped to ± this, to limit the influence of outliers.
const LIMIT: f64 = 6.0;

/// A categorical feature: its values are the indices of its categories, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CategoricalFeature {
    /// Index of the feature.
    pub feature: u32,
    /// Number of categories, at most [`MAX_CATEGORIES`].
    pub categories: u32,
}

impl CategoricalFeature {
    /// Checks categorical features of a table with `features` features.
    ///
    /// # Errors
    /// [`Error::Parameter`] for features that are not ascending indices, and for too many categories.
    pub(crate) fn check(categorical: &[Self], features: usize) -> Result<()> {
        let is_ascending = categorical.is_sorted_by(|a, b| a.feature < b.feature);
        let last = categorical.last().map_or(0, |last| last.feature as usize);
        if !is_ascending || last >= features {
            return Err(Error::Parameter {
                name: "categorical",
                found: last as f64,
                expected: "indices of features, ascending",
            });
        }
        let most = categorical.iter().map(|own| own.categories).max();
        match most.filter(|&most| most as usize > MAX_CATEGORIES) {
            None => Ok(()),
            Some(most) => Err(Error::Parameter {
                name: "categories",
                found: f64::from(most),
                expected: "at most 255 categories",
            }),
        }
    }
}

/// An input of the linear model: a number that depends on the value of one feature.
#[derive(Debug, Clone, Copy)]
struct Input {
    feature: u32,
    kind: InputKind,
}

#[derive(Debug, Clone, Copy)]
enum InputKind {
    /// The value itself.
    Value,
    /// 1 if the value is missing, else 0.
    Missing,
    /// 1 if the value is this category, else 0; missing if the value is missing.
    Category(u32),
}

impl InputKind {
    #[inline]
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Missing => f64::from(value.is_nan()),
            Self::Category(category) if !value.is_nan() => f64::from(value == f64::from(category)),
            Self::Value | Self::Category(_) => value,
        }
    }
}

/// Mean and standard deviation of each feature, of each indicator of missing values, and of each indicator of a
/// category. Values of a constant feature become 0, and so do missing values: they are replaced by the mean. A missing
/// category has all indicators of its feature at their means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standardiser {
    pub(crate) means: Vec<f64>,
    /// 0 for a constant feature.
    pub(crate) deviations: Vec<f64>,
    /// The features with missing values in training, ascending. Each has an indicator: 1 if the value is missing,
    /// else 0.
    pub(crate) indicators: Vec<u32>,
    /// The categorical features, ascending. Each has an indicator per category; its own value has no influence.
    pub(crate) categorical: Vec<CategoricalFeature>,
}

impl Standardiser {
    /// Weighted means and deviations of values that are finite or missing.
    pub(super) fn new(
        values: ArrayView2<'_, f64>,
        categorical: &[CategoricalFeature],
        weights: &Weights,
    ) -> Self {
        let has_missing = |feature: &u32| {
            let column = values.column(*feature as usize);
            column.iter().any(|value| value.is_nan())
        };
        let mut scale = Self {
            means: Vec::with_capacity(values.ncols()),
            deviations: Vec::with_capacity(values.ncols()),
            indicators: (0..values.ncols() as u32).filter(has_missing).collect(),
            categorical: categorical.to_vec(),
        };
        for Input { feature, kind } in scale.inputs(values.ncols()) {
            if matches!(kind, InputKind::Value) && scale.is_categorical(feature) {
                scale.means.push(0.0);
                scale.deviations.push(0.0);
                continue;
            }
            let column = values.column(feature as usize);
            let column = column.iter().enumerate();
            let column = column.map(|(row, &value)| (weights.get(row), kind.of(value)));
            let is_indicator = matches!(kind, InputKind::Missing);
            if is_indicator || scale.indicators.binary_search(&feature).is_err() {
                scale.add_column(column, weights.total());
            } else {
                let known: Vec<(f64, f64)> = column.filter(|(_, value)| !value.is_nan()).collect();
                let total = known.iter().map(|(weight, _)| weight).sum();
                scale.add_column(known.into_iter(), total);
            }
        }
        scale
    }

    fn is_categorical(&self, feature: u32) -> bool {
        let found = self
            .categorical
            .binary_search_by_key(&feature, |own| own.feature);
        found.is_ok()
    }

    /// All inputs of a table with `features` features: the features, the indicators of missing values, and those of
    /// the categories.
    fn inputs(&self, features: usize) -> Vec<Input> {
        let input = |feature, kind| Input { feature, kind };
        let values = (0..features as u32).map(|feature| input(feature, InputKind::Value));
        let missing = self.indicators.iter();
        let missing = missing.map(|&feature| input(feature, InputKind::Missing));
        let categories = self.categorical.iter().flat_map(|own| {
            let kinds = (0..own.categories).map(InputKind::Category);
            kinds.map(|kind| input(own.feature, kind))
        });
        values.chain(missing).chain(categories).collect()
    }

    /// The feature that each input belongs to.
    pub(crate) fn owners(&self) -> Vec<usize> {
        let inputs = self.inputs(self.features()).into_iter();
        inputs.map(|input| input.feature as usize).collect()
    }

    /// Appends the mean and the deviation of weighted values with this total weight; 0 without values.
    fn add_column(&mut self, column: impl Iterator<Item = (f64, f64)> + Clone, total: f64) {
        // Divide by the largest absolute value, because squares of large floats overflow.
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
        let categories: u32 = self.categorical.iter().map(|own| own.categories).sum();
        self.means.len() - self.indicators.len() - categories as usize
    }

    /// Standardised and clipped features and indicators, divided by the square root of their number, and a last column
    /// of ones.
    pub(crate) fn apply(&self, values: ArrayView2<'_, f64>) -> Array2<f64> {
        let inputs = self.inputs(values.ncols());
        let shrink = 1.0 / (inputs.len() as f64).sqrt();
        let mut out = Array2::ones((values.nrows(), inputs.len() + 1));
        for (row, mut out) in values.rows().into_iter().zip(out.rows_mut()) {
            for (j, input) in inputs.iter().enumerate() {
                let (mean, deviation) = (self.means[j], self.deviations[j]);
                let value = input.kind.of(row[input.feature as usize]);
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
        let scale = Standardiser::new(x.view(), &[], &weights);
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
        let scale = Standardiser::new(x.view(), &[], &weights);
        assert_eq!(
            (scale.features(), scale.indicators.clone()),
            (3, vec![0, 1])
        );
        // Means of the values 1 and 3, with equal weights, of no values, of all values, and of the two indicators: half
        // of the weight is missing in the first feature, all of it in the second.
        assert_eq!(scale.means, [2.0, 0.0, 6.0, 0.5, 1.0]);
        assert_eq!(scale.deviations, [1.0, 0.0, 2.0_f64.sqrt(), 0.5, 0.0]);
        let z = scale.apply(array![[nan, 7.0, nan], [3.0, nan, 6.0]].view()) * 5.0_f64.sqrt();
        let expected = array![[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, -1.0, 0.0]];
        for ((row, column), expected) in expected.indexed_iter() {
            assert!((z[[row, column]] - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn categories_become_indicators() {
        let nan = f64::NAN;
        let x = array![[2.0, 7.0], [0.0, 8.0], [nan, 9.0], [2.0, 6.0], [0.0, 5.0]];
        let weights = Weights::new(Some(&[1.0, 1.0, 1.0, 1.0, 2.0]), 5).unwrap();
        let categorical = [CategoricalFeature {
            feature: 0,
            categories: 3,
        }];
        let scale = Standardiser::new(x.view(), &categorical, &weights);
        assert_eq!(scale.features(), 2);
        assert_eq!(scale.owners(), [0, 1, 0, 0, 0, 0]);
        // The categorical feature, the other feature, the indicator of missing values, and the indicators of three
        // categories, which have 60 %, 0 % and 40 % of the known weight.
        let means = [0.0, 40.0 / 6.0, 1.0 / 6.0, 0.6, 0.0, 0.4];
        for (found, expected) in scale.means.iter().zip(means) {
            assert!((found - expected).abs() < 1e-14);
        }
        assert_eq!((scale.deviations[0], scale.deviations[4]), (0.0, 0.0));
        let z = scale.apply(array![[0.0, 7.0], [nan, 7.0]].view()) * 6.0_f64.sqrt();
        assert!((z[[0, 3]] - 0.4 / 0.24_f64.sqrt()).abs() < 1e-14);
        assert!((z[[0, 5]] + 0.4 / 0.24_f64.sqrt()).abs() < 1e-14);
        assert_eq!([z[[1, 3]], z[[1, 4]], z[[1, 5]]], [0.0; 3]);
        assert!(CategoricalFeature::check(&categorical, 2).is_ok());
        assert!(CategoricalFeature::check(&categorical, 0).is_err());
        assert!(CategoricalFeature::check(&[categorical[0]; 2], 2).is_err());
        let large = CategoricalFeature {
            feature: 1,
            categories: 256,
        };
        assert!(CategoricalFeature::check(&[large], 2).is_err());
    }

    #[test]
    fn columns_of_subnormal_numbers_are_constant() {
        let x = array![[0.0, 1.0], [1e-310, 2.0]];
        let scale = Standardiser::new(x.view(), &[], &Weights::new(None, 2).unwrap());
        assert_eq!(scale.deviations[0], 0.0);
        assert!(scale.deviations[1] > 0.0);
    }
}
