//! [`Posterior`]: the most probable utilities and tie terms of a set of rankings, with standard errors.

use crate::cholesky::Cholesky;
use crate::error::{Error, Result};
use crate::pairs::PairCounts;

use super::counts::compared_labels;
use super::row::{Derivatives, LatentRow};

/// Largest number of labels: the second derivatives are a dense matrix with twice as many rows.
pub const MAX_POSTERIOR_LABELS: usize = 512;

/// If the largest weight of a pair is outside this range, weights are divided by it: rounding would lose either the prior
/// or the data.
const PLAIN_WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// The fit ends when the predicted decrease of the next step, relative to the objective, is not larger.
const TOLERANCE: f64 = 1e-14;
/// Newton's method needs a few dozen steps at most on a strictly convex function; this bounds loops caused by rounding.
const MAX_STEPS: usize = 200;
/// Largest number of halvings in a line search.
const HALVINGS: usize = 60;

/// Mode of the posterior under independent normal priors around 0, with the normal approximation at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// n utilities, then n tie terms.
    pub scores: Vec<f64>,
    /// Square roots of the diagonal of the inverse second derivatives. Utilities are taken relative to the mean of the
    /// compared labels: the likelihood does not depend on a common shift, whose prior variance would dominate.
    pub standard_errors: Vec<f64>,
}

impl Posterior {
    /// Fits by damped Newton steps. `ridge` > 0 is the inverse variance of the prior. O(n³) per step. If the largest
    /// weight of a pair is outside 1e-9 to 1e9, weights are taken relative to it.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`], or [`Error::Unsolved`] when a step cannot be computed.
    pub fn fit(counts: &PairCounts, ridge: f64) -> Result<Self> {
        let n = counts.labels();
        if n > MAX_POSTERIOR_LABELS {
            return Err(Error::TooManyLabels {
                found: n,
                limit: MAX_POSTERIOR_LABELS,
            });
        }
        let unit = weight_unit(counts);
        let ridge = ridge * unit;
        let mut scores = vec![0.0; 2 * n];
        let mut value = objective(counts, ridge, &scores);
        for _ in 0..MAX_STEPS {
            let gradient = gradient(counts, ridge, &scores);
            let mut step = gradient.clone();
            factor(hessian(counts, ridge, &scores), 2 * n)?.solve(&mut step);
            // Twice the decrease predicted by the quadratic model.
            let predicted: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            if predicted <= TOLERANCE * (unit + value.abs()) {
                // Take the last step: convergence is quadratic, so it squares the error.
                move_by(&mut scores, &step, 1.0);
                break;
            }
            let mut length = 1.0;
            let mut moved = false;
            for _ in 0..HALVINGS {
                let mut next = scores.clone();
                move_by(&mut next, &step, length);
                let there = objective(counts, ridge, &next);
                if there <= value - 1e-4 * length * predicted {
                    (scores, value, moved) = (next, there, true);
                    break;
                }
                length /= 2.0;
            }
            if !moved {
                break;
            }
        }
        let variances = variances(counts, ridge, hessian(counts, ridge, &scores))?;
        Ok(Self {
            standard_errors: variances.iter().map(|v| (v * unit).sqrt()).collect(),
            scores,
        })
    }
}

/// Unit of the weights. The prior is multiplied by it instead of dividing each weight, which gives the same model.
fn weight_unit(counts: &PairCounts) -> f64 {
    let n = counts.labels();
    let seen = |u, v| counts.before(u, v) + counts.tied(u, v) + counts.before(v, u);
    let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let largest = pairs.map(|(u, v)| seen(u, v)).fold(0.0, f64::max);
    if largest == 0.0 || PLAIN_WEIGHTS.contains(&largest) {
        1.0
    } else {
        largest
    }
}

/// Subtracts `length` times `step`.
fn move_by(scores: &mut [f64], step: &[f64], length: f64) {
    for (score, step) in scores.iter_mut().zip(step) {
        *score -= length * step;
    }
}

