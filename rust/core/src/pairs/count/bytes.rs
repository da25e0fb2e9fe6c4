//! [`BytePairCounter`]: pair counts of up to 255 rows, one byte per count.

use super::PairTable;
use crate::rankings::MISSING;
use crate::simd::{dispatch, Kernel};

/// Pairs counted per instruction: the bytes of a vector register.
const LANES: usize = 32;

/// Largest number of labels whose positions fit in a signed byte, which every instruction set can compare.
const MAX_NARROW_LABELS: usize = 127;

/// Counts the pairs of up to 255 rows in a table of bytes. The buffers are reused between calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct BytePairCounter {
    /// Padded by [`LANES`].
    table: PairTable<u8>,
    /// Used for up to [`MAX_NARROW_LABELS`] labels.
    narrow: GatheredRows<i8>,
    /// Used for more labels.
    wide: GatheredRows<i16>,
}

/// Positions of the rows to be counted, contiguous in memory.
#[derive(Debug, Clone, Default)]
struct GatheredRows<P> {
    /// Row-major; each row is padded to whole vectors.
    positions: Vec<P>,
    /// Whole-number weight of each row.
    weights: Vec<u8>,
}

/// A position in one or two bytes.
trait NarrowPosition: Copy + PartialOrd + Default {
    fn new(position: u16) -> Self;
}

impl NarrowPosition for i8 {
    #[inline(always)]
    fn new(position: u16) -> Self {
        position as Self
    }
}

impl NarrowPosition for i16 {
    #[inline(always)]
    fn new(position: u16) -> Self {
        position as Self
    }
}

impl BytePairCounter {
    /// The largest count that a byte holds.
    pub(crate) const MAX_ROWS: usize = 255;

    /// Replaces the counts by the counts of the given rankings. Each ranking comes with its weight; the sum of the
    /// weights must not exceed [`Self::MAX_ROWS`]. `complete` promises that no label is missing.
    pub(crate) fn count<'a>(
        &mut self,
        labels: usize,
        complete: bool,
        rows: impl Iterator<Item = (&'a [u16], u8)>,
    ) {
        if self.table.labels() != labels {
            *self = Self::default();
            self.table = PairTable::with_padding(labels, LANES);
        }
        let table = &mut self.table;
        if labels <= MAX_NARROW_LABELS {
            self.narrow.count(table, complete, rows);
        } else {
            self.wide.count(table, complete, rows);
        }
    }

    /// The counts.
    pub(crate) fn table(&self) -> &PairTable<u8> {
        &self.table
    }
}

impl<P: NarrowPosition> GatheredRows<P> {
    fn count<'a>(
        &mut self,
        table: &mut PairTable<u8>,
        complete: bool,
        rows: impl Iterator<Item = (&'a [u16], u8)>,
    ) {
        self.weights.clear();
        let gathered = self;
        if complete {
            dispatch(CountBytes::<P, _, true> {
                table,
                gathered,
                rows,
            });
        } else {
            dispatch(CountBytes::<P, _, false> {
                table,
                gathered,
                rows,
            });
        }
    }
}

struct CountBytes<'b, P, I, const COMPLETE: bool> {
    table: &'b mut PairTable<u8>,
    gathered: &'b mut GatheredRows<P>,
    rows: I,
}

impl<'a, P: NarrowPosition, I, const COMPLETE: bool> Kernel for CountBytes<'_, P, I, COMPLETE>
where
    I: Iterator<Item = (&'a [u16], u8)>,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let labels = self.table.labels();
        let stride = (labels + LANES).next_multiple_of(LANES);
        let GatheredRows { positions, weights } = self.gathered;
        for (from, weight) in self.rows {
            let start = weights.len() * stride;
            if positions.len() < start + stride {
                positions.resize(start + stride, P::default());
            }
            for (to, &position) in positions[start..start + labels].iter_mut().zip(from) {
                *to = P::new(position);
            }
            weights.push(weight);
        }
        let mut planes = self.table.padded_planes_mut();
        let mut start = 0;
        for u in 0..labels {
            let others = labels - u - 1;
            for block in (0..others).step_by(LANES) {
                // Values written past the last pair of u are overwritten by the pairs of the next label.
                count_lanes::<P, COMPLETE>(
                    &mut planes,
                    (positions, stride, weights),
                    (u, u + 1 + block),
                    start + block,
                );
            }
            start += others;
        }
    }
}

