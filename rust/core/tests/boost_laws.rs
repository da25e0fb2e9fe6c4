//! Properties of boosters and linear models: they do not depend on the number of threads, saved models round-trip, and
//! degenerate data give finite results. The scores that both predict are per row one utility per label, then one tie
//! term per label.

use std::sync::atomic::{AtomicUsize, Ordering};

use bucketrank_core::boost::{BoostOptions, BoostParams, Booster, EarlyStopping, Observer};
use bucketrank_core::error::Error;
use bucketrank_core::linear::{LinearModel, LinearOptions, LinearParams};
use bucketrank_core::missing::drop_labels;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::{Interrupt, Jobs};
use bucketrank_core::saved::SavedModel as _;
use ndarray::{array, Array2};

/// Rankings of five labels that depend on the first of three features.
fn data(rows: usize) -> (Array2<f64>, Rankings) {
    let x = Array2::from_shape_fn((rows, 3), |(i, j)| ((i * (17 + 4 * j)) % 101) as f64);
    let y = Array2::from_shape_fn((rows, 5), |(i, j)| {
        let shift = usize::from(x[[i, 0]] > 40.0) + usize::from(x[[i, 0]] > 70.0);
        ((j + shift) % 3 + 1) as i64
    });
    (
        x,
        Rankings::new(y.view(), None, &Interrupt::never()).unwrap(),
    )
}

fn params(options: BoostOptions) -> BoostParams {
    BoostParams::new(options).unwrap()
}

fn few_rounds() -> BoostOptions {
    BoostOptions {
        rounds: 12,
        seed: 7,
        ..BoostOptions::default()
    }
}

#[test]
fn models_do_not_depend_on_threads() {
    let (x, y) = data(1500);
    let y = drop_labels(&y, 0.3, 1).unwrap();
    let fit = |n_jobs| {
        let options = BoostOptions {
            n_jobs,
            early_stopping: Some(EarlyStopping {
                validation_share: 0.2,
                patience: 50,
            }),
            ..few_rounds()
        };
        Booster::fit(x.view(), &y, &params(options), &Observer::silent()).unwrap()
    };
    let one = fit(1);
    assert_eq!(one, fit(2));
    assert_eq!(one, fit(3));
    assert_eq!(
        one.scores(x.view(), 12, Jobs::serial()).unwrap(),
        one.scores(
            x.view(),
            12,
            Jobs {
                n_jobs: 3,
                ..Jobs::serial()
            }
        )
        .unwrap()
    );
    let linear = |n_jobs| {
        let options = LinearOptions {
            n_jobs,
            ..LinearOptions::default()
        };
        LinearModel::fit(
            x.view(),
            &[],
            &y,
            &LinearParams::new(options).unwrap(),
            &Interrupt::never(),
        )
        .unwrap()
    };
    assert_eq!(linear(1), linear(2));
}

#[test]
fn boosting_learns_the_effect_of_features() {
    let (x, y) = data(600);
    let booster = Booster::fit(
        x.view(),
        &y,
        &params(BoostOptions {
            rounds: 60,
            ..few_rounds()
        }),
        &Observer::silent(),
    )
    .unwrap();
    let scores = booster.scores(x.view(), 60, Jobs::serial()).unwrap();
    for (row, positions) in y.rows().enumerate() {
        for u in 0..5 {
            for v in 0..5 {
                if positions[u] < positions[v] {
                    assert!(scores[[row, u]] > scores[[row, v]], "row {row}");
                }
            }
        }
    }
    let importances = booster.feature_importances();
    assert!(importances[0] > 0.6, "{importances:?}");
}

