//! [`Weights`]: one non-negative number per row, or unit weights without storage.

use crate::error::{Error, Result, WeightProblem};

/// Binary exponent of the largest weight after scaling: about 1e148, so that sums and products stay finite.
const SCALED_EXPONENT: i32 = 490;

/// Smallest positive weight after scaling: halves and other fractions of it are still accurate.
const LEAST_WEIGHT: f64 = 1e-280;

/// Weights of the rows of a dataset. A row of weight k counts as k copies of the row.
///
/// Weights near the limits of floats are scaled by a power of two, which keeps their ratios exactly, so that sums and
/// halves of them neither overflow nor vanish.
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
    /// [`Error::WeightCount`], [`Error::Weight`] for a negative, NaN or infinite weight, [`Error::NoWeight`] or
    /// [`Error::WeightOverflow`] for a sum that is zero or infinite, and [`Error::WeightRange`] for weights whose ratio
    /// exceeds about 1e427.
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
        Ok(Self::Each(scale_extremes(weights)?))
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

/// Scales weights by a power of two, unless all positive weights are between 1e-150 and 1e150. Scaling moves the
/// largest weight to about 1e148, so that the smallest ones are as far from underflow as possible.
///
/// # Errors
/// [`Error::WeightRange`] when a positive weight would still be too small.
fn scale_extremes(weights: &[f64]) -> Result<Vec<f64>> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let positive = weights.iter().enumerate().filter(|(_, &w)| w > 0.0);
    let smallest = positive.min_by(|a, b| a.1.total_cmp(b.1));
    let (row, smallest) = smallest.map_or((0, largest), |(row, &weight)| (row, weight));
    if smallest >= 1e-150 && largest <= 1e150 {
        return Ok(weights.to_vec());
    }
    let exponent = SCALED_EXPONENT - largest.log2().floor() as i32;
    // Two factors, because the power of two itself may not be representable; the intermediate product lies between the
    // weight and its scaled value.
    let steps = [
        2_f64.powi(exponent / 2),
        2_f64.powi(exponent - exponent / 2),
    ];
    if smallest * steps[0] * steps[1] < LEAST_WEIGHT {
        return Err(Error::WeightRange {
            row,
            found: smallest,
            largest,
        });
    }
    Ok(weights.iter().map(|w| w * steps[0] * steps[1]).collect())
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
        for extreme in [5e-324, 1e-300, 1e-200, 1e200, 1e300] {
            let weights = Weights::new(Some(&[extreme, 3.0 * extreme]), 2).unwrap();
            assert_eq!(weights.get(1) / weights.get(0), 3.0);
            assert!((1e-160..1e160).contains(&weights.total()));
        }
    }

    #[test]
    fn ratios_are_kept_or_rejected() {
        for (small, large) in [
            (5e-324, 1.0),
            (1e-250, 1e100),
            (1e-100, 1e308),
            (1e-160, 1e-160),
        ] {
            let weights = Weights::new(Some(&[large, small, 0.0]), 3).unwrap();
            assert!((weights.get(1) / small / (weights.get(0) / large) - 1.0).abs() < 1e-15);
            assert!(weights.get(1) > 0.0 && weights.get(2) == 0.0);
        }
        for (small, large) in [(1e-250, 1e250), (5e-324, 1e120)] {
            let error = Weights::new(Some(&[large, small]), 2).unwrap_err();
            let expected = Error::WeightRange {
                row: 1,
                found: small,
                largest: large,
            };
            assert_eq!(error, expected);
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

    #[test]
    fn the_smallest_permitted_ratio_is_kept() {
        // The largest weight is scaled to this power of two.
        let large = 2_f64.powi(SCALED_EXPONENT);
        let weights = [
            2_f64.powi(600),
            LEAST_WEIGHT * 2_f64.powi(600 - SCALED_EXPONENT),
        ];
        let kept = Weights::new(Some(&weights), 2).unwrap();
        assert_eq!((kept.get(0), kept.get(1)), (large, LEAST_WEIGHT));
        let smaller = [weights[0], weights[1] * (1.0 - f64::EPSILON)];
        assert!(Weights::new(Some(&smaller), 2).is_err());
    }
}
