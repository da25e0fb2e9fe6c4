//! [`Separation`]: which labels are ahead of which, beyond the uncertainty of their scores.

use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result};
use crate::run::Interrupt;

/// Difference of scores, in standard errors, above which one label is ahead of (separated from) the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CriticalValue {
    /// The quantile, over resamples, of the largest deviation among all pairs. The field is its level: the confidence
    /// that no pair at all is separated by mistake.
    Simultaneous(f64),
    /// A fixed number, such as a normal quantile, for each pair on its own.
    Fixed(f64),
}

/// Which labels are ahead of which, for all pairs of labels.
///
/// Let s be the scores, `s^b` the scores of resample b, `d_ij = s_i − s_j` and `se_ij` the standard deviation of
/// `d^b_ij` over resamples. Label i is ahead of j when `d_ij / se_ij` exceeds the critical value. A pair with
/// `se_ij = 0` is compared by its scores alone. Labels of different components (connected components of the graph of
/// compared labels) are not compared.
///
/// Reference: M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, *Inference for ranks with applications to mobility
/// across neighbourhoods and academic achievement across countries*, Review of Economic Studies 91, 2024.
#[derive(Debug, Clone, PartialEq)]
pub struct Separation {
    /// The critical value; [`CriticalValue::Simultaneous`] gives 0 when no pair has a positive standard error.
    pub critical: f64,
    /// Whether label i (row) is ahead of label j (column).
    pub ahead: Array2<bool>,
    /// Share of the resamples in which label i scores higher than label j, equal scores counting half; NaN for labels
    /// of different components.
    pub probability: Array2<f64>,
}

impl Separation {
    /// Compares all pairs of labels of the same component: O(n² · resamples). Scores that differ by no more than
    /// `tolerance` are equal.
    ///
    /// # Errors
    /// [`Error::LabelCount`] when scores, resamples and components have different numbers of labels;
    /// [`Error::Interrupted`].
    pub fn new(
        scores: &[f64],
        resampled: ArrayView2<'_, f64>,
        components: &[usize],
        critical: CriticalValue,
        tolerance: f64,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let n = scores.len();
        let counts = [resampled.ncols(), components.len()];
        if let Some(found) = counts.into_iter().find(|&found| found != n) {
            return Err(Error::LabelCount { found, expected: n });
        }
        // One row per label, so that its scores in all resamples are contiguous in memory.
        let by_label = resampled.t().as_standard_layout().into_owned();
        let mut errors = Array2::<f64>::zeros((n, n));
        let mut probability = Array2::from_elem((n, n), f64::NAN);
        let mut largest = vec![0.0_f64; resampled.nrows()];
        for i in 0..n {
            interrupt.check()?;
            probability[[i, i]] = 0.5;
            for j in (i + 1..n).filter(|&j| components[i] == components[j]) {
                let rows = (by_label.row(i), by_label.row(j));
                let differences = || rows.0.iter().zip(rows.1).map(|(a, b)| a - b);
                let (error, share) = spread(differences(), tolerance);
                errors[[i, j]] = error;
                probability[[i, j]] = share;
                probability[[j, i]] = 1.0 - share;
                if error > 0.0 {
                    let difference = scores[i] - scores[j];
                    for (largest, resampled) in largest.iter_mut().zip(differences()) {
                        *largest = largest.max((resampled - difference).abs() / error);
                    }
                }
            }
        }
        let critical = match critical {
            CriticalValue::Fixed(value) => value,
            CriticalValue::Simultaneous(confidence) => quantile(&mut largest, confidence),
        };
        let ahead = Array2::from_shape_fn((n, n), |(i, j)| {
            let difference = scores[i] - scores[j];
            let error = errors[[i.min(j), i.max(j)]];
            components[i] == components[j] && difference > (critical * error).max(tolerance)
        });
        Ok(Self {
            critical,
            ahead,
            probability,
        })
    }
}

