//! [`RowCounter`]: pair counts of some of the rows.

use crate::pairs::{pair_count, ByteCounts};
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

/// Weights up to this are counted in bytes.
const LARGEST_SMALL: f64 = 64.0;

/// Counts rows with weights that need not be those of the rankings.
pub(super) struct RowCounter<'a> {
    rankings: &'a Rankings,
    weights: &'a Weights,
    /// Whether sums of weights are exact, so that they can be subtracted again.
    exact: bool,
    /// Whether all weights are small whole numbers.
    small: bool,
}

impl<'a> RowCounter<'a> {
    pub(super) fn new(rankings: &'a Rankings, weights: &'a Weights) -> Self {
        let (exact, small) = match weights {
            Weights::Unit(_) => (true, true),
            Weights::Each(each) => {
                let exact = each.iter().all(|weight| weight.fract() == 0.0)
                    && weights.total() < 2_f64.powi(52);
                let small = each.iter().all(|&weight| weight <= LARGEST_SMALL);
                (exact, exact && small)
            }
        };
        Self {
            rankings,
            weights,
            exact,
            small,
        }
    }

    /// Whether counts of a part of the rows can be subtracted from counts of all.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether every pair is counted with the weight of all rows.
    pub(super) fn is_complete(&self) -> bool {
        self.exact && self.rankings.is_complete()
    }

    /// Counts rows whose weights add up to `weight` in bytes, if bytes can hold that.
    pub(super) fn count_in_bytes(&self, rows: &[u32], weight: f64, bytes: &mut ByteCounts) -> bool {
        let fits = self.small && weight <= ByteCounts::MAX_ROWS as f64;
        if fits {
            self.fill_bytes(rows, bytes);
        }
        fits
    }

    /// Counts rows in three planes.
    pub(super) fn count(&self, rows: &[u32], counts: &mut Vec<f64>, bytes: &mut ByteCounts) {
        counts.clear();
        counts.resize(3 * pair_count(self.rankings.labels()), 0.0);
        if !self.small {
            dispatch(Count {
                rankings: self.rankings,
                weights: self.weights,
                rows,
                counts,
            });
            return;
        }
        let mut rows = rows;
        while !rows.is_empty() {
            let mut sum = 0;
            let fits = |&&row: &&u32| {
                sum += usize::from(self.times(row));
                sum <= ByteCounts::MAX_ROWS
            };
            let (now, later) = rows.split_at(rows.iter().take_while(fits).count());
            rows = later;
            self.fill_bytes(now, bytes);
            dispatch(AddBytes { bytes, counts });
        }
    }

    fn fill_bytes(&self, rows: &[u32], bytes: &mut ByteCounts) {
        let rankings = self.rankings;
        let rows = rows.iter();
        let rows = rows.map(|&row| (rankings.row(row as usize), self.times(row)));
        bytes.count(rankings.labels(), rankings.is_complete(), rows);
    }

    fn times(&self, row: u32) -> u8 {
        self.weights.get(row as usize) as u8
    }
}

struct AddBytes<'a> {
    bytes: &'a ByteCounts,
    counts: &'a mut [f64],
}

impl Kernel for AddBytes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let planes = self.counts.chunks_exact_mut(self.counts.len() / 3);
        for (plane, bytes) in planes.zip(self.bytes.planes()) {
            for (sum, &count) in plane.iter_mut().zip(bytes) {
                *sum += f64::from(count);
            }
        }
    }
}

struct Count<'a> {
    rankings: &'a Rankings,
    weights: &'a Weights,
    rows: &'a [u32],
    counts: &'a mut [f64],
}

impl Kernel for Count<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.counts.len() / 3;
        let (before, rest) = self.counts.split_at_mut(pairs);
        let (tied, after) = rest.split_at_mut(pairs);
        for &row in self.rows {
            let weight = self.weights.get(row as usize);
            let positions = self.rankings.row(row as usize);
            let mut start = 0;
            for (u, &pu) in positions.iter().enumerate() {
                let others = &positions[u + 1..];
                let end = start + others.len();
                if pu != MISSING {
                    let counts = before[start..end]
                        .iter_mut()
                        .zip(&mut tied[start..end])
                        .zip(&mut after[start..end]);
                    for (((before, tied), after), &pv) in counts.zip(others) {
                        // MISSING is below every position.
                        *before += if pu < pv { weight } else { 0.0 };
                        *tied += if pu == pv { weight } else { 0.0 };
                        *after += if pu > pv && pv != MISSING {
                            weight
                        } else {
                            0.0
                        };
                    }
                }
                start = end;
            }
        }
    }
}
