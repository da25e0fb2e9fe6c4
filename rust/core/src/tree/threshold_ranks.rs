//! Ranks of values among the sorted thresholds of a feature.

use std::hint::select_unpredictable;

use crate::warm::warm_up;

/// Values that are searched together: each search waits for memory, but not for the other searches.
const LANES: usize = 8;

/// Number of thresholds below a value: greater than the rank of a threshold exactly if the value is greater than it.
pub(super) fn rank(thresholds: &[f64], value: f64) -> usize {
    thresholds.partition_point(|&threshold| threshold < value)
}

/// Calls `write` with the index and the rank of each value.
pub(super) fn for_each_rank<'a>(
    thresholds: &[f64],
    values: impl Iterator<Item = &'a f64>,
    mut write: impl FnMut(usize, usize),
) {
    warm_up(thresholds, |threshold| threshold.to_bits() as u32);
    let mut lanes = [0.0; LANES];
    let mut count = 0;
    for &value in values {
        lanes[count % LANES] = value;
        count += 1;
        if count.is_multiple_of(LANES) {
            for (lane, rank) in ranks(thresholds, lanes).into_iter().enumerate() {
                write(count - LANES + lane, rank);
            }
        }
    }
    let rest = count % LANES;
    let found = ranks(thresholds, lanes).into_iter().take(rest);
    for (lane, rank) in found.enumerate() {
        write(count - rest + lane, rank);
    }
}

/// Binary searches without branches, step by step for all values.
#[inline]
fn ranks(thresholds: &[f64], values: [f64; LANES]) -> [usize; LANES] {
    // The rank of a value is in `starts..=starts + size`.
    let mut starts = [0; LANES];
    let mut size = thresholds.len();
    while size > 0 {
        let half = size.div_ceil(2);
        for lane in 0..LANES {
            let is_below = thresholds[starts[lane] + half - 1] < values[lane];
            starts[lane] = select_unpredictable(is_below, starts[lane] + half, starts[lane]);
        }
        size -= half;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_together_are_ranks_one_by_one() {
        for length in [0, 1, 2, 3, 7, 8, 100] {
            let thresholds: Vec<f64> = (0..length).map(|i| f64::from(i) - 3.5).collect();
            for count in [0, 1, 7, 8, 9, 211] {
                let values: Vec<f64> = (0..count)
                    .map(|i| f64::from(i * 37 % 211) / 2.0 - 4.0)
                    .chain([-0.0, f64::MAX, f64::MIN])
                    .collect();
                let mut found = Vec::new();
                for_each_rank(&thresholds, values.iter(), |index, rank| {
                    assert_eq!(index, found.len());
                    found.push(rank);
                });
                let expected: Vec<usize> = values.iter().map(|&v| rank(&thresholds, v)).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
