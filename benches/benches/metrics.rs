//! The rank correlation τ_X over a batch of rankings, for few labels (vector instructions) and many labels (counting
//! inversions).

use bucketrank_benches::rankings;
use bucketrank_core::metrics::{tau_x, tau_x_of_arrays};
use bucketrank_core::run::Interrupt;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use ndarray::Array2;

fn bench_tau_x(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tau_x");
    // The algorithm changes above 127 and above 1024 labels.
    for (rows, labels) in [
        (100_000, 5),
        (100_000, 26),
        (10_000, 127),
        (10_000, 128),
        (100, 1024),
        (100, 1025),
    ] {
        let truth = rankings(rows, labels, 10, 0.0, 1);
        let predicted = rankings(rows, labels, 10, 0.0, 2);
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(BenchmarkId::new("rows", format!("{rows}x{labels}")), |b| {
            b.iter(|| tau_x(&truth, &predicted, &Interrupt::never()));
        });
    }
    group.finish();
}

/// Includes parsing and validation of the arrays, as in calls from Python.
fn bench_tau_x_of_arrays(criterion: &mut Criterion) {
    let (rows, labels) = (100_000, 26);
    let integers = |seed| {
        let rankings = rankings(rows, labels, 10, 0.0, seed);
        Array2::from_shape_fn((rows, labels), |(i, j)| i64::from(rankings.row(i)[j]))
    };
    let (truth, predicted) = (integers(1), integers(2));
    let (real_truth, real_predicted) = (truth.mapv(|p| p as f64), predicted.mapv(|p| p as f64));
    let mut group = criterion.benchmark_group("tau_x_of_arrays");
    group.throughput(Throughput::Elements(rows as u64));
    group.bench_function("i64", |b| {
        b.iter(|| tau_x_of_arrays(truth.view(), predicted.view(), None, &Interrupt::never()));
    });
    group.bench_function("f64", |b| {
        b.iter(|| {
            tau_x_of_arrays(
                real_truth.view(),
                real_predicted.view(),
                None,
                &Interrupt::never(),
            )
        });
    });
    group.finish();
}

criterion_group!(benches, bench_tau_x, bench_tau_x_of_arrays);
criterion_main!(benches);
