//! Reading rows of positions: a fast path for complete rows, and [`RowReader`] for all others.

use super::MISSING;
use crate::error::{Error, Result};
use crate::raw_position::{ParsedPosition, RawPosition};
use crate::simd::Kernel;

/// Reads the rows that rank every label without gaps and with positions below 64, as most rows do; returns the indices
/// of the other rows.
pub(super) struct ReadRowsKernel<'a, P> {
    pub(super) labels: usize,
    pub(super) raw: &'a [P],
    pub(super) out: &'a mut [u16],
}

impl<P: RawPosition> Kernel for ReadRowsKernel<'_, P> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self) -> Vec<usize> {
        /// Rows that are converted in one loop and validated while they are in the cache.
        const BLOCK: usize = 64;
        let mut remaining = Vec::new();
        let block = BLOCK * self.labels;
        for (number, (raw, out)) in self
            .raw
            .chunks(block)
            .zip(self.out.chunks_mut(block))
            .enumerate()
        {
            for (out, value) in out.iter_mut().zip(raw) {
                *out = value.to_position();
            }
            for (row, positions) in out.chunks_exact(self.labels).enumerate() {
                if !is_complete_dense(positions) {
                    remaining.push(number * BLOCK + row);
                }
            }
        }
        remaining
    }
}

/// Whether a row ranks every label without gaps and with positions below 64.
#[inline(always)]
fn is_complete_dense(positions: &[u16]) -> bool {
    let mut seen = 0_u32;
    let mut all = 0_u16;
    for &position in positions {
        seen |= 1 << (position & 31);
        all |= position;
    }
    if all >= 32 {
        return is_complete_dense_in_two_words(positions, all);
    }
    // Bits 1..k and no others; bit 0 marks a missing label.
    seen & 1 == 0 && seen.wrapping_add(2).is_power_of_two()
}

fn is_complete_dense_in_two_words(positions: &[u16], all: u16) -> bool {
    let seen = positions
        .iter()
        .fold(0_u64, |seen, &position| seen | 1 << (position & 63));
    all < 64 && seen & 1 == 0 && seen.wrapping_add(2).is_power_of_two()
}

/// Reads rows one at a time and reports invalid positions and gaps.
pub(super) struct RowReader {
    labels: usize,
    /// Whether every row so far ranks every label.
    pub(super) complete: bool,
    /// Whether each position occurs in the current row.
    seen: Vec<bool>,
}

impl RowReader {
    pub(super) fn new(labels: usize) -> Self {
        Self {
            labels,
            complete: true,
            seen: vec![false; labels + 1],
        }
    }

    /// Reads a row that may have missing labels and the rest of a top-k list.
    pub(super) fn read_row<P: RawPosition>(
        &mut self,
        row: usize,
        raw: impl Iterator<Item = P> + Clone,
        out: &mut [u16],
    ) -> Result<()> {
        let mut has_rest = false;
        for (label, (value, out)) in raw.clone().zip(out.iter_mut()).enumerate() {
            *out = match value.parse(self.labels) {
                ParsedPosition::At(position) => position,
                ParsedPosition::Missing => MISSING,
                ParsedPosition::Rest => {
                    has_rest = true;
                    MISSING
                }
                ParsedPosition::Invalid(problem) => {
                    return Err(Error::Position {
                        row,
                        label,
                        found: value.as_f64(),
                        labels: self.labels,
                        problem,
                    })
                }
            };
        }
        let last = self.check_dense(row, out)?;
        if has_rest {
            for (value, out) in raw.zip(out.iter_mut()) {
                if value.parse(self.labels) == ParsedPosition::Rest {
                    *out = last + 1;
                }
            }
        }
        self.complete &= !out.contains(&MISSING);
        Ok(())
    }

    /// Returns the last position of a dense row, or [`Error::Gap`].
    fn check_dense(&mut self, row: usize, positions: &[u16]) -> Result<u16> {
        let last = positions.iter().copied().max().unwrap_or(0);
        self.seen.fill(false);
        for &position in positions {
            self.seen[usize::from(position)] = true;
        }
        match (1..usize::from(last)).find(|&position| !self.seen[position]) {
            Some(absent) => Err(gap_error(row, positions, last, absent)),
            None => Ok(last),
        }
    }
}

/// Error for the first absent position of a row.
fn gap_error(row: usize, positions: &[u16], last: u16, absent: usize) -> Error {
    Error::Gap {
        row,
        label: positions.iter().position(|&p| p == last).unwrap_or(0),
        found: last.into(),
        absent,
    }
}
