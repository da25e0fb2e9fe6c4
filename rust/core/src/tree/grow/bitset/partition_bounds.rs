//! [`PartitionBounds`]: upper bounds on the improvements of the partitions of a small node, for complete rankings.
//!
//! Scoring a partition takes population counts and table lookups per column. Most partitions are clearly worse than
//! the best one, and the bound of [`crate::tree::grow::coded`], computed with vector instructions, proves it.
//!
//! The node has n rows, of which l are on the left and r = n - l on the right. An outcome occurs in C rows of the node
//! and in O rows on the left. With u = O·n/C - l its bound is `C·u²/2 · (1/(l·r) + max(-u/(n·l²), u/(n·r²)))`.

use super::pair_sets::PairSets;
use super::MAX_ROWS;
use crate::simd::{dispatch, larger, Kernel};

/// Columns per block: their codes are one vector of bytes per outcome.
const BLOCK: usize = 32;

/// Columns per vector of numbers.
const LANES: usize = 8;

/// Safety factor for rounding in `f32`. A deviation u is 0 or at least 1/64, and its error is at most 2^-16, so that of
/// its cube is below 3 · 2^-10; all terms are positive.
const ROUNDING: f64 = 1.004;

/// Computes upper bounds on the improvements of partitions.
#[derive(Debug, Default)]
pub(super) struct PartitionBounds {
    /// Per partition the sums over the columns of each lane.
    sums: Vec<[f32; LANES]>,
    bounds: Vec<f32>,
}

impl PartitionBounds {
    /// Upper bound on the improvement of each partition of `rows` into one of `left_sets` and the other rows, up to the
    /// factor [`scale`]. Sets that differ in few rows from the previous set are cheaper.
    pub(super) fn compute(&mut self, rows: u64, columns: &[PairSets], left_sets: &[u64]) -> &[f32] {
        self.sums.clear();
        self.sums.resize(left_sets.len(), [0.0; LANES]);
        dispatch(AddBounds {
            rows,
            columns,
            left_sets,
            sums: &mut self.sums,
        });
        self.bounds.clear();
        self.bounds.extend(self.sums.iter().map(|sums| {
            let halves: [f32; LANES / 2] =
                std::array::from_fn(|lane| sums[lane] + sums[lane + LANES / 2]);
            halves.iter().sum::<f32>()
        }));
        &self.bounds
    }
}

/// Factor that turns the bounds of a node of `rows` rows into improvements, for rankings with `pairs` pairs of labels.
pub(super) fn scale(rows: usize, pairs: usize) -> f64 {
    ROUNDING / (2.0 * std::f64::consts::LN_2 * rows as f64 * pairs as f64)
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
        let mut block = ColumnBlock::default();
        for columns in self.columns.chunks(BLOCK) {
            block.read(self.rows, columns);
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

/// Up to [`BLOCK`] columns: one byte per row and outcome, and the totals of the node. Lanes after the last column have
/// weight 0.
struct ColumnBlock {
    /// Per row 1 where it has the outcome before, then 1 where it has the outcome after; stale for rows outside the
    /// node.
    codes: [RowCodes; MAX_ROWS],
    /// Number of groups of [`LANES`] columns.
    groups: usize,
    /// The outcomes before, after and tied.
    outcomes: [OutcomeTotals; 3],
}

type RowCodes = [[u8; BLOCK]; 2];

/// Totals of one outcome.
#[derive(Clone, Copy)]
struct OutcomeTotals {
    /// Rows of the node per row with the outcome.
    inverse_share: [f32; BLOCK],
    /// Number of rows with the outcome, times the multiplicity.
    weight: [f32; BLOCK],
}

impl Default for ColumnBlock {
    fn default() -> Self {
        let totals = OutcomeTotals {
            inverse_share: [0.0; BLOCK],
            weight: [0.0; BLOCK],
        };
        Self {
            codes: [[[0; BLOCK]; 2]; MAX_ROWS],
            groups: 0,
            outcomes: [totals; 3],
        }
    }
}

impl ColumnBlock {
    #[inline(always)]
    fn read(&mut self, rows: u64, columns: &[PairSets]) {
        let mut multiplicity = [0.0_f32; BLOCK];
        let mut sets = [[0_u64; BLOCK]; 2];
        for (lane, column) in columns.iter().enumerate().take(BLOCK) {
            multiplicity[lane] = column.multiplicity as f32;
            sets[0][lane] = column.before;
            sets[1][lane] = column.after;
        }
        let mut totals = [[0_u8; BLOCK]; 2];
        for byte in 0..MAX_ROWS / 8 {
            let mut members = (rows >> (8 * byte)) as u8;
            if members == 0 {
                continue;
            }
            let bytes = sets.map(|sets| sets.map(|set| (set >> (8 * byte)) as u8));
            while members != 0 {
                let bit = members & members.wrapping_neg();
                let codes = &mut self.codes[8 * byte + bit.trailing_zeros() as usize];
                for outcome in 0..2 {
                    for lane in 0..BLOCK {
                        codes[outcome][lane] = u8::from(bytes[outcome][lane] & bit != 0);
                        totals[outcome][lane] += codes[outcome][lane];
                    }
                }
                members &= members - 1;
            }
        }
        self.groups = columns.len().div_ceil(LANES);
        self.set_totals(rows.count_ones() as f32, &totals, &multiplicity);
    }

    #[inline(always)]
    fn set_totals(&mut self, rows: f32, totals: &RowCodes, multiplicity: &[f32; BLOCK]) {
        let mut tied = [rows; BLOCK];
        for lane in 0..BLOCK {
            tied[lane] -= f32::from(totals[0][lane]) + f32::from(totals[1][lane]);
        }
        let counts = [totals[0].map(f32::from), totals[1].map(f32::from), tied];
        for (outcome, counts) in self.outcomes.iter_mut().zip(&counts) {
            for lane in 0..BLOCK {
                // Without rows the weight is 0, so that the share does not matter.
                outcome.inverse_share[lane] = rows / counts[lane].max(1.0);
                outcome.weight[lane] = counts[lane] * multiplicity[lane];
            }
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
    fn combine_rows(&self, mut rows: u64, counts: &mut RowCodes, combine: impl Fn(u8, u8) -> u8) {
        while rows != 0 {
            let codes = &self.codes[rows.trailing_zeros() as usize % MAX_ROWS];
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
    fn add_bound(&self, factors: SideFactors, counts: &RowCodes, total: &mut [f32; LANES]) {
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
            let scale = scale(rows.count_ones() as usize, pairs as usize);
            let mut bounds = PartitionBounds::default();
            let bounds = bounds.compute(rows, &columns, &left_sets);
            assert_eq!(bounds.len(), left_sets.len());
            for (&bound, &left_set) in bounds.iter().zip(&left_sets) {
                let (bound, exact) = (
                    f64::from(bound) * scale,
                    improvement(rows, &columns, left_set),
                );
                assert!(bound >= exact && bound < 2.0 * exact, "{bound} {exact}");
            }
        }
    }
}
