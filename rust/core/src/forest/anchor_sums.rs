//! [`AnchorSums`]: pair shares of the leaves that are anchors, summed over trees for all rows of a block. Anchors are
//! the nodes whose shares are stored; see [`AnchoredTree`](crate::tree::AnchoredTree).

use crate::aligned::AlignedBuffer;
use crate::simd::{dispatch, Kernel};
use crate::tree::{anchor_stride, ANCHOR_LANES};
use crate::warm::warm_up;

/// Sums of the shares of leaves that are anchors, for all rows of a block.
pub(super) struct AnchorSums {
    /// Number of sums per row, with padding.
    stride: usize,
    /// Per row: per pair the sum of before, then per pair the sum of after, and padding.
    sums: AlignedBuffer<i32>,
    /// Number of anchors added per row.
    counts: Vec<i32>,
}

impl AnchorSums {
    /// Sums of 0.
    pub(super) fn new(labels: usize, rows: usize) -> Self {
        let stride = anchor_stride(labels);
        Self {
            stride,
            sums: AlignedBuffer::zeroed(rows * stride),
            counts: vec![0; rows],
        }
    }

    /// Number of trees to pass to one call of [`Self::add`].
    pub(super) fn trees_at_once(&self) -> usize {
        if self.stride / ANCHOR_LANES <= MAX_SHORT_LINES && self.counts.len() >= MANY_ROWS {
            SHORT_TABLES_AT_ONCE
        } else {
            TREES_AT_ONCE
        }
    }

    /// The sums of a row, and the number of anchors in them.
    pub(super) fn row(&self, row: usize) -> (&[i32], i32) {
        let sums = &self.sums[row * self.stride..][..self.stride];
        (sums, self.counts[row])
    }

    /// Adds the shares of the leaves of at most [`TREES_AT_ONCE`] trees. Each tree has a table of the shares of its
    /// anchors, and per row the slot (index) of its leaf in this table, or [`NO_SLOT`].
    pub(super) fn add(&mut self, tables: &[&[i32]], slots: &[u32]) {
        dispatch(AddAnchorsKernel {
            sums: self,
            tables,
            slots,
        });
    }
}

/// Slot of a row whose leaf is not in the table of a tree: an index beyond every table.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Largest number of trees whose shares are added together: each sum is read and written once for all of them.
pub(super) const TREES_AT_ONCE: usize = 16;

/// Number of short tables (with few cache lines per leaf) that are added together for many rows: they and the sums of a
/// block fit in the second-level cache.
const SHORT_TABLES_AT_ONCE: usize = 4;

/// From this many rows on, the rows reach most leaves of a short table.
const MANY_ROWS: usize = 64;

/// Largest number of cache lines per leaf of a short table: the sums of a row fit in the registers.
const MAX_SHORT_LINES: usize = 7;

/// A cache line of shares.
type AnchorLine = [i32; ANCHOR_LANES];

struct AddAnchorsKernel<'a> {
    sums: &'a mut AnchorSums,
    tables: &'a [&'a [i32]],
    slots: &'a [u32],
}

impl Kernel for AddAnchorsKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.sums.stride / ANCHOR_LANES {
            1 => self.add_short::<1>(),
            2 => self.add_short::<2>(),
            3 => self.add_short::<3>(),
            4 => self.add_short::<4>(),
            5 => self.add_short::<5>(),
            6 => self.add_short::<6>(),
            MAX_SHORT_LINES => self.add_short::<MAX_SHORT_LINES>(),
            _ => self.add_long(),
        }
    }
}

