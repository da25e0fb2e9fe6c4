//! [`PairValues`]: the value of each relation (before, tied, after) of each pair of labels. The searches look for the
//! bucket order with the largest sum of these values.

use std::cmp::Ordering;

/// Extra value of a tied pair: decides between equally good bucket orders in favour of ties, so that labels
/// are not ordered without evidence. Values of pairs are scaled to at most 1, so it is far below every real difference.
pub(in super::super) const TIE_BONUS: f64 = 1e-9;

/// Sums of values that differ by no more than this are equal up to rounding.
pub(super) const NOISE: f64 = 1e-11;

/// Values of the relations of each pair. The index of a label is its place in an order that does not depend on the
/// columns of the data, so a search that uses these indices only is equivariant to relabelling.
///
/// "i before j" is worth `lead(i, j) = -lead(j, i)`, a tie `tied(i, j)`, at most 1 in absolute value. Every problem
/// can be written in this way by subtracting the mean of both strict values from all three values of a pair.
#[derive(Debug, Clone)]
pub(in super::super) struct PairValues {
    pub(super) n: usize,
    /// Row-major: `lead(i, j)` for all i and j.
    lead: Vec<f64>,
    /// Values of ties, with [`TIE_BONUS`].
    tied: Vec<f64>,
}

impl PairValues {
    /// Values of `n` labels; `value(i, j)` returns the values of "i before j" and of a tie for i < j.
    pub(in super::super) fn new(n: usize, value: impl Fn(usize, usize) -> (f64, f64)) -> Self {
        let (mut lead, mut tied) = (vec![0.0; n * n], vec![0.0; n * n]);
        for i in 0..n {
            for j in i + 1..n {
                let (ahead, tie) = value(i, j);
                lead[i * n + j] = ahead;
                lead[j * n + i] = -ahead;
                tied[i * n + j] = tie + TIE_BONUS;
                tied[j * n + i] = tie + TIE_BONUS;
            }
        }
        Self { n, lead, tied }
    }

    /// The values of some of the labels, in the given order.
    pub(super) fn restrict(&self, labels: &[usize]) -> Self {
        let m = labels.len();
        let pick = |values: &[f64]| {
            let rows = labels.iter();
            rows.flat_map(|&i| labels.iter().map(move |&j| values[i * self.n + j]))
                .collect()
        };
        Self {
            n: m,
            lead: pick(&self.lead),
            tied: pick(&self.tied),
        }
    }

    /// Value of i before j.
    #[inline]
    pub(super) fn lead(&self, i: usize, j: usize) -> f64 {
        self.lead[i * self.n + j]
    }

    /// Value of i tied with j.
    #[inline]
    pub(super) fn tied(&self, i: usize, j: usize) -> f64 {
        self.tied[i * self.n + j]
    }

    /// Value of an assignment of labels to buckets.
    pub(super) fn value(&self, bucket_of: &[usize]) -> f64 {
        let mut value = 0.0;
        for i in 0..self.n {
            for j in i + 1..self.n {
                value += match bucket_of[i].cmp(&bucket_of[j]) {
                    Ordering::Less => self.lead(i, j),
                    Ordering::Equal => self.tied(i, j),
                    Ordering::Greater => -self.lead(i, j),
                };
            }
        }
        value
    }

    /// Value of the best relation of a pair.
    #[inline]
    pub(super) fn best(&self, i: usize, j: usize, limits: BucketLimits) -> f64 {
        let strict = self.lead(i, j).abs();
        if limits.forbid_ties(self.n) {
            strict
        } else {
            strict.max(self.tied(i, j))
        }
    }

    /// Upper bound of the value: the best relation of each pair.
    pub(super) fn upper_bound(&self, limits: BucketLimits) -> f64 {
        let pairs = (0..self.n).flat_map(|i| (i + 1..self.n).map(move |j| (i, j)));
        pairs.map(|(i, j)| self.best(i, j, limits)).sum()
    }
}

/// Smallest and largest permitted number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct BucketLimits {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl BucketLimits {
    /// Any number of buckets.
    pub(super) const ANY: Self = Self {
        least: 1,
        most: usize::MAX,
    };

    /// One bucket per label.
    pub(super) fn strict(n: usize) -> Self {
        Self { least: n, most: n }
    }

    pub(super) fn forbid_ties(self, n: usize) -> bool {
        self.least >= n
    }

    pub(super) fn contain(self, buckets: usize) -> bool {
        (self.least..=self.most).contains(&buckets)
    }
}
