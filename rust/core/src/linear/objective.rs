//! The penalised log-likelihood of a linear model and its derivatives. The scores of a row are for each label a
//! utility, which orders the labels, and a tie term, its tendency to be tied.

use ndarray::Array2;

use crate::latent::LANES;
use crate::pairs::{label_relations, pair_count};
use crate::rankings::Rankings;
use crate::run::{Interrupt, Pool};
use crate::simd::dispatch;

use super::curvature::Curvature;
use super::derivatives::{sum_moments, DerivativeKind};
use super::params::LinearOptions;
use super::quasi_newton::ConvexFunction;
use super::rows::RowSumsKernel;

/// The function that a fit minimises: penalty minus log-likelihood.
pub(super) struct Objective<'a> {
    /// Standardised features, with a last column of ones.
    pub(super) inputs: &'a Array2<f64>,
    pub(super) rankings: &'a Rankings,
    /// Result of [`label_relations`]: per row and label the number of labels after it minus the number before it; then
    /// per label the number tied with it.
    pub(super) relations: Vec<f64>,
    options: &'a LinearOptions,
    pool: Pool,
    /// Checked every [`LANES`] rows; when interrupted, sums over the rows are `None`.
    pub(super) interrupt: &'a Interrupt,
}

/// Value and gradient of the objective at a point.
#[derive(Debug, Clone)]
pub(super) struct ObjectiveValue {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
}

/// Largest number of entries of all blocks of second derivatives, with one block per output (a utility or a tie term of
/// a label); with more entries, only the diagonal is used.
const MAX_BLOCK_ENTRIES: usize = 1 << 18;

/// Estimated nanoseconds per row to compute the value and its gradient: 4 per pair of labels, and 1 per input and label
/// for the scores.
pub(super) fn nanoseconds_per_row(inputs: usize, labels: usize) -> usize {
    4 * pair_count(labels) + inputs * labels
}

