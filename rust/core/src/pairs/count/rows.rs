//! [`RowPairCounter`]: pair counts of selected rows, and the kernel for rows of any weight.

use super::{BytePairCounter, PairTable};
use crate::error::Result;
use crate::pairs::for_each_part;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// Weights up to this are counted in bytes.
const MAX_BYTE_WEIGHT: f64 = 64.0;

/// Up to this many pairs in all rows, counting in floats is faster than in bytes: floats take 0.96 times as long for 10
/// rows of 5 labels. For 2 rows of 26 labels, bytes are 1.75 times as fast as floats.
const MAX_FLOAT_PAIRS: usize = 256;

/// Counts the pairs of selected rows, with weights that may differ from those of the rankings.
pub(crate) struct RowPairCounter<'a> {
    rankings: &'a Rankings,
    weights: &'a Weights,
    /// Whether sums of weights are exact, so that subtraction undoes addition.
    is_exact: bool,
    /// Whether all weights are small whole numbers.
    fits_bytes: bool,
}

impl<'a> RowPairCounter<'a> {
    /// A counter that checks whether all weights are (small) whole numbers: O(rows).
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

    /// A counter for a small part of the rows: does not inspect the weights and treats all weights other than unit
    /// weights as fractional.
    pub(super) fn without_weight_inspection(rankings: &'a Rankings) -> Self {
        let weights = rankings.weights();
        let is_unit = matches!(weights, Weights::Unit(_));
        Self {
            rankings,
            weights,
            is_exact: is_unit,
            fits_bytes: is_unit,
        }
    }

    /// Whether counts of a part of the rows can be subtracted from counts of all rows.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether every row ranks every label and sums of weights are exact.
    pub(crate) fn is_exact_and_complete(&self) -> bool {
        self.is_exact && self.rankings.is_complete()
    }

    /// Counts the pairs of `rows` in bytes; `weight` is the sum of the weights of the rows. Returns `false` and counts
    /// nothing if bytes cannot hold the counts.
    pub(crate) fn count_in_bytes(
        &self,
        rows: &[u32],
        weight: f64,
        bytes: &mut BytePairCounter,
    ) -> bool {
        let fits = self.fits_bytes && weight <= BytePairCounter::MAX_ROWS as f64;
        if fits {
            let rows = rows.iter().map(|&row| row as usize);
            self.fill_bytes(rows, bytes);
        }
        fits
    }

    /// Replaces the counts by the counts of `rows`.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn count(
        &self,
        rows: &[u32],
        table: &mut PairTable<f64>,
        bytes: &mut BytePairCounter,
        interrupt: &Interrupt,
    ) -> Result<()> {
        table.clear();
        for_each_part(rows, table.labels(), interrupt, |part| {
            self.add(part.iter().map(|&row| row as usize), table, bytes);
        })
    }

    /// Adds the pairs of `rows` to `table`, in the order of the rows.
    pub(crate) fn add(
        &self,
        rows: impl Iterator<Item = usize>,
        table: &mut PairTable<f64>,
        bytes: &mut BytePairCounter,
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
                sum += usize::from(self.whole_weight(row));
                sum <= BytePairCounter::MAX_ROWS
            };
            self.fill_bytes(take_while_fits(&mut rows, fits), bytes);
            dispatch(AddBytes { bytes, table });
        }
    }

    fn fill_bytes(&self, rows: impl Iterator<Item = usize>, bytes: &mut BytePairCounter) {
        let rankings = self.rankings;
        let rows = rows.map(|row| (rankings.row(row), self.whole_weight(row)));
        bytes.count(rankings.labels(), rankings.is_complete(), rows);
    }

    fn whole_weight(&self, row: usize) -> u8 {
        self.weights.get(row) as u8
    }
}

/// Takes items while they fit; the first that does not fit stays in the iterator.
fn take_while_fits<'a, I: Iterator>(
    items: &'a mut std::iter::Peekable<I>,
    mut fits: impl FnMut(&I::Item) -> bool + 'a,
) -> impl Iterator<Item = I::Item> + 'a {
    std::iter::from_fn(move || items.next_if(&mut fits))
}

struct AddBytes<'a> {
    bytes: &'a BytePairCounter,
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