/// Penalty minus log-likelihood.
fn objective(counts: &PairCounts, ridge: f64, scores: &[f64]) -> f64 {
    let penalty: f64 = scores.iter().map(|s| s * s).sum::<f64>() * ridge / 2.0;
    penalty - LatentRow::new(scores).count_log_likelihood(counts)
}

fn gradient(counts: &PairCounts, ridge: f64, scores: &[f64]) -> Vec<f64> {
    let mut derivatives = Derivatives::new(counts.labels());
    LatentRow::new(scores).add_count_derivatives(counts, &mut derivatives);
    let each = derivatives.gradient.iter().zip(scores);
    each.map(|(gradient, score)| ridge * score - gradient)
        .collect()
}

/// Second derivatives of the objective, row-major. With y = +1 for before, 0 for tied, −1 for after and t = 1 for tied,
/// else 0, the scores enter the log-likelihood of a pair as `y (f_u − f_v) / 2 + t (h_u + h_v)`: its second derivatives
/// are the variances of y/2 and t and their covariance.
fn hessian(counts: &PairCounts, ridge: f64, scores: &[f64]) -> Vec<f64> {
    let n = counts.labels();
    let size = 2 * n;
    let mut matrix = vec![0.0; size * size];
    for i in 0..size {
        matrix[i * size + i] = ridge;
    }
    let row = LatentRow::new(scores);
    for u in 0..n {
        for v in u + 1..n {
            let seen = counts.before(u, v) + counts.tied(u, v) + counts.before(v, u);
            if seen == 0.0 {
                continue;
            }
            let [before, tied, after] = row.shares(u, v);
            let net = before - after;
            let net_variance = seen * (before + after - net * net).max(0.0) / 4.0;
            let tied_variance = seen * tied * (1.0 - tied);
            let covariance = -seen * net * tied / 2.0;
            let entries = [
                (u, 0.5, 0.0),
                (v, -0.5, 0.0),
                (n + u, 0.0, 1.0),
                (n + v, 0.0, 1.0),
            ];
            for &(i, net_i, tied_i) in &entries {
                for &(j, net_j, tied_j) in &entries {
                    matrix[i * size + j] += 4.0 * net_i * net_j * net_variance
                        + tied_i * tied_j * tied_variance
                        + 2.0 * (net_i * tied_j + tied_i * net_j) * covariance;
                }
            }
        }
    }
    matrix
}

/// Diagonal of the inverse, without the variance of a common shift of the utilities of the compared labels.
///
/// That shift is an eigenvector whose eigenvalue is the ridge. Its eigenvalue is raised to the size of the others before
/// the inversion, and its known part is subtracted afterwards, which avoids cancellation.
fn variances(counts: &PairCounts, ridge: f64, mut matrix: Vec<f64>) -> Result<Vec<f64>> {
    let size = 2 * counts.labels();
    let compared = compared_labels(counts);
    let labels: Vec<usize> = (0..compared.len()).filter(|&u| compared[u]).collect();
    let count = labels.len() as f64;
    let diagonal: f64 = labels.iter().map(|u| matrix[u * size + u]).sum();
    // NaN without compared labels, and then unused.
    let stiffness = diagonal / count;
    for u in &labels {
        for v in &labels {
            matrix[u * size + v] += stiffness / count;
        }
    }
    let mut variances = factor(matrix, size)?.inverse_diagonal();
    for &u in &labels {
        variances[u] = (variances[u] - 1.0 / (count * (ridge + stiffness))).max(0.0);
    }
    Ok(variances)
}

