//! [`permutation_shap`]: an estimate of Shapley values from random orders of the features, for any model that predicts
//! pair shares (for each pair of labels how often the first is before, tied with, or after the second).

use ndarray::{Array2, Array3, ArrayView2};

use crate::aggregate::Borda;
use crate::error::{Error, Result};
use crate::pairs::{pair_count, PairOrderMatrix, PairShares};
use crate::predict::{map_shares, PairModel, RowBlock};
use crate::random::Generator;
use crate::run::{self, require_memory, Interrupt, Jobs, Work};

/// Rows that are predicted at once.
const ROWS_AT_ONCE: usize = 512;

/// Largest number of predicted shares held in memory at once: 16 MB.
const NUMBERS_AT_ONCE: usize = 1 << 21;

/// Estimated time to predict a row, without the time that grows with its number of shares.
const NANOSECONDS_PER_ROW: usize = 5000;

/// Which orders of the features are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutations {
    /// Number of random orders; each is used forwards and backwards.
    pub count: usize,
    /// Seed of the orders, which are the same for all rows.
    pub seed: u64,
}

/// Estimated Shapley values of Borda scores (sums of the shares of won comparisons, ties counting half).
#[derive(Debug, Clone, PartialEq)]
pub struct PermutationShap {
    /// Rows × features × labels.
    pub values: Array3<f64>,
    /// Mean score of each label over the background rows.
    pub base: Vec<f64>,
}

/// Estimates the Shapley values of the Borda scores of the predicted pair shares.
///
/// The features of each background row are replaced by those of the explained row, one after another in a random order,
/// and each change of the mean score is attributed to the feature that was replaced. The changes of an order add up to
/// the score of the row minus the base value, so the means over all orders do too. Every random order is used forwards
/// and backwards, which removes the error of interactions of two features. The standard error falls with the square
/// root of the number of orders. A row's values depend neither on the other rows nor on the number of threads.
///
/// O(rows · 2 · count · features · background rows) predictions.
///
/// Reference: R. Mitchell, J. Cooper, E. Frank and G. Holmes, *Sampling permutations for Shapley value estimation*,
/// Journal of Machine Learning Research 23, 2022.
///
/// # Errors
/// No background rows, a number of features that differs from the model's, an infinite value, a NaN if the model does
/// not accept missing values, no permutations, errors of the model, [`Error::Memory`], [`Error::Interrupted`], or
/// threads that cannot be started.
pub fn permutation_shap(
    model: &dyn PairModel,
    values: ArrayView2<'_, f64>,
    background: ArrayView2<'_, f64>,
    permutations: Permutations,
    jobs: Jobs<'_>,
) -> Result<PermutationShap> {
    if background.nrows() == 0 {
        return Err(Error::NoRows);
    }
    if permutations.count == 0 {
        return Err(Error::Parameter {
            name: "n_permutations",
            found: 0.0,
            expected: "at least 1",
        });
    }
    let (rows, features, labels) = (values.nrows(), model.features(), model.labels());
    require_memory::<f64>("the SHAP values", &[rows, features + 2, labels, 2])?;
    // Each order takes a vector of features and the mean scores after each replacement.
    let order_size = features.saturating_mul(labels + 1).saturating_add(4);
    require_memory::<f64>("the orders", &[permutations.count, 2, order_size])?;
    // Both calls check the number of features and that no value is infinite.
    let background_scores = borda_scores(model, background, jobs)?;
    let scores = borda_scores(model, values, jobs)?;
    let base = background_scores
        .mean_axis(ndarray::Axis(0))
        .unwrap_or_default()
        .to_vec();
    let orders = draw_orders(features, permutations);
    let explainer = RowExplainer {
        model,
        background: background.as_standard_layout().into_owned(),
        base: &base,
        orders: &orders,
    };
    let predictions = orders.len() * features.saturating_sub(1) * background.nrows();
    let nanoseconds = predictions.saturating_mul(NANOSECONDS_PER_ROW + 4 * pair_count(labels));
    let blocks = run::map(
        jobs,
        Work::new(rows, nanoseconds),
        || (),
        |(), row| {
            let own = values.row(row).to_vec();
            let score = scores.row(row).to_vec();
            explainer.explain(&own, &score, jobs.interrupt)
        },
    )?;
    let shape = (rows, features, labels);
    let values = Array3::from_shape_vec(shape, blocks.concat()).unwrap_or_default();
    Ok(PermutationShap { values, base })
}

