//! [`disagreements`] of two rankings for up to [`MAX_LABELS`] labels, from which τ_X is computed: compares all pairs of
//! labels, with positions as 8-bit or 16-bit integers, in blocks of [`LANES`] rows.

use crate::error::Result;
use crate::rankings::Rankings;
use crate::run::{Interrupt, WorkMeter};
use crate::simd::{dispatch, Kernel};

/// Above this number of labels, counting inversions is faster than comparing all pairs.
pub(super) const MAX_LABELS: usize = 1024;
/// Largest number of labels whose positions fit in a signed byte, which every instruction set can compare.
pub(super) const MAX_BYTE_LABELS: usize = 127;

/// Rows per block.
pub(super) const LANES: usize = 64;
/// Pairs that a byte can count without overflow: each pair adds at most 2.
const PAIRS_PER_FLUSH: usize = 127;

/// Number of ordered pairs of each row on which the rankings disagree.
pub(super) fn disagreements(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<u64>> {
    if truth.labels() <= MAX_BYTE_LABELS {
        compare_blocks(truth, predicted, interrupt, |position| position as i8)
    } else {
        compare_blocks(truth, predicted, interrupt, |position| position as i16)
    }
}

/// Upper estimate of the time to compare a block of rows, in nanoseconds.
pub(super) fn estimate_block(labels: usize) -> u64 {
    (labels as u64).pow(2) * LANES as u64 / 8
}

/// Counts the disagreements with positions converted to `T` by `narrow`.
fn compare_blocks<T: Copy + Default + PartialOrd>(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
    narrow: impl Fn(u16) -> T + Copy,
) -> Result<Vec<u64>> {
    let n = truth.labels();
    let rows = truth.len();
    let mut a = vec![[T::default(); LANES]; n];
    let mut b = a.clone();
    let mut out = Vec::with_capacity(rows);
    let mut meter = WorkMeter::new(interrupt);
    for start in (0..rows).step_by(LANES) {
        meter.add(estimate_block(n))?;
        let filled = LANES.min(rows - start);
        transpose(truth, start, filled, narrow, &mut a);
        transpose(predicted, start, filled, narrow, &mut b);
        let totals = dispatch(DisagreementsKernel { a: &a, b: &b });
        out.extend(totals[..filled].iter().map(|&t| u64::from(t)));
    }
    Ok(out)
}

/// Writes rows of rankings to columns, one per label.
fn transpose<T>(
    rankings: &Rankings,
    start: usize,
    filled: usize,
    narrow: impl Fn(u16) -> T,
    columns: &mut [[T; LANES]],
) {
    let rows = rankings
        .block(start, filled)
        .chunks_exact(rankings.labels());
    for (lane, positions) in rows.enumerate().take(LANES) {
        for (column, &position) in columns.iter_mut().zip(positions) {
            column[lane] = narrow(position);
        }
    }
}

/// Number of disagreements of each row of a block, whose columns are labels.
struct DisagreementsKernel<'a, T> {
    a: &'a [[T; LANES]],
    b: &'a [[T; LANES]],
}

impl<T: Copy + PartialOrd> Kernel for DisagreementsKernel<'_, T> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run(self) -> [u32; LANES] {
        count_disagreements(self.a, self.b, |_| ())
    }
}

/// Number of disagreements of each row; the columns are labels. `prefetch` is called once per label: the comparison is
/// compute-bound, so memory loads overlap with it.
#[inline(always)]
pub(super) fn count_disagreements<T: Copy + PartialOrd>(
    a: &[[T; LANES]],
    b: &[[T; LANES]],
    mut prefetch: impl FnMut(usize),
) -> [u32; LANES] {
    let mut totals = [0_u32; LANES];
    let mut bytes = [0_u8; LANES];
    let mut pending = 0;
    for u in 0..a.len() {
        prefetch(u);
        let mut done = 0;
        while done < u {
            let now = (u - done).min(PAIRS_PER_FLUSH - pending);
            let range = done..done + now;
            add_pairs((&a[u], &b[u]), (&a[range.clone()], &b[range]), &mut bytes);
            done += now;
            pending += now;
            if pending == PAIRS_PER_FLUSH {
                flush(&mut bytes, &mut totals);
                pending = 0;
            }
        }
    }
    flush(&mut bytes, &mut totals);
    totals
}

/// Adds the disagreements on the pairs of one label with several others.
#[inline(always)]
fn add_pairs<T: Copy + PartialOrd>(
    (au, bu): (&[T; LANES], &[T; LANES]),
    (a, b): (&[[T; LANES]], &[[T; LANES]]),
    bytes: &mut [u8; LANES],
) {
    // Local copies cannot alias, so the compiler keeps them in registers.
    let (au, bu, mut sums) = (*au, *bu, *bytes);
    for (av, bv) in a.iter().zip(b) {
        let (av, bv) = (*av, *bv);
        for lane in 0..LANES {
            let forward = (au[lane] > av[lane]) ^ (bu[lane] > bv[lane]);
            let backward = (av[lane] > au[lane]) ^ (bv[lane] > bu[lane]);
            sums[lane] += u8::from(forward) + u8::from(backward);
        }
    }
    *bytes = sums;
}

/// Adds the byte counters to the totals and resets them.
#[inline(always)]
fn flush(bytes: &mut [u8; LANES], totals: &mut [u32; LANES]) {
    for (total, byte) in totals.iter_mut().zip(bytes) {
        *total += u32::from(*byte);
        *byte = 0;
    }
}
