//! Observed information of a linear model (the second derivatives of its objective), and the products of the gradients
//! of single rankings.

use ndarray::{Array2, ArrayView2};

use crate::comparisons::is_whole;
use crate::error::{ComparisonError, Error, Result};
use crate::latent::{Derivatives, LatentRow};
use crate::pairs::{pair_count, pair_index};
use crate::rankings::{Rankings, MISSING};
use crate::run::{require_memory, Interrupt};

use super::model::LinearModel;
use super::params::{LinearOptions, LinearParams};
use super::strips::{RowMoments, StripSums};

/// Matrices from which the standard errors of a linear model are computed.
///
/// Row and column j · 2n + output belong to the coefficient of input j for that output. Inputs are the standardised
/// features and indicators, divided by the square root of their number, then the intercept; outputs are n utilities
/// (which order the labels), then n tie terms (their tendencies to be tied).
#[derive(Debug, Clone, PartialEq)]
pub struct LinearInformation {
    /// Second derivatives H, at the fitted coefficients, of the penalty minus the log-likelihood of the training data.
    pub second_derivatives: Array2<f64>,
    /// M = G/(G − 1) Σ s sᵀ + the second derivatives of the penalty. The sum is over G rankings, and s is the gradient
    /// of the log-likelihood of one of them. H⁻¹ M H⁻¹ estimates the covariance of the coefficients even if the pairs
    /// of a ranking depend on each other. `None` if no ranking has more than two labels.
    ///
    /// If all weights are whole numbers, a row of weight w counts as w rankings; otherwise each row is one ranking,
    /// whose gradient is multiplied by its weight. The penalty counts as information: a coefficient that the data do
    /// not determine keeps a large error.
    pub gradient_products: Option<Array2<f64>>,
}

impl LinearModel {
    /// Second derivatives and products of gradients, for standard errors. O(P²) memory and O(rows · P²) time for
    /// P = 2n(m + 1) coefficients of n labels and m features and indicators. The result does not depend on the number
    /// of threads.
    ///
    /// # Errors
    /// Infinite features, a number of features, labels or rows that does not match,
    /// [`ComparisonError::TooFewRankings`] for a single ranking of more than two labels, [`Error::Interrupted`],
    /// [`Error::Memory`], or threads that cannot be started.
    pub fn information(
        &self,
        values: ArrayView2<'_, f64>,
        rankings: &Rankings,
        params: &LinearParams,
        interrupt: &Interrupt,
    ) -> Result<LinearInformation> {
        if (values.nrows(), self.labels()) != (rankings.len(), rankings.labels()) {
            return Err(Error::Shapes {
                left: "the table of scores",
                left_shape: (values.nrows(), self.labels()),
                right: "the rankings",
                right_shape: (rankings.len(), rankings.labels()),
            });
        }
        let size = 2 * rankings.labels() * (self.inputs() + 1);
        require_memory::<f64>("the information matrix", &[size, size, 4])?;
        let scores = self.raw_scores(values, interrupt)?;
        let inputs = self.scale.apply(values);
        let options = params.options();
        let sums = StripSums {
            inputs: &inputs,
            rankings,
            n_jobs: options.n_jobs,
            interrupt,
        };
        let mut second_derivatives = sums.add_up(&PairMoments {
            scores: &scores,
            rankings,
        })?;
        add_penalty(&mut second_derivatives, options, rankings.labels());
        let mut gradient_products = None;
        if let Some(gradients) = RankingGradients::new(&scores, rankings)? {
            let mut products = sums.add_up(&gradients)? * gradients.correction;
            add_penalty(&mut products, options, rankings.labels());
            gradient_products = Some(products);
        }
        Ok(LinearInformation {
            second_derivatives,
            gradient_products,
        })
    }
}

fn add_penalty(matrix: &mut Array2<f64>, options: &LinearOptions, labels: usize) {
    let coefficients = matrix.nrows();
    for (index, value) in matrix.diag_mut().iter_mut().enumerate() {
        *value += if index + 2 * labels < coefficients {
            options.ridge
        } else {
            options.intercept_ridge
        };
    }
}

/// Second derivatives of the negative log-likelihood of the pairs of a row.
struct PairMoments<'a> {
    /// Utilities and tie terms of the training rows, not clipped, as in the fit.
    scores: &'a Array2<f64>,
    rankings: &'a Rankings,
}

