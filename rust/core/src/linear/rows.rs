//! What rows add to the log-likelihood of a linear model and to its derivatives.

use crate::latent::{Block, LANES};
use crate::rankings::{Rankings, MISSING};
use crate::simd::Kernel;

use super::objective::Objective;
use super::order::Order;

/// Scores beyond this make no sense: a step that leads there is too long.
const LARGEST_SCORE: f64 = 250.0;

/// What a block of rows adds.
pub(super) struct Part {
    pub(super) log_likelihood: f64,
    /// What [`Order`] says, of the log-likelihood.
    pub(super) derivatives: Vec<f64>,
}

/// For each row and label the ranked labels behind it less those before it, then the labels tied with it.
pub(super) fn relations(rankings: &Rankings) -> Vec<f64> {
    let n = rankings.labels();
    let mut out = Vec::with_capacity(2 * n * rankings.len());
    for positions in rankings.rows() {
        let ranked = || positions.iter().filter(|&&p| p != MISSING);
        let count = |own: u16, holds: &dyn Fn(u16) -> f64| match own {
            MISSING => 0.0,
            _ => ranked().map(|&other| holds(other)).sum(),
        };
        out.extend(positions.iter().map(|&own| {
            count(own, &|other| {
                f64::from(i8::from(other > own)) - f64::from(i8::from(other < own))
            })
        }));
        out.extend(positions.iter().map(|&own| {
            // The label itself is no pair.
            count(own, &|other| f64::from(i8::from(other == own)))
                - f64::from(i8::from(own != MISSING))
        }));
    }
    out
}

/// Adds up some rows; `None` where scores are absurdly large.
pub(super) struct AddRows<'a> {
    pub(super) objective: &'a Objective<'a>,
    pub(super) coefficients: &'a [f64],
    pub(super) rows: std::ops::Range<usize>,
    pub(super) order: Order,
}

impl Kernel for AddRows<'_> {
    type Output = Option<Part>;

    #[inline(always)]
    fn run(self) -> Option<Part> {
        let Objective {
            inputs,
            rankings,
            relations,
            ..
        } = self.objective;
        let n = rankings.labels();
        let outputs = 2 * n;
        let mut block = Block::<f64>::new(n);
        let mut scores = vec![0.0; LANES * outputs];
        let mut derived = vec![0.0; outputs];
        let mut part = Part {
            log_likelihood: 0.0,
            derivatives: vec![0.0; self.order.len(inputs.ncols()) * outputs],
        };
        let mut factors = vec![0.0; self.order.len(inputs.ncols())];
        for first in self.rows.clone().step_by(LANES) {
            let count = LANES.min(self.rows.end - first);
            scores.fill(0.0);
            for (lane, scores) in scores.chunks_exact_mut(outputs).enumerate() {
                if lane >= count {
                    block.clear(lane);
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
                block.set(lane, scores, |label| positions[label] != MISSING);
            }
            block.exponentials();
            let normalisers = block.log_normalisers();
            let largest = block.largest();
            let sums = block.pairs();
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
                    log_likelihood += relations[utility] * scores[utility] / 2.0
                        + relations[tie] * scores[tie]
                        + (scores[utility] - largest[lane]) * (ranked - 1.0) / 2.0;
                    (derived[utility], derived[tie]) = match self.order {
                        Order::First => (
                            // A missing label looks like one that is certainly behind.
                            weight * (relations[utility] + missing - sums.net[lane]) / 2.0,
                            weight * (relations[tie] - sums.tied[lane]),
                        ),
                        Order::Diagonal | Order::Blocks => (
                            weight * sums.net_curvature[lane] / 4.0,
                            weight * sums.tied_curvature[lane],
                        ),
                    };
                }
                // A row with one label has a normaliser of nothing and a term of nothing.
                part.log_likelihood += weight * log_likelihood;
                let sums = part.derivatives.chunks_exact_mut(outputs);
                self.order.write_factors(inputs.row(row), &mut factors);
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
