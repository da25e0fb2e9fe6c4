//! [`ScoreTables`]: entropy scores of both sides of a split, from the number of rows per column (pair of labels) and
//! outcome (before, tied, after). Equal to the scores of [`crate::tree::split::criterion`].

use crate::rankings::Rankings;

use super::column_counts::ColumnCounts;
use super::pair_codes::PairCodes;
use crate::tree::split::entropy::{x_log_x, IntegerEntropy, RoundedEntropy};

/// Tables that turn pair counts into scores.
pub(crate) enum ScoreTables {
    /// For complete rankings.
    Complete(IntegerEntropy),
    /// For rankings with missing labels.
    Incomplete(RoundedEntropyTables),
}

/// Precomputed terms of [`RoundedEntropy::entropy`], indexed by count.
pub(crate) struct RoundedEntropyTables {
    pub(crate) rounding: RoundedEntropy,
    pub(crate) x_log_x: Vec<f64>,
    pub(crate) inverse: Vec<f64>,
}

/// Scores of the left and the right side of a split: for complete rankings the sum over the pairs of labels of weight ×
/// entropy, which never decreases when rows are added; with missing labels the sum of the entropies.
pub(crate) type SideScores = (i64, i64);

impl ScoreTables {
    /// Builds tables for nodes of up to `rows` rows.
    pub(crate) fn new(rankings: &Rankings, rows: usize) -> Self {
        let pairs = rankings.labels() * (rankings.labels() - 1) / 2;
        if rankings.is_complete() {
            return Self::Complete(IntegerEntropy::new(pairs, rows as u64));
        }
        let counts = || (0..=rows).map(|count| count as f64);
        Self::Incomplete(RoundedEntropyTables {
            rounding: RoundedEntropy::new(pairs),
            x_log_x: counts().map(x_log_x).collect(),
            inverse: counts()
                .map(|c| if c > 0.0 { 1.0 / c } else { 0.0 })
                .collect(),
        })
    }

    /// Impurity of a node of `rows` rows, given its score.
    pub(crate) fn impurity(&self, rows: usize, node_score: i64) -> f64 {
        match self {
            Self::Complete(entropy) => entropy.impurity(rows as u64, -node_score),
            Self::Incomplete(tables) => tables.rounding.impurity(node_score),
        }
    }

    /// Divisor that turns a difference of scores into an improvement, for a node of `rows` rows; infinite with missing
    /// labels, where a difference of scores says nothing about the improvement.
    pub(crate) fn denominator(&self, rows: usize) -> f64 {
        match self {
            Self::Complete(entropy) => entropy.denominator(rows as u64),
            Self::Incomplete(_) => f64::INFINITY,
        }
    }

    /// Improvement of a split of a node of `rows` rows and score `node_score` that sends `left` rows to the left.
    #[inline]
    pub(crate) fn improvement(
        &self,
        rows: usize,
        node_score: i64,
        left: usize,
        sides: SideScores,
    ) -> f64 {
        match self {
            Self::Complete(entropy) => {
                entropy.improvement(rows as u64, node_score - sides.0 - sides.1)
            }
            Self::Incomplete(tables) => tables.rounding.improvement(
                (rows as f64, node_score),
                [(left as f64, sides.0), ((rows - left) as f64, sides.1)].into_iter(),
            ),
        }
    }

    /// Scores both sides of a split, given the counts of the node and of its left side.
    #[inline(always)]
    pub(crate) fn score_sides(
        &self,
        pair_codes: &PairCodes,
        (rows, totals): (usize, &ColumnCounts),
        (left_rows, left): (usize, &ColumnCounts),
    ) -> SideScores {
        match self {
            Self::Complete(entropy) => {
                let entries = entropy.table_for(rows as u64);
                let table = entries.values();
                let counts = ((rows, totals), (left_rows, left));
                // A table with an entry for every possible index is read without bounds checks.
                if let Ok(table) = <&[i64; 256]>::try_from(table) {
                    score_complete_sides(
                        |count| table[usize::from(count as u8)],
                        pair_codes,
                        counts,
                    )
                } else if let Ok(table) = <&[i64; 4096]>::try_from(table) {
                    score_complete_sides(|count| table[count as usize % 4096], pair_codes, counts)
                } else if let Ok(table) = <&[i64; 65536]>::try_from(table) {
                    score_complete_sides(
                        |count| table[usize::from(count as u16)],
                        pair_codes,
                        counts,
                    )
                } else {
                    // The largest tables do not contain all counts.
                    score_complete_sides(|count| entries.get(count.into()), pair_codes, counts)
                }
            }
            Self::Incomplete(tables) => tables.score_sides(pair_codes, totals, left),
        }
    }
}

