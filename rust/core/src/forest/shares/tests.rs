//! Predictions from anchors (nodes whose shares are stored) against the exact traversal of every tree.

use super::*;
use crate::features::Features;
use crate::forest::share_index::AnchorSizes;
use crate::forest::{ForestOptions, ForestVariant};
use crate::missing::{drop_labels, to_dense_ranks};
use crate::rankings::{Rankings, MISSING};
use crate::tree::{ShareWalk, TreeOptions};
use ndarray::Array2;

const ROWS: usize = 160;
const TOLERANCE: f64 = 1e-6;

fn jobs(n_jobs: usize) -> Jobs<'static> {
    Jobs {
        n_jobs,
        interrupt: const { &Interrupt::never() },
    }
}

fn data(missing: f64, weight: impl Fn(usize) -> f64) -> (Array2<f64>, Rankings) {
    let x = Array2::from_shape_fn((ROWS, 3), |(i, j)| ((i * (7 + 3 * j)) % 29) as f64 / 4.0);
    let y = Array2::from_shape_fn((ROWS, 6), |(i, j)| {
        ((x[[i, 0]] as usize * (j + 1) + i * i % 5 * j) % 7) as f64
    });
    let y = drop_labels(
        &to_dense_ranks(y.view(), &Interrupt::never()).unwrap(),
        missing,
        3,
    )
    .unwrap();
    let positions = Array2::from_shape_fn((ROWS, 6), |(r, l)| match y.row(r)[l] {
        MISSING => f64::NAN,
        position => f64::from(position),
    });
    let weights: Vec<f64> = (0..ROWS).map(weight).collect();
    (
        x,
        Rankings::new(positions.view(), Some(&weights), &Interrupt::never()).unwrap(),
    )
}

fn grow_forest(x: &Array2<f64>, y: &Rankings, max_depth: Option<usize>) -> Forest {
    let options = ForestOptions {
        variant: ForestVariant::Mixed,
        tree: TreeOptions {
            max_features: Some(2),
            max_depth,
            ..TreeOptions::default()
        },
        seed: 4,
    };
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let mut forest = Forest::new(y.clone(), x.ncols());
    forest.grow(&features, &options, 9, jobs(1)).unwrap();
    forest
}

/// The mean of the voting trees' smoothed shares, in double precision; 0 without a voting tree.
fn exact_shares(
    forest: &Forest,
    x: &Array2<f64>,
    strength: f64,
    voters: Voters<'_>,
) -> Vec<Vec<f64>> {
    let length = 3 * pair_count(forest.rankings.labels());
    let mut sums = vec![(vec![0.0; length], 0.0); x.nrows()];
    for member in &forest.members {
        let weights = forest.weights(member.kind, member.seed);
        let leaves = member.tree.apply(x.view(), &Interrupt::never()).unwrap();
        let has_vote = |row: usize| {
            voters.training_row(row).is_none_or(|row| {
                member.kind == TreeKind::Bootstrap
                    && weights.get(row) == 0.0
                    && forest.rankings.weights().get(row) > 0.0
            })
        };
        let shrinkage = Shrinkage::MEstimate { strength };
        let requested = leaves.iter().copied();
        let walk = ShareWalk::new(
            &member.tree,
            &forest.rankings,
            &weights,
            shrinkage,
            requested,
            &Interrupt::never(),
        );
        walk.visit(|leaf, shares| {
            for row in (0..x.nrows()).filter(|&row| leaves[row] == leaf && has_vote(row)) {
                let (sums, trees) = &mut sums[row];
                *trees += 1.0;
                for (sum, share) in sums.iter_mut().zip(shares.as_slice()) {
                    *sum += share;
                }
            }
            Ok(())
        })
        .unwrap();
    }
    let mean =
        |(sums, trees): (Vec<f64>, f64)| sums.into_iter().map(|sum| sum / trees.max(1.0)).collect();
    sums.into_iter().map(mean).collect()
}

