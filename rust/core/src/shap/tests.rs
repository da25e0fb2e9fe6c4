use ndarray::{Array1, Array2};

use super::path_tree::{leaf_indices, node_covers, SplitTree};
use super::tree_sum::TreeSum;
use super::*;
use crate::aggregate::{Aggregator, Borda};
use crate::boost::{BoostOptions, BoostParams, BoosterStage, Observer};
use crate::error::Error;
use crate::features::Features;
use crate::forest::{ForestOptions, ForestVariant, Voters};
use crate::linear::LinearParams;
use crate::predict::{map_shares, PairModel};
use crate::random::Generator;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::tree::{Splitter, TreeOptions, TreeParams};

const ROWS: usize = 150;
const FEATURES: usize = 5;
const LABELS: usize = 4;

/// Features, weighted rankings, and rows to explain: 21, not a multiple of `LANES`, the rows explained together.
fn data() -> (Array2<f64>, Rankings, Array2<f64>) {
    let mut generator = Generator::new(5);
    let x = Array2::from_shape_fn((ROWS, FEATURES), |_| (generator.unit() * 12.0).floor());
    let y = Array2::from_shape_fn((ROWS, LABELS), |(row, label)| {
        let x = x.row(row);
        let signal = [x[0] - x[1], x[2] * x[3] / 10.0, x[4], 4.0][label];
        let position = (signal + 6.0 * generator.unit()) / 3.0;
        if generator.unit() < 0.1 {
            f64::NAN
        } else {
            position.max(0.0).floor() + 1.0
        }
    });
    let weights: Vec<f64> = (0..ROWS).map(|row| (row % 4) as f64 / 2.0).collect();
    let explained = Array2::from_shape_fn((21, FEATURES), |_| generator.unit() * 12.0);
    let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
    (x, rankings, explained)
}

fn booster(depth: usize) -> Booster {
    let (x, rankings, _) = data();
    let options = BoostOptions {
        rounds: 7,
        max_depth: depth,
        min_samples_leaf: 2,
        ..BoostOptions::default()
    };
    let params = BoostParams::new(options).unwrap();
    Booster::fit(x.view(), &rankings, &params, &Observer::silent()).unwrap()
}

fn tree(splitter: Splitter) -> FittedTree {
    let (x, rankings, _) = data();
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let options = TreeOptions {
        splitter,
        ..TreeOptions::default()
    };
    let params = TreeParams::new(options).unwrap();
    let borda = Aggregator::Borda(Borda::default());
    FittedTree::fit(&features, rankings, &params, &borda, &Interrupt::never()).unwrap()
}

fn forest() -> Forest {
    let (x, rankings, _) = data();
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let options = ForestOptions {
        variant: ForestVariant::Mixed,
        tree: TreeOptions {
            max_features: Some(2),
            ..TreeOptions::default()
        },
        seed: 3,
    };
    let mut forest = Forest::new(rankings, FEATURES);
    forest.grow(&features, &options, 4, Jobs::serial()).unwrap();
    forest
}

/// Expected values of a tree when the features in the bit set `known` are those of `row`; other splits are averaged by
/// cover.
fn expectation(
    tree: &impl SplitTree,
    values: &[f64],
    row: &[f64],
    known: usize,
    node: usize,
) -> Array1<f64> {
    let children = tree.children(node);
    if children.is_empty() {
        let leaf = leaf_indices(tree)[node] as usize;
        return Array1::from(values[leaf * LABELS..][..LABELS].to_vec());
    }
    let below = |child| expectation(tree, values, row, known, child);
    if known >> tree.feature(node) & 1 == 1 {
        return below(tree.child_of(node, row));
    }
    let covers = node_covers(tree);
    let terms = children.map(|child| below(child) * (covers[child] / covers[node]));
    terms.fold(Array1::zeros(LABELS), |sum, term| sum + term)
}

/// Shapley values by their definition, over all coalitions.
fn brute_force(model: &impl TreeSum, row: &[f64]) -> (Vec<Array1<f64>>, Array1<f64>) {
    let mut games = vec![Array1::from(model.constants()); 1 << FEATURES];
    for index in 0..model.tree_count() {
        let values = model.leaf_values(index, &Interrupt::never()).unwrap();
        for (known, game) in games.iter_mut().enumerate() {
            *game += &expectation(model.tree(index), &values, row, known, 0);
        }
    }
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let shapley = (0..FEATURES).map(|feature| {
        let without = (0..1 << FEATURES).filter(|known| known >> feature & 1 == 0);
        without.fold(Array1::zeros(LABELS), |sum: Array1<f64>, known: usize| {
            let size = known.count_ones() as usize;
            let weight = factorial(size) * factorial(FEATURES - 1 - size) / factorial(FEATURES);
            sum + (&games[known | 1 << feature] - &games[known]) * weight
        })
    });
    (shapley.collect(), games[0].clone())
}