#[test]
fn staged_scores_equal_those_of_fits_with_fewer_rounds() {
    let (x, y) = data(300);
    let fit = |rounds| {
        let options = BoostOptions {
            rounds,
            ..few_rounds()
        };
        Booster::fit(x.view(), &y, &params(options), &Observer::silent()).unwrap()
    };
    let (long, short) = (fit(12), fit(5));
    let stages = long
        .staged_scores(x.view(), &[0, 5, 12], Jobs::serial())
        .unwrap();
    assert_eq!(
        stages[1],
        short.scores(x.view(), 5, Jobs::serial()).unwrap()
    );
    assert_eq!(
        stages[2],
        long.scores(x.view(), 99, Jobs::serial()).unwrap()
    );
    assert_ne!(stages[0], stages[1]);
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    // Every row is drawn, so that weights and repetitions give the same trees.
    let (x, y) = data(120);
    let options = BoostOptions {
        row_share: 1.0,
        min_samples_leaf: 1,
        ..few_rounds()
    };
    let weights: Vec<f64> = (0..120).map(|i| [0.0, 1.0, 2.0][i % 3]).collect();
    let table = Array2::from_shape_fn((120, 5), |(i, j)| i64::from(y.row(i)[j]));
    let weighted = Rankings::new(table.view(), Some(&weights), &Interrupt::never()).unwrap();
    let copies: Vec<usize> = (0..120).flat_map(|i| vec![i; i % 3]).collect();
    let repeated = Rankings::new(
        table.select(ndarray::Axis(0), &copies).view(),
        None,
        &Interrupt::never(),
    )
    .unwrap();
    let repeated_x = x.select(ndarray::Axis(0), &copies);
    let fit = |x: &Array2<f64>, y: &Rankings| {
        Booster::fit(x.view(), y, &params(options), &Observer::silent()).unwrap()
    };
    let (a, b) = (fit(&x, &weighted), fit(&repeated_x, &repeated));
    let (a, b) = (
        a.scores(x.view(), 12, Jobs::serial()).unwrap(),
        b.scores(x.view(), 12, Jobs::serial()).unwrap(),
    );
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
    let linear = |x: &Array2<f64>, y: &Rankings| {
        LinearModel::fit(
            x.view(),
            &[],
            y,
            &LinearParams::default(),
            &Interrupt::never(),
        )
        .unwrap()
    };
    let (a, b) = (linear(&x, &weighted), linear(&repeated_x, &repeated));
    let (a, b) = (
        a.scores(x.view(), &Interrupt::never()).unwrap(),
        b.scores(x.view(), &Interrupt::never()).unwrap(),
    );
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() < 1e-2, "{a} {b}");
    }
}

#[test]
fn saved_boosters_round_trip_and_damage_is_detected() {
    let (x, y) = data(80);
    let options = BoostOptions {
        rounds: 3,
        ..few_rounds()
    };
    let booster = Booster::fit(x.view(), &y, &params(options), &Observer::silent()).unwrap();
    let bytes = booster.to_bytes();
    assert_eq!(Booster::from_bytes(&bytes).unwrap(), booster);
    for end in 0..bytes.len() {
        assert!(Booster::from_bytes(&bytes[..end]).is_err());
        let mut damaged = bytes.clone();
        damaged[end] ^= 0x08;
        assert!(Booster::from_bytes(&damaged).is_err());
    }
    // The version follows 8 bytes that mark a saved model.
    let mut newer = bytes;
    newer[8] = 9;
    assert!(matches!(
        Booster::from_bytes(&newer),
        Err(Error::SavedModelVersion { what, found: 9, .. }) if what == "booster"
    ));
}

#[test]
fn degenerate_data_gives_finite_scores() {
    let constant = Array2::from_elem((30, 2), 1.0);
    let one_row = array![[1.0, 2.0]];
    let extreme = Array2::from_shape_fn((30, 2), |(i, j)| match (i + j) % 3 {
        0 => f64::MAX,
        1 => -f64::MAX,
        _ => f64::MIN_POSITIVE,
    });
    for x in [&constant, &one_row, &extreme] {
        let rows = x.nrows();
        let ranked = Array2::from_shape_fn((rows, 3), |(i, j)| match (i + j) % 4 {
            0 => f64::NAN,
            _ => 1.0,
        });
        let nothing = Array2::from_elem((rows, 3), f64::NAN);
        for y in [&ranked, &nothing] {
            let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            let booster =
                Booster::fit(x.view(), &y, &params(few_rounds()), &Observer::silent()).unwrap();
            let scores = booster.scores(x.view(), 12, Jobs::serial()).unwrap();
            assert!(scores.iter().all(|score| score.is_finite()));
            let linear = LinearModel::fit(
                x.view(),
                &[],
                &y,
                &LinearParams::default(),
                &Interrupt::never(),
            );
            let scores = linear
                .unwrap()
                .scores(x.view(), &Interrupt::never())
                .unwrap();
            assert!(scores.iter().all(|score| score.is_finite()));
        }
    }
}

#[test]
fn extreme_weights_do_not_overflow() {
    let (x, y) = data(60);
    let table = Array2::from_shape_fn((60, 5), |(i, j)| i64::from(y.row(i)[j]));
    for unit in [1e-300, 1e-30, 1e30, 1e300] {
        let weights: Vec<f64> = (1..=60).map(|i| unit * f64::from(i)).collect();
        let y = Rankings::new(table.view(), Some(&weights), &Interrupt::never()).unwrap();
        let booster =
            Booster::fit(x.view(), &y, &params(few_rounds()), &Observer::silent()).unwrap();
        let scores = booster.scores(x.view(), 12, Jobs::serial()).unwrap();
        assert!(scores.iter().all(|score| score.is_finite()), "{unit}");
    }
}

