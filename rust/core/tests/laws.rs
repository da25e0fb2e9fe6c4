//! Properties of aggregators on random rankings.

use bucketrank_core::aggregate::{
    aggregate_each, estimate_cost, Aggregator, BatchOptions, Borda, BucketPivot, Copeland, Details,
    Evidence, Kemeny, MarkovChain, MaximalLottery, Needs, RankedPairs, ReciprocalRankFusion,
    Schulze, Scorer, TauX, TauXSearch, Workspace,
};
use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::missing::to_dense_ranks;
use bucketrank_core::pairs::PairOrderMatrix;
use bucketrank_core::rankings::{Rankings, MISSING};
use bucketrank_core::run::Interrupt;
use good_lp::{constraint, microlp, variable, Expression, ProblemVariables, Solution, SolverModel};
use ndarray::Array2;
use proptest::prelude::*;

fn borda(beta: f64) -> Aggregator {
    Aggregator::Borda(Borda::new(beta).unwrap())
}

fn copeland(beta: f64) -> Aggregator {
    Aggregator::Copeland(Copeland::new(beta).unwrap())
}

fn pivot(beta: f64) -> Aggregator {
    Aggregator::BucketPivot(BucketPivot::new(beta).unwrap())
}

fn chain(variant: u8) -> Aggregator {
    Aggregator::MarkovChain(MarkovChain::new(variant).unwrap())
}

const LOTTERY: Aggregator = Aggregator::MaximalLottery(MaximalLottery);

fn tau_x(search: TauXSearch) -> Aggregator {
    Aggregator::TauX(TauX::new(search, None))
}

/// Searches for the bucket order with the largest expected τ_X (rank correlation with the rankings), each at least as
/// thorough as the one before.
const SEARCHES: [TauXSearch; 3] = [TauXSearch::Cut, TauXSearch::Local, TauXSearch::Exact];

/// The methods whose results do not depend on the order of the label columns.
fn neutral_aggregators() -> Vec<Aggregator> {
    let mut all = vec![
        borda(0.9),
        borda(0.0),
        copeland(0.4),
        copeland(0.0),
        LOTTERY,
    ];
    all.extend((1..=4).map(chain));
    all.extend([
        Aggregator::ReciprocalRankFusion(ReciprocalRankFusion::default()),
        Aggregator::Schulze(Schulze),
        Aggregator::RankedPairs(RankedPairs),
    ]);
    all
}

fn all_aggregators() -> Vec<Aggregator> {
    let mut all = neutral_aggregators();
    all.extend([
        pivot(0.25),
        pivot(0.0),
        Aggregator::Kemeny(Kemeny::default()),
    ]);
    all.extend(SEARCHES.map(tau_x));
    all.extend((1..=4).map(|variant| {
        let order = Scorer::try_from(chain(variant)).unwrap();
        Aggregator::TauX(TauX::new(TauXSearch::Cut, Some(order)))
    }));
    all
}

fn consensus(aggregator: &Aggregator, y: &Rankings) -> BucketOrder {
    let evidence = Evidence::from_rankings(y, aggregator.needs(), &Interrupt::never()).unwrap();
    aggregator
        .aggregate(&evidence, &mut Workspace::default())
        .unwrap()
}

/// Random values to rank; each is NaN with probability `missing`.
fn values(missing: f64) -> impl Strategy<Value = Array2<f64>> {
    (2..9_usize, 1..9_usize).prop_flat_map(move |(labels, rows)| {
        let value = prop::option::weighted(1.0 - missing, 0..6_u8);
        prop::collection::vec(value, labels * rows).prop_map(move |values| {
            let value = |v: &Option<u8>| v.map_or(f64::NAN, f64::from);
            Array2::from_shape_fn((rows, labels), |(r, l)| value(&values[r * labels + l]))
        })
    })
}

fn rank_with_weights(values: &Array2<f64>, weights: &[f64]) -> Rankings {
    let dense = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
    let positions = Array2::from_shape_fn(values.dim(), |(r, l)| match dense.row(r)[l] {
        MISSING => f64::NAN,
        position => f64::from(position),
    });
    Rankings::new(
        positions.view(),
        Some(&weights[..values.nrows()]),
        &Interrupt::never(),
    )
    .unwrap()
}

fn permutation() -> impl Strategy<Value = Vec<usize>> {
    Just((0..9).collect::<Vec<_>>()).prop_shuffle()
}

