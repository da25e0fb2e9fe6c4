//! [`PairShares`]: for each pair of labels how likely it is before, tied and after.

use ndarray::ArrayView2;

use super::{PairCounts, PairOrderMatrix, MAX_PAIR_LABELS};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};

/// Shares of a pair may miss the sum 1 by this much.
const SUM_TOLERANCE: f64 = 1e-9;

/// For each pair of labels u < v the shares of "u before v", "tied" and "u after v".
///
/// The shares of a pair add up to 1, or are all 0 where nothing is known of the pair. This is what a leaf, a smoothed
/// leaf, an average over many trees and a model of pairs have in common: whatever predicts pairs hands over this type.
///
/// Stored flat, as three planes of n(n−1)/2 numbers each: before, tied, after; pairs in the order (0,1), (0,2), …,
/// (1,2), … of [`pair_index`].
#[derive(Debug, Clone, PartialEq)]
pub struct PairShares {
    labels: usize,
    values: Vec<f64>,
}

/// Number of unordered pairs of so many labels.
#[must_use]
pub fn pair_count(labels: usize) -> usize {
    labels * labels.saturating_sub(1) / 2
}

/// Place of the pair u < v among the pairs of so many labels.
#[must_use]
pub fn pair_index(labels: usize, u: usize, v: usize) -> usize {
    u * (2 * labels - u - 1) / 2 + v - u - 1
}

/// The number of labels that have so many pairs, if there is one.
#[must_use]
pub fn labels_of_pairs(pairs: usize) -> Option<usize> {
    let labels = (8 * pairs + 1).isqrt().div_ceil(2);
    (labels >= 2 && pair_count(labels) == pairs).then_some(labels)
}

impl PairShares {
    /// Shares that know nothing: 0 everywhere.
    ///
    /// # Errors
    /// [`Error::TooFewLabels`] below two labels, [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`].
    pub fn unknown(labels: usize) -> Result<Self> {
        if labels < 2 {
            return Err(Error::TooFewLabels { found: labels });
        }
        if labels > MAX_PAIR_LABELS {
            return Err(Error::TooManyLabels {
                found: labels,
                limit: MAX_PAIR_LABELS,
            });
        }
        Ok(Self {
            labels,
            values: vec![0.0; 3 * pair_count(labels)],
        })
    }

    /// The shares of counted pairs.
    ///
    /// # Errors
    /// As [`Self::unknown`].
    pub fn from_counts(counts: &PairCounts) -> Result<Self> {
        let mut shares = Self::unknown(counts.labels())?;
        shares.fill_from(counts);
        Ok(shares)
    }

    /// Checks shares that somebody else has computed: one row a pair, in the columns before, tied and after.
    ///
    /// # Errors
    /// Another number of rows than n(n−1)/2 or of columns than 3, a share outside [0, 1], or shares of a pair that
    /// add up neither to 1 nor to 0.
    pub fn new(table: ArrayView2<'_, f64>) -> Result<Self> {
        let (pairs, columns) = table.dim();
        let Some(labels) = labels_of_pairs(pairs).filter(|_| columns == 3) else {
            return Err(Error::PairTable { pairs, columns });
        };
        let mut shares = Self::unknown(labels)?;
        for (pair, row) in table.rows().into_iter().enumerate() {
            let sum: f64 = row.iter().sum();
            let possible = row.iter().all(|share| (0.0..=1.0).contains(share));
            if !possible || ((sum - 1.0).abs() > SUM_TOLERANCE && sum != 0.0) {
                return Err(Error::PairShare {
                    pair,
                    found: [row[0], row[1], row[2]],
                });
            }
            for (plane, &share) in row.iter().enumerate() {
                shares.values[plane * pairs + pair] = share;
            }
        }
        Ok(shares)
    }

    /// Overwrites the shares with those of counted pairs.
    ///
    /// # Panics
    /// When the numbers of labels differ.
    pub fn fill_from(&mut self, counts: &PairCounts) {
        assert_eq!(self.labels, counts.labels(), "pair counts of other labels");
        let n = self.labels;
        let [before, tied, after] = self.planes_mut();
        let mut pair = 0;
        for u in 0..n {
            for v in u + 1..n {
                let (b, t, a) = (counts.before(u, v), counts.tied(u, v), counts.before(v, u));
                let seen = b + t + a;
                let divisor = if seen > 0.0 { seen } else { 1.0 };
                before[pair] = b / divisor;
                tied[pair] = t / divisor;
                after[pair] = a / divisor;
                pair += 1;
            }
        }
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.values.len() / 3
    }

    /// The planes before, tied and after.
    #[must_use]
    pub fn planes(&self) -> [&[f64]; 3] {
        let pairs = self.pairs();
        let (before, rest) = self.values.split_at(pairs);
        let (tied, after) = rest.split_at(pairs);
        [before, tied, after]
    }

