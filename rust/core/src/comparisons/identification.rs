//! Check that the data identifies the effects (of the order of the two labels, and of covariates): that they can be
//! told apart from differences between the labels and from each other.

use super::contests::{Contests, Tallies};
use super::sample::Effects;
use crate::cholesky::Cholesky;
use crate::error::{ComparisonError, Error, Result};

/// An effect is identified if the labels and the effects before it leave more than this share of its sum of squares
/// unexplained.
const LEAST_SHARE: f64 = 1e-9;

/// Checks that each effect varies over the contests (the distinct compared pairs of labels with their effects) beyond
/// what differences of labels and the effects before it explain. O(n³).
///
/// # Errors
/// [`ComparisonError::UnidentifiedOrder`], [`ComparisonError::Collinear`] with the first column that is not identified,
/// or [`Error::Unsolved`].
pub(super) fn check_effects(
    contests: &Contests,
    tallies: &Tallies,
    effects: Effects,
) -> Result<()> {
    if contests.effects() == 0 {
        return Ok(());
    }
    match first_explained(contests, tallies)? {
        None => Ok(()),
        Some(0) if effects.order => Err(Error::Comparison(ComparisonError::UnidentifiedOrder)),
        Some(effect) => Err(Error::Comparison(ComparisonError::Collinear {
            column: effect - usize::from(effects.order),
        })),
    }
}

/// The first effect that labels and the effects before it explain, by least squares on the contests.
fn first_explained(contests: &Contests, tallies: &Tallies) -> Result<Option<usize>> {
    let (n, k) = (contests.labels(), contests.effects());
    // Normal equations: labels by labels, effects by labels, effects by effects.
    let mut labels = vec![0.0; n * n];
    let mut cross = vec![0.0; k * n];
    let mut squares = vec![0.0; k * k];
    for (contest, tally) in tallies.iter().enumerate() {
        let weight: f64 = tally.iter().sum();
        let [u, v] = contests.pairs()[contest].map(|label| label as usize);
        for (i, j, sign) in [(u, u, 1.0), (v, v, 1.0), (u, v, -1.0), (v, u, -1.0)] {
            labels[i * n + j] += sign * weight;
        }
        let values = contests.values(contest);
        for (i, &value) in values.iter().enumerate() {
            cross[i * n + u] += weight * value;
            cross[i * n + v] -= weight * value;
            for (j, &other) in values.iter().enumerate() {
                squares[i * k + j] += weight * value * other;
            }
        }
    }
    let totals: Vec<f64> = (0..k).map(|i| squares[i * k + i]).collect();
    // The matrix of the labels is singular: adding a constant to the scores of all labels that are connected by
    // contests changes no difference. A small ridge makes it positive definite, and changes the unexplained shares by
    // about its own size.
    let largest = labels.iter().copied().fold(0.0, f64::max);
    labels
        .iter_mut()
        .step_by(n + 1)
        .for_each(|d| *d += 1e-12 * largest);
    let factor = Cholesky::new(labels, n).ok_or_else(|| Error::Unsolved {
        what: "least-squares fit of the effects",
        why: "the weights of the comparisons differ too much".into(),
    })?;
    for i in 0..k {
        let mut solved = cross[i * n..(i + 1) * n].to_vec();
        factor.solve(&mut solved);
        for j in 0..k {
            let other = &cross[j * n..(j + 1) * n];
            squares[i * k + j] -= solved.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    Ok(first_small_pivot(squares, &totals))
}

/// The first pivot of the elimination that is small compared with the original sum of squares.
fn first_small_pivot(mut matrix: Vec<f64>, totals: &[f64]) -> Option<usize> {
    let k = totals.len();
    for i in 0..k {
        let pivot = matrix[i * k + i];
        if pivot.partial_cmp(&(LEAST_SHARE * totals[i])) != Some(std::cmp::Ordering::Greater) {
            return Some(i);
        }
        for j in i + 1..k {
            let factor = matrix[j * k + i] / pivot;
            for l in i..k {
                matrix[j * k + l] -= factor * matrix[i * k + l];
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrays_without_weights;
    use super::super::{Comparisons, ContestSample, UnitKind};
    use super::*;
    use crate::run::Interrupt;
    use ndarray::{array, Array2};

    fn check(covariates: &Array2<f64>, order: bool, mirrored: bool) -> String {
        let (first, second) = if mirrored {
            (vec![0, 1, 2, 0, 2], vec![1, 2, 0, 2, 1])
        } else {
            (vec![0, 1, 0, 0, 1], vec![1, 2, 2, 1, 2])
        };
        let arrays = arrays_without_weights(3, &first, &second, &[0, 1, 2, 0, 1], covariates);
        let comparisons = Comparisons::new(arrays).unwrap();
        let effects = Effects {
            order,
            covariates: true,
        };
        let never = Interrupt::never();
        match ContestSample::of_comparisons(&comparisons, effects, UnitKind::Row, &never) {
            Ok(_) => "identified".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn effects_must_not_be_explained_by_others() {
        let none = Array2::zeros((5, 0));
        assert_eq!(check(&none, true, true), "identified");
        let found = check(&none, true, false);
        assert_eq!(found, "identified", "the three pairs form a cycle");
        let free = array![[1.0], [0.0], [0.3], [2.0], [-1.0]];
        assert_eq!(check(&free, true, true), "identified");
        // Differences of the constants 1, 5 and 7 of the labels.
        let prices = array![[-4.0], [-2.0], [6.0], [-6.0], [2.0]];
        assert!(check(&prices, false, true).contains("covariate 0 is not identified"));
        let twice = array![[1.0, 2.0], [0.0, 0.0], [0.3, 0.6], [2.0, 4.0], [-1.0, -2.0]];
        assert!(check(&twice, false, true).contains("covariate 1 is not identified"));
        let ones = Array2::ones((5, 1));
        assert!(check(&ones, true, true).contains("covariate 0 is not identified"));
        let zeros = Array2::zeros((5, 1));
        assert!(check(&zeros, false, true).contains("covariate 0 is not identified"));
    }

    #[test]
    fn one_order_per_pair_without_cycles_identifies_no_order_effect() {
        let none = Array2::zeros((2, 0));
        let arrays = arrays_without_weights(3, &[0, 1], &[1, 2], &[0, 1], &none);
        let comparisons = Comparisons::new(arrays).unwrap();
        let effects = Effects {
            order: true,
            covariates: false,
        };
        let never = Interrupt::never();
        let error = ContestSample::of_comparisons(&comparisons, effects, UnitKind::Row, &never);
        assert_eq!(
            error,
            Err(Error::Comparison(ComparisonError::UnidentifiedOrder))
        );
    }
}
