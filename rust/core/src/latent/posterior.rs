//! [`Posterior`]: the most probable scores of a [`ContestModel`], by Newton's method.

use crate::cholesky::Cholesky;
use crate::comparisons::{Contests, Tallies};
use crate::error::{Error, Result};
use crate::pairs::PairCounts;
use crate::run::Interrupt;

use super::contest_model::{ContestModel, TieRule};

/// Largest number of labels: the second derivatives are a dense matrix with twice as many rows.
pub const MAX_POSTERIOR_LABELS: usize = 512;

/// A fit has converged when no entry of the gradient exceeds this share of the largest weight of a label.
pub const GRADIENT_TOLERANCE: f64 = 1e-10;
/// Newton's method needs a few dozen steps at most on a strictly convex function; this bounds loops caused by rounding.
const MAX_STEPS: usize = 200;
/// Largest number of halvings in a line search.
const HALVINGS: usize = 60;
/// Largest number of steps with the factor of the warm start.
const MAX_CHORD_STEPS: usize = 40;
/// A step with the factor of the warm start must reduce the gradient to this share; otherwise Newton's method goes on.
const CHORD_REDUCTION: f64 = 0.5;

/// Mode of the posterior under independent normal priors around 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// Scores in the order of [`ContestModel`].
    pub scores: Vec<f64>,
}

impl Posterior {
    /// Fits the pairs of counted rankings. `ridge` > 0 is the inverse variance of the priors. O(n³) per step. If the
    /// largest weight of a pair is outside 1e-9 to 1e9, weights are taken relative to it.
    ///
    /// # Errors
    /// As [`Self::fit_contests`].
    pub fn fit(
        counts: &PairCounts,
        ties: TieRule,
        ridge: f64,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        check_labels(counts.labels())?;
        let (contests, tallies) = Contests::of_counts(counts);
        let model = ContestModel::new(&contests, &tallies, ties, ridge);
        Self::fit_contests(&model, &tallies, interrupt)
    }