/// Borda scores of the predicted shares of rows.
fn borda_scores(
    model: &dyn PairModel,
    values: ArrayView2<'_, f64>,
    jobs: Jobs<'_>,
) -> Result<Array2<f64>> {
    let labels = model.labels();
    // One vector of scores per row, and the matrix that they are copied to.
    require_memory::<f64>("the label scores", &[values.nrows(), 2 * labels + 4])?;
    let scratch = || (PairOrderMatrix::undecided(labels), Vec::new());
    let scores = map_shares(model, values, jobs, scratch, |(matrix, scores), shares| {
        shares.write_pair_order(matrix);
        Borda::fill_scores(matrix, scores);
        Ok(scores.clone())
    })?;
    let shape = (values.nrows(), labels);
    Ok(Array2::from_shape_vec(shape, scores.concat()).unwrap_or_default())
}

/// Random orders of the features, each followed by its reverse.
fn draw_orders(features: usize, permutations: Permutations) -> Vec<Vec<usize>> {
    let mut generator = Generator::new(permutations.seed);
    let mut orders = Vec::with_capacity(2 * permutations.count);
    for _ in 0..permutations.count {
        let mut order: Vec<usize> = (0..features).collect();
        for last in (1..features).rev() {
            order.swap(last, generator.below(last + 1));
        }
        let reversed = order.iter().rev().copied().collect();
        orders.extend([order, reversed]);
    }
    orders
}

/// Inputs shared by the explanations of all rows.
struct RowExplainer<'a> {
    model: &'a dyn PairModel,
    background: Array2<f64>,
    base: &'a [f64],
    orders: &'a [Vec<usize>],
}

impl RowExplainer<'_> {
    /// Shapley values of one row, feature by feature.
    fn explain(&self, row: &[f64], score: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        let (features, labels) = (row.len(), score.len());
        let means = self.mean_scores(row, interrupt)?;
        let steps_per_order = features.saturating_sub(1);
        let mut values = vec![0.0; features * labels];
        let weight = 1.0 / self.orders.len() as f64;
        for (index, order) in self.orders.iter().enumerate() {
            let mut before = self.base;
            for (replaced, &feature) in order.iter().enumerate() {
                let now = if replaced == steps_per_order {
                    score
                } else {
                    &means[(index * steps_per_order + replaced) * labels..][..labels]
                };
                for (label, value) in values[feature * labels..][..labels].iter_mut().enumerate() {
                    *value += weight * (now[label] - before[label]);
                }
                before = now;
            }
        }
        Ok(values)
    }

    /// Mean scores over the background after 1, 2, …, features − 1 replacements, order by order. These are the steps of
    /// an order; the scores before and after all replacements are known.
    fn mean_scores(&self, row: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        let (features, labels) = (row.len(), self.base.len());
        let (steps_per_order, background_rows) =
            (features.saturating_sub(1), self.background.nrows());
        let numbers = 3 * pair_count(labels);
        let at_once = ROWS_AT_ONCE.min(NUMBERS_AT_ONCE / numbers.max(1)).max(1);
        let mut means = vec![0.0; self.orders.len() * steps_per_order * labels];
        let mut shares = PairShares::unknown(labels)?;
        let mut matrix = PairOrderMatrix::undecided(labels);
        let (mut mixed, mut predicted, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        let total = self.orders.len() * steps_per_order * background_rows;
        for first in (0..total).step_by(at_once) {
            interrupt.check()?;
            let rows = first..total.min(first + at_once);
            mixed.clear();
            for index in rows.clone() {
                self.push_mixed(
                    row,
                    index / background_rows,
                    index % background_rows,
                    &mut mixed,
                );
            }
            predicted.resize(rows.len() * numbers, 0.0);
            let block = RowBlock {
                values: &mixed,
                has_missing: mixed.iter().any(|value| value.is_nan()),
                first: 0,
                rows: rows.len(),
            };
            self.model.write_shares(block, &mut predicted, interrupt)?;
            for (index, predicted) in rows.zip(predicted.chunks_exact(numbers)) {
                shares.as_mut_slice().copy_from_slice(predicted);
                shares.write_pair_order(&mut matrix);
                Borda::fill_scores(&matrix, &mut scores);
                let means = &mut means[index / background_rows * labels..][..labels];
                for (mean, score) in means.iter_mut().zip(&scores) {
                    *mean += score / background_rows as f64;
                }
            }
        }
        Ok(means)
    }

    /// Appends a background row after the replacements of one order up to `step`; steps are numbered over all orders.
    fn push_mixed(&self, row: &[f64], step: usize, background_row: usize, mixed: &mut Vec<f64>) {
        let steps_per_order = row.len() - 1;
        let start = mixed.len();
        mixed.extend(self.background.row(background_row));
        for &feature in &self.orders[step / steps_per_order][..=step % steps_per_order] {
            mixed[start + feature] = row[feature];
        }
    }
}
