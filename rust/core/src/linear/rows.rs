//! Sums over blocks of rows: the log-likelihood of a linear model and its derivatives.
//!
//! The scores of a row, also called outputs, are for each label a utility, which orders the labels, and a tie term, its
//! tendency to be tied.

use ndarray::ArrayView1;

use crate::latent::{LatentBlock, LANES};
use crate::rankings::MISSING;
use crate::simd::Kernel;

use super::derivatives::DerivativeKind;
use super::objective::Objective;

/// A trial step of the fit that leads to a score of larger magnitude is rejected as too long.
const LARGEST_TRIAL_SCORE: f64 = 250.0;

/// Sums over a block of rows.
pub(super) struct RowSums {
    pub(super) log_likelihood: f64,
    /// Derivatives of the log-likelihood, as selected by [`DerivativeKind`].
    pub(super) derivatives: Vec<f64>,
}

/// Adds up a block of rows; `None` where the magnitude of a score exceeds [`LARGEST_TRIAL_SCORE`] or when interrupted.
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
        let per_lane = self.kind.sums_per_output(inputs.ncols());
        let mut block = LatentBlock::<f64>::new(n);
        let mut scores = vec![0.0; LANES * outputs];
        let mut derived = vec![0.0; LANES * outputs];
        let mut part = RowSums {
            log_likelihood: 0.0,
            derivatives: vec![0.0; per_lane * outputs],
        };
        let mut factors = vec![0.0; LANES * per_lane];
        for first in self.rows.clone().step_by(LANES) {
            self.objective.interrupt.check().ok()?;
            let count = LANES.min(self.rows.end - first);
            scores.fill(0.0);
            for (lane, scores) in scores.chunks_exact_mut(outputs).enumerate() {
                if lane >= count {
                    block.clear_lane(lane);
                    continue;
                }
                add_inputs(inputs.row(first + lane), self.coefficients, scores);
                // False for NaN, too.
                if !scores
                    .iter()
                    .all(|score| score.abs() <= LARGEST_TRIAL_SCORE)
                {
                    return None;
                }
                let positions = rankings.row(first + lane);
                block.set_lane(lane, scores, |label| positions[label] != MISSING);
            }
            block.compute_strengths();
            let normalisers = block.log_normalisers();
            let largest = block.largest_utilities();
            let sums = block.sum_pairs();
            // Lanes without a row add 0.
            factors[count * per_lane..].fill(0.0);
            let lanes = derived
                .chunks_exact_mut(outputs)
                .zip(factors.chunks_exact_mut(per_lane));
            let lanes = scores.chunks_exact(outputs).zip(lanes).take(count);
            for (lane, (scores, (derived, factors))) in lanes.enumerate() {
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
                    // The last term: the normalisers are computed from utilities relative to the largest one of the
                    // row.
                    log_likelihood += (relations[utility] - missing) * scores[utility] / 2.0
                        + relations[tie] * scores[tie]
                        + (scores[utility] - largest[lane]) * (ranked - 1.0) / 2.0;
                    (derived[utility], derived[tie]) = match self.kind {
                        DerivativeKind::Gradient => (
                            // `relations` and `sums` both count a missing label as ranked last, so it cancels.
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
                self.kind.write_factors(inputs.row(row), factors);
            }
            add_lanes(&factors, &derived, &mut part.derivatives);
        }
        Some(part)
    }
}

/// Number of rows or inputs whose products are added to a sum before it is stored.
const TERMS: usize = 4;

/// Adds the scores of a row: Σ over inputs of input · coefficients.
#[inline(always)]
fn add_inputs(inputs: ArrayView1<'_, f64>, coefficients: &[f64], scores: &mut [f64]) {
    let outputs = scores.len();
    let mut blocks = coefficients.chunks_exact(TERMS * outputs);
    let mut first = 0;
    for block in &mut blocks {
        let factors = std::array::from_fn(|term| inputs[first + term]);
        add_terms(factors, block, scores);
        first += TERMS;
    }
    let rest = blocks.remainder().chunks_exact(outputs);
    for (coefficients, input) in rest.zip(inputs.iter().skip(first)) {
        for (score, coefficient) in scores.iter_mut().zip(coefficients) {
            *score += input * coefficient;
        }
    }
}

/// Adds the products of factors and derivatives of all lanes (rows of a block), lane after lane.
#[inline(always)]
fn add_lanes(factors: &[f64], derived: &[f64], sums: &mut [f64]) {
    let (per_lane, outputs) = (factors.len() / LANES, derived.len() / LANES);
    for (index, sums) in sums.chunks_exact_mut(outputs).enumerate() {
        for (block, derived) in derived.chunks_exact(TERMS * outputs).enumerate() {
            let lane = block * TERMS;
            let factors = std::array::from_fn(|term| factors[(lane + term) * per_lane + index]);
            add_terms(factors, derived, sums);
        }
    }
}

/// Adds several products to each sum, one after another, so that the result is that of separate loops. The values of
/// the terms are contiguous: `sums.len()` per term.
#[inline(always)]
fn add_terms(factors: [f64; TERMS], values: &[f64], sums: &mut [f64]) {
    let (a, rest) = values.split_at(sums.len());
    let (b, rest) = rest.split_at(sums.len());
    let (c, d) = rest.split_at(sums.len());
    for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *sum = *sum + factors[0] * a + factors[1] * b + factors[2] * c + factors[3] * d;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;

    fn pseudo(i: usize) -> f64 {
        ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5
    }

    #[test]
    fn blocked_sums_equal_plain_loops() {
        let outputs = 6;
        for count in [1, 3, 4, 5, 8, 10] {
            let inputs: Array1<f64> = (0..count).map(pseudo).collect();
            let coefficients: Vec<f64> = (0..count * outputs).map(|i| pseudo(i + 50)).collect();
            let mut scores = vec![0.0; outputs];
            add_inputs(inputs.view(), &coefficients, &mut scores);
            let mut expected = vec![0.0; outputs];
            for (input, coefficients) in inputs.iter().zip(coefficients.chunks_exact(outputs)) {
                for (score, coefficient) in expected.iter_mut().zip(coefficients) {
                    *score += input * coefficient;
                }
            }
            assert_eq!(scores, expected);
            let factors: Vec<f64> = (0..LANES * count).map(|i| pseudo(i + 300)).collect();
            let derived: Vec<f64> = (0..LANES * outputs).map(|i| pseudo(i + 700)).collect();
            let mut sums: Vec<f64> = (0..count * outputs).map(|i| pseudo(i + 900)).collect();
            let mut expected = sums.clone();
            add_lanes(&factors, &derived, &mut sums);
            let lanes = factors.chunks_exact(count);
            for (factors, derived) in lanes.zip(derived.chunks_exact(outputs)) {
                for (factor, sums) in factors.iter().zip(expected.chunks_exact_mut(outputs)) {
                    for (sum, value) in sums.iter_mut().zip(derived) {
                        *sum += factor * value;
                    }
                }
            }
            assert_eq!(sums, expected);
        }
    }
}
