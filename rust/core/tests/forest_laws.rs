//! Properties of forests: they do not depend on the number of threads, nor on whether the trees are grown in one call
//! or several, and saved forests round-trip.

use bucketrank_core::features::Features;
use bucketrank_core::forest::{Forest, ForestHalf, ForestOptions, ForestVariant, Voters};
use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::pairs::PairShares;
use bucketrank_core::rankings::{Rankings, MISSING};
use bucketrank_core::run::{Interrupt, Jobs};
use bucketrank_core::saved::SavedModel as _;
use bucketrank_core::tree::{Splitter, Tree, TreeOptions, TreeParams};
use ndarray::Array2;

const VARIANTS: [ForestVariant; 3] = [
    ForestVariant::Bootstrap,
    ForestVariant::ExtraTrees,
    ForestVariant::Mixed,
];

fn data(rows: usize) -> (Array2<f64>, Rankings) {
    let x = Array2::from_shape_fn((rows, 3), |(i, j)| ((i * (7 + 3 * j)) % 29) as f64 / 4.0);
    let y = Array2::from_shape_fn((rows, 5), |(i, j)| {
        ((x[[i, 0]] as usize * (j + 1) + i % 3 * j) % 7) as f64
    });
    (x, to_dense_ranks(y.view(), &Interrupt::never()).unwrap())
}

fn jobs(n_jobs: usize) -> Jobs<'static> {
    Jobs {
        n_jobs,
        interrupt: const { &Interrupt::never() },
    }
}

fn options(variant: ForestVariant, seed: u64) -> ForestOptions {
    ForestOptions {
        variant,
        tree: TreeOptions {
            max_features: Some(2),
            ..TreeOptions::default()
        },
        seed,
    }
}

fn forest(x: &Array2<f64>, y: &Rankings, options: &ForestOptions, n_jobs: usize) -> Forest {
    let mut forest = Forest::new(y.clone(), x.ncols());
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    forest.grow(&features, options, 12, jobs(n_jobs)).unwrap();
    forest
}

fn shares(forest: &Forest, x: &Array2<f64>, voters: Voters, n_jobs: usize) -> Vec<PairShares> {
    forest
        .map_shares(
            x.view(),
            0.5,
            voters,
            jobs(n_jobs),
            || (),
            |(), s| Ok(s.clone()),
        )
        .unwrap()
}

#[test]
fn forests_do_not_depend_on_threads_or_staged_growing() {
    let (x, y) = data(150);
    let y = drop_labels(&y, 0.2, 1).unwrap();
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    for variant in VARIANTS {
        let options = options(variant, 5);
        let whole = forest(&x, &y, &options, 1);
        assert_eq!(whole, forest(&x, &y, &options, 3));
        let mut grown = Forest::new(y.clone(), 3);
        for trees in [1, 4, 12, 7] {
            grown.grow(&features, &options, trees, jobs(2)).unwrap();
        }
        assert_eq!(whole, grown);
        for voters in [Voters::All, Voters::OutOfBag] {
            let serial = shares(&whole, &x, voters, 1);
            assert_eq!(serial, shares(&whole, &x, voters, 3));
        }
        assert_ne!(whole, forest(&x, &y, &self::options(variant, 6), 1));
    }
}

#[test]
fn shares_are_averaged_over_the_voting_trees() {
    let (x, y) = data(60);
    let whole = forest(&x, &y, &options(ForestVariant::Mixed, 1), 1);
    let averaged = shares(&whole, &x, Voters::All, 1);
    let sums: Vec<f64> = averaged
        .iter()
        .map(|shares| shares.as_slice().iter().sum())
        .collect();
    // There are ten pairs of labels, and the shares of before, tied and after of each sum to 1.
    assert!(sums.iter().all(|sum| (sum - 10.0).abs() < 1e-9));
    let counts = whole.out_of_bag_counts();
    assert!(counts.iter().all(|&count| count <= 6));
    let total: usize = counts.iter().sum();
    // Six of the twelve trees have a bootstrap sample, which omits a row with probability 1/e.
    let expected = 6.0 * 60.0 * (-1.0_f64).exp();
    assert!((total as f64 - expected).abs() < 40.0, "{total}");
    let out_of_bag = shares(&whole, &x, Voters::OutOfBag, 1);
    for (shares, count) in out_of_bag.iter().zip(&counts) {
        let has_shares = shares.as_slice().iter().sum::<f64>() > 0.0;
        assert_eq!(has_shares, *count > 0);
    }
}

