//! [`tau_x_of_arrays`]: τ_X directly from arrays of positions. Complete rankings of few labels are validated and
//! compared in blocks of rows, without being stored; all other input is converted to [`Rankings`] first.

use ndarray::ArrayView2;

use super::blocks::{count_disagreements, estimate_block, LANES, MAX_BYTE_LABELS};
use super::tau_x;
use crate::error::{InputPart, Result};
use crate::rankings::Rankings;
use crate::raw_position::RawPosition;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

/// Estimated time between two checks of the interrupt.
const NANOSECONDS_PER_PART: u64 = 4_000_000;

/// Mean τ_X of arrays of positions; the same as [`tau_x`] of their rankings.
///
/// # Errors
/// As [`Rankings::new`], with the name of the argument, and [`tau_x`].
pub fn tau_x_of_arrays<P: RawPosition, Q: RawPosition>(
    truth: ArrayView2<'_, P>,
    predicted: ArrayView2<'_, Q>,
    weights: Option<&[f64]>,
    interrupt: &Interrupt,
) -> Result<f64> {
    let (rows, labels) = truth.dim();
    let is_supported = weights.is_none()
        && truth.dim() == predicted.dim()
        && rows > 0
        && (2..MAX_BYTE_LABELS).contains(&labels);
    if let (true, Some(a), Some(b)) = (is_supported, truth.as_slice(), predicted.as_slice()) {
        if let Some(total) = compare_arrays(labels, a, b, interrupt)? {
            let pairs = super::ordered_pairs(labels);
            return Ok(super::mean_agreement(total, pairs, rows));
        }
    }
    // This path also reports invalid rows.
    let truth = Rankings::new(truth, weights, interrupt);
    let truth = truth.map_err(|error| error.in_part(InputPart::Argument("Y_true")))?;
    let predicted = Rankings::new(predicted, None, interrupt);
    let predicted = predicted.map_err(|error| error.in_part(InputPart::Argument("Y_pred")))?;
    tau_x(&truth, &predicted, interrupt)
}

/// Counts the disagreements (ordered pairs of labels on which the two rankings of a row differ) of all rows; `None` if
/// a row is not a complete and dense ranking. Checks the interrupt between parts of about 4 ms, so not at all in small
/// calls.
fn compare_arrays<P: RawPosition, Q: RawPosition>(
    labels: usize,
    a: &[P],
    b: &[Q],
    interrupt: &Interrupt,
) -> Result<Option<u64>> {
    let blocks = (NANOSECONDS_PER_PART / estimate_block(labels)).max(1) as usize;
    let part = blocks * LANES * labels;
    let mut total = 0;
    for (index, (a, b)) in a.chunks(part).zip(b.chunks(part)).enumerate() {
        if index > 0 {
            interrupt.check()?;
        }
        match dispatch(CompareArraysKernel { labels, a, b }) {
            Some(count) => total += count,
            None => return Ok(None),
        }
    }
    Ok(Some(total))
}

/// Counts the disagreements of one part of the rows, for [`compare_arrays`].
struct CompareArraysKernel<'a, P, Q> {
    labels: usize,
    a: &'a [P],
    b: &'a [Q],
}

impl<P: RawPosition, Q: RawPosition> Kernel for CompareArraysKernel<'_, P, Q> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self) -> Option<u64> {
        let block = LANES * self.labels;
        let mut a = vec![[1_i8; LANES]; self.labels];
        let mut b = a.clone();
        let mut words = vec![0; self.labels];
        let mut total = 0;
        let mut prefetched_bits = 0;
        let (mut rest_a, mut rest_b) = (self.a, self.b);
        while !rest_a.is_empty() {
            let (raw_a, raw_b);
            (raw_a, rest_a) = rest_a.split_at(block.min(rest_a.len()));
            (raw_b, rest_b) = rest_b.split_at(block.min(rest_b.len()));
            if raw_a.len() < block {
                // Pad the last block with rows that are tied on both sides.
                a.fill([1; LANES]);
                b.fill([1; LANES]);
            }
            let bits = transpose_rows(raw_a, &mut words, &mut a)
                | transpose_rows(raw_b, &mut words, &mut b);
            if (bits | prefetched_bits) > i8::MAX as u64 || !are_dense(&a) || !are_dense(&b) {
                return None;
            }
            // Prefetch the next block during the comparison, one equal part per label.
            let counts = count_disagreements(&a, &b, |label| {
                prefetched_bits |=
                    prefetch(rest_a, label * LANES) | prefetch(rest_b, label * LANES);
            });
            for count in counts {
                total += u64::from(count);
            }
        }
        Some(total)
    }
}

/// Loads each cache line of the [`LANES`] numbers from `start` on by reading one number per line. Returns the bits of
/// these numbers, because the compiler removes unused reads.
#[inline(always)]
fn prefetch<P: RawPosition>(numbers: &[P], start: usize) -> u64 {
    const CACHE_LINE: usize = 64;
    let part = numbers.get(start..).and_then(<[P]>::first_chunk::<LANES>);
    let Some(part) = part else { return 0 };
    let lines = part.iter().step_by(CACHE_LINE / size_of::<P>());
    lines.fold(0, |all, number| all | number.integer_bits())
}

/// Rows packed into one word, one byte per row.
const ROWS_PER_WORD: usize = 8;

