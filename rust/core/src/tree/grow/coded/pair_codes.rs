//! [`PairCodes`]: rankings as a matrix of one byte per row and pair of labels: the pair code, which says whether the
//! row ranks the first label of the pair before, after or tied with the second.

use std::collections::HashMap;

use crate::aligned::AlignedBuffer;
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// Rows are padded to a multiple of this, the width of a vector register in bytes.
pub(crate) const LANES: usize = 32;

/// Bytes per row, with padding. Wide rows are padded to a multiple of four registers, so that they are read in
/// fewer steps.
fn stride(columns: usize) -> usize {
    columns.next_multiple_of(if columns > 4 * LANES {
        4 * LANES
    } else {
        LANES
    })
}

/// Equal columns (pairs of labels with the same codes) are searched for only in nodes of at most this many rows; in
/// larger nodes they are rare.
pub(crate) const MAX_GROUPING_ROWS: usize = 1000;

/// Codes of a pair in a row. In a sum of codes, the low and high half of a byte count up to 15 rows each.
const BEFORE: u8 = 1;
const AFTER: u8 = 16;

/// A matrix of pair codes, rows × columns. Codes are [`BEFORE`], [`AFTER`], or 0 for tied or unseen (a label of the
/// pair is missing). With missing labels, a second matrix has 1 where the row ranks both labels of the pair.
///
/// A column represents one pair of labels or several that are equal or mirrored (before and after are exchanged) in all
/// rows: such pairs have the same entropy in every subset of the rows.
pub(crate) struct PairCodes {
    /// Index of the training row of each row.
    pub(crate) rows: Vec<u32>,
    /// Bytes from one row to the next, with zero padding after the last column.
    pub(crate) stride: usize,
    /// Per column the number of pairs of labels that it represents.
    pub(crate) multiplicity: Vec<i64>,
    pub(crate) codes: AlignedBuffer<u8>,
    /// 1 where the row ranks both labels; empty for complete rankings.
    pub(crate) seen: AlignedBuffer<u8>,
}

impl PairCodes {
    /// Encodes all pairs of all rows.
    pub(crate) fn new(rankings: &Rankings) -> Self {
        let n = rankings.labels();
        let columns = n * (n - 1) / 2;
        let stride = stride(columns);
        let rows: Vec<u32> = (0..rankings.len() as u32).collect();
        let complete = rankings.is_complete();
        let mut pair_codes = Self {
            stride,
            multiplicity: vec![1; columns],
            codes: AlignedBuffer::zeroed(rows.len() * stride),
            seen: AlignedBuffer::zeroed(if complete { 0 } else { rows.len() * stride }),
            rows,
        };
        dispatch(EncodePairs {
            rankings,
            pair_codes: &mut pair_codes,
        });
        pair_codes
    }

    /// Whether no label is missing, so that `seen` is empty.
    #[inline(always)]
    pub(crate) fn is_complete(&self) -> bool {
        self.seen.is_empty()
    }

    pub(crate) fn columns(&self) -> usize {
        self.multiplicity.len()
    }

