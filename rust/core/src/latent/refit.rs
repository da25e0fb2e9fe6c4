//! [`WarmStart`]: fits to resamples of the same contests (comparisons of two labels), started at the fit to all data.

use crate::cholesky::CholeskySolver;
use crate::comparisons::Tallies;
use crate::error::Result;
use crate::run::Interrupt;

use super::contest_model::ContestModel;
use super::contest_runs::{ContestRuns, RunGradient};
use super::posterior::{factorise, gradient_tolerance, largest_entry, minimise, move_by};

/// Largest number of steps with the second derivatives of the warm start.
const MAX_CHORD_STEPS: usize = 40;
/// A step with the second derivatives of the warm start must reduce the gradient to this fraction; otherwise Newton's
/// method takes over.
const CHORD_REDUCTION: f64 = 0.5;

/// Starting point of fits to similar data: the mode of one fit and the Cholesky factor of its second derivatives.
pub(crate) struct WarmStart {
    scores: Vec<f64>,
    solver: CholeskySolver,
    /// Computes gradients by vector instructions, see [`RunGradient`]; `None` for contests with effects (an advantage
    /// of the first label, or covariates), for which these do not work.
    runs: Option<ContestRuns>,
}

impl WarmStart {
    /// Prepares refits near a fitted posterior.
    ///
    /// # Errors
    /// [`Error::Unsolved`](crate::error::Error::Unsolved).
    pub(crate) fn new(model: &ContestModel<'_>, tallies: &Tallies, scores: &[f64]) -> Result<Self> {
        Ok(Self {
            scores: scores.to_vec(),
            solver: factorise(model.hessian(tallies, scores), model.size())?.into(),
            runs: ContestRuns::of(model.contests()),
        })
    }

    /// The mode for other tallies of the same contests. Steps with the second derivatives of the start (the chord
    /// method) cost O(n²) each; Newton's method takes over when they reduce the gradient too slowly.
    ///
    /// # Errors
    /// [`Error::Unsolved`](crate::error::Error::Unsolved) without convergence, or
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn refit(
        &self,
        model: &ContestModel<'_>,
        tallies: &Tallies,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let runs = self.runs.as_ref();
        let mut run_gradient = runs.map(|runs| RunGradient::new(model, runs, tallies));
        let tolerance = gradient_tolerance(model, tallies);
        let mut scores = self.scores.clone();
        let mut gradient = vec![0.0; scores.len()];
        let mut last = f64::INFINITY;
        for _ in 0..MAX_CHORD_STEPS {
            // `write` returns false if scores are too far apart for it.
            let is_written = run_gradient
                .as_mut()
                .is_some_and(|fast| fast.write(&scores, &mut gradient));
            if !is_written {
                model.write_gradient(tallies, &scores, &mut gradient);
            }
            let largest = largest_entry(&gradient);
            if largest <= tolerance {
                return Ok(scores);
            }
            // The comparison also fails when the gradient is NaN.
            if largest.partial_cmp(&(CHORD_REDUCTION * last)) != Some(std::cmp::Ordering::Less) {
                break;
            }
            last = largest;
            self.solver.solve(&mut gradient);
            move_by(&mut scores, &gradient, 1.0);
        }
        minimise(model, tallies, self.scores.clone(), interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::posterior::Posterior;
    use super::super::TieRule;
    use super::*;
    use crate::comparisons::tests::arrays_without_weights;
    use crate::comparisons::{Comparisons, ContestSample, Contests, Effects, UnitKind};
    use crate::pairs::PairCounts;
    use ndarray::Array2;

    #[test]
    fn warm_starts_find_the_same_mode() {
        let mut counts = PairCounts::empty(7).unwrap();
        for (u, v, outcome) in [
            (0, 1, 0),
            (1, 2, 1),
            (0, 3, 2),
            (4, 3, 0),
            (5, 6, 1),
            (2, 6, 2),
        ] {
            counts.add_comparison(u, v, outcome, 3.0);
            counts.add_comparison(v, u, outcome, 1.0 + u as f64);
        }
        let (contests, tallies) = Contests::of_counts(&counts);
        let never = Interrupt::never();
        for ties in [TieRule::Modelled, TieRule::Half] {
            let model = ContestModel::new(&contests, &tallies, ties, 0.1);
            let start = Posterior::fit_contests(&model, &tallies, &never).unwrap();
            let warm = WarmStart::new(&model, &tallies, &start.scores).unwrap();
            for change in [0.05, 1.0, 1e4] {
                let mut other = tallies.clone();
                other[0][2] += change;
                other[3][1] += change / 3.0;
                let expected = Posterior::fit_contests(&model, &other, &never).unwrap();
                let found = warm.refit(&model, &other, &never).unwrap();
                for (found, expected) in found.iter().zip(expected.scores) {
                    assert!(
                        (found - expected).abs() < 1e-7,
                        "{ties:?} {change}: {found} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn warm_starts_find_the_mode_of_contests_with_effects() {
        let first = [0, 1, 0, 2, 2, 1, 0, 1, 2, 0];
        let second = [1, 0, 2, 0, 1, 2, 1, 2, 1, 2];
        let outcomes = [0, 2, 0, 0, 1, 2, 0, 1, 0, 1];
        let covariates = Array2::zeros((10, 0));
        let arrays = arrays_without_weights(3, &first, &second, &outcomes, &covariates);
        let comparisons = Comparisons::new(arrays).unwrap();
        let effects = Effects {
            order: true,
            covariates: false,
        };
        let never = Interrupt::never();
        let sample =
            ContestSample::of_comparisons(&comparisons, effects, UnitKind::Row, &never).unwrap();
        let (contests, tallies) = (&sample.contests, &sample.tallies);
        let model = ContestModel::new(contests, tallies, TieRule::Modelled, 0.1);
        let start = Posterior::fit_contests(&model, tallies, &never).unwrap();
        let warm = WarmStart::new(&model, tallies, &start.scores).unwrap();
        let mut other = tallies.clone();
        other[0][2] += 2.0;
        let expected = Posterior::fit_contests(&model, &other, &never).unwrap();
        let found = warm.refit(&model, &other, &never).unwrap();
        for (found, expected) in found.iter().zip(&expected.scores) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
        assert!((expected.scores[0] - start.scores[0]).abs() > 0.01);
    }
}
