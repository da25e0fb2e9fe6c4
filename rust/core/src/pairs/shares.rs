//! [`PairShares`]: for each pair of labels the shares of rankings that place the first before, tied with, or after the
//! second.

use ndarray::ArrayView2;

use super::{check_label_count, labels_of_pairs, PairCounts, PairOrderMatrix, PairTable};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, PairStatisticError, Result};

/// Tolerance for the sum of the shares of a pair, which should be 1.
const SUM_TOLERANCE: f64 = 1e-9;

/// For each pair of labels u < v the shares of "u before v", "tied" and "u after v".
///
/// The shares of a pair add up to 1, or are all 0 for a pair without evidence (no ranking contains both labels). Trees,
/// forests and all other models predict this type. Stored as in [`PairTable`].
#[derive(Debug, Clone, PartialEq)]
pub struct PairShares {
    table: PairTable<f64>,
}

impl PairShares {
    /// Shares without evidence: 0 everywhere.
    ///
    /// # Errors
    /// [`Error::TooFewLabels`] below two labels, [`Error::TooManyLabels`] above
    /// [`MAX_PAIR_LABELS`](super::MAX_PAIR_LABELS), or [`Error::Memory`].
    pub fn unknown(labels: usize) -> Result<Self> {
        if labels < 2 {
            return Err(Error::TooFewLabels { found: labels });
        }
        check_label_count(labels)?;
        Ok(Self {
            table: PairTable::new(labels),
        })
    }

    /// The shares of the counted pairs.
    ///
    /// # Errors
    /// As [`Self::unknown`].
    pub fn from_counts(counts: &PairCounts) -> Result<Self> {
        let mut shares = Self::unknown(counts.labels())?;
        shares.fill_from(counts.table());
        Ok(shares)
    }

    /// Checks shares passed by a caller: one row per pair, in the columns before, tied and after.
    ///
    /// # Errors
    /// A number of rows that is not n(n−1)/2, a number of columns that is not 3, a share outside [0, 1], or shares of a
    /// pair that add up to neither 1 nor 0.
    pub fn new(table: ArrayView2<'_, f64>) -> Result<Self> {
        let (pairs, columns) = table.dim();
        let Some(labels) = labels_of_pairs(pairs).filter(|_| columns == 3) else {
            return Err(Error::PairStatistic(PairStatisticError::PairTable {
                pairs,
                columns,
            }));
        };
        let mut shares = Self::unknown(labels)?;
        let mut planes = shares.planes_mut();
        for (pair, row) in table.rows().into_iter().enumerate() {
            // The copy is checked: another thread may write to the table.
            let found = [row[0], row[1], row[2]];
            let sum: f64 = found.iter().sum();
            let possible = found.iter().all(|share| (0.0..=1.0).contains(share));
            if !possible || ((sum - 1.0).abs() > SUM_TOLERANCE && sum != 0.0) {
                return Err(Error::PairStatistic(PairStatisticError::PairShare {
                    pair,
                    found,
                }));
            }
            for (plane, share) in planes.iter_mut().zip(found) {
                plane[pair] = share;
            }
        }
        Ok(shares)
    }

