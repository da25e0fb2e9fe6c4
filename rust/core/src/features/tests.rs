use super::*;
use ndarray::{array, Array2};

#[test]
fn few_values_are_ranked_as_by_sorting() {
    let column: Vec<f64> = (0..300).map(|i| f64::from((i * 37) % 101) - 50.5).collect();
    let few = RankedColumn::from_few_values(&column).unwrap();
    assert_eq!(few, RankedColumn::by_sorting(&column));
    assert!(few.values.is_sorted());
    for (row, &value) in column.iter().enumerate() {
        assert_eq!(few.values[few.ranks[row] as usize], value);
    }
    let many: Vec<f64> = (0..1000).map(f64::from).collect();
    assert!(RankedColumn::from_few_values(&many).is_none());
}

#[test]
fn error_names_the_first_invalid_value() {
    let x = array![[1.0, 2.0], [3.0, f64::INFINITY]];
    assert_eq!(
        Features::new(x.view(), &Interrupt::never()).unwrap_err(),
        Error::Feature {
            row: 1,
            column: 1,
            found: f64::INFINITY
        }
    );
    assert_eq!(
        Features::new(Array2::zeros((3, 0)).view(), &Interrupt::never()).unwrap_err(),
        Error::NoFeatures
    );
}

#[test]
fn missing_values_rank_after_all_values() {
    let nan = f64::NAN;
    let x = array![[nan, 1.0, nan], [2.0, 1.0, nan], [-1.0, 0.0, nan]];
    let features = Features::new(x.view(), &Interrupt::never()).unwrap();
    assert_eq!(features.ranks(0), [MISSING_RANK, 1, 0]);
    assert_eq!(features.ranks(2), [MISSING_RANK; 3]);
    assert!(features.distinct(2).is_empty());
    assert!(features.has_missing(0) && !features.has_missing(1));
    assert_eq!(features.threshold(0, 0, 1), 0.5);
    assert_eq!(features.threshold(0, 1, MISSING_RANK), f64::INFINITY);
    assert_eq!(features.threshold(0, MISSING_RANK, 0), f64::NEG_INFINITY);
    assert_eq!(check_values(x.view()), Ok(true));
    assert!(check_finite(x.view()).is_err());
}

#[test]
fn interrupt_ends_presorting() {
    let x = array![[1.0, 2.0]];
    let interrupt = Interrupt::new();
    interrupt.request();
    let result = Features::new(x.view(), &interrupt);
    assert_eq!(result.unwrap_err(), Error::Interrupted);
}

#[test]
fn thresholds_separate_even_adjacent_floats() {
    let next = f64::from_bits(1.0_f64.to_bits() + 1);
    for (lower, upper) in [
        (1.0, next),
        (f64::MIN, f64::MAX),
        (-0.5, 0.25),
        (f64::MAX / 2.0, f64::MAX),
    ] {
        let t = midpoint(lower, upper);
        assert!(lower <= t && t < upper, "{lower} {t} {upper}");
    }
    // Both zeros are one distinct value.
    let x = array![[0.0], [-0.0]];
    assert_eq!(
        Features::new(x.view(), &Interrupt::never())
            .unwrap()
            .distinct(0),
        [0.0]
    );
}

#[test]
fn values_that_differ_in_the_last_bits_are_sorted() {
    let value = |step: u64| f64::from_bits(1.0_f64.to_bits() + step);
    let mut column: Vec<f64> = (0..700).map(|row| value(row * 37 % 600)).collect();
    column.extend([-2.0, 0.0, -2.0, 1e300, -1e-300]);
    let rows = sort_rows(&column);
    let mut expected: Vec<u32> = (0..column.len() as u32).collect();
    expected.sort_by(|&a, &b| column[a as usize].total_cmp(&column[b as usize]));
    assert_eq!(rows, expected);
}