    /// The planes before, tied and after, to be overwritten. What is written must be shares again.
    pub fn planes_mut(&mut self) -> [&mut [f64]; 3] {
        let pairs = self.pairs();
        let (before, rest) = self.values.split_at_mut(pairs);
        let (tied, after) = rest.split_at_mut(pairs);
        [before, tied, after]
    }

    /// All numbers: the three planes one behind the other.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// All numbers, to be overwritten. What is written must be shares again.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Divides the numbers of each pair by their sum, where it is not 0.
    pub(crate) fn normalise(&mut self) {
        let [before, tied, after] = self.planes_mut();
        for ((b, t), a) in before.iter_mut().zip(tied).zip(after) {
            let sum = *b + *t + *a;
            let divisor = if sum > 0.0 { sum } else { 1.0 };
            *b /= divisor;
            *t /= divisor;
            *a /= divisor;
        }
    }

    /// Shares of "u before v", "tied" and "u after v", for u ≠ v in any order.
    ///
    /// # Panics
    /// When there is no such label, or only one.
    #[must_use]
    pub fn get(&self, u: usize, v: usize) -> [f64; 3] {
        assert!(u != v && u.max(v) < self.labels, "no such pair of labels");
        let pair = pair_index(self.labels, u.min(v), u.max(v));
        let [before, tied, after] = self.planes();
        if u < v {
            [before[pair], tied[pair], after[pair]]
        } else {
            [after[pair], tied[pair], before[pair]]
        }
    }

    /// The pair order matrix C: before plus half of tied; ½ where nothing is known.
    #[must_use]
    pub fn pair_order(&self) -> PairOrderMatrix {
        let mut matrix = PairOrderMatrix::undecided(self.labels);
        self.write_pair_order(&mut matrix);
        matrix
    }

    /// Overwrites a matrix of as many labels with C.
    pub(crate) fn write_pair_order(&self, matrix: &mut PairOrderMatrix) {
        let n = self.labels;
        let entries = matrix.shares_mut();
        let [before, tied, after] = self.planes();
        let mut pair = 0;
        for u in 0..n {
            for v in u + 1..n {
                let half = tied[pair] / 2.0;
                let known = before[pair] + tied[pair] + after[pair] > 0.0;
                // Both from their own shares: the sum is 1 up to rounding, and mirrored pairs are treated alike.
                entries[u * n + v] = if known { before[pair] + half } else { 0.5 };
                entries[v * n + u] = if known { after[pair] + half } else { 0.5 };
                pair += 1;
            }
        }
    }

    /// The expected τ_X of a bucket order with a ranking that has these shares: the mean over all pairs of before −
    /// after where u is placed before v, after − before where it is placed after, and tied where both are tied.
    ///
    /// # Panics
    /// When the bucket order has another number of labels.
    #[must_use]
    pub fn expected_tau_x(&self, order: &BucketOrder) -> f64 {
        let positions = order.positions();
        assert_eq!(positions.len(), self.labels, "an order of other labels");
        let [before, tied, after] = self.planes();
        let (mut pair, mut sum) = (0, 0.0);
        for (u, pu) in positions.iter().enumerate() {
            for pv in &positions[u + 1..] {
                sum += match pu.cmp(pv) {
                    std::cmp::Ordering::Less => before[pair] - after[pair],
                    std::cmp::Ordering::Equal => tied[pair],
                    std::cmp::Ordering::Greater => after[pair] - before[pair],
                };
                pair += 1;
            }
        }
        sum / self.pairs() as f64
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
        let rankings = Rankings::new(y.view(), None).unwrap();
        PairShares::from_counts(&PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap())
            .unwrap()
    }

    #[test]
    fn shares_are_those_of_the_rows_that_rank_both() {
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
    fn pairs_are_numbered_without_gaps() {
        for labels in 2..9 {
            let pairs = (0..labels).flat_map(|u| (u + 1..labels).map(move |v| (u, v)));
            for (expected, (u, v)) in pairs.enumerate() {
                assert_eq!(pair_index(labels, u, v), expected);
            }
            assert_eq!(labels_of_pairs(pair_count(labels)), Some(labels));
        }
        for pairs in [0, 2, 4, 5, 7, 324] {
            assert_eq!(labels_of_pairs(pairs), None);
        }
    }

    #[test]
    fn expected_tau_x_of_the_row_itself_is_one() {
        let y = array![[2, 1, 1, 3_i64]];
        let rankings = Rankings::new(y.view(), None).unwrap();
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        let shares = PairShares::from_counts(&counts).unwrap();
        let own = BucketOrder::from_scores(&[2.0, 3.0, 3.0, 1.0], |drop| drop <= 0.0);
        assert_eq!(shares.expected_tau_x(&own), 1.0);
        let tied = shares.expected_tau_x(&BucketOrder::all_tied(4));
        assert!((tied - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn foreign_shares_are_checked() {
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
