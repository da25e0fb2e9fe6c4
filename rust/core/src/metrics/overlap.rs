//! [`rank_biased_overlaps`]: agreement of two rankings that weighs the first places most.

use super::compare_rows;
use crate::error::{Error, Result};
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// Treatment of ties in rank-biased overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlapTies {
    /// RBO^a: a tie is an unknown order; gives the expected overlap over all orders of the tied labels.
    Unknown,
    /// RBO^b: as [`Self::Unknown`], corrected for ties like Kendall's `τ_b`: equal rankings have overlap 1.
    Corrected,
    /// RBO^w: a tie is a true tie; tied labels enter a prefix of the ranking together.
    Together,
}

/// Rank-biased overlap of each pair of rows over the labels that both rank; `None` if there are fewer than two such
/// labels.
///
/// RBO = (1 − p) Σ p^(d−1) A(d) over the depths d, with the agreement A(d) of the prefixes of depth d. Beyond the last
/// label A(d) is 1, because both rankings contain the same labels. Let c(u,d) be the probability that label u is among
/// the first d when ties are broken at random. Then A(d) is Σ c₁c₂ / d for `Unknown` and Σ c₁c₂ / √(Σ c₁² Σ c₂²) for
/// `Corrected`; for `Together` it is twice the number of common labels divided by the sum of the sizes of both
/// prefixes. O(n²) per row.
///
/// References: W. Webber, A. Moffat and J. Zobel, *A similarity measure for indefinite rankings*, ACM Transactions on
/// Information Systems 28, 2010; M. Corsi and J. Urbano, *The treatment of ties in rank-biased overlap*, SIGIR 2024.
///
/// # Errors
/// [`Error::Shapes`]; [`Error::Parameter`] unless 0 < p < 1; [`Error::Interrupted`].
pub fn rank_biased_overlaps(
    first: &Rankings,
    second: &Rankings,
    p: f64,
    ties: OverlapTies,
    interrupt: &Interrupt,
) -> Result<Vec<Option<f64>>> {
    if !(p > 0.0 && p < 1.0) {
        return Err(Error::Parameter {
            name: "p",
            found: p,
            expected: "a number between 0 and 1",
        });
    }
    compare_rows(first, second, interrupt, |a, b| {
        let common: Vec<usize> = (0..a.len())
            .filter(|&label| a[label] != MISSING && b[label] != MISSING)
            .collect();
        let spans = [a, b].map(|row| {
            let positions: Vec<u16> = common.iter().map(|&label| row[label]).collect();
            spans(&positions)
        });
        (common.len() > 1).then(|| overlap(&spans, p, ties))
    })
}

/// First and last place, from 1, of the bucket of each label.
fn spans(positions: &[u16]) -> Vec<(usize, usize)> {
    let span = |own: &u16| {
        let before = positions.iter().filter(|&other| other < own).count();
        let within = positions.iter().filter(|&other| other == own).count();
        (before + 1, before + within)
    };
    positions.iter().map(span).collect()
}

fn overlap(spans: &[Vec<(usize, usize)>; 2], p: f64, ties: OverlapTies) -> f64 {
    let depth = spans[0].len();
    let (mut sum, mut weight) = (0.0, 1.0 - p);
    for d in 1..=depth {
        sum += weight * agreement(spans, d, ties);
        weight *= p;
    }
    // The weights of all greater depths add up to pⁿ.
    sum + weight / (1.0 - p)
}

/// Agreement of the prefixes of depth `d`.
fn agreement(spans: &[Vec<(usize, usize)>; 2], d: usize, ties: OverlapTies) -> f64 {
    let membership = |&(top, bottom): &(usize, usize)| {
        if ties == OverlapTies::Together || d >= bottom {
            f64::from(u8::from(d >= top))
        } else {
            (d + 1).saturating_sub(top) as f64 / (bottom - top + 1) as f64
        }
    };
    let (mut common, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in spans[0].iter().zip(&spans[1]) {
        let (a, b) = (membership(a), membership(b));
        common += a * b;
        first += a * a;
        second += b * b;
    }
    match ties {
        OverlapTies::Unknown => common / d as f64,
        OverlapTies::Corrected => common / (first * second).sqrt(),
        OverlapTies::Together => 2.0 * common / (first + second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn overlaps_are_those_worked_by_hand() {
        let first = Rankings::new(array![[1, 2, 3_i64]].view(), None, &Interrupt::never()).unwrap();
        let second =
            Rankings::new(array![[1, 1, 2_i64]].view(), None, &Interrupt::never()).unwrap();
        let overlaps = |p, ties| {
            let never = Interrupt::never();
            rank_biased_overlaps(&first, &second, p, ties, &never)
        };
        let found = |ties| overlaps(0.5, ties).unwrap()[0].unwrap();
        // Depth 1: label 0 is in the second prefix with probability ½; from depth 2 on the prefixes are equal.
        assert!((found(OverlapTies::Unknown) - 0.75).abs() < 1e-15);
        let corrected = 0.5 / 0.5_f64.sqrt();
        assert!((found(OverlapTies::Corrected) - (0.5 * corrected + 0.5)).abs() < 1e-15);
        // Depth 1: one label in the first prefix, two in the second.
        let together = 0.5 * (2.0 / 3.0) + 0.5;
        assert!((found(OverlapTies::Together) - together).abs() < 1e-15);
        for p in [0.0, 1.0, f64::NAN] {
            assert!(overlaps(p, OverlapTies::Unknown).is_err());
        }
    }
}
