//! Pair statistics of a set of rankings: [`PairCounts`], [`PairShares`] and the [`PairOrderMatrix`] C.

mod bytes;
mod few;
mod shares;
mod unit;

use std::ops::Range;

pub(crate) use bytes::ByteCounts;

pub use shares::{labels_of_pairs, pair_count, pair_index, PairShares};

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// The largest number of labels for pair statistics: a matrix of this size takes 512 MiB.
pub const MAX_PAIR_LABELS: usize = 8192;

/// Entries that should add up to 1 may miss it by this much.
const COMPLEMENT_TOLERANCE: f64 = 1e-9;

/// For each pair of labels the weight of the rankings that place one before the other, or tie them.
///
/// Only rows that rank both labels count. Whole-number weights below 2^53 are added without rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct PairCounts {
    labels: usize,
    /// `before[u * labels + v]`: weight of rows with u strictly before v.
    before: Vec<f64>,
    /// Symmetric; the diagonal holds the weight of the rows that rank the label.
    tied: Vec<f64>,
}

impl PairCounts {
    /// Counts of no rankings at all.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`].
    pub fn empty(labels: usize) -> Result<Self> {
        if labels > MAX_PAIR_LABELS {
            return Err(Error::TooManyLabels {
                found: labels,
                limit: MAX_PAIR_LABELS,
            });
        }
        Ok(Self {
            labels,
            before: vec![0.0; labels * labels],
            tied: vec![0.0; labels * labels],
        })
    }

    /// Counts all pairs of all rankings: O(rows · labels²), a few dozen rows to an instruction for unit weights.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`]; [`Error::Interrupted`].
    pub fn from_rankings(rankings: &Rankings, interrupt: &Interrupt) -> Result<Self> {
        let mut counts = Self::empty(rankings.labels())?;
        match rankings.weights() {
            Weights::Unit(rows) if rankings.labels() <= unit::MAX_BYTE_LABELS => {
                if *rows <= few::MAX_ROWS {
                    few::count_all(rankings, &mut counts);
                } else {
                    unit::count_all(rankings, &mut counts, interrupt)?;
                }
            }
            _ => {
                let part = rows_between_checks(rankings.labels());
                for start in (0..rankings.len()).step_by(part) {
                    interrupt.check()?;
                    dispatch(AddRows {
                        rankings,
                        rows: start..rankings.len().min(start + part),
                        counts: &mut counts,
                    });
                }
            }
        }
        Ok(counts)
    }

    /// Forgets everything counted, keeping the memory.
    pub fn clear(&mut self) {
        self.before.fill(0.0);
        self.tied.fill(0.0);
    }

    /// Adds one ranking (positions, [`MISSING`] where a label is not ranked) of the given weight. A negative
    /// weight takes away what an equal positive one has added.
    #[inline(always)]
    pub fn add(&mut self, positions: &[u16], weight: f64) {
        let n = self.labels;
        for (u, &pu) in positions.iter().enumerate() {
            if pu == MISSING {
                continue;
            }
            let before = &mut self.before[u * n..(u + 1) * n];
            let tied = &mut self.tied[u * n..(u + 1) * n];
            for ((before, tied), &pv) in before.iter_mut().zip(tied).zip(positions) {
                // MISSING is below every position, so neither comparison holds for it.
                *before += if pu < pv { weight } else { 0.0 };
                *tied += if pu == pv { weight } else { 0.0 };
            }
        }
    }

