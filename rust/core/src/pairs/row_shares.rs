//! [`RowShares`]: transition weights of MC2, a Markov chain on the labels that orders them by its stationary
//! distribution.

use std::ops::Range;

use super::{for_each_part, for_each_range, PairCounts};
use crate::error::Result;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

/// Number of labels whose sums stay in registers while rows are added.
const LANES: usize = 32;

/// Rows per block: few enough for the first-level cache at usual numbers of labels.
const BLOCK_ROWS: usize = 32;

/// Weight of the transition from u to v for each ordered pair (u, v).
///
/// From u, the chain draws a row that ranks u, and then one of the labels that are at least as high as u in this row.
/// So a row of weight w in which k labels are at least as high as u adds w/k for each of them, and 0 for all others.
///
/// Not a [`PairTable`](super::PairTable): the sums of (u, v) and (v, u) are unrelated, and (u, u) has a weight too.
#[derive(Debug, Clone, PartialEq)]
pub struct RowShares {
    labels: usize,
    /// Number of labels, padded to whole vectors.
    stride: usize,
    /// `sums[u * stride + v]`.
    sums: Vec<f64>,
    /// Weight of the rows that rank each label.
    ranked: Vec<f64>,
    /// Scratch buffer of `write_row`: per position the number of labels of the row at or before this position.
    at_least: Vec<u32>,
}

impl RowShares {
    pub(crate) fn empty(labels: usize) -> Self {
        let stride = labels.next_multiple_of(LANES);
        Self {
            labels,
            stride,
            sums: vec![0.0; labels * stride],
            ranked: vec![0.0; labels],
            at_least: vec![0; labels + 1],
        }
    }

    /// The sums of rows that rank two labels each, which the counts of their pairs determine.
    pub(crate) fn of_comparisons(counts: &PairCounts) -> Self {
        let mut shares = Self::empty(counts.labels());
        for u in 0..counts.labels() {
            shares.ranked[u] = counts.ranked(u);
            let mut stays = counts.ranked(u);
            for v in 0..counts.labels() {
                if u != v {
                    // If v is at least as high as u, the chain draws u or v, each with probability ½.
                    let half = counts.at_least_as_high(v, u) / 2.0;
                    shares.sums[u * shares.stride + v] = half;
                    stays -= half;
                }
            }
            shares.sums[u * shares.stride + u] = stays.max(0.0);
        }
        shares
    }

    pub(crate) fn clear(&mut self) {
        self.sums.fill(0.0);
        self.ranked.fill(0.0);
    }

    /// Adds all rankings.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn add_all(&mut self, rankings: &Rankings, interrupt: &Interrupt) -> Result<()> {
        for_each_range(rankings, interrupt, |rows| self.add(rankings, rows))
    }

    /// Adds the given rankings.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn add_rows(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        interrupt: &Interrupt,
    ) -> Result<()> {
        for_each_part(rows, rankings.labels(), interrupt, |part| {
            self.add(rankings, part.iter().copied());
        })
    }

    /// Adds the given rankings in this order; the rounding of the sums depends on it.
    pub(crate) fn add(
        &mut self,
        rankings: &Rankings,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
    ) {
        dispatch(AddRowShares {
            shares: self,
            rankings,
            rows,
        });
    }

    /// The sum for the labels u and v.
    #[must_use]
    pub fn sum(&self, u: usize, v: usize) -> f64 {
        self.sums[u * self.stride + v]
    }

    /// Weight of the rows that rank the label.
    #[must_use]
    pub fn ranked(&self, label: usize) -> f64 {
        self.ranked[label]
    }
}

/// A block of rows in the layout that the kernel reads.
struct PositionBlock {
    stride: usize,
    /// Position of each label as a target v, row by row; missing labels and padding have a value after all positions.
    targets: Vec<f64>,
    /// Position and share (weight of the row divided by the number of labels at least as high) of each label as a
    /// source u, row by row; missing labels have a value before all positions.
    sources: Vec<(f64, f64)>,
}

struct AddRowShares<'a, R> {
    shares: &'a mut RowShares,
    rankings: &'a Rankings,
    rows: R,
}