/// The numbers below `n`, in the order in which a permutation contains them.
fn restrict_permutation(permutation: &[usize], n: usize) -> Vec<usize> {
    permutation.iter().copied().filter(|&u| u < n).collect()
}

/// Probabilities and margin of the maximal lottery, and whether it is unique.
fn lottery(evidence: &Evidence) -> (Vec<f64>, f64, bool) {
    match LOTTERY
        .explain(evidence, &mut Workspace::default())
        .unwrap()
        .details
    {
        Details::MaximalLottery {
            probabilities,
            margin,
            unique,
        } => (probabilities, margin, unique),
        other => panic!("{other:?}"),
    }
}

/// The Condorcet winner: the label whose share in the pair order matrix is above ½ against each other label, if any.
fn condorcet_winner(c: &PairOrderMatrix) -> Option<usize> {
    let n = c.labels();
    (0..n).find(|&u| (0..n).all(|v| v == u || c.get(u, v) > 0.5 + 1e-9))
}

/// The value of the majority game, in which both players choose a label and the payoff is the lead of one label over
/// the other, from a general solver of linear programs.
fn game_value(c: &PairOrderMatrix) -> f64 {
    let n = c.labels();
    let mut variables = ProblemVariables::new();
    let p = variables.add_vector(variable().min(0.0), n);
    let value = variables.add(variable().min(-1.0).max(1.0));
    let mut model = variables.maximise(value).using(microlp);
    let total: Expression = p.iter().map(|&p| Expression::from(p)).sum();
    model.add_constraint(constraint!(total == 1.0));
    for v in 0..n {
        let lead: Expression = (0..n).map(|u| (c.get(u, v) - c.get(v, u)) * p[u]).sum();
        model.add_constraint(constraint!(lead >= value));
    }
    model.solve().unwrap().value(value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn result_is_a_bucket_order(values in values(0.3)) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        for aggregator in all_aggregators() {
            let order = consensus(&aggregator, &y);
            prop_assert_eq!(order.positions().len(), y.labels());
            for bucket in 1..=order.buckets() {
                prop_assert!(order.positions().iter().any(|&p| usize::from(p) == bucket));
            }
            prop_assert!(order.positions().iter().all(|&p| p >= 1));
        }
    }

    #[test]
    fn explanations_agree_with_results(values in values(0.3)) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        let evidence = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        for aggregator in all_aggregators() {
            let explained = aggregator.explain(&evidence, &mut Workspace::default()).unwrap();
            prop_assert_eq!(explained.order, consensus(&aggregator, &y));
            match explained.details {
                Details::MarkovChain { stationary, residual } => {
                    prop_assert!(residual < 1e-14);
                    prop_assert!((stationary.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                }
                Details::BucketPivot { pivots, distance, .. } => {
                    prop_assert!(pivots.len() <= y.labels() && distance >= 0.0);
                }
                Details::MaximalLottery { margin, .. } => prop_assert!(margin >= -1e-9),
                Details::TauX { expected_tau_x, upper_bound, boundary_gains, scores, .. } => {
                    prop_assert!(expected_tau_x <= upper_bound + 1e-12 && scores.len() == y.labels());
                    prop_assert_eq!(boundary_gains.len(), consensus(&aggregator, &y).buckets() - 1);
                    // No boundary between buckets lowers the expected τ_X.
                    prop_assert!(boundary_gains.iter().all(|&gain| gain >= -1e-8));
                }
                Details::Kemeny { distance, lower_bound, gap, .. } => {
                    prop_assert!(gap >= 0.0 && (distance - lower_bound - gap).abs() < 1e-9);
                }
                Details::External => prop_assert!(false, "no external method is tested here"),
                Details::RankedPairs { scores, .. } => prop_assert_eq!(scores.len(), y.labels()),
                Details::Davidson { utilities, .. } => prop_assert_eq!(utilities.len(), y.labels()),
                Details::Scores { scores } => prop_assert_eq!(scores.len(), y.labels()),
            }
        }
    }

    #[test]
    fn results_are_equivariant_to_relabelling(values in values(0.3), full in permutation()) {
        let permutation = restrict_permutation(&full, values.ncols());
        let relabelled = Array2::from_shape_fn(values.dim(), |(r, l)| values[[r, permutation[l]]]);
        let (y, relabelled) = (to_dense_ranks(values.view(), &Interrupt::never()).unwrap(), to_dense_ranks(relabelled.view(), &Interrupt::never()).unwrap());
        for aggregator in neutral_aggregators() {
            let order = consensus(&aggregator, &y);
            let expected: Vec<u16> = permutation.iter().map(|&u| order.positions()[u]).collect();
            let found = consensus(&aggregator, &relabelled);
            prop_assert_eq!(found.positions(), expected, "{:?}", aggregator);
        }
    }

    #[test]
    fn unanimous_rankings_are_the_consensus(values in prop::collection::vec(0..6_u8, 2..9), copies in 1..5_usize) {
        let row = Array2::from_shape_fn((1, values.len()), |(_, l)| f64::from(values[l]));
        let row = to_dense_ranks(row.view(), &Interrupt::never()).unwrap().row(0).to_vec();
        let y = Array2::from_shape_fn((copies, row.len()), |(_, l)| i64::from(row[l]));
        let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        for aggregator in [borda(0.0), borda(0.9), copeland(0.0), copeland(0.4), pivot(0.0), pivot(0.25), pivot(0.49),
            tau_x(TauXSearch::Cut), tau_x(TauXSearch::Local), tau_x(TauXSearch::Exact),
            Aggregator::Kemeny(Kemeny::default()), Aggregator::Schulze(Schulze), Aggregator::RankedPairs(RankedPairs)] {
            let order = consensus(&aggregator, &y);
            prop_assert_eq!(order.positions(), row.as_slice(), "{:?}", aggregator);
        }
    }

    #[test]
    fn reversed_rankings_give_the_reversed_order(values in values(0.3)) {
        let (y, reversed) = (to_dense_ranks(values.view(), &Interrupt::never()).unwrap(), to_dense_ranks((-&values).view(), &Interrupt::never()).unwrap());
        for aggregator in [borda(0.0), borda(0.9), copeland(0.0), copeland(0.4), Aggregator::Schulze(Schulze),
            Aggregator::RankedPairs(RankedPairs)] {
            let order = consensus(&aggregator, &y);
            let last = order.buckets() as u16 + 1;
            let expected: Vec<u16> = order.positions().iter().map(|p| last - p).collect();
            let found = consensus(&aggregator, &reversed);
            prop_assert_eq!(found.positions(), expected, "{:?}", aggregator);
        }
    }

    #[test]
    fn integer_weights_equal_copies(values in values(0.3), copies in prop::collection::vec(0..4_usize, 9)) {
        let rows: Vec<usize> = (0..values.nrows()).flat_map(|r| vec![r; copies[r]]).collect();
        prop_assume!(!rows.is_empty());
        let repeated = Array2::from_shape_fn((rows.len(), values.ncols()), |(r, l)| values[[rows[r], l]]);
        let weights: Vec<f64> = copies.iter().map(|&k| k as f64).collect();
        let (y, repeated) = (rank_with_weights(&values, &weights), to_dense_ranks(repeated.view(), &Interrupt::never()).unwrap());
        for aggregator in all_aggregators() {
            prop_assert_eq!(consensus(&aggregator, &y), consensus(&aggregator, &repeated), "{:?}", aggregator);
        }
    }

    #[test]
    fn more_thorough_searches_have_larger_expected_tau_x(values in values(0.3), beta in 0.0..2.0_f64) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        let evidence = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        let shares = evidence.pair_shares().unwrap();
        let expected = |aggregator: Aggregator| shares.expected_tau_x(&consensus(&aggregator, &y));
        let [cut, local, exact] = SEARCHES.map(|search| expected(tau_x(search)));
        prop_assert!(exact >= local - 1e-9 && local >= cut - 1e-9);
        prop_assert!(cut >= expected(borda(beta)) - 1e-8);
        for aggregator in all_aggregators() {
            prop_assert!(exact >= expected(aggregator.clone()) - 1e-9, "{:?}", aggregator);
        }
    }

    #[test]
    fn mostly_tied_rankings_give_one_bucket(values in values(0.3), ties in 9..30_usize) {
        // Enough all-tied rows to outweigh every strict preference.
        let (rows, labels) = values.dim();
        let tied = Array2::from_shape_fn((rows + ties, labels), |(r, l)| {
            if r < rows { values[[r, l]] } else { 0.0 }
        });
        let y = to_dense_ranks(tied.view(), &Interrupt::never()).unwrap();
        for search in SEARCHES {
            prop_assert_eq!(consensus(&tau_x(search), &y), BucketOrder::all_tied(labels));
        }
    }

    #[test]
    fn large_beta_ties_all(values in values(0.3)) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        for aggregator in [borda(1e3), borda(1e300), copeland(0.5), copeland(7.0)] {
            prop_assert_eq!(consensus(&aggregator, &y), BucketOrder::all_tied(y.labels()));
        }
    }

    #[test]
    fn condorcet_winner_is_first(values in values(0.2)) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        let evidence = Evidence::from_rankings(&y, Needs::PairOrder, &Interrupt::never()).unwrap();
        if let Some(winner) = condorcet_winner(evidence.pair_order()) {
            for aggregator in [copeland(0.0), chain(4), LOTTERY, Aggregator::Schulze(Schulze), Aggregator::RankedPairs(RankedPairs)] {
                let order = consensus(&aggregator, &y);
                let first = order.positions().iter().filter(|&&p| p == 1).count();
                prop_assert_eq!((order.positions()[winner], first), (1, 1), "{:?}", aggregator);
            }
        }
    }

    #[test]
    fn lottery_solves_the_game(values in values(0.3)) {
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        let evidence = Evidence::from_rankings(&y, Needs::PairOrder, &Interrupt::never()).unwrap();
        let c = evidence.pair_order();
        let (p, margin, _) = lottery(&evidence);
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p.iter().all(|&p| p >= 0.0));
        for v in 0..c.labels() {
            let lead: f64 = (0..c.labels()).map(|u| p[u] * (c.get(u, v) - c.get(v, u))).sum();
            prop_assert!(lead >= -1e-9);
        }
        // A general solver of linear programs confirms that no lottery has a margin above zero.
        prop_assert!(game_value(c).abs() < 1e-9 && margin.abs() < 1e-9);
    }

    #[test]
    fn interchangeable_labels_are_tied(values in values(0.3)) {
        // The copy of label 0 is tied with it wherever label 0 is ranked.
        let (rows, labels) = values.dim();
        let doubled = Array2::from_shape_fn((rows, labels + 1), |(r, l)| values[[r, l % labels]]);
        let y = to_dense_ranks(doubled.view(), &Interrupt::never()).unwrap();
        for aggregator in neutral_aggregators() {
            let order = consensus(&aggregator, &y);
            prop_assert_eq!(order.positions()[0], order.positions()[labels], "{:?}", aggregator);
        }
        let (p, ..) = lottery(&Evidence::from_rankings(&y, Needs::PairOrder, &Interrupt::never()).unwrap());
        prop_assert!((p[0] - p[labels]).abs() < 1e-9);
    }

    #[test]
    fn evidence_of_a_subset_of_rows_equals_that_of_a_smaller_set(values in values(0.3), last in 1..9_usize) {
        let last = last.min(values.nrows());
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        let part = to_dense_ranks(values.view().split_at(ndarray::Axis(0), last).0, &Interrupt::never()).unwrap();
        let mut evidence = Evidence::new(y.labels(), Needs::RowStatistics).unwrap();
        let mut few = Evidence::new(y.labels(), Needs::Shares).unwrap();
        evidence.fill(&y, 0..y.len(), &Interrupt::never()).unwrap();
        evidence.fill(&y, 0..last, &Interrupt::never()).unwrap();
        few.fill(&y, 0..last, &Interrupt::never()).unwrap();
        prop_assert_eq!(few.pair_order(), evidence.pair_order());
        prop_assert_eq!(few.pair_shares(), evidence.pair_shares());
        let mut workspace = Workspace::default();
        for aggregator in all_aggregators() {
            let found = aggregator.aggregate(&evidence, &mut workspace).unwrap();
            prop_assert_eq!(found, consensus(&aggregator, &part), "{:?}", aggregator);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let sets: Vec<Rankings> = (0..600_u32)
        .map(|seed| {
            let value =
                |(r, l): (usize, usize)| f64::from((seed * 7 + 13 * r as u32 * l as u32) % 5);
            to_dense_ranks(
                Array2::from_shape_fn((4, 30), value).view(),
                &Interrupt::never(),
            )
            .unwrap()
        })
        .collect();
    for aggregator in all_aggregators() {
        let orders = |n_jobs| {
            let options = BatchOptions {
                aggregator: &aggregator,
                n_jobs,
                interrupt: &Interrupt::never(),
            };
            let cost = estimate_cost(&aggregator, 4, 30);
            aggregate_each(options, sets.len(), cost, |set| Ok(sets[set].clone())).unwrap()
        };
        let serial = orders(1);
        for n_jobs in [0, 2, 3] {
            assert_eq!(serial, orders(n_jobs));
        }
    }
}
