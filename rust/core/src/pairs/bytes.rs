//! [`ByteCounts`]: pairs of up to 255 rows, counted in bytes.

use super::pair_count;
use crate::rankings::MISSING;
use crate::simd::{dispatch, Kernel};

/// Pairs counted at once: as many bytes as a vector register holds.
const LANES: usize = 32;

/// With more labels, positions do not fit a signed byte. (Signed, because every instruction set compares those.)
const MAX_NARROW_LABELS: usize = 127;

/// For each pair of labels how many of some rows place the first before the second, tie both, and place it after.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteCounts {
    labels: usize,
    /// Planes in the order of [`super::pair_index`], with room for the lanes behind the last pair.
    before: Vec<u8>,
    tied: Vec<u8>,
    after: Vec<u8>,
    narrow: Gathered<i8>,
    wide: Gathered<i16>,
}

/// Positions of the rows to be counted, side by side.
#[derive(Debug, Clone, Default)]
struct Gathered<P> {
    /// Row by row, with room for the lanes behind the last label.
    positions: Vec<P>,
    /// How often each row counts.
    times: Vec<u8>,
}

/// A position in few bits.
trait Position: Copy + PartialOrd + Default {
    fn new(position: u16) -> Self;
}

impl Position for i8 {
    #[inline(always)]
    fn new(position: u16) -> Self {
        position as Self
    }
}

impl Position for i16 {
    #[inline(always)]
    fn new(position: u16) -> Self {
        position as Self
    }
}

impl ByteCounts {
    /// The most rows that a byte can count.
    pub(crate) const MAX_ROWS: usize = 255;

    /// Counts rankings, each as often as the number beside it says, together at most [`Self::MAX_ROWS`] times; what
    /// was counted before is forgotten. `complete` promises that no label is missing.
    pub(crate) fn count<'a>(
        &mut self,
        labels: usize,
        complete: bool,
        rows: impl Iterator<Item = (&'a [u16], u8)>,
    ) {
        if self.labels != labels {
            *self = Self::default();
            self.labels = labels;
            for plane in [&mut self.before, &mut self.tied, &mut self.after] {
                plane.resize(pair_count(labels) + LANES, 0);
            }
        }
        if labels <= MAX_NARROW_LABELS {
            let mut gathered = std::mem::take(&mut self.narrow);
            self.count_gathered(&mut gathered, complete, rows);
            self.narrow = gathered;
        } else {
            let mut gathered = std::mem::take(&mut self.wide);
            self.count_gathered(&mut gathered, complete, rows);
            self.wide = gathered;
        }
    }

    /// The planes before, tied and after.
    pub(crate) fn planes(&self) -> [&[u8]; 3] {
        let pairs = pair_count(self.labels);
        [
            &self.before[..pairs],
            &self.tied[..pairs],
            &self.after[..pairs],
        ]
    }

    fn count_gathered<'a, P: Position>(
        &mut self,
        gathered: &mut Gathered<P>,
        complete: bool,
        rows: impl Iterator<Item = (&'a [u16], u8)>,
    ) {
        gathered.times.clear();
        let counts = self;
        if complete {
            dispatch(Count::<P, _, true> {
                counts,
                gathered,
                rows,
            });
        } else {
            dispatch(Count::<P, _, false> {
                counts,
                gathered,
                rows,
            });
        }
    }
}

struct Count<'b, P, I, const COMPLETE: bool> {
    counts: &'b mut ByteCounts,
    gathered: &'b mut Gathered<P>,
    rows: I,
}

impl<'a, P: Position, I, const COMPLETE: bool> Kernel for Count<'_, P, I, COMPLETE>
where
    I: Iterator<Item = (&'a [u16], u8)>,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let labels = self.counts.labels;
        let stride = (labels + LANES).next_multiple_of(LANES);
        let Gathered { positions, times } = self.gathered;
        for (from, often) in self.rows {
            let start = times.len() * stride;
            if positions.len() < start + stride {
                positions.resize(start + stride, P::default());
            }
            for (to, &position) in positions[start..start + labels].iter_mut().zip(from) {
                *to = P::new(position);
            }
            times.push(often);
        }
        let mut start = 0;
        for u in 0..labels {
            let others = labels - u - 1;
            for block in (0..others).step_by(LANES) {
                // What is written behind the last pair of u is overwritten by the pairs of the next label.
                count_lanes::<P, COMPLETE>(
                    self.counts,
                    (positions, stride, times),
                    (u, u + 1 + block),
                    start + block,
                );
            }
            start += others;
        }
    }
}

/// Counts the pairs of a label with the labels from another one on. The counts stay in registers.
#[inline(always)]
fn count_lanes<P: Position, const COMPLETE: bool>(
    counts: &mut ByteCounts,
    (positions, stride, times): (&[P], usize, &[u8]),
    (u, first): (usize, usize),
    to: usize,
) {
    let (Some(out_before), Some(out_tied), Some(out_after)) = (
        counts.before[to..].first_chunk_mut::<LANES>(),
        counts.tied[to..].first_chunk_mut::<LANES>(),
        counts.after[to..].first_chunk_mut::<LANES>(),
    ) else {
        return;
    };
    let missing = P::new(MISSING);
    let (mut before, mut tied, mut seen) = ([0_u8; LANES], [0_u8; LANES], [0_u8; LANES]);
    let (owns, others) = (&positions[u..], &positions[first..]);
    let mut all = 0_u8;
    let (mut index, mut row) = (0, 0);
    // Counted by index: an iterator over the rows tempts the compiler to spread rows over the lanes.
    while index < times.len() {
        let lanes_from = |row| others.get(row..).and_then(<[P]>::first_chunk::<LANES>);
        let (Some(others), Some(&own)) = (lanes_from(row), owns.get(row)) else {
            return;
        };
        let often = if COMPLETE || own != missing {
            times[index]
        } else {
            0
        };
        let count = |holds: bool| if holds { often } else { 0 };
        // What is counted for the room behind the last label may overflow; nobody reads it.
        before = lanes(|lane| before[lane].wrapping_add(count(others[lane] > own)));
        tied = lanes(|lane| tied[lane].wrapping_add(count(others[lane] == own)));
        if COMPLETE {
            all = all.wrapping_add(often);
        } else {
            seen = lanes(|lane| seen[lane].wrapping_add(count(others[lane] != missing)));
        }
        index += 1;
        row += stride;
    }
    if COMPLETE {
        seen = [all; LANES];
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
    use super::super::{pair_index, PairCounts};
    use super::*;

    #[test]
    fn bytes_count_what_floats_count() {
        let mut bytes = ByteCounts::default();
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
                for u in 0..labels {
                    for v in u + 1..labels {
                        let at = pair_index(labels, u, v);
                        let found = bytes.planes().map(|plane| f64::from(plane[at]));
                        let expected =
                            [floats.before(u, v), floats.tied(u, v), floats.before(v, u)];
                        assert_eq!(found, expected, "{labels}: {u} {v}");
                    }
                }
            }
        }
    }
}
