use super::*;
use crate::random::Generator;

/// Every assignment of n labels to buckets.
fn all_assignments(n: usize) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for code in 0..n.pow(n as u32) {
        let mut rest = code;
        let bucket_of: Vec<usize> = (0..n)
            .map(|_| {
                let bucket = rest % n;
                rest /= n;
                bucket
            })
            .collect();
        let last = bucket_of.iter().max().map_or(0, |&last| last);
        if (0..=last).all(|bucket| bucket_of.contains(&bucket)) {
            all.push(bucket_of);
        }
    }
    all
}

fn buckets_of(bucket_of: &[usize]) -> usize {
    bucket_of.iter().max().map_or(0, |&last| last + 1)
}

/// Random values of each pair (i, j): `lead` if i is before j, `-lead` if it is after j, `tied` if they are tied. They
/// are on a coarse grid, so that equal values are common, with label weights in every third case.
fn random_values(n: usize, case: usize, random: &mut Generator) -> PairValues {
    let levels = 1 + case % 7;
    let weights: Vec<f64> = (0..n)
        .map(|_| {
            if case.is_multiple_of(3) {
                random.below(4) as f64 / 3.0
            } else {
                1.0
            }
        })
        .collect();
    let table: Vec<(f64, f64)> = (0..n * n)
        .map(|_| {
            let step = |random: &mut Generator| random.below(levels + 1) as f64 / levels as f64;
            let (lead, tied) = (step(random) - step(random), step(random) / 2.0);
            (lead, if case.is_multiple_of(5) { -tied } else { tied })
        })
        .collect();
    PairValues::new(n, |i, j| {
        let (lead, tied) = table[i * n + j];
        (
            lead * weights[i] * weights[j],
            tied * weights[i] * weights[j],
        )
    })
}

fn solve_all(values: &PairValues, limits: BucketLimits) -> Solution {
    solve(values, limits, SearchLimits::default(), &Interrupt::never()).unwrap()
}

#[test]
fn the_optimum_is_that_of_brute_force() {
    let assignments: Vec<_> = (0..=6).map(all_assignments).collect();
    let mut random = Generator::new(5);
    for case in 0..5000_usize {
        // Mostly small: the 4,683 bucket orders of six labels take as long as many smaller cases.
        let n = if case.is_multiple_of(25) {
            6
        } else {
            2 + case % 4
        };
        let values = random_values(n, case, &mut random);
        let least = 1 + random.below(n);
        let ranges = [
            BucketLimits::ANY,
            BucketLimits::strict(n),
            BucketLimits { least, most: least },
            BucketLimits {
                least: 1,
                most: least,
            },
        ];
        for limits in ranges {
            let found = solve_all(&values, limits);
            let permitted = assignments[n]
                .iter()
                .filter(|p| limits.contain(buckets_of(p)));
            let all: Vec<f64> = permitted.map(|bucket_of| values.value(bucket_of)).collect();
            let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let value = values.value(&found.bucket_of);
            assert!(
                (value - best).abs() < 1e-10,
                "case {case}, {limits:?}: {value} {best}"
            );
            assert!(limits.contain(buckets_of(&found.bucket_of)));
            assert!(found.optimal && (found.bound - best).abs() < 1e-7);
            if let Some(unique) = found.unique {
                let equal = all.iter().filter(|&&value| value > best - 1e-7).count();
                assert_eq!(unique, equal == 1, "case {case}, {limits:?}: {equal}");
            }
        }
    }
}

#[test]
fn branch_and_bound_agrees_with_the_search_of_all_subsets() {
    let mut random = Generator::new(6);
    for case in 0..300_usize {
        let n = 4 + case % 7;
        let values = random_values(n, case, &mut random);
        for limits in [BucketLimits::ANY, BucketLimits::strict(n)] {
            let mut budget = Budget::new(SearchLimits::default(), &Interrupt::never());
            let unknown = f64::NEG_INFINITY;
            let best = subsets::find_best(&values, limits, unknown, &mut budget.meter).unwrap();
            // Passing the value of a known bucket order only saves time.
            let known = values.value(&best.bucket_of);
            let again = subsets::find_best(&values, limits, known, &mut budget.meter).unwrap();
            assert_eq!(
                (&again.bucket_of, again.unique),
                (&best.bucket_of, best.unique)
            );
            // From a bad start (the labels in the order of their indices, cut into buckets), so that the search has to
            // find the optimum.
            let start = best_cut(&values, &identity(n), limits, &mut budget.meter).unwrap();
            let found = search_prefixes(&values, limits, start, &mut budget).unwrap();
            let (value, best) = (
                values.value(&found.bucket_of),
                values.value(&best.bucket_of),
            );
            assert!((value - best).abs() < 1e-10, "case {case}: {value} {best}");
            assert!(found.optimal);
        }
    }
}

