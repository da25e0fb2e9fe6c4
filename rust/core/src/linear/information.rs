//! Observed information of a linear model: the second derivatives of the objective that the fit minimises.

use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result};
use crate::latent::LatentRow;
use crate::pairs::{pair_count, pair_index};
use crate::rankings::{Rankings, MISSING};
use crate::run::{self, require_memory, Interrupt, Jobs, Work};
use crate::simd::{dispatch, Kernel};

use super::model::LinearModel;
use super::params::{LinearOptions, LinearParams};

/// Rows per block: small enough for their pair moments to stay in cache while they are added.
const BLOCK_ROWS: usize = 8;

impl LinearModel {
    /// Second derivatives, at the fitted coefficients, of the penalty minus the log-likelihood of the training data.
    ///
    /// Row and column j · 2n + output belong to the coefficient of input j for that output. Inputs are the standardised
    /// features divided by the square root of their number, then the intercept; outputs are n utilities, then n tie
    /// terms. O(P²) memory and O(rows · P²) time for P = 2n(m + 1) coefficients. The result does not depend on the
    /// number of threads.
    ///
    /// # Errors
    /// Features that are not finite, a number of features, labels or rows that does not match, [`Error::Interrupted`],
    /// or threads that cannot be started.
    pub fn information(
        &self,
        values: ArrayView2<'_, f64>,
        rankings: &Rankings,
        params: &LinearParams,
        interrupt: &Interrupt,
    ) -> Result<Array2<f64>> {
        if (values.nrows(), self.labels()) != (rankings.len(), rankings.labels()) {
            return Err(Error::Shapes {
                left: "the scores of the features",
                left_shape: (values.nrows(), self.labels()),
                right: "the rankings",
                right_shape: (rankings.len(), rankings.labels()),
            });
        }
        let outputs = 2 * rankings.labels();
        let size = outputs * (values.ncols() + 1);
        require_memory::<f64>("the information matrix", &[size, size, 2])?;
        let data = InformationSums {
            scores: self.raw_scores(values, interrupt)?,
            inputs: self.scale.apply(values),
            rankings,
        };
        let options = params.options();
        let columns = data.inputs.ncols();
        let jobs = Jobs {
            n_jobs: options.n_jobs,
            interrupt,
        };
        let nanoseconds = rankings.len() * pair_count(rankings.labels()) * (20 + columns);
        // Longest strips first, for balanced threads.
        let strips = run::map(
            jobs,
            Work::new(columns, nanoseconds),
            || (),
            |(), number| data.sum_strip(columns - 1 - number, interrupt),
        )?;
        let n = rankings.labels();
        let mut information = Array2::zeros((2 * n * columns, 2 * n * columns));
        for (number, strip) in strips.into_iter().enumerate() {
            let j = columns - 1 - number;
            for (k, sums) in strip.chunks_exact(3 * pair_count(n)).enumerate() {
                add_pair_terms(sums, n, |row, column, value| {
                    information[[2 * n * j + row, 2 * n * k + column]] += value;
                    if k < j {
                        information[[2 * n * k + column, 2 * n * j + row]] += value;
                    }
                });
            }
        }
        add_penalty(&mut information, 2 * n, options);
        Ok(information)
    }
}

fn add_penalty(information: &mut Array2<f64>, outputs: usize, options: &LinearOptions) {
    let coefficients = information.nrows();
    for (index, value) in information.diag_mut().iter_mut().enumerate() {
        *value += if index + outputs < coefficients {
            options.ridge
        } else {
            options.intercept_ridge
        };
    }
}

/// Inputs of the sums over the training rows.
struct InformationSums<'a> {
    /// Scores of the training rows, not clipped, as in the fit.
    scores: Array2<f64>,
    inputs: Array2<f64>,
    rankings: &'a Rankings,
}