    /// Fits by damped Newton steps until the gradient vanishes to [`GRADIENT_TOLERANCE`].
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_POSTERIOR_LABELS`], [`Error::Unsolved`] without convergence, or
    /// [`Error::Interrupted`].
    pub fn fit_contests(
        model: &ContestModel<'_>,
        tallies: &Tallies,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        check_labels(model.labels())?;
        let scores = minimise(model, tallies, vec![0.0; model.size()], interrupt)?;
        Ok(Self { scores })
    }
}

fn check_labels(labels: usize) -> Result<()> {
    if labels > MAX_POSTERIOR_LABELS {
        return Err(Error::TooManyLabels {
            found: labels,
            limit: MAX_POSTERIOR_LABELS,
        });
    }
    Ok(())
}

/// Starting point of fits to similar data: the mode of one fit and the factor of its second derivatives.
pub(crate) struct WarmStart {
    scores: Vec<f64>,
    factor: Cholesky,
}

impl WarmStart {
    /// Prepares refits near a fitted posterior.
    ///
    /// # Errors
    /// [`Error::Unsolved`].
    pub(crate) fn new(model: &ContestModel<'_>, tallies: &Tallies, scores: &[f64]) -> Result<Self> {
        Ok(Self {
            scores: scores.to_vec(),
            factor: factor(model.hessian(tallies, scores), model.size())?,
        })
    }

    /// The mode for other tallies of the same contests. Steps with the factor of the start (the chord method) cost O(n²)
    /// each; Newton's method takes over when they reduce the gradient too slowly.
    ///
    /// # Errors
    /// [`Error::Unsolved`] without convergence, or [`Error::Interrupted`].
    pub(crate) fn refit(
        &self,
        model: &ContestModel<'_>,
        tallies: &Tallies,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let tolerance = gradient_tolerance(model, tallies);
        let mut scores = self.scores.clone();
        let mut gradient = vec![0.0; scores.len()];
        let mut last = f64::INFINITY;
        for _ in 0..MAX_CHORD_STEPS {
            model.write_gradient(tallies, &scores, &mut gradient);
            let largest = largest_entry(&gradient);
            if largest <= tolerance {
                return Ok(scores);
            }
            // Also when the gradient is NaN.
            if largest.partial_cmp(&(CHORD_REDUCTION * last)) != Some(std::cmp::Ordering::Less) {
                break;
            }
            last = largest;
            self.factor.solve(&mut gradient);
            move_by(&mut scores, &gradient, 1.0);
        }
        minimise(model, tallies, self.scores.clone(), interrupt)
    }
}

/// Minimises the objective by damped Newton steps.
fn minimise(
    model: &ContestModel<'_>,
    tallies: &Tallies,
    mut scores: Vec<f64>,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let tolerance = gradient_tolerance(model, tallies);
    let mut value = model.objective(tallies, &scores);
    let mut gradient = vec![0.0; scores.len()];
    for _ in 0..MAX_STEPS {
        interrupt.check()?;
        model.write_gradient(tallies, &scores, &mut gradient);
        let has_converged = largest_entry(&gradient) <= tolerance;
        let mut step = gradient.clone();
        factor(model.hessian(tallies, &scores), scores.len())?.solve(&mut step);
        if has_converged {
            // Take the last step: convergence is quadratic, so it squares the error.
            move_by(&mut scores, &step, 1.0);
            return Ok(scores);
        }
        let search = LineSearch {
            model,
            tallies,
            value,
            gradient: &gradient,
            step: &step,
        };
        match search.run(&scores) {
            Some(found) => (scores, value) = found,
            None => break,
        }
    }
    Err(Error::Unsolved {
        what: "latent model",
        why: format!(
            "an entry of the gradient is still {:.1e}; expected at most {tolerance:.1e}",
            largest_entry(&gradient)
        ),
    })
}

/// Shortens a Newton step until it improves the fit.
struct LineSearch<'a> {
    model: &'a ContestModel<'a>,
    tallies: &'a Tallies,
    value: f64,
    gradient: &'a [f64],
    step: &'a [f64],
}

impl LineSearch<'_> {
    /// The next scores and the objective there; `None` when no length improves the fit.
    fn run(&self, scores: &[f64]) -> Option<(Vec<f64>, f64)> {
        // Twice the decrease predicted by the quadratic model.
        let predicted: f64 = self
            .step
            .iter()
            .zip(self.gradient)
            .map(|(s, g)| s * g)
            .sum();
        // Below this the objective is rounded too coarsely to show a decrease; the gradient is not.
        let is_rounded = predicted <= 1e-12 * (self.model.unit() + self.value.abs());
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let mut next = scores.to_vec();
            move_by(&mut next, self.step, length);
            let value = self.model.objective(self.tallies, &next);
            if value <= self.value - 1e-4 * length * predicted
                || (is_rounded && self.reduces_gradient(&next))
            {
                return Some((next, value));
            }
            length /= 2.0;
        }
        None
    }

    fn reduces_gradient(&self, next: &[f64]) -> bool {
        let mut there = vec![0.0; next.len()];
        self.model.write_gradient(self.tallies, next, &mut there);
        largest_entry(&there) < largest_entry(self.gradient)
    }
}

/// Largest entry of the gradient of a converged fit.
fn gradient_tolerance(model: &ContestModel<'_>, tallies: &Tallies) -> f64 {
    GRADIENT_TOLERANCE * model.largest_weight(tallies)
}

fn largest_entry(values: &[f64]) -> f64 {
    // NaN is kept, unlike by `f64::max`.
    values.iter().fold(0.0, |largest, value| {
        if value.abs() <= largest {
            largest
        } else {
            value.abs()
        }
    })
}

/// Subtracts `length` times `step`.
fn move_by(scores: &mut [f64], step: &[f64], length: f64) {
    for (score, step) in scores.iter_mut().zip(step) {
        *score -= length * step;
    }
}

pub(super) fn factor(matrix: Vec<f64>, size: usize) -> Result<Cholesky> {
    Cholesky::new(matrix, size).ok_or_else(|| Error::Unsolved {
        what: "latent model",
        why: "the second derivatives are not positive definite".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::covariance::{covariance, ErrorSource};
    use super::*;
    use crate::comparisons::Units;
    use crate::latent::compared_labels;
    use crate::rankings::Rankings;
    use ndarray::{array, Array2};

    fn rankings() -> Rankings {
        let y = array![
            [1.0, 2.0, 2.0, 3.0],
            [2.0, 1.0, 3.0, f64::NAN],
            [1.0, 1.0, 2.0, 2.0],
            [3.0, 2.0, 1.0, 1.0],
            [1.0, f64::NAN, 2.0, 3.0]
        ];
        Rankings::new(y.view(), Some(&[1.0, 2.0, 1.0, 1.0, 3.0])).unwrap()
    }

    fn count(rankings: &Rankings) -> PairCounts {
        PairCounts::from_rankings(rankings, &Interrupt::never()).unwrap()
    }

    /// Scores and standard errors.
    fn fit(counts: &PairCounts, ridge: f64) -> (Vec<f64>, Vec<f64>) {
        let (contests, tallies) = Contests::of_counts(counts);
        let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, ridge);
        let fitted = Posterior::fit(counts, TieRule::Modelled, ridge, &Interrupt::never()).unwrap();
        let compared = compared_labels(counts);
        let source = ErrorSource::Information;
        let matrix = covariance(
            &model,
            &tallies,
            &fitted.scores,
            &compared,
            source,
            &Interrupt::never(),
        )
        .unwrap();
        let errors = matrix
            .diag()
            .iter()
            .map(|variance| variance.sqrt())
            .collect();
        (fitted.scores, errors)
    }

    #[test]
    fn gradient_is_zero_at_the_mode() {
        let counts = count(&rankings());
        let (contests, tallies) = Contests::of_counts(&counts);
        for (ridge, ties) in [
            (1e-3, TieRule::Modelled),
            (0.1, TieRule::Half),
            (10.0, TieRule::Modelled),
        ] {
            let fitted = Posterior::fit(&counts, ties, ridge, &Interrupt::never()).unwrap();
            let model = ContestModel::new(&contests, &tallies, ties, ridge);
            let mut gradient = vec![0.0; model.size()];
            model.write_gradient(&tallies, &fitted.scores, &mut gradient);
            assert!(gradient.iter().all(|g| g.abs() < 1e-10), "{gradient:?}");
            let sum: f64 = fitted.scores[..4].iter().sum();
            // The likelihood does not depend on a common shift, so the prior centres the utilities.
            assert!(sum.abs() < 1e-8);
        }
    }

    #[test]
    fn warm_starts_find_the_same_mode() {
        let counts = count(&rankings());
        let (contests, tallies) = Contests::of_counts(&counts);
        let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, 0.1);
        let start = Posterior::fit_contests(&model, &tallies, &Interrupt::never()).unwrap();
        let warm = WarmStart::new(&model, &tallies, &start.scores).unwrap();
        for change in [0.05, 1.0, 1e4] {
            let mut other = tallies.clone();
            other[0][2] += change;
            other[3][1] += change / 3.0;
            let expected = Posterior::fit_contests(&model, &other, &Interrupt::never())
                .unwrap()
                .scores;
            let found = warm.refit(&model, &other, &Interrupt::never()).unwrap();
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-7,
                    "{change}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn covariance_leaves_out_the_common_shift_only() {
        let counts = count(&rankings());
        let (contests, tallies) = Contests::of_counts(&counts);
        let scores = [0.5, -0.2, 0.1, 0.9, 0.3, -0.4, 0.0, 0.2];
        for ridge in [1e-4, 0.3, 20.0] {
            let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, ridge);
            let whole = Cholesky::new(model.hessian(&tallies, &scores), 8).unwrap();
            let source = ErrorSource::Information;
            let found = covariance(
                &model,
                &tallies,
                &scores,
                &[true; 4],
                source,
                &Interrupt::never(),
            )
            .unwrap();
            for i in 0..8 {
                let mut unit = [0.0; 8];
                unit[i] = 1.0;
                whole.solve(&mut unit);
                let whole = unit[i];
                let common = if i < 4 { 1.0 / (4.0 * ridge) } else { 0.0 };
                assert!(
                    (found[[i, i]] + common - whole).abs() < 1e-9 * whole,
                    "{ridge} {i}"
                );
            }
        }
    }

    #[test]
    fn robust_errors_need_two_units_and_treat_copies_as_rows() {
        let rankings = rankings();
        let counts = count(&rankings);
        let (contests, tallies) = Contests::of_counts(&counts);
        let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, 0.1);
        let fitted = Posterior::fit_contests(&model, &tallies, &Interrupt::never()).unwrap();
        let errors = |rankings: &Rankings| {
            let units = Units::of_rankings(rankings, &contests);
            covariance(
                &model,
                &tallies,
                &fitted.scores,
                &[true; 4],
                ErrorSource::Units(&units),
                &Interrupt::never(),
            )
        };
        let rows = [0, 1, 1, 2, 3, 4, 4, 4];
        let repeated = rankings
            .with_weights(crate::weights::Weights::Unit(5))
            .select(&rows);
        let (weighted, repeated) = (errors(&rankings).unwrap(), errors(&repeated).unwrap());
        for (a, b) in weighted.iter().zip(&repeated) {
            assert!((a - b).abs() < 1e-12);
        }
        let one = rankings
            .with_weights(crate::weights::Weights::Unit(5))
            .select(&[0]);
        assert!(errors(&one)
            .unwrap_err()
            .to_string()
            .contains("found 1 units"));
    }

    #[test]
    fn extreme_weights_are_taken_relative_to_the_largest() {
        let y = array![[1, 2, 2_i64], [2, 1, 3], [1, 1, 2]];
        let fit_with = |weight: f64| {
            let weights = [weight, 2.0 * weight, weight];
            fit(
                &count(&Rankings::new(y.view(), Some(&weights)).unwrap()),
                0.1,
            )
        };
        // The largest weight of a pair is four times `weight`.
        let plain = fit_with(0.25);
        for extreme in [1e-290, 1e-20, 1e20, 1e290] {
            let fitted = fit_with(extreme);
            let both = fitted.0.iter().chain(&fitted.1);
            for (a, b) in both.zip(plain.0.iter().chain(&plain.1)) {
                assert!((a - b).abs() < 1e-6, "{extreme}: {a} {b}");
            }
        }
    }

    #[test]
    fn unanimous_and_empty_sets_have_finite_scores() {
        let y = Array2::from_shape_fn((1000, 3), |(_, j)| j as i64 + 1);
        let unanimous = count(&Rankings::new(y.view(), None).unwrap());
        let (scores, _) = fit(&unanimous, 0.01);
        assert!(scores[0] > scores[1] && scores[1] > scores[2]);
        assert!(scores.iter().all(|s| s.is_finite()));
        let (scores, errors) = fit(&PairCounts::empty(3).unwrap(), 0.25);
        assert_eq!(scores, [0.0; 6]);
        assert!(errors.iter().all(|e| (e - 2.0).abs() < 1e-12));
    }
}
