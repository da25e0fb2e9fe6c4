//! Sums over blocks of rows: the log-likelihood of a linear model and its derivatives.

use crate::latent::{LatentBlock, LANES};
use crate::rankings::MISSING;
use crate::simd::Kernel;

use super::derivatives::DerivativeKind;
use super::objective::Objective;

/// A step that leads to a larger score is rejected as too long.
const LARGEST_SCORE: f64 = 250.0;

/// Sums over a block of rows.
pub(super) struct RowSums {
    pub(super) log_likelihood: f64,
    /// Derivatives of the log-likelihood, as selected by [`DerivativeKind`].
    pub(super) derivatives: Vec<f64>,
}

/// Adds up a block of rows; `None` where a score is larger than [`LARGEST_SCORE`] or when interrupted.
pub(super) struct RowSumsKernel<'a> {
    pub(super) objective: &'a Objective<'a>,
    pub(super) coefficients: &'a [f64],
    pub(super) rows: std::ops::Range<usize>,
    pub(super) kind: DerivativeKind,
}

impl Kernel for RowSumsKernel<'_> {
    type Output = Option<RowSums>;

    #[inline(always)]
    fn run(self) -> Option<RowSums> {
        let Objective {
            inputs,
            rankings,
            relations,
            ..
        } = self.objective;
        let n = rankings.labels();
        let outputs = 2 * n;
        let mut block = LatentBlock::<f64>::new(n);
        let mut scores = vec![0.0; LANES * outputs];
        let mut derived = vec![0.0; outputs];
        let mut part = RowSums {
            log_likelihood: 0.0,
            derivatives: vec![0.0; self.kind.sums_per_output(inputs.ncols()) * outputs],
        };
        let mut factors = vec![0.0; self.kind.sums_per_output(inputs.ncols())];
        for first in self.rows.clone().step_by(LANES) {
            self.objective.interrupt.check().ok()?;
            let count = LANES.min(self.rows.end - first);
            scores.fill(0.0);
            for (lane, scores) in scores.chunks_exact_mut(outputs).enumerate() {
                if lane >= count {
                    block.clear_lane(lane);
                    continue;
                }
                let coefficients = self.coefficients.chunks_exact(outputs);
                for (input, coefficients) in inputs.row(first + lane).iter().zip(coefficients) {
                    for (score, coefficient) in scores.iter_mut().zip(coefficients) {
                        *score += input * coefficient;
                    }
                }
                let largest = scores.iter().fold(0.0_f64, |m, score| m.max(score.abs()));
                if largest.is_nan() || largest > LARGEST_SCORE {
                    return None;
                }
                let positions = rankings.row(first + lane);
                block.set_lane(lane, scores, |label| positions[label] != MISSING);
            }
            block.compute_strengths();
            let normalisers = block.log_normalisers();
            let largest = block.largest_utilities();
            let sums = block.sum_pairs();
            for (lane, scores) in scores.chunks_exact(outputs).take(count).enumerate() {
                let row = first + lane;
                let weight = rankings.weights().get(row);
                let positions = rankings.row(row);
                let relations = &relations[row * outputs..(row + 1) * outputs];
                let ranked = positions.iter().filter(|&&p| p != MISSING).count() as f64;
                let missing = n as f64 - ranked;
                let mut log_likelihood = -normalisers[lane];
                for (label, sums) in sums.iter().enumerate() {
                    let (utility, tie) = (label, n + label);
                    if positions[label] == MISSING {
                        derived[utility] = 0.0;
                        derived[tie] = 0.0;
                        continue;
                    }
                    log_likelihood += (relations[utility] - missing) * scores[utility] / 2.0
                        + relations[tie] * scores[tie]
                        + (scores[utility] - largest[lane]) * (ranked - 1.0) / 2.0;
                    (derived[utility], derived[tie]) = match self.kind {
                        DerivativeKind::Gradient => (
                            // Both terms count a missing label as ranked last with certainty.
                            weight * (relations[utility] - sums.net[lane]) / 2.0,
                            weight * (relations[tie] - sums.tied[lane]),
                        ),
                        DerivativeKind::Diagonal | DerivativeKind::OutputBlocks => (
                            weight * sums.net_curvature[lane] / 4.0,
                            weight * sums.tied_curvature[lane],
                        ),
                    };
                }
                // A row with fewer than two labels adds 0.
                part.log_likelihood += weight * log_likelihood;
                let sums = part.derivatives.chunks_exact_mut(outputs);
                self.kind.write_factors(inputs.row(row), &mut factors);
                for (factor, sums) in factors.iter().zip(sums) {
                    for (sum, value) in sums.iter_mut().zip(&derived) {
                        *sum += factor * value;
                    }
                }
            }
        }
        Some(part)
    }
}
