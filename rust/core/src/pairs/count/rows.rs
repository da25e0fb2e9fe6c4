//! [`RowCounter`]: pair counts of selected rows, and the kernel for rows of any weight.

use std::ops::Range;

use super::{ByteCounter, PairTable};
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// Weights up to this are counted in bytes.
const MAX_BYTE_WEIGHT: f64 = 64.0;

/// With at most this many pairs in all rows, preparing the bytes takes longer than counting in floats.
const MAX_FLOAT_PAIRS: usize = 256;

/// Counts the pairs of selected rows, with weights that may differ from those of the rankings.
pub(crate) struct RowCounter<'a> {
    rankings: &'a Rankings,
    weights: &'a Weights,
    /// Whether sums of weights are exact, so that they can be subtracted again.
    is_exact: bool,
    /// Whether all weights are small whole numbers.
    fits_bytes: bool,
}

impl<'a> RowCounter<'a> {
    /// Inspects all weights: O(rows).
    pub(crate) fn new(rankings: &'a Rankings, weights: &'a Weights) -> Self {
        let (is_exact, fits_bytes) = match weights {
            Weights::Unit(_) => (true, true),
            Weights::Each(each) => {
                let is_exact = each.iter().all(|weight| weight.fract() == 0.0)
                    && weights.total() < 2_f64.powi(52);
                let is_small = each.iter().all(|&weight| weight <= MAX_BYTE_WEIGHT);
                (is_exact, is_exact && is_small)
            }
        };
        Self {
            rankings,
            weights,
            is_exact,
            fits_bytes,
        }
    }

    /// A counter for a small part of the rows: weights other than unit weights are taken for fractional ones.
    pub(super) fn without_inspection(rankings: &'a Rankings) -> Self {
        let weights = rankings.weights();
        let is_unit = matches!(weights, Weights::Unit(_));
        Self {
            rankings,
            weights,
            is_exact: is_unit,
            fits_bytes: is_unit,
        }
    }

    /// Whether all weights are whole numbers small enough for bytes.
    pub(super) fn fits_bytes(&self) -> bool {
        self.fits_bytes
    }

    /// Whether counts of a part of the rows can be subtracted from counts of all rows.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether every pair is counted with the exact weight of all rows.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_exact && self.rankings.is_complete()
    }

    /// Counts rows whose weights add up to `weight` in bytes; returns `false` and counts nothing when bytes cannot hold
    /// that.
    pub(crate) fn count_in_bytes(
        &self,
        rows: &[u32],
        weight: f64,
        bytes: &mut ByteCounter,
    ) -> bool {
        let fits = self.fits_bytes && weight <= ByteCounter::MAX_ROWS as f64;
        if fits {
            let rows = rows.iter().map(|&row| row as usize);
            self.fill_bytes(rows, bytes);
        }
        fits
    }

    /// Counts `rows` in place of the rows counted before.
    pub(crate) fn count(&self, rows: &[u32], table: &mut PairTable<f64>, bytes: &mut ByteCounter) {
        table.clear();
        self.add(rows.iter().map(|&row| row as usize), table, bytes);
    }

    /// Adds the pairs of `rows` to `table`, in the order of the rows.
    pub(crate) fn add(
        &self,
        rows: impl Iterator<Item = usize>,
        table: &mut PairTable<f64>,
        bytes: &mut ByteCounter,
    ) {
        let pairs = table.pairs() * rows.size_hint().0;
        if !self.fits_bytes || pairs <= MAX_FLOAT_PAIRS {
            let (rankings, weights) = (self.rankings, self.weights);
            dispatch(AddWeightedRows {
                rows: rows.map(|row| (rankings.row(row), weights.get(row))),
                table,
            });
            return;
        }
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let mut sum = 0;
            let fits = |&row: &usize| {
                sum += usize::from(self.times(row));
                sum <= ByteCounter::MAX_ROWS
            };
            self.fill_bytes(take_while_fits(&mut rows, fits), bytes);
            dispatch(AddBytes { bytes, table });
        }
    }

    fn fill_bytes(&self, rows: impl Iterator<Item = usize>, bytes: &mut ByteCounter) {
        let rankings = self.rankings;
        let rows = rows.map(|row| (rankings.row(row), self.times(row)));
        bytes.count(rankings.labels(), rankings.is_complete(), rows);
    }

    fn times(&self, row: usize) -> u8 {
        self.weights.get(row) as u8
    }
}