impl RowMoments for PairMoments<'_> {
    fn size(&self) -> usize {
        3 * pair_count(self.rankings.labels())
    }

    fn weight(&self, row: usize) -> f64 {
        self.rankings.weights().get(row)
    }

    /// Writes three moments per pair of one row: the variances of y/2 and t, and their covariance, where y is +1 for
    /// before, 0 for tied, −1 for after, and t is 1 for tied, else 0.
    ///
    /// These are the second derivatives of the negative log-likelihood of a pair, because the scores enter the
    /// log-likelihood as `y (f_u − f_v) / 2 + t (h_u + h_v)`. Pairs that the row does not rank get 0.
    fn write(&self, row: usize, values: &mut [f64]) {
        let n = self.rankings.labels();
        let pairs = pair_count(n);
        let (first, rest) = values.split_at_mut(pairs);
        let (second, third) = rest.split_at_mut(pairs);
        let scores = self.scores.row(row).to_vec();
        LatentRow::new(&scores).write_shares([&mut *first, &mut *second, &mut *third]);
        let positions = self.rankings.row(row);
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        let moments = first.iter_mut().zip(second).zip(third);
        for ((u, v), ((first, second), third)) in each.zip(moments) {
            let (before, tied, after) = (*first, *second, *third);
            if positions[u] == MISSING || positions[v] == MISSING {
                (*first, *second, *third) = (0.0, 0.0, 0.0);
                continue;
            }
            let net = before - after;
            *first = (before + after - net * net).max(0.0) / 4.0;
            *second = tied * (1.0 - tied);
            *third = -net * tied / 2.0;
        }
    }

    fn expand(&self, sums: &[f64], add: &mut dyn FnMut(usize, usize, f64)) {
        let n = self.rankings.labels();
        let pairs = pair_count(n);
        for u in 0..n {
            for v in u + 1..n {
                let pair = pair_index(n, u, v);
                let [net, tied, both] = [0, 1, 2].map(|plane| sums[plane * pairs + pair]);
                for (a, sign) in [(u, 1.0), (v, -1.0)] {
                    for (b, other) in [(u, 1.0), (v, -1.0)] {
                        add(a, b, sign * other * net);
                        add(n + a, n + b, tied);
                        add(a, n + b, sign * both);
                        add(n + a, b, other * both);
                    }
                }
            }
        }
    }
}

/// Products of two derivatives of the log-likelihood of a row, in its utilities and tie terms.
struct RankingGradients<'a> {
    scores: &'a Array2<f64>,
    rankings: &'a Rankings,
    /// Whether weights are numbers of copies.
    has_whole_weights: bool,
    /// G/(G − 1) for G rankings.
    correction: f64,
}

impl<'a> RankingGradients<'a> {
    /// `None` if no row of positive weight ranks more than two labels: each row is then one comparison.
    fn new(scores: &'a Array2<f64>, rankings: &'a Rankings) -> Result<Option<Self>> {
        let has_whole_weights = is_whole(rankings.weights());
        let (mut total, mut largest) = (0.0, 0);
        for (row, positions) in rankings.rows().enumerate() {
            let weight = rankings.weights().get(row);
            let ranked = positions.iter().filter(|&&p| p != MISSING).count();
            if weight > 0.0 && ranked > 1 {
                total += if has_whole_weights { weight } else { 1.0 };
                largest = largest.max(ranked);
            }
        }
        if largest <= 2 {
            return Ok(None);
        }
        if total < 2.0 {
            return Err(Error::Comparison(ComparisonError::TooFewRankings));
        }
        Ok(Some(Self {
            scores,
            rankings,
            has_whole_weights,
            correction: total / (total - 1.0),
        }))
    }
}

