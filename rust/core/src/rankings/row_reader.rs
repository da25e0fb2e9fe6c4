//! Reading rows of positions: a fast path for complete rows, and [`RowReader`] for all others.

use ndarray::ArrayView2;

use super::MISSING;
use crate::error::{Error, Result};
use crate::raw_position::{ParsedPosition, RawPosition};
use crate::simd::{dispatch, Kernel};

/// Reads all rows and returns the indices of the rows that [`RowReader::read_row`] must read again. Most rows are not
/// read again, because they rank every label without gaps and with positions below 64.
struct ReadRowsKernel<'a, P> {
    labels: usize,
    raw: &'a [P],
    out: &'a mut [u16],
}

impl<P: RawPosition> Kernel for ReadRowsKernel<'_, P> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self) -> Vec<usize> {
        /// Rows per block: converted in one loop, then validated while they are in cache.
        const BLOCK: usize = 64;
        let mut remaining = Vec::new();
        let block = BLOCK * self.labels;
        for (index, (raw, out)) in self
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
                    remaining.push(index * BLOCK + row);
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
        return is_complete_dense_below_64(positions, all);
    }
    // Bits 1..k and no others; bit 0 marks a missing label. After the shift, adding 1 cannot overflow, even for k = 31.
    seen & 1 == 0 && ((seen >> 1) + 1).is_power_of_two()
}

/// As [`is_complete_dense`]; `all` is the bitwise or of the positions.
fn is_complete_dense_below_64(positions: &[u16], all: u16) -> bool {
    let seen = positions
        .iter()
        .fold(0_u64, |seen, &position| seen | 1 << (position & 63));
    all < 64 && seen & 1 == 0 && ((seen >> 1) + 1).is_power_of_two()
}

/// Reads rows of positions; ranks rows with gaps or fractions densely, and reports invalid positions.
pub(super) struct RowReader {
    labels: usize,
    /// Whether every row so far ranks every label.
    pub(super) complete: bool,
    /// Whether each position occurs in the current row.
    seen: Vec<bool>,
    /// Ranked labels of the current row, best first.
    order: Vec<usize>,
}

impl RowReader {
    pub(super) fn new(labels: usize) -> Self {
        Self {
            labels,
            complete: true,
            seen: vec![false; labels + 1],
            order: Vec::new(),
        }
    }

    /// Reads rows from `start` on into `out`, by the fast path where it applies.
    pub(super) fn read_rows<P: RawPosition>(
        &mut self,
        positions: ArrayView2<'_, P>,
        start: usize,
        out: &mut [u16],
    ) -> Result<()> {
        let labels = self.labels;
        let remaining = match positions.as_slice() {
            Some(raw) => dispatch(ReadRowsKernel {
                labels,
                raw: &raw[start * labels..start * labels + out.len()],
                out,
            }),
            None => (0..out.len() / labels).collect(),
        };
        for row in remaining {
            let out = &mut out[row * labels..(row + 1) * labels];
            let row = start + row;
            self.read_row(row, positions.row(row).iter().copied(), out)?;
        }
        Ok(())
    }

    /// Reads a row that may have missing labels, gaps, fractions and the rest of a top-k list (labels ranked after all
    /// finite positions). Each number is read once: another thread may write to the array meanwhile.
    fn read_row<P: RawPosition>(
        &mut self,
        row: usize,
        raw: impl Iterator<Item = P>,
        out: &mut [u16],
    ) -> Result<()> {
        let raw: Vec<P> = raw.collect();
        // Set by the rest of a top-k list and by numbers other than whole ones from 1 to the number of labels.
        let mut is_sparse = false;
        for (label, (&value, out)) in raw.iter().zip(out.iter_mut()).enumerate() {
            *out = match value.parse(self.labels) {
                ParsedPosition::At(position) => position,
                ParsedPosition::Missing => MISSING,
                ParsedPosition::Rest | ParsedPosition::Sparse => {
                    is_sparse = true;
                    MISSING
                }
                ParsedPosition::Invalid => {
                    return Err(Error::Position {
                        row,
                        label,
                        found: value.as_f64(),
                    })
                }
            };
        }
        if is_sparse || !self.is_dense(out) {
            self.rank_densely(&raw, out);
        }
        self.complete &= !out.contains(&MISSING);
        Ok(())
    }

    /// Whether the positions of the ranked labels have no gap.
    fn is_dense(&mut self, positions: &[u16]) -> bool {
        let last = positions.iter().copied().max().unwrap_or(0);
        self.seen.fill(false);
        for &position in positions {
            self.seen[usize::from(position)] = true;
        }
        (1..usize::from(last)).all(|position| self.seen[position])
    }

    /// Ranks a row of valid positions: the smallest becomes 1, equal ones are tied.
    fn rank_densely<P: RawPosition>(&mut self, raw: &[P], out: &mut [u16]) {
        self.order.clear();
        let ranked = |label: &usize| raw[*label].parse(self.labels) != ParsedPosition::Missing;
        self.order.extend((0..raw.len()).filter(ranked));
        self.order.sort_by(|&u, &v| raw[u].compare(raw[v]));
        let mut position = 0;
        let mut previous: Option<P> = None;
        for &label in &self.order {
            let value = raw[label];
            if previous.is_none_or(|previous| previous.compare(value).is_ne()) {
                position += 1;
            }
            out[label] = position;
            previous = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_path_reads_all_complete_rows_below_64_buckets() {
        for buckets in 1..70 {
            let row: Vec<u16> = (1..=buckets).collect();
            assert_eq!(is_complete_dense(&row), buckets < 64, "{buckets} buckets");
            let gap: Vec<u16> = row.iter().map(|&p| p + u16::from(p == buckets)).collect();
            assert!(!is_complete_dense(&gap), "{buckets} buckets with a gap");
            let missing: Vec<u16> = row.iter().copied().chain([MISSING]).collect();
            assert!(
                !is_complete_dense(&missing),
                "{buckets} buckets, a missing label"
            );
        }
    }
}