    /// Overwrites the shares with those of the counted pairs.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn fill_from(&mut self, counts: &PairTable<f64>) {
        let n = self.labels();
        assert_eq!(counts.labels(), n, "expected pair counts of {n} labels");
        self.table.values_mut().copy_from_slice(counts.values());
        self.normalise();
    }

    /// The shares as a table.
    pub(crate) fn table(&self) -> &PairTable<f64> {
        &self.table
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.table.labels()
    }

    /// Number of pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.table.pairs()
    }

    /// The planes before, tied and after, with one share per pair each.
    #[must_use]
    pub fn planes(&self) -> [&[f64]; 3] {
        self.table.planes()
    }

    /// The planes before, tied and after, mutable.
    pub fn planes_mut(&mut self) -> [&mut [f64]; 3] {
        self.table.planes_mut()
    }

    /// All shares: the three planes one after the other.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        self.table.values()
    }

    /// All shares, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        self.table.values_mut()
    }

    /// Divides the values of each pair by their sum, unless the sum is 0.
    fn normalise(&mut self) {
        normalise(self.as_mut_slice());
    }

    /// Shares of "u before v", "tied" and "u after v", for u ≠ v in any order.
    ///
    /// # Panics
    /// When a label is out of range or u = v.
    #[must_use]
    pub fn get(&self, u: usize, v: usize) -> [f64; 3] {
        self.table.get(u, v)
    }

    /// The pair order matrix C: before plus half of tied; ½ for a pair without evidence.
    #[must_use]
    pub fn pair_order(&self) -> PairOrderMatrix {
        let mut matrix = PairOrderMatrix::undecided(self.labels());
        self.write_pair_order(&mut matrix);
        matrix
    }

    /// Overwrites a matrix of the same number of labels with C.
    pub(crate) fn write_pair_order(&self, matrix: &mut PairOrderMatrix) {
        matrix.fill_pairs(self.table.triples().map(|[before, tied, after]| {
            // Both entries are computed from the shares, not one as 1 minus the other, so that swapping the labels
            // swaps the entries exactly.
            if before + tied + after > 0.0 {
                [before + tied / 2.0, after + tied / 2.0]
            } else {
                [0.5, 0.5]
            }
        }));
    }

    /// Expected τ_X between a bucket order and a random ranking with these shares: the mean over all pairs of before −
    /// after if the order places u before v, after − before if it places u after v, and tied if it ties them.
    ///
    /// # Panics
    /// When the bucket order has a different number of labels.
    #[must_use]
    pub fn expected_tau_x(&self, order: &BucketOrder) -> f64 {
        let positions = order.positions();
        let n = self.labels();
        assert_eq!(positions.len(), n, "expected an order of {n} labels");
        let (mut shares, mut sum) = (self.table.triples(), 0.0);
        for (u, pu) in positions.iter().enumerate() {
            for (pv, [before, tied, after]) in positions[u + 1..].iter().zip(&mut shares) {
                sum += match pu.cmp(pv) {
                    std::cmp::Ordering::Less => before - after,
                    std::cmp::Ordering::Equal => tied,
                    std::cmp::Ordering::Greater => after - before,
                };
            }
        }
        sum / self.pairs() as f64
    }
}

/// Divides the values of each pair by their sum, unless the sum is 0. `planes` holds the planes before, tied and after,
/// one after the other.
pub(crate) fn normalise(planes: &mut [f64]) {
    let pairs = planes.len() / 3;
    let (before, rest) = planes.split_at_mut(pairs);
    let (tied, after) = rest.split_at_mut(pairs);
    for ((b, t), a) in before.iter_mut().zip(tied).zip(after) {
        let sum = *b + *t + *a;
        let divisor = if sum > 0.0 { sum } else { 1.0 };
        *b /= divisor;
        *t /= divisor;
        *a /= divisor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::array;

    fn example() -> PairShares {
        let y = array![
            [1.0, 2.0, 2.0, f64::NAN],
            [2.0, 1.0, 3.0, f64::NAN],
            [1.0, 1.0, f64::NAN, f64::NAN]
        ];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        PairShares::from_counts(&PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap())
            .unwrap()
    }

    #[test]
    fn shares_count_the_rows_that_rank_both_labels() {
        let shares = example();
        let third = 1.0 / 3.0;
        assert_eq!(shares.get(0, 1), [third, third, third]);
        assert_eq!(shares.get(1, 2), [0.5, 0.5, 0.0]);
        assert_eq!(shares.get(2, 1), [0.0, 0.5, 0.5]);
        assert_eq!(shares.get(3, 0), [0.0; 3]);
        assert_eq!(shares.pair_order().get(2, 1), 0.25);
        assert_eq!(shares.pair_order().get(3, 1), 0.5);
    }

    #[test]
    fn expected_tau_x_of_the_row_itself_is_one() {
        let y = array![[2, 1, 1, 3_i64]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        let shares = PairShares::from_counts(&counts).unwrap();
        let own = BucketOrder::from_scores(&[2.0, 3.0, 3.0, 1.0], |drop| drop <= 0.0);
        assert_eq!(shares.expected_tau_x(&own), 1.0);
        let tied = shares.expected_tau_x(&BucketOrder::all_tied(4));
        assert!((tied - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn shares_of_callers_are_checked() {
        let good = array![[0.5, 0.25, 0.25], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let shares = PairShares::new(good.view()).unwrap();
        assert_eq!(shares.get(1, 0), [0.25, 0.25, 0.5]);
        let bad = [
            array![[0.5, 0.5, 0.5]],
            array![[1.5, -0.5, 0.0]],
            array![[f64::NAN, 0.0, 0.0]],
            array![[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        ];
        for table in bad {
            assert!(PairShares::new(table.view()).is_err(), "{table}");
        }
    }
}