    /// Copies the `selected` rows into a new matrix with one column per group (first column, multiplicity).
    pub(crate) fn pack(&self, selected: &[u32], groups: &[(u32, i64)]) -> Self {
        let stride = stride(groups.len());
        let copy = |from: &[u8]| {
            if from.is_empty() {
                return AlignedBuffer::default();
            }
            let mut out = AlignedBuffer::zeroed(selected.len() * stride);
            for (&row, out) in selected.iter().zip(out.chunks_exact_mut(stride.max(1))) {
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
            rows: selected
                .iter()
                .map(|&row| self.rows[row as usize])
                .collect(),
            stride,
            multiplicity: groups.iter().map(|group| group.1).collect(),
            codes: copy(&self.codes),
            seen: copy(&self.seen),
        }
    }

    /// Groups the `kept` columns that are equal or mirrored in the `selected` rows, and returns the first column of
    /// each group with the sum of the multiplicities. Groups are found by fingerprint and verified by comparing all
    /// rows. With more than [`MAX_GROUPING_ROWS`] rows, each column is its own group.
    pub(crate) fn group_equal_columns(&self, selected: &[u32], kept: &[u32]) -> Vec<(u32, i64)> {
        if selected.len() > MAX_GROUPING_ROWS {
            let ungrouped = |&column: &u32| (column, self.multiplicity[column as usize]);
            return kept.iter().map(ungrouped).collect();
        }
        let fingerprints = dispatch(Fingerprints {
            pair_codes: self,
            selected,
        });
        let mut first: HashMap<u64, usize> = HashMap::with_capacity(kept.len());
        let mut groups: Vec<(u32, i64)> = Vec::with_capacity(kept.len());
        for &column in kept {
            let multiplicity = self.multiplicity[column as usize];
            // The order parts of mirrored columns are negatives of each other.
            let [order_part, seen_part] = fingerprints[column as usize];
            let order_part = order_part.min(order_part.wrapping_neg());
            let key = u64::from(order_part) << 32 | u64::from(seen_part);
            match first.get(&key) {
                Some(&group) if self.are_equal_or_mirrored(selected, groups[group].0, column) => {
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

    fn are_equal_or_mirrored(&self, selected: &[u32], a: u32, b: u32) -> bool {
        let (mut equal, mut mirrored) = (true, true);
        for &row in selected {
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

/// Kernel that writes the codes of all rankings.
struct EncodePairs<'a> {
    rankings: &'a Rankings,
    pair_codes: &'a mut PairCodes,
}

impl Kernel for EncodePairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.rankings.labels();
        let (stride, columns) = (self.pair_codes.stride, self.pair_codes.columns());
        let mut twice = vec![0; 2 * n];
        let PairCodes {
            rows, codes, seen, ..
        } = self.pair_codes;
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

/// Kernel that computes two hashes per column over the `selected` rows, from one pseudo-random number per row: the sum
/// over the rows with code [`BEFORE`] minus the sum over the rows with code [`AFTER`], and the sum over the rows that
/// rank both labels.
struct Fingerprints<'a> {
    pair_codes: &'a PairCodes,
    selected: &'a [u32],
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
        } = self.pair_codes;
        let mut order_parts = vec![0_u32; *stride];
        let mut seen_parts = vec![0_u32; *stride];
        for &row in self.selected {
            let number = (row + 1).wrapping_mul(0x9E37_79B1);
            let number = (number ^ (number >> 15)).wrapping_mul(0x85EB_CA77);
            let at = row as usize * stride..(row as usize + 1) * stride;
            for (part, &code) in order_parts.iter_mut().zip(&codes[at.clone()]) {
                let before = u32::from(code & 15).wrapping_neg() & number;
                let after = u32::from(code >> 4).wrapping_neg() & number;
                *part = part.wrapping_add(before).wrapping_sub(after);
            }
            if !seen.is_empty() {
                for (part, &seen) in seen_parts.iter_mut().zip(&seen[at]) {
                    *part = part.wrapping_add(u32::from(seen).wrapping_neg() & number);
                }
            }
        }
        let parts = order_parts.into_iter().zip(seen_parts);
        parts.map(|(order, seen)| [order, seen]).collect()
    }
}

/// Compares label i with label i + `distance` (modulo the number of labels) for all distances up to half the number of
/// labels: each pair once, with contiguous reads. `twice` holds the positions twice in succession.
#[inline(always)]
fn encode(twice: &[u16], out: &mut [u8]) {
    let n = twice.len() / 2;
    for (distance, out) in (1..).zip(out.chunks_mut(n)) {
        for ((out, &p), &q) in out.iter_mut().zip(twice).zip(&twice[distance..]) {
            *out = BEFORE * u8::from(p < q) + AFTER * u8::from(p > q);
        }
    }
}

/// Sets the codes of pairs with a missing label to 0 and marks all other pairs as seen. `twice` as in [`encode`].
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
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn every_pair_has_one_column() {
        for n in 2..8_usize {
            let positions: Vec<i64> = (1..=n as i64).collect();
            let y = ndarray::Array2::from_shape_vec((1, n), positions).unwrap();
            let pair_codes = {
                let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
                PairCodes::new(&rankings)
            };
            assert_eq!(pair_codes.columns(), n * (n - 1) / 2);
            let codes = &pair_codes.codes[..pair_codes.columns()];
            assert!(codes.iter().all(|&code| code == BEFORE || code == AFTER));
        }
    }

    #[test]
    fn equal_and_mirrored_columns_are_grouped() {
        // Labels 0 and 1 are always tied: the pairs (0,2) and (1,2) are equal, one of them mirrored.
        let y = array![[1, 1, 2], [2, 2, 1], [1, 1, 1_i64]];
        let pair_codes = {
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            PairCodes::new(&rankings)
        };
        let groups = pair_codes.group_equal_columns(&[0, 1, 2], &[0, 1, 2]);
        let mut sizes = pair_codes.pack(&[0, 1, 2], &groups).multiplicity;
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 2]);
    }

    #[test]
    fn unseen_pairs_are_distinct_from_ties() {
        let nan = f64::NAN;
        let y = array![[1.0, 1.0, nan], [1.0, 1.0, 1.0]];
        let pair_codes = {
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            PairCodes::new(&rankings)
        };
        assert_eq!(pair_codes.seen[..3].iter().sum::<u8>(), 1);
        let groups = pair_codes.group_equal_columns(&[0, 1], &[0, 1, 2]);
        assert_eq!(pair_codes.pack(&[0, 1], &groups).multiplicity, [1, 2]);
    }
}
