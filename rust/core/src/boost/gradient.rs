//! First and second derivatives of sampled rows, laid out for sums over rows.

use crate::latent::{LatentBlock, LANES};
use crate::pairs::label_relations;
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

use super::scale::Scale;

/// Outputs per cache line.
pub(super) const OUTPUTS: usize = 8;

/// Gradients of [`OUTPUTS`] outputs of a row, then their curvatures: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct DerivativeLine(pub(super) [f32; 2 * OUTPUTS]);

/// Rows per task of a thread.
pub(super) const ROWS: usize = 256;

/// Derivatives of rows: row by row, one line per group of outputs.
#[derive(Default)]
pub(super) struct DerivativeLines {
    lines: Vec<DerivativeLine>,
    groups: usize,
}

impl DerivativeLines {
    /// Resizes to `rows` rows and returns the lines to fill.
    pub(super) fn resize(&mut self, rows: usize, labels: usize) -> &mut [DerivativeLine] {
        self.groups = group_count(labels);
        let size = rows * self.groups;
        if self.lines.len() < size {
            self.lines.resize(size, DerivativeLine::default());
        }
        &mut self.lines[..size]
    }

    /// Number of groups of outputs.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// Lines of a row: one per group.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[DerivativeLine] {
        self.row_groups(row, 0, self.groups)
    }

    /// `count` lines of a row, starting at group `first`.
    #[inline(always)]
    pub(super) fn row_groups(&self, row: usize, first: usize, count: usize) -> &[DerivativeLine] {
        let first = row * self.groups + first;
        &self.lines[first..first + count]
    }
}

/// Number of groups of the 2n outputs of `labels` labels.
pub(super) fn group_count(labels: usize) -> usize {
    (2 * labels).div_ceil(OUTPUTS)
}

/// Computes derivatives of the log-likelihood of training rows. Holds the inputs that do not depend on the scores.
pub(super) struct RowDerivatives<'a> {
    rankings: &'a Rankings,
    /// Row weights in units of `scale`.
    weights: Vec<f32>,
    scale: Scale,
    /// Result of [`label_relations`].
    relations: Vec<f32>,
}

/// If the largest weight is outside this range, all weights are divided by it, because their sums would exceed
/// single precision.
const PLAIN_WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

impl<'a> RowDerivatives<'a> {
    pub(super) fn new(rankings: &'a Rankings, ridge: f64) -> Self {
        let weights = || (0..rankings.len()).map(|row| rankings.weights().get(row));
        let largest = weights().fold(0.0, f64::max);
        let plain = if PLAIN_WEIGHTS.contains(&largest) {
            1.0
        } else {
            largest
        };
        let total: f64 = weights().map(|weight| weight / plain).sum();
        // A label is in fewer than `labels` pairs, and the derivatives of a pair are at most 1.
        let scale = Scale::new(total * rankings.labels() as f64, ridge);
        Self {
            rankings,
            weights: weights()
                .map(|weight| (weight / plain / scale.unit) as f32)
                .collect(),
            scale,
            relations: label_relations(rankings),
        }
    }

    /// Unit of the derivatives.
    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// Number of labels.
    pub(super) fn labels(&self) -> usize {
        self.rankings.labels()
    }

    /// Writes the derivatives of the log-likelihood of each row at its 2n scores, in units of the scale.
    pub(super) fn write(&self, rows: &[u32], scores: &[f32], out: &mut [DerivativeLine]) {
        dispatch(DerivativesKernel {
            derivatives: self,
            rows,
            scores,
            out,
        });
    }
}

struct DerivativesKernel<'a> {
    derivatives: &'a RowDerivatives<'a>,
    rows: &'a [u32],
    scores: &'a [f32],
    out: &'a mut [DerivativeLine],
}