impl AddAnchorsKernel<'_> {
    /// Adds shares of `LINES` cache lines per leaf: the sums of a row stay in registers while all trees are read.
    #[inline(always)]
    fn add_short<const LINES: usize>(self) {
        let rows = self.sums.counts.len();
        let mut trees: [(&[[AnchorLine; LINES]], &[u32]); TREES_AT_ONCE] =
            [(&[], &[]); TREES_AT_ONCE];
        let each = self.tables.iter().zip(self.slots.chunks_exact(rows));
        for (tree, (table, slots)) in trees.iter_mut().zip(each) {
            *tree = (table.as_chunks().0.as_chunks().0, slots);
            // The rows do not reach most of a table with more leaves than rows.
            if tree.0.len() <= rows {
                warm_up(table, |&share| share as u32);
            }
        }
        let trees = &trees[..self.tables.len().min(TREES_AT_ONCE)];
        let (sums, _) = self.sums.sums.as_chunks_mut();
        let (sums, _) = sums.as_chunks_mut::<LINES>();
        for (row, (sums, count)) in sums.iter_mut().zip(&mut self.sums.counts).enumerate() {
            let mut lines = *sums;
            for (table, slots) in trees {
                if let Some(shares) = table.get(slots[row] as usize) {
                    *count += 1;
                    for line in 0..LINES {
                        add_line(&mut lines[line], &shares[line]);
                    }
                }
            }
            *sums = lines;
        }
    }

    /// Adds shares of many cache lines per leaf: two lines of sums at a time stay in registers.
    #[inline(always)]
    fn add_long(self) {
        let AnchorSums {
            stride,
            sums,
            counts,
        } = self.sums;
        let rows = counts.len();
        let each = sums.chunks_exact_mut(*stride).zip(counts);
        let mut found: [&[AnchorLine]; TREES_AT_ONCE] = [&[]; TREES_AT_ONCE];
        for (row, (sums, trees)) in each.enumerate() {
            let mut count = 0;
            for (table, slots) in self.tables.iter().zip(self.slots.chunks_exact(rows)) {
                if slots[row] != NO_SLOT {
                    let shares = &table[slots[row] as usize * *stride..][..*stride];
                    found[count] = shares.as_chunks().0;
                    count += 1;
                }
            }
            if count == 0 {
                continue;
            }
            *trees += count as i32;
            let (sums, _) = sums.as_chunks_mut::<ANCHOR_LANES>();
            let (pairs, last) = sums.as_chunks_mut::<2>();
            for (pair, sums) in pairs.iter_mut().enumerate() {
                add_lines(sums, &found[..count], 2 * pair);
            }
            let first = 2 * pairs.len();
            for sums in last.as_chunks_mut::<1>().0 {
                add_lines(sums, &found[..count], first);
            }
        }
    }
}

/// Adds `LINES` lines of each anchor, starting at line `first`, to sums that stay in registers meanwhile.
#[inline(always)]
fn add_lines<const LINES: usize>(
    sums: &mut [AnchorLine; LINES],
    anchors: &[&[AnchorLine]],
    first: usize,
) {
    let mut lines = *sums;
    for anchor in anchors {
        let Some(shares) = anchor[first..].first_chunk::<LINES>() else {
            continue;
        };
        for line in 0..LINES {
            add_line(&mut lines[line], &shares[line]);
        }
    }
    *sums = lines;
}

#[inline(always)]
fn add_line(sums: &mut AnchorLine, shares: &AnchorLine) {
    for lane in 0..ANCHOR_LANES {
        sums[lane] += shares[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::pair_count;

    #[test]
    fn sums_match_a_plain_loop_for_short_and_long_shares() {
        for labels in [2, 5, 7, 9, 11, 12, 20] {
            let (rows, leaves, trees) = (5, 4, 3);
            let stride = anchor_stride(labels);
            let tables: Vec<Vec<i32>> = (0..trees)
                .map(|tree| {
                    (0..leaves * stride)
                        .map(|i| (i * (tree + 3)) as i32)
                        .collect()
                })
                .collect();
            let tables: Vec<&[i32]> = tables.iter().map(Vec::as_slice).collect();
            let mut slots: Vec<u32> = (0..rows * trees).map(|i| (i * 7 % leaves) as u32).collect();
            slots[2] = NO_SLOT;
            slots[rows + 2] = NO_SLOT;
            let mut sums = AnchorSums::new(labels, rows);
            sums.add(&tables, &slots);
            sums.add(&tables[..1], &slots[..rows]);
            for row in 0..rows {
                let mut expected = vec![0; 2 * pair_count(labels)];
                let mut count = 0;
                for (tree, slots) in (0..trees)
                    .chain([0])
                    .zip(slots.chunks(rows).chain([&slots[..rows]]))
                {
                    if slots[row] != NO_SLOT {
                        let shares = &tables[tree][slots[row] as usize * stride..];
                        expected
                            .iter_mut()
                            .zip(shares)
                            .for_each(|(sum, share)| *sum += share);
                        count += 1;
                    }
                }
                let (found, found_count) = sums.row(row);
                assert_eq!(found[..expected.len()], expected);
                assert_eq!(found_count, count);
            }
        }
    }
}
