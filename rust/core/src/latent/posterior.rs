//! [`Posterior`]: the most probable scores of a [`ContestModel`] of comparisons, by Newton's method.

use crate::cholesky::Cholesky;
use crate::comparisons::{Contests, Tallies};
use crate::error::{Error, Result};
use crate::pairs::PairCounts;
use crate::run::Interrupt;

use super::contest_model::{ContestModel, TieRule};

/// Largest number of labels: the second derivatives are a dense matrix with twice as many rows.
pub const MAX_POSTERIOR_LABELS: usize = 512;

/// A fit has converged when no entry of the gradient exceeds this fraction of the largest total weight of the
/// comparisons of a label.
pub const GRADIENT_TOLERANCE: f64 = 1e-10;
/// Newton's method needs a few dozen steps at most on a strictly convex function; this bounds loops caused by rounding.
const MAX_STEPS: usize = 200;
/// Largest number of halvings in a line search.
const HALVINGS: usize = 60;

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

/// Minimises the objective by damped Newton steps.
pub(super) fn minimise(
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
        factorise(model.hessian(tallies, &scores), scores.len())?.solve(&mut step);
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
    /// Objective at the scores from which the step starts.
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
        // The objective is rounded too coarsely to show so small a decrease; the gradient is not.
        let is_rounded = predicted <= 1e-12 * (self.model.weight_unit() + self.value.abs());
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

/// Largest absolute value of a gradient entry at which a fit has converged.
pub(super) fn gradient_tolerance(model: &ContestModel<'_>, tallies: &Tallies) -> f64 {
    GRADIENT_TOLERANCE * model.largest_weight(tallies)
}

/// Largest absolute value; NaN if any value is NaN.
pub(super) fn largest_entry(values: &[f64]) -> f64 {
    // `f64::max` would skip NaN.
    values.iter().fold(0.0, |largest, value| {
        if value.abs() <= largest {
            largest
        } else {
            value.abs()
        }
    })
}

/// Subtracts `length` times `step`.
pub(super) fn move_by(scores: &mut [f64], step: &[f64], length: f64) {
    for (score, step) in scores.iter_mut().zip(step) {
        *score -= length * step;
    }
}

/// Cholesky factorisation of second derivatives.
pub(super) fn factorise(matrix: Vec<f64>, size: usize) -> Result<Cholesky> {
    Cholesky::new(matrix, size).ok_or_else(|| Error::Unsolved {
        what: "latent model",
        why: "the second derivatives are not positive definite".into(),
    })
}

#[cfg(test)]
mod tests;