/// The shares that the forest predicts with this index.
fn anchored_shares(
    forest: &Forest,
    x: &Array2<f64>,
    index: ShareIndex,
    voters: Voters<'_>,
) -> Vec<Vec<f64>> {
    let mut predictor = forest.predictor(index.strength, voters, jobs(1)).unwrap();
    predictor.index = Arc::new(index);
    let copy = |(): &mut (), shares: &PairShares| Ok(shares.as_slice().to_vec());
    predict::map_shares(&predictor, x.view(), jobs(2), || (), copy).unwrap()
}

fn largest_difference(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn assert_shares_match(forest: &Forest, x: &Array2<f64>, strengths: &[f64]) {
    for &strength in strengths {
        for voters in [Voters::All, Voters::OutOfBag] {
            let expected = exact_shares(forest, x, strength, voters);
            for min_rows in [1, 4, 32, 1 << 20] {
                for (coarse_fraction, tail_bytes) in [(0.0, 1 << 20), (2e-4, 1 << 20), (3e-6, 0)] {
                    let sizes = AnchorSizes {
                        min_rows,
                        coarse_fraction,
                        tail_bytes,
                    };
                    let index = ShareIndex::with_sizes(forest, strength, sizes, jobs(1)).unwrap();
                    let found = anchored_shares(forest, x, index, voters);
                    let difference = largest_difference(&found, &expected);
                    assert!(
                        difference <= TOLERANCE,
                        "{strength} {voters:?} {sizes:?}: {difference}"
                    );
                }
            }
        }
    }
}

#[test]
fn complete_rankings_match_the_exact_shares() {
    for weight in [|_| 1.0, |row| (row % 3) as f64, |row| 0.1 + row as f64] {
        let (x, y) = data(0.0, weight);
        for max_depth in [None, Some(2)] {
            assert_shares_match(&grow_forest(&x, &y, max_depth), &x, &[0.5, 1e-3, 64.0]);
        }
    }
}

#[test]
fn missing_labels_match_the_exact_shares() {
    for missing in [0.3, 0.7] {
        for weight in [|_| 1.0, |row| 0.1 + (row % 4) as f64] {
            let (x, y) = data(missing, weight);
            assert_shares_match(&grow_forest(&x, &y, None), &x, &[0.5, 64.0]);
        }
    }
}

#[test]
fn extreme_weights_and_strengths_match_the_exact_shares() {
    for missing in [0.0, 0.4] {
        let (x, y) = data(missing, |row| 10.0_f64.powi(row as i32 % 81 - 40));
        let forest = grow_forest(&x, &y, None);
        for strength in [0.5, 1e-60, 1e60] {
            let expected = exact_shares(&forest, &x, strength, Voters::All);
            let index = ShareIndex::new(&forest, strength, jobs(1)).unwrap();
            let found = anchored_shares(&forest, &x, index, Voters::All);
            assert!(largest_difference(&found, &expected) <= TOLERANCE);
        }
    }
}

#[test]
fn growing_replaces_the_prepared_index() {
    let (x, y) = data(0.0, |_| 1.0);
    let mut forest = grow_forest(&x, &y, None);
    let copy = |(): &mut (), shares: &PairShares| Ok(shares.as_slice().to_vec());
    let predict = |forest: &Forest, strength: f64| {
        forest
            .map_shares(x.view(), strength, Voters::All, jobs(1), || (), copy)
            .unwrap()
    };
    let few = predict(&forest, 0.5);
    assert_ne!(few, predict(&forest, 2.0));
    assert_eq!(few, predict(&forest, 0.5));
    assert_eq!(few, predict(&forest.clone(), 0.5));
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let options = ForestOptions {
        variant: ForestVariant::Mixed,
        tree: TreeOptions::default(),
        seed: 4,
    };
    forest.grow(&features, &options, 12, jobs(1)).unwrap();
    let expected = exact_shares(&forest, &x, 0.5, Voters::All);
    assert!(largest_difference(&predict(&forest, 0.5), &expected) <= TOLERANCE);
}

#[test]
fn concurrent_predictions_share_one_index() {
    let (x, y) = data(0.2, |_| 1.0);
    let forest = grow_forest(&x, &y, None);
    let indices: Vec<Arc<ShareIndex>> = std::thread::scope(|scope| {
        let ask = || forest.predictor(0.5, Voters::All, jobs(1)).unwrap().index;
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(indices.iter().all(|index| Arc::ptr_eq(index, &indices[0])));
}
