//! Fitting and applying trees on data with the shape of the largest benchmark dataset: 20000 rows, 16 features of 16
//! values each, 26 labels in a few buckets.

use std::hint::black_box;

use bucketrank_core::aggregate::{Aggregator, Borda};
use bucketrank_core::features::Features;
use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use bucketrank_core::saved::SavedModel as _;
use bucketrank_core::tree::{FittedTree, Tree, TreeParams};
use criterion::{criterion_group, criterion_main, Criterion};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const ROWS: usize = 20_000;
const FEATURES: usize = 16;
const LABELS: usize = 26;

/// Rows scattered around one centre per label; each row ranks the labels by the distance of their centres.
fn generate_data() -> (Array2<f64>, Rankings) {
    let mut rng = Pcg64::seed_from_u64(1);
    let centres = Array2::from_shape_fn((LABELS, FEATURES), |_| rng.random::<f64>() * 15.0);
    let mut x = Array2::zeros((ROWS, FEATURES));
    let mut y = Array2::zeros((ROWS, LABELS));
    for row in 0..ROWS {
        let label = row % LABELS;
        for feature in 0..FEATURES {
            let noise: f64 = (0..3).map(|_| rng.random::<f64>() - 0.5).sum();
            let value = centres[[label, feature]] + 4.0 * noise;
            x[[row, feature]] = value.round().clamp(0.0, 15.0);
        }
        for other in 0..LABELS {
            let difference = &x.row(row) - &centres.row(other);
            let distance = difference.dot(&difference).sqrt();
            // Distant labels share the last bucket.
            y[[row, other]] = (distance / 2.0).floor().min(7.0);
        }
    }
    let rankings = to_dense_ranks(y.view(), &Interrupt::never()).expect("distances can be ranked");
    (x, rankings)
}

fn bench_tree(c: &mut Criterion) {
    let (x, complete) = generate_data();
    let incomplete = drop_labels(&complete, 0.3, 2).expect("0.3 is a share");
    let params = TreeParams::default();
    let fit = |rankings: &Rankings| {
        let features = Features::new(x.view(), &Interrupt::never()).expect("finite features");
        Tree::fit(&features, rankings, &params, None, &Interrupt::never()).expect("no interrupt")
    };
    let mut group = c.benchmark_group("tree");
    group.sample_size(10);
    group.bench_function("features", |b| {
        b.iter(|| {
            Features::new(black_box(x.view()), &Interrupt::never()).expect("finite features")
        });
    });
    group.bench_function("fit, complete", |b| b.iter(|| fit(black_box(&complete))));
    group.bench_function("fit, 30 % missing", |b| {
        b.iter(|| fit(black_box(&incomplete)));
    });
    let tree = fit(&complete);
    group.bench_function("apply", |b| {
        b.iter(|| {
            let leaves = tree.apply(black_box(x.view()), &Interrupt::never());
            leaves.expect("as in training")
        });
    });
    let borda = Aggregator::Borda(Borda::default());
    let features = Features::new(x.view(), &Interrupt::never()).expect("finite features");
    let fitted = FittedTree::fit(&features, complete, &params, &borda, &Interrupt::never());
    let bytes = fitted.expect("not interrupted").to_bytes();
    group.bench_function("from_bytes", |b| {
        b.iter(|| FittedTree::from_bytes(black_box(&bytes)).expect("valid bytes"));
    });
    group.finish();
}

criterion_group!(benches, bench_tree);
criterion_main!(benches);
