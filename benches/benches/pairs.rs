//! Parsing arrays of positions, and counting per pair of labels the rows with the first label before, tied with or
//! after the second.

use bucketrank_benches::rankings;
use bucketrank_core::pairs::PairCounts;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use ndarray::Array2;

fn bench_pair_counts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair counts");
    for (labels, missing) in [(5, 0.0), (26, 0.0), (26, 0.3), (100, 0.0)] {
        let y = rankings(20_000, labels, 10, missing, 1);
        group.throughput(Throughput::Elements(20_000));
        group.bench_function(
            BenchmarkId::new("20000 rows", format!("{labels} labels, {missing} missing")),
            |b| b.iter(|| PairCounts::from_rankings(&y, &Interrupt::never())),
        );
    }
    group.finish();
}

fn bench_parsing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parsing");
    let y = rankings(100_000, 26, 10, 0.0, 1);
    let whole = Array2::from_shape_fn((100_000, 26), |(row, label)| i64::from(y.row(row)[label]));
    let real = whole.mapv(|p| p as f64);
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("i64", |b| {
        b.iter(|| Rankings::new(whole.view(), None, &Interrupt::never()));
    });
    group.bench_function("f64", |b| {
        b.iter(|| Rankings::new(real.view(), None, &Interrupt::never()));
    });
    group.finish();
}

criterion_group!(benches, bench_pair_counts, bench_parsing);
criterion_main!(benches);
