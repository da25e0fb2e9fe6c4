use super::super::covariance::{covariance, CovarianceMethod};
use super::*;
use crate::comparisons::Units;
use crate::latent::compared_labels;
use crate::rankings::Rankings;
use ndarray::{array, Array2};

fn rankings() -> Rankings {
    let y = array![
        [1.0, 2.0, 2.0, 3.0],
        [2.0, 1.0, 3.0, f64::NAN],
        [1.0, 1.0, 2.0, 2.0],
        [3.0, 2.0, 1.0, 1.0],
        [1.0, f64::NAN, 2.0, 3.0]
    ];
    Rankings::new(
        y.view(),
        Some(&[1.0, 2.0, 1.0, 1.0, 3.0]),
        &Interrupt::never(),
    )
    .unwrap()
}

fn count(rankings: &Rankings) -> PairCounts {
    PairCounts::from_rankings(rankings, &Interrupt::never()).unwrap()
}

/// Scores and standard errors.
fn fit(counts: &PairCounts, ridge: f64) -> (Vec<f64>, Vec<f64>) {
    let (contests, tallies) = Contests::of_counts(counts);
    let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, ridge);
    let fitted = Posterior::fit(counts, TieRule::Modelled, ridge, &Interrupt::never()).unwrap();
    let compared = compared_labels(counts);
    let method = CovarianceMethod::Information;
    let matrix = covariance(
        &model,
        &tallies,
        &fitted.scores,
        &compared,
        method,
        &Interrupt::never(),
    )
    .unwrap();
    let errors = matrix
        .diag()
        .iter()
        .map(|variance| variance.sqrt())
        .collect();
    (fitted.scores, errors)
}

#[test]
fn gradient_is_zero_at_the_mode() {
    let counts = count(&rankings());
    let (contests, tallies) = Contests::of_counts(&counts);
    for (ridge, ties) in [
        (1e-3, TieRule::Modelled),
        (0.1, TieRule::Half),
        (10.0, TieRule::Modelled),
    ] {
        let fitted = Posterior::fit(&counts, ties, ridge, &Interrupt::never()).unwrap();
        let model = ContestModel::new(&contests, &tallies, ties, ridge);
        let mut gradient = vec![0.0; model.size()];
        model.write_gradient(&tallies, &fitted.scores, &mut gradient);
        assert!(gradient.iter().all(|g| g.abs() < 1e-10), "{gradient:?}");
        let sum: f64 = fitted.scores[..4].iter().sum();
        // The likelihood does not depend on a common shift, so the prior centres the utilities.
        assert!(sum.abs() < 1e-8);
    }
}

#[test]
fn covariance_leaves_out_the_common_shift_only() {
    let counts = count(&rankings());
    let (contests, tallies) = Contests::of_counts(&counts);
    let scores = [0.5, -0.2, 0.1, 0.9, 0.3, -0.4, 0.0, 0.2];
    for ridge in [1e-4, 0.3, 20.0] {
        let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, ridge);
        let whole = Cholesky::new(model.hessian(&tallies, &scores), 8).unwrap();
        let method = CovarianceMethod::Information;
        let found = covariance(
            &model,
            &tallies,
            &scores,
            &[true; 4],
            method,
            &Interrupt::never(),
        )
        .unwrap();
        for i in 0..8 {
            let mut unit = [0.0; 8];
            unit[i] = 1.0;
            whole.solve(&mut unit);
            let whole = unit[i];
            let common = if i < 4 { 1.0 / (4.0 * ridge) } else { 0.0 };
            assert!(
                (found[[i, i]] + common - whole).abs() < 1e-9 * whole,
                "{ridge} {i}"
            );
        }
    }
}

#[test]
fn robust_errors_need_two_units_and_treat_weights_as_copies() {
    let rankings = rankings();
    let counts = count(&rankings);
    let (contests, tallies) = Contests::of_counts(&counts);
    let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, 0.1);
    let fitted = Posterior::fit_contests(&model, &tallies, &Interrupt::never()).unwrap();
    let errors = |rankings: &Rankings| {
        let units = Units::of_rankings(rankings, &contests, &Interrupt::never()).unwrap();
        covariance(
            &model,
            &tallies,
            &fitted.scores,
            &[true; 4],
            CovarianceMethod::Units(&units),
            &Interrupt::never(),
        )
    };
    let rows = [0, 1, 1, 2, 3, 4, 4, 4];
    let repeated = rankings
        .with_weights(crate::weights::Weights::Unit(5))
        .select(&rows);
    let (weighted, repeated) = (errors(&rankings).unwrap(), errors(&repeated).unwrap());
    for (a, b) in weighted.iter().zip(&repeated) {
        assert!((a - b).abs() < 1e-12);
    }
    let one = rankings
        .with_weights(crate::weights::Weights::Unit(5))
        .select(&[0]);
    assert!(errors(&one)
        .unwrap_err()
        .to_string()
        .contains("errors from is 1"));
}

