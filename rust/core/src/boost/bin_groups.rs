//! [`BinCounts`]: number of rows of a node per bin of a feature, and the division of these bins into groups. An edge
//! between two groups is a candidate boundary.

use std::ops::AddAssign;

use super::params::{Thresholds, MAX_BINS};

/// Bytes per word.
const BYTES: usize = size_of::<u64>();

/// Bins per word of flags.
const BITS: usize = u64::BITS as usize;

/// A number of rows: `u8` for nodes of at most 255 rows, which keeps their tables small, else `u32`.
pub(super) trait RowCount:
    Copy + Default + PartialOrd + AddAssign + From<u8> + Into<u32>
{
}

impl RowCount for u8 {}
impl RowCount for u32 {}

/// Which edges between groups of bins are candidates.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeRule {
    /// Least number of rows on both sides.
    pub(super) min_samples_leaf: usize,
    pub(super) thresholds: Thresholds,
}

#[cfg(test)]
impl EdgeRule {
    /// All edges that leave this many rows on both sides.
    pub(super) fn all(min_samples_leaf: usize) -> Self {
        Self {
            min_samples_leaf,
            thresholds: Thresholds::All,
        }
    }
}

/// Number of rows of a node per bin of a feature.
pub(super) struct BinCounts<T> {
    pub(super) rows: [T; MAX_BINS],
    total: u32,
}

impl<T: RowCount> BinCounts<T> {
    /// Counts the rows of a node, which are indices into the column; `None` if the feature is constant in the node.
    #[inline(always)]
    pub(super) fn new(column: &[u8], rows: &[u32]) -> Option<Self> {
        let zero = T::default();
        let one = T::from(1);
        let mut counts = Self {
            rows: [zero; MAX_BINS],
            total: rows.len() as u32,
        };
        // Two tables: with one, a row would wait until the row before it is counted if both are in the same bin.
        let mut odd = [zero; MAX_BINS];
        let (pairs, rest) = rows.as_chunks::<2>();
        for &[a, b] in pairs {
            counts.rows[usize::from(column[a as usize])] += one;
            odd[usize::from(column[b as usize])] += one;
        }
        for &row in rest {
            odd[usize::from(column[row as usize])] += one;
        }
        for (count, odd) in counts.rows.iter_mut().zip(odd) {
            *count += odd;
        }
        let first = usize::from(column[*rows.first()? as usize]);
        (counts.rows[first].into() < counts.total).then_some(counts)
    }

    /// Assigns the bins that have rows to groups, and returns the last group. No value may be missing in the node.
    ///
    /// Groups are numbered from 0 and none is empty, so with at most 256 bins `u8` suffices.
    #[inline(always)]
    pub(super) fn assign_groups(&self, rule: EdgeRule, group_of: &mut [u8; MAX_BINS]) -> u8 {
        let least = rule.min_samples_leaf.min(u32::MAX as usize) as u32;
        let present = self.find_present();
        let bins = present.iter().map(|word| word.count_ones()).sum();
        let shift = rule.thresholds.block_bits(bins, self.total);
        let most = self.total.saturating_sub(least);
        // The rows before this bin, and before the bin before it.
        let (mut left, mut previous) = (0, 0);
        let mut group = 0;
        for (word, mut present) in present.into_iter().enumerate() {
            while present != 0 {
                let bin = (word * BITS + present.trailing_zeros() as usize) % MAX_BINS;
                present &= present - 1;
                let starts_block = left >> shift != previous >> shift;
                group += u8::from(starts_block && (least..=most).contains(&left));
                group_of[bin] = group;
                previous = left;
                left += self.rows[bin].into();
            }
        }
        group
    }

    /// The bins that have rows, as bits of words.
    #[inline(always)]
    fn find_present(&self) -> [u64; MAX_BINS / BITS] {
        let mut flags = [0; MAX_BINS];
        for (flag, &rows) in flags.iter_mut().zip(&self.rows) {
            *flag = u8::from(rows > T::default());
        }
        std::array::from_fn(|word| pack_flags(&flags[word * BITS..(word + 1) * BITS]))
    }
}

/// Packs 64 flags, 0 or 1 each, into the bits of a word.
#[inline(always)]
fn pack_flags(flags: &[u8]) -> u64 {
    // The product moves the lowest bit of each byte to its place in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut packed = 0;
    for (at, chunk) in flags.chunks_exact(BYTES).enumerate() {
        let mut eight = [0; BYTES];
        eight.copy_from_slice(chunk);
        packed |= (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (BYTES * at);
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_packed_in_order() {
        for seed in 0..200_u64 {
            let word = seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(seed as u32);
            let flags: Vec<u8> = (0..BITS).map(|bit| (word >> bit & 1) as u8).collect();
            assert_eq!(pack_flags(&flags), word);
        }
    }

    #[test]
    fn bins_without_rows_have_no_edges() {
        let mut counts = BinCounts {
            rows: [0_u32; MAX_BINS],
            total: 0,
        };
        for (bin, rows) in [(0, 2), (3, 1), (63, 4), (64, 1), (200, 3), (255, 2)] {
            counts.rows[bin] = rows;
            counts.total += rows;
        }
        let groups = |least| {
            let mut group_of = [0; MAX_BINS];
            let last = counts.assign_groups(EdgeRule::all(least), &mut group_of);
            (last, [0, 3, 63, 64, 200, 255].map(|bin| group_of[bin]))
        };
        assert_eq!(groups(1), (5, [0, 1, 2, 3, 4, 5]));
        assert_eq!(groups(3), (3, [0, 0, 1, 2, 3, 3]));
        assert_eq!(groups(7), (0, [0; 6]));
        assert_eq!(groups(6), (1, [0, 0, 0, 1, 1, 1]));
    }
}
