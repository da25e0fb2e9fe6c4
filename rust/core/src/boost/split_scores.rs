//! Scores of candidate splits: sums of derivatives per bin, for a few outputs at a time.
//!
//! A task is one node and up to [`GROUPS`] groups of [`OUTPUTS`] outputs. It adds rows in order, and the results of
//! tasks are added in order: the result does not depend on the number of threads.

use crate::simd::{dispatch, Kernel};

use super::buffers::SplitBuffers;
use super::candidates::{CandidateFeature, CandidateFeatures};
use super::gradient::{DerivativeLine, DerivativeLines, OUTPUTS};
use super::params::MAX_BINS;
use super::row_sample::RowSample;

/// Groups of outputs per task.
pub(super) const GROUPS: usize = 4;

/// Groups of outputs whose scores are added as [`Fractions`], so that they share one floating-point division.
const SCORED_GROUPS: usize = 2;

/// Largest number of lines of sums that a batch of features fills, so that they stay in the second-level cache.
const LINES_IN_CACHE: usize = 4096;

/// Largest number of boundaries of a feature: each edge, with missing values on either side.
const MAX_BOUNDARIES: usize = 2 * MAX_BINS;

/// Σ G²/(H + ridge) over outputs: of the whole node, and of both sides of each boundary.
#[derive(Debug, Default)]
pub(super) struct SplitScores {
    pub(super) node: f64,
    pub(super) splits: Vec<f64>,
}

/// A node to split: its rows, as indices into the sample, and its candidate features.
#[derive(Clone, Copy)]
pub(super) struct SearchNode<'a> {
    pub(super) sample: &'a RowSample<'a>,
    pub(super) rows: &'a [u32],
    pub(super) candidates: &'a CandidateFeatures,
    pub(super) buffers: &'a SplitBuffers,
}

/// Scores all candidate splits of a node on up to [`GROUPS`] groups of outputs, starting at `first_group`.
pub(super) fn score_splits(
    node: SearchNode<'_>,
    lines: &DerivativeLines,
    first_group: usize,
    ridge: f32,
) -> SplitScores {
    match lines.groups() - first_group {
        1 => dispatch(kernel::<1>(node, lines, first_group, ridge)),
        2 => dispatch(kernel::<2>(node, lines, first_group, ridge)),
        3 => dispatch(kernel::<3>(node, lines, first_group, ridge)),
        _ => dispatch(kernel::<GROUPS>(node, lines, first_group, ridge)),
    }
}

/// Sums of the derivatives of rows in double precision: gradients, then curvatures, per group.
pub(super) fn sum_derivatives(rows: &[u32], lines: &DerivativeLines) -> Vec<[f64; 2 * OUTPUTS]> {
    dispatch(TotalsKernel { rows, lines })
}

struct SplitScoreKernel<'a, const N: usize> {
    node: SearchNode<'a>,
    lines: &'a DerivativeLines,
    first_group: usize,
    ridge: f32,
}

fn kernel<'a, const N: usize>(
    node: SearchNode<'a>,
    lines: &'a DerivativeLines,
    first_group: usize,
    ridge: f32,
) -> SplitScoreKernel<'a, N> {
    SplitScoreKernel {
        node,
        lines,
        first_group,
        ridge,
    }
}

