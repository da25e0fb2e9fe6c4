//! [`UpperBound`]: a cheap upper bound on the improvement of a cut, for complete rankings.
//!
//! A cut is a candidate threshold, and a column is a pair of labels, or several equivalent ones. The score of a cut
//! needs six table lookups per column. Most cuts are clearly worse than the current best; a bound of a few products per
//! column proves that at lower cost.
//!
//! A pair has three outcomes: before, after and tied. Consider one outcome, with C of the node's n rows, O of them
//! among the l rows on the left, and r = n - l rows on the right. Under independence, E = C·l/n of them would be on the
//! left. The improvement of the pair, times n, is `Σ E·φ(δ) / ln 2` bits, summed over both sides and the three
//! outcomes, with δ = O/E - 1 and `φ(δ) = (1+δ)·ln(1+δ) - δ`. The Taylor series of φ gives `φ(δ) <= δ²/2` for δ >= 0
//! and `φ(δ) <= δ²/2 + |δ|³/2` for -1 <= δ <= 0. With the exact integer D = O·n - C·l, the left side has δ = D/(C·l)
//! and the right side δ = -D/(C·r), and the bound of the outcome is `D²/(2C) · (1/(l·r) + max(-D/(n·l²), D/(n·r²))/C)`.

use super::column_counts::ColumnCounts;
use super::pair_codes::PairCodes;
use crate::simd::larger;

/// Largest node with a bound: products of two counts must fit in an `i32`.
const MAX_ROWS: usize = 46_340;

/// Columns per vector.
const LANES: usize = 8;

/// Safety factor for rounding in `f32`: all terms are positive and have a relative error of about 12 · 2^-24, and the
/// sums add 2^-24 per group of columns, of which there are a few thousand at most.
const ROUNDING: f64 = 1.001;

/// Bounds the improvements of the cuts of one node, given the counts of the node's rows per column.
pub(crate) struct UpperBound {
    rows: i32,
    groups: Vec<ColumnGroup>,
    /// Factor that turns the sum of all terms into an improvement.
    scale: f64,
    /// Number of pairs of labels that the columns represent.
    multiplicity: f64,
}

/// Totals of [`LANES`] columns, zero-padded after the last column.
#[derive(Default, Clone)]
struct ColumnGroup {
    before: [i32; LANES],
    after: [i32; LANES],
    /// Reciprocals of the numbers of rows with each outcome; 0 for no rows.
    inverse_before: [f32; LANES],
    inverse_after: [f32; LANES],
    inverse_tied: [f32; LANES],
    multiplicity: [f32; LANES],
}

/// Terms of [`UpperBound::quadratic`] for splits that send the rows with a missing value to the left side. If M of
/// these rows have an outcome, the sum of (O + M)²/C is that of O²/C, plus products of O and 2·M/C, plus M²/C.
#[derive(Debug, Default)]
pub(super) struct MissingTerms {
    /// Number of rows with a missing value.
    rows: usize,
    /// 2·M/C times the multiplicity, for the outcomes before, after and tied.
    groups: Vec<[[f32; LANES]; 3]>,
    /// Sum of M²/C over the outcomes of all pairs.
    squares: f64,
}

impl UpperBound {
    /// The bound for a node of `rows` rows with these totals, for rankings with `pairs` pairs of labels; `None` with
    /// missing labels or more than [`MAX_ROWS`] rows.
    #[inline(always)]
    pub(crate) fn new(
        pair_codes: &PairCodes,
        rows: usize,
        totals: &ColumnCounts,
        pairs: usize,
    ) -> Option<Self> {
        if rows > MAX_ROWS || !pair_codes.is_complete() {
            return None;
        }
        let inverse = |count: i32| if count > 0 { 1.0 / count as f32 } else { 0.0 };
        let n = rows as i32;
        let multiplicities = pair_codes.multiplicity.chunks(LANES);
        let totals = totals.before.chunks(LANES).zip(totals.after.chunks(LANES));
        let groups = multiplicities
            .zip(totals)
            .map(|(multiplicities, (before, after))| {
                let mut group = ColumnGroup::default();
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
            multiplicity: pair_codes.multiplicity.iter().sum::<i64>() as f64,
            scale: ROUNDING / (2.0 * std::f64::consts::LN_2 * rows as f64 * pairs as f64),
        })
    }