/// Compares SHAP values with the definition, and their sums with the scores of the model.
fn check_exact(model: &ScoreModel<'_>, trees: &impl TreeSum) {
    let (_, _, explained) = data();
    let shap = model.shap_values(explained.view(), Jobs::serial()).unwrap();
    let base = model.base_values(Jobs::serial()).unwrap();
    let scores = model.label_scores(explained.view(), Jobs::serial());
    let scores = scores.unwrap();
    let mut largest = 0.0_f64;
    for (row, shap) in shap.outer_iter().enumerate() {
        let (expected, expected_base) = brute_force(trees, &explained.row(row).to_vec());
        for label in 0..LABELS {
            assert!((expected_base[label] - base[label]).abs() < 1e-12);
            for feature in 0..FEATURES {
                largest = largest.max(shap[[feature, label]].abs());
                let error = shap[[feature, label]] - expected[feature][label];
                assert!(error.abs() < 1e-12, "{row} {feature} {label} {error}");
            }
            let sum = shap.column(label).sum() + base[label];
            assert!((sum - scores[[row, label]]).abs() < 1e-12);
        }
    }
    assert!(largest > 0.05, "{largest}");
}

#[test]
fn boosters_match_the_definition() {
    for depth in [1, 3, 9] {
        let booster = booster(depth);
        check_exact(&ScoreModel::Booster(&booster), &booster);
    }
}

#[test]
fn trees_match_the_definition() {
    let multiway = Splitter::EqualFrequency { max_splits: 4 };
    for splitter in [Splitter::BestBinary, multiway] {
        let fitted = &tree(splitter);
        for shrinkage in [Shrinkage::None, Shrinkage::Path { strength: 4.0 }] {
            let model = ScoreModel::Tree(fitted, shrinkage);
            check_exact(&model, &TreeScores { fitted, shrinkage });
        }
    }
}

#[test]
fn forests_match_the_definition_and_their_shares() {
    let forest = &forest();
    let shrinkage = Shrinkage::MEstimate { strength: 0.5 };
    let model = ScoreModel::Forest(forest, 0.5);
    check_exact(&model, &ForestScores { forest, shrinkage });
    let (_, _, explained) = data();
    let scores = model.label_scores(explained.view(), Jobs::serial());
    let predictor = forest.predictor(0.5, Voters::All, Jobs::serial()).unwrap();
    let expected = borda_scores(&predictor, &explained);
    let error = (scores.unwrap() - expected).mapv(f64::abs);
    assert!(error.iter().all(|error| *error < 1e-5));
}

fn borda_scores(model: &dyn PairModel, values: &Array2<f64>) -> Array2<f64> {
    let scores = map_shares(
        model,
        values.view(),
        Jobs::serial(),
        || (),
        |(), shares| {
            let matrix = shares.pair_order();
            let score = |u: usize| matrix.row(u).iter().sum::<f64>() - 0.5;
            Ok((0..LABELS).map(score).collect::<Vec<f64>>())
        },
    );
    Array2::from_shape_vec((values.nrows(), LABELS), scores.unwrap().concat()).unwrap()
}

#[test]
fn linear_models_add_up_where_features_are_clipped() {
    let (x, rankings, mut explained) = data();
    let params = LinearParams::default();
    let linear = LinearModel::fit(x.view(), &[], &rankings, &params, &Interrupt::never()).unwrap();
    explained[[0, 0]] = 1e9;
    let model = ScoreModel::Linear(&linear);
    let shap = model.shap_values(explained.view(), Jobs::serial()).unwrap();
    let base = model.base_values(Jobs::serial()).unwrap();
    let scores = linear
        .scores(explained.view(), &Interrupt::never())
        .unwrap();
    let (means, _) = linear.scale();
    for ((row, label), score) in scores.indexed_iter().filter(|((_, l), _)| *l < LABELS) {
        let sum = shap.outer_iter().nth(row).unwrap().column(label).sum();
        assert!((sum + base[label] - score).abs() < 1e-12);
    }
    let centre = Array2::from_shape_vec((1, FEATURES), means.to_vec()).unwrap();
    let shap = model.shap_values(centre.view(), Jobs::serial()).unwrap();
    assert!(shap.iter().all(|value| value.abs() < 1e-15));
}

#[test]
fn results_depend_neither_on_threads_nor_on_other_rows() {
    let (booster, forest) = (booster(4), forest());
    let (_, _, explained) = data();
    for model in [
        ScoreModel::Booster(&booster),
        ScoreModel::Forest(&forest, 0.5),
    ] {
        let all = model.shap_values(explained.view(), Jobs::serial()).unwrap();
        for n_jobs in [2, 3] {
            let interrupt = &Interrupt::never();
            let jobs = Jobs { n_jobs, interrupt };
            assert_eq!(model.shap_values(explained.view(), jobs).unwrap(), all);
        }
        for (row, all) in explained.rows().into_iter().zip(all.outer_iter()) {
            let one = row.insert_axis(ndarray::Axis(0));
            let one = model.shap_values(one, Jobs::serial()).unwrap();
            assert_eq!(one.index_axis(ndarray::Axis(0), 0), all);
        }
    }
}

