//! [`StrengthTable`]: the strengths of the labels of one row in several latent models, and the sums over the models of
//! the pair shares (for each pair of labels the probabilities of before, tied and after).

use std::array::from_fn;

use crate::simd::{dispatch, Kernel};

use super::real::{exponentials, Real};

/// Labels per vector.
const LANES: usize = 8;

/// Strengths of the labels of one row, in one or more models: for a label with utility `f_u` and tie term `h_u` the
/// strength `a_u = exp(f_u − max f)` and the tie strength `t_u = exp((f_u − max f) / 2 + h_u)`.
#[derive(Debug, Default)]
pub(crate) struct StrengthTable {
    labels: usize,
    /// `a_u`, model by model: one number per label, then padding, so that a vector can be read from any label on.
    strengths: Vec<f64>,
    /// `t_u`, in the same layout.
    tie_strengths: Vec<f64>,
}

impl StrengthTable {
    /// A table without models.
    pub(crate) fn new(labels: usize) -> Self {
        Self {
            labels,
            strengths: Vec::new(),
            tie_strengths: Vec::new(),
        }
    }

    /// Removes all models.
    pub(crate) fn clear(&mut self) {
        self.strengths.clear();
        self.tie_strengths.clear();
    }

    /// Length of the strengths of a model, with padding.
    fn stride(&self) -> usize {
        self.labels.next_multiple_of(LANES) + LANES
    }

    /// Number of models.
    pub(crate) fn models(&self) -> usize {
        self.strengths.len() / self.stride()
    }

    /// Adds a model, given its scores of the row: n utilities, then n tie terms. Returns `false` and adds nothing if
    /// the scores are too far apart or not finite.
    pub(crate) fn push(&mut self, scores: &[f64]) -> bool {
        let (utilities, ties) = scores.split_at(self.labels);
        let Some(highest) = highest_utility(utilities, ties) else {
            return false;
        };
        let (start, stride) = (self.strengths.len(), self.stride());
        // Strengths of 1 and 0 in the padding avoid dividing by zero.
        self.strengths.resize(start + stride, 1.0);
        self.tie_strengths.resize(start + stride, 0.0);
        dispatch(StrengthsKernel {
            utilities,
            ties,
            highest,
            strengths: &mut self.strengths[start..],
            tie_strengths: &mut self.tie_strengths[start..],
        });
        true
    }

    /// Sums the shares of each pair over the models and writes the sums to three arrays (`planes`), for before, tied
    /// and after: one division per pair and model. The arrays must have one entry per pair.
    pub(crate) fn write_sums(&self, planes: [&mut [f64]; 3]) {
        dispatch(ShareSumsKernel {
            table: self,
            planes,
        });
    }
}

/// The largest utility of a row, or `None` if its scores are not finite or too far apart for strengths.
fn highest_utility(utilities: &[f64], ties: &[f64]) -> Option<f64> {
    let bounds = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        (low, values.iter().copied().fold(f64::MIN, f64::max))
    };
    let (low, high) = bounds(utilities);
    let (tie_low, tie_high) = bounds(ties);
    let limit = f64::TIE_LIMIT / 2.0;
    let is_near = high - low <= f64::SPREAD && tie_low >= -limit && tie_high <= limit;
    // `f64::min` and `f64::max` skip NaN.
    let has_nan = utilities.iter().chain(ties).any(|score| score.is_nan());
    (is_near && !has_nan).then_some(high)
}

/// Writes the strengths and tie strengths of the labels in one model.
struct StrengthsKernel<'a> {
    utilities: &'a [f64],
    ties: &'a [f64],
    highest: f64,
    strengths: &'a mut [f64],
    tie_strengths: &'a mut [f64],
}

impl Kernel for StrengthsKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let scores = self.utilities.chunks(LANES).zip(self.ties.chunks(LANES));
        let tie_strengths = self.tie_strengths.chunks_mut(LANES);
        let strengths = self.strengths.chunks_mut(LANES).zip(tie_strengths);
        for ((utilities, ties), (strengths, tie_strengths)) in scores.zip(strengths) {
            let count = utilities.len();
            let mut f = [self.highest; LANES];
            f[..count].copy_from_slice(utilities);
            let mut h = [0.0; LANES];
            h[..count].copy_from_slice(ties);
            let below: [f64; LANES] = from_fn(|l| f[l] - self.highest);
            let powers = exponentials(below);
            let tie_powers = exponentials(from_fn::<f64, LANES, _>(|l| below[l] / 2.0 + h[l]));
            strengths[..count].copy_from_slice(&powers[..count]);
            tie_strengths[..count].copy_from_slice(&tie_powers[..count]);
        }
    }
}