impl<R: ExactSizeIterator<Item = usize> + Clone> Kernel for AddRowShares<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            shares,
            rankings,
            mut rows,
        } = self;
        let capacity = BLOCK_ROWS.min(rows.len());
        let mut block = PositionBlock {
            stride: shares.stride,
            targets: vec![f64::INFINITY; capacity * shares.stride],
            sources: vec![(0.0, 0.0); capacity * shares.labels],
        };
        while rows.len() > 0 {
            let mut filled = 0;
            while let Some(row) = (filled < capacity).then(|| rows.next()).flatten() {
                let weight = rankings.weights().get(row);
                write_row(shares, rankings.row(row), weight, filled, &mut block);
                filled += 1;
            }
            for u in 0..shares.labels {
                let sums = &mut shares.sums[u * shares.stride..(u + 1) * shares.stride];
                add_label(u, shares.labels, sums, 0..filled, &block);
            }
        }
    }
}

/// Writes one row to `slot` of the block and adds its weight to the labels that it ranks.
#[inline(always)]
fn write_row(
    shares: &mut RowShares,
    positions: &[u16],
    weight: f64,
    slot: usize,
    block: &mut PositionBlock,
) {
    let at_least = &mut shares.at_least;
    at_least.fill(0);
    for &position in positions.iter().filter(|&&p| p != MISSING) {
        at_least[usize::from(position)] += 1;
    }
    let mut total = 0;
    for count in at_least.iter_mut() {
        total += *count;
        *count = total;
    }
    let targets = &mut block.targets[slot * block.stride..][..positions.len()];
    let sources = &mut block.sources[slot * positions.len()..][..positions.len()];
    for (label, &position) in positions.iter().enumerate() {
        if position == MISSING {
            targets[label] = f64::INFINITY;
            sources[label] = (f64::NEG_INFINITY, 0.0);
        } else {
            let share = weight / f64::from(at_least[usize::from(position)]);
            targets[label] = f64::from(position);
            sources[label] = (f64::from(position), share);
            shares.ranked[label] += weight;
        }
    }
}

/// Adds the rows of the block to the sums of label u.
#[inline(always)]
fn add_label(u: usize, labels: usize, sums: &mut [f64], rows: Range<usize>, block: &PositionBlock) {
    let (chunks, _) = sums.as_chunks_mut::<LANES>();
    for (chunk, sums) in chunks.iter_mut().enumerate() {
        let mut lanes = *sums;
        for row in rows.clone() {
            let (own, share) = block.sources[row * labels + u];
            let targets = &block.targets[row * block.stride + chunk * LANES..][..LANES];
            for (lane, &target) in lanes.iter_mut().zip(targets) {
                *lane += if target <= own { share } else { 0.0 };
            }
        }
        *sums = lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// Oracle: the definition, computed pair by pair and row by row.
    fn sum_by_definition(y: &Rankings, u: usize, v: usize) -> f64 {
        let mut sum = 0.0;
        for (row, positions) in y.rows().enumerate() {
            let at_least = |p: u16| p != MISSING && p <= positions[u];
            if positions[u] != MISSING && at_least(positions[v]) {
                let count = positions.iter().filter(|&&p| at_least(p)).count();
                sum += y.weights().get(row) / count as f64;
            }
        }
        sum
    }

    #[test]
    fn blocks_of_rows_add_up_to_the_definition_bit_for_bit() {
        for (rows, labels) in [(1, 2), (32, 31), (33, 32), (70, 33), (5, 70)] {
            let values = Array2::from_shape_fn((rows, labels), |(i, j)| {
                if (i * 7 + j * 3) % 11 == 0 {
                    f64::NAN
                } else {
                    ((i * 13 + j * 29) % 17) as f64
                }
            });
            let y = crate::missing::to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
            let weights: Vec<f64> = (0..rows).map(|row| 0.1 + row as f64).collect();
            let positions = Array2::from_shape_fn((rows, labels), |(i, j)| y.row(i)[j]);
            let y = Rankings::new(positions.view(), Some(&weights), &Interrupt::never()).unwrap();
            let mut shares = RowShares::empty(labels);
            shares.add_all(&y, &Interrupt::never()).unwrap();
            for (u, v) in (0..labels).flat_map(|u| (0..labels).map(move |v| (u, v))) {
                assert_eq!(
                    shares.sum(u, v),
                    sum_by_definition(&y, u, v),
                    "{rows} {labels} {u} {v}"
                );
            }
        }
    }
}