#[test]
fn extreme_weights_are_taken_relative_to_the_largest() {
    let y = array![[1, 2, 2_i64], [2, 1, 3], [1, 1, 2]];
    let fit_with = |weight: f64| {
        let weights = [weight, 2.0 * weight, weight];
        fit(
            &count(&Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap()),
            0.1,
        )
    };
    // The largest weight of a pair is four times `weight`.
    let plain = fit_with(0.25);
    for extreme in [1e-290, 1e-20, 1e20, 1e290] {
        let fitted = fit_with(extreme);
        let both = fitted.0.iter().chain(&fitted.1);
        for (a, b) in both.zip(plain.0.iter().chain(&plain.1)) {
            assert!((a - b).abs() < 1e-6, "{extreme}: {a} {b}");
        }
    }
}

#[test]
fn unanimous_and_empty_sets_have_finite_scores() {
    let y = Array2::from_shape_fn((1000, 3), |(_, j)| j as i64 + 1);
    let unanimous = count(&Rankings::new(y.view(), None, &Interrupt::never()).unwrap());
    let (scores, _) = fit(&unanimous, 0.01);
    assert!(scores[0] > scores[1] && scores[1] > scores[2]);
    assert!(scores.iter().all(|s| s.is_finite()));
    let (scores, errors) = fit(&PairCounts::empty(3).unwrap(), 0.25);
    assert_eq!(scores, [0.0; 6]);
    assert!(errors.iter().all(|e| (e - 2.0).abs() < 1e-12));
}

#[test]
fn the_mode_does_not_depend_on_the_start() {
    let counts = count(&rankings());
    let (contests, tallies) = Contests::of_counts(&counts);
    let never = Interrupt::never();
    for (ridge, ties) in [(1e-3, TieRule::Modelled), (0.1, TieRule::Half)] {
        let model = ContestModel::new(&contests, &tallies, ties, ridge);
        let expected = Posterior::fit_contests(&model, &tallies, &never).unwrap();
        // Far from the mode the curvature is small, so that whole Newton steps are much too long.
        for start in [3.0, -8.0, 15.0] {
            let start: Vec<f64> = (0..model.size())
                .map(|i| if i % 2 == 0 { start } else { -start / 2.0 })
                .collect();
            let found = minimise(&model, &tallies, start, &never).unwrap();
            for (found, expected) in found.iter().zip(&expected.scores) {
                assert!((found - expected).abs() < 1e-8, "{found} {expected}");
            }
        }
    }
}

#[test]
fn robust_errors_correct_for_the_number_of_units() {
    let rankings = rankings().with_weights(crate::weights::Weights::Unit(5));
    let counts = count(&rankings);
    let (contests, tallies) = Contests::of_counts(&counts);
    let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, 0.1);
    let never = Interrupt::never();
    let fitted = Posterior::fit_contests(&model, &tallies, &never).unwrap();
    // M is the ridge plus k · kG/(kG − 1) times the products of one copy of the units.
    let with_copies = |copies: usize| {
        let rows: Vec<usize> = (0..5).cycle().take(5 * copies).collect();
        let units = Units::of_rankings(&rankings.select(&rows), &contests, &never).unwrap();
        let method = CovarianceMethod::Units(&units);
        covariance(&model, &tallies, &fitted.scores, &[true; 4], method, &never).unwrap()
    };
    let [one, two, three] = [1, 2, 3].map(with_copies);
    let factor = |k: f64| k * 5.0 * k / (5.0 * k - 1.0);
    let expected = (factor(3.0) - factor(1.0)) / (factor(2.0) - factor(1.0));
    for label in 0..4 {
        let at = [label, label];
        let found = (three[at] - one[at]) / (two[at] - one[at]);
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}
