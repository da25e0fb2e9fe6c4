//! Laws of fitted trees, forests and linear models; for example, predicted pair shares (of before, tied and after)
//! equal those that the formulas in the documentation of [`Shrinkage`] give for the training rows.

use std::cmp::Ordering;

use bucketrank_core::aggregate::{Aggregator, Borda};
use bucketrank_core::features::Features;
use bucketrank_core::forest::{Forest, ForestOptions, ForestVariant};
use bucketrank_core::linear::{LinearModel, LinearParams};
use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::pairs::PairShares;
use bucketrank_core::predict::map_shares;
use bucketrank_core::rankings::{Rankings, MISSING};
use bucketrank_core::run::{Interrupt, Jobs};
use bucketrank_core::tree::{FittedTree, Routing, Shrinkage, Tree, TreeOptions, TreeParams};
use ndarray::{Array2, Axis};

const LABELS: usize = 4;

fn jobs(n_jobs: usize) -> Jobs<'static> {
    Jobs {
        n_jobs,
        interrupt: const { &Interrupt::never() },
    }
}

fn data(rows: usize, missing: f64) -> (Array2<f64>, Rankings) {
    let x = Array2::from_shape_fn((rows, 3), |(i, j)| ((i * (7 + 3 * j)) % 29) as f64 / 4.0);
    let y = Array2::from_shape_fn((rows, LABELS), |(i, j)| {
        ((x[[i, 0]] as usize * (j + 1) + i % 3 * j) % 7) as f64
    });
    let y = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
    (x, drop_labels(&y, missing, 3).unwrap())
}

fn fit_tree(x: &Array2<f64>, y: &Rankings) -> (FittedTree, Features) {
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let options = TreeOptions {
        max_depth: Some(4),
        ..TreeOptions::default()
    };
    let params = TreeParams::new(options).unwrap();
    let borda = Aggregator::Borda(Borda::default());
    let tree = FittedTree::fit(&features, y.clone(), &params, &borda, &Interrupt::never()).unwrap();
    (tree, features)
}

/// Total weights of the rows of a node that rank label u before, tied with and after label v.
fn count(tree: &Tree, y: &Rankings, node: u32, u: usize, v: usize) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for &row in tree.node_rows(node) {
        let positions = y.row(row as usize);
        if positions[u] != MISSING && positions[v] != MISSING {
            let plane = match positions[u].cmp(&positions[v]) {
                Ordering::Less => 0,
                Ordering::Equal => 1,
                Ordering::Greater => 2,
            };
            counts[plane] += y.weights().get(row as usize);
        }
    }
    counts
}

/// Shares of a pair at a leaf, from the formulas of [`Shrinkage`].
fn reference_shares(
    (tree, y): (&Tree, &Rankings),
    shrinkage: Shrinkage,
    leaf: u32,
    (u, v): (usize, usize),
) -> [f64; 3] {
    let path = tree.path(leaf);
    let counts: Vec<[f64; 3]> = path
        .iter()
        .map(|&node| count(tree, y, node, u, v))
        .collect();
    let seen = |counts: &[f64; 3]| counts.iter().sum::<f64>();
    let own = |counts: &[f64; 3], unseen: [f64; 3]| {
        let sum = seen(counts);
        if sum > 0.0 {
            counts.map(|count| count / sum)
        } else {
            unseen
        }
    };
    match shrinkage {
        Shrinkage::None => own(&counts[counts.len() - 1], [0.0; 3]),
        Shrinkage::MEstimate { strength } => counts.iter().fold([1.0 / 3.0; 3], |above, counts| {
            std::array::from_fn(|i| (counts[i] + strength * above[i]) / (seen(counts) + strength))
        }),
        Shrinkage::Path { strength } => {
            let lambda = strength * (seen(&counts[0]) / tree.nodes()[0].weight).sqrt();
            let mut parent = own(&counts[0], [1.0 / 3.0; 3]);
            let mut shares = parent;
            for step in counts.windows(2) {
                let child = own(&step[1], parent);
                if seen(&step[1]) == 0.0 {
                    break;
                }
                for i in 0..3 {
                    shares[i] += (child[i] - parent[i]) / (1.0 + lambda / seen(&step[0]));
                }
                parent = child;
            }
            shares
        }
    }
}

