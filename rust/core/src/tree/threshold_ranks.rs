//! The sorted thresholds of a feature in some trees, and ranks of feature values among them.

use std::hint::select_unpredictable;

use super::walker::FlatNode;
use crate::warm::warm_up;

/// Values that are searched together: each search waits for memory, but not for the other searches.
const LANES: usize = 8;

/// Per feature the distinct thresholds of trees, ascending; `None` if a feature has more than `most` of them.
pub(super) fn collect_thresholds<'a>(
    features: usize,
    trees: impl Iterator<Item = &'a [FlatNode]>,
    most: usize,
) -> Option<Vec<Vec<f64>>> {
    let mut thresholds = vec![Vec::new(); features];
    for nodes in trees {
        for (index, node) in nodes.iter().enumerate() {
            if !node.is_leaf(index) {
                thresholds[node.feature as usize].push(node.threshold);
            }
        }
    }
    for of_feature in &mut thresholds {
        of_feature.sort_unstable_by(f64::total_cmp);
        of_feature.dedup();
        of_feature.shrink_to_fit();
        if of_feature.len() > most {
            return None;
        }
    }
    Some(thresholds)
}

/// Number of thresholds below a value. A value is greater than a threshold exactly if its rank is greater than the rank
/// of the threshold.
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

/// The ranks of all values, by binary searches without branches; each step is done for all values.
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
    fn thresholds_are_distinct_and_ascending() {
        let stump = |feature, threshold| {
            let split = FlatNode {
                threshold,
                feature,
                child: 1,
            };
            [split, FlatNode::leaf(1), FlatNode::leaf(2)]
        };
        let trees = [stump(0, 2.5), stump(2, 7.0), stump(0, 1.5), stump(0, 2.5)];
        let collect = |most| collect_thresholds(3, trees.iter().map(|nodes| &nodes[..]), most);
        let expected = vec![vec![1.5, 2.5], Vec::new(), vec![7.0]];
        assert_eq!(collect(2), Some(expected));
        assert_eq!(collect(1), None);
    }

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
