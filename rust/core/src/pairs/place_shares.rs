//! [`PlaceShares`]: how often each label occupies each place (the first, the second, and so on) of the rankings.

use super::{for_each_range, PairCounts};
use crate::error::Result;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// For each label u and place r, numbered from 0, the weight of the rows in which u occupies place r. Tied labels share
/// their places: each of k tied labels gets a k-th part of each of their k places. A missing label occupies no place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceShares {
    labels: usize,
    /// `weights[u * labels + r]`.
    weights: Vec<f64>,
    /// Scratch buffer: per position (from 1) first the number of labels at it, later the end of their places.
    sizes: Vec<usize>,
}

impl PlaceShares {
    pub(crate) fn empty(labels: usize) -> Self {
        Self {
            labels,
            weights: vec![0.0; labels * labels],
            sizes: vec![0; labels + 1],
        }
    }

    /// The places in rows that rank one or two labels each.
    pub(crate) fn of_comparisons(counts: &PairCounts) -> Self {
        let mut shares = Self::empty(counts.labels());
        for u in 0..counts.labels() {
            let (mut first, mut second) = (0.0, 0.0);
            for v in (0..counts.labels()).filter(|&v| v != u) {
                let half = counts.tied(u, v) / 2.0;
                first += counts.before(u, v) + half;
                second += counts.before(v, u) + half;
            }
            // The other rows rank only this label, which then occupies place 0.
            let alone = (counts.ranked(u) - first - second).max(0.0);
            shares.weights[u * shares.labels] = first + alone;
            shares.weights[u * shares.labels + 1] = second;
        }
        shares
    }

    pub(crate) fn clear(&mut self) {
        self.weights.fill(0.0);
    }

    /// Adds all rankings.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(crate) fn add_all(&mut self, rankings: &Rankings, interrupt: &Interrupt) -> Result<()> {
        for_each_range(rankings, interrupt, |rows| self.add(rankings, rows))
    }

    /// Adds the given rankings.
    pub(crate) fn add(&mut self, rankings: &Rankings, rows: impl Iterator<Item = usize>) {
        for row in rows {
            self.add_row(rankings.row(row), rankings.weights().get(row));
        }
    }

    fn add_row(&mut self, positions: &[u16], weight: f64) {
        self.sizes.fill(0);
        for &position in positions.iter().filter(|&&position| position != MISSING) {
            self.sizes[usize::from(position)] += 1;
        }
        // Turn sizes into ends: the places of a position start where those of the previous position end.
        let mut end = 0;
        for size in &mut self.sizes {
            end += *size;
            *size = end;
        }
        for (label, &position) in positions.iter().enumerate() {
            if position == MISSING {
                continue;
            }
            let position = usize::from(position);
            let places = self.sizes[position - 1]..self.sizes[position];
            let share = weight / places.len() as f64;
            for place in places {
                self.weights[label * self.labels + place] += share;
            }
        }
    }

    /// Weight of each place of a label, first place first.
    #[must_use]
    pub fn of(&self, label: usize) -> &[f64] {
        &self.weights[label * self.labels..(label + 1) * self.labels]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn tied_labels_share_their_places() {
        let nan = f64::NAN;
        let y = array![[1.0, 2.0, 2.0, 3.0], [nan, 1.0, nan, 2.0]];
        let rankings = Rankings::new(y.view(), Some(&[2.0, 1.0]), &Interrupt::never()).unwrap();
        let mut shares = PlaceShares::empty(4);
        shares.add_all(&rankings, &Interrupt::never()).unwrap();
        assert_eq!(shares.of(0), [2.0, 0.0, 0.0, 0.0]);
        assert_eq!(shares.of(1), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(shares.of(2), [0.0, 1.0, 1.0, 0.0]);
        assert_eq!(shares.of(3), [0.0, 1.0, 0.0, 2.0]);
    }

    #[test]
    fn places_of_comparisons_are_those_of_rankings_of_two_labels() {
        let nan = f64::NAN;
        let y = array![
            [1.0, 2.0, nan],
            [2.0, 1.0, nan],
            [1.0, nan, 1.0],
            [nan, 1.0, 2.0],
            [nan, nan, 1.0],
            [nan, 2.0, 1.0]
        ];
        let weights = [2.0, 1.0, 3.0, 4.0, 5.0, 0.5];
        let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        let mut expected = PlaceShares::empty(3);
        expected.add_all(&rankings, &Interrupt::never()).unwrap();
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        let found = PlaceShares::of_comparisons(&counts);
        for label in 0..3 {
            assert_eq!(found.of(label), expected.of(label), "label {label}");
        }
    }

    #[test]
    fn counts_may_have_more_comparisons_than_rows() {
        let table = array![[3.0, 2.0, 1.0], [0.0, 0.0, 4.0], [5.0, 0.0, 0.0]];
        let counts = PairCounts::from_table(table.view(), &[1.0; 3]).unwrap();
        let found = PlaceShares::of_comparisons(&counts);
        assert_eq!(found.of(0), [4.0, 6.0, 0.0]);
        assert_eq!(found.of(1), [7.0, 4.0, 0.0]);
        assert_eq!(found.of(2), [4.0, 5.0, 0.0]);
    }
}
