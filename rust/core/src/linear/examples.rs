//! Test data shared by the tests of the linear model.

use ndarray::array;

use crate::rankings::Rankings;
use crate::run::Interrupt;

/// Eleven weighted rankings of three labels, with ties, missing labels and rows without a pair.
pub(super) fn incomplete_rankings(weights: &[f64]) -> Rankings {
    let y = array![
        [1.0, 2.0, 2.0],
        [2.0, f64::NAN, 1.0],
        [1.0, 1.0, 1.0],
        [f64::NAN, f64::NAN, 1.0],
        [3.0, 2.0, 1.0],
        [f64::NAN, f64::NAN, f64::NAN],
        [1.0, 2.0, 3.0],
        [2.0, 1.0, f64::NAN],
        [1.0, 1.0, 2.0],
        [3.0, 1.0, 2.0],
        [2.0, 2.0, 1.0]
    ];
    Rankings::new(y.view(), Some(weights), &Interrupt::never()).unwrap()
}