impl<const N: usize> Kernel for SplitScoreKernel<'_, N> {
    type Output = SplitScores;

    #[inline(always)]
    fn run(self) -> SplitScores {
        let buffers = self.node.buffers;
        let (mut splits, mut sums) = (buffers.splits.take(), buffers.sums.take());
        let mut scores = buffers.scores.take();
        scores.resize(MAX_BOUNDARIES, [0.0; OUTPUTS]);
        splits.clear();
        splits.resize(self.node.candidates.boundaries(), 0.0);
        let mut unscored = &mut splits[..];
        let mut total = [DerivativeLine::default(); N];
        let mut is_first = true;
        let mut features = self.node.candidates.features();
        while !features.is_empty() {
            let batch;
            (batch, features) = features.split_at(batch_size(features, N));
            let mut rest = self.sum_groups(batch, &mut sums);
            for candidate in batch {
                let (group_sums, own);
                (group_sums, rest) = rest.split_at(candidate.groups);
                (own, unscored) = unscored.split_at_mut(candidate.boundaries());
                if is_first {
                    // Every row is in one bin group of each feature, so the sums of any feature add up to the total.
                    let groups = group_sums.iter();
                    groups.for_each(|lines| add_lines(&mut total, lines));
                    is_first = false;
                }
                let scores = &mut scores[..own.len()];
                self.score_feature(candidate, group_sums, &total, (scores, own));
            }
        }
        buffers.sums.give_back(sums);
        buffers.scores.give_back(scores);
        SplitScores {
            node: self.score_node(&total),
            splits,
        }
    }
}

impl<const N: usize> SplitScoreKernel<'_, N> {
    /// Sums the derivatives of the rows per group of bins; the sums of a feature follow those of the feature before it.
    /// Rows are the outer loop, so that the derivatives of a row are read once for all features.
    #[inline(always)]
    fn sum_groups<'s>(
        &self,
        batch: &[CandidateFeature],
        sums: &'s mut Vec<DerivativeLine>,
    ) -> &'s [[DerivativeLine; N]] {
        let mut groups = 0;
        let mut columns = Vec::with_capacity(batch.len());
        for candidate in batch {
            let column = self.node.sample.column(candidate.feature);
            columns.push((column, &candidate.group_of, groups));
            groups += candidate.groups;
        }
        sums.clear();
        sums.resize(groups * N, DerivativeLine::default());
        let (sums, _) = sums.as_chunks_mut::<N>();
        for &row in self.node.rows {
            let row = row as usize;
            let lines = self.lines.row_groups(row, self.first_group, N);
            let lines: [DerivativeLine; N] = std::array::from_fn(|group| lines[group]);
            for &(column, group_of, first) in &columns {
                let group = group_of[usize::from(column[row])];
                add_lines(&mut sums[first + usize::from(group)], &lines);
            }
        }
        sums
    }

    /// Adds the scores of all boundaries of a feature to `splits`, given its sums per group of bins and the sum of the
    /// node. `scores` is a buffer of the same length.
    #[inline(always)]
    fn score_feature(
        &self,
        candidate: &CandidateFeature,
        group_sums: &[[DerivativeLine; N]],
        total: &[DerivativeLine; N],
        (scores, splits): (&mut [[f32; OUTPUTS]], &mut [f64]),
    ) {
        for first in (0..N).step_by(SCORED_GROUPS) {
            let sums = (group_sums, total, first);
            if first + 1 == N {
                self.score_boundaries::<1>(candidate, sums, scores);
            } else {
                self.score_boundaries::<SCORED_GROUPS>(candidate, sums, scores);
            }
            for (split, score) in splits.iter_mut().zip(&*scores) {
                *split += sum_halves(*score);
            }
        }
    }

    /// Writes the scores of all boundaries of a feature on `M` groups of outputs, given its sums per group of bins,
    /// the sum of the node and the first of the `M` groups of outputs.
    #[inline(always)]
    fn score_boundaries<const M: usize>(
        &self,
        candidate: &CandidateFeature,
        (group_sums, total, first): (&[[DerivativeLine; N]], &[DerivativeLine; N], usize),
        scores: &mut [[f32; OUTPUTS]],
    ) {
        let select = |lines: &[DerivativeLine; N]| -> [DerivativeLine; M] {
            std::array::from_fn(|group| lines[first + group])
        };
        let total = select(total);
        let none = [DerivativeLine::default(); M];
        let missing = select(&group_sums[group_sums.len() - 1]);
        let (right, left) = scores.split_at_mut(candidate.missing_right.len());
        for (edges, start, scores) in [
            (&candidate.missing_right, none, right),
            (&candidate.missing_left, missing, left),
        ] {
            let mut left = start;
            for lines in &group_sums[..edges.start] {
                add_lines(&mut left, &select(lines));
            }
            for (lines, score) in group_sums[edges.clone()].iter().zip(scores) {
                add_lines(&mut left, &select(lines));
                *score = score_sides(&left, &total, self.ridge);
            }
        }
    }

    /// Score of the node without a split.
    #[inline(always)]
    fn score_node(&self, total: &[DerivativeLine; N]) -> f64 {
        let mut score = 0.0;
        for groups in total.chunks(SCORED_GROUPS) {
            score += sum_halves(match *groups {
                [a, b] => score_sides(&[a, b], &[a, b], self.ridge),
                _ => score_sides(&[groups[0]], &[groups[0]], self.ridge),
            });
        }
        score
    }
}

