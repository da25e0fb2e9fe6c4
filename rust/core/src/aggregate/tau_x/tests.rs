use super::*;
use crate::aggregate::{Borda, Copeland, MarkovChain, MaximalLottery};
use crate::rankings::Rankings;
use crate::run::Interrupt;
use ndarray::{array, Array2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Every bucket order of n labels.
fn all_orders(n: usize) -> Vec<BucketOrder> {
    fn extend(positions: &mut Vec<u16>, n: usize, out: &mut Vec<BucketOrder>) {
        if positions.len() == n {
            let last = positions.iter().copied().max().unwrap_or(0);
            if (1..=last).all(|p| positions.contains(&p)) {
                out.push(BucketOrder::from_dense(positions.clone()));
            }
            return;
        }
        for position in 1..=n as u16 {
            positions.push(position);
            extend(positions, n, out);
            positions.pop();
        }
    }
    let mut out = Vec::new();
    extend(&mut Vec::new(), n, &mut out);
    out
}

/// Arbitrary shares on a coarse grid, so that equal values are common.
fn random_shares(n: usize, levels: u32, rng: &mut Pcg64) -> PairShares {
    let mut table = Array2::from_shape_fn((n * (n - 1) / 2, 3), |(_, column)| {
        // Few ties: with many, tying everything would always be best.
        let scale = if column == 1 { 0.2 } else { 1.0 };
        scale * f64::from(rng.random_range(0..=levels))
    });
    for mut row in table.rows_mut() {
        let sum: f64 = row.sum();
        row.mapv_inplace(|x| if sum > 0.0 { x / sum } else { 0.0 });
    }
    PairShares::new(table.view()).unwrap()
}

fn find(shares: &PairShares, search: TauXSearch, order: Option<Scorer>) -> (BucketOrder, f64) {
    let evidence = Evidence::from_pair_shares(shares.clone());
    let order = TauX::new(search, order)
        .aggregate(&evidence, &mut Workspace::default())
        .unwrap();
    let value = shares.expected_tau_x(&order);
    (order, value)
}

#[test]
fn exact_search_finds_the_best_of_all_bucket_orders() {
    let mut rng = Pcg64::seed_from_u64(1);
    for n in 2..=6 {
        let orders = all_orders(n);
        for round in 0..40 {
            let shares = random_shares(n, 1 + round % 9, &mut rng);
            let best = orders
                .iter()
                .map(|order| shares.expected_tau_x(order))
                .fold(f64::NEG_INFINITY, f64::max);
            let [cut, local, exact] = [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact]
                .map(|s| find(&shares, s, None).1);
            assert!((exact - best).abs() < 1e-12, "{n} {round}: {exact} {best}");
            assert!(best >= local - 1e-12 && local >= cut - 1e-12);
        }
    }
}

#[test]
fn cut_is_optimal_for_its_order() {
    let mut rng = Pcg64::seed_from_u64(2);
    for n in 2..=7 {
        for round in 0..40 {
            let shares = random_shares(n, 1 + round % 9, &mut rng);
            let mut cutter = BucketCutter::default();
            cutter.read_shares(&shares);
            let mut order: Vec<usize> = (0..n).collect();
            order.rotate_left(round as usize % n);
            cutter.joined_labels.clear();
            let value = shares.expected_tau_x(&cutter.cut_order(&order));
            for boundaries in 0..1_usize << (n - 1) {
                let mut positions = vec![1; n];
                for place in 1..n {
                    let step = (boundaries >> (place - 1) & 1) as u16;
                    positions[order[place]] = positions[order[place - 1]] + step;
                }
                let other = shares.expected_tau_x(&BucketOrder::from_dense(positions));
                assert!(value >= other - 1e-9, "{n} {round} {boundaries:b}");
            }
        }
    }
}

#[test]
fn labels_without_evidence_are_tied() {
    let shares = PairShares::unknown(4).unwrap();
    for search in [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact] {
        assert_eq!(find(&shares, search, None).0, BucketOrder::all_tied(4));
    }
    // 0 before 1, and 2 and 3 are unknown: tied with each other and with one of the known labels.
    let mut shares = PairShares::unknown(4).unwrap();
    shares.planes_mut()[0][0] = 1.0;
    for search in [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact] {
        let positions = find(&shares, search, None).0.positions().to_vec();
        assert!(positions[0] < positions[1], "{positions:?}");
        assert_eq!(positions[2], positions[3]);
    }
}

#[test]
fn equal_cuts_prefer_ties_and_then_the_shortest_last_bucket() {
    // 0 is before 1, and nothing is known of 2: {0, 2}, {1} and {0}, {2, 1} have equal values and equally many ties.
    let mut shares = PairShares::unknown(3).unwrap();
    shares.planes_mut()[0][0] = 1.0;
    assert_eq!(
        find(&shares, TauXSearch::Cut, None).0.positions(),
        [1, 2, 1]
    );
}

#[test]
fn strict_orders_have_one_bucket_per_label() {
    let mut rng = Pcg64::seed_from_u64(4);
    for n in 2..=6 {
        let strict: Vec<BucketOrder> = all_orders(n)
            .into_iter()
            .filter(|order| order.buckets() == n)
            .collect();
        for round in 0..30 {
            let shares = random_shares(n, 1 + round % 9, &mut rng);
            let evidence = Evidence::from_pair_shares(shares.clone());
            let best = strict
                .iter()
                .map(|order| shares.expected_tau_x(order))
                .fold(f64::NEG_INFINITY, f64::max);
            let [cut, local, exact] =
                [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact].map(|search| {
                    let tau_x = TauX::new(search, None).with_buckets(Buckets::Strict);
                    let order = tau_x
                        .aggregate(&evidence, &mut Workspace::default())
                        .unwrap();
                    assert_eq!(order.buckets(), n);
                    shares.expected_tau_x(&order)
                });
            assert!((exact - best).abs() < 1e-12);
            assert!(best >= local - 1e-12 && local >= cut - 1e-12);
        }
    }
}

#[test]
fn scores_of_other_methods_order_the_labels() {
    // Label 2 wins clearly, 0 and 1 are close, and 3 loses.
    let y = array![[2, 3, 1, 4_i64], [3, 2, 1, 4], [2, 3, 1, 4]];
    let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
    let evidence =
        Evidence::from_rankings(&rankings, Needs::RowStatistics, &Interrupt::never()).unwrap();
    let scorers = [
        Scorer::Borda(Borda::default()),
        Scorer::Copeland(Copeland::new(0.0).unwrap()),
        Scorer::MarkovChain(MarkovChain::new(1).unwrap()),
        Scorer::MarkovChain(MarkovChain::new(4).unwrap()),
        Scorer::MaximalLottery(MaximalLottery),
    ];
    for scorer in scorers {
        let order = TauX::new(TauXSearch::Cut, Some(scorer))
            .aggregate(&evidence, &mut Workspace::default())
            .unwrap();
        assert_eq!(order.positions(), [2, 3, 1, 4], "{scorer:?}");
    }
    let pivot = crate::aggregate::Aggregator::BucketPivot(crate::aggregate::BucketPivot::default());
    assert!(Scorer::try_from(pivot).is_err());
}

#[test]
fn missing_statistics_are_named() {
    let tau_x = TauX::default();
    let matrix = crate::pairs::PairOrderMatrix::undecided(3);
    let error = tau_x
        .aggregate(
            &Evidence::from_pair_order(matrix),
            &mut Workspace::default(),
        )
        .unwrap_err();
    assert!(
        error.to_string().contains("before, tied and after"),
        "{error}"
    );
    let smoothed = Evidence::from_pair_shares(PairShares::unknown(3).unwrap());
    for variant in 1..=3 {
        let chain = Scorer::MarkovChain(MarkovChain::new(variant).unwrap());
        let result =
            TauX::new(TauXSearch::Cut, Some(chain)).aggregate(&smoothed, &mut Workspace::default());
        assert!(matches!(result, Err(Error::TooLittleKnown { .. })));
    }
}

#[test]
fn exact_search_of_many_labels_improves_on_the_cut() {
    let mut rng = Pcg64::seed_from_u64(3);
    let mut better = 0;
    for n in [14, 16, 18] {
        let shares = random_shares(n, 50, &mut rng);
        let [cut, local, exact] = [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact]
            .map(|s| find(&shares, s, None).1);
        assert!(exact >= local - 1e-12 && local >= cut - 1e-12);
        better += usize::from(exact > cut + 1e-6);
    }
    assert!(better > 0);
}

/// The order that `TauX` finds, its expected τ_X, the upper bound, whether it is optimal, and the boundary gains.
fn explain(shares: &PairShares, search: TauXSearch) -> (BucketOrder, f64, f64, bool, Vec<f64>) {
    let evidence = Evidence::from_pair_shares(shares.clone());
    let method = TauX::new(search, None);
    let found = method
        .explain(&evidence, &mut Workspace::default())
        .unwrap();
    let Details::TauX {
        expected_tau_x,
        boundary_gains,
        upper_bound,
        optimal,
        ..
    } = found.details
    else {
        panic!("details of another method");
    };
    (
        found.order,
        expected_tau_x,
        upper_bound,
        optimal,
        boundary_gains,
    )
}

#[test]
fn boundary_gains_are_the_losses_of_merging_two_buckets() {
    let mut rng = Pcg64::seed_from_u64(11);
    for round in 0..60 {
        let shares = random_shares(5, 3 + round % 5, &mut rng);
        let (order, expected, _, _, gains) = explain(&shares, TauXSearch::Cut);
        assert_eq!(gains.len() + 1, order.buckets());
        for (boundary, gain) in gains.iter().enumerate() {
            let merge = |&p: &u16| p - u16::from(usize::from(p) > boundary + 1);
            let merged = BucketOrder::from_dense(order.positions().iter().map(merge).collect());
            let loss = expected - shares.expected_tau_x(&merged);
            assert!((gain - loss).abs() < 1e-12, "{gain} {loss}");
        }
    }
}

#[test]
fn an_order_is_reported_as_optimal_when_it_attains_the_upper_bound() {
    let mut rng = Pcg64::seed_from_u64(12);
    let mut count = 0;
    for round in 0..60 {
        let n = 2 + round % 4;
        let shares = random_shares(n, 1 + round as u32 % 3, &mut rng);
        let (_, best) = find(&shares, TauXSearch::Exact, None);
        let (_, expected, upper_bound, optimal, _) = explain(&shares, TauXSearch::Cut);
        assert!(best <= upper_bound + 1e-12);
        assert_eq!(
            optimal,
            upper_bound - expected <= 1e-12,
            "{upper_bound} {expected}"
        );
        count += usize::from(optimal);
    }
    assert!((1..60).contains(&count), "{count}");
}
