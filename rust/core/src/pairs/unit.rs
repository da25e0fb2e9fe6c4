//! Pair counts for unit weights: bytes instead of floats, many rows to an instruction.

use super::PairCounts;
use crate::error::Result;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

/// Positions up to here fit a signed byte, for which every instruction set has a comparison, with room for
/// the two ways in which a missing label is written.
pub(super) const MAX_BYTE_LABELS: usize = 125;

/// Wide enough that the compiler makes a loop over lanes of vector instructions instead of unrolling it.
const LANES: usize = 128;
/// Vectors that are transposed together: small enough for the cache, and for counting in a byte a lane.
/// Odd: columns that lie a whole number of pages apart would compete for the same cache lines.
const VECTORS: usize = 15;
const BLOCK: usize = LANES * VECTORS;

type Vector = [i8; LANES];

/// Positions in a block of rows, label by label. A missing label is ahead of everything in `low` and behind
/// everything in `high`: comparing one label's `low` with another's `high` never counts it.
struct Columns {
    /// Vectors of a label.
    vectors: usize,
    low: Vec<Vector>,
    /// Empty where no label is missing: then `low` serves for both.
    high: Vec<Vector>,
}

impl Columns {
    fn new(rankings: &Rankings) -> Self {
        let vectors = rankings.len().div_ceil(LANES).min(VECTORS);
        let size = rankings.labels() * vectors;
        let high = if rankings.is_complete() { 0 } else { size };
        Self {
            vectors,
            low: vec![[0; LANES]; size],
            high: vec![[i8::MAX; LANES]; high],
        }
    }

    /// Reads the rows from `start` on; what is left of the block is missing everywhere.
    fn fill(&mut self, rankings: &Rankings, start: usize, rows: usize) {
        if rows < self.vectors * LANES {
            self.low.fill([0; LANES]);
            self.high.fill([i8::MAX; LANES]);
        }
        let block = rankings.block(start, rows);
        for (row, positions) in block.chunks_exact(rankings.labels()).enumerate() {
            let (vector, lane) = (row / LANES, row % LANES);
            let columns = self.low.chunks_exact_mut(self.vectors);
            for (column, &position) in columns.zip(positions) {
                column[vector][lane] = position as i8;
            }
            let columns = self.high.chunks_exact_mut(self.vectors);
            for (column, &position) in columns.zip(positions) {
                let ranked = position != MISSING;
                column[vector][lane] = if ranked { position as i8 } else { i8::MAX };
            }
        }
    }

    #[inline(always)]
    fn label(&self, label: usize, filled: usize) -> (&[Vector], &[Vector]) {
        let range = label * self.vectors..label * self.vectors + filled;
        let high = if self.high.is_empty() {
            &self.low
        } else {
            &self.high
        };
        (&self.low[range.clone()], &high[range])
    }
}

pub(super) fn count_all(
    rankings: &Rankings,
    counts: &mut PairCounts,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut columns = Columns::new(rankings);
    for start in (0..rankings.len()).step_by(BLOCK) {
        interrupt.check()?;
        let rows = BLOCK.min(rankings.len() - start);
        columns.fill(rankings, start, rows);
        dispatch(AddBlock {
            columns: &columns,
            rows,
            counts,
        });
    }
    Ok(())
}

/// Adds the counts of a block of rows.
struct AddBlock<'a> {
    columns: &'a Columns,
    rows: usize,
    counts: &'a mut PairCounts,
}

impl Kernel for AddBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            columns,
            rows,
            counts,
        } = self;
        let n = counts.labels;
        let filled = rows.div_ceil(LANES);
        let complete = columns.high.is_empty();
        let zeros = [[0; LANES]; VECTORS];
        for u in 0..n {
            let (a_low, a_high) = columns.label(u, filled);
            counts.tied[u * n + u] += above(a_low, &zeros[..filled]);
            for v in u + 1..n {
                let (b_low, b_high) = columns.label(v, filled);
                let before = above(b_low, a_high);
                let after = above(a_low, b_high);
                let tied = if complete {
                    rows as f64 - before - after
                } else {
                    at_or_above(a_low, b_high) - after
                };
                counts.before[u * n + v] += before;
                counts.before[v * n + u] += after;
                counts.tied[u * n + v] += tied;
                counts.tied[v * n + u] += tied;
            }
        }
    }
}

/// Number of rows in which `x` is above `y`.
#[inline(always)]
fn above(x: &[Vector], y: &[Vector]) -> f64 {
    let mut lanes = [0_u8; LANES];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            lanes[lane] += u8::from(x[lane] > y[lane]);
        }
    }
    total(&lanes)
}

/// Number of rows in which `x` is at or above `y`.
#[inline(always)]
fn at_or_above(x: &[Vector], y: &[Vector]) -> f64 {
    let mut lanes = [0_u8; LANES];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            lanes[lane] += u8::from(x[lane] >= y[lane]);
        }
    }
    total(&lanes)
}

#[inline(always)]
fn total(lanes: &[u8; LANES]) -> f64 {
    let mut sum = 0_u16;
    for &count in lanes {
        sum += u16::from(count);
    }
    f64::from(sum)
}
