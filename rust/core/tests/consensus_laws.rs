//! Aggregators order labels only by the evidence, the statistics of the rankings: relabelling the rankings relabels the
//! consensus, and labels that are interchangeable or that no ranking contains are tied.

use bucketrank_core::aggregate::{
    Aggregator, Borda, Buckets, Copeland, Davidson, Details, Evidence, Explanation, Kemeny,
    KemenyParams, KemenySearch, MarkovChain, MaximalLottery, Needs, RankedPairs,
    ReciprocalRankFusion, Schulze, Scorer, TauX, TauXSearch, Workspace,
};
use bucketrank_core::missing::to_dense_ranks;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const CASES: u64 = 10_000;

/// Values to rank, with many ties and missing labels.
fn random_values(rng: &mut Pcg64) -> Array2<f64> {
    let (rows, labels) = (rng.random_range(1..6), rng.random_range(2..7));
    let (levels, missing) = (rng.random_range(1..7), rng.random_range(0..3));
    Array2::from_shape_fn((rows, labels), |_| {
        if rng.random_range(0..8) < missing {
            f64::NAN
        } else {
            f64::from(rng.random_range(0..levels))
        }
    })
}

fn explain(aggregator: &Aggregator, values: &Array2<f64>) -> Explanation {
    let y: Rankings = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
    let evidence = Evidence::from_rankings(&y, aggregator.needs(), &Interrupt::never()).unwrap();
    aggregator
        .explain(&evidence, &mut Workspace::default())
        .unwrap()
}

fn kemeny(change: impl Fn(&mut KemenyParams)) -> Aggregator {
    let mut params = KemenyParams::default();
    change(&mut params);
    Aggregator::Kemeny(Kemeny::new(params).unwrap())
}

/// Methods for which relabelling the rankings always relabels the result.
fn equivariant() -> Vec<Aggregator> {
    let chain = |variant| MarkovChain::new(variant).unwrap();
    let cut = |order| Aggregator::TauX(TauX::new(TauXSearch::Cut, order));
    vec![
        Aggregator::Borda(Borda::new(0.0).unwrap()),
        Aggregator::Borda(Borda::default()),
        Aggregator::Copeland(Copeland::new(0.0).unwrap()),
        Aggregator::MarkovChain(chain(2)),
        Aggregator::MarkovChain(chain(4)),
        Aggregator::MaximalLottery(MaximalLottery),
        Aggregator::ReciprocalRankFusion(ReciprocalRankFusion::default()),
        Aggregator::Schulze(Schulze),
        Aggregator::RankedPairs(RankedPairs),
        Aggregator::Davidson(Davidson::default()),
        cut(None),
        cut(Some(Scorer::Copeland(Copeland::new(0.0).unwrap()))),
        cut(Some(Scorer::MarkovChain(chain(4)))),
    ]
}

/// Methods that search for an optimum: relabelling the rankings keeps the value of the optimum, and relabels the
/// optimum if it is unique.
fn searches() -> Vec<Aggregator> {
    let tau_x = |search| Aggregator::TauX(TauX::new(search, None));
    vec![
        tau_x(TauXSearch::Local),
        tau_x(TauXSearch::Exact),
        kemeny(|_| ()),
        kemeny(|params| params.search = KemenySearch::Local),
        kemeny(|params| params.penalty = 0.3),
    ]
}

/// The expected τ_X (rank correlation) that a search maximises, or the distance that it minimises, and whether the
/// optimum is unique.
fn value(explanation: &Explanation) -> (f64, bool) {
    match &explanation.details {
        Details::TauX {
            expected_tau_x,
            unique,
            ..
        } => (*expected_tau_x, *unique == Some(true)),
        Details::Kemeny {
            distance, unique, ..
        } => (*distance, *unique == Some(true)),
        other => panic!("{other:?} has no value"),
    }
}