/// Number of leading features whose sums together take at most [`LINES_IN_CACHE`] lines; 1 if the first takes more.
fn batch_size(features: &[CandidateFeature], lines_per_group: usize) -> usize {
    let mut lines = 0;
    let fits = |candidate: &&CandidateFeature| {
        lines += candidate.groups * lines_per_group;
        lines <= LINES_IN_CACHE
    };
    features.iter().take_while(fits).count().max(1)
}

#[inline(always)]
fn add_lines<const N: usize>(sum: &mut [DerivativeLine; N], lines: &[DerivativeLine; N]) {
    for (sum, line) in sum.iter_mut().zip(lines) {
        *sum = DerivativeLine(std::array::from_fn(|i| sum.0[i] + line.0[i]));
    }
}

/// Score of both sides of a boundary, given the sums of its left side and node: entry `i` is output `i` of all groups.
#[inline(always)]
fn score_sides<const N: usize>(
    left: &[DerivativeLine; N],
    total: &[DerivativeLine; N],
    ridge: f32,
) -> [f32; OUTPUTS] {
    let mut sum = group_score(&left[0], &total[0], ridge);
    for (left, total) in left.iter().zip(total).skip(1) {
        sum = add_fractions(sum, group_score(left, total, ridge));
    }
    std::array::from_fn(|i| sum.0[i] / sum.1[i])
}

/// Sum by repeated halving, as vector instructions add. The order of the additions affects rounding, so it is fixed.
#[inline(always)]
fn sum_halves(mut each: [f32; OUTPUTS]) -> f64 {
    let mut width = OUTPUTS / 2;
    while width > 0 {
        for i in 0..width {
            each[i] += each[i + width];
        }
        width /= 2;
    }
    f64::from(each[0])
}

/// Numerators and denominators. Fractions are added over a common denominator, because a division takes as long as ten
/// products. [`super::scale`] keeps the products within single precision.
type Fractions = ([f32; OUTPUTS], [f32; OUTPUTS]);

#[inline(always)]
fn add_fractions(a: Fractions, b: Fractions) -> Fractions {
    (
        std::array::from_fn(|i| a.0[i] * b.1[i] + b.0[i] * a.1[i]),
        std::array::from_fn(|i| a.1[i] * b.1[i]),
    )
}

/// Score of both sides per output of a group.
#[inline(always)]
fn group_score(left: &DerivativeLine, total: &DerivativeLine, ridge: f32) -> Fractions {
    let right = DerivativeLine(std::array::from_fn(|i| total.0[i] - left.0[i]));
    add_fractions(side_score(left, ridge), side_score(&right, ridge))
}

#[inline(always)]
fn side_score(DerivativeLine(line): &DerivativeLine, ridge: f32) -> Fractions {
    // Rounding can make a difference of sums slightly negative.
    let curvature = |i: usize| {
        let curvature = line[i + OUTPUTS];
        if curvature > 0.0 {
            curvature
        } else {
            0.0
        }
    };
    (
        std::array::from_fn(|i| line[i] * line[i]),
        std::array::from_fn(|i| curvature(i) + ridge),
    )
}

