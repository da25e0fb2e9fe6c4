//! τ_X straight from arrays of positions. Complete rankings of few labels are checked and compared a block of rows at
//! a time, without being stored; whatever else comes takes the way through [`Rankings`].

use ndarray::ArrayView2;

use super::blocks::{disagreeing, LANES, MAX_BYTE_LABELS};
use super::tau_x;
use crate::error::Result;
use crate::rankings::Rankings;
use crate::raw_position::RawPosition;
use crate::simd::{dispatch, Kernel};

/// Mean τ_X of arrays of positions; the same as [`tau_x`] of their rankings.
///
/// # Errors
/// As [`Rankings::new`] and [`tau_x`].
pub fn tau_x_of_arrays<P: RawPosition, Q: RawPosition>(
    truth: ArrayView2<'_, P>,
    predicted: ArrayView2<'_, Q>,
    weights: Option<&[f64]>,
) -> Result<f64> {
    let (rows, labels) = truth.dim();
    let quick = weights.is_none()
        && truth.dim() == predicted.dim()
        && rows > 0
        && (2..MAX_BYTE_LABELS).contains(&labels);
    if let (true, Some(a), Some(b)) = (quick, truth.as_slice(), predicted.as_slice()) {
        if let Some(total) = dispatch(CompareArrays { labels, a, b }) {
            let pairs = super::ordered_pairs(labels);
            return Ok(super::mean_agreement(total, pairs, rows));
        }
    }
    // Here errors are found as well, with the row they are in.
    let truth = Rankings::new(truth, weights)?;
    let predicted = Rankings::new(predicted, None)?;
    tau_x(&truth, &predicted)
}

/// Number of disagreements of all rows, unless a row is not a complete and dense ranking.
struct CompareArrays<'a, P, Q> {
    labels: usize,
    a: &'a [P],
    b: &'a [Q],
}

impl<P: RawPosition, Q: RawPosition> Kernel for CompareArrays<'_, P, Q> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self) -> Option<u64> {
        let block = LANES * self.labels;
        let mut bytes = vec![0_i8; block];
        let mut a = vec![[1_i8; LANES]; self.labels];
        let mut b = a.clone();
        let mut total = 0;
        for (raw_a, raw_b) in self.a.chunks(block).zip(self.b.chunks(block)) {
            let filled = raw_a.len() / self.labels;
            if filled < LANES {
                // What the last block lacks counts as tied on both sides.
                a.fill([1; LANES]);
                b.fill([1; LANES]);
            }
            let bits = load(raw_a, &mut bytes, &mut a) | load(raw_b, &mut bytes, &mut b);
            if bits > i8::MAX as u64 || !are_dense(&a) || !are_dense(&b) {
                return None;
            }
            for count in disagreeing(&a, &b) {
                total += u64::from(count);
            }
        }
        Some(total)
    }
}

/// Turns rows into columns; returns all the bits of all numbers, to see whether each is small and whole.
#[inline(always)]
fn load<P: RawPosition>(raw: &[P], bytes: &mut [i8], columns: &mut [[i8; LANES]]) -> u64 {
    let mut all = 0;
    if P::BITS_ARE_FREE {
        for value in raw {
            all |= value.bits();
        }
        transpose(raw, columns, |value| value.bits() as i8);
    } else {
        let bytes = &mut bytes[..raw.len()];
        for (byte, value) in bytes.iter_mut().zip(raw) {
            let bits = value.bits();
            all |= bits;
            *byte = bits as i8;
        }
        transpose(bytes, columns, |byte| byte);
    }
    all
}

#[inline(always)]
fn transpose<T: Copy>(rows: &[T], columns: &mut [[i8; LANES]], byte: impl Fn(T) -> i8) {
    let labels = columns.len();
    // Two rows at a time: the loop's own work would otherwise outweigh the moves.
    for (pair, rows) in rows.chunks(2 * labels).enumerate().take(LANES / 2) {
        let (upper, lower) = rows.split_at(labels);
        if lower.len() == labels {
            for ((column, &first), &second) in columns.iter_mut().zip(upper).zip(lower) {
                column[2 * pair] = byte(first);
                column[2 * pair + 1] = byte(second);
            }
        } else {
            for (column, &first) in columns.iter_mut().zip(upper) {
                column[2 * pair] = byte(first);
            }
        }
    }
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
    let mut wrong = [0_u8; LANES];
    for lane in 0..LANES {
        wrong[lane] = u8::from(first[lane] != 1);
    }
    let largest = maximum(last);
    if usize::from(largest.unsigned_abs()) > columns.len() {
        return false;
    }
    for position in 2..largest {
        let mut found = [0_u8; LANES];
        for column in columns {
            for lane in 0..LANES {
                found[lane] |= u8::from(column[lane] == position);
            }
        }
        for lane in 0..LANES {
            wrong[lane] |= (found[lane] ^ 1) & u8::from(last[lane] > position);
        }
    }
    maximum(wrong) == 0
}

/// The largest value, found by halves: each step is one instruction for many lanes.
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

    #[test]
    fn arrays_and_rankings_agree_at_every_block_size() {
        for rows in [1, 63, 64, 65, 200] {
            let values = Array2::from_shape_fn((rows, 7), |(i, j)| ((i * 31 + j * 17) % 5) as i64);
            let others = Array2::from_shape_fn((rows, 7), |(i, j)| ((i * 13 + j * 29) % 6) as i64);
            let (a, b) = (
                to_dense_ranks(values.view()).unwrap(),
                to_dense_ranks(others.view()).unwrap(),
            );
            let whole =
                |r: &Rankings| Array2::from_shape_fn((rows, 7), |(i, j)| i64::from(r.row(i)[j]));
            let (whole_a, real_b) = (whole(&a), whole(&b).mapv(|p| p as f64));
            let value = tau_x_of_arrays(whole_a.view(), real_b.view(), None).unwrap();
            assert_eq!(value, tau_x(&a, &b).unwrap());
        }
    }

    #[test]
    fn a_bad_row_is_found_behind_many_good_ones() {
        let good = Array2::from_shape_fn((200, 4), |(_, j)| j as f64 + 1.0);
        for bad in [0.0, 2.0, 5.0, 1.5, 300.0, 257.0, f64::NAN, -1.0] {
            let mut y = good.clone();
            y[[150, 0]] = bad;
            let expected = Rankings::new(y.view(), None).map(|_| ());
            let found = tau_x_of_arrays(y.view(), good.view(), None);
            assert!(found.is_err(), "{bad}");
            if let Err(error) = expected {
                assert_eq!(found.unwrap_err(), error);
            }
        }
    }
}