struct ShareSumsKernel<'a> {
    table: &'a StrengthTable,
    planes: [&'a mut [f64]; 3],
}

impl Kernel for ShareSumsKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (labels, stride) = (self.table.labels, self.table.stride());
        let [before, tied, after] = self.planes;
        let mut start = 0;
        for u in 0..labels {
            let rest = labels - u - 1;
            for first in (0..rest).step_by(LANES) {
                let mut sums = [[0.0; LANES]; 3];
                let models = self.table.strengths.chunks_exact(stride);
                let models = models.zip(self.table.tie_strengths.chunks_exact(stride));
                for (strengths, tie_strengths) in models {
                    add_shares(&mut sums, strengths, tie_strengths, u, u + 1 + first);
                }
                // In ascending order, so that the next vector overwrites what this one writes beyond the last label.
                store(before, start + first, &sums[0]);
                store(tied, start + first, &sums[1]);
                store(after, start + first, &sums[2]);
            }
            start += rest;
        }
    }
}

/// Adds the shares of before, tied and after of the pairs of label `u` with [`LANES`] labels from `v` on.
#[inline(always)]
fn add_shares(sums: &mut [[f64; LANES]; 3], strengths: &[f64], ties: &[f64], u: usize, v: usize) {
    let (a_u, t_u) = (strengths[u], ties[u]);
    let (Some(a_v), Some(t_v)) = (strengths[v..].first_chunk(), ties[v..].first_chunk()) else {
        return;
    };
    let (a_v, t_v): (&[f64; LANES], &[f64; LANES]) = (a_v, t_v);
    let both: [f64; LANES] = from_fn(|l| t_u * t_v[l]);
    let inverse: [f64; LANES] = from_fn(|l| 1.0 / (a_u + a_v[l] + both[l]));
    sums[0] = from_fn(|l| sums[0][l] + a_u * inverse[l]);
    sums[1] = from_fn(|l| sums[1][l] + both[l] * inverse[l]);
    sums[2] = from_fn(|l| sums[2][l] + a_v[l] * inverse[l]);
}

/// Writes a vector to an array from index `first` on, without the numbers past the end of the array.
#[inline(always)]
fn store(plane: &mut [f64], first: usize, numbers: &[f64; LANES]) {
    let plane = &mut plane[first..];
    if let Some(whole) = plane.first_chunk_mut::<LANES>() {
        *whole = *numbers;
    } else {
        let count = plane.len();
        plane.copy_from_slice(&numbers[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::LatentRow;
    use super::*;

    #[test]
    fn sums_match_pairs_one_by_one() {
        for labels in [2, 3, 9, 17, 26] {
            let score = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0 * 6.0 - 3.0;
            let models: Vec<Vec<f64>> = (0..3)
                .map(|model| (0..2 * labels).map(|i| score(i + 100 * model)).collect())
                .collect();
            let mut table = StrengthTable::new(labels);
            assert!(table.push(&models[0]));
            table.clear();
            assert!(models.iter().all(|scores| table.push(scores)));
            assert_eq!(table.models(), 3);
            let pairs = labels * (labels - 1) / 2;
            let mut planes = [(); 3].map(|()| vec![9.0; pairs]);
            table.write_sums(planes.each_mut().map(Vec::as_mut_slice));
            let each = (0..labels).flat_map(|u| (u + 1..labels).map(move |v| (u, v)));
            for (pair, (u, v)) in each.enumerate() {
                let mut expected = [0.0; 3];
                for scores in &models {
                    let shares = LatentRow::new(scores).shares(u, v);
                    expected = from_fn(|plane| expected[plane] + shares[plane]);
                }
                for (plane, expected) in planes.iter().zip(expected) {
                    assert!((plane[pair] - expected).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn extreme_scores_are_not_added() {
        let mut table = StrengthTable::new(2);
        for scores in [
            [0.0, 700.0, 0.0, 0.0],
            [0.0, 0.0, 400.0, 0.0],
            [0.0, f64::NAN, 0.0, 0.0],
            [0.0, 0.0, 0.0, f64::NAN],
            [f64::INFINITY, 0.0, 0.0, 0.0],
        ] {
            assert!(!table.push(&scores));
        }
        assert_eq!(table.models(), 0);
    }
}