/// Transposes rows into columns; returns the bitwise or of all numbers, which shows whether each is a small integer.
#[inline(always)]
fn transpose_rows<P: RawPosition>(
    raw: &[P],
    words: &mut [u64],
    columns: &mut [[i8; LANES]],
) -> u64 {
    let labels = columns.len();
    let mut all = 0;
    for (group, rows) in raw
        .chunks(ROWS_PER_WORD * labels)
        .enumerate()
        .take(LANES / ROWS_PER_WORD)
    {
        if rows.len() == ROWS_PER_WORD * labels {
            all |= pack_rows(rows, words);
            for (column, word) in columns.iter_mut().zip(words.iter()) {
                let bytes = word.to_le_bytes().map(|byte| byte as i8);
                column[ROWS_PER_WORD * group..][..ROWS_PER_WORD].copy_from_slice(&bytes);
            }
            continue;
        }
        for (row, positions) in rows.chunks_exact(labels).enumerate() {
            for (column, position) in columns.iter_mut().zip(positions) {
                all |= position.integer_bits();
                column[ROWS_PER_WORD * group + row] = position.integer_bits() as i8;
            }
        }
    }
    all
}

/// Packs eight rows into one word per label, one byte per row; the compiler vectorises over labels.
#[inline(always)]
fn pack_rows<P: RawPosition>(rows: &[P], words: &mut [u64]) -> u64 {
    let labels = words.len();
    let rows: [&[P]; ROWS_PER_WORD] = std::array::from_fn(|row| &rows[row * labels..][..labels]);
    let mut all = 0;
    for label in 0..labels {
        let mut word = 0;
        for (row, positions) in rows.iter().enumerate() {
            let bits = positions[label].integer_bits();
            all |= bits;
            word |= bits << (8 * row);
        }
        words[label] = word;
    }
    all
}

/// Whether every row has labels at the positions 1..k and nowhere else.
#[inline(always)]
fn are_dense(columns: &[[i8; LANES]]) -> bool {
    let mut last = [0_i8; LANES];
    let mut first = [i8::MAX; LANES];
    for column in columns {
        for lane in 0..LANES {
            last[lane] = last[lane].max(column[lane]);
            first[lane] = first[lane].min(column[lane]);
        }
    }
    let largest = maximum(last);
    if usize::from(largest.unsigned_abs()) > columns.len() {
        return false;
    }
    // Truth values are bytes of all ones or all zeros, as vector instructions return them.
    let mut invalid = first.map(|first| if first == 1 { 0_i8 } else { -1 });
    for position in 2..largest {
        let mut found = [0_i8; LANES];
        for column in columns {
            for lane in 0..LANES {
                found[lane] |= if column[lane] == position { -1 } else { 0 };
            }
        }
        for lane in 0..LANES {
            invalid[lane] |= !found[lane] & if last[lane] > position { -1 } else { 0 };
        }
    }
    invalid == [0; LANES]
}

/// The largest value, by halving: each step is one vector instruction.
#[inline(always)]
fn maximum<T: Copy + Ord>(mut values: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] = values[lane].max(values[lane + half]);
        }
        half /= 2;
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missing::to_dense_ranks;
    use ndarray::Array2;

    const NEVER: &Interrupt = &Interrupt::never();

    #[test]
    fn arrays_and_rankings_give_equal_tau_x() {
        for (rows, labels) in [1, 7, 8, 63, 64, 65, 200]
            .into_iter()
            .flat_map(|rows| [2, 3, 4, 7, 26, 126, 127].map(|labels| (rows, labels)))
        {
            let shape = (rows, labels);
            let values = Array2::from_shape_fn(shape, |(i, j)| ((i * 31 + j * 17) % 5) as i64);
            let others = Array2::from_shape_fn(shape, |(i, j)| ((i * 13 + j * 29) % 131) as i64);
            let (a, b) = (
                to_dense_ranks(values.view(), &Interrupt::never()).unwrap(),
                to_dense_ranks(others.view(), &Interrupt::never()).unwrap(),
            );
            let whole =
                |r: &Rankings| Array2::from_shape_fn(shape, |(i, j)| i64::from(r.row(i)[j]));
            let (whole_a, real_b) = (whole(&a), whole(&b).mapv(|p| p as f64));
            let value = tau_x_of_arrays(whole_a.view(), real_b.view(), None, NEVER).unwrap();
            assert_eq!(value, tau_x(&a, &b, NEVER).unwrap(), "{shape:?}");
        }
    }

    #[test]
    fn unusual_row_after_many_dense_rows_is_read_or_reported() {
        let valid = Array2::from_shape_fn((200, 4), |(_, j)| j as f64 + 1.0);
        let unusual = [0.0, 2.0, 5.0, 1.5, 300.0, 257.0, f64::NAN, -1.0, -0.0];
        for (value, row) in unusual
            .into_iter()
            .flat_map(|value| [(value, 150), (value, 199)])
        {
            let mut y = valid.clone();
            y[[row, 0]] = value;
            let found = tau_x_of_arrays(y.view(), valid.view(), None, NEVER);
            let truth = Rankings::new(valid.view(), None, &Interrupt::never()).unwrap();
            let y = Rankings::new(y.view(), None, &Interrupt::never());
            let y = y.map_err(|error| error.in_part(InputPart::Argument("Y_true")));
            let expected = y.and_then(|y| tau_x(&y, &truth, NEVER));
            assert_eq!(found, expected, "{value}");
        }
    }
}
