//! [`PartitionBounds`]: upper bounds on the improvements of the partitions of a small node into left and right rows,
//! for complete rankings.
//!
//! Scoring a partition takes population counts and table lookups per column (pair of labels). Most partitions are
//! clearly worse than the best one, and the bound of `coded/upper_bound.rs`, computed with vector instructions, proves
//! it.
//!
//! The node has n rows, of which l are on the left and r = n - l on the right. An outcome of a column (before, after or
//! tied) occurs in C rows of the node and in O rows on the left. With u = O·n/C - l its bound is
//! `C·u²/2 · (1/(l·r) + max(-u/(n·l²), u/(n·r²)))`.

use super::pair_sets::PairSets;
use super::row_codes::{OutcomeBytes, RowCodes, BLOCK};
use super::MAX_ROWS;
use crate::simd::{dispatch, larger, Kernel};

/// Columns per vector of `f32`.
const LANES: usize = 8;

/// Safety factor for rounding in `f32`. A deviation u is 0 or at least 1/64, and its error is at most 2^-16, so the
/// relative error of its cube is below 3 · 2^-10; all terms are positive.
const ROUNDING: f64 = 1.004;

/// Computes upper bounds on the improvements of partitions.
#[derive(Debug, Default)]
pub(super) struct PartitionBounds {
    /// Per partition the sums over the columns of each lane.
    sums: Vec<[f32; LANES]>,
}

impl PartitionBounds {
    /// Upper bound on the improvement of each partition of `rows` into one of `left_sets` and the other rows, for
    /// rankings with `pairs` pairs of labels. Sets that differ in few rows from the previous set are cheaper.
    pub(super) fn compute(
        &mut self,
        rows: u64,
        (columns, pairs): (&[PairSets], usize),
        left_sets: &[u64],
    ) -> impl Iterator<Item = f64> + '_ {
        self.sums.clear();
        self.sums.resize(left_sets.len(), [0.0; LANES]);
        dispatch(AddBounds {
            rows,
            columns,
            left_sets,
            sums: &mut self.sums,
        });
        let scale =
            ROUNDING / (2.0 * std::f64::consts::LN_2 * f64::from(rows.count_ones()) * pairs as f64);
        self.sums.iter().map(move |sums| {
            let halves: [f32; LANES / 2] =
                std::array::from_fn(|lane| sums[lane] + sums[lane + LANES / 2]);
            f64::from(halves.iter().sum::<f32>()) * scale
        })
    }
}

struct AddBounds<'a> {
    rows: u64,
    columns: &'a [PairSets],
    left_sets: &'a [u64],
    sums: &'a mut [[f32; LANES]],
}

impl Kernel for AddBounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let factors = side_factors(self.rows.count_ones() as usize);
        let mut codes = RowCodes::default();
        for columns in self.columns.chunks(BLOCK) {
            let sets = columns.iter().map(|column| [column.before, column.after]);
            codes.read(self.rows, sets);
            let block = ColumnBlock::new(&codes, self.rows, columns);
            block.add_bounds(&factors, self.left_sets, self.sums);
        }
    }
}

/// Factors of the bound that depend on l, the number of rows on the left: 1/(l·r), -1/(n·l²) and 1/(n·r²).
#[derive(Clone, Copy, Default)]
struct SideFactors {
    left_rows: f32,
    even: f32,
    on_left: f32,
    on_right: f32,
}

/// The factors of a node of `rows` rows, by the number of rows on the left.
#[inline(always)]
fn side_factors(rows: usize) -> [SideFactors; MAX_ROWS] {
    let mut factors = [SideFactors::default(); MAX_ROWS];
    let n = rows as f32;
    for (left_rows, factors) in factors.iter_mut().enumerate().take(rows).skip(1) {
        let (l, r) = (left_rows as f32, (rows - left_rows) as f32);
        *factors = SideFactors {
            left_rows: l,
            even: 1.0 / (l * r),
            on_left: -1.0 / (n * l * l),
            on_right: 1.0 / (n * r * r),
        };
    }
    factors
}

/// Up to [`BLOCK`] columns. Lanes after the last column have weight 0.
struct ColumnBlock<'a> {
    codes: &'a RowCodes,
    /// Number of groups of [`LANES`] columns.
    groups: usize,
    /// The outcomes before, after and tied.
    outcomes: [OutcomeTotals; 3],
}

/// Totals of one outcome.
#[derive(Clone, Copy)]
struct OutcomeTotals {
    /// Number of rows of the node divided by the number of rows with the outcome.
    inverse_share: [f32; BLOCK],
    /// Number of rows with the outcome, times the multiplicity (number of pairs of labels) of the column.
    weight: [f32; BLOCK],
}

impl<'a> ColumnBlock<'a> {
    #[inline(always)]
    fn new(codes: &'a RowCodes, rows: u64, columns: &[PairSets]) -> Self {
        let mut outcomes = [OutcomeTotals {
            inverse_share: [0.0; BLOCK],
            weight: [0.0; BLOCK],
        }; 3];
        let n = rows.count_ones();
        for (lane, column) in columns.iter().enumerate().take(BLOCK) {
            let (before, after) = (column.before.count_ones(), column.after.count_ones());
            let counts = [before, after, n - before - after];
            for (outcome, count) in outcomes.iter_mut().zip(counts) {
                // An outcome without rows has weight 0, so that its share does not matter.
                outcome.inverse_share[lane] = n as f32 / count.max(1) as f32;
                outcome.weight[lane] = count as f32 * column.multiplicity as f32;
            }
        }
        Self {
            codes,
            groups: columns.len().div_ceil(LANES),
            outcomes,
        }
    }

