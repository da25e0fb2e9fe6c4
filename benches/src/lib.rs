//! Seeded data for the benches: no files, no network.

use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Random bucket orders with at most `values` buckets, from which each label is dropped with probability `missing`.
///
/// # Panics
/// When there are no rows or fewer than two labels, `values` is not positive or `missing` is not in [0, 1].
#[must_use]
pub fn rankings(rows: usize, labels: usize, values: i64, missing: f64, seed: u64) -> Rankings {
    let mut rng = Pcg64::seed_from_u64(seed);
    let y = Array2::from_shape_simple_fn((rows, labels), || rng.random_range(0..values));
    let complete = to_dense_ranks(y.view(), &Interrupt::never()).expect("a valid shape");
    drop_labels(&complete, missing, seed).expect("`missing` is in [0, 1]")
}