/// Two statistics of differences: their standard deviation (0 if none is further than `tolerance` from the mean), and
/// the share of positive ones, with zeros counting half.
fn spread(differences: impl Iterator<Item = f64> + Clone, tolerance: f64) -> (f64, f64) {
    let (mut count, mut sum, mut positive) = (0.0, 0.0, 0.0);
    for difference in differences.clone() {
        count += 1.0;
        sum += difference;
        positive += if difference > tolerance {
            1.0
        } else if difference < -tolerance {
            0.0
        } else {
            0.5
        };
    }
    let mean = sum / count;
    let (mut squares, mut largest) = (0.0, 0.0_f64);
    for difference in differences {
        let deviation = difference - mean;
        squares += deviation * deviation;
        largest = largest.max(deviation.abs());
    }
    let error = if largest > tolerance {
        (squares / (count - 1.0)).sqrt()
    } else {
        0.0
    };
    (error, positive / count)
}

/// Quantile with linear interpolation between order statistics. Sorts the values.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let place = share * (values.len() - 1) as f64;
    let below = place.floor();
    let (low, high) = (values[below as usize], values[place.ceil() as usize]);
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn other_numbers_of_labels_are_rejected() {
        let resampled = array![[1.0, 0.0], [2.0, 1.0]];
        for (scores, components) in [(vec![1.0; 3], vec![0; 3]), (vec![1.0; 2], vec![0; 3])] {
            let found = Separation::new(
                &scores,
                resampled.view(),
                &components,
                CriticalValue::Fixed(1.0),
                0.0,
                &Interrupt::never(),
            );
            assert!(matches!(found, Err(Error::LabelCount { .. })));
        }
    }

    #[test]
    fn a_worked_example() {
        // Differences of labels 0 and 1 in the resamples: 1, 3, 2, 2; standard deviation √(2/3).
        let resampled = array![
            [1.0, 0.0, 5.0],
            [3.0, 0.0, 5.0],
            [2.0, 0.0, 5.0],
            [2.0, 0.0, 5.0]
        ];
        let never = Interrupt::never();
        let compare = |components: &[usize], critical| {
            Separation::new(
                &[2.0, 0.0, 5.0],
                resampled.view(),
                components,
                critical,
                1e-9,
                &never,
            )
            .unwrap()
        };
        let error = (2.0_f64 / 3.0).sqrt();
        let found = compare(&[0, 0, 1], CriticalValue::Simultaneous(1.0));
        assert!((found.critical - 1.0 / error).abs() < 1e-12);
        assert!(found.ahead[[0, 1]] && !found.ahead[[1, 0]]);
        assert!(!found.ahead[[2, 0]] && !found.ahead[[2, 1]]);
        assert_eq!(
            (found.probability[[0, 1]], found.probability[[1, 0]]),
            (1.0, 0.0)
        );
        assert!(found.probability[[2, 0]].is_nan());
        let found = compare(&[0, 0, 0], CriticalValue::Fixed(2.0 / error + 0.1));
        // The difference of labels 1 and 2 is the same in all resamples, so that they are compared exactly.
        assert!(!found.ahead[[0, 1]] && found.ahead[[2, 1]]);
    }

    #[test]
    fn equal_scores_are_never_separated() {
        let noise = Array2::from_shape_fn((10, 3), |(b, i)| 1e-12 * ((b * 3 + i) as f64).sin());
        let critical = CriticalValue::Simultaneous(0.95);
        let scores = [1e-13, 0.0, -1e-13];
        let never = Interrupt::never();
        let found =
            Separation::new(&scores, noise.view(), &[0; 3], critical, 1e-9, &never).unwrap();
        assert_eq!(found.critical, 0.0);
        assert!(found.ahead.iter().all(|ahead| !ahead));
        assert!(found.probability.iter().all(|&share| share == 0.5));
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.75), 2.5);
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 1.0), 3.0);
    }
}
