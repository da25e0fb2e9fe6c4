//! [`PairCodes`]: the rankings of some rows, one byte for each pair of labels.

use std::collections::HashMap;

use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

use super::aligned::AlignedBytes;

/// Columns are padded to a multiple of this, the width of a vector register in bytes.
pub(crate) const LANES: usize = 32;

/// Bytes of a row. Wide rows are padded further, so that they can be read in few steps.
fn stride(columns: usize) -> usize {
    columns.next_multiple_of(if columns > 4 * LANES {
        4 * LANES
    } else {
        LANES
    })
}

/// Pairs of labels hardly ever divide more rows than this alike: looking for them would be in vain.
pub(crate) const MANY_ROWS: usize = 1000;

/// Codes of a pair in a row: added up, the low and the high half of a byte count up to 15 rows.
const BEFORE: u8 = 1;
const AFTER: u8 = 16;

/// A matrix rows × columns of pair codes: [`BEFORE`], [`AFTER`], or 0 for tied and for unseen; and for missing
/// labels a second one with 1 where the row ranks both labels. A column stands for `multiplicity` pairs of labels
/// that all rows order alike or mirrored: such pairs have the same entropy in every subset of the rows.
pub(crate) struct PairCodes {
    /// The training row of each row.
    pub(crate) rows: Vec<u32>,
    /// Bytes from one row to the next; the columns behind the last are 0.
    pub(crate) stride: usize,
    pub(crate) multiplicity: Vec<i64>,
    pub(crate) codes: AlignedBytes,
    /// Empty for complete rankings.
    pub(crate) seen: AlignedBytes,
}

impl PairCodes {
    /// The codes of all pairs in all rows.
    pub(crate) fn new(rankings: &Rankings) -> Self {
        let n = rankings.labels();
        let columns = n * (n - 1) / 2;
        let stride = stride(columns);
        let rows: Vec<u32> = (0..rankings.len() as u32).collect();
        let complete = rankings.is_complete();
        let mut block = Self {
            stride,
            multiplicity: vec![1; columns],
            codes: AlignedBytes::zeroed(rows.len() * stride),
            seen: AlignedBytes::zeroed(if complete { 0 } else { rows.len() * stride }),
            rows,
        };
        dispatch(EncodePairs {
            rankings,
            block: &mut block,
        });
        block
    }

    pub(crate) fn columns(&self) -> usize {
        self.multiplicity.len()
    }

    /// The block of some of the rows, in the given order, with one column for each of the `groups`.
    pub(crate) fn pack(&self, order: &[u32], groups: &[(u32, i64)]) -> Self {
        let stride = stride(groups.len());
        let copy = |from: &[u8]| {
            if from.is_empty() {
                return AlignedBytes::default();
            }
            let mut out = AlignedBytes::zeroed(order.len() * stride);
            for (&row, out) in order.iter().zip(out.chunks_exact_mut(stride.max(1))) {
                let row = &from[row as usize * self.stride..][..self.stride];
                if groups.len() == self.columns() {
                    out.copy_from_slice(row);
                    continue;
                }
                for (out, &(column, _)) in out.iter_mut().zip(groups) {
                    *out = row[column as usize];
                }
            }
            out
        };
        Self {
            rows: order.iter().map(|&row| self.rows[row as usize]).collect(),
            stride,
            multiplicity: groups.iter().map(|group| group.1).collect(),
            codes: copy(&self.codes),
            seen: copy(&self.seen),
        }
    }

    /// One of the kept columns for each group of them that are equal or mirrored in the given rows, with the sum of the
    /// multiplicities. Fingerprints find the groups, a comparison of all rows proves them.
    pub(crate) fn equal_columns(&self, order: &[u32], kept: &[u32]) -> Vec<(u32, i64)> {
        if order.len() > MANY_ROWS {
            let alone = |&column: &u32| (column, self.multiplicity[column as usize]);
            return kept.iter().map(alone).collect();
        }
        let prints = dispatch(Fingerprints { block: self, order });
        let mut first: HashMap<u64, usize> = HashMap::with_capacity(kept.len());
        let mut groups: Vec<(u32, i64)> = Vec::with_capacity(kept.len());
        for &column in kept {
            let multiplicity = self.multiplicity[column as usize];
            let print = prints[column as usize];
            // Mirrored columns have opposite order parts.
            let [order_part, seen_part] = print;
            let order_part = order_part.min(order_part.wrapping_neg());
            let key = u64::from(order_part) << 32 | u64::from(seen_part);
            match first.get(&key) {
                Some(&group) if self.same_column(order, groups[group].0, column) => {
                    groups[group].1 += multiplicity;
                }
                _ => {
                    first.insert(key, groups.len());
                    groups.push((column, multiplicity));
                }
            }
        }
        groups
    }

    fn same_column(&self, order: &[u32], a: u32, b: u32) -> bool {
        let (mut equal, mut mirrored) = (true, true);
        for &row in order {
            let row = row as usize * self.stride;
            let (a, b) = (row + a as usize, row + b as usize);
            equal &= self.codes[a] == self.codes[b];
            mirrored &= self.codes[a] == self.codes[b].rotate_left(4);
            let seen = self.seen.is_empty() || self.seen[a] == self.seen[b];
            if !(equal || mirrored) || !seen {
                return false;
            }
        }
        true
    }
}