impl Kernel for DerivativesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.derivatives.labels();
        let groups = group_count(n);
        let mut block = LatentBlock::<f32>::new(n);
        // Derivatives of one row; padding outputs stay 0.
        let mut gradient = vec![0.0; groups * OUTPUTS];
        let mut curvature = vec![0.0; groups * OUTPUTS];
        for (number, rows) in self.rows.chunks(LANES).enumerate() {
            for lane in 0..LANES {
                // The last block is padded with its first row.
                let row = *rows.get(lane).unwrap_or(&rows[0]) as usize;
                let positions = self.derivatives.rankings.row(row);
                let scores = &self.scores[row * 2 * n..(row + 1) * 2 * n];
                block.set_lane(lane, scores, |label| positions[label] != MISSING);
            }
            block.compute_strengths();
            let sums = block.sum_pairs();
            let out = self.out.chunks_exact_mut(groups).skip(number * LANES);
            for ((lane, &row), out) in rows.iter().enumerate().zip(out) {
                let row = row as usize;
                let positions = self.derivatives.rankings.row(row);
                let weight = self.derivatives.weights[row];
                let relations = &self.derivatives.relations[row * 2 * n..(row + 1) * 2 * n];
                let (net, tied) = relations.split_at(n);
                let (gradient_f, gradient_h) = gradient.split_at_mut(n);
                let (curvature_f, curvature_h) = curvature.split_at_mut(n);
                let utilities = gradient_f.iter_mut().zip(curvature_f).zip(net);
                let tie_terms = gradient_h.iter_mut().zip(curvature_h).zip(tied);
                let labels = sums.iter().zip(positions);
                for ((((g_f, c_f), net), ((g_h, c_h), tied)), (sums, &position)) in
                    utilities.zip(tie_terms).zip(labels)
                {
                    let weight = if position == MISSING { 0.0 } else { weight };
                    *g_f = 0.5 * (net - sums.net[lane]) * weight;
                    *c_f = (0.25 * sums.net_curvature[lane]).max(0.0) * weight;
                    *g_h = (tied - sums.tied[lane]) * weight;
                    *c_h = sums.tied_curvature[lane].max(0.0) * weight;
                }
                let groups = gradient
                    .chunks_exact(OUTPUTS)
                    .zip(curvature.chunks_exact(OUTPUTS));
                for (line, (gradient, curvature)) in out.iter_mut().zip(groups) {
                    line.0[..OUTPUTS].copy_from_slice(gradient);
                    line.0[OUTPUTS..].copy_from_slice(curvature);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latent::{Derivatives, LatentRow};
    use ndarray::Array2;

    #[test]
    fn lines_match_the_derivatives_of_single_rows() {
        let (rows, n) = (21, 5);
        let y = Array2::from_shape_fn((rows, n), |(i, j)| match (i * 5 + j * 3) % 7 {
            0 => f64::NAN,
            _ => ((i + j * j) % 3) as f64,
        });
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64).collect();
        let ranked =
            crate::missing::to_dense_ranks(y.view(), &crate::run::Interrupt::never()).unwrap();
        let table = Array2::from_shape_fn((rows, n), |(i, j)| match ranked.row(i)[j] {
            MISSING => f64::NAN,
            position => f64::from(position),
        });
        let rankings = Rankings::new(table.view(), Some(&weights)).unwrap();
        let scores: Vec<f32> = (0..rows * 2 * n)
            .map(|i| ((i * 37) % 41) as f32 / 10.0 - 2.0)
            .collect();
        let derivatives = RowDerivatives::new(&rankings, 2.0);
        let unit = derivatives.scale().unit;
        assert_ne!(unit, 1.0);
        let sampled: Vec<u32> = (0..rows as u32).filter(|row| row % 3 != 1).collect();
        let mut lines = DerivativeLines::default();
        derivatives.write(&sampled, &scores, lines.resize(sampled.len(), n));
        assert_eq!(lines.groups(), 2);
        for (place, &row) in sampled.iter().enumerate() {
            let row = row as usize;
            let scores: Vec<f64> = scores[row * 2 * n..(row + 1) * 2 * n]
                .iter()
                .map(|&s| f64::from(s))
                .collect();
            let mut expected = Derivatives::new(n);
            LatentRow::new(&scores).add_derivatives(rankings.row(row), weights[row], &mut expected);
            for output in 0..2 * n {
                let line = lines.row(place)[output / OUTPUTS];
                let at = output % OUTPUTS;
                let error = f64::from(line.0[at]) * unit - expected.gradient[output];
                assert!(error.abs() < 1e-5 * weights[row], "{error}");
                let error = f64::from(line.0[at + OUTPUTS]) * unit - expected.curvature[output];
                assert!(error.abs() < 1e-5 * weights[row], "{error}");
            }
        }
    }
}
