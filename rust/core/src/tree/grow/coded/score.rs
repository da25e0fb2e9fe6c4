//! Scores of left and right sides from counts, the same numbers as [`crate::tree::split::criterion`] computes.

use crate::rankings::Rankings;

use super::block::PairCodes;
use super::count::Counts;
use crate::tree::split::entropy::{x_log_x, Exact, Seen};

/// How sides are scored.
pub(crate) enum ScoreTables {
    /// Complete rankings.
    Exact(Exact),
    /// Missing labels.
    Seen(SeenTables),
}

/// Tables of the floating-point operations that [`Seen::entropy`] does.
pub(crate) struct SeenTables {
    pub(crate) seen: Seen,
    pub(crate) x_log_x: Vec<f64>,
    pub(crate) inverse: Vec<f64>,
}

/// A sum over the columns for each side: for complete rankings weight times entropy, which only grows with more
/// rows; otherwise entropy.
pub(crate) type Sides = (i64, i64);

impl ScoreTables {
    /// For nodes of up to `rows` rows.
    pub(crate) fn new(rankings: &Rankings, rows: usize) -> Self {
        let pairs = rankings.labels() * (rankings.labels() - 1) / 2;
        if rankings.is_complete() {
            return Self::Exact(Exact::new(pairs, rows as u64));
        }
        let counts = || (0..=rows).map(|count| count as f64);
        Self::Seen(SeenTables {
            seen: Seen::new(pairs),
            x_log_x: counts().map(x_log_x).collect(),
            inverse: counts()
                .map(|c| if c > 0.0 { 1.0 / c } else { 0.0 })
                .collect(),
        })
    }

    /// Impurity of a node of `rows` rows from its own sum.
    pub(crate) fn impurity(&self, rows: usize, sum: i64) -> f64 {
        match self {
            Self::Exact(exact) => exact.impurity(rows as u64, -sum),
            Self::Seen(tables) => tables.seen.impurity(sum),
        }
    }

    /// Improvement of a split of `rows` rows, `left` of them to the left.
    #[inline]
    pub(crate) fn improvement(&self, rows: usize, sum: i64, left: usize, sides: Sides) -> f64 {
        match self {
            Self::Exact(exact) => exact.improvement(rows as u64, sum - sides.0 - sides.1),
            Self::Seen(tables) => tables.seen.improvement(
                (rows as f64, sum),
                [(left as f64, sides.0), ((rows - left) as f64, sides.1)].into_iter(),
            ),
        }
    }

    /// Sums of both sides of a split of `rows` rows with the given totals.
    #[inline(always)]
    pub(crate) fn sides(
        &self,
        block: &PairCodes,
        (rows, totals): (usize, &Counts),
        (left_rows, left): (usize, &Counts),
    ) -> Sides {
        match self {
            Self::Exact(exact) => {
                let table = exact.class(rows as u64).table();
                let counts = ((rows, totals), (left_rows, left));
                // Where an index cannot exceed the table by its form, it is not checked.
                if let Ok(table) = <&[i64; 256]>::try_from(table) {
                    exact_sides(|count| table[usize::from(count as u8)], block, counts)
                } else if let Ok(table) = <&[i64; 4096]>::try_from(table) {
                    exact_sides(|count| table[count as usize % 4096], block, counts)
                } else if let Ok(table) = <&[i64; 65536]>::try_from(table) {
                    exact_sides(|count| table[usize::from(count as u16)], block, counts)
                } else {
                    exact_sides(|count| table[count as usize], block, counts)
                }
            }
            Self::Seen(tables) => tables.sides(block, totals, left),
        }
    }
}

#[inline(always)]
fn exact_sides(
    f: impl Fn(u32) -> i64,
    block: &PairCodes,
    ((rows, totals), (left_rows, left)): ((usize, &Counts), (usize, &Counts)),
) -> Sides {
    let (n, n_left) = (rows as u32, left_rows as u32);
    let n_right = n - n_left;
    let (mut sum_left, mut sum_right, mut pairs) = (0, 0, 0);
    let columns = block.multiplicity.iter();
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

impl SeenTables {
    /// Rounded entropy of a pair.
    #[inline(always)]
    pub(crate) fn entropy(&self, before: u32, after: u32, seen: u32) -> i64 {
        let f = |count: u32| self.x_log_x[count as usize];
        let inner = (f(before) + f(after)) + f(seen - before - after);
        self.seen
            .round((f(seen) - inner) * self.inverse[seen as usize])
    }

    #[inline(always)]
    fn sides(&self, block: &PairCodes, totals: &Counts, left: &Counts) -> Sides {
        let mut sums = (0, 0);
        let totals = totals.before.iter().zip(&totals.after).zip(&totals.seen);
        let left = left.before.iter().zip(&left.after).zip(&left.seen);
        for (&m, (total, left)) in block.multiplicity.iter().zip(totals.zip(left)) {
            let ((&all_before, &all_after), &all_seen) = total;
            let ((&before, &after), &seen) = left;
            sums.0 += m * self.entropy(before, after, seen);
            sums.1 += m * self.entropy(all_before - before, all_after - after, all_seen - seen);
        }
        sums
    }
}