/// Takes items as long as they fit; the first that does not stays in the iterator.
fn take_while_fits<'a, I: Iterator>(
    items: &'a mut std::iter::Peekable<I>,
    mut fits: impl FnMut(&I::Item) -> bool + 'a,
) -> impl Iterator<Item = I::Item> + 'a {
    std::iter::from_fn(move || items.next_if(&mut fits))
}

struct AddBytes<'a> {
    bytes: &'a ByteCounter,
    table: &'a mut PairTable<f64>,
}

impl Kernel for AddBytes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let planes = self.table.planes_mut().into_iter();
        for (plane, bytes) in planes.zip(self.bytes.table().planes()) {
            for (sum, &count) in plane.iter_mut().zip(bytes) {
                *sum += f64::from(count);
            }
        }
    }
}

struct AddWeightedRows<'t, I> {
    rows: I,
    table: &'t mut PairTable<f64>,
}

impl<'a, I: Iterator<Item = (&'a [u16], f64)>> Kernel for AddWeightedRows<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (positions, weight) in self.rows {
            add_row(self.table, positions, weight);
        }
    }
}

/// Adds one row of any weight.
#[inline(always)]
pub(super) fn add_row(table: &mut PairTable<f64>, positions: &[u16], weight: f64) {
    let [before, tied, after] = table.planes_mut();
    let mut start = 0;
    for (u, &pu) in positions.iter().enumerate() {
        let others = &positions[u + 1..];
        let end = start + others.len();
        if pu != MISSING {
            let counts = before[start..end]
                .iter_mut()
                .zip(&mut tied[start..end])
                .zip(&mut after[start..end]);
            for (((before, tied), after), &pv) in counts.zip(others) {
                // MISSING is smaller than every position.
                *before += if pu < pv { weight } else { 0.0 };
                *tied += if pu == pv { weight } else { 0.0 };
                *after += if pu > pv && pv != MISSING {
                    weight
                } else {
                    0.0
                };
            }
        }
        start = end;
    }
}

/// Counts of all ordered pairs: rows of `labels` sums fill the vectors better than the shrinking rows of a
/// [`PairTable`]. About 0.73 of the time of [`add_row`] for 20,000 × 26
/// with fractional weights.
pub(super) struct SquareCounts {
    labels: usize,
    /// `before[u * labels + v]`: weight of the rows with u before v.
    before: Vec<f64>,
    /// Symmetric, with the weight of the rows that rank the label on the diagonal.
    tied: Vec<f64>,
}

impl SquareCounts {
    pub(super) fn new(labels: usize) -> Self {
        Self {
            labels,
            before: vec![0.0; labels * labels],
            tied: vec![0.0; labels * labels],
        }
    }

    /// Adds rankings with their weights, in the order of the rows.
    pub(super) fn add(&mut self, rankings: &Rankings, rows: Range<usize>) {
        dispatch(AddSquares {
            counts: self,
            rankings,
            rows,
        });
    }

    /// Overwrites the counts of unordered pairs and of labels.
    pub(super) fn write(&self, table: &mut PairTable<f64>, ranked: &mut [f64]) {
        let n = self.labels;
        let [before, tied, after] = table.planes_mut();
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        for (pair, (u, v)) in pairs.enumerate() {
            before[pair] = self.before[u * n + v];
            tied[pair] = self.tied[u * n + v];
            after[pair] = self.before[v * n + u];
        }
        for (ranked, &weight) in ranked.iter_mut().zip(self.tied.iter().step_by(n + 1)) {
            *ranked = weight;
        }
    }
}

struct AddSquares<'a> {
    counts: &'a mut SquareCounts,
    rankings: &'a Rankings,
    rows: Range<usize>,
}

impl Kernel for AddSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let SquareCounts {
            labels,
            before,
            tied,
        } = self.counts;
        for row in self.rows {
            let (positions, weight) = (self.rankings.row(row), self.rankings.weights().get(row));
            let sums = before.chunks_exact_mut(*labels);
            for ((before, tied), &pu) in sums.zip(tied.chunks_exact_mut(*labels)).zip(positions) {
                if pu == MISSING {
                    continue;
                }
                for ((before, tied), &pv) in before.iter_mut().zip(tied).zip(positions) {
                    // MISSING is smaller than every position.
                    *before += if pu < pv { weight } else { 0.0 };
                    *tied += if pu == pv { weight } else { 0.0 };
                }
            }
        }
    }
}