fn shuffled(n: usize, rng: &mut Pcg64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

#[test]
fn relabelling_relabels_the_result() {
    let mut rng = Pcg64::seed_from_u64(11);
    let (methods, searches) = (equivariant(), searches());
    for case in 0..CASES {
        let values = random_values(&mut rng);
        let order = shuffled(values.ncols(), &mut rng);
        let relabelled = Array2::from_shape_fn(values.dim(), |(r, l)| values[[r, order[l]]]);
        let expected = |found: &Explanation| -> Vec<u16> {
            let positions = found.order.positions();
            order.iter().map(|&label| positions[label]).collect()
        };
        for method in &methods {
            let (found, again) = (explain(method, &values), explain(method, &relabelled));
            let context = format!("case {case}, {method:?}, {order:?}\n{values}");
            assert_eq!(again.order.positions(), expected(&found), "{context}");
        }
        for method in &searches {
            let (found, again) = (explain(method, &values), explain(method, &relabelled));
            let context = format!("case {case}, {method:?}, {order:?}\n{values}");
            let ((own, unique), (other, _)) = (value(&found), value(&again));
            assert!((own - other).abs() < 1e-9, "{context}: {own} {other}");
            if unique {
                assert_eq!(again.order.positions(), expected(&found), "{context}");
            }
        }
    }
}

#[test]
fn interchangeable_labels_are_tied() {
    let mut rng = Pcg64::seed_from_u64(12);
    for case in 0..CASES {
        let values = random_values(&mut rng);
        let (rows, labels) = values.dim();
        // Every row occurs twice, the second time with labels a and b exchanged.
        let (a, b) = (0, 1 + case as usize % (labels - 1));
        let doubled = Array2::from_shape_fn((2 * rows, labels), |(row, label)| {
            let exchanged = match label {
                l if l == a => b,
                l if l == b => a,
                l => l,
            };
            values[[row / 2, if row % 2 == 0 { label } else { exchanged }]]
        });
        for method in equivariant().iter().chain(&searches()) {
            let found = explain(method, &doubled);
            let positions = found.order.positions();
            let context = format!("case {case}, {method:?}: {positions:?}\n{doubled}");
            assert_eq!(positions[a], positions[b], "{context}");
        }
    }
}

#[test]
fn labels_without_evidence_are_tied() {
    let mut rng = Pcg64::seed_from_u64(13);
    let mut methods = equivariant();
    methods.extend(searches());
    for case in 0..CASES / 10 {
        let values = random_values(&mut rng);
        let (rows, labels) = values.dim();
        let inserted = rng.random_range(0..=labels);
        // Adds two labels that no row ranks, one at a random column and one at the end.
        let wider = Array2::from_shape_fn((rows, labels + 2), |(row, label)| match label {
            l if l == inserted || l == labels + 1 => f64::NAN,
            l => values[[row, l - usize::from(l > inserted)]],
        });
        for method in &methods {
            let found = explain(method, &wider);
            let positions = found.order.positions();
            let context = format!("case {case}, {method:?}: {positions:?}\n{wider}");
            assert_eq!(positions[inserted], positions[labels + 1], "{context}");
        }
    }
    let nothing = Array2::from_elem((3, 5), f64::NAN);
    for method in methods {
        let found = explain(&method, &nothing);
        assert_eq!(found.order.positions(), [1; 5], "{method:?}");
    }
}

#[test]
fn a_cycle_has_no_unique_optimum() {
    let y = ndarray::array![[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]];
    for method in [
        Aggregator::TauX(TauX::new(TauXSearch::Exact, None)),
        kemeny(|params| params.buckets = Buckets::Strict),
    ] {
        let found = explain(&method, &y);
        let unique = match found.details {
            Details::TauX { unique, .. } | Details::Kemeny { unique, .. } => unique,
            other => panic!("{other:?}"),
        };
        assert_eq!(unique, Some(false), "{method:?}");
    }
}

#[test]
fn kemeny_equals_tau_x_on_complete_rankings() {
    let mut rng = Pcg64::seed_from_u64(14);
    for case in 0..1000 {
        let values = random_values(&mut rng).mapv(|value| if value.is_nan() { 0.0 } else { value });
        let tau_x = Aggregator::TauX(TauX::new(TauXSearch::Exact, None));
        let (own, other) = (explain(&kemeny(|_| ()), &values), explain(&tau_x, &values));
        assert_eq!(own.order, other.order, "case {case}\n{values}");
    }
}

#[test]
fn strict_searches_never_tie() {
    let mut rng = Pcg64::seed_from_u64(15);
    for _ in 0..500 {
        let values = random_values(&mut rng);
        let strict = kemeny(|params| params.buckets = Buckets::Strict);
        assert_eq!(explain(&strict, &values).order.buckets(), values.ncols());
    }
    let needs = kemeny(|_| ()).needs();
    assert_eq!(needs, Needs::Counts);
}

#[test]
fn a_subset_of_rows_has_the_consensus_of_its_rankings() {
    for seed in 0..400 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let values = random_values(&mut rng);
        let y = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        // Rows may be repeated, so that some subsets are unanimous.
        let rows: Vec<usize> = (0..rng.random_range(1..4))
            .map(|_| rng.random_range(0..y.len()))
            .collect();
        let subset = values.select(ndarray::Axis(0), &rows);
        let one = Buckets::Between { least: 1, most: 1 };
        let limited = TauX::new(TauXSearch::Cut, None).with_buckets(one);
        for aggregator in equivariant().into_iter().chain([Aggregator::TauX(limited)]) {
            let needs = aggregator.needs();
            let mut evidence = Evidence::from_rankings(&y, needs, &Interrupt::never()).unwrap();
            let found = aggregator.aggregate_rows(
                &y,
                rows.iter().copied(),
                &mut evidence,
                &mut Workspace::default(),
            );
            let expected = explain(&aggregator, &subset).order;
            assert_eq!(
                found.unwrap(),
                expected,
                "seed {seed}, {aggregator:?}, {rows:?}"
            );
        }
    }
}