    /// Adds the bounds of the columns, keeping the counts of the previous left side in registers.
    #[inline(always)]
    fn add_bounds(
        &self,
        factors: &[SideFactors; MAX_ROWS],
        left_sets: &[u64],
        sums: &mut [[f32; LANES]],
    ) {
        let mut counts = [[0_u8; BLOCK]; 2];
        let mut counted = 0_u64;
        for (&left_set, sums) in left_sets.iter().zip(sums) {
            if (left_set ^ counted).count_ones() > left_set.count_ones() {
                counts = [[0; BLOCK]; 2];
                counted = 0;
            }
            self.combine_rows(left_set & !counted, &mut counts, u8::wrapping_add);
            self.combine_rows(counted & !left_set, &mut counts, u8::wrapping_sub);
            counted = left_set;
            let factors = factors[left_set.count_ones() as usize % MAX_ROWS];
            self.add_bound(factors, &counts, sums);
        }
    }

    /// Adds rows to counts, or subtracts them.
    #[inline(always)]
    fn combine_rows(
        &self,
        mut rows: u64,
        counts: &mut OutcomeBytes,
        combine: impl Fn(u8, u8) -> u8,
    ) {
        while rows != 0 {
            let codes = self.codes.first(rows);
            for outcome in 0..2 {
                for lane in 0..BLOCK {
                    counts[outcome][lane] = combine(counts[outcome][lane], codes[outcome][lane]);
                }
            }
            rows &= rows - 1;
        }
    }

    /// Adds the bounds of all columns, given the counts of the left side.
    #[inline(always)]
    fn add_bound(&self, factors: SideFactors, counts: &OutcomeBytes, total: &mut [f32; LANES]) {
        let SideFactors {
            left_rows,
            even,
            on_left,
            on_right,
        } = factors;
        let mut sums = [0.0_f32; LANES];
        for group in 0..self.groups.min(BLOCK / LANES) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let at = group * LANES + lane;
                let term = |outcome: &OutcomeTotals, count: f32| {
                    let deviation = count * outcome.inverse_share[at] - left_rows;
                    let worse = larger(deviation * on_left, deviation * on_right);
                    outcome.weight[at] * (deviation * deviation) * (even + worse)
                };
                let (before, after) = (f32::from(counts[0][at]), f32::from(counts[1][at]));
                *sum += term(&self.outcomes[0], before)
                    + term(&self.outcomes[1], after)
                    + term(&self.outcomes[2], left_rows - before - after);
            }
        }
        for (total, sum) in total.iter_mut().zip(sums) {
            *total += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use crate::tree::split::entropy::x_log_x;

    /// Improvement of a partition, for rankings with one pair of labels per column.
    fn improvement(rows: u64, columns: &[PairSets], left_set: u64) -> f64 {
        let f = |set: u64| x_log_x(f64::from(set.count_ones()));
        let score = |rows: u64| -> f64 {
            let outcomes = |column: &PairSets| {
                let tied = rows & !(column.before | column.after);
                f(column.before & rows) + f(column.after & rows) + f(tied)
            };
            let scores = columns
                .iter()
                .map(|column| column.multiplicity as f64 * (f(rows) - outcomes(column)));
            scores.sum()
        };
        let pairs: i64 = columns.iter().map(|column| column.multiplicity).sum();
        let gain = score(rows) - score(rows & left_set) - score(rows & !left_set);
        gain / (f64::from(rows.count_ones()) * pairs as f64)
    }

    #[test]
    fn bounds_are_valid_and_tight() {
        let mut generator = Generator::new(1);
        let mut set = || (0..MAX_ROWS).fold(0, |set, _| set << 1 | generator.below(2) as u64);
        for case in 0..60 {
            // A third of the nodes have all 64 rows, the others about a half and an eighth of them.
            let rows = [u64::MAX, set(), set() & set() & set()][case % 3] | 0b1010;
            let columns: Vec<PairSets> = (0..10 + case)
                .map(|at| {
                    let before = set() & rows;
                    let after = if at % 4 == 0 { rows } else { set() & rows };
                    PairSets {
                        before,
                        after: after & !before,
                        seen: rows,
                        multiplicity: 1 + at as i64 % 5,
                    }
                })
                .collect();
            let proper = |left: &u64| *left != 0 && *left != rows;
            let left_sets: Vec<u64> = (0..40).map(|_| set() & rows).filter(proper).collect();
            let pairs: i64 = columns.iter().map(|column| column.multiplicity).sum();
            let mut bounds = PartitionBounds::default();
            let bounds = bounds.compute(rows, (&columns, pairs as usize), &left_sets);
            for (bound, &left_set) in bounds.zip(&left_sets) {
                let exact = improvement(rows, &columns, left_set);
                assert!(bound >= exact && bound < 2.0 * exact, "{bound} {exact}");
            }
        }
    }
}