impl<'a> Objective<'a> {
    pub(super) fn new(
        inputs: &'a Array2<f64>,
        rankings: &'a Rankings,
        options: &'a LinearOptions,
        (pool, interrupt): (Pool, &'a Interrupt),
    ) -> Self {
        Self {
            inputs,
            rankings,
            relations: label_relations(rankings),
            options,
            pool,
            interrupt,
        }
    }

    /// Number of coefficients: 2n per column of the inputs, for n labels.
    pub(super) fn len(&self) -> usize {
        self.inputs.ncols() * 2 * self.rankings.labels()
    }

    /// Whether the blocks of second derivatives of all outputs together have at most [`MAX_BLOCK_ENTRIES`] entries.
    fn has_small_blocks(&self) -> bool {
        DerivativeKind::OutputBlocks.sums_per_output(self.inputs.ncols())
            * 2
            * self.rankings.labels()
            <= MAX_BLOCK_ENTRIES
    }

    /// Curvature of the objective, penalty included: from the `blocks` of second derivatives if they are given and
    /// can be factorised, else from the `diagonal`.
    fn penalised_curvature(
        &self,
        blocks: Option<Vec<f64>>,
        diagonal: impl FnOnce() -> Option<Vec<f64>>,
    ) -> Option<Curvature> {
        let (inputs, outputs) = (self.inputs.ncols(), 2 * self.rankings.labels());
        let ridge = |input: usize| self.ridge(input * outputs);
        let factors =
            blocks.and_then(|blocks| Curvature::factorise(&blocks, inputs, outputs, ridge));
        if factors.is_some() {
            return factors;
        }
        let mut diagonal = diagonal()?;
        for (index, curvature) in diagonal.iter_mut().enumerate() {
            *curvature += self.ridge(index);
        }
        Some(Curvature::Diagonal(diagonal))
    }

    /// Second derivative of the penalty in a coefficient.
    fn ridge(&self, index: usize) -> f64 {
        let column = index / (2 * self.rankings.labels());
        if column + 1 == self.inputs.ncols() {
            self.options.intercept_ridge
        } else {
            self.options.ridge
        }
    }

    /// Log-likelihood and its derivatives, or `None` if a score is too large or when interrupted.
    ///
    /// The rows are split into parts, which may run in parallel. The size of a part depends only on the number of rows
    /// and on `kind`, and the sums of the parts are added in order: the number of threads does not change the result.
    fn sum_rows(&self, coefficients: &[f64], kind: DerivativeKind) -> Option<(f64, Vec<f64>)> {
        let rows = self.rankings.len();
        let outputs = 2 * self.rankings.labels();
        let max_parts = if kind == DerivativeKind::OutputBlocks {
            16
        } else {
            256
        };
        let part_rows = rows.div_ceil(max_parts).max(64).next_multiple_of(LANES);
        let nanoseconds = rows * nanoseconds_per_row(self.inputs.ncols(), self.rankings.labels());
        let parts = self
            .pool
            .map(nanoseconds, 0..rows.div_ceil(part_rows), |part| {
                dispatch(RowSumsKernel {
                    objective: self,
                    coefficients,
                    rows: part * part_rows..rows.min((part + 1) * part_rows),
                    kind,
                })
            });
        let mut log_likelihood = 0.0;
        let mut derivatives = vec![0.0; kind.sums_per_output(self.inputs.ncols()) * outputs];
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

impl ConvexFunction for Objective<'_> {
    /// `None` if a score is too large or when interrupted.
    fn evaluate(&self, coefficients: &[f64]) -> Option<ObjectiveValue> {
        let (log_likelihood, mut gradient) =
            self.sum_rows(coefficients, DerivativeKind::Gradient)?;
        let mut value = -log_likelihood;
        for (index, (gradient, &w)) in gradient.iter_mut().zip(coefficients).enumerate() {
            let ridge = self.ridge(index);
            value += ridge / 2.0 * w * w;
            *gradient = ridge * w - *gradient;
        }
        Some(ObjectiveValue { value, gradient })
    }

    /// Estimate in which each row's second derivatives with respect to its scores are replaced by their mean over all
    /// rows. Exact for coefficients of 0 and complete rankings.
    fn rough_curvature(&self, coefficients: &[f64]) -> Option<Curvature> {
        let (_, diagonal) = self.sum_rows(coefficients, DerivativeKind::Diagonal)?;
        let outputs = 2 * self.rankings.labels();
        let sums = self.has_small_blocks().then(|| {
            // The intercept's input is 1, so its sums are the curvatures of the outputs, summed over the rows.
            let curvatures = &diagonal[diagonal.len() - outputs..];
            let total = self.rankings.weights().total();
            let moments = sum_moments(self.inputs, self.rankings.weights());
            let blocks = moments
                .iter()
                .flat_map(|m| curvatures.iter().map(move |c| m * c / total));
            blocks.collect()
        });
        self.penalised_curvature(sums, || Some(diagonal))
    }

    fn curvature(&self, coefficients: &[f64]) -> Option<Curvature> {
        let sums = if self.has_small_blocks() {
            Some(self.sum_rows(coefficients, DerivativeKind::OutputBlocks)?.1)
        } else {
            None
        };
        self.penalised_curvature(sums, || {
            Some(self.sum_rows(coefficients, DerivativeKind::Diagonal)?.1)
        })
    }

    /// Grows with the number of inputs, because the cost of a precise estimate relative to that of a gradient does.
    fn first_estimate_step(&self) -> usize {
        (self.inputs.ncols() / 4).max(4)
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::incomplete_rankings;
    use super::*;
    use crate::latent::LatentRow;

    #[test]
    fn value_and_derivatives_match_finite_differences() {
        let inputs = Array2::from_shape_fn((11, 3), |(i, j)| match j {
            2 => 1.0,
            _ => ((i * (j + 2)) % 7) as f64 / 3.0 - 1.0,
        });
        let weights: Vec<f64> = (0..11).map(|i| 0.5 + f64::from(i)).collect();
        let rankings = incomplete_rankings(&weights);
        let options = LinearOptions::default();
        let objective = Objective::new(
            &inputs,
            &rankings,
            &options,
            (Pool::SERIAL, const { &Interrupt::never() }),
        );
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
        let (_, diagonal) = objective
            .sum_rows(&point, DerivativeKind::Diagonal)
            .unwrap();
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
            let second = |i: usize| (up.gradient[i] - down.gradient[i]) / (2.0 * step);
            let found = diagonal[index] + objective.ridge(index);
            assert!((found - second(index)).abs() < 1e-5, "{index}");
            // Dividing a column of the matrix by the matrix gives a unit vector; other outputs are not part of
            // the block.
            let mut column: Vec<f64> = (0..point.len())
                .map(|i| if i % 6 == index % 6 { second(i) } else { 0.0 })
                .collect();
            curvature.divide(&mut column);
            for (i, value) in column.iter().enumerate() {
                let expected = f64::from(u8::from(i == index));
                assert!((value - expected).abs() < 1e-5, "{index} {i}");
            }
        }
        assert!(objective.evaluate(&vec![1e6; point.len()]).is_none());
    }

    #[test]
    fn rough_curvature_is_exact_at_zero_for_complete_rankings() {
        let inputs = Array2::from_shape_fn((11, 3), |(i, j)| match j {
            2 => 1.0,
            _ => ((i * (j + 2)) % 7) as f64 / 3.0 - 1.0,
        });
        let positions = Array2::from_shape_fn((11, 3), |(i, j)| ((i + j) % 3 + 1) as i64);
        let weights: Vec<f64> = (0..11).map(|i| 0.5 + f64::from(i)).collect();
        let rankings =
            Rankings::new(positions.view(), Some(&weights), &Interrupt::never()).unwrap();
        let options = LinearOptions::default();
        let objective = Objective::new(
            &inputs,
            &rankings,
            &options,
            (Pool::SERIAL, const { &Interrupt::never() }),
        );
        let start = vec![0.0; objective.len()];
        let [mut precise, mut rough] =
            [(); 2].map(|()| objective.evaluate(&start).unwrap().gradient);
        objective.curvature(&start).unwrap().divide(&mut precise);
        objective
            .rough_curvature(&start)
            .unwrap()
            .divide(&mut rough);
        assert!(precise
            .iter()
            .zip(rough)
            .all(|(a, b)| (a - b).abs() < 1e-10));
        assert!(precise.iter().any(|step| step.abs() > 0.01));
    }

    #[test]
    fn the_estimated_time_grows_with_pairs_and_inputs() {
        let estimate = nanoseconds_per_row;
        assert_eq!(estimate(0, 10), 180);
        assert_eq!(estimate(0, 40), 4 * 780);
        assert_eq!(estimate(300, 10) - estimate(100, 10), 2000);
    }
}
