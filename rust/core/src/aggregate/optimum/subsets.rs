//! Dynamic programming over all sets of labels, for small components (sets of labels that can be ordered independently
//! of each other). The value of a bucket order is the sum over all pairs of the value of their relation (before, tied
//! or after).

use super::values::{BucketLimits, PairValues, NOISE, TIE_BONUS};
use crate::error::Result;
use crate::run::WorkMeter;

/// Largest number of labels: 3ⁿ steps then take some hundredths of a second.
pub(super) const MAX_LABELS: usize = 14;

/// The best bucket order, and whether it is the only one of its value if [`TIE_BONUS`], the small extra value of a tied
/// pair, is left out.
pub(super) struct SubsetOptimum {
    pub(super) bucket_of: Vec<usize>,
    pub(super) unique: bool,
}

/// The best bucket order, or the best strict order if `limits` forbid ties; other limits are ignored. At most O(3ⁿ), or
/// O(n 2ⁿ) for strict orders.
///
/// The best buckets of a set of labels are the best buckets of a subset followed by the remaining labels as the last
/// bucket. All subsets are tried except those that cannot reach `known_value`, the value of some bucket order, even if
/// every remaining pair had its best relation; so the result is optimal. Among equal values the first one found is
/// kept, which depends on the indices of the labels only. A larger `known_value` saves time and changes nothing else.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub(super) fn find_best(
    values: &PairValues,
    limits: BucketLimits,
    known_value: f64,
    meter: &mut WorkMeter,
) -> Result<SubsetOptimum> {
    let n = values.n;
    let mut table = SubsetTable::new(n);
    let tied = pair_sums(n, |i, j| values.tied(i, j));
    let optimistic = optimistic_values(values, limits);
    // Keep the sets that lead to any optimum: equal optima may differ by one `window` per bucket.
    let least = known_value - (n + 1) as f64 * table.window;
    let strict = limits.forbid_ties(n);
    // Per subset of the labels that are not placed yet: the set, and its value behind the placed labels.
    let (mut members, mut behind) = (vec![0_usize; 1 << n], vec![0.0; 1 << n]);
    for (placed, optimistic_rest) in optimistic.iter().enumerate().take((1_usize << n) - 1) {
        if table.best[placed] + optimistic_rest < least {
            continue;
        }
        let rest: Vec<usize> = (0..n).filter(|&label| placed >> label & 1 == 0).collect();
        let value_behind: Vec<f64> = rest
            .iter()
            .map(|&label| {
                let ahead = (0..n).filter(|&other| placed >> other & 1 == 1);
                ahead.map(|other| values.lead(other, label)).sum()
            })
            .collect();
        if strict {
            for (&label, value) in rest.iter().zip(&value_behind) {
                table.offer(placed, 1 << label, *value);
            }
            meter.add(n as u64)?;
            continue;
        }
        meter.add(1 << rest.len())?;
        for subset in 1..1_usize << rest.len() {
            let (without, lowest) = (subset & (subset - 1), subset.trailing_zeros() as usize);
            members[subset] = members[without] | 1 << rest[lowest];
            behind[subset] = behind[without] + value_behind[lowest];
            let bucket = members[subset];
            table.offer(placed, bucket, behind[subset] + tied[bucket]);
        }
    }
    Ok(table.read())
}

/// Best value of each set of labels.
struct SubsetTable {
    n: usize,
    /// Values that differ by at most this are equal if [`TIE_BONUS`] is left out.
    window: f64,
    best: Vec<f64>,
    /// Per set: the set without its last bucket.
    previous: Vec<u32>,
    /// Number of ways to reach the best value: 0, 1, or 2 for more than one.
    ways: Vec<u8>,
}

impl SubsetTable {
    fn new(n: usize) -> Self {
        let mut best = vec![f64::NEG_INFINITY; 1 << n];
        let mut ways = vec![0; 1 << n];
        (best[0], ways[0]) = (0.0, 1);
        Self {
            n,
            window: (n * n) as f64 * TIE_BONUS + NOISE,
            best,
            previous: vec![0; 1 << n],
            ways,
        }
    }

    /// Considers `bucket`, worth `value`, behind the best buckets of `placed`.
    #[inline]
    fn offer(&mut self, placed: usize, bucket: usize, value: f64) {
        let (value, set) = (self.best[placed] + value, placed | bucket);
        let best = self.best[set];
        if value < best - self.window {
            return;
        }
        let other_ways = if value > best + self.window {
            0
        } else {
            self.ways[set]
        };
        self.ways[set] = (other_ways + self.ways[placed]).min(2);
        if value > best + NOISE {
            self.best[set] = value;
            self.previous[set] = placed as u32;
        }
    }

    fn read(&self) -> SubsetOptimum {
        let all = (1_usize << self.n) - 1;
        let mut chain = vec![all];
        while let Some(&set) = chain.last().filter(|&&set| set != 0) {
            chain.push(self.previous[set] as usize);
        }
        chain.reverse();
        let mut bucket_of = vec![0; self.n];
        for (bucket, ends) in chain.windows(2).enumerate() {
            for (label, own) in bucket_of.iter_mut().enumerate() {
                if (ends[1] & !ends[0]) >> label & 1 == 1 {
                    *own = bucket;
                }
            }
        }
        SubsetOptimum {
            bucket_of,
            unique: self.ways[all] == 1,
        }
    }
}

/// Per set of labels: the sum of `value` over its pairs.
fn pair_sums(n: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << n];
    for set in 1..1_usize << n {
        let lowest = set.trailing_zeros() as usize;
        let rest = set & (set - 1);
        let others = (lowest + 1..n).filter(|&label| rest >> label & 1 == 1);
        let own: f64 = others.map(|label| value(lowest, label)).sum();
        sums[set] = sums[rest] + own;
    }
    sums
}

/// Per set of placed labels: its value before the others, plus the value of the best relation of each pair of the
/// others.
fn optimistic_values(values: &PairValues, limits: BucketLimits) -> Vec<f64> {
    let n = values.n;
    let best = pair_sums(n, |i, j| values.best(i, j, limits));
    // A lead is the value of placing a label before another. The leads within a set cancel out, so the leads of its
    // labels over all labels add up to its value before the rest.
    let leads: Vec<f64> = (0..n)
        .map(|i| (0..n).map(|j| values.lead(i, j)).sum())
        .collect();
    let mut ahead = vec![0.0; 1 << n];
    for set in 1..1_usize << n {
        ahead[set] = ahead[set & (set - 1)] + leads[set.trailing_zeros() as usize];
    }
    let rest = best.iter().rev();
    ahead.iter().zip(rest).map(|(a, b)| a + b).collect()
}
