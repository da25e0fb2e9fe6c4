//! Counting pairs: [`PairCounts`] and the kernels behind it.
//!
//! | kernel | rows | weights |
//! |---|---|---|
//! | `rows` | any | any |
//! | `bytes` | up to 255, or in portions of 255 | small whole numbers |
//! | `columns` | many | unit |
//! | `few_rows` | up to 24, directly to shares | unit |

mod bytes;
mod columns;
mod few_rows;
mod rows;

pub(crate) use bytes::ByteCounter;
pub(crate) use few_rows::FewRows;
pub(crate) use rows::RowCounter;

use super::{check_label_count, rows_between_checks, PairTable};
use crate::error::Result;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// For each pair of labels the weights of the rankings that place the first before the second, tie both, or place it
/// after, and for each label the weight of the rankings that rank it.
///
/// A row counts for a pair when it ranks both labels. Whole-number weights below 2^53 are added without rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct PairCounts {
    table: PairTable<f64>,
    /// Weight of the rows that rank each label.
    ranked: Vec<f64>,
}

impl PairCounts {
    /// Counts of no rankings.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`](crate::error::Error::TooManyLabels) above [`MAX_PAIR_LABELS`](super::MAX_PAIR_LABELS).
    pub fn empty(labels: usize) -> Result<Self> {
        check_label_count(labels)?;
        Ok(Self {
            table: PairTable::new(labels),
            ranked: vec![0.0; labels],
        })
    }

    /// Counts all pairs of all rankings: O(rows · labels²).
    ///
    /// # Errors
    /// As [`Self::empty`], and [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub fn from_rankings(rankings: &Rankings, interrupt: &Interrupt) -> Result<Self> {
        let mut counts = Self::empty(rankings.labels())?;
        let (table, ranked) = (&mut counts.table, &mut counts.ranked);
        if columns::suits(rankings) {
            columns::count_all(rankings, table, ranked, interrupt)?;
            return Ok(counts);
        }
        let counter = RowCounter::new(rankings, rankings.weights());
        let part = rows_between_checks(rankings.labels());
        let parts = (0..rankings.len()).step_by(part);
        let parts = parts.map(|start| start..rankings.len().min(start + part));
        if counter.fits_bytes() {
            let mut bytes = ByteCounter::default();
            for rows in parts {
                interrupt.check()?;
                counter.add(rows, table, &mut bytes);
            }
            for (row, positions) in rankings.rows().enumerate() {
                add_ranked(ranked, positions, rankings.weights().get(row));
            }
        } else {
            let mut squares = rows::SquareCounts::new(rankings.labels());
            for rows in parts {
                interrupt.check()?;
                squares.add(rankings, rows);
            }
            squares.write(table, ranked);
        }
        Ok(counts)
    }

    /// Sets all counts to zero.
    pub fn clear(&mut self) {
        self.table.clear();
        self.ranked.fill(0.0);
    }

    /// Adds one ranking (positions, [`MISSING`] for a label that it does not rank) of the given weight.
    #[inline(always)]
    pub fn add(&mut self, positions: &[u16], weight: f64) {
        rows::add_row(&mut self.table, positions, weight);
        add_ranked(&mut self.ranked, positions, weight);
    }

    /// Counts the given rows in place of those counted before.
    pub(crate) fn fill(&mut self, rankings: &Rankings, rows: &[usize], bytes: &mut ByteCounter) {
        self.clear();
        let counter = RowCounter::without_inspection(rankings);
        counter.add(rows.iter().copied(), &mut self.table, bytes);
        for &row in rows {
            let weight = rankings.weights().get(row);
            add_ranked(&mut self.ranked, rankings.row(row), weight);
        }
    }

    /// The weights of all pairs.
    #[must_use]
    pub fn table(&self) -> &PairTable<f64> {
        &self.table
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.table.labels()
    }

    /// Weight of the rows that place `u` strictly before `v`; 0 for `u == v`.
    ///
    /// # Panics
    /// When a label is out of range, as the other accessors.
    #[inline]
    #[must_use]
    pub fn before(&self, u: usize, v: usize) -> f64 {
        self.get(u, v)[0]
    }

    /// Weight of the rows that tie `u` and `v`; for `u == v`, of the rows that rank `u`.
    #[inline]
    #[must_use]
    pub fn tied(&self, u: usize, v: usize) -> f64 {
        self.get(u, v)[1]
    }

    /// Weight of the rows that rank both labels.
    #[inline]
    #[must_use]
    pub fn seen(&self, u: usize, v: usize) -> f64 {
        let [before, tied, after] = self.get(u, v);
        before + tied + after
    }

    #[inline]
    fn get(&self, u: usize, v: usize) -> [f64; 3] {
        if u == v {
            [0.0, self.ranked[u], 0.0]
        } else {
            self.table.get(u, v)
        }
    }

    /// Weight of the rows that rank the label.
    #[must_use]
    pub fn ranked(&self, label: usize) -> f64 {
        self.ranked[label]
    }

    /// Weight of the rows that place `u` at least as high as `v`.
    #[inline]
    #[must_use]
    pub fn at_least_as_high(&self, u: usize, v: usize) -> f64 {
        let [before, tied, _] = self.get(u, v);
        before + tied
    }
}

#[inline(always)]
fn add_ranked(ranked: &mut [f64], positions: &[u16], weight: f64) {
    for (ranked, &position) in ranked.iter_mut().zip(positions) {
        *ranked += if position == MISSING { 0.0 } else { weight };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn example() -> Rankings {
        let y = array![
            [1.0, 2.0, 2.0],
            [f64::NAN, 2.0, 1.0],
            [1.0, 1.0, f64::NAN],
            [f64::NAN, f64::NAN, 1.0]
        ];
        Rankings::new(y.view(), None).unwrap()
    }

    #[test]
    fn counts_only_rows_with_both_labels() {
        let counts = PairCounts::from_rankings(&example(), &Interrupt::never()).unwrap();
        assert_eq!(counts.table().get(0, 1), [1.0, 1.0, 0.0]);
        assert_eq!(counts.table().get(1, 2), [0.0, 1.0, 1.0]);
        assert_eq!((counts.before(2, 1), counts.tied(2, 1)), (1.0, 1.0));
        assert_eq!((counts.seen(0, 2), counts.ranked(2)), (1.0, 3.0));
        assert_eq!(counts.at_least_as_high(0, 1), 2.0);
        assert_eq!(counts.at_least_as_high(2, 2), 3.0);
        assert_eq!((counts.before(2, 2), counts.tied(2, 2)), (0.0, 3.0));
    }

    #[test]
    fn all_kernels_count_alike() {
        let rankings = example();
        let mut by_column = PairCounts::empty(3).unwrap();
        let PairCounts { table, ranked } = &mut by_column;
        columns::count_all(&rankings, table, ranked, &Interrupt::never()).unwrap();
        let mut by_row = PairCounts::empty(3).unwrap();
        for row in rankings.rows() {
            by_row.add(row, 1.0);
        }
        assert_eq!(by_column, by_row);
        let mut by_square = PairCounts::empty(3).unwrap();
        let mut squares = rows::SquareCounts::new(3);
        squares.add(&rankings, 0..4);
        squares.write(&mut by_square.table, &mut by_square.ranked);
        assert_eq!(by_square, by_row);
        assert_eq!(
            PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap(),
            by_row
        );
        let mut filled = by_row.clone();
        filled.fill(&rankings, &[0, 1, 2, 3], &mut ByteCounter::default());
        assert_eq!(filled, by_row);
    }
}