    /// Quadratic upper bounds on the improvements of splits, three times as fast as [`Self::of_cut`] and less tight.
    /// The first split has `left_rows` rows and the counts `left` on its left side; the second, if `SPLITS` is 2, has
    /// the rows of `missing` there in addition.
    ///
    /// Per outcome, n times the improvement (in nats) of a split with the share π of the rows on the left is
    /// C·KL(O/C, π), where KL is the Kullback–Leibler divergence of two shares. KL(p, π)/(p - π)² is half a weighted
    /// mean of the convex function 1/(x(1 - x)) between π and p, so it is convex in p and largest at p = 0 or p = 1,
    /// where it is at most -ln(1 - π)/π² for π <= 1/2. The sum of C·(O/C - π)² over the outcomes of a column is
    /// Σ O²/C - l²/n.
    #[inline(always)]
    pub(super) fn quadratic<const SPLITS: usize>(
        &self,
        left_rows: usize,
        left: &ColumnCounts,
        missing: &MissingTerms,
    ) -> [f64; SPLITS] {
        let mut bounds = self.sum_squares::<SPLITS>(left_rows, left, missing);
        // Relative error of a sum of positive terms.
        let rounding = 1.0 + (2 * self.groups.len() + 64) as f64 * f64::from(f32::EPSILON);
        let rows = f64::from(self.rows);
        for (bound, left_rows) in bounds.iter_mut().zip([left_rows, left_rows + missing.rows]) {
            let left_rows = left_rows as f64;
            let share = left_rows / rows;
            let excess = *bound * rounding - self.multiplicity * left_rows * share;
            let share = share.min(1.0 - share);
            *bound = 2.0 * self.scale * excess * largest_divergence_ratio(share);
        }
        bounds
    }

    /// Sums of O²/C over the outcomes of all pairs; for the second split with O + M instead of O.
    #[inline(always)]
    fn sum_squares<const SPLITS: usize>(
        &self,
        left_rows: usize,
        left: &ColumnCounts,
        missing: &MissingTerms,
    ) -> [f64; SPLITS] {
        let (mut squares, mut products) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let (before, _) = left.before.as_chunks::<LANES>();
        let (after, _) = left.after.as_chunks::<LANES>();
        let mut factors = missing.groups.iter();
        for (group, (b, a)) in self.groups.iter().zip(before.iter().zip(after)) {
            let [of_before, of_after, of_tied] = match factors.next() {
                Some(factors) if SPLITS == 2 => factors,
                _ => &[[0.0; LANES]; 3],
            };
            for lane in 0..LANES {
                let (before, after) = (b[lane] as i32, a[lane] as i32);
                let tied = (left_rows as i32 - before - after) as f32;
                let (before, after) = (before as f32, after as f32);
                let sum = before * before * group.inverse_before[lane]
                    + after * after * group.inverse_after[lane]
                    + tied * tied * group.inverse_tied[lane];
                squares[lane] += group.multiplicity[lane] * sum;
                if SPLITS == 2 {
                    products[lane] +=
                        before * of_before[lane] + after * of_after[lane] + tied * of_tied[lane];
                }
            }
        }
        let lanes = squares;
        let mut sums = [sum_lanes(&lanes); SPLITS];
        if let Some(sum) = sums.get_mut(1) {
            let lanes = products;
            *sum += sum_lanes(&lanes) + missing.squares;
        }
        sums
    }

    /// Sets the terms of the rows with a missing value, given their number and their counts.
    #[inline(always)]
    pub(super) fn set_missing_terms(
        &self,
        rows: usize,
        counts: &ColumnCounts,
        terms: &mut MissingTerms,
    ) {
        let mut squares = [0.0_f32; LANES];
        let (before, _) = counts.before.as_chunks::<LANES>();
        let (after, _) = counts.after.as_chunks::<LANES>();
        terms.rows = rows;
        terms.groups.clear();
        for (group, (b, a)) in self.groups.iter().zip(before.iter().zip(after)) {
            let mut factors = [[0.0_f32; LANES]; 3];
            for lane in 0..LANES {
                let (before, after) = (b[lane] as i32, a[lane] as i32);
                let tied = (rows as i32 - before - after) as f32;
                let (before, after) = (before as f32, after as f32);
                let scaled = [
                    before * group.inverse_before[lane] * group.multiplicity[lane],
                    after * group.inverse_after[lane] * group.multiplicity[lane],
                    tied * group.inverse_tied[lane] * group.multiplicity[lane],
                ];
                squares[lane] += before * scaled[0] + after * scaled[1] + tied * scaled[2];
                for (factors, scaled) in factors.iter_mut().zip(scaled) {
                    factors[lane] = 2.0 * scaled;
                }
            }
            terms.groups.push(factors);
        }
        let lanes = squares;
        terms.squares = sum_lanes(&lanes);
    }

