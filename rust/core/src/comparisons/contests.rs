//! [`Contests`]: the distinct pairs of labels that are compared, each with the values of its effects (1 for the effect
//! of being named first, and covariates).

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2, Axis};

use super::sample::Effects;
use super::{Comparisons, OUTCOMES};
use crate::error::Result;
use crate::pairs::PairCounts;
use crate::run::Interrupt;

/// Per contest the weights of "first label wins", "tie" and "second label wins".
pub type Tallies = Vec<[f64; OUTCOMES]>;

/// Distinct contests in a canonical order, which does not depend on the order of the rows.
///
/// A contest is a pair of labels and one value per effect: 1 for the order effect, then the covariates. The effects are
/// added to the utility (the score in the model) of the first label. Without an order effect the first label is the one
/// with the smaller index; rows that name it second are mirrored, which changes the sign of their covariates.
#[derive(Debug, Clone, PartialEq)]
pub struct Contests {
    labels: usize,
    effects: usize,
    /// First and second label per contest.
    pairs: Vec<[u32; 2]>,
    /// Row-major, `effects` values per contest.
    values: Vec<f64>,
}

/// Distinct contests, and per row its cell: the index of its contest and outcome, 3 · contest + outcome.
pub(crate) struct ContestRows {
    pub contests: Contests,
    pub cells: Vec<u32>,
}

/// Key of a contest: both labels, and the index of its distinct row of covariates.
type Key = (u32, u32, u32);

impl Contests {
    /// The contests of counted pairs, which have no effects: one per pair that was compared, with its tallies.
    #[must_use]
    pub fn of_counts(counts: &PairCounts) -> (Self, Tallies) {
        let n = counts.labels() as u32;
        let all = (0..n).flat_map(|u| (u + 1..n).map(move |v| [u, v]));
        let seen = all
            .zip(counts.table().triples())
            .filter(|(_, tally)| tally.iter().sum::<f64>() > 0.0);
        let (pairs, tallies) = seen.unzip();
        let contests = Self {
            labels: counts.labels(),
            effects: 0,
            pairs,
            values: Vec::new(),
        };
        (contests, tallies)
    }

    /// The contests of the comparisons, with the given kinds of effects, and the cell of each row. O(rows · log rows).
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn of_comparisons(
        comparisons: &Comparisons<'_>,
        effects: Effects,
        interrupt: &Interrupt,
    ) -> Result<ContestRows> {
        let columns = if effects.covariates {
            comparisons.covariates().ncols()
        } else {
            0
        };
        let covariates = comparisons.covariates().split_at(Axis(1), columns).0;
        let rows: Vec<(u32, u32, u8)> = (0..comparisons.len())
            .map(|row| comparisons.row(row))
            .collect();
        let is_mirrored = |row: usize| !effects.order && rows[row].0 > rows[row].1;
        let profiles = Profiles::new(covariates, is_mirrored);
        interrupt.check()?;
        let key = |row: usize| -> Key {
            let (first, second, _) = rows[row];
            let profile = profiles.of_row(row);
            if is_mirrored(row) {
                (second, first, profile)
            } else {
                (first, second, profile)
            }
        };
        let mut keys: Vec<Key> = (0..rows.len()).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        interrupt.check()?;
        let cell = |row: usize| {
            // Every key is in the list.
            let contest = keys.partition_point(|other| *other < key(row));
            let outcome = rows[row].2;
            let outcome = if is_mirrored(row) {
                2 - outcome
            } else {
                outcome
            };
            (OUTCOMES * contest) as u32 + u32::from(outcome)
        };
        let cells = (0..rows.len()).map(cell).collect();
        let mut values = Vec::new();
        for &(_, _, profile) in &keys {
            values.extend(effects.order.then_some(1.0));
            values.extend((0..columns).map(|column| profiles.value(profile, column)));
        }
        let contests = Self {
            labels: comparisons.labels(),
            effects: usize::from(effects.order) + columns,
            pairs: keys
                .iter()
                .map(|&(first, second, _)| [first, second])
                .collect(),
            values,
        };
        Ok(ContestRows { contests, cells })
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of effects per contest.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.effects
    }

    /// Number of contests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no contests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// First and second label of each contest.
    #[must_use]
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Values of the effects of one contest.
    #[inline]
    #[must_use]
    pub fn values(&self, contest: usize) -> &[f64] {
        &self.values[contest * self.effects..(contest + 1) * self.effects]
    }