fn factor(matrix: Vec<f64>, size: usize) -> Result<Cholesky> {
    Cholesky::new(matrix, size).ok_or_else(|| Error::Unsolved {
        what: "latent model",
        why: "the second derivatives are not positive definite".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::{array, Array2};

    fn counts() -> PairCounts {
        let y = array![
            [1.0, 2.0, 2.0, 3.0],
            [2.0, 1.0, 3.0, f64::NAN],
            [1.0, 1.0, 2.0, 2.0],
            [3.0, 2.0, 1.0, 1.0],
            [1.0, f64::NAN, 2.0, 3.0]
        ];
        let rankings = Rankings::new(y.view(), Some(&[1.0, 2.0, 1.5, 1.0, 3.0])).unwrap();
        PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap()
    }

    #[test]
    fn gradient_is_zero_at_the_mode() {
        for ridge in [1e-3, 0.1, 10.0] {
            let fitted = Posterior::fit(&counts(), ridge).unwrap();
            let gradient = gradient(&counts(), ridge, &fitted.scores);
            assert!(gradient.iter().all(|g| g.abs() < 1e-10), "{gradient:?}");
            let sum: f64 = fitted.scores[..4].iter().sum();
            // The likelihood does not depend on a common shift, so the prior centres the utilities.
            assert!(sum.abs() < 1e-8);
        }
    }

    #[test]
    fn hessian_matches_finite_differences() {
        let scores = [0.5, -0.2, 0.1, 0.9, 0.3, -0.4, 0.0, 0.2];
        let matrix = hessian(&counts(), 0.3, &scores);
        for i in 0..8 {
            let at = |offset: f64| {
                let mut moved = scores;
                moved[i] += offset;
                gradient(&counts(), 0.3, &moved)
            };
            let (up, down) = (at(1e-5), at(-1e-5));
            for j in 0..8 {
                let expected = (up[j] - down[j]) / 2e-5;
                assert!((matrix[i * 8 + j] - expected).abs() < 1e-6, "{i} {j}");
            }
        }
    }

    #[test]
    fn variances_leave_out_the_common_shift_only() {
        let scores = [0.5, -0.2, 0.1, 0.9, 0.3, -0.4, 0.0, 0.2];
        for ridge in [1e-4, 0.3, 20.0] {
            let matrix = hessian(&counts(), ridge, &scores);
            let whole = Cholesky::new(matrix.clone(), 8).unwrap();
            let found = variances(&counts(), ridge, matrix).unwrap();
            for (i, (found, whole)) in found.iter().zip(whole.inverse_diagonal()).enumerate() {
                let common = if i < 4 { 1.0 / (4.0 * ridge) } else { 0.0 };
                assert!((found + common - whole).abs() < 1e-9 * whole, "{ridge} {i}");
            }
        }
    }

    #[test]
    fn extreme_weights_are_taken_relative_to_the_largest() {
        let y = array![[1, 2, 2_i64], [2, 1, 3], [1, 1, 2]];
        let fit = |weight: f64| {
            let weights = [weight, 2.0 * weight, weight];
            let rankings = Rankings::new(y.view(), Some(&weights)).unwrap();
            let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
            Posterior::fit(&counts, 0.1).unwrap()
        };
        // The largest weight of a pair is four times `weight`.
        let plain = fit(0.25);
        for extreme in [1e-290, 1e-20, 1e20, 1e290] {
            let fitted = fit(extreme);
            let both = fitted.scores.iter().chain(&fitted.standard_errors);
            for (a, b) in both.zip(plain.scores.iter().chain(&plain.standard_errors)) {
                assert!((a - b).abs() < 1e-6, "{extreme}: {a} {b}");
            }
        }
    }

    #[test]
    fn unanimous_and_empty_sets_have_finite_scores() {
        let y = Array2::from_shape_fn((1000, 3), |(_, j)| j as i64 + 1);
        let rankings = Rankings::new(y.view(), None).unwrap();
        let unanimous = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        let fitted = Posterior::fit(&unanimous, 0.01).unwrap();
        assert!(fitted.scores[0] > fitted.scores[1] && fitted.scores[1] > fitted.scores[2]);
        assert!(fitted.scores.iter().all(|s| s.is_finite()));
        let empty = Posterior::fit(&PairCounts::empty(3).unwrap(), 0.25).unwrap();
        assert_eq!(empty.scores, [0.0; 6]);
        assert!(empty
            .standard_errors
            .iter()
            .all(|e| (e - 2.0).abs() < 1e-12));
    }
}