    /// Upper bound on the improvement of a cut with `left_rows` rows and these counts on its left side.
    #[inline(always)]
    pub(crate) fn of_cut(&self, left_rows: usize, left: &ColumnCounts) -> f64 {
        let (n, l) = (self.rows, left_rows as i32);
        let (rows, left_side, right_side) = (n as f32, l as f32, (n - l) as f32);
        let even = 1.0 / (left_side * right_side);
        let on_left = -1.0 / (rows * left_side * left_side);
        let on_right = 1.0 / (rows * right_side * right_side);
        let term = |difference: i32, inverse: f32| {
            let difference = difference as f32;
            let worse = larger(difference * on_left, difference * on_right);
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

/// Upper bound on `-ln(1 - share) / share²` for a share of at most 1/2: the first terms of its series, and a bound on
/// the sum of the others.
#[inline(always)]
fn largest_divergence_ratio(share: f64) -> f64 {
    const TERMS: [f64; 8] = [
        2.0 / 9.0,
        1.0 / 8.0,
        1.0 / 7.0,
        1.0 / 6.0,
        1.0 / 5.0,
        1.0 / 4.0,
        1.0 / 3.0,
        1.0 / 2.0,
    ];
    TERMS.iter().fold(0.0, |sum, term| sum * share + term) + 1.0 / share
}

/// Sum of the lanes of a vector. Not inlined, because the compiler would arrange the caller's vectors for this sum.
#[inline(never)]
fn sum_lanes(lanes: &[f32; LANES]) -> f64 {
    lanes.iter().map(|&lane| f64::from(lane)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::score_tables::ScoreTables;
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    /// Checks the bound at every cut of pseudo-random rows and returns the ratio of mean bound to mean improvement.
    fn excess(rows: usize, labels: usize, positions: u64) -> f64 {
        let mut state = 1_u64;
        let mut y = Array2::from_shape_fn((rows, labels), |(row, label)| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // The first half prefers other labels than the second half, so that some cuts are good.
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
        let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let score = ScoreTables::new(&y, rows);
        let pair_codes = PairCodes::new(&y);
        let all: Vec<u64> = (0..rows as u64).collect();
        let count = |entries: &[u64]| ColumnCounts::count(&pair_codes, entries);
        let totals = count(&all);
        let sum = score
            .score_sides(&pair_codes, (rows, &totals), (rows, &totals))
            .0;
        let pairs = labels * (labels - 1) / 2;
        let bound = UpperBound::new(&pair_codes, rows, &totals, pairs).unwrap();
        let (mut bounds, mut improvements) = (0.0, 0.0);
        for cut in 1..rows {
            let left = count(&all[..cut]);
            let sides = score.score_sides(&pair_codes, (rows, &totals), (cut, &left));
            let improvement = score.improvement(rows, sum, cut, sides);
            let limit = bound.of_cut(cut, &left);
            assert!(limit >= improvement, "cut {cut}: {limit} < {improvement}");
            check_quadratic(&bound, (&score, sum), &pair_codes, (&totals, cut), &count);
            bounds += limit;
            improvements += improvement;
        }
        bounds / improvements
    }

    /// Checks the quadratic bounds of the split at a cut, without and with the last row on the left side.
    fn check_quadratic(
        bound: &UpperBound,
        (score, sum): (&ScoreTables, i64),
        pair_codes: &PairCodes,
        (totals, cut): (&ColumnCounts, usize),
        count: &impl Fn(&[u64]) -> ColumnCounts,
    ) {
        let rows = bound.rows as usize;
        let before: Vec<u64> = (0..cut as u64).collect();
        let (left, last) = (count(&before), count(&[rows as u64 - 1]));
        let mut with_last = ColumnCounts::default();
        with_last.set_to_total(&left, &last);
        let improvement = |left_rows, left: &ColumnCounts| {
            let sides = score.score_sides(pair_codes, (rows, totals), (left_rows, left));
            score.improvement(rows, sum, left_rows, sides)
        };
        let mut missing = MissingTerms::default();
        bound.set_missing_terms(1, &last, &mut missing);
        if cut + 1 < rows {
            let [without, with] = bound.quadratic(cut, &left, &missing);
            assert!(without >= improvement(cut, &left), "cut {cut}");
            assert!(with >= improvement(cut + 1, &with_last), "cut {cut}");
            let [joined] = bound.quadratic(cut + 1, &with_last, &missing);
            assert!((with - joined).abs() <= 1e-3, "cut {cut}: {with} {joined}");
        } else {
            let [without] = bound.quadratic(cut, &left, &missing);
            assert!(without >= improvement(cut, &left), "cut {cut}");
        }
    }

    #[test]
    fn the_bound_is_valid_and_tight() {
        for (rows, labels, positions) in [(2, 3, 2), (65, 5, 4), (300, 12, 20), (2000, 4, 3)] {
            let excess = excess(rows, labels, positions);
            assert!(excess < 1.35, "{rows} rows: {excess}");
        }
    }

    #[test]
    fn the_divergence_ratio_is_bounded_closely() {
        for rows in 1..=1000 {
            let share = f64::from(rows) / 2000.0;
            let ratio = -(-share).ln_1p() / (share * share);
            let bound = largest_divergence_ratio(share);
            assert!(
                bound >= ratio * (1.0 - 1e-12) && bound < 1.001 * ratio,
                "{share}"
            );
        }
    }

    #[test]
    fn missing_labels_have_no_bound() {
        let y = ndarray::array![[1.0, 2.0], [f64::NAN, 1.0]];
        let y = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let pair_codes = PairCodes::new(&y);
        assert!(UpperBound::new(&pair_codes, 2, &ColumnCounts::default(), 1).is_none());
    }
}
