//! Counting pairs: [`PairCounts`] and its kernels.
//!
//! | kernel | rows | weights | times as fast as `rows` |
//! |---|---|---|---|
//! | `rows` | any | any | 1 |
//! | `bytes` | up to 255, or in batches of 255 | small whole numbers | 4.5 (10 × 26), 12 (5,000 × 26), 7 (200 × 200) |
//! | `columns` | many | unit | 11 (5,000 × 5), 18 (5,000 × 26), 27 (5,000 × 100) |
//!
//! In brackets: rows × labels. The kernel `bytes` has one byte per count. The kernel `few_rows` computes pair shares
//! and the pair order matrix of up to 24 rows of unit weight; it is 1.6 to 2.2 times as fast as counting by `bytes` and
//! dividing the counts.
//!
//! The test `kernel_times` prints these ratios. Its ratios for `RowPairCounter` are those of the kernel `bytes`, or of
//! `rows` if there are few pairs.

mod bytes;
mod columns;
mod few_rows;
#[cfg(test)]
mod kernel_times;
mod rows;

pub(crate) use bytes::BytePairCounter;
pub(crate) use few_rows::FewRows;
pub(crate) use rows::RowPairCounter;

use ndarray::ArrayView2;

use super::{
    check_label_count, for_each_part, for_each_range, labels_of_pairs, pair_index, PairTable,
};
use crate::error::{Error, PairStatisticError, Result, WeightProblem};
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// For each pair of labels u and v, the weights of the rankings that place u before v, tie them, or place u after v;
/// for each label, the weight of the rankings that rank it.
///
/// A row counts for a pair when it ranks both labels. Whole-number weights below 2^53 are added without rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct PairCounts {
    table: PairTable<f64>,
    /// Weight of the rows that rank each label.
    ranked: Vec<f64>,
}

impl PairCounts {
    /// Zero counts.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`](super::MAX_PAIR_LABELS), or [`Error::Memory`].
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
        let counter = RowPairCounter::new(rankings, rankings.weights());
        let mut bytes = BytePairCounter::default();
        for_each_range(rankings, interrupt, |rows| {
            counter.add(rows, table, &mut bytes);
        })?;
        for (row, positions) in rankings.rows().enumerate() {
            add_ranked(ranked, positions, rankings.weights().get(row));
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

    /// Adds one comparison: 0 for `u` before `v`, 1 for a tie, 2 for `u` after `v`.
    ///
    /// # Panics
    /// When a label is out of range, the labels are equal, or the outcome is greater than 2.
    #[inline]
    pub fn add_comparison(&mut self, u: usize, v: usize, outcome: u8, weight: f64) {
        assert!(u != v && u.max(v) < self.labels(), "no such pair of labels");
        let pair = pair_index(self.labels(), u.min(v), u.max(v));
        let plane = usize::from(if u < v { outcome } else { 2 - outcome });
        self.table.planes_mut()[plane][pair] += weight;
        self.ranked[u] += weight;
        self.ranked[v] += weight;
    }

    /// Checks and copies counts from a caller. `table` has one row per pair, in the order of [`pair_index`], with the
    /// weights of before, tied and after; `ranked` has the weight of the rows that rank each label.
    ///
    /// # Errors
    /// [`PairStatisticError::PairTable`](crate::error::PairStatisticError::PairTable) for an invalid shape,
    /// [`Error::LabelCount`] if `ranked` has a different number of labels, [`Error::Weight`] for a negative, NaN or
    /// infinite count, with the index of the pair or label as its row, and [`Error::WeightOverflow`] for counts whose
    /// sum is infinite.
    pub fn from_table(table: ArrayView2<'_, f64>, ranked: &[f64]) -> Result<Self> {
        let (pairs, columns) = table.dim();
        let Some(labels) = labels_of_pairs(pairs).filter(|_| columns == 3) else {
            return Err(Error::PairStatistic(PairStatisticError::PairTable {
                pairs,
                columns,
            }));
        };
        if ranked.len() != labels {
            return Err(Error::LabelCount {
                found: ranked.len(),
                expected: labels,
            });
        }
        let mut counts = Self::empty(labels)?;
        let mut planes = counts.table.planes_mut();
        for (row, values) in table.rows().into_iter().enumerate() {
            for (plane, &found) in planes.iter_mut().zip(values) {
                check_weight(row, found)?;
                plane[row] = found;
            }
        }
        for (row, &found) in ranked.iter().enumerate() {
            check_weight(row, found)?;
        }
        counts.ranked.copy_from_slice(ranked);
        let total: f64 = counts.table.values().iter().sum();
        if !total.is_finite() {
            return Err(Error::WeightOverflow);
        }
        Ok(counts)
    }

    /// Replaces the counts by the counts of the given rows.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn fill(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        bytes: &mut BytePairCounter,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.clear();
        let counter = RowPairCounter::without_weight_inspection(rankings);
        for_each_part(rows, rankings.labels(), interrupt, |part| {
            counter.add(part.iter().copied(), &mut self.table, bytes);
        })?;
        for &row in rows {
            let weight = rankings.weights().get(row);
            add_ranked(&mut self.ranked, rankings.row(row), weight);
        }
        Ok(())
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
    /// When a label is out of range; the other accessors panic as well.
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

    /// Writes [`at_least_as_high(v, u)`](Self::at_least_as_high) to row u, column v of the square matrix `out`, for all
    /// labels. One pass over the table, instead of one look-up per entry.
    pub(crate) fn write_at_least_as_high(&self, out: &mut [f64]) {
        let n = self.labels();
        let mut triples = self.table.triples();
        for u in 0..n {
            out[u * n + u] = self.ranked[u];
            for (v, [before, tied, after]) in (u + 1..n).zip(&mut triples) {
                out[u * n + v] = after + tied;
                out[v * n + u] = before + tied;
            }
        }
    }
}

/// Checks a count from a caller.
fn check_weight(row: usize, found: f64) -> Result<()> {
    let problem = if !found.is_finite() {
        WeightProblem::NotFinite
    } else if found < 0.0 {
        WeightProblem::Negative
    } else {
        return Ok(());
    };
    Err(Error::Weight {
        row,
        found,
        problem,
    })
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
        Rankings::new(y.view(), None, &Interrupt::never()).unwrap()
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
        assert_eq!(
            PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap(),
            by_row
        );
        let mut filled = by_row.clone();
        let never = Interrupt::never();
        filled
            .fill(
                &rankings,
                &[0, 1, 2, 3],
                &mut BytePairCounter::default(),
                &never,
            )
            .unwrap();
        assert_eq!(filled, by_row);
    }

