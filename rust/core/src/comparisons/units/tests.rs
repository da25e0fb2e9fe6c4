use super::*;
use crate::pairs::PairCounts;
use ndarray::array;

fn list(units: &Units) -> Vec<(Vec<(usize, f64)>, u64)> {
    (0..units.len())
        .map(|unit| (units.entries(unit).collect(), units.copies()[unit]))
        .collect()
}

#[test]
fn equal_rows_are_copies_of_one_unit() {
    let cells = [4, 0, 4, 2, 0];
    let unit = Units::of_rows(&cells, &Weights::Unit(5));
    let expected = [
        (vec![(0, 1.0)], 2),
        (vec![(2, 1.0)], 1),
        (vec![(4, 1.0)], 2),
    ];
    assert_eq!(list(&unit), expected);
    let whole = Weights::new(Some(&[1.0, 3.0, 2.0, 0.0, 1.0]), 5).unwrap();
    let expected = [(vec![(0, 1.0)], 4), (vec![(4, 1.0)], 3)];
    assert_eq!(list(&Units::of_rows(&cells, &whole)), expected);
    let real = Weights::new(Some(&[1.0, 0.5, 2.0, 0.0, 0.5]), 5).unwrap();
    let expected = [
        (vec![(0, 0.5)], 2),
        (vec![(4, 1.0)], 1),
        (vec![(4, 2.0)], 1),
    ];
    assert_eq!(list(&Units::of_rows(&cells, &real)), expected);
    let groups = Units::of_groups(&cells, &real, &[7, 1, 7, 3, 7]);
    let expected = [(vec![(0, 0.5)], 1), (vec![(0, 0.5), (4, 3.0)], 1)];
    assert_eq!(list(&groups), expected);
    assert_eq!(groups.total(), 2);
}

#[test]
fn rankings_are_units_of_all_their_pairs() {
    let y = array![
        [1.0, 2.0, 2.0],
        [2.0, 1.0, f64::NAN],
        [1.0, 2.0, 2.0],
        [1.0, f64::NAN, f64::NAN]
    ];
    let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
    let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
    let (contests, tallies) = Contests::of_counts(&counts);
    let units = Units::of_rankings(&rankings, &contests, &Interrupt::never()).unwrap();
    let expected = [(vec![(0, 1.0), (3, 1.0), (7, 1.0)], 2), (vec![(2, 1.0)], 1)];
    assert_eq!(list(&units), expected);
    assert_eq!(units.largest(), 3);
    assert_eq!(total(&units, &contests), tallies);
    let interrupt = Interrupt::new();
    interrupt.request();
    let error = Units::of_rankings(&rankings, &contests, &interrupt).unwrap_err();
    assert_eq!(error, Error::Interrupted);
}

#[test]
fn fractional_counts_cannot_be_resampled() {
    let mut counts = PairCounts::empty(3).unwrap();
    counts.add_comparison(1, 2, 0, 1.5);
    let (contests, tallies) = Contests::of_counts(&counts);
    let error = Units::of_tallies(&contests, &tallies).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("labels 1 and 2 has a count of 1.5"),
        "{error}"
    );
}

/// Tallies of all copies of all units.
fn total(units: &Units, contests: &Contests) -> Tallies {
    let mut sum = vec![[0.0; OUTCOMES]; contests.len()];
    for unit in 0..units.len() {
        units.add(unit, units.copies()[unit] as f64, &mut sum);
    }
    sum
}

#[test]
fn all_units_together_have_the_tallies_of_the_data() {
    let y = array![
        [1.0, 2.0, 2.0, 3.0],
        [2.0, 1.0, f64::NAN, 1.0],
        [3.0, 1.0, 2.0, 2.0],
        [f64::NAN, f64::NAN, 2.0, 1.0]
    ];
    for weights in [[1.0; 4], [2.0, 0.0, 3.0, 1.0], [0.25, 2.5, 1.75, 4.0]] {
        let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        let (contests, tallies) = Contests::of_counts(&counts);
        let units = Units::of_rankings(&rankings, &contests, &Interrupt::never()).unwrap();
        assert_eq!(total(&units, &contests), tallies, "{weights:?}");
        if is_whole(rankings.weights()) {
            let units = Units::of_tallies(&contests, &tallies).unwrap();
            assert_eq!(total(&units, &contests), tallies, "{weights:?}");
            let comparisons: f64 = tallies.iter().flatten().sum();
            assert_eq!(units.total(), comparisons as u64);
        }
    }
}