#[test]
fn shares_of_a_tree_follow_the_formula_of_their_shrinkage() {
    for missing in [0.0, 0.4] {
        let (x, y) = data(90, missing);
        let (fitted, _) = fit_tree(&x, &y);
        let tree = fitted.tree();
        assert!(tree.leaves() > 6);
        let leaves = tree.apply(x.view(), &Interrupt::never()).unwrap();
        for shrinkage in [
            Shrinkage::None,
            Shrinkage::MEstimate { strength: 1.5 },
            Shrinkage::Path { strength: 3.0 },
        ] {
            let model = fitted.predictor(shrinkage, Routing::Hard).unwrap();
            let copy = |(): &mut (), shares: &PairShares| Ok(shares.clone());
            let found = map_shares(&model, x.view(), jobs(2), || (), copy).unwrap();
            for (found, &leaf) in found.iter().zip(&leaves) {
                for u in 0..LABELS {
                    for v in u + 1..LABELS {
                        let expected = reference_shares((tree, &y), shrinkage, leaf, (u, v));
                        let found = found.get(u, v);
                        for (found, expected) in found.iter().zip(expected) {
                            let difference = (found - expected).abs();
                            assert!(difference < 1e-9, "{shrinkage:?} {found} {expected}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn soft_routing_mixes_the_leaves_on_both_sides_of_a_threshold() {
    let (x, y) = data(90, 0.0);
    let (fitted, features) = fit_tree(&x, &y);
    let fitted = fitted.with_soft_routing(&features).unwrap();
    let shrinkage = Shrinkage::MEstimate { strength: 0.5 };
    let copy = |(): &mut (), shares: &PairShares| Ok(shares.as_slice().to_vec());
    let predict = |routing| {
        let model = fitted.predictor(shrinkage, routing).unwrap();
        map_shares(&model, x.view(), jobs(1), || (), copy).unwrap()
    };
    let (hard, soft) = (predict(Routing::Hard), predict(Routing::Soft));
    assert_ne!(hard, soft);
    let pairs = LABELS * (LABELS - 1) / 2;
    for shares in hard.iter().chain(&soft) {
        for pair in 0..pairs {
            let sum: f64 = (0..3).map(|plane| shares[plane * pairs + pair]).sum();
            assert!((sum - 1.0).abs() < 1e-9);
        }
    }
    // The shares of a mixture lie between those of its leaves.
    for index in 0..3 * pairs {
        let column =
            |rows: &[Vec<f64>]| -> Vec<f64> { rows.iter().map(|row| row[index]).collect() };
        let (hard, soft) = (column(&hard), column(&soft));
        let low = hard.iter().copied().fold(f64::INFINITY, f64::min) - 1e-9;
        let high = hard.iter().copied().fold(0.0, f64::max) + 1e-9;
        assert!(soft.iter().all(|share| (low..=high).contains(share)));
    }
}

#[test]
fn importances_sum_to_one_and_are_zero_without_splits() {
    let (x, y) = data(60, 0.0);
    let options = ForestOptions {
        variant: ForestVariant::Mixed,
        tree: TreeOptions::default(),
        seed: 1,
    };
    let importances = |y: &Rankings| {
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let mut forest = Forest::new(y.clone(), 3);
        forest.grow(&features, &options, 5, jobs(1)).unwrap();
        forest.feature_importances()
    };
    let found = importances(&y);
    assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(found.iter().all(|&importance| importance > 0.0));
    let equal = Array2::from_shape_fn((60, LABELS), |(_, label)| label as i64 + 1);
    let equal = Rankings::new(equal.view(), None, &Interrupt::never()).unwrap();
    assert_eq!(importances(&equal), [0.0; 3]);
}

#[test]
fn linear_models_learn_and_ignore_rows_of_weight_zero() {
    let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 - 8.0);
    let y = Array2::from_shape_fn((60, 3), |(i, label)| {
        // The first feature decides about labels 0 and 1; label 2 is last.
        match (label, x[[i, 0]] > 0.0) {
            (2, _) => 3,
            (0, true) | (1, false) => 1,
            _ => 2_i64,
        }
    });
    let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 3)).collect();
    let fit = |rows: &[usize], weights: &[f64]| {
        let (x, y) = (x.select(Axis(0), rows), y.select(Axis(0), rows));
        let rankings = Rankings::new(y.view(), Some(weights), &Interrupt::never()).unwrap();
        let params = LinearParams::default();
        LinearModel::fit(x.view(), &[], &rankings, &params, &Interrupt::never()).unwrap()
    };
    let all: Vec<usize> = (0..60).collect();
    let whole = fit(&all, &weights);
    let rows: Vec<usize> = (0..60).filter(|row| row % 3 != 0).collect();
    let kept: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
    assert_eq!(whole.coefficients(), fit(&rows, &kept).coefficients());
    let scores = whole.scores(x.view(), &Interrupt::never()).unwrap();
    for (row, scores) in scores.rows().into_iter().enumerate() {
        assert_eq!(scores[0] > scores[1], x[[row, 0]] > 0.0, "row {row}");
        assert!(scores[2] < scores[0].min(scores[1]));
    }
}
