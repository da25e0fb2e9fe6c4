//! Laws of pair counts, pair order matrices (per pair of labels the share of rankings with the first before the second,
//! where ties count half) and the rank correlation τ_X on random rankings.

use bucketrank_core::metrics::{tau_x, tau_x_rows};
use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::pairs::{PairCounts, PairOrderMatrix};
use bucketrank_core::rankings::{Rankings, MISSING};
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use proptest::prelude::*;

/// Random values to rank; with `missing`, some are NaN.
fn values(missing: bool) -> impl Strategy<Value = Array2<f64>> {
    (1..90_usize, 2..9_usize).prop_flat_map(move |(rows, labels)| {
        let value = prop_oneof![
            4 => (0..labels as i64).prop_map(|v| v as f64),
            u32::from(missing) => Just(f64::NAN),
        ];
        proptest::collection::vec(value, rows * labels)
            .prop_map(move |v| Array2::from_shape_vec((rows, labels), v).unwrap())
    })
}

fn with_weights(rankings: &Rankings, weights: &[f64]) -> Rankings {
    let positions =
        Array2::from_shape_fn(
            (rankings.len(), rankings.labels()),
            |(row, label)| match rankings.row(row)[label] {
                MISSING => f64::NAN,
                position => f64::from(position),
            },
        );
    Rankings::new(positions.view(), Some(weights), &Interrupt::never()).unwrap()
}

fn permute_labels(values: &Array2<f64>, order: &[usize]) -> Rankings {
    to_dense_ranks(
        values.select(ndarray::Axis(1), order).view(),
        &Interrupt::never(),
    )
    .unwrap()
}

proptest! {
    #[test]
    fn integer_weights_equal_copies(y in values(true), seed in any::<u64>()) {
        let rankings = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let weights: Vec<usize> = (0..rankings.len()).map(|row| (seed >> (row % 60)) as usize % 3).collect();
        prop_assume!(weights.iter().any(|&w| w > 0));
        let real: Vec<f64> = weights.iter().map(|&w| w as f64).collect();
        let weighted = PairCounts::from_rankings(&with_weights(&rankings, &real), &Interrupt::never()).unwrap();
        let mut copied = PairCounts::empty(rankings.labels()).unwrap();
        for (row, &copies) in weights.iter().enumerate() {
            for _ in 0..copies {
                copied.add(rankings.row(row), 1.0);
            }
        }
        prop_assert_eq!(weighted, copied);
    }

    #[test]
    fn counts_with_unit_weights_equal_row_by_row_counts(y in values(true)) {
        let rankings = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let mut row_by_row = PairCounts::empty(rankings.labels()).unwrap();
        for row in rankings.rows() {
            row_by_row.add(row, 1.0);
        }
        prop_assert_eq!(PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap(), row_by_row);
    }

    #[test]
    fn pair_order_is_complementary(y in values(true)) {
        let rankings = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let c = PairOrderMatrix::from_counts(&PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap());
        for u in 0..c.labels() {
            for v in 0..c.labels() {
                prop_assert!((c.get(u, v) + c.get(v, u) - 1.0).abs() < 1e-15);
                prop_assert!((0.0..=1.0).contains(&c.get(u, v)));
            }
        }
    }

    #[test]
    fn tau_x_is_bounded_and_invariant_to_label_order(y in values(false), any_shift in any::<prop::sample::Index>()) {
        let n = y.ncols();
        let a = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let shift = any_shift.index(n);
        let order: Vec<usize> = (0..n).map(|label| (label + shift) % n).collect();
        let b = permute_labels(&y, &order);
        prop_assert_eq!(tau_x(&a, &a, &Interrupt::never()).unwrap(), 1.0);
        let value = tau_x(&a, &b, &Interrupt::never()).unwrap();
        prop_assert!((-1.0..=1.0).contains(&value));
        // Permuting the labels of both rankings in the same way changes nothing.
        let (pa, pb) = (permute_labels(&y, &order), {
            let twice: Vec<usize> = order.iter().map(|&label| order[label]).collect();
            permute_labels(&y, &twice)
        });
        prop_assert_eq!(tau_x_rows(&pa, &pb, &Interrupt::never()).unwrap(), tau_x_rows(&a, &b, &Interrupt::never()).unwrap());
    }

    #[test]
    fn dropping_keeps_the_order_of_remaining_labels(y in values(true), fraction in 0.0..=1.0_f64, seed in any::<u64>()) {
        let rankings = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let dropped = drop_labels(&rankings, fraction, seed).unwrap();
        for (old, new) in rankings.rows().zip(dropped.rows()) {
            for u in 0..old.len() {
                prop_assert!(new[u] == MISSING || old[u] != MISSING);
                for v in 0..old.len() {
                    if new[u] != MISSING && new[v] != MISSING {
                        prop_assert_eq!(old[u].cmp(&old[v]), new[u].cmp(&new[v]));
                    }
                }
            }
        }
    }
}
