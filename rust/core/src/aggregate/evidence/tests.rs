use super::*;
use crate::aggregate::{MarkovChain, Workspace};
use ndarray::array;

const NAN: f64 = f64::NAN;

fn rankings(weights: Option<&[f64]>) -> Rankings {
    let y = array![
        [1.0, 2.0, 2.0, NAN],
        [NAN, 2.0, 1.0, NAN],
        [1.0, 1.0, NAN, NAN],
        [4.0, 3.0, 1.0, 2.0],
        [NAN, NAN, NAN, NAN],
        [NAN, NAN, 1.0, NAN]
    ];
    Rankings::new(y.view(), weights, &Interrupt::never()).unwrap()
}

#[test]
fn few_many_and_all_rows_give_equal_evidence() {
    for weights in [None, Some([1.0, 2.0, 0.0, 0.5, 1.0, 1.0].as_slice())] {
        let y = rankings(weights);
        let all = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        for needs in [
            Needs::PairOrder,
            Needs::Shares,
            Needs::Counts,
            Needs::RowStatistics,
        ] {
            let mut filled = Evidence::new(4, needs).unwrap();
            filled
                .fill(&y, [3, 3, 3].into_iter(), &Interrupt::never())
                .unwrap();
            filled.fill(&y, 0..6, &Interrupt::never()).unwrap();
            assert_eq!(filled.pair_order(), all.pair_order());
            for row in 0..6 {
                let mut counted = Evidence::new(4, Needs::Counts).unwrap();
                counted.fill(&y, row..=row, &Interrupt::never()).unwrap();
                filled.fill(&y, row..=row, &Interrupt::never()).unwrap();
                assert_eq!(filled.pair_order(), counted.pair_order());
                if needs >= Needs::Shares {
                    assert_eq!(filled.pair_shares(), counted.pair_shares());
                }
            }
            assert_eq!(filled.pair_shares().is_some(), needs >= Needs::Shares);
            assert_eq!(filled.counts().is_some(), needs >= Needs::Counts);
            assert_eq!(filled.row_shares().is_some(), needs >= Needs::RowStatistics);
            assert_eq!(filled.rankings().is_some(), needs >= Needs::Rankings);
            filled
                .fill(&y, (0..6).cycle().take(60), &Interrupt::never())
                .unwrap();
            for (a, b) in [(0, 1), (1, 2), (0, 3)] {
                let (found, expected) = (filled.pair_order().get(a, b), all.pair_order().get(a, b));
                assert!((found - expected).abs() < 1e-15);
            }
        }
    }
}

#[test]
fn a_few_complete_rows_equal_their_counts() {
    let y = array![[1, 2, 3, 3_i64], [2, 1, 1, 3], [4, 3, 2, 1]];
    let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
    for rows in [0..1, 0..2, 0..3, 1..3, 2..3] {
        let mut few = Evidence::new(4, Needs::Shares).unwrap();
        let mut counted = Evidence::new(4, Needs::Counts).unwrap();
        few.fill(&y, rows.clone(), &Interrupt::never()).unwrap();
        counted.fill(&y, rows, &Interrupt::never()).unwrap();
        assert_eq!(few.pair_order(), counted.pair_order());
        assert_eq!(few.pair_shares(), counted.pair_shares());
    }
}

#[test]
fn evidence_for_one_method_suffices_for_it() {
    let (y, interrupt) = (rankings(None), Interrupt::new());
    for variant in 1..=4 {
        let chain = Aggregator::MarkovChain(MarkovChain::new(variant).unwrap());
        let all = Evidence::from_rankings(&y, Needs::RowStatistics, &Interrupt::never()).unwrap();
        let own = Evidence::for_method(&y, &chain, &interrupt).unwrap();
        let explain = |evidence| chain.explain(evidence, &mut Workspace::default()).unwrap();
        assert_eq!(explain(&own), explain(&all));
    }
}

#[test]
fn no_rows_give_an_undecided_matrix() {
    let mut evidence = Evidence::new(4, Needs::PairOrder).unwrap();
    evidence
        .fill(&rankings(None), 3..4, &Interrupt::never())
        .unwrap();
    evidence
        .fill(&rankings(None), 0..0, &Interrupt::never())
        .unwrap();
    assert_eq!(evidence.pair_order(), &PairOrderMatrix::undecided(4));
}

#[test]
fn row_shares_count_labels_at_least_as_high() {
    let y = rankings(None);
    let mut evidence = Evidence::new(4, Needs::RowStatistics).unwrap();
    evidence.fill(&y, 0..2, &Interrupt::never()).unwrap();
    let shares = evidence.row_shares().unwrap();
    assert_eq!(shares.ranked(1), 2.0);
    // Row 0 ranks 3 labels at least as high as label 1, row 1 ranks 2.
    assert!((shares.sum(1, 2) - (1.0 / 3.0 + 0.5)).abs() < 1e-15);
    assert!((shares.sum(1, 0) - 1.0 / 3.0).abs() < 1e-15);
    assert_eq!((shares.sum(0, 0), shares.sum(0, 1)), (1.0, 0.0));
    assert_eq!((shares.ranked(3), shares.sum(1, 3)), (0.0, 0.0));
}

#[test]
fn counts_of_comparisons_give_the_evidence_of_their_rankings() {
    let y = array![
        [1.0, 2.0, NAN],
        [NAN, 1.0, 1.0],
        [2.0, NAN, 1.0],
        [2.0, 1.0, NAN]
    ];
    let y = Rankings::new(y.view(), Some(&[1.0, 2.0, 3.0, 4.0]), &Interrupt::never()).unwrap();
    let never = Interrupt::never();
    let expected = Evidence::from_rankings(&y, Needs::RowStatistics, &never).unwrap();
    let counts = PairCounts::from_rankings(&y, &never).unwrap();
    let found = Evidence::from_counts(counts, Needs::RowStatistics).unwrap();
    assert_eq!(found.pair_order(), expected.pair_order());
    assert_eq!(found.pair_shares(), expected.pair_shares());
    assert_eq!(found.counts(), expected.counts());
    let (found, expected) = (found.row_shares().unwrap(), expected.row_shares().unwrap());
    for u in 0..3 {
        assert_eq!(found.ranked(u), expected.ranked(u));
        for v in 0..3 {
            assert!(
                (found.sum(u, v) - expected.sum(u, v)).abs() < 1e-12,
                "{u} {v}"
            );
        }
    }
}

#[test]
fn mismatched_labels_are_rejected() {
    let mut evidence = Evidence::new(5, Needs::PairOrder).unwrap();
    assert!(evidence
        .fill(&rankings(None), 0..1, &Interrupt::never())
        .is_err());
    assert!(Evidence::new(1, Needs::PairOrder).is_err());
}
