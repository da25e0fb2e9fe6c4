//! Times of the counting kernels relative to `add_row`, the kernel for rows of any weight, which could replace all
//! others.
//!
//! `cargo test --release -p bucketrank-core --lib kernel_times -- --ignored --nocapture` prints the ratios stated in
//! the comments of the kernels. The runs of two kernels alternate, and the shortest time of each counts, so that the
//! ratios are repeatable on a busy machine.

use std::time::{Duration, Instant};

use ndarray::Array2;

use super::{columns, BytePairCounter, FewRows, PairCounts, PairTable, RowPairCounter};
use crate::pairs::{PairOrderMatrix, PairShares};
use crate::random::Generator;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

fn rankings(rows: usize, labels: usize) -> Rankings {
    let mut generator = Generator::new(7);
    let table = Array2::from_shape_simple_fn((rows, labels), || generator.below(labels) as i64);
    let dense = table.rows().into_iter().flat_map(|row| {
        let mut values = row.to_vec();
        values.sort_unstable();
        values.dedup();
        row.mapv(|value| values.partition_point(|&other| other < value) as i64 + 1)
    });
    let dense = Array2::from_shape_vec((rows, labels), dense.collect()).unwrap();
    Rankings::new(dense.view(), None, &Interrupt::never()).unwrap()
}

/// Shortest times of two functions, run alternately for a fifth of a second.
fn shortest(mut first: impl FnMut(), mut second: impl FnMut()) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(200) {
        for (index, best) in best.iter_mut().enumerate() {
            let turn = Instant::now();
            if index == 0 {
                first();
            } else {
                second();
            }
            *best = turn.elapsed().min(*best);
        }
    }
    best
}

struct AddRows<'a>(&'a Rankings, &'a mut PairTable<f64>);

impl Kernel for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.0.rows() {
            super::rows::add_row(self.1, row, 1.0);
        }
    }
}

fn report(kernel: &str, rankings: &Rankings, run: impl FnMut()) {
    let mut table = PairTable::new(rankings.labels());
    let [by_add_row, own] = shortest(|| dispatch(AddRows(rankings, &mut table)), run);
    let ratio = by_add_row.as_secs_f64() / own.as_secs_f64();
    let (rows, labels) = (rankings.len(), rankings.labels());
    println!("{kernel:>14} {rows:>6} rows {labels:>4} labels: {ratio:.2} times as fast as add_row");
}

#[test]
#[ignore = "prints times; asserts nothing about them"]
fn kernel_times() {
    for (rows, labels) in [
        (2, 5),
        (2, 26),
        (10, 5),
        (10, 26),
        (100, 5),
        (100, 26),
        (200, 100),
        (200, 200),
        (5000, 5),
        (5000, 26),
        (5000, 100),
    ] {
        let rankings = rankings(rows, labels);
        let mut table = PairTable::new(labels);
        let mut bytes = BytePairCounter::default();
        let counter = RowPairCounter::new(&rankings, rankings.weights());
        report("RowPairCounter", &rankings, || {
            counter.add(0..rows, &mut table, &mut bytes);
        });
        if columns::suits(&rankings) {
            let mut ranked = vec![0.0; labels];
            report("columns", &rankings, || {
                columns::count_all(&rankings, &mut table, &mut ranked, &Interrupt::never())
                    .unwrap();
            });
        }
        if rows <= FewRows::MAX_ROWS {
            report_few_rows(&rankings);
        }
    }
}

/// Prints the speed of [`FewRows`] relative to counting the pairs and dividing the counts.
fn report_few_rows(rankings: &Rankings) {
    let (rows, labels) = (rankings.len(), rankings.labels());
    let all: Vec<usize> = (0..rows).collect();
    let mut few = FewRows::default();
    let mut bytes = [BytePairCounter::default(), BytePairCounter::default()];
    let [own, other] = &mut bytes;
    let mut counts = PairCounts::empty(labels).unwrap();
    let mut order = PairOrderMatrix::from_counts(&counts);
    let mut shares = PairShares::unknown(labels).unwrap();
    let [divided, direct] = shortest(
        || {
            counts
                .fill(rankings, &all, other, &Interrupt::never())
                .unwrap();
            std::hint::black_box(PairOrderMatrix::from_counts(&counts));
            std::hint::black_box(PairShares::from_counts(&counts).unwrap());
        },
        || few.write(rankings, &all, own, &mut order, Some(&mut shares)),
    );
    let ratio = divided.as_secs_f64() / direct.as_secs_f64();
    println!("      few_rows {rows:>6} rows {labels:>4} labels: {ratio:.2} times as fast as counts and divisions");
}
