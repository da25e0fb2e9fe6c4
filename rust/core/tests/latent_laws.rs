//! Laws of the latent model of rankings with ties. Its scores are n utilities, then n tie terms, for n labels; they
//! determine the shares of before, tied and after of each pair of labels.

use bucketrank_core::latent::{pair_shares, Derivatives, LatentRow};
use proptest::prelude::*;

/// Scores and positions of two to seven labels, with missing labels.
fn rows() -> impl Strategy<Value = (Vec<f64>, Vec<u16>)> {
    (2_usize..8).prop_flat_map(|n| {
        let scores = prop::collection::vec(-4.0..4.0_f64, 2 * n);
        let positions = prop::collection::vec(0..4_u16, n);
        (scores, positions)
    })
}

fn shares(scores: &[f64]) -> [Vec<f64>; 3] {
    let n = scores.len() / 2;
    // Per plane (before, tied, after) one share per pair.
    let mut planes: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; n * (n - 1) / 2]);
    LatentRow::new(scores).write_shares(planes.each_mut().map(Vec::as_mut_slice));
    planes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shares_sum_to_one_and_equal_pairwise_shares((scores, _) in rows()) {
        let n = scores.len() / 2;
        let planes = shares(&scores);
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        for (pair, (u, v)) in pairs.enumerate() {
            let found = [planes[0][pair], planes[1][pair], planes[2][pair]];
            let exact = pair_shares([scores[u], scores[v]], [scores[n + u], scores[n + v]]);
            prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            for (found, exact) in found.iter().zip(exact) {
                prop_assert!((found - exact).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn shifted_utilities_give_equal_shares((scores, positions) in rows(), shift in -50.0..50.0_f64) {
        let n = scores.len() / 2;
        let mut shifted = scores.clone();
        for utility in &mut shifted[..n] {
            *utility += shift;
        }
        for (a, b) in shares(&scores).iter().flatten().zip(shares(&shifted).iter().flatten()) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        let (a, b) = (LatentRow::new(&scores), LatentRow::new(&shifted));
        let difference = a.log_likelihood(&positions) - b.log_likelihood(&positions);
        prop_assert!(difference.abs() < 1e-10);
    }

    #[test]
    fn swapped_labels_swap_before_and_after((scores, _) in rows()) {
        let n = scores.len() / 2;
        let row = LatentRow::new(&scores);
        for u in 0..n {
            for v in 0..n {
                let (forward, backward) = (row.shares(u, v), row.shares(v, u));
                prop_assert!((forward[0] - backward[2]).abs() < 1e-15);
                prop_assert!((forward[1] - backward[1]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn derivatives_equal_finite_differences((scores, positions) in rows()) {
        let n = scores.len() / 2;
        let mut found = Derivatives::new(n);
        LatentRow::new(&scores).add_derivatives(&positions, 1.0, &mut found);
        let step = 1e-5;
        for output in 0..2 * n {
            let at = |offset: f64| {
                let mut moved = scores.clone();
                moved[output] += offset;
                let mut derivatives = Derivatives::new(n);
                let row = LatentRow::new(&moved);
                row.add_derivatives(&positions, 1.0, &mut derivatives);
                (row.log_likelihood(&positions), derivatives.gradient[output])
            };
            let (up, down) = (at(step), at(-step));
            let slope = (up.0 - down.0) / (2.0 * step);
            prop_assert!((found.gradient[output] - slope).abs() < 1e-7);
            // The curvature is the negative second derivative.
            let curvature = (down.1 - up.1) / (2.0 * step);
            prop_assert!((found.curvature[output] - curvature).abs() < 1e-7);
        }
    }

    #[test]
    fn finite_scores_give_finite_results(
        scores in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 8),
        positions in prop::collection::vec(0..4_u16, 4),
    ) {
        let planes = shares(&scores);
        let [before, tied, after] = &planes;
        for ((before, tied), after) in before.iter().zip(tied).zip(after) {
            prop_assert!((before + tied + after - 1.0).abs() < 1e-12);
        }
        let row = LatentRow::new(&scores);
        prop_assert!(row.log_likelihood(&positions).is_finite());
        let mut derivatives = Derivatives::new(4);
        row.add_derivatives(&positions, 1.0, &mut derivatives);
        prop_assert!(derivatives.gradient.iter().all(|g| g.is_finite()));
        prop_assert!(derivatives.curvature.iter().all(|&c| c.is_finite() && c >= 0.0));
    }
}