    /// Adds the counts of other rankings of the same labels.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn merge(&mut self, other: &Self) {
        self.combine(other, |mine, theirs| *mine += theirs);
    }

    /// Takes away the counts of rankings that were added before.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, |mine, theirs| *mine -= theirs);
    }

    fn combine(&mut self, other: &Self, apply: impl Fn(&mut f64, f64)) {
        assert_eq!(self.labels, other.labels, "pair counts of other labels");
        for (mine, theirs) in [
            (&mut self.before, &other.before),
            (&mut self.tied, &other.tied),
        ] {
            for (mine, &theirs) in mine.iter_mut().zip(theirs) {
                apply(mine, theirs);
            }
        }
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Weight of the rows that place `u` strictly before `v`.
    #[must_use]
    pub fn before(&self, u: usize, v: usize) -> f64 {
        self.before[u * self.labels + v]
    }

    /// Weight of the rows that tie `u` and `v`; for `u == v`, that of the rows that rank `u`.
    #[must_use]
    pub fn tied(&self, u: usize, v: usize) -> f64 {
        self.tied[u * self.labels + v]
    }

    /// Weight of the rows that rank both labels.
    #[must_use]
    pub fn seen(&self, u: usize, v: usize) -> f64 {
        self.before(u, v) + self.tied(u, v) + self.before(v, u)
    }

    /// Weight of the rows that rank the label.
    #[must_use]
    pub fn ranked(&self, label: usize) -> f64 {
        self.tied(label, label)
    }

    /// Weight of the rows that place `u` at least as high as `v`.
    #[must_use]
    pub fn at_least_as_high(&self, u: usize, v: usize) -> f64 {
        self.before(u, v) + self.tied(u, v)
    }
}

/// Number of rows between two checks for interruption in a kernel of O(n²) per row: some milliseconds of work.
pub(crate) fn rows_between_checks(labels: usize) -> usize {
    const PAIRS: usize = 1 << 24;
    (PAIRS / labels.pow(2)).max(1)
}

/// Adds rankings row by row.
struct AddRows<'a> {
    rankings: &'a Rankings,
    rows: Range<usize>,
    counts: &'a mut PairCounts,
}

impl Kernel for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let weights = self.rankings.weights();
        for row in self.rows {
            self.counts.add(self.rankings.row(row), weights.get(row));
        }
    }
}

/// The pair order matrix C: `C(u,v)` is the share of the rankings of both labels that place u before v, ties
/// counting half; ½ where no ranking has both, and on the diagonal.
///
/// Proven by the constructors: `C(u,v) + C(v,u) = 1`, diagonal ½, entries in [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct PairOrderMatrix {
    labels: usize,
    shares: Vec<f64>,
}

impl PairOrderMatrix {
    /// A matrix in which nothing is known: ½ everywhere.
    #[must_use]
    pub fn undecided(labels: usize) -> Self {
        Self {
            labels,
            shares: vec![0.5; labels * labels],
        }
    }

    /// The matrix of counted pairs.
    #[must_use]
    pub fn from_counts(counts: &PairCounts) -> Self {
        let mut matrix = Self::undecided(counts.labels);
        matrix.fill_from(counts);
        matrix
    }