#[test]
fn halves_vote_like_forests_of_their_trees() {
    let (x, y) = data(60);
    let options = options(ForestVariant::Mixed, 1);
    let whole = forest(&x, &y, &options, 1);
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let mut half = Forest::new(y.clone(), 3);
    let trees = whole.trees().div_ceil(2);
    half.grow(&features, &options, trees, jobs(1)).unwrap();
    let rows: Vec<usize> = (0..60).collect();
    let of_half = |half| shares(&whole, &x, Voters::OutOfBagHalf(&rows, half), 2);
    let first = of_half(ForestHalf::First);
    // `first` and `alone` are each within 1e-6 of the exact shares.
    let alone = shares(&half, &x, Voters::OutOfBag, 1);
    for (first, alone) in first.iter().zip(&alone) {
        let pairs = first.as_slice().iter().zip(alone.as_slice());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 2e-6));
    }
    let second = of_half(ForestHalf::Second);
    let out_of_bag = shares(&whole, &x, Voters::OutOfBag, 1);
    let (first_counts, counts) = (half.out_of_bag_counts(), whole.out_of_bag_counts());
    for row in rows {
        let (first_count, count) = (first_counts[row] as f64, counts[row] as f64);
        let halves = first[row].as_slice().iter().zip(second[row].as_slice());
        for ((a, b), expected) in halves.zip(out_of_bag[row].as_slice()) {
            let sum = first_count * a + (count - first_count) * b;
            assert!((sum - count * expected).abs() < 1e-5, "{row}");
        }
    }
}

#[test]
fn rows_out_of_bag_can_be_chosen() {
    let (x, y) = data(60);
    let whole = forest(&x, &y, &options(ForestVariant::Mixed, 1), 1);
    let first = |rows| Voters::OutOfBagHalf(rows, ForestHalf::First);
    let rows: Vec<usize> = (0..60).collect();
    let all = shares(&whole, &x, first(&rows), 2);
    let some = [7, 3, 59];
    let chosen = x.select(ndarray::Axis(0), &some);
    let found = shares(&whole, &chosen, first(&some), 2);
    assert_eq!(found, some.map(|row| all[row].clone()));
    let other = first(&[1, 2, 60]);
    let refused = whole.map_shares(chosen.view(), 0.5, other, jobs(1), || (), |(), _| Ok(()));
    assert!(refused.is_err());
}

#[test]
fn bootstrap_trees_contain_only_drawn_rows() {
    let (x, y) = data(40);
    let whole = forest(&x, &y, &options(ForestVariant::Bootstrap, 2), 1);
    let tree = whole.tree(0).unwrap();
    assert!(tree.node_rows(0).len() < 35);
    assert_eq!(tree.nodes()[0].weight, 40.0);
    let extra = forest(&x, &y, &options(ForestVariant::ExtraTrees, 2), 1);
    assert_eq!(extra.tree(0).unwrap().node_rows(0).len(), 40);
}

