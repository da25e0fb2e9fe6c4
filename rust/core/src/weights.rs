//! [`Weights`]: one non-negative number per row, or unit weights without storage.

use crate::error::{Error, Result, WeightProblem};

/// Weights of the rows of a data set. A row of weight k counts as k copies of the row.
///
/// Only ratios of weights matter. Weights near the limits of floats are scaled by a power of two, which is exact, so
/// that sums and halves of them neither overflow nor vanish.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// Weight 1 for each of this many rows.
    Unit(usize),
    /// Finite, non-negative, with a positive and finite sum.
    Each(Vec<f64>),
}

impl Weights {
    /// Checks weights for `rows` rows; `None` and all ones are unit weights.
    ///
    /// # Errors
    /// [`Error::WeightCount`], [`Error::Weight`] for a negative, NaN or infinite weight, and [`Error::NoWeight`] or
    /// [`Error::WeightOverflow`] for a sum that is zero or infinite.
    pub fn new(weights: Option<&[f64]>, rows: usize) -> Result<Self> {
        let Some(weights) = weights else {
            return Ok(Self::Unit(rows));
        };
        if weights.len() != rows {
            return Err(Error::WeightCount {
                found: weights.len(),
                rows,
            });
        }
        for (row, &found) in weights.iter().enumerate() {
            let problem = if !found.is_finite() {
                WeightProblem::NotFinite
            } else if found < 0.0 {
                WeightProblem::Negative
            } else {
                continue;
            };
            return Err(Error::Weight {
                row,
                found,
                problem,
            });
        }
        let total: f64 = weights.iter().sum();
        if total == 0.0 {
            return Err(Error::NoWeight { rows });
        }
        if !total.is_finite() {
            return Err(Error::WeightOverflow);
        }
        if weights.iter().all(|&w| w == 1.0) {
            return Ok(Self::Unit(rows));
        }
        Ok(Self::Each(scale_extremes(weights)))
    }

    /// The weights of a subset of rows, which must not all be 0.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Unit(_) => Self::Unit(rows.len()),
            Self::Each(weights) => Self::Each(rows.iter().map(|&row| weights[row]).collect()),
        }
    }

    /// Weight of one row.
    #[must_use]
    pub fn get(&self, row: usize) -> f64 {
        match self {
            Self::Unit(_) => 1.0,
            Self::Each(weights) => weights[row],
        }
    }

    /// Sum of all weights.
    #[must_use]
    pub fn total(&self) -> f64 {
        match self {
            Self::Unit(rows) => *rows as f64,
            Self::Each(weights) => weights.iter().sum(),
        }
    }
}

/// Scales extreme weights by a power of two so that the largest is within 1e±150.
fn scale_extremes(weights: &[f64]) -> Vec<f64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let step = if largest > 1e150 {
        2_f64.powi(-500)
    } else {
        2_f64.powi(500)
    };
    let mut scaled = weights.to_vec();
    let mut reached = largest;
    // The smallest floats need two steps, whose product is not representable as one factor.
    while !(1e-150..=1e150).contains(&reached) {
        for weight in &mut scaled {
            *weight *= step;
        }
        reached *= step;
    }
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_one_become_unit_weights() {
        assert_eq!(
            Weights::new(Some(&[1.0, 1.0]), 2).unwrap(),
            Weights::Unit(2)
        );
    }

    #[test]
    fn extreme_weights_keep_their_ratios() {
        for extreme in [5e-324, 1e-300, 1e300] {
            let weights = Weights::new(Some(&[extreme, 3.0 * extreme]), 2).unwrap();
            assert_eq!(weights.get(1) / weights.get(0), 3.0);
            assert!((1e-160..1e160).contains(&weights.total()));
        }
    }

    #[test]
    fn invalid_weights_are_rejected() {
        let invalid: [&[f64]; 6] = [
            &[-1.0, 1.0],
            &[f64::NAN, 1.0],
            &[f64::INFINITY, 1.0],
            &[0.0, 0.0],
            &[1.0],
            &[f64::MAX, f64::MAX],
        ];
        for weights in invalid {
            assert!(Weights::new(Some(weights), 2).is_err(), "{weights:?}");
        }
    }
}