/// [`ScoreTables::score_sides`] for complete rankings; `f` is the table of c·log2 c as scaled integers.
#[inline(always)]
fn score_complete_sides(
    f: impl Fn(u32) -> i64,
    pair_codes: &PairCodes,
    ((rows, totals), (left_rows, left)): ((usize, &ColumnCounts), (usize, &ColumnCounts)),
) -> SideScores {
    let (n, n_left) = (rows as u32, left_rows as u32);
    let n_right = n - n_left;
    let (mut sum_left, mut sum_right, mut pairs) = (0, 0, 0);
    let columns = pair_codes.multiplicity.iter();
    let totals = totals.before.iter().zip(&totals.after);
    let left = left.before.iter().zip(&left.after);
    for ((&m, (&b, &a)), (&b_left, &a_left)) in columns.zip(totals).zip(left) {
        let (b_right, a_right) = (b - b_left, a - a_left);
        sum_left += m * (f(b_left) + f(a_left) + f(n_left - b_left - a_left));
        sum_right += m * (f(b_right) + f(a_right) + f(n_right - b_right - a_right));
        pairs += m;
    }
    (pairs * f(n_left) - sum_left, pairs * f(n_right) - sum_right)
}

impl RoundedEntropyTables {
    /// Rounded entropy of a pair, bit-identical to [`RoundedEntropy::entropy`].
    #[inline(always)]
    pub(crate) fn entropy(&self, before: u32, after: u32, seen: u32) -> i64 {
        let f = |count: u32| self.x_log_x[count as usize];
        let inner = (f(before) + f(after)) + f(seen - before - after);
        self.rounding
            .round((f(seen) - inner) * self.inverse[seen as usize])
    }

    #[inline(always)]
    fn score_sides(
        &self,
        pair_codes: &PairCodes,
        totals: &ColumnCounts,
        left: &ColumnCounts,
    ) -> SideScores {
        let mut sums = (0, 0);
        let totals = totals.before.iter().zip(&totals.after).zip(&totals.seen);
        let left = left.before.iter().zip(&left.after).zip(&left.seen);
        for (&m, (total, left)) in pair_codes.multiplicity.iter().zip(totals.zip(left)) {
            let ((&all_before, &all_after), &all_seen) = total;
            let ((&before, &after), &seen) = left;
            sums.0 += m * self.entropy(before, after, seen);
            sums.1 += m * self.entropy(all_before - before, all_after - after, all_seen - seen);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn counts_beyond_the_largest_table_are_scored() {
        let rankings = Rankings::new(array![[1, 2_i64]].view(), None, &Interrupt::never()).unwrap();
        let pair_codes = PairCodes::new(&rankings);
        let rows = (1 << 22) + 3;
        let counts = |before: u32, after: u32| ColumnCounts {
            before: vec![before],
            after: vec![after],
            seen: Vec::new(),
        };
        let (all, left) = (counts(rows - 2, 2), counts(rows - 2, 0));
        let tables = ScoreTables::new(&rankings, rows as usize);
        let sides = tables.score_sides(
            &pair_codes,
            (rows as usize, &all),
            (rows as usize - 2, &left),
        );
        // Both sides are pure.
        assert_eq!(sides, (0, 0));
        let whole = tables
            .score_sides(&pair_codes, (rows as usize, &all), (rows as usize, &all))
            .0;
        let share = 2.0 / f64::from(rows);
        let entropy = -(share * share.log2() + (1.0 - share) * (1.0 - share).log2());
        assert!((tables.impurity(rows as usize, whole) - entropy).abs() < 1e-12);
    }
}
