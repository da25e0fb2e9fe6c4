//! Aggregators on degenerate inputs: no comparisons, all labels tied, extreme weights, many labels.

use std::time::{Duration, Instant};

use bucketrank_core::aggregate::{
    Aggregator, Borda, BucketPivot, Copeland, Davidson, Details, Evidence, Kemeny, MarkovChain,
    MaximalLottery, Needs, RankedPairs, ReciprocalRankFusion, Schulze, TauX, TauXSearch, Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::Error;
use bucketrank_core::missing::{drop_labels, to_dense_ranks};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::{array, Array2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const NAN: f64 = f64::NAN;

/// Methods that neither search for an optimum nor fit a model.
fn direct_aggregators() -> Vec<Aggregator> {
    let mut all = vec![
        Aggregator::Borda(Borda::default()),
        Aggregator::Copeland(Copeland::default()),
        Aggregator::BucketPivot(BucketPivot::default()),
        Aggregator::MaximalLottery(MaximalLottery),
        Aggregator::Schulze(Schulze),
        Aggregator::RankedPairs(RankedPairs),
    ];
    all.extend((1..=4).map(|variant| Aggregator::MarkovChain(MarkovChain::new(variant).unwrap())));
    all
}

fn consensus(aggregator: &Aggregator, y: &Rankings) -> BucketOrder {
    let evidence = Evidence::from_rankings(y, aggregator.needs(), &Interrupt::never()).unwrap();
    aggregator
        .aggregate(&evidence, &mut Workspace::default())
        .unwrap()
}

/// Checks that the intermediate results of every method, such as scores, are finite.
fn assert_finite_details(y: &Rankings) {
    let evidence = Evidence::from_rankings(y, Needs::RowStatistics, &Interrupt::never()).unwrap();
    let tau_x = [TauXSearch::Cut, TauXSearch::Local].map(|s| Aggregator::TauX(TauX::new(s, None)));
    // Davidson's fit and Kemeny's search take too long on 200 labels.
    let davidson = (y.labels() <= 64).then_some(Aggregator::Davidson(Davidson::default()));
    let others = [
        Aggregator::Kemeny(Kemeny::default()),
        Aggregator::ReciprocalRankFusion(ReciprocalRankFusion::default()),
    ];
    let others = others.into_iter().filter(|_| y.labels() <= 64);
    let all = direct_aggregators().into_iter().chain(tau_x);
    for aggregator in all.chain(davidson).chain(others) {
        let explained = aggregator
            .explain(&evidence, &mut Workspace::default())
            .unwrap();
        let numbers = match explained.details {
            Details::Scores { scores }
            | Details::Kemeny { scores, .. }
            | Details::RankedPairs { scores, .. } => scores,
            Details::BucketPivot { indecision, .. } => indecision,
            Details::MarkovChain {
                stationary,
                residual,
            } => {
                assert!(residual < 1e-14, "{aggregator:?}");
                assert!((stationary.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                stationary
            }
            Details::MaximalLottery {
                probabilities,
                margin,
                ..
            } => {
                assert!(margin >= -1e-9);
                probabilities
            }
            Details::TauX {
                scores,
                expected_tau_x,
                upper_bound,
                ..
            } => {
                assert!(expected_tau_x.is_finite() && expected_tau_x <= upper_bound + 1e-12);
                scores
            }
            Details::External => panic!("no external method is tested here"),
            Details::Davidson {
                utilities,
                utility_errors,
                ..
            } => {
                assert!(utility_errors.iter().all(|&error| error > 0.0));
                utilities
            }
        };
        assert_eq!(numbers.len(), y.labels());
        assert!(numbers.iter().all(|x| x.is_finite()), "{aggregator:?}");
    }
}

#[test]
fn unknown_or_tied_pairs_give_one_bucket() {
    let inputs = [
        array![[NAN, NAN, NAN]],
        array![[NAN, 1.0, NAN], [NAN, NAN, NAN]],
        array![[1.0, NAN, NAN], [NAN, 1.0, NAN], [NAN, NAN, 1.0]],
        array![[1.0, 1.0, 1.0], [1.0, 1.0, NAN]],
    ];
    for y in inputs {
        let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        assert_finite_details(&y);
        for aggregator in direct_aggregators() {
            let order = consensus(&aggregator, &y);
            // By definition, the Markov chains MC1 to MC3 stay at a label that is ranked alone.
            let favours_single_labels =
                matches!(aggregator, Aggregator::MarkovChain(c) if c.variant() < 4);
            if !favours_single_labels || y.is_complete() {
                assert_eq!(order, BucketOrder::all_tied(3), "{aggregator:?}");
            }
        }
    }
}

#[test]
fn two_labels_keep_their_order() {
    let y = Rankings::new(array![[1.0, 2.0]].view(), None, &Interrupt::never()).unwrap();
    for aggregator in direct_aggregators() {
        assert_eq!(
            consensus(&aggregator, &y).positions(),
            [1, 2],
            "{aggregator:?}"
        );
    }
    assert_finite_details(
        &Rankings::new(
            array![[1.0, 2.0], [2.0, 1.0]].view(),
            None,
            &Interrupt::never(),
        )
        .unwrap(),
    );
}

#[test]
fn extreme_weights_give_finite_results() {
    let y = array![
        [1.0, 2.0, 3.0, NAN],
        [3.0, 2.0, 1.0, NAN],
        [NAN, NAN, 2.0, 1.0],
        [1.0, 1.0, NAN, 2.0]
    ];
    let weights = [
        [1e-300, 1e-300, 2e-300, 1e-300],
        [1e300, 1e300, 2e300, 1e300],
        [4e307, 4e307, 4e307, 4e307],
    ];
    for weights in weights {
        assert_finite_details(
            &Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap(),
        );
    }
    // A weight that would be lost beside the largest one is refused.
    let refused = Rankings::new(
        y.view(),
        Some(&[1e300, 1e-300, 1e-300, 1e300]),
        &Interrupt::never(),
    );
    assert!(matches!(refused, Err(Error::WeightRange { row: 1, .. })));
    // The scale of the weights does not matter.
    let results = [1.0, 1e-300, 1e300].map(|scale| {
        let weights = [3.0, 2.0, 1.0, 1.0].map(|w| w * scale);
        let y = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        direct_aggregators()
            .into_iter()
            .map(|a| consensus(&a, &y))
            .collect::<Vec<_>>()
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn markov_chains_of_nearly_disconnected_groups_are_exact() {
    // Labels 0..50 and 50..100 are ranked in different rows, all tied; one row of weight 1e-12 ties all labels, and
    // one of weight 3e-12 has the first group before the second.
    let n = 100;
    let y = Array2::from_shape_fn((4, n), |(row, label)| match (row, label < 50) {
        (0, false) | (1, true) => NAN,
        (3, false) => 2.0,
        _ => 1.0,
    });
    let y = Rankings::new(
        y.view(),
        Some(&[1.0, 1.0, 1e-12, 3e-12]),
        &Interrupt::never(),
    )
    .unwrap();
    let evidence = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never()).unwrap();
    let chain = Aggregator::MarkovChain(MarkovChain::new(3).unwrap());
    let Details::MarkovChain { stationary, .. } = chain
        .explain(&evidence, &mut Workspace::default())
        .unwrap()
        .details
    else {
        panic!("details of another method");
    };
    // Transitions to the second group and back have the ratio 1 : 4. So the groups have the stationary probabilities
    // 4/5 and 1/5, which are spread evenly over their labels.
    for (label, p) in stationary.iter().enumerate() {
        let expected = if label < 50 { 0.8 } else { 0.2 } / 50.0;
        assert!((p - expected).abs() < 1e-12, "{p} {expected}");
    }
}

#[test]
fn two_hundred_labels_take_less_than_a_second() {
    let mut rng = Pcg64::seed_from_u64(3);
    let values = Array2::from_shape_fn((12, 200), |_| rng.random_range(0.0..60.0_f64).round());
    let complete = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
    let halves = Array2::from_shape_fn((6, 200), |(row, label)| {
        if (row < 3) == (label < 100) {
            values[[row, label]]
        } else {
            NAN
        }
    });
    let inputs = [
        drop_labels(&complete, 0.6, 1).unwrap(),
        drop_labels(&complete, 0.95, 1).unwrap(),
        to_dense_ranks(halves.view(), &Interrupt::never()).unwrap(),
        to_dense_ranks(Array2::<f64>::zeros((1, 200)).view(), &Interrupt::never()).unwrap(),
        complete,
    ];
    for y in &inputs {
        let evidence =
            Evidence::from_rankings(y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        for aggregator in direct_aggregators() {
            let start = Instant::now();
            aggregator
                .explain(&evidence, &mut Workspace::default())
                .unwrap();
            let taken = start.elapsed();
            assert!(taken < Duration::from_secs(1), "{aggregator:?}: {taken:?}");
        }
        assert_finite_details(y);
    }
}

#[test]
fn lottery_of_a_large_degenerate_game_is_equivariant() {
    let mut rng = Pcg64::seed_from_u64(5);
    let lottery = |y: &Rankings| {
        let evidence = Evidence::from_rankings(y, Needs::PairOrder, &Interrupt::never()).unwrap();
        let lottery = Aggregator::MaximalLottery(MaximalLottery);
        match lottery
            .explain(&evidence, &mut Workspace::default())
            .unwrap()
            .details
        {
            Details::MaximalLottery {
                probabilities,
                unique,
                ..
            } => (probabilities, unique),
            other => panic!("{other:?}"),
        }
    };
    for _ in 0..150 {
        let (rows, labels) = (rng.random_range(2..14), rng.random_range(20..120));
        let levels = rng.random_range(2.0..30.0);
        let missing = rng.random_range(0.0..0.8);
        let values = Array2::from_shape_fn((rows, labels), |_| {
            if rng.random::<f64>() < missing {
                NAN
            } else {
                (levels * rng.random::<f64>()).round()
            }
        });
        let reversed = Array2::from_shape_fn(values.dim(), |(r, l)| values[[r, labels - 1 - l]]);
        let (mut p, unique) = lottery(&to_dense_ranks(values.view(), &Interrupt::never()).unwrap());
        let (q, also_unique) =
            lottery(&to_dense_ranks(reversed.view(), &Interrupt::never()).unwrap());
        p.reverse();
        assert_eq!(unique, also_unique);
        assert!(p.iter().zip(&q).all(|(p, q)| (p - q).abs() < 1e-9));
    }
}
