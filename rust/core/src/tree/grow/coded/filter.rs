//! [`UpperBound`]: a cheap upper bound of a cut's improvement, for complete rankings.
//!
//! Scoring a cut looks up six logarithms per column. Most cuts are clearly worse than the best one so far, and a sum
//! of a few products proves it.
//!
//! For a pair, let C rows of the node's n be of one kind (before, after or tied), O of them among the l rows on the
//! left, and r = n - l. Where kinds fell on the sides by chance, E = C·l/n rows would be expected. The pair gains
//! `Σ E·φ(δ) / ln 2` bits over both sides and the three kinds, with δ = O/E - 1 and `φ(δ) = (1+δ)·ln(1+δ) - δ`.
//! The series of φ gives `φ(δ) <= δ²/2` for δ >= 0 and `φ(δ) <= δ²/2 + |δ|³/2` for -1 <= δ <= 0. With
//! D = O·n - C·l, which is an exact integer, the two sides of a kind have δ = D/(C·l) and -D/(C·r), and the bound is
//! `D²/(2C) · (1/(l·r) + max(-D/(n·l²), D/(n·r²))/C)`.

use super::block::PairCodes;
use super::count::Counts;

/// Products of two counts up to this are exact 32-bit integers.
const MAX_ROWS: usize = 46_340;

/// Columns at once.
const LANES: usize = 8;

/// All terms are positive and each is rounded a dozen times, by at most 2^-24 of itself; the sums add one rounding
/// for each group of columns, which are some thousand at most. This covers them all many times over.
const ROUNDING: f64 = 1.001;

/// What the bound needs of a node, column by column.
pub(crate) struct UpperBound {
    rows: i32,
    groups: Vec<Group>,
    /// Turns the sum of all terms into an improvement.
    scale: f64,
}

/// Some columns side by side; places behind the last column are 0.
#[derive(Default, Clone)]
struct Group {
    before: [i32; LANES],
    after: [i32; LANES],
    /// Inverse numbers of rows, 0 where there are none.
    inverse_before: [f32; LANES],
    inverse_after: [f32; LANES],
    inverse_tied: [f32; LANES],
    multiplicity: [f32; LANES],
}

impl UpperBound {
    /// The filter of a node of `rows` rows with these totals, for rankings with `pairs` pairs of labels; `None` for a
    /// node that is too large.
    #[inline(always)]
    pub(crate) fn new(
        block: &PairCodes,
        rows: usize,
        totals: &Counts,
        pairs: usize,
    ) -> Option<Self> {
        if rows > MAX_ROWS || !block.seen.is_empty() {
            return None;
        }
        let inverse = |count: i32| if count > 0 { 1.0 / count as f32 } else { 0.0 };
        let n = rows as i32;
        let multiplicities = block.multiplicity.chunks(LANES);
        let totals = totals.before.chunks(LANES).zip(totals.after.chunks(LANES));
        let groups = multiplicities
            .zip(totals)
            .map(|(multiplicities, (before, after))| {
                let mut group = Group::default();
                for (lane, &multiplicity) in multiplicities.iter().enumerate() {
                    let (before, after) = (before[lane] as i32, after[lane] as i32);
                    group.before[lane] = before;
                    group.after[lane] = after;
                    group.inverse_before[lane] = inverse(before);
                    group.inverse_after[lane] = inverse(after);
                    group.inverse_tied[lane] = inverse(n - before - after);
                    group.multiplicity[lane] = multiplicity as f32;
                }
                group
            })
            .collect();
        Some(Self {
            rows: n,
            groups,
            scale: ROUNDING / (2.0 * std::f64::consts::LN_2 * rows as f64 * pairs as f64),
        })
    }

    /// At least the improvement of the cut with these counts of the `left_rows` rows before it.
    #[inline(always)]
    pub(crate) fn bound(&self, left_rows: usize, left: &Counts) -> f64 {
        let (n, l) = (self.rows, left_rows as i32);
        let (rows, left_side, right_side) = (n as f32, l as f32, (n - l) as f32);
        let even = 1.0 / (left_side * right_side);
        let on_left = -1.0 / (rows * left_side * left_side);
        let on_right = 1.0 / (rows * right_side * right_side);
        let term = |difference: i32, inverse: f32| {
            let difference = difference as f32;
            let worse = (difference * on_left).max(difference * on_right);
            difference * difference * inverse * (even + worse * inverse)
        };
        let mut sums = [0.0_f32; LANES];
        let (before, _) = left.before.as_chunks::<LANES>();
        let (after, _) = left.after.as_chunks::<LANES>();
        for (group, (before, after)) in self.groups.iter().zip(before.iter().zip(after)) {
            for lane in 0..LANES {
                let before = before[lane] as i32 * n - group.before[lane] * l;
                let after = after[lane] as i32 * n - group.after[lane] * l;
                let sum = term(before, group.inverse_before[lane])
                    + term(after, group.inverse_after[lane])
                    + term(-before - after, group.inverse_tied[lane]);
                sums[lane] += group.multiplicity[lane] * sum;
            }
        }
        sums.iter().map(|&sum| f64::from(sum)).sum::<f64>() * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::super::score::ScoreTables;
    use super::*;
    use crate::rankings::Rankings;
    use ndarray::Array2;

    /// Every cut of pseudo-random rows, and how much the bound exceeds the improvement on average.
    fn excess(rows: usize, labels: usize, positions: u64) -> f64 {
        let mut state = 1_u64;
        let mut y = Array2::from_shape_fn((rows, labels), |(row, label)| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // The first rows prefer other labels than the last, so that some cuts are good ones.
            let drift = if 2 * row > rows {
                label
            } else {
                labels - label
            };
            ((state >> 33) % positions + drift as u64) as i64
        });
        for mut row in y.rows_mut() {
            let mut distinct = row.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            row.mapv_inplace(|value| distinct.partition_point(|&other| other <= value) as i64);
        }
        let y = Rankings::new(y.view(), None).unwrap();
        let score = ScoreTables::new(&y, rows);
        let block = PairCodes::new(&y);
        let all: Vec<u64> = (0..rows as u64).collect();
        let count = |entries: &[u64]| Counts::of(&block, entries);
        let totals = count(&all);
        let sum = score.sides(&block, (rows, &totals), (rows, &totals)).0;
        let pairs = labels * (labels - 1) / 2;
        let filter = UpperBound::new(&block, rows, &totals, pairs).unwrap();
        let (mut bounds, mut improvements) = (0.0, 0.0);
        for cut in 1..rows {
            let left = count(&all[..cut]);
            let sides = score.sides(&block, (rows, &totals), (cut, &left));
            let improvement = score.improvement(rows, sum, cut, sides);
            let bound = filter.bound(cut, &left);
            assert!(bound >= improvement, "cut {cut}: {bound} < {improvement}");
            bounds += bound;
            improvements += improvement;
        }
        bounds / improvements
    }

    #[test]
    fn the_bound_is_above_the_improvement_and_near_it() {
        for (rows, labels, positions) in [(2, 3, 2), (65, 5, 4), (300, 12, 20), (2000, 4, 3)] {
            let excess = excess(rows, labels, positions);
            assert!(excess < 1.35, "{rows} rows: {excess}");
        }
    }

    #[test]
    fn missing_labels_have_no_filter() {
        let y = ndarray::array![[1.0, 2.0], [f64::NAN, 1.0]];
        let y = Rankings::new(y.view(), None).unwrap();
        let block = PairCodes::new(&y);
        assert!(UpperBound::new(&block, 2, &Counts::default(), 1).is_none());
    }
}