#[test]
fn splits_are_found_at_every_scale_of_weights_and_ridge() {
    let (x, y) = data(600);
    let table = Array2::from_shape_fn((600, 5), |(i, j)| i64::from(y.row(i)[j]));
    // The ridge penalty of the leaves is negligible relative to the weights in the first case, and the opposite holds
    // in the last.
    for (weight, ridge) in [
        (1e9, 1e-300),
        (1e9, 2.0),
        (3e7, 1e-12),
        (1e-9, 2.0),
        (1.0, 1e12),
    ] {
        let weights: Vec<f64> = (0..600).map(|i| weight / f64::from(1 + i % 3)).collect();
        let y = Rankings::new(table.view(), Some(&weights), &Interrupt::never()).unwrap();
        let options = BoostOptions {
            ridge,
            feature_share: Some(1.0),
            ..few_rounds()
        };
        let booster = Booster::fit(x.view(), &y, &params(options), &Observer::silent()).unwrap();
        let importances = booster.feature_importances();
        assert!(importances[0] > 0.9, "{weight} {ridge}: {importances:?}");
        let scores = booster.scores(x.view(), 12, Jobs::serial()).unwrap();
        assert!(
            scores.iter().all(|score| score.is_finite()),
            "{weight} {ridge}"
        );
    }
}

#[test]
fn correlated_features_do_not_slow_a_linear_model_down() {
    let (x, y) = data(400);
    // Fifteen features, each the first feature of `data` plus a small deviation.
    let x = Array2::from_shape_fn((400, 15), |(i, j)| {
        x[[i, 0]] + ((i * (7 + j)) % 13) as f64 / 4.0
    });
    let model = LinearModel::fit(
        x.view(),
        &[],
        &y,
        &LinearParams::default(),
        &Interrupt::never(),
    )
    .unwrap();
    assert!(model.has_converged());
    assert!(model.steps() < 60, "{}", model.steps());
}

#[test]
fn validation_needs_pairs_and_stops_early() {
    let (x, y) = data(200);
    let options = BoostOptions {
        rounds: 400,
        early_stopping: Some(EarlyStopping {
            validation_share: 0.25,
            patience: 3,
        }),
        learning_rate: 1.0,
        ..few_rounds()
    };
    let last_round = AtomicUsize::new(0);
    let observer = Observer {
        interrupt: &Interrupt::never(),
        on_round: &|round, score| {
            assert!(score.is_some());
            last_round.store(round, Ordering::Relaxed);
        },
    };
    let booster = Booster::fit(x.view(), &y, &params(options), &observer).unwrap();
    let history = booster.validation_scores();
    assert_eq!(history.len(), last_round.load(Ordering::Relaxed));
    assert!(booster.rounds() < history.len());
    let best = history.iter().copied().fold(f64::MIN, f64::max);
    assert_eq!(history[booster.rounds() - 1], best);
    // A score is the mean log-likelihood per pair; equal shares of before, tied and after would give ln ⅓ = −1.1.
    assert!((-1.2..0.0).contains(&best), "{best}");

    // Rows that rank a single label have no pairs.
    let alone = Array2::from_shape_fn((200, 5), |(i, j)| if i % 5 == j { 1.0 } else { f64::NAN });
    let alone = Rankings::new(alone.view(), None, &Interrupt::never()).unwrap();
    let refused = Booster::fit(x.view(), &alone, &params(options), &Observer::silent());
    assert!(matches!(
        refused,
        Err(Error::NoPairs {
            part: "validation",
            rows: 50
        })
    ));
}

#[test]
fn labels_never_compared_are_marked() {
    let x = Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
    let y = Array2::from_shape_fn((30, 3), |(i, j)| match j {
        2 => f64::NAN,
        _ => ((i + j) % 2 + 1) as f64,
    });
    let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
    let booster = Booster::fit(x.view(), &y, &params(few_rounds()), &Observer::silent()).unwrap();
    assert_eq!(booster.compared_labels(), [true, true, false]);
    let scores = booster.scores(x.view(), 12, Jobs::serial()).unwrap();
    // The utility and the tie term of label 2.
    assert!(scores
        .column(2)
        .iter()
        .chain(scores.column(5))
        .all(|&s| s == 0.0));
}

#[test]
fn interrupts_end_fits() {
    let (x, y) = data(100);
    let interrupt = Interrupt::new();
    interrupt.request();
    let observer = Observer {
        interrupt: &interrupt,
        on_round: &|_, _| (),
    };
    let stopped = Booster::fit(x.view(), &y, &params(few_rounds()), &observer);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    let stopped = LinearModel::fit(x.view(), &[], &y, &LinearParams::default(), &interrupt);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}
