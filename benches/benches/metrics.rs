//! τ_X over a batch of rankings: few labels (vector instructions) and many (counting inversions).

use bucketrank_benches::rankings;
use bucketrank_core::metrics::tau_x;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};

fn tau_x_batches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tau_x");
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
            b.iter(|| tau_x(&truth, &predicted));
        });
    }
    group.finish();
}

criterion_group!(benches, tau_x_batches);
criterion_main!(benches);