    /// Overwrites the matrix with that of counted pairs of as many labels.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn fill_from(&mut self, counts: &PairCounts) {
        assert_eq!(self.labels, counts.labels, "pair counts of other labels");
        let n = self.labels;
        for u in 0..n {
            for v in u + 1..n {
                let (before, after) = (counts.before[u * n + v], counts.before[v * n + u]);
                let half_tied = counts.tied[u * n + v] / 2.0;
                let seen = before + after + 2.0 * half_tied;
                let (forward, backward) = if seen > 0.0 {
                    ((before + half_tied) / seen, (after + half_tied) / seen)
                } else {
                    (0.5, 0.5)
                };
                self.shares[u * n + v] = forward;
                self.shares[v * n + u] = backward;
            }
        }
    }

    /// Checks a matrix that somebody else has computed.
    ///
    /// # Errors
    /// A matrix that is not square, has fewer than two or too many labels, an entry that is NaN or outside
    /// [0, 1], a diagonal entry other than ½, or opposite entries that do not add up to 1 (within 1e-9).
    pub fn new(matrix: ArrayView2<'_, f64>) -> Result<Self> {
        let (rows, columns) = matrix.dim();
        if rows != columns {
            return Err(Error::NotSquare { rows, columns });
        }
        if rows < 2 {
            return Err(Error::TooFewLabels { found: rows });
        }
        if rows > MAX_PAIR_LABELS {
            return Err(Error::TooManyLabels {
                found: rows,
                limit: MAX_PAIR_LABELS,
            });
        }
        for ((row, column), &found) in matrix.indexed_iter() {
            let expected = if !(0.0..=1.0).contains(&found) {
                "a share from 0 to 1"
            } else if row == column && (found - 0.5).abs() > COMPLEMENT_TOLERANCE {
                "0.5 on the diagonal"
            } else {
                continue;
            };
            return Err(Error::PairOrder {
                row,
                column,
                found,
                expected,
            });
        }
        for row in 0..rows {
            for column in row + 1..rows {
                let sum = matrix[[row, column]] + matrix[[column, row]];
                if (sum - 1.0).abs() > COMPLEMENT_TOLERANCE {
                    return Err(Error::NotComplementary { row, column, sum });
                }
            }
        }
        let mut shares: Vec<f64> = matrix.iter().copied().collect();
        // Kernels rely on ½ to the last bit there.
        shares.iter_mut().step_by(rows + 1).for_each(|c| *c = 0.5);
        Ok(Self {
            labels: rows,
            shares,
        })
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// `C(u, v)`.
    #[must_use]
    pub fn get(&self, u: usize, v: usize) -> f64 {
        self.shares[u * self.labels + v]
    }

    /// `C(u, ·)` for all labels.
    #[must_use]
    pub fn row(&self, u: usize) -> &[f64] {
        &self.shares[u * self.labels..(u + 1) * self.labels]
    }

    /// All entries for a kernel of this crate to overwrite; it keeps what the constructors prove.
    pub(crate) fn shares_mut(&mut self) -> &mut [f64] {
        &mut self.shares
    }

    /// All entries, row by row.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.shares
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
        assert_eq!(
            (counts.before(0, 1), counts.tied(0, 1), counts.before(1, 0)),
            (1.0, 1.0, 0.0)
        );
        assert_eq!(
            (counts.before(1, 2), counts.tied(1, 2), counts.before(2, 1)),
            (0.0, 1.0, 1.0)
        );
        assert_eq!((counts.seen(0, 2), counts.ranked(2)), (1.0, 3.0));
    }

    #[test]
    fn byte_path_equals_row_path_and_subtraction_undoes_merging() {
        let rankings = example();
        let mut fast = PairCounts::empty(3).unwrap();
        unit::count_all(&rankings, &mut fast, &Interrupt::never()).unwrap();
        let mut few = PairCounts::empty(3).unwrap();
        few::count_all(&rankings, &mut few);
        assert_eq!(few, fast);
        let mut slow = PairCounts::empty(3).unwrap();
        for row in rankings.rows() {
            slow.add(row, 1.0);
        }
        assert_eq!(fast, slow);
        let once = slow.clone();
        slow.merge(&fast);
        assert_ne!(slow, once);
        slow.subtract(&fast);
        assert_eq!(slow, once);
    }

    #[test]
    fn an_unseen_pair_is_undecided() {
        let y = array![[1.0, f64::NAN], [f64::NAN, 1.0]];
        let counts =
            PairCounts::from_rankings(&Rankings::new(y.view(), None).unwrap(), &Interrupt::never())
                .unwrap();
        assert_eq!(
            PairOrderMatrix::from_counts(&counts),
            PairOrderMatrix::undecided(2)
        );
    }

    #[test]
    fn foreign_matrices_are_checked() {
        let bad = [
            array![[0.5, 0.7], [0.7, 0.5]],
            array![[0.5, 1.2], [-0.2, 0.5]],
            array![[0.5, f64::NAN], [0.5, 0.5]],
            array![[0.4, 0.7], [0.3, 0.5]],
        ];
        for matrix in bad {
            assert!(PairOrderMatrix::new(matrix.view()).is_err(), "{matrix}");
        }
        let good = array![[0.5, 0.7], [0.3, 0.5]];
        assert_eq!(PairOrderMatrix::new(good.view()).unwrap().get(0, 1), 0.7);
    }
}