#[test]
fn rows_of_weight_zero_are_ignored() {
    let (x, y) = data(50);
    let weights: Vec<f64> = (0..50).map(|i| f64::from(i % 3)).collect();
    let positions = Array2::from_shape_fn((50, 5), |(r, l)| match y.row(r)[l] {
        MISSING => f64::NAN,
        position => f64::from(position),
    });
    let y = Rankings::new(positions.view(), Some(&weights), &Interrupt::never()).unwrap();
    for variant in VARIANTS {
        let whole = forest(&x, &y, &options(variant, 3), 1);
        for index in 0..whole.trees() {
            let rows = whole.tree(index).unwrap().node_rows(0);
            assert!(rows.iter().all(|row| row % 3 != 0));
        }
        let counts = whole.out_of_bag_counts();
        assert!(counts.iter().step_by(3).all(|&count| count == 0));
    }
}

#[test]
fn engines_draw_the_same_thresholds() {
    let (x, y) = data(300);
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    for missing in [0.0, 0.3] {
        let y = drop_labels(&y, missing, 4).unwrap();
        let positions = Array2::from_shape_fn((300, 5), |(r, l)| match y.row(r)[l] {
            MISSING => f64::NAN,
            position => f64::from(position),
        });
        // Trees are grown by one of several engines. Weights too large to expand into repeated rows select the weighted
        // one.
        let heavy =
            Rankings::new(positions.view(), Some(&[1000.0; 300]), &Interrupt::never()).unwrap();
        for seed in 0..5 {
            let options = TreeOptions {
                splitter: Splitter::RandomBinary,
                seed,
                ..TreeOptions::default()
            };
            let params = TreeParams::new(options).unwrap();
            let fit =
                |y: &Rankings| Tree::fit(&features, y, &params, None, &Interrupt::never()).unwrap();
            let (coded, weighted) = (fit(&y), fit(&heavy));
            assert!(coded.leaves() > 10);
            assert_eq!(coded.nodes().len(), weighted.nodes().len());
            for index in 0..coded.nodes().len() as u32 {
                assert_eq!(coded.split(index), weighted.split(index));
                assert_eq!(coded.node_rows(index), weighted.node_rows(index));
            }
            let parallel = TreeParams::new(TreeOptions {
                n_jobs: 2,
                ..options
            })
            .unwrap();
            let parallel = Tree::fit(&features, &y, &parallel, None, &Interrupt::never()).unwrap();
            assert_eq!(parallel, coded);
        }
    }
}

#[test]
fn saved_forests_round_trip_and_damage_is_detected() {
    let (x, y) = data(12);
    let mut small = Forest::new(y, 3);
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    small
        .grow(&features, &options(ForestVariant::Mixed, 9), 2, jobs(1))
        .unwrap();
    let bytes = small.to_bytes();
    assert_eq!(Forest::from_bytes(&bytes).unwrap(), small);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x04;
        for bad in [&bytes[..at], &damaged] {
            let error = Forest::from_bytes(bad).unwrap_err().to_string();
            assert!(error.contains("saved forest"), "{at}: {error}");
        }
    }
}

#[test]
fn interruption_and_mismatched_data_are_errors() {
    let (x, y) = data(30);
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    let mut stopped = Forest::new(y.clone(), 3);
    let interrupt = Interrupt::new();
    interrupt.request();
    let stop = Jobs {
        interrupt: &interrupt,
        ..jobs(1)
    };
    let many = stopped.grow(&features, &options(ForestVariant::Mixed, 1), 100_000, stop);
    assert!(many.is_err() && stopped.trees() == 0);
    let mut other = Forest::new(y.clone(), 2);
    assert!(other
        .grow(&features, &options(ForestVariant::Mixed, 1), 1, jobs(1))
        .is_err());
    let whole = forest(&x, &y, &options(ForestVariant::Mixed, 1), 1);
    let part = x.slice_axis(ndarray::Axis(0), (0..5).into());
    let outside = whole.map_shares(part, 0.5, Voters::OutOfBag, jobs(1), || (), |(), _| Ok(()));
    assert!(outside.is_err());
    let negative = whole.map_shares(part, -1.0, Voters::All, jobs(1), || (), |(), _| Ok(()));
    assert!(negative.is_err());
}
