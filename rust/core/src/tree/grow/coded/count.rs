//! Counting pair codes, many columns to an instruction.

use crate::simd::{dispatch, Kernel};

use super::block::{PairCodes, LANES};

/// For each column of a block how often it is before, after, and seen (the last only with missing labels).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
    pub(crate) seen: Vec<u32>,
}

/// Adding or subtracting.
trait Combine: Fn(u32, u32) -> u32 + Copy {}

impl<F: Fn(u32, u32) -> u32 + Copy> Combine for F {}

/// Rows whose codes fit the two halves of a byte.
const ROWS: usize = 15;

/// Rows whose counts fit a byte each, in whole steps of [`ROWS`].
const BYTE_ROWS: usize = 17 * ROWS;

impl Counts {
    /// Makes the counts those of no rows.
    pub(crate) fn reset(&mut self, block: &PairCodes) {
        self.resize(block);
        for counts in [&mut self.before, &mut self.after, &mut self.seen] {
            counts.fill(0);
        }
    }

    /// The counts of some rows of the block.
    pub(crate) fn of(block: &PairCodes, entries: &[u64]) -> Self {
        let mut counts = Self::default();
        counts.reset(block);
        dispatch(AddToCounts {
            counts: &mut counts,
            block,
            entries,
        });
        counts
    }

    /// The counts of the columns that stand for `groups`, for a block with these columns.
    pub(crate) fn select(&self, groups: &[(u32, i64)], block: &PairCodes) -> Self {
        let of = |counts: &[u32]| {
            if counts.is_empty() {
                return Vec::new();
            }
            let kept = groups.iter().map(|&(column, _)| counts[column as usize]);
            let padding = block.stride - groups.len();
            kept.chain(std::iter::repeat_n(0, padding)).collect()
        };
        Self {
            before: of(&self.before),
            after: of(&self.after),
            seen: of(&self.seen),
        }
    }

    /// Gives the counts the block's width; what is in them does not matter.
    fn resize(&mut self, block: &PairCodes) {
        let seen = if block.seen.is_empty() {
            0
        } else {
            block.stride
        };
        self.before.resize(block.stride, 0);
        self.after.resize(block.stride, 0);
        self.seen.resize(seen, 0);
    }

    /// Takes away the counts of some of the rows.
    pub(crate) fn subtract(&mut self, some: &Self) {
        for (counts, some) in [
            (&mut self.before, &some.before),
            (&mut self.after, &some.after),
            (&mut self.seen, &some.seen),
        ] {
            for (count, some) in counts.iter_mut().zip(some) {
                *count -= some;
            }
        }
    }

    /// Makes the counts those of the other rows.
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

    /// Adds rows of the block; the low half of an entry is the row.
    #[inline(always)]
    pub(crate) fn add(&mut self, block: &PairCodes, entries: &[u64]) {
        self.change(block, entries, u32::wrapping_add);
    }

    /// Makes the counts those of `other` and some more rows, at least one.
    #[inline(always)]
    pub(crate) fn continue_from(&mut self, other: &Self, block: &PairCodes, entries: &[u64]) {
        self.change_from(other, block, entries, u32::wrapping_add);
    }

    /// Makes the counts those of `other` without some of its rows, at least one.
    #[inline(always)]
    pub(crate) fn go_back_from(&mut self, other: &Self, block: &PairCodes, entries: &[u64]) {
        self.change_from(other, block, entries, u32::wrapping_sub);
    }

    /// Adds rows or takes them away, as `combine` does with their numbers.
    #[inline(always)]
    fn change(&mut self, block: &PairCodes, entries: &[u64], combine: impl Combine) {
        for entries in entries.chunks(BYTE_ROWS) {
            self.change_block(None, block, entries, combine);
        }
    }

    #[inline(always)]
    fn change_from(
        &mut self,
        other: &Self,
        block: &PairCodes,
        entries: &[u64],
        combine: impl Combine,
    ) {
        self.resize(block);
        let (first, rest) = entries.split_at(entries.len().min(BYTE_ROWS));
        self.change_block(Some(other), block, first, combine);
        self.change(block, rest, combine);
    }

    #[inline(always)]
    fn change_block(
        &mut self,
        from: Option<&Self>,
        block: &PairCodes,
        entries: &[u64],
        combine: impl Combine,
    ) {
        let mut at = 0;
        // As many columns at once as registers can hold, so that a row is read in one go.
        while at < block.stride {
            at += match block.stride - at {
                384.. => self.change_columns::<384>(from, block, entries, (at, combine)),
                256.. => self.change_columns::<256>(from, block, entries, (at, combine)),
                128.. => self.change_columns::<128>(from, block, entries, (at, combine)),
                _ => self.change_columns::<LANES>(from, block, entries, (at, combine)),
            };
        }
    }

    #[inline(always)]
    fn change_columns<const W: usize>(
        &mut self,
        from: Option<&Self>,
        block: &PairCodes,
        entries: &[u64],
        (at, combine): (usize, impl Combine),
    ) -> usize {
        let (mut before, mut after) = ([0_u8; W], [0_u8; W]);
        for entries in entries.chunks(ROWS) {
            let sum = sum_bytes::<W>(&block.codes, block.stride, entries, at);
            for lane in 0..W {
                before[lane] += sum[lane] & 15;
                after[lane] += sum[lane] >> 4;
            }
        }
        let range = at..at + W;
        let old = |counts: fn(&Self) -> &[u32]| from.map(|from| &counts(from)[range.clone()]);
        widen(
            &before,
            old(|c| &c.before),
            &mut self.before[range.clone()],
            combine,
        );
        widen(
            &after,
            old(|c| &c.after),
            &mut self.after[range.clone()],
            combine,
        );
        if !block.seen.is_empty() {
            let seen = sum_bytes::<W>(&block.seen, block.stride, entries, at);
            widen(
                &seen,
                old(|c| &c.seen),
                &mut self.seen[range.clone()],
                combine,
            );
        }
        W
    }
}

/// Combines the `old` counts, or those in place, with small ones.
#[inline(always)]
fn widen<const W: usize>(
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
    counts: &'a mut Counts,
    block: &'a PairCodes,
    entries: &'a [u64],
}

impl Kernel for AddToCounts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.counts.add(self.block, self.entries);
    }
}

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
    use ndarray::Array2;

    #[test]
    fn rows_are_added_and_taken_away() {
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
            let block = PairCodes::new(&Rankings::new(y.view(), None).unwrap());
            // Every third row twice.
            let entries: Vec<u64> = (0..600)
                .flat_map(|row| std::iter::repeat_n(row, if row % 3 == 0 { 2 } else { 1 }))
                .collect();
            let (some, rest) = entries.split_at(300);
            let (all, first) = (Counts::of(&block, &entries), Counts::of(&block, some));
            let mut counts = Counts::default();
            counts.continue_from(&first, &block, rest);
            assert_eq!(counts, all);
            counts.go_back_from(&all, &block, rest);
            assert_eq!(counts, first);
            counts.complement(&all);
            assert_eq!(counts, Counts::of(&block, rest));
            let mut left = all.clone();
            left.subtract(&counts);
            assert_eq!(left, first);
            let before = (0..600).filter(|&row| y[[row, 0]] < y[[row, 1]]);
            let once = before.clone().count() + before.filter(|row| row % 3 == 0).count();
            assert_eq!(all.before[0] as usize, once);
        }
    }
}