/// Writes the codes of all rankings.
struct EncodePairs<'a> {
    rankings: &'a Rankings,
    block: &'a mut PairCodes,
}

impl Kernel for EncodePairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.rankings.labels();
        let (stride, columns) = (self.block.stride, self.block.columns());
        let mut twice = vec![0; 2 * n];
        let PairCodes {
            rows, codes, seen, ..
        } = self.block;
        for (row, &from) in rows.iter().enumerate() {
            let positions = self.rankings.row(from as usize);
            twice[..n].copy_from_slice(positions);
            twice[n..].copy_from_slice(positions);
            let at = row * stride..row * stride + columns;
            let codes = &mut codes[at.clone()];
            encode(&twice, codes);
            if !seen.is_empty() {
                mark_seen(&twice, codes, &mut seen[at]);
            }
        }
    }
}

/// Sums of pseudo-random numbers of the rows for each column: plus where before, minus where after; and where seen.
struct Fingerprints<'a> {
    block: &'a PairCodes,
    order: &'a [u32],
}

impl Kernel for Fingerprints<'_> {
    type Output = Vec<[u32; 2]>;

    #[inline(always)]
    fn run(self) -> Vec<[u32; 2]> {
        let PairCodes {
            stride,
            codes,
            seen,
            ..
        } = self.block;
        let mut orders = vec![0_u32; *stride];
        let mut seens = vec![0_u32; *stride];
        for &row in self.order {
            let number = (row + 1).wrapping_mul(0x9E37_79B1);
            let number = (number ^ (number >> 15)).wrapping_mul(0x85EB_CA77);
            let at = row as usize * stride..(row as usize + 1) * stride;
            for (print, &code) in orders.iter_mut().zip(&codes[at.clone()]) {
                let before = u32::from(code & 15).wrapping_neg() & number;
                let after = u32::from(code >> 4).wrapping_neg() & number;
                *print = print.wrapping_add(before).wrapping_sub(after);
            }
            if !seen.is_empty() {
                for (print, &seen) in seens.iter_mut().zip(&seen[at]) {
                    *print = print.wrapping_add(u32::from(seen).wrapping_neg() & number);
                }
            }
        }
        orders.into_iter().zip(seens).map(|(o, s)| [o, s]).collect()
    }
}

/// Compares each label with the one `distance` further, around the circle: every pair once, in vector order.
#[inline(always)]
fn encode(twice: &[u16], out: &mut [u8]) {
    let n = twice.len() / 2;
    for (distance, out) in (1..).zip(out.chunks_mut(n)) {
        for ((out, &p), &q) in out.iter_mut().zip(twice).zip(&twice[distance..]) {
            *out = BEFORE * u8::from(p < q) + AFTER * u8::from(p > q);
        }
    }
}

/// Clears the codes of pairs with a missing label and marks the others as seen.
#[inline(always)]
fn mark_seen(twice: &[u16], codes: &mut [u8], seen: &mut [u8]) {
    let n = twice.len() / 2;
    for ((distance, codes), seen) in (1..).zip(codes.chunks_mut(n)).zip(seen.chunks_mut(n)) {
        let pairs = twice.iter().zip(&twice[distance..]);
        for (((&p, &q), code), seen) in pairs.zip(codes).zip(seen) {
            *seen = u8::from(p != MISSING) & u8::from(q != MISSING);
            *code &= seen.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn every_pair_has_one_column() {
        for n in 2..8_usize {
            let positions: Vec<i64> = (1..=n as i64).collect();
            let y = ndarray::Array2::from_shape_vec((1, n), positions).unwrap();
            let block = {
                let rankings = Rankings::new(y.view(), None).unwrap();
                PairCodes::new(&rankings)
            };
            assert_eq!(block.columns(), n * (n - 1) / 2);
            let codes = &block.codes[..block.columns()];
            assert!(codes.iter().all(|&code| code == BEFORE || code == AFTER));
        }
    }

    #[test]
    fn equal_and_mirrored_columns_are_put_together() {
        // Labels 0 and 1 are always tied: (0,2) and (1,2) are equal, one of them mirrored around the circle.
        let y = array![[1, 1, 2], [2, 2, 1], [1, 1, 1_i64]];
        let block = {
            let rankings = Rankings::new(y.view(), None).unwrap();
            PairCodes::new(&rankings)
        };
        let groups = block.equal_columns(&[0, 1, 2], &[0, 1, 2]);
        let mut sizes = block.pack(&[0, 1, 2], &groups).multiplicity;
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 2]);
    }

    #[test]
    fn unseen_pairs_differ_from_ties() {
        let nan = f64::NAN;
        let y = array![[1.0, 1.0, nan], [1.0, 1.0, 1.0]];
        let block = {
            let rankings = Rankings::new(y.view(), None).unwrap();
            PairCodes::new(&rankings)
        };
        assert_eq!(block.seen[..3].iter().sum::<u8>(), 1);
        let groups = block.equal_columns(&[0, 1], &[0, 1, 2]);
        assert_eq!(block.pack(&[0, 1], &groups).multiplicity, [1, 2]);
    }
}