/// Counts the pairs of label `u` with the [`LANES`] labels starting at `first`, in registers, and writes the counts to
/// the planes (before, tied and after, one count per pair each) from index `to` on.
#[inline(always)]
fn count_lanes<P: NarrowPosition, const COMPLETE: bool>(
    planes: &mut [&mut [u8]; 3],
    (positions, stride, weights): (&[P], usize, &[u8]),
    (u, first): (usize, usize),
    to: usize,
) {
    let [out_before, out_tied, out_after] = planes;
    let (Some(out_before), Some(out_tied), Some(out_after)) = (
        out_before[to..].first_chunk_mut::<LANES>(),
        out_tied[to..].first_chunk_mut::<LANES>(),
        out_after[to..].first_chunk_mut::<LANES>(),
    ) else {
        return;
    };
    let missing = P::new(MISSING);
    let (mut before, mut tied, mut seen) = ([0_u8; LANES], [0_u8; LANES], [0_u8; LANES]);
    let (owns, others) = (&positions[u..], &positions[first..]);
    let mut total = 0_u8;
    let (mut index, mut row) = (0, 0);
    // A loop over indices: with an iterator, the compiler would vectorise over rows instead of lanes.
    while index < weights.len() {
        let lanes_from = |row| others.get(row..).and_then(<[P]>::first_chunk::<LANES>);
        let (Some(others), Some(&own)) = (lanes_from(row), owns.get(row)) else {
            return;
        };
        let weight = if COMPLETE || own != missing {
            weights[index]
        } else {
            0
        };
        let count = |holds: bool| if holds { weight } else { 0 };
        // Counts of the padding after the last label may overflow; they are not read.
        before = lanes(|lane| before[lane].wrapping_add(count(others[lane] > own)));
        tied = lanes(|lane| tied[lane].wrapping_add(count(others[lane] == own)));
        if COMPLETE {
            total = total.wrapping_add(weight);
        } else {
            seen = lanes(|lane| seen[lane].wrapping_add(count(others[lane] != missing)));
        }
        index += 1;
        row += stride;
    }
    if COMPLETE {
        seen = [total; LANES];
    }
    *out_before = before;
    *out_tied = tied;
    *out_after = lanes(|lane| seen[lane].wrapping_sub(before[lane].wrapping_add(tied[lane])));
}

#[inline(always)]
fn lanes(f: impl Fn(usize) -> u8) -> [u8; LANES] {
    let mut out = [0; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::PairCounts;
    use super::*;

    #[test]
    fn bytes_count_as_floats_do() {
        let mut bytes = BytePairCounter::default();
        for labels in [2, 5, 31, 32, 33, 34, 70, 127, 128, 300] {
            for complete in [true, false] {
                let row = |seed: usize| -> Vec<u16> {
                    let position =
                        |l: usize| (l * 7 + seed * 5 + seed * l) % 4 + usize::from(complete);
                    (0..labels).map(|label| position(label) as u16).collect()
                };
                let rows: Vec<(Vec<u16>, u8)> =
                    (0..20).map(|i| (row(i), (i % 3) as u8 + 10)).collect();
                let pairs = rows.iter().map(|(row, times)| (row.as_slice(), *times));
                bytes.count(labels, complete, pairs);
                let mut floats = PairCounts::empty(labels).unwrap();
                for (row, times) in &rows {
                    floats.add(row, f64::from(*times));
                }
                let found = bytes.table().triples().map(|triple| triple.map(f64::from));
                let expected = floats.table().triples();
                assert!(found.eq(expected), "{labels} labels, complete: {complete}");
            }
        }
    }
}
