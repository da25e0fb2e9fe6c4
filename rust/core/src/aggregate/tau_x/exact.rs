//! The exact search: dynamic programming over sets of labels.

use super::local::PairValues;

/// Largest number of labels of the exact search: 3ⁿ steps then take some hundredths of a second.
pub const MAX_EXACT_LABELS: usize = 14;

/// Buckets of the best bucket order, if its value exceeds `least`.
///
/// The best buckets of a set of labels are the best buckets of a subset followed by the remaining labels as last
/// bucket; all subsets are tried, so the result is optimal.
pub(super) fn find_better(values: &PairValues, least: f64) -> Option<Vec<usize>> {
    let n = values.n;
    let sets = 1_usize << n;
    let tied = tied_sums(values);
    let mut best = vec![f64::NEG_INFINITY; sets];
    let mut previous = vec![0_u32; sets];
    best[0] = 0.0;
    // Per subset of the labels that are not placed yet: the set, and its value behind the placed labels.
    let mut members = vec![0_usize; sets];
    let mut behind = vec![0.0; sets];
    for placed in 0..sets - 1 {
        let rest: Vec<usize> = (0..n).filter(|&label| placed >> label & 1 == 0).collect();
        let value_behind: Vec<f64> = rest
            .iter()
            .map(|&label| {
                let ahead = (0..n).filter(|&other| placed >> other & 1 == 1);
                ahead.map(|other| values.lead[other * n + label]).sum()
            })
            .collect();
        let placed_value = best[placed];
        for subset in 1..1_usize << rest.len() {
            let (without, lowest) = (subset & (subset - 1), subset.trailing_zeros() as usize);
            members[subset] = members[without] | 1 << rest[lowest];
            behind[subset] = behind[without] + value_behind[lowest];
            let bucket = members[subset];
            let value = placed_value + behind[subset] + tied[bucket];
            let set = placed | bucket;
            if value > best[set] {
                best[set] = value;
                previous[set] = placed as u32;
            }
        }
    }
    if best[sets - 1] <= least {
        return None;
    }
    let mut chain = vec![sets - 1];
    while let Some(&set) = chain.last().filter(|&&set| set != 0) {
        chain.push(previous[set] as usize);
    }
    chain.reverse();
    let mut places = vec![0; n];
    for (bucket, ends) in chain.windows(2).enumerate() {
        for (label, place) in places.iter_mut().enumerate() {
            if (ends[1] & !ends[0]) >> label & 1 == 1 {
                *place = bucket;
            }
        }
    }
    Some(places)
}

/// Value of each set of labels as one bucket.
fn tied_sums(values: &PairValues) -> Vec<f64> {
    let n = values.n;
    let mut sums = vec![0.0; 1 << n];
    for set in 1..1_usize << n {
        let lowest = set.trailing_zeros() as usize;
        let rest = set & (set - 1);
        let others = (lowest + 1..n).filter(|&label| rest >> label & 1 == 1);
        let own: f64 = others.map(|label| values.tied[lowest * n + label]).sum();
        sums[set] = sums[rest] + own;
    }
    sums
}