#[test]
fn a_single_leaf_and_no_rows_have_no_effects() {
    let (_, rankings, explained) = data();
    let x = Array2::zeros((ROWS, FEATURES));
    let params = BoostParams::new(BoostOptions::default()).unwrap();
    let booster = Booster::fit(x.view(), &rankings, &params, &Observer::silent()).unwrap();
    let model = ScoreModel::Booster(&booster);
    let shap = model.shap_values(explained.view(), Jobs::serial()).unwrap();
    assert!(shap.iter().all(|value| *value == 0.0));
    let none = Array2::zeros((0, FEATURES));
    let shap = model.shap_values(none.view(), Jobs::serial()).unwrap();
    assert_eq!(shap.dim(), (0, FEATURES, LABELS));
}

#[test]
fn wrong_rows_and_interrupts_are_errors() {
    let booster = booster(3);
    let model = ScoreModel::Booster(&booster);
    let wide = Array2::zeros((2, FEATURES + 1));
    let result = model.shap_values(wide.view(), Jobs::serial());
    assert!(matches!(result, Err(Error::FeatureCount { .. })));
    let infinite = Array2::from_elem((2, FEATURES), f64::INFINITY);
    assert!(model.shap_values(infinite.view(), Jobs::serial()).is_err());
    let interrupt = Interrupt::new();
    interrupt.request();
    let jobs = Jobs {
        n_jobs: 1,
        interrupt: &interrupt,
    };
    let (_, _, explained) = data();
    let result = model.shap_values(explained.view(), jobs);
    assert!(matches!(result, Err(Error::Interrupted)));
    assert!(matches!(model.base_values(jobs), Err(Error::Interrupted)));
}

/// Shapley values of the Borda scores with a background, over all coalitions.
fn background_shapley(model: &dyn PairModel, row: &[f64], background: &Array2<f64>) -> Array2<f64> {
    let games: Vec<Array1<f64>> = (0..1 << FEATURES)
        .map(|known: usize| {
            let mixed = Array2::from_shape_fn(background.dim(), |(other, feature)| {
                if known >> feature & 1 == 1 {
                    row[feature]
                } else {
                    background[[other, feature]]
                }
            });
            let scores = borda_scores(model, &mixed);
            scores.mean_axis(ndarray::Axis(0)).unwrap()
        })
        .collect();
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let mut shapley = Array2::zeros((FEATURES, LABELS));
    for feature in 0..FEATURES {
        for known in (0..1_usize << FEATURES).filter(|known| known >> feature & 1 == 0) {
            let size = known.count_ones() as usize;
            let weight = factorial(size) * factorial(FEATURES - 1 - size) / factorial(FEATURES);
            let change = (&games[known | 1 << feature] - &games[known]) * weight;
            let mut sum = shapley.row_mut(feature);
            sum += &change;
        }
    }
    shapley
}

#[test]
fn permutation_estimates_add_up_and_approach_the_definition() {
    let (x, _, explained) = data();
    let booster = booster(4);
    let model = BoosterStage {
        booster: &booster,
        rounds: 7,
    };
    let background = x.slice_axis(ndarray::Axis(0), (0..9).into());
    let explained = explained.slice_axis(ndarray::Axis(0), (0..3).into());
    let interrupt = &Interrupt::never();
    let estimate = |count, n_jobs| {
        let permutations = Permutations { count, seed: 1 };
        let jobs = Jobs { n_jobs, interrupt };
        permutation_shap(&model, explained, background, permutations, jobs).unwrap()
    };
    let scores = borda_scores(&model, &explained.to_owned());
    let mut errors = Vec::new();
    for count in [1, 200] {
        let found = estimate(count, 1);
        assert_eq!(found, estimate(count, 2));
        let mut error = 0.0_f64;
        for (row, shap) in found.values.outer_iter().enumerate() {
            for label in 0..LABELS {
                let sum = shap.column(label).sum() + found.base[label];
                assert!((sum - scores[[row, label]]).abs() < 1e-12);
            }
            let own = explained.row(row).to_vec();
            let expected = background_shapley(&model, &own, &background.to_owned());
            let largest = (&shap - &expected)
                .iter()
                .fold(0.0, |m: f64, e| m.max(e.abs()));
            error = error.max(largest);
        }
        errors.push(error);
    }
    assert!(errors[1] < 0.003 && errors[0] > errors[1], "{errors:?}");
    let none = Permutations { count: 0, seed: 1 };
    let result = permutation_shap(&model, explained, background, none, Jobs::serial());
    assert!(matches!(result, Err(Error::Parameter { .. })));
    let empty = Array2::zeros((0, FEATURES));
    let one = Permutations { count: 1, seed: 1 };
    let result = permutation_shap(&model, explained, empty.view(), one, Jobs::serial());
    assert!(matches!(result, Err(Error::NoRows)));
    let many = Permutations {
        count: 1 << 55,
        seed: 1,
    };
    let result = permutation_shap(&model, explained, background, many, Jobs::serial());
    assert!(matches!(result, Err(Error::Memory { .. })));
}
