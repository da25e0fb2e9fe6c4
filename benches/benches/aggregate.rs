//! Counting the evidence (statistics of pairs and rows) and aggregating it, for 26 labels, as in the dataset letter,
//! and for increasing numbers of labels.

use std::hint::black_box;
use std::time::Duration;

use bucketrank_core::aggregate::{
    aggregate_pair_orders, Aggregator, BatchOptions, Borda, BucketPivot, Copeland, Evidence,
    MarkovChain, MaximalLottery, Needs, TauX, TauXSearch, Workspace,
};
use bucketrank_core::pairs::PairOrderMatrix;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const LABELS: usize = 26;

fn aggregators() -> Vec<(&'static str, Aggregator)> {
    let chain = |variant| Aggregator::MarkovChain(MarkovChain::new(variant).expect("1 to 4"));
    vec![
        ("borda", Aggregator::Borda(Borda::default())),
        ("copeland", Aggregator::Copeland(Copeland::default())),
        (
            "bucket_pivot",
            Aggregator::BucketPivot(BucketPivot::default()),
        ),
        ("mc1", chain(1)),
        ("mc2", chain(2)),
        ("mc3", chain(3)),
        ("mc4", chain(4)),
        ("lottery", Aggregator::MaximalLottery(MaximalLottery)),
        ("tau_x_cut", Aggregator::TauX(TauX::default())),
        (
            "tau_x_local",
            Aggregator::TauX(TauX::new(TauXSearch::Local, None)),
        ),
    ]
}

/// Noisy versions of the order 0, 1, 2, …, computed from rounded values so that ties occur.
fn rankings(rows: usize, labels: usize, seed: u64) -> Rankings {
    let mut rng = Pcg64::seed_from_u64(seed);
    let spread = labels as f64;
    let values = Array2::from_shape_fn((rows, labels), |(_, label)| {
        (label as f64 + spread * rng.random::<f64>()).round()
    });
    bucketrank_core::missing::to_dense_ranks(values.view(), &Interrupt::never())
        .expect("finite values")
}

/// Independent uniform shares per pair of labels, without a Condorcet winner: if a label beats all others, the result
/// of its comparison with the next label is reversed.
fn random_pair_order(labels: usize, seed: u64) -> PairOrderMatrix {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut c = Array2::from_elem((labels, labels), 0.5);
    for u in 0..labels {
        for v in u + 1..labels {
            c[[u, v]] = rng.random::<f64>();
            c[[v, u]] = 1.0 - c[[u, v]];
        }
    }
    for u in 0..labels {
        if (0..labels).all(|v| v == u || c[[u, v]] > 0.5) {
            let v = (u + 1) % labels;
            c.swap([u, v], [v, u]);
        }
    }
    PairOrderMatrix::new(c.view()).expect("complementary shares")
}

fn bench_evidence(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("evidence");
    let many = rankings(200, LABELS, 1);
    for needs in [
        Needs::PairOrder,
        Needs::Shares,
        Needs::Counts,
        Needs::RowStatistics,
    ] {
        group.bench_function(
            BenchmarkId::new("200_rankings", format!("{needs:?}")),
            |b| {
                b.iter(|| Evidence::from_rankings(black_box(&many), needs, &Interrupt::never()));
            },
        );
        let mut evidence = Evidence::new(LABELS, needs).expect("few labels");
        for rows in [1, 3, 10] {
            let id = BenchmarkId::new(format!("fill_{rows}_rows"), format!("{needs:?}"));
            group.bench_function(id, |b| {
                b.iter(|| evidence.fill(black_box(&many), 0..rows, &Interrupt::never()));
            });
        }
    }
    let dropped = bucketrank_core::missing::drop_labels(&many, 0.3, 2).expect("a share");
    let mut evidence = Evidence::new(LABELS, Needs::PairOrder).expect("few labels");
    group.bench_function("fill_1_rows/incomplete", |b| {
        b.iter(|| evidence.fill(black_box(&dropped), 0..1, &Interrupt::never()));
    });
    group.finish();
}

fn bench_consensus(criterion: &mut Criterion) {
    let mut workspace = Workspace::default();
    for rows in [1, 200] {
        let mut group = criterion.benchmark_group(format!("consensus_of_{rows}"));
        let y = rankings(rows, LABELS, 3);
        let evidence = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never())
            .expect("few labels");
        for (name, aggregator) in aggregators() {
            group.bench_function(name, |b| {
                b.iter(|| aggregator.aggregate(black_box(&evidence), &mut workspace));
            });
        }
        group.finish();
    }
}

fn serial_options<'a>(aggregator: &'a Aggregator, interrupt: &'a Interrupt) -> BatchOptions<'a> {
    BatchOptions {
        aggregator,
        n_jobs: 1,
        interrupt,
    }
}

fn bench_batch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_of_100");
    let interrupt = Interrupt::new();
    let matrices: Vec<_> = (0..100)
        .map(|seed| random_pair_order(LABELS, seed))
        .collect();
    for (name, aggregator) in aggregators() {
        if aggregator.needs() == Needs::PairOrder {
            group.bench_function(name, |b| {
                b.iter(|| {
                    aggregate_pair_orders(
                        serial_options(&aggregator, &interrupt),
                        black_box(&matrices),
                    )
                });
            });
        }
    }
    // A small set of rankings with missing labels has many maximal lotteries, so the search for the fairest one is
    // measured.
    let sparse: Vec<_> = (0..100)
        .map(|seed| {
            let y = rankings(5, LABELS, seed);
            bucketrank_core::missing::drop_labels(&y, 0.6, seed).expect("a share")
        })
        .map(|y| {
            Evidence::from_rankings(&y, Needs::PairOrder, &Interrupt::never()).expect("few labels")
        })
        .map(|evidence| evidence.pair_order().clone())
        .collect();
    let lottery = Aggregator::MaximalLottery(MaximalLottery);
    group.bench_function("lottery_sparse", |b| {
        b.iter(|| aggregate_pair_orders(serial_options(&lottery, &interrupt), black_box(&sparse)));
    });
    group.finish();
}

/// Measures how the time grows with the number of labels.
fn bench_growth(criterion: &mut Criterion) {
    let mut workspace = Workspace::default();
    let mut group = criterion.benchmark_group("growth");
    for labels in [10, 50, 100, 200] {
        let y = rankings(50, labels, 4);
        let evidence = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never())
            .expect("few labels");
        for (name, aggregator) in aggregators() {
            group.bench_function(BenchmarkId::new(name, labels), |b| {
                b.iter(|| aggregator.aggregate(black_box(&evidence), &mut workspace));
            });
        }
        let random = Evidence::from_pair_order(random_pair_order(labels, 5));
        let lottery = Aggregator::MaximalLottery(MaximalLottery);
        group.bench_function(BenchmarkId::new("lottery_random", labels), |b| {
            b.iter(|| lottery.aggregate(black_box(&random), &mut workspace));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = bench_evidence, bench_consensus, bench_batch, bench_growth
}
criterion_main!(benches);
