//! First and second derivatives of sampled rows, laid out for sums over rows.

use crate::latent::{LatentBlock, PairSums, LANES};
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
        let mut buffers = RowBuffers::new(n);
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
                buffers.set_row(relations, positions, weight);
                buffers.set_sums(sums, lane);
                buffers.write(out);
            }
        }
    }
}

/// Numbers per output of one row, padded with 0 to whole lines.
struct RowBuffers {
    labels: usize,
    /// Factors of gradient and curvature: ½ and ¼ for utilities, 1 for tie terms.
    factors: [Vec<Outputs>; 2],
    relations: Vec<Outputs>,
    /// Weight of the row; 0 for labels that are not ranked.
    weights: Vec<Outputs>,
    /// Sums over pairs that gradient and curvature are computed from.
    sums: [Vec<Outputs>; 2],
}

/// Numbers of a line of outputs.
type Outputs = [f32; OUTPUTS];

impl RowBuffers {
    fn new(labels: usize) -> Self {
        let zeros = || vec![[0.0; OUTPUTS]; group_count(labels)];
        let factors = |utility: f32| {
            let mut factors = zeros();
            let (utilities, rest) = factors.as_flattened_mut().split_at_mut(labels);
            utilities.fill(utility);
            rest[..labels].fill(1.0);
            factors
        };
        Self {
            labels,
            factors: [factors(0.5), factors(0.25)],
            relations: zeros(),
            weights: zeros(),
            sums: [zeros(), zeros()],
        }
    }

    #[inline(always)]
    fn set_row(&mut self, relations: &[f32], positions: &[u16], weight: f32) {
        let n = self.labels;
        self.relations.as_flattened_mut()[..2 * n].copy_from_slice(relations);
        let weights = self.weights.as_flattened_mut();
        for (own, &position) in weights[..n].iter_mut().zip(positions) {
            *own = if position == MISSING { 0.0 } else { weight };
        }
        weights.copy_within(..n, n);
    }

    /// Takes the sums of one row of a block.
    #[inline(always)]
    fn set_sums(&mut self, sums: &[PairSums<f32>], lane: usize) {
        let [gradient, curvature] = &mut self.sums;
        let (gradient_f, gradient_h) = gradient.as_flattened_mut().split_at_mut(self.labels);
        let (curvature_f, curvature_h) = curvature.as_flattened_mut().split_at_mut(self.labels);
        let utilities = gradient_f.iter_mut().zip(curvature_f);
        let tie_terms = gradient_h.iter_mut().zip(curvature_h);
        for (((g_f, c_f), (g_h, c_h)), sums) in utilities.zip(tie_terms).zip(sums) {
            *g_f = sums.net[lane];
            *c_f = sums.net_curvature[lane];
            *g_h = sums.tied[lane];
            *c_h = sums.tied_curvature[lane];
        }
    }

    /// Writes the derivatives of the row.
    #[inline(always)]
    fn write(&self, out: &mut [DerivativeLine]) {
        for (group, line) in out.iter_mut().enumerate() {
            let [factor, scale] = [&self.factors[0][group], &self.factors[1][group]];
            let [sum, bend] = [&self.sums[0][group], &self.sums[1][group]];
            let (relation, weight) = (&self.relations[group], &self.weights[group]);
            let gradient: Outputs =
                std::array::from_fn(|i| factor[i] * (relation[i] - sum[i]) * weight[i]);
            let curvature: Outputs =
                std::array::from_fn(|i| (scale[i] * bend[i]).max(0.0) * weight[i]);
            line.0[..OUTPUTS].copy_from_slice(&gradient);
            line.0[OUTPUTS..].copy_from_slice(&curvature);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latent::{Derivatives, LatentRow};
    use crate::run::Interrupt;
    use ndarray::Array2;

    #[test]
    fn lines_match_the_derivatives_of_single_rows() {
        let (rows, n) = (21, 5);
        let y = Array2::from_shape_fn((rows, n), |(i, j)| match (i * 5 + j * 3) % 7 {
            0 => f64::NAN,
            _ => ((i + j * j) % 3) as f64,
        });
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64).collect();
        let ranked = crate::missing::to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let table = Array2::from_shape_fn((rows, n), |(i, j)| match ranked.row(i)[j] {
            MISSING => f64::NAN,
            position => f64::from(position),
        });
        let rankings = Rankings::new(table.view(), Some(&weights), &Interrupt::never()).unwrap();
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
