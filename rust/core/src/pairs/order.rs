//! [`PairOrderMatrix`]: per ordered pair of labels the share of rankings that place the first before the second.

use ndarray::ArrayView2;

use super::{check_label_count, PairCounts, PairTable};
use crate::error::{Error, PairStatisticError, Result};

/// Largest deviation of C(u,v) + C(v,u) from 1, and of the diagonal from ½, in a matrix passed by a caller.
const COMPLEMENT_TOLERANCE: f64 = 1e-9;

/// The pair order matrix C: `C(u,v)` is the share of rankings that place u before v among those that rank both; ties
/// count half. It is ½ on the diagonal and for pairs that no ranking contains.
///
/// Invariants: `C(u,v) + C(v,u) = 1` up to rounding, diagonal ½, entries in [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct PairOrderMatrix {
    labels: usize,
    shares: Vec<f64>,
}

impl PairOrderMatrix {
    /// The matrix of no rankings: ½ everywhere.
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
        let mut matrix = Self::undecided(counts.labels());
        matrix.fill_from(counts.table());
        matrix
    }

    /// Overwrites the matrix with the matrix of the counted pairs.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn fill_from(&mut self, counts: &PairTable<f64>) {
        let n = self.labels;
        assert_eq!(counts.labels(), n, "expected pair counts of {n} labels");
        self.fill_pairs(counts.triples().map(|[before, tied, after]| {
            let half_tied = tied / 2.0;
            let seen = before + after + 2.0 * half_tied;
            if seen > 0.0 {
                [(before + half_tied) / seen, (after + half_tied) / seen]
            } else {
                [0.5, 0.5]
            }
        }));
    }

    /// Overwrites the entries of each pair u < v with the next item of `pairs`, which is [C(u,v), C(v,u)]. Pairs are in
    /// the order of [`super::pair_index`]. The diagonal is unchanged.
    #[inline(always)]
    pub(super) fn fill_pairs(&mut self, mut pairs: impl Iterator<Item = [f64; 2]>) {
        let n = self.labels;
        for u in 0..n.saturating_sub(1) {
            let (upper, lower) = self.shares.split_at_mut((u + 1) * n);
            let row = upper[u * n + u + 1..].iter_mut();
            let column = lower[u..].iter_mut().step_by(n);
            for ((row, column), [forward, backward]) in row.zip(column).zip(&mut pairs) {
                *row = forward;
                *column = backward;
            }
        }
    }

    /// Checks a matrix passed by a caller.
    ///
    /// # Errors
    /// A matrix that is not square, has fewer than two or too many labels, an entry that is NaN or outside [0, 1], a
    /// diagonal entry other than ½, or opposite entries that do not add up to 1 (within 1e-9).
    pub fn new(matrix: ArrayView2<'_, f64>) -> Result<Self> {
        let (rows, columns) = matrix.dim();
        if rows != columns {
            return Err(Error::PairStatistic(PairStatisticError::NotSquare {
                rows,
                columns,
            }));
        }
        if rows < 2 {
            return Err(Error::TooFewLabels { found: rows });
        }
        check_label_count(rows)?;
        // The copy is checked: another thread may write to the matrix.
        let mut shares: Vec<f64> = matrix.iter().copied().collect();
        for (index, &found) in shares.iter().enumerate() {
            let (row, column) = (index / rows, index % rows);
            let expected = if !(0.0..=1.0).contains(&found) {
                "a share from 0 to 1"
            } else if row == column && (found - 0.5).abs() > COMPLEMENT_TOLERANCE {
                "0.5 on the diagonal"
            } else {
                continue;
            };
            return Err(Error::PairStatistic(PairStatisticError::PairOrder {
                row,
                column,
                found,
                expected,
            }));
        }
        for row in 0..rows {
            for column in row + 1..rows {
                let sum = shares[row * rows + column] + shares[column * rows + row];
                if (sum - 1.0).abs() > COMPLEMENT_TOLERANCE {
                    return Err(Error::PairStatistic(PairStatisticError::NotComplementary {
                        row,
                        column,
                        sum,
                    }));
                }
            }
        }
        // Kernels rely on a diagonal of exactly ½.
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

    /// All entries, row by row, mutable; the caller keeps the invariants.
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
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn an_unseen_pair_is_undecided() {
        let y = array![[1.0, f64::NAN], [f64::NAN, 1.0]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        assert_eq!(
            PairOrderMatrix::from_counts(&counts),
            PairOrderMatrix::undecided(2)
        );
    }

    #[test]
    fn matrices_of_callers_are_checked() {
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
