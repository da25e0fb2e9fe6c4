//! Counting pair codes, many columns to an instruction.

use crate::simd::{dispatch, Kernel};

use super::block::{Block, LANES};

/// For each column of a block how often it is before, after, and seen (the last only with missing labels).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) before: Vec<u32>,
    pub(super) after: Vec<u32>,
    pub(super) seen: Vec<u32>,
}

/// Rows whose codes fit the two halves of a byte.
const ROWS: usize = 15;

impl Counts {
    /// Makes the counts those of no rows.
    pub(super) fn reset(&mut self, block: &Block) {
        let width = |on: bool| if on { block.stride } else { 0 };
        for (counts, width) in [
            (&mut self.before, width(true)),
            (&mut self.after, width(true)),
            (&mut self.seen, width(!block.seen.is_empty())),
        ] {
            counts.clear();
            counts.resize(width, 0);
        }
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.before.clone_from(&other.before);
        self.after.clone_from(&other.after);
        self.seen.clone_from(&other.seen);
    }

    /// Makes the counts those of the other rows.
    #[inline(always)]
    pub(super) fn complement(&mut self, totals: &Self) {
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

    /// [`Counts::add`] as a function of its own.
    pub(super) fn add_all(&mut self, block: &Block, entries: &[u64]) {
        dispatch(Add {
            counts: self,
            block,
            entries,
        });
    }

    /// Adds rows of the block; the low half of an entry is the row.
    #[inline(always)]
    pub(super) fn add(&mut self, block: &Block, entries: &[u64]) {
        for entries in entries.chunks(ROWS) {
            let mut at = 0;
            // As many columns at once as registers can hold, so that a row is read in one go.
            while at < block.stride {
                at += match block.stride - at {
                    384.. => self.add_columns::<384>(block, entries, at),
                    256.. => self.add_columns::<256>(block, entries, at),
                    128.. => self.add_columns::<128>(block, entries, at),
                    _ => self.add_columns::<LANES>(block, entries, at),
                };
            }
        }
    }

    #[inline(always)]
    fn add_columns<const W: usize>(&mut self, block: &Block, entries: &[u64], at: usize) -> usize {
        let sum = sum_bytes::<W>(&block.codes, block.stride, entries, at);
        let before = &mut self.before[at..at + W];
        let after = &mut self.after[at..at + W];
        for lane in 0..W {
            before[lane] += u32::from(sum[lane] & 15);
            after[lane] += u32::from(sum[lane] >> 4);
        }
        if !block.seen.is_empty() {
            let sum = sum_bytes::<W>(&block.seen, block.stride, entries, at);
            for (seen, &sum) in self.seen[at..at + W].iter_mut().zip(&sum) {
                *seen += u32::from(sum);
            }
        }
        W
    }
}

struct Add<'a> {
    counts: &'a mut Counts,
    block: &'a Block,
    entries: &'a [u64],
}

impl Kernel for Add<'_> {
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