impl RowMoments for RankingGradients<'_> {
    fn size(&self) -> usize {
        4 * self.rankings.labels().pow(2)
    }

    fn weight(&self, row: usize) -> f64 {
        let weight = self.rankings.weights().get(row);
        if self.has_whole_weights {
            weight
        } else {
            weight * weight
        }
    }

    fn write(&self, row: usize, values: &mut [f64]) {
        let n = self.rankings.labels();
        let scores = self.scores.row(row).to_vec();
        let mut derivatives = Derivatives::new(n);
        let positions = self.rankings.row(row);
        LatentRow::new(&scores).add_derivatives(positions, 1.0, &mut derivatives);
        let gradient = &derivatives.gradient;
        for (products, a) in values.chunks_exact_mut(2 * n).zip(gradient) {
            for (product, b) in products.iter_mut().zip(gradient) {
                *product = a * b;
            }
        }
    }

    fn expand(&self, sums: &[f64], add: &mut dyn FnMut(usize, usize, f64)) {
        let outputs = 2 * self.rankings.labels();
        for (row, sums) in sums.chunks_exact(outputs).enumerate() {
            for (column, &value) in sums.iter().enumerate() {
                add(row, column, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::incomplete_rankings;
    use super::super::objective::Objective;
    use super::super::quasi_newton::ConvexFunction;
    use super::*;
    use crate::run::Pool;
    use ndarray::array;

    fn data() -> (Array2<f64>, Rankings) {
        let x = Array2::from_shape_fn((11, 2), |(i, j)| ((i * (j + 2)) % 7) as f64 / 3.0);
        let weights: Vec<f64> = (0..11).map(|i| f64::from(i) / 2.0).collect();
        (x, incomplete_rankings(&weights))
    }

    #[test]
    fn information_matches_differences_of_the_gradient() {
        let (x, rankings) = data();
        let params = LinearParams::default();
        let model =
            LinearModel::fit(x.view(), &[], &rankings, &params, &Interrupt::never()).unwrap();
        let found = model.information(x.view(), &rankings, &params, &Interrupt::never());
        let found = found.unwrap().second_derivatives;
        let inputs = model.scale.apply(x.view());
        let objective = Objective::new(
            &inputs,
            &rankings,
            params.options(),
            (Pool::SERIAL, const { &Interrupt::never() }),
        );
        let step = 1e-5;
        for i in 0..objective.len() {
            let at = |offset: f64| {
                let mut moved = model.coefficients.clone();
                moved[i] += offset;
                objective.evaluate(&moved).unwrap().gradient
            };
            for (j, (up, down)) in at(step).iter().zip(at(-step)).enumerate() {
                let second = (up - down) / (2.0 * step);
                assert!((found[[i, j]] - second).abs() < 1e-6, "{i} {j}");
            }
        }
        assert_eq!(found, found.t());
    }

    #[test]
    fn products_are_those_of_the_gradients_of_single_rankings() {
        let (x, _) = data();
        // A whole weight is a number of copies; any other weight multiplies the gradient of one ranking.
        let whole: Vec<f64> = (0..11).map(|i| f64::from(i % 3)).collect();
        let halves: Vec<f64> = whole.iter().map(|w| w / 2.0).collect();
        for (weights, copies) in [(&whole, true), (&halves, false)] {
            let rankings = incomplete_rankings(weights);
            let params = LinearParams::default();
            let never = Interrupt::never();
            let model = LinearModel::fit(x.view(), &[], &rankings, &params, &never).unwrap();
            let found = model.information(x.view(), &rankings, &params, &never);
            let found = found.unwrap().gradient_products.unwrap();
            let inputs = model.scale.apply(x.view());
            let scores = model.raw_scores(x.view(), &never).unwrap();
            let outputs = 2 * rankings.labels();
            let mut expected = Array2::<f64>::zeros(found.dim());
            let mut total = 0.0;
            for (row, &weight) in weights.iter().enumerate() {
                let scores = scores.row(row).to_vec();
                let mut own = Derivatives::new(rankings.labels());
                LatentRow::new(&scores).add_derivatives(rankings.row(row), 1.0, &mut own);
                let slope = |i: usize| inputs[[row, i / outputs]] * own.gradient[i % outputs];
                let ranked = rankings.row(row).iter().filter(|&&p| p != MISSING).count();
                if ranked > 1 && weight > 0.0 {
                    total += if copies { weight } else { 1.0 };
                }
                let factor = if copies { weight } else { weight * weight };
                for ((i, j), entry) in expected.indexed_iter_mut() {
                    *entry += factor * slope(i) * slope(j);
                }
            }
            expected *= total / (total - 1.0);
            add_penalty(&mut expected, params.options(), rankings.labels());
            let largest = (&expected - &found).fold(0.0_f64, |m, d| m.max(d.abs()));
            assert!(largest < 1e-10, "{largest}");
        }
    }

    #[test]
    fn comparisons_of_two_labels_are_independent_and_one_ranking_is_too_few() {
        let params = LinearParams::default();
        let never = Interrupt::never();
        let x = Array2::from_shape_fn((2, 1), |(i, _)| i as f64);
        let products = |positions: Array2<f64>, weights: &[f64]| {
            let rankings =
                Rankings::new(positions.view(), Some(weights), &Interrupt::never()).unwrap();
            let model = LinearModel::fit(x.view(), &[], &rankings, &params, &never).unwrap();
            let found = model.information(x.view(), &rankings, &params, &never)?;
            Ok(found.gradient_products.is_some())
        };
        let nan = f64::NAN;
        let pairs = array![[1.0, 2.0, nan], [nan, 2.0, 1.0]];
        assert_eq!(products(pairs, &[1.0, 1.0]), Ok(false));
        let whole = array![[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]];
        assert_eq!(products(whole.clone(), &[1.0, 1.0]), Ok(true));
        assert_eq!(products(whole.clone(), &[2.0, 0.0]), Ok(true));
        let error = Err(Error::Comparison(ComparisonError::TooFewRankings));
        assert_eq!(products(whole, &[0.5, 0.0]), error);
    }

    #[test]
    fn threads_do_not_matter_and_mismatched_data_is_rejected() {
        let (x, rankings) = data();
        let params = LinearParams::default();
        let model =
            LinearModel::fit(x.view(), &[], &rankings, &params, &Interrupt::never()).unwrap();
        let threads = |n_jobs| {
            let options = LinearOptions {
                n_jobs,
                ..LinearOptions::default()
            };
            let params = LinearParams::new(options).unwrap();
            model
                .information(x.view(), &rankings, &params, &Interrupt::never())
                .unwrap()
        };
        assert_eq!(threads(1), threads(3));
        let short = x.select(ndarray::Axis(0), &[0, 1]);
        let refused = model.information(short.view(), &rankings, &params, &Interrupt::never());
        assert!(matches!(refused, Err(Error::Shapes { .. })));
        let interrupt = Interrupt::new();
        interrupt.request();
        let stopped = model.information(x.view(), &rankings, &params, &interrupt);
        assert_eq!(stopped, Err(Error::Interrupted));
    }
}