    /// Adds the tallies of the contests to the counts of their pairs of labels.
    pub(crate) fn add_to(&self, tallies: &[[f64; OUTCOMES]], counts: &mut PairCounts) {
        for (&[first, second], tally) in self.pairs.iter().zip(tallies) {
            for (outcome, &weight) in tally.iter().enumerate() {
                if weight > 0.0 {
                    counts.add_comparison(first as usize, second as usize, outcome as u8, weight);
                }
            }
        }
    }
}

/// Profiles: the distinct rows of covariates.
struct Profiles {
    /// Covariates of each comparison, negated if it is mirrored; never −0.
    signed: Array2<f64>,
    /// Per profile: one of the comparisons that have it.
    rows: Vec<u32>,
    /// Profile of each comparison; empty without covariates.
    of_rows: Vec<u32>,
}

impl Profiles {
    fn new(covariates: ArrayView2<'_, f64>, is_mirrored: impl Fn(usize) -> bool) -> Self {
        let mut signed = covariates.to_owned();
        for ((row, _), value) in signed.indexed_iter_mut() {
            *value = if is_mirrored(row) { -*value } else { *value } + 0.0;
        }
        if signed.ncols() == 0 {
            return Self {
                signed,
                rows: vec![0],
                of_rows: Vec::new(),
            };
        }
        let compare = |a: u32, b: u32| {
            let (a, b) = (signed.row(a as usize), signed.row(b as usize));
            let different = a.iter().zip(b).find(|(a, b)| a != b);
            different.map_or(Ordering::Equal, |(a, b)| a.total_cmp(b))
        };
        let mut order: Vec<u32> = (0..signed.nrows() as u32).collect();
        order.sort_unstable_by(|&a, &b| compare(a, b));
        let mut rows: Vec<u32> = Vec::new();
        let mut of_rows = vec![0; order.len()];
        for &row in &order {
            if rows.last().is_none_or(|&last| compare(last, row).is_ne()) {
                rows.push(row);
            }
            of_rows[row as usize] = rows.len() as u32 - 1;
        }
        Self {
            signed,
            rows,
            of_rows,
        }
    }

    fn of_row(&self, row: usize) -> u32 {
        self.of_rows.get(row).copied().unwrap_or(0)
    }

    fn value(&self, profile: u32, column: usize) -> f64 {
        self.signed[[self.rows[profile as usize] as usize, column]]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrays_without_weights;
    use super::*;
    use ndarray::array;

    #[test]
    fn mirrored_rows_are_one_contest_without_an_order_effect() {
        let z = array![[1.0], [-1.0], [0.0], [1.0]];
        let arrays = arrays_without_weights(3, &[0, 1, 2, 0], &[1, 0, 1, 1], &[0, 2, 1, 2], &z);
        let comparisons = Comparisons::new(arrays).unwrap();
        let never = Interrupt::never();
        let effects = |order| Effects {
            order,
            covariates: true,
        };
        let found = Contests::of_comparisons(&comparisons, effects(false), &never).unwrap();
        assert_eq!(found.contests.pairs(), [[0, 1], [1, 2]]);
        assert_eq!(found.contests.values(0), [1.0]);
        assert_eq!(found.cells, [0, 0, 4, 2]);
        let found = Contests::of_comparisons(&comparisons, effects(true), &never).unwrap();
        assert_eq!(found.contests.pairs(), [[0, 1], [1, 0], [2, 1]]);
        assert_eq!(
            (found.contests.values(1), found.contests.effects()),
            (&[1.0, -1.0][..], 2)
        );
        assert_eq!(found.cells, [0, 5, 7, 2]);
    }

    #[test]
    fn counts_and_contests_are_converted_both_ways() {
        let mut counts = PairCounts::empty(4).unwrap();
        counts.add_comparison(3, 1, 0, 2.0);
        counts.add_comparison(0, 2, 1, 0.5);
        let (contests, tallies) = Contests::of_counts(&counts);
        assert_eq!(contests.pairs(), [[0, 2], [1, 3]]);
        assert_eq!(tallies, [[0.0, 0.5, 0.0], [0.0, 0.0, 2.0]]);
        let mut back = PairCounts::empty(4).unwrap();
        contests.add_to(&tallies, &mut back);
        assert_eq!(back, counts);
    }
}
