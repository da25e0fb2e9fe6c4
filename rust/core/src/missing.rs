//! Dense ranking of arbitrary numbers, and seeded omission of labels for experiments with incomplete rankings.

use std::cmp::Ordering;

use ndarray::{ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::random::Generator;
use crate::rankings::{check_shape, Rankings, MISSING};
use crate::run::{require_memory, Interrupt, WorkMeter};
use crate::weights::Weights;

/// Time to rank one label of a row.
const NANOSECONDS_PER_LABEL: u64 = 50;

/// A number type that can be ranked: `f64`, or `i64`, because large integers are not distinct as floats.
pub trait Rankable: Copy + PartialEq {
    /// Whether the label is not ranked.
    fn is_missing(self) -> bool;
    /// Whether the number cannot be ranked.
    fn is_unrankable(self) -> bool;
    /// Compares numbers that are neither missing nor unrankable.
    fn compare(self, other: Self) -> Ordering;
    /// The number, for messages.
    fn as_f64(self) -> f64;
}

impl Rankable for f64 {
    fn is_missing(self) -> bool {
        self.is_nan()
    }

    // Minus infinity has no meaning as a position: the best label has the smallest finite number.
    fn is_unrankable(self) -> bool {
        self == f64::NEG_INFINITY
    }

    fn compare(self, other: Self) -> Ordering {
        self.total_cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self
    }
}

impl Rankable for i64 {
    fn is_missing(self) -> bool {
        false
    }

    fn is_unrankable(self) -> bool {
        false
    }

    fn compare(self, other: Self) -> Ordering {
        self.cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self as f64
    }
}

/// Ranks each row of arbitrary numbers densely: the smallest number gets position 1, equal numbers are tied, NaN
/// stays missing and `+inf` is last. O(n log n) per row.
///
/// # Errors
/// An empty array, fewer than two or too many labels, minus infinity, [`Error::Memory`] or [`Error::Interrupted`].
pub fn to_dense_ranks<V: Rankable>(
    values: ArrayView2<'_, V>,
    interrupt: &Interrupt,
) -> Result<Rankings> {
    let (rows, labels) = check_shape(values.dim())?;
    let mut positions = vec![MISSING; require_memory::<u16>("the rankings", &[rows, labels])?];
    // A copy of the row: another thread may write to the array, and sorting relies on constant numbers.
    let mut ranked: Vec<(V, usize)> = Vec::with_capacity(labels);
    let mut meter = WorkMeter::new(interrupt);
    for (row, (values, out)) in values
        .axis_iter(Axis(0))
        .zip(positions.chunks_exact_mut(labels))
        .enumerate()
    {
        meter.add(NANOSECONDS_PER_LABEL * labels as u64)?;
        ranked.clear();
        for (label, &found) in values.iter().enumerate() {
            if found.is_unrankable() {
                return Err(Error::Unrankable {
                    row,
                    label,
                    found: found.as_f64(),
                });
            }
            if !found.is_missing() {
                ranked.push((found, label));
            }
        }
        ranked.sort_unstable_by(|a, b| a.0.compare(b.0));
        let mut position = 0;
        let mut previous = None;
        for &(value, label) in &ranked {
            if previous != Some(value) {
                position += 1;
                previous = Some(value);
            }
            out[label] = position;
        }
    }
    Ok(Rankings::from_dense(labels, positions, Weights::Unit(rows)))
}

/// Drops each label of each ranking independently with probability `fraction` and re-ranks the remaining labels
/// densely. Weights are kept. The same seed drops the same labels on every machine.
///
/// # Errors
/// [`Error::Fraction`] when `fraction` is outside [0, 1], [`Error::Memory`].
pub fn drop_labels(rankings: &Rankings, fraction: f64, seed: u64) -> Result<Rankings> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::Fraction {
            name: "fraction",
            found: fraction,
        });
    }
    let labels = rankings.labels();
    let mut generator = Generator::new(seed);
    let cells = require_memory::<u16>("the rankings", &[rankings.len(), labels])?;
    let mut positions = Vec::with_capacity(cells);
    let mut closer = GapCloser::new(labels);
    for row in rankings.rows() {
        let start = positions.len();
        // One draw per label, even if it is missing, so that the other draws do not depend on missing labels.
        positions.extend(row.iter().map(|&position| {
            let dropped = generator.unit() < fraction;
            if dropped {
                MISSING
            } else {
                position
            }
        }));
        closer.close_gaps(&mut positions[start..]);
    }
    Ok(Rankings::from_dense(
        labels,
        positions,
        rankings.weights().clone(),
    ))
}

/// Closes the gaps that dropped labels leave in a row.
struct GapCloser {
    /// Old position → new position; index 0 is a missing label and stays 0.
    renumbered: Vec<u16>,
}

impl GapCloser {
    fn new(labels: usize) -> Self {
        Self {
            renumbered: vec![0; labels + 1],
        }
    }

    fn close_gaps(&mut self, positions: &mut [u16]) {
        self.renumbered.fill(0);
        for &position in positions.iter() {
            self.renumbered[usize::from(position)] = 1;
        }
        self.renumbered[usize::from(MISSING)] = MISSING;
        let mut next = 0;
        for new in &mut self.renumbered[1..] {
            if *new == 1 {
                next += 1;
                *new = next;
            }
        }
        for position in positions {
            *position = self.renumbered[usize::from(*position)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn ranks_numbers_densely() {
        let values = array![[0.5, -2.0, 0.5, f64::NAN], [f64::INFINITY, 7.0, -0.0, 0.0]];
        let rankings = to_dense_ranks(values.view(), &Interrupt::never()).unwrap();
        assert_eq!(rankings.row(0), [2, 1, 2, 0]);
        assert_eq!(rankings.row(1), [3, 2, 1, 1]);
    }

    #[test]
    fn fractions_of_zero_and_one() {
        let y = Rankings::new(array![[1, 2, 2, 3_i64]].view(), None, &Interrupt::never()).unwrap();
        assert_eq!(drop_labels(&y, 0.0, 1).unwrap(), y);
        assert_eq!(drop_labels(&y, 1.0, 1).unwrap().row(0), [0, 0, 0, 0]);
        assert!(drop_labels(&y, 1.1, 1).is_err());
        assert!(drop_labels(&y, f64::NAN, 1).is_err());
    }

    #[test]
    fn equal_seeds_drop_equal_labels() {
        let y = Rankings::new(
            array![[1, 2, 3, 4, 5, 6, 7, 8_i64]].view(),
            None,
            &Interrupt::never(),
        )
        .unwrap();
        let dropped = drop_labels(&y, 0.5, 42).unwrap();
        assert_eq!(dropped, drop_labels(&y, 0.5, 42).unwrap());
        let kept = dropped.row(0).iter().filter(|&&p| p != MISSING).count();
        assert_eq!(dropped.buckets(0), kept);
    }

    #[test]
    fn minus_infinity_is_reported_with_its_place() {
        let values = array![[1.0, 2.0], [3.0, f64::NEG_INFINITY]];
        let error = to_dense_ranks(values.view(), &Interrupt::never()).unwrap_err();
        let expected = Error::Unrankable {
            row: 1,
            label: 1,
            found: f64::NEG_INFINITY,
        };
        assert_eq!(error, expected);
    }
}