impl InformationSums<'_> {
    /// For each input k ≤ j: Σ over rows of weight · `x_j` · `x_k` · the planes of
    /// [`InformationSums::write_pair_moments`].
    fn sum_strip(&self, j: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let size = 3 * pair_count(self.rankings.labels());
        let mut sums = vec![0.0; (j + 1) * size];
        let mut planes = vec![0.0; BLOCK_ROWS * size];
        for first in (0..self.rankings.len()).step_by(BLOCK_ROWS) {
            interrupt.check()?;
            let last = self.rankings.len().min(first + BLOCK_ROWS);
            for (row, planes) in (first..last).zip(planes.chunks_exact_mut(size)) {
                self.write_pair_moments(row, planes);
            }
            dispatch(InformationKernel {
                data: self,
                rows: first..last,
                j,
                planes: &planes,
                sums: &mut sums,
            });
        }
        Ok(sums)
    }

    /// Writes three moments per pair of one row: the variances of y/2 and t, and their covariance, where y is +1 for
    /// before, 0 for tied, −1 for after, and t is 1 for tied, else 0.
    ///
    /// These are the second derivatives of the log-likelihood of a pair, because the scores enter it as
    /// `y (f_u − f_v) / 2 + t (h_u + h_v)`. Pairs that the row does not rank get 0.
    fn write_pair_moments(&self, row: usize, planes: &mut [f64]) {
        let n = self.rankings.labels();
        let pairs = pair_count(n);
        let (first, rest) = planes.split_at_mut(pairs);
        let (second, third) = rest.split_at_mut(pairs);
        let scores = self.scores.row(row).to_vec();
        LatentRow::new(&scores).write_shares([&mut *first, &mut *second, &mut *third]);
        let positions = self.rankings.row(row);
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        let planes = first.iter_mut().zip(second).zip(third);
        for ((u, v), ((first, second), third)) in each.zip(planes) {
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
}

/// Adds a block of rows to the sums of one strip.
struct InformationKernel<'a> {
    data: &'a InformationSums<'a>,
    rows: std::ops::Range<usize>,
    j: usize,
    planes: &'a [f64],
    sums: &'a mut [f64],
}

impl Kernel for InformationKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let weights = self.data.rankings.weights();
        let size = self.planes.len() / BLOCK_ROWS;
        for (k, sums) in self.sums.chunks_exact_mut(size).enumerate() {
            for (row, planes) in self.rows.clone().zip(self.planes.chunks_exact(size)) {
                let inputs = self.data.inputs.row(row);
                let factor = weights.get(row) * inputs[self.j] * inputs[k];
                for (sum, value) in sums.iter_mut().zip(planes) {
                    *sum += factor * value;
                }
            }
        }
    }
}

/// Calls `add(row, column, value)` for each second derivative in the 2n outputs that the summed pair moments
/// contribute to.
fn add_pair_terms(sums: &[f64], n: usize, mut add: impl FnMut(usize, usize, f64)) {
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

#[cfg(test)]
mod tests {
    use super::super::examples::incomplete_rankings;
    use super::super::objective::Objective;
    use super::super::quasi_newton::ConvexFunction;
    use super::*;
    use crate::run::Pool;

    fn data() -> (Array2<f64>, Rankings) {
        let x = Array2::from_shape_fn((11, 2), |(i, j)| ((i * (j + 2)) % 7) as f64 / 3.0);
        let weights: Vec<f64> = (0..11).map(|i| f64::from(i) / 2.0).collect();
        (x, incomplete_rankings(&weights))
    }

    #[test]
    fn information_matches_differences_of_the_gradient() {
        let (x, rankings) = data();
        let params = LinearParams::default();
        let model = LinearModel::fit(x.view(), &rankings, &params, &Interrupt::never()).unwrap();
        let found = model.information(x.view(), &rankings, &params, &Interrupt::never());
        let found = found.unwrap();
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
    fn threads_do_not_matter_and_mismatched_data_is_rejected() {
        let (x, rankings) = data();
        let params = LinearParams::default();
        let model = LinearModel::fit(x.view(), &rankings, &params, &Interrupt::never()).unwrap();
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
