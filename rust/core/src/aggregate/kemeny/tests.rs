use super::*;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use ndarray::{array, Array2};

fn explain(params: KemenyParams, y: &Array2<f64>) -> Explanation {
    let kemeny = Kemeny::new(params).unwrap();
    let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
    let evidence = Evidence::from_rankings(&rankings, Needs::Counts, &Interrupt::never()).unwrap();
    kemeny
        .explain(&evidence, &mut Workspace::default())
        .unwrap()
}

/// Distance, its lower bound, and whether the order is proven to be optimal.
fn distance_bound_optimal(explanation: &Explanation) -> (f64, f64, bool) {
    let Details::Kemeny {
        distance,
        lower_bound,
        gap,
        optimal,
        ..
    } = explanation.details
    else {
        panic!("details of another method");
    };
    assert!((gap - (distance - lower_bound)).abs() < 1e-9, "{gap}");
    (distance, lower_bound, optimal)
}

#[test]
fn the_median_of_three_ballots_has_their_distance() {
    // Two ballots rank 0 before 1 and 2, the third ranks it after both. Each ballot has 1 and 2 in another relation.
    let y = array![[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [2.0, 1.0, 1.0]];
    let found = explain(KemenyParams::default(), &y);
    let (distance, _, optimal) = distance_bound_optimal(&found);
    // Tying 1 and 2 costs ½ + ½, and the third ballot reverses two pairs.
    assert_eq!(found.order.positions(), [1, 2, 2]);
    assert!(optimal && (distance - 3.0).abs() < 1e-12, "{distance}");
}

#[test]
fn options_change_the_permitted_orders() {
    let y = array![
        [1.0, 2.0, 3.0, 3.0],
        [2.0, 1.0, 3.0, 3.0],
        [1.0, 2.0, 3.0, 4.0]
    ];
    let with = |buckets| {
        let params = KemenyParams {
            buckets,
            ..KemenyParams::default()
        };
        explain(params, &y).order.positions().to_vec()
    };
    assert_eq!(with(Buckets::Any), [1, 2, 3, 3]);
    assert_eq!(with(Buckets::Strict), [1, 2, 3, 4]);
    assert_eq!(with(Buckets::Between { least: 2, most: 2 }), [1, 1, 2, 2]);
    assert_eq!(with(Buckets::Between { least: 1, most: 1 }), [1; 4]);
    assert_eq!(with(Buckets::Between { least: 4, most: 9 }), [1, 2, 3, 4]);
}

#[test]
fn label_weights_choose_which_pairs_are_kept() {
    // A cycle: the pair with the smallest weight is given up.
    let y = array![[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]];
    let with = |weights: Vec<f64>| {
        let params = KemenyParams {
            label_weights: Some(weights),
            buckets: Buckets::Strict,
            ..KemenyParams::default()
        };
        explain(params, &y).order.positions().to_vec()
    };
    assert_eq!(with(vec![1.0, 9.0, 1.0]), [1, 2, 3]);
    assert_eq!(with(vec![9.0, 1.0, 1.0]), [2, 3, 1]);
}

#[test]
fn parameters_are_checked() {
    let with = |change: fn(&mut KemenyParams)| {
        let mut params = KemenyParams::default();
        change(&mut params);
        Kemeny::new(params)
    };
    assert!(with(|p| p.penalty = 1.5).is_err());
    assert!(with(|p| p.penalty = f64::NAN).is_err());
    assert!(with(|p| p.time_limit = Some(-1.0)).is_err());
    assert!(with(|p| p.label_weights = Some(vec![0.0, 0.0])).is_err());
    assert!(with(|p| p.label_weights = Some(vec![1.0, f64::NAN])).is_err());
    assert!(with(|p| p.label_weights = Some(vec![1.0, 1e200])).is_err());
    assert!(with(|p| p.label_weights = Some(vec![1.0, 1e-200])).is_err());
    assert!(with(|p| p.buckets = Buckets::Between { least: 3, most: 2 }).is_err());
    let weights = with(|p| p.label_weights = Some(vec![1.0, 1.0])).unwrap();
    let five = with(|p| p.buckets = Buckets::Between { least: 5, most: 5 }).unwrap();
    let y = Rankings::new(array![[1, 2, 3_i64]].view(), None, &Interrupt::never()).unwrap();
    let evidence = Evidence::from_rankings(&y, Needs::Counts, &Interrupt::never()).unwrap();
    for kemeny in [weights, five] {
        assert!(kemeny
            .aggregate(&evidence, &mut Workspace::default())
            .is_err());
    }
}

#[test]
fn distance_bound_and_gap_are_on_the_scale_of_the_rankings() {
    let y = array![
        [1.0, 2.0, 3.0],
        [2.0, 3.0, 1.0],
        [3.0, 1.0, 2.0],
        [1.0, 2.0, 3.0]
    ];
    for weight in [1.0, 8.0] {
        let params = KemenyParams {
            label_weights: Some(vec![weight; 3]),
            buckets: Buckets::Strict,
            ..KemenyParams::default()
        };
        let (distance, lower_bound, optimal) = distance_bound_optimal(&explain(params, &y));
        // The order 0, 1, 2 reverses two pairs of the second and two of the third ranking.
        let expected = 4.0 * weight * weight;
        assert!(optimal && (distance - expected).abs() < 1e-9, "{distance}");
        assert!((lower_bound - distance).abs() < 1e-9);
    }
}

#[test]
fn extreme_weights_of_labels_and_rankings_keep_the_order() {
    let y = array![[1, 2, 3_i64], [1, 3, 2], [2, 1, 3], [1, 2, 3]];
    for label_weight in [1e-70, 1.0, 1e70] {
        for weight in [1e-150, 1e150] {
            let weights = [weight, weight, 2.0 * weight, weight];
            let y = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
            let evidence = Evidence::from_rankings(&y, Needs::Counts, &Interrupt::never()).unwrap();
            let kemeny = Kemeny::new(KemenyParams {
                label_weights: Some(vec![label_weight; 3]),
                ..KemenyParams::default()
            })
            .unwrap();
            let found = kemeny.explain(&evidence, &mut Workspace::default());
            let found = found.unwrap();
            assert_eq!(found.order.positions(), [1, 2, 3]);
            let (distance, ..) = distance_bound_optimal(&found);
            assert!(distance.is_finite() && distance > 0.0, "{distance}");
        }
    }
}

#[test]
fn the_gap_of_an_unproven_result_is_the_distance_to_its_bound() {
    // A cycle: every order reverses a majority, which the bound of single pairs does not see.
    let y = array![[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]];
    let params = KemenyParams {
        label_weights: Some(vec![8.0; 3]),
        buckets: Buckets::Strict,
        search: KemenySearch::Local,
        ..KemenyParams::default()
    };
    let (distance, lower_bound, optimal) = distance_bound_optimal(&explain(params, &y));
    assert!(!optimal && (distance - 4.0 * 64.0).abs() < 1e-9);
    assert!(distance - lower_bound > 1.0, "{lower_bound}");
}