#[test]
fn a_spent_budget_leaves_a_valid_bound() {
    let mut random = Generator::new(7);
    let values = random_values(16, 6, &mut random);
    let limited = |steps| {
        let search = SearchLimits {
            steps: Some(steps),
            time: None,
        };
        solve(&values, BucketLimits::ANY, search, &Interrupt::never()).unwrap()
    };
    let exact = solve_all(&values, BucketLimits::ANY);
    assert!(exact.optimal);
    let best = values.value(&exact.bucket_of);
    let short = limited(1000);
    assert!(!short.optimal && short.bound >= best - 1e-9);
    assert!(values.value(&short.bucket_of) <= best + 1e-9);
    assert!(short.bound <= values.upper_bound(BucketLimits::ANY));
    let timed = SearchLimits {
        steps: None,
        time: Some(std::time::Duration::ZERO),
    };
    let none = solve(&values, BucketLimits::ANY, timed, &Interrupt::never()).unwrap();
    assert!(none.bound >= best - 1e-9);
}

#[test]
fn restarts_of_large_components_end_at_the_time_limit() {
    let mut random = Generator::new(3);
    // Too many labels for branch and bound, in one component. Case 5 makes no tie worth more than 0, so that there are
    // many local optima.
    let values = random_values(80, 5, &mut random);
    assert_eq!(decompose(&values, BucketLimits::ANY).len(), 1);
    let never = Interrupt::never();
    let timed = SearchLimits {
        time: Some(std::time::Duration::ZERO),
        ..SearchLimits::default()
    };
    let found = solve(&values, BucketLimits::ANY, timed, &never).unwrap();
    let once = search_locally(&values, BucketLimits::ANY, &never).unwrap();
    assert_eq!(found.bucket_of, once.bucket_of);
    let restarted = solve_all(&values, BucketLimits::ANY);
    assert!(values.value(&restarted.bucket_of) > values.value(&found.bucket_of));
}

#[test]
fn interrupts_end_every_search() {
    let interrupt = Interrupt::new();
    interrupt.request();
    let mut random = Generator::new(8);
    let values = random_values(18, 6, &mut random);
    let solved = solve(
        &values,
        BucketLimits::ANY,
        SearchLimits::default(),
        &interrupt,
    );
    assert_eq!(solved.err(), Some(Error::Interrupted));
    let local = search_locally(&values, BucketLimits::ANY, &interrupt);
    assert_eq!(local.err(), Some(Error::Interrupted));
}

#[test]
fn local_search_keeps_the_limits_and_ends_where_no_move_helps() {
    let mut random = Generator::new(7);
    let mut meter = WorkMeter::default();
    for case in 0..600_usize {
        let n = 3 + case % 5;
        let values = random_values(n, case, &mut random);
        let (least, extra) = (1 + random.below(n), random.below(3));
        let most = (least + extra).min(n);
        let limits = BucketLimits { least, most };
        let start = best_cut(&values, &identity(n), limits, &mut meter).unwrap();
        let before = values.value(&start);
        let found = values.improve(start, limits, &mut meter).unwrap();
        assert!(limits.contain(buckets_of(&found)), "{limits:?} {found:?}");
        let value = values.value(&found);
        assert!(value >= before - 1e-10);
        for label in 0..n {
            for place in 0..=2 * buckets_of(&found) {
                // Even places are gaps, odd ones buckets.
                let mut moved: Vec<usize> = found.iter().map(|&bucket| 2 * bucket + 1).collect();
                moved[label] = place;
                let mut used = moved.clone();
                used.sort_unstable();
                used.dedup();
                let moved: Vec<usize> = moved
                    .iter()
                    .map(|place| used.binary_search(place).unwrap())
                    .collect();
                let is_better = values.value(&moved) > value + 1e-7;
                assert!(!(is_better && limits.contain(used.len())), "case {case}");
            }
        }
    }
}
