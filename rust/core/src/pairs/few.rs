//! Pair counts of few rankings of unit weight: row by row, a byte for each pair.
//!
//! Counting label by label (as [`super::unit`] does) fills vectors with rows, of which there are too few here; a row
//! has enough labels to fill one.

use super::PairCounts;
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// The largest number of rows: with more, counting label by label is faster. Counts fit a byte.
pub(super) const MAX_ROWS: usize = 128;

/// Labels are padded to a multiple of this, so that no pair is left over for slower instructions.
const LANES: usize = 32;

pub(super) fn count_all(rankings: &Rankings, counts: &mut PairCounts) {
    dispatch(CountRows { rankings, counts });
}

struct CountRows<'a> {
    rankings: &'a Rankings,
    counts: &'a mut PairCounts,
}

impl Kernel for CountRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rankings, counts } = self;
        let n = rankings.labels();
        let stride = n.next_multiple_of(LANES);
        let mut before = vec![0_u8; n * stride];
        let mut tied = vec![
            0_u8;
            if rankings.is_complete() {
                0
            } else {
                n * stride
            }
        ];
        let mut row = vec![MISSING as i8; stride];
        for positions in rankings.rows() {
            for (byte, &position) in row.iter_mut().zip(positions) {
                *byte = position as i8;
            }
            count_before(&row, positions, &mut before);
            if !rankings.is_complete() {
                count_tied(&row, positions, &mut tied);
            }
        }
        if rankings.is_complete() {
            let rows = rankings.len() as f64;
            write_complete(&before, stride, rows, counts);
        } else {
            write(&before, stride, &mut counts.before);
            write(&tied, stride, &mut counts.tied);
        }
    }
}

/// `row` holds the same positions as bytes, padded with missing labels, which are behind nothing.
#[inline(always)]
fn count_before(row: &[i8], positions: &[u16], before: &mut [u8]) {
    for (before, &pu) in before.chunks_exact_mut(row.len()).zip(positions) {
        if pu == MISSING {
            continue;
        }
        let pu = pu as i8;
        for (before, &pv) in before.iter_mut().zip(row) {
            *before += u8::from(pv > pu);
        }
    }
}

#[inline(always)]
fn count_tied(row: &[i8], positions: &[u16], tied: &mut [u8]) {
    for (tied, &pu) in tied.chunks_exact_mut(row.len()).zip(positions) {
        if pu == MISSING {
            continue;
        }
        let pu = pu as i8;
        for (tied, &pv) in tied.iter_mut().zip(row) {
            *tied += u8::from(pv == pu);
        }
    }
}

#[inline(always)]
fn write(bytes: &[u8], stride: usize, counts: &mut [f64]) {
    let n = counts.len() / (bytes.len() / stride);
    for (counts, bytes) in counts.chunks_exact_mut(n).zip(bytes.chunks_exact(stride)) {
        for (count, &byte) in counts.iter_mut().zip(bytes) {
            *count = f64::from(byte);
        }
    }
}

/// Without missing labels, whoever is neither before nor after is tied.
#[inline(always)]
fn write_complete(before: &[u8], stride: usize, rows: f64, counts: &mut PairCounts) {
    let n = counts.labels;
    write(before, stride, &mut counts.before);
    for u in 0..n {
        counts.tied[u * n + u] = rows;
        for v in u + 1..n {
            let tied = rows - counts.before[u * n + v] - counts.before[v * n + u];
            counts.tied[u * n + v] = tied;
            counts.tied[v * n + u] = tied;
        }
    }
}