struct TotalsKernel<'a> {
    rows: &'a [u32],
    lines: &'a DerivativeLines,
}

impl Kernel for TotalsKernel<'_> {
    type Output = Vec<[f64; 2 * OUTPUTS]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut totals = vec![[0.0; 2 * OUTPUTS]; self.lines.groups()];
        for &row in self.rows {
            for (total, line) in totals.iter_mut().zip(self.lines.row(row as usize)) {
                *total = std::array::from_fn(|i| total[i] + f64::from(line.0[i]));
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::super::{bin_groups::EdgeRule, bins::Bins, candidates::FeatureDraw};
    use super::*;
    use crate::features::Features;
    use crate::run::{Interrupt, Pool};
    use ndarray::Array2;

    /// Compares the scores with sums of both sides in double precision.
    fn check(labels: usize, missing: std::ops::Range<usize>) {
        let rows = 40;
        let mut x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (3 + j)) % 11) as f64);
        for row in missing {
            x[[row, 1]] = f64::NAN;
        }
        let bins = Bins::new(&Features::new(x.view(), &Interrupt::never()).unwrap(), 256);
        let kept: Vec<u32> = (0..rows as u32).filter(|r| r % 4 != 0).collect();
        let sample = RowSample::new(&bins, &kept, Pool::SERIAL);
        let mut lines = DerivativeLines::default();
        for (place, line) in lines.resize(kept.len(), labels).iter_mut().enumerate() {
            *line = DerivativeLine(std::array::from_fn(|i| {
                let value = ((place * 17 + i * 5) % 23) as f32 / 8.0;
                value - if i < OUTPUTS { 1.4 } else { 0.0 }
            }));
        }
        let node: Vec<u32> = (0..kept.len() as u32).filter(|p| p % 7 != 2).collect();
        let draw = FeatureDraw {
            features: 2,
            edges: EdgeRule::all(3),
            seed: 0,
        };
        let mut candidates = CandidateFeatures::default();
        candidates.draw(&sample, &node, draw);
        assert!(candidates.boundaries() > 8);
        let node_context = SearchNode {
            sample: &sample,
            rows: &node,
            candidates: &candidates,
            buffers: &SplitBuffers::default(),
        };
        let groups = (0..lines.groups()).step_by(GROUPS);
        let scores: Vec<SplitScores> = groups
            .map(|group| score_splits(node_context, &lines, group, 2.0))
            .collect();
        let expected = |keep: &dyn Fn(u32) -> bool| -> f64 {
            let side: Vec<u32> = node.iter().copied().filter(|&place| keep(place)).collect();
            let sums = sum_derivatives(&side, &lines);
            let each = sums.iter().flat_map(|sums| {
                (0..OUTPUTS).map(|i| sums[i] * sums[i] / (sums[i + OUTPUTS] + 2.0))
            });
            each.sum()
        };
        let whole: f64 = scores.iter().map(|group| group.node).sum();
        assert!((whole / expected(&|_| true) - 1.0).abs() < 1e-5);
        for boundary in 0..candidates.boundaries() {
            let found = candidates.boundary(&sample, &node, boundary).unwrap();
            let row = |place: u32| kept[place as usize] as usize;
            let left = |place: u32| match x[[row(place), found.feature]] {
                value if value.is_nan() => found.missing_left.unwrap(),
                value => value <= found.cut.threshold,
            };
            let exact = expected(&left) + expected(&|place| !left(place));
            let found: f64 = scores.iter().map(|group| group.splits[boundary]).sum();
            assert!((found / exact - 1.0).abs() < 1e-5, "{found} {exact}");
        }
    }

    #[test]
    fn scores_match_sums_of_the_two_sides() {
        // One to four groups of outputs in one task; five groups in two tasks.
        for labels in [4, 7, 9, 16, 18] {
            check(labels, 0..0);
            check(labels, 11..23);
        }
    }
}
