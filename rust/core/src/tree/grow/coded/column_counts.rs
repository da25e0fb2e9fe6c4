//! [`ColumnCounts`]: for each pair of labels (a column of [`PairCodes`]), how many rows rank it before and after,
//! computed with vector instructions.

use crate::simd::{dispatch, Kernel};

use super::pair_codes::{PairCodes, LANES};

/// Per column of the pair codes, the numbers of rows with code before, with code after and, only with missing labels,
/// of rows that rank both labels (`seen`; empty for complete rankings).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ColumnCounts {
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
    pub(crate) seen: Vec<u32>,
}

/// Addition or subtraction of counts.
trait Combine: Fn(u32, u32) -> u32 + Copy {}

impl<F: Fn(u32, u32) -> u32 + Copy> Combine for F {}

/// Largest number of rows whose codes can be summed in the two halves of a byte.
const NIBBLE_ROWS: usize = 15;

/// Largest number of rows whose counts fit in one byte each; a multiple of [`NIBBLE_ROWS`].
const BYTE_ROWS: usize = 17 * NIBBLE_ROWS;

impl ColumnCounts {
    /// Sets all counts to 0.
    pub(crate) fn reset(&mut self, pair_codes: &PairCodes) {
        self.resize(pair_codes);
        for counts in [&mut self.before, &mut self.after, &mut self.seen] {
            counts.fill(0);
        }
    }

    /// Counts the rows in `entries`; the low half of an entry is the index of the row in `pair_codes`.
    pub(crate) fn count(pair_codes: &PairCodes, entries: &[u64]) -> Self {
        let mut counts = Self::default();
        counts.reset(pair_codes);
        dispatch(AddToCounts {
            counts: &mut counts,
            pair_codes,
            entries,
        });
        counts
    }

    /// The counts of the first column of each group, in the layout of `pair_codes`.
    pub(crate) fn select(&self, groups: &[(u32, i64)], pair_codes: &PairCodes) -> Self {
        let select = |counts: &[u32]| {
            if counts.is_empty() {
                return Vec::new();
            }
            let kept = groups.iter().map(|&(column, _)| counts[column as usize]);
            let padding = pair_codes.stride - groups.len();
            kept.chain(std::iter::repeat_n(0, padding)).collect()
        };
        Self {
            before: select(&self.before),
            after: select(&self.after),
            seen: select(&self.seen),
        }
    }

    /// Resizes the buffers to the stride of `pair_codes`. Counts that are kept do not change, the others are 0.
    pub(super) fn resize(&mut self, pair_codes: &PairCodes) {
        let seen = if pair_codes.is_complete() {
            0
        } else {
            pair_codes.stride
        };
        self.before.resize(pair_codes.stride, 0);
        self.after.resize(pair_codes.stride, 0);
        self.seen.resize(seen, 0);
    }

    /// Subtracts the counts of a subset of the rows.
    pub(crate) fn subtract(&mut self, subset: &Self) {
        for (counts, subset) in [
            (&mut self.before, &subset.before),
            (&mut self.after, &subset.after),
            (&mut self.seen, &subset.seen),
        ] {
            for (count, subset) in counts.iter_mut().zip(subset) {
                *count -= subset;
            }
        }
    }

    /// Sets the counts to the sum of two counts.
    #[inline(always)]
    pub(crate) fn set_to_total(&mut self, first: &Self, second: &Self) {
        for (counts, first, second) in [
            (&mut self.before, &first.before, &second.before),
            (&mut self.after, &first.after, &second.after),
            (&mut self.seen, &first.seen, &second.seen),
        ] {
            counts.resize(first.len(), 0);
            for ((count, first), second) in counts.iter_mut().zip(first).zip(second) {
                *count = first + second;
            }
        }
    }

    /// Replaces the counts of a subset of the rows by those of the remaining rows.
    #[inline(always)]
    pub(crate) fn complement(&mut self, totals: &Self) {
        for (counts, totals) in [
            (&mut self.before, &totals.before),
            (&mut self.after, &totals.after),
            (&mut self.seen, &totals.seen),
        ] {
            for (count, total) in counts.iter_mut().zip(totals) {
                *count = total - *count;
            }
        }
    }

    /// Adds the rows in `entries` to the counts.
    #[inline(always)]
    pub(crate) fn add(&mut self, pair_codes: &PairCodes, entries: &[u64]) {
        self.combine_rows(pair_codes, entries, u32::wrapping_add);
    }

    /// Sets the counts to `other` plus the rows in `entries`.
    #[inline(always)]
    pub(crate) fn set_to_sum(&mut self, other: &Self, pair_codes: &PairCodes, entries: &[u64]) {
        self.combine_from(other, pair_codes, entries, u32::wrapping_add);
    }

    /// Sets the counts to `other` minus the rows in `entries`.
    #[inline(always)]
    pub(crate) fn set_to_difference(
        &mut self,
        other: &Self,
        pair_codes: &PairCodes,
        entries: &[u64],
    ) {
        self.combine_from(other, pair_codes, entries, u32::wrapping_sub);
    }

    /// Adds the rows in `entries` to the counts, or subtracts them.
    #[inline(always)]
    fn combine_rows(&mut self, pair_codes: &PairCodes, entries: &[u64], combine: impl Combine) {
        for entries in entries.chunks(BYTE_ROWS) {
            self.combine_chunk(None, pair_codes, entries, combine);
        }
    }

    /// Sets the counts to `other` plus or minus the rows in `entries`.
    #[inline(always)]
    fn combine_from(
        &mut self,
        other: &Self,
        pair_codes: &PairCodes,
        entries: &[u64],
        combine: impl Combine,
    ) {
        self.resize(pair_codes);
        let (first, rest) = entries.split_at(entries.len().min(BYTE_ROWS));
        self.combine_chunk(Some(other), pair_codes, first, combine);
        self.combine_rows(pair_codes, rest, combine);
    }

