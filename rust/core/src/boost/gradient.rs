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
    /// Result of [`label_relations`], with the outputs of a row padded with 0 to whole lines.
    relations: Vec<[i16; OUTPUTS]>,
}

/// If the largest weight is outside this range, all weights are divided by the largest, because their sums could leave
/// the range of single precision.
const SAFE_WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

impl<'a> RowDerivatives<'a> {
    pub(super) fn new(rankings: &'a Rankings, ridge: f64) -> Self {
        let weights = || (0..rankings.len()).map(|row| rankings.weights().get(row));
        let largest = weights().fold(0.0, f64::max);
        let weight_unit = if SAFE_WEIGHTS.contains(&largest) {
            1.0
        } else {
            largest
        };
        let total: f64 = weights().map(|weight| weight / weight_unit).sum();
        // A label is in fewer than `labels` pairs, and the derivatives of a pair are at most 1.
        let scale = Scale::new(total * rankings.labels() as f64, ridge);
        Self {
            rankings,
            weights: weights()
                .map(|weight| (weight / weight_unit / scale.unit) as f32)
                .collect(),
            scale,
            relations: pad_outputs(&label_relations(rankings), rankings.labels()),
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

    /// Writes the weight of a row per output; 0 for labels that are not ranked.
    #[inline(always)]
    fn write_weights(&self, row: usize, weights: &mut [Outputs]) {
        let weight = self.weights[row];
        weights.fill([weight; OUTPUTS]);
        if !self.rankings.is_complete() {
            let n = self.labels();
            let weights = weights.as_flattened_mut();
            for (label, &position) in self.rankings.row(row).iter().enumerate() {
                if position == MISSING {
                    weights[label] = 0.0;
                    weights[n + label] = 0.0;
                }
            }
        }
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

/// Pads the 2n outputs of each row to whole lines.
fn pad_outputs(values: &[i16], labels: usize) -> Vec<[i16; OUTPUTS]> {
    let groups = group_count(labels);
    let rows = values.len() / (2 * labels);
    let mut padded = vec![[0; OUTPUTS]; rows * groups];
    for (padded, row) in padded
        .chunks_exact_mut(groups)
        .zip(values.chunks_exact(2 * labels))
    {
        padded.as_flattened_mut()[..2 * labels].copy_from_slice(row);
    }
    padded
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
        let rankings = self.derivatives.rankings;
        let mut block = LatentBlock::<f32>::new(n);
        let mut sums = OutputSums::new(n);
        let mut weights = vec![[0.0; OUTPUTS]; groups];
        let blocks = self.rows.chunks(LANES);
        for (rows, out) in blocks.zip(self.out.chunks_mut(LANES * groups)) {
            // The last block is padded with its first row.
            let padded: [usize; LANES] =
                std::array::from_fn(|lane| *rows.get(lane).unwrap_or(&rows[0]) as usize);
            for (lane, &row) in padded.iter().enumerate() {
                let relations = &self.derivatives.relations[row * groups..(row + 1) * groups];
                sums.set_relations(lane, relations);
            }
            block.set_rows(padded.map(|row| &self.scores[row * 2 * n..(row + 1) * 2 * n]));
            if !rankings.is_complete() {
                for (lane, &row) in padded.iter().enumerate() {
                    let positions = rankings.row(row).iter().enumerate();
                    let missing = positions.filter(|(_, &position)| position == MISSING);
                    missing.for_each(|(label, _)| block.mark_missing(lane, label));
                }
            }
            block.compute_strengths();
            sums.set(block.sum_pairs());
            for ((lane, &row), out) in padded.iter().enumerate().zip(out.chunks_exact_mut(groups)) {
                self.derivatives.write_weights(row, &mut weights);
                sums.write_row(lane, &weights, out);
            }
        }
    }
}

/// One number per output of a group.
type Outputs = [f32; OUTPUTS];

/// Sums over pairs by output, for all rows of a block; padded with 0 to whole lines.
struct OutputSums {
    labels: usize,
    /// Factors of gradient and curvature: ½ and ¼ for utilities, 1 for tie terms.
    factors: [Vec<Outputs>; 2],
    /// Relations of each row, lane by lane.
    relations: Vec<Outputs>,
    /// Sums that gradient and curvature are computed from: one vector of lanes per output.
    sums: [Vec<[[f32; LANES]; OUTPUTS]>; 2],
}

impl OutputSums {
    fn new(labels: usize) -> Self {
        let groups = group_count(labels);
        let factors = |utility: f32| {
            let mut factors = vec![[0.0; OUTPUTS]; groups];
            let (utilities, rest) = factors.as_flattened_mut().split_at_mut(labels);
            utilities.fill(utility);
            rest[..labels].fill(1.0);
            factors
        };
        let zeros = || vec![[[0.0; LANES]; OUTPUTS]; groups];
        Self {
            labels,
            factors: [factors(0.5), factors(0.25)],
            relations: vec![[0.0; OUTPUTS]; LANES * groups],
            sums: [zeros(), zeros()],
        }
    }

    /// Sets the relations of one row. Reading all rows of a block together, before they are needed, overlaps their
    /// cache misses.
    #[inline(always)]
    fn set_relations(&mut self, lane: usize, relations: &[[i16; OUTPUTS]]) {
        let groups = self.factors[0].len();
        let own = &mut self.relations[lane * groups..(lane + 1) * groups];
        for (own, relations) in own.iter_mut().zip(relations) {
            *own = relations.map(f32::from);
        }
    }

    /// Sets the sums of a block, given per label.
    #[inline(always)]
    fn set(&mut self, sums: &[PairSums<f32>]) {
        let [gradient, curvature] = &mut self.sums;
        let (gradient_f, gradient_h) = gradient.as_flattened_mut().split_at_mut(self.labels);
        let (curvature_f, curvature_h) = curvature.as_flattened_mut().split_at_mut(self.labels);
        let utilities = gradient_f.iter_mut().zip(curvature_f);
        let tie_terms = gradient_h.iter_mut().zip(curvature_h);
        for (((g_f, c_f), (g_h, c_h)), sums) in utilities.zip(tie_terms).zip(sums) {
            *g_f = sums.net;
            *c_f = sums.net_curvature;
            *g_h = sums.tied;
            *c_h = sums.tied_curvature;
        }
    }

    /// Writes the derivatives of one row. Its sums are gathered in registers: vectors that are read soon after their
    /// elements were written one by one would stall.
    #[inline(always)]
    fn write_row(&self, lane: usize, weights: &[Outputs], out: &mut [DerivativeLine]) {
        let relations = &self.relations[lane * out.len()..];
        for (group, line) in out.iter_mut().enumerate() {
            let [factors, curvature_factors] = [&self.factors[0][group], &self.factors[1][group]];
            let (relation, weight) = (&relations[group], &weights[group]);
            let [sums, curvature_sums] = [&self.sums[0][group], &self.sums[1][group]];
            let sum: Outputs = std::array::from_fn(|i| sums[i][lane]);
            let curvature_sum: Outputs = std::array::from_fn(|i| curvature_sums[i][lane]);
            let gradient: Outputs =
                std::array::from_fn(|i| factors[i] * (relation[i] - sum[i]) * weight[i]);
            let curvature: Outputs = std::array::from_fn(|i| {
                (curvature_factors[i] * curvature_sum[i]).max(0.0) * weight[i]
            });
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
