//! The penalised log-likelihood of a linear model and its derivatives.

use ndarray::Array2;

use crate::latent::{Block, LANES};
use crate::parallel::ordered;
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

use super::curvature::Curvature;
use super::order::Order;
use super::params::LinearOptions;
use super::quasi_newton::Function;

/// Scores beyond this make no sense: a step that leads there is too long.
const LARGEST_SCORE: f64 = 250.0;

/// What is minimised: the penalty less the log-likelihood.
pub(super) struct Objective<'a> {
    /// Standardised rows, with a last column of ones.
    pub(super) inputs: &'a Array2<f64>,
    pub(super) rankings: &'a Rankings,
    /// For each row and label what [`Relations`] says.
    relations: Vec<f64>,
    options: &'a LinearOptions,
    /// Whether the caller runs in a pool of several threads.
    spread: bool,
}

/// Value and gradient at a point.
#[derive(Debug, Clone)]
pub(super) struct Evaluation {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
}

/// What a block of rows adds.
struct Part {
    log_likelihood: f64,
    /// What [`Order`] says, of the log-likelihood.
    derivatives: Vec<f64>,
}

/// Numbers in the blocks of all outputs together, at most; else inputs are treated as if they were uncorrelated.
const LARGEST_BLOCKS: usize = 1 << 18;

impl<'a> Objective<'a> {
    pub(super) fn new(
        inputs: &'a Array2<f64>,
        rankings: &'a Rankings,
        options: &'a LinearOptions,
    ) -> Self {
        Self {
            inputs,
            rankings,
            relations: relations(rankings),
            options,
            spread: options.n_jobs > 1 && rankings.len() > 256,
        }
    }

    /// Number of coefficients: 2n for each column of the inputs.
    pub(super) fn len(&self) -> usize {
        self.inputs.ncols() * 2 * self.rankings.labels()
    }

    /// The penalty's second derivative in a coefficient.
    fn ridge(&self, index: usize) -> f64 {
        let column = index / (2 * self.rankings.labels());
        if column + 1 == self.inputs.ncols() {
            self.options.intercept_ridge
        } else {
            self.options.ridge
        }
    }

    /// Sums over blocks of rows; their number depends on the number of rows only, and they are added in order.
    fn sum(&self, coefficients: &[f64], order: Order) -> Option<(f64, Vec<f64>)> {
        let rows = self.rankings.len();
        let outputs = 2 * self.rankings.labels();
        let most = if order == Order::Blocks { 16 } else { 256 };
        let block = rows.div_ceil(most).max(64).next_multiple_of(LANES);
        let parts = ordered(self.spread, rows.div_ceil(block), |number| {
            dispatch(AddRows {
                objective: self,
                coefficients,
                rows: number * block..rows.min((number + 1) * block),
                order,
            })
        });
        let mut log_likelihood = 0.0;
        let mut derivatives = vec![0.0; order.len(self.inputs.ncols()) * outputs];
        for part in parts {
            let part = part?;
            log_likelihood += part.log_likelihood;
            for (sum, value) in derivatives.iter_mut().zip(part.derivatives) {
                *sum += value;
            }
        }
        Some((log_likelihood, derivatives))
    }
}

impl Function for Objective<'_> {
    /// `None` where scores are absurdly large.
    fn evaluate(&self, coefficients: &[f64]) -> Option<Evaluation> {
        let (log_likelihood, mut gradient) = self.sum(coefficients, Order::First)?;
        let mut value = -log_likelihood;
        for (index, (gradient, &w)) in gradient.iter_mut().zip(coefficients).enumerate() {
            let ridge = self.ridge(index);
            value += ridge / 2.0 * w * w;
            *gradient = ridge * w - *gradient;
        }
        Some(Evaluation { value, gradient })
    }

    fn curvature(&self, coefficients: &[f64]) -> Option<Curvature> {
        let (inputs, outputs) = (self.inputs.ncols(), 2 * self.rankings.labels());
        if Order::Blocks.len(inputs) * outputs <= LARGEST_BLOCKS {
            let (_, blocks) = self.sum(coefficients, Order::Blocks)?;
            let ridge = |input: usize| self.ridge(input * outputs);
            let factors = Curvature::factorise(&blocks, inputs, outputs, ridge);
            if factors.is_some() {
                return factors;
            }
        }
        let (_, mut diagonal) = self.sum(coefficients, Order::Diagonal)?;
        for (index, curvature) in diagonal.iter_mut().enumerate() {
            *curvature += self.ridge(index);
        }
        Some(Curvature::Diagonal(diagonal))
    }
}

/// For each row and label the ranked labels behind it less those before it, then the labels tied with it.
fn relations(rankings: &Rankings) -> Vec<f64> {
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

struct AddRows<'a> {
    objective: &'a Objective<'a>,
    coefficients: &'a [f64],
    rows: std::ops::Range<usize>,
    order: Order,
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

#[cfg(test)]
mod tests {
    use super::super::examples::incomplete_rankings;
    use super::*;
    use crate::latent::LatentRow;

    #[test]
    fn values_and_gradients_are_those_of_the_model() {
        let inputs = Array2::from_shape_fn((11, 3), |(i, j)| match j {
            2 => 1.0,
            _ => ((i * (j + 2)) % 7) as f64 / 3.0 - 1.0,
        });
        let weights: Vec<f64> = (0..11).map(|i| 0.5 + f64::from(i)).collect();
        let rankings = incomplete_rankings(&weights);
        let options = LinearOptions::default();
        let objective = Objective::new(&inputs, &rankings, &options);
        let point: Vec<f64> = (0..objective.len())
            .map(|i| ((i * 5) % 9) as f64 / 4.0 - 1.0)
            .collect();
        let found = objective.evaluate(&point).unwrap();
        let mut expected = 0.0;
        for (row, positions) in rankings.rows().enumerate() {
            let scores: Vec<f64> = (0..6)
                .map(|o| (0..3).map(|j| inputs[[row, j]] * point[j * 6 + o]).sum())
                .collect();
            expected -= weights[row] * LatentRow::new(&scores).log_likelihood(positions);
        }
        for (index, w) in point.iter().enumerate() {
            let ridge = if index < 12 { 0.1 } else { 0.001 };
            expected += ridge / 2.0 * w * w;
        }
        assert!((found.value - expected).abs() < 1e-10);
        let curvature = objective.curvature(&point).unwrap();
        let (_, diagonal) = objective.sum(&point, Order::Diagonal).unwrap();
        let step = 1e-5;
        for index in 0..point.len() {
            let at = |offset: f64| {
                let mut moved = point.clone();
                moved[index] += offset;
                objective.evaluate(&moved).unwrap()
            };
            let (up, down) = (at(step), at(-step));
            let slope = (up.value - down.value) / (2.0 * step);
            assert!((found.gradient[index] - slope).abs() < 1e-5, "{index}");
            let bend = |i: usize| (up.gradient[i] - down.gradient[i]) / (2.0 * step);
            let found = diagonal[index] + objective.ridge(index);
            assert!((found - bend(index)).abs() < 1e-5, "{index}");
            // Divided by itself, the column of a coefficient is that coefficient; other outputs do not matter.
            let mut column: Vec<f64> = (0..point.len())
                .map(|i| if i % 6 == index % 6 { bend(i) } else { 0.0 })
                .collect();
            curvature.divide(&mut column);
            for (i, value) in column.iter().enumerate() {
                let expected = f64::from(u8::from(i == index));
                assert!((value - expected).abs() < 1e-5, "{index} {i}");
            }
        }
        assert!(objective.evaluate(&vec![1e6; point.len()]).is_none());
    }
}