    /// Adds or subtracts at most [`BYTE_ROWS`] rows; starts with the counts `from`, or with the current counts.
    #[inline(always)]
    fn combine_chunk(
        &mut self,
        from: Option<&Self>,
        pair_codes: &PairCodes,
        entries: &[u64],
        combine: impl Combine,
    ) {
        let mut at = 0;
        // As many columns per pass as the registers hold, so that a row is read once.
        while at < pair_codes.stride {
            at += match pair_codes.stride - at {
                384.. => self.combine_columns::<384>(from, pair_codes, entries, (at, combine)),
                256.. => self.combine_columns::<256>(from, pair_codes, entries, (at, combine)),
                128.. => self.combine_columns::<128>(from, pair_codes, entries, (at, combine)),
                _ => self.combine_columns::<LANES>(from, pair_codes, entries, (at, combine)),
            };
        }
    }

    /// Does [`Self::combine_chunk`] for the W columns from column `at`, and returns W.
    #[inline(always)]
    fn combine_columns<const W: usize>(
        &mut self,
        from: Option<&Self>,
        pair_codes: &PairCodes,
        entries: &[u64],
        (at, combine): (usize, impl Combine),
    ) -> usize {
        let (mut before, mut after) = ([0_u8; W], [0_u8; W]);
        for entries in entries.chunks(NIBBLE_ROWS) {
            let sum = sum_bytes::<W>(&pair_codes.codes, pair_codes.stride, entries, at);
            for lane in 0..W {
                before[lane] += sum[lane] & 15;
                after[lane] += sum[lane] >> 4;
            }
        }
        let range = at..at + W;
        let old = |counts: fn(&Self) -> &[u32]| from.map(|from| &counts(from)[range.clone()]);
        combine_bytes(
            &before,
            old(|c| &c.before),
            &mut self.before[range.clone()],
            combine,
        );
        combine_bytes(
            &after,
            old(|c| &c.after),
            &mut self.after[range.clone()],
            combine,
        );
        if !pair_codes.is_complete() {
            let seen = sum_bytes::<W>(&pair_codes.seen, pair_codes.stride, entries, at);
            combine_bytes(
                &seen,
                old(|c| &c.seen),
                &mut self.seen[range.clone()],
                combine,
            );
        }
        W
    }
}

/// Adds the byte counts `small` to the counts `old`, or subtracts them; without `old`, changes `counts` in place.
#[inline(always)]
fn combine_bytes<const W: usize>(
    small: &[u8; W],
    old: Option<&[u32]>,
    counts: &mut [u32],
    combine: impl Combine,
) {
    match old {
        Some(old) => {
            for ((count, &old), &small) in counts.iter_mut().zip(old).zip(small) {
                *count = combine(old, u32::from(small));
            }
        }
        None => {
            for (count, &small) in counts.iter_mut().zip(small) {
                *count = combine(*count, u32::from(small));
            }
        }
    }
}

struct AddToCounts<'a> {
    counts: &'a mut ColumnCounts,
    pair_codes: &'a PairCodes,
    entries: &'a [u64],
}

impl Kernel for AddToCounts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.counts.add(self.pair_codes, self.entries);
    }
}

/// Sums, over the rows in `entries`, of the bytes of W columns from column `at`.
#[inline(always)]
fn sum_bytes<const W: usize>(bytes: &[u8], stride: usize, entries: &[u64], at: usize) -> [u8; W] {
    let mut sum = [0_u8; W];
    for &entry in entries {
        let start = entry as u32 as usize * stride + at;
        if let Some(row) = bytes.get(start..).and_then(|rest| rest.first_chunk::<W>()) {
            for lane in 0..W {
                sum[lane] = sum[lane].wrapping_add(row[lane]);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    #[test]
    fn rows_are_added_and_subtracted() {
        let nan = f64::NAN;
        for (missing, labels) in [(1.0, 3), (nan, 3), (1.0, 12)] {
            let y = Array2::from_shape_fn((600, labels), |(row, label)| {
                if (row + label) % 5 == 0 {
                    missing
                } else {
                    1.0 + ((row * row / 7) % (label + 2)).min(1) as f64
                }
            });
            let mut y = y;
            // Positions start at 1 in every row.
            y.column_mut(0).fill(1.0);
            let pair_codes =
                PairCodes::new(&Rankings::new(y.view(), None, &Interrupt::never()).unwrap());
            // Every third row twice.
            let entries: Vec<u64> = (0..600)
                .flat_map(|row| std::iter::repeat_n(row, if row % 3 == 0 { 2 } else { 1 }))
                .collect();
            let (some, rest) = entries.split_at(300);
            let (all, first) = (
                ColumnCounts::count(&pair_codes, &entries),
                ColumnCounts::count(&pair_codes, some),
            );
            let mut counts = ColumnCounts::default();
            counts.set_to_sum(&first, &pair_codes, rest);
            assert_eq!(counts, all);
            counts.set_to_difference(&all, &pair_codes, rest);
            assert_eq!(counts, first);
            counts.complement(&all);
            assert_eq!(counts, ColumnCounts::count(&pair_codes, rest));
            let mut left = all.clone();
            left.subtract(&counts);
            assert_eq!(left, first);
            let before = (0..600).filter(|&row| y[[row, 0]] < y[[row, 1]]);
            let once = before.clone().count() + before.filter(|row| row % 3 == 0).count();
            assert_eq!(all.before[0] as usize, once);
        }
    }
}
