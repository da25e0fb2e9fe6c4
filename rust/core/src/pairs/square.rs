//! [`SquareCounts`]: pairs of up to 255 rows, counted in bytes.

use crate::rankings::MISSING;
use crate::simd::{dispatch, Kernel};

/// Labels compared at once: as many bytes as a vector register holds.
const LANES: usize = 32;

/// For each label and each later one how many rows place it before, tie both, and place it after, in bytes: tables of
/// as many rows as labels, whose width is a multiple of the vector registers'. What stands at or left of the diagonal
/// means nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct SquareCounts {
    labels: usize,
    width: usize,
    before: Vec<u8>,
    tied: Vec<u8>,
    after: Vec<u8>,
    /// The positions of a row with room for the lanes behind the last label; missing labels first, and last.
    low: Vec<u16>,
    high: Vec<u16>,
}

impl SquareCounts {
    /// The most rows that a byte can count.
    pub(crate) const MAX_ROWS: usize = 255;

    /// Forgets everything, and expects rankings of so many labels.
    pub(crate) fn clear(&mut self, labels: usize) {
        self.labels = labels;
        self.width = labels.next_multiple_of(LANES);
        for table in [&mut self.before, &mut self.tied, &mut self.after] {
            table.clear();
            table.resize(labels * self.width, 0);
        }
        for positions in [&mut self.low, &mut self.high] {
            positions.clear();
            positions.resize(self.width, 0);
        }
    }

    /// Adds rankings, each as often as the number beside it says; together at most [`Self::MAX_ROWS`] since the tables
    /// were cleared.
    pub(crate) fn add_rows<'a>(&mut self, rows: impl Iterator<Item = (&'a [u16], u8)>) {
        dispatch(AddRows { counts: self, rows });
    }

    /// Number of labels and width of the tables.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.labels, self.width)
    }

    /// The tables of before, tied and after.
    pub(crate) fn tables(&self) -> [&[u8]; 3] {
        [&self.before, &self.tied, &self.after]
    }

    /// Adds the counts to three planes of pairs in the order of [`super::pair_index`].
    pub(crate) fn add_to(&self, planes: &mut [f64]) {
        dispatch(AddTo {
            counts: self,
            planes,
        });
    }

    #[inline(always)]
    fn add(&mut self, positions: &[u16], times: u8) {
        for (at, &position) in positions.iter().enumerate() {
            self.low[at] = position;
            self.high[at] = if position == MISSING {
                u16::MAX
            } else {
                position
            };
        }
        for (u, &own) in positions.iter().enumerate() {
            if own == MISSING {
                continue;
            }
            for block in (u + 1) / LANES..self.width / LANES {
                let at = block * LANES;
                let from = u * self.width + at;
                let (Some(low), Some(high), Some(before), Some(tied), Some(after)) = (
                    self.low[at..].first_chunk::<LANES>(),
                    self.high[at..].first_chunk::<LANES>(),
                    self.before[from..].first_chunk_mut::<LANES>(),
                    self.tied[from..].first_chunk_mut::<LANES>(),
                    self.after[from..].first_chunk_mut::<LANES>(),
                ) else {
                    continue;
                };
                for lane in 0..LANES {
                    // What lies at or left of the diagonal may overflow; nobody reads it.
                    let count = |holds: bool| if holds { times } else { 0 };
                    before[lane] = before[lane].wrapping_add(count(own < low[lane]));
                    tied[lane] = tied[lane].wrapping_add(count(own == low[lane]));
                    after[lane] = after[lane].wrapping_add(count(own > high[lane]));
                }
            }
        }
    }
}

struct AddRows<'b, I> {
    counts: &'b mut SquareCounts,
    rows: I,
}

impl<'a, I: Iterator<Item = (&'a [u16], u8)>> Kernel for AddRows<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (positions, times) in self.rows {
            self.counts.add(positions, times);
        }
    }
}

struct AddTo<'a> {
    counts: &'a SquareCounts,
    planes: &'a mut [f64],
}

impl Kernel for AddTo<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (labels, width) = self.counts.size();
        let pairs = self.planes.len() / 3;
        for (plane, table) in self
            .planes
            .chunks_exact_mut(pairs)
            .zip(self.counts.tables())
        {
            let mut start = 0;
            for u in 0..labels {
                let counts = &table[u * width + u + 1..u * width + labels];
                for (sum, &count) in plane[start..].iter_mut().zip(counts) {
                    *sum += f64::from(count);
                }
                start += counts.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{pair_count, pair_index, PairCounts};
    use super::*;

    #[test]
    fn bytes_count_what_floats_count() {
        for labels in [2, 5, 31, 32, 33, 70] {
            let row = |seed: usize| -> Vec<u16> {
                let position = |label: usize| ((label * 7 + seed * 5 + seed * label) % 4) as u16;
                (0..labels).map(position).collect()
            };
            let rows: Vec<(Vec<u16>, u8)> = (0..20).map(|i| (row(i), (i % 3) as u8 + 10)).collect();
            let mut bytes = SquareCounts::default();
            bytes.clear(labels);
            bytes.add_rows(rows.iter().map(|(row, times)| (row.as_slice(), *times)));
            let mut planes = vec![0.0; 3 * pair_count(labels)];
            bytes.add_to(&mut planes);
            let mut floats = PairCounts::empty(labels).unwrap();
            for (row, times) in &rows {
                floats.add(row, f64::from(*times));
            }
            let pairs = pair_count(labels);
            for u in 0..labels {
                for v in u + 1..labels {
                    let at = pair_index(labels, u, v);
                    let found = [planes[at], planes[pairs + at], planes[2 * pairs + at]];
                    let expected = [floats.before(u, v), floats.tied(u, v), floats.before(v, u)];
                    assert_eq!(found, expected, "{labels}: {u} {v}");
                }
            }
        }
    }
}