    /// Counts by definition, and the number of rows that rank each label.
    fn count_by_definition(rankings: &Rankings) -> (Vec<[f64; 3]>, Vec<f64>) {
        let n = rankings.labels();
        let mut counts = Vec::new();
        for u in 0..n {
            for v in u + 1..n {
                let mut found = [0.0; 3];
                for row in rankings.rows().filter(|row| row[u] > 0 && row[v] > 0) {
                    found[(1 + row[u].cmp(&row[v]) as i8) as usize] += 1.0;
                }
                counts.push(found);
            }
        }
        let ranked = |label: usize| rankings.rows().filter(|row| row[label] > 0).count() as f64;
        (counts, (0..n).map(ranked).collect())
    }

    #[test]
    fn every_number_of_rows_and_labels_is_counted_by_definition() {
        // Few rows, one block of columns, blocks with a short one at the end, more labels than fit in a signed byte.
        for (rows, labels) in [
            (3, 5),
            (140, 4),
            (1921, 3),
            (2500, 3),
            (150, 140),
            (90, 140),
        ] {
            for missing in [0, 7] {
                let y = ndarray::Array2::from_shape_fn((rows, labels), |(row, label)| {
                    let code = row * 31 + label * 17 + row * label;
                    if missing > 0 && code % missing == 0 {
                        f64::NAN
                    } else {
                        1.0 + (code % labels) as f64
                    }
                });
                let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
                let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
                let (expected, ranked) = count_by_definition(&rankings);
                let found: Vec<[f64; 3]> = (0..labels)
                    .flat_map(|u| (u + 1..labels).map(move |v| (u, v)))
                    .map(|(u, v)| counts.table.get(u, v))
                    .collect();
                assert_eq!(found, expected, "{rows} × {labels}");
                assert_eq!(counts.ranked, ranked, "{rows} × {labels}");
            }
        }
    }

    #[test]
    fn tables_of_another_shape_are_refused() {
        let ranked = [1.0; 3];
        let of = |shape| PairCounts::from_table(ndarray::Array2::ones(shape).view(), &ranked);
        assert!(of((3, 3)).is_ok());
        for shape in [(3, 2), (3, 4), (2, 3), (6, 3), (0, 3)] {
            assert!(of(shape).is_err(), "{shape:?}");
        }
    }

    #[test]
    fn counts_with_an_infinite_sum_are_refused() {
        let of = |count: f64| {
            let table = ndarray::Array2::from_elem((3, 3), count);
            PairCounts::from_table(table.view(), &[count; 3])
        };
        assert!(of(1e307).is_ok());
        assert_eq!(of(1e308).unwrap_err(), Error::WeightOverflow);
    }
}
