//! Pair statistics of a few rows of unit weight, in small integers.

use crate::pairs::{ByteCounts, PairOrderMatrix, PairShares};
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// Pair order matrices and pair shares of a few rows of unit weight: most leaves of a tree are like that.
#[derive(Debug, Clone, Default)]
pub(super) struct FewRows {
    /// `2 · before + tied`.
    doubled: Vec<u16>,
    /// Rows that rank both labels; all rows when none has a missing label.
    seen: Vec<u16>,
    /// C for each number of rows seen and each `2 · before + tied`.
    table: Vec<f64>,
    /// Positions of a single row, NaN where a label is missing.
    single: Vec<f64>,
    counts: ByteCounts,
    /// Each count divided by each number of rows seen.
    quotients: Vec<f64>,
}

impl FewRows {
    /// The largest number of rows: a table of all values of C stays in the first-level cache.
    pub(super) const LIMIT: usize = 24;
    const STRIDE: usize = 2 * Self::LIMIT + 1;
    /// A power of two above the limit.
    const QUOTIENTS: usize = 32;

    pub(super) fn write(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        pair_order: &mut PairOrderMatrix,
    ) {
        if let &[row] = rows {
            self.write_single(rankings.row(row), pair_order);
            return;
        }
        self.prepare(rankings.labels());
        if rankings.is_complete() {
            for &row in rows {
                self.count_complete(rankings.row(row));
            }
            let values = &self.table[rows.len() * Self::STRIDE..][..Self::STRIDE];
            for (share, &doubled) in pair_order.shares_mut().iter_mut().zip(&self.doubled) {
                *share = values[usize::from(doubled)];
            }
        } else {
            for &row in rows {
                self.count(rankings.row(row));
            }
            let counted = self.doubled.iter().zip(&self.seen);
            for (share, (&doubled, &seen)) in pair_order.shares_mut().iter_mut().zip(counted) {
                *share = self.table[usize::from(seen) * Self::STRIDE + usize::from(doubled)];
            }
        }
    }

    fn write_single(&mut self, positions: &[u16], pair_order: &mut PairOrderMatrix) {
        self.single.clear();
        self.single.extend(positions.iter().map(|&p| match p {
            MISSING => f64::NAN,
            p => f64::from(p),
        }));
        let single = &self.single;
        let shares = pair_order.shares_mut().chunks_exact_mut(single.len());
        for (shares, &pu) in shares.zip(single) {
            for (share, &pv) in shares.iter_mut().zip(single) {
                // NaN is neither smaller nor larger: a missing label is undecided.
                let before = if pu < pv { 0.5 } else { 0.0 };
                let after = if pu > pv { 0.5 } else { 0.0 };
                *share = 0.5 + before - after;
            }
        }
    }

    fn prepare(&mut self, labels: usize) {
        if self.table.is_empty() {
            self.table = vec![0.5; (Self::LIMIT + 1) * Self::STRIDE];
            for seen in 1..=Self::LIMIT {
                for doubled in 0..=2 * seen {
                    self.table[seen * Self::STRIDE + doubled] = doubled as f64 / (2 * seen) as f64;
                }
            }
        }
        for counts in [&mut self.doubled, &mut self.seen] {
            counts.clear();
            counts.resize(labels * labels, 0);
        }
    }

    fn count_complete(&mut self, positions: &[u16]) {
        let doubled = self.doubled.chunks_exact_mut(positions.len());
        for (doubled, &pu) in doubled.zip(positions) {
            for (doubled, &pv) in doubled.iter_mut().zip(positions) {
                *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
            }
        }
    }

    fn count(&mut self, positions: &[u16]) {
        let n = positions.len();
        let counts = self
            .doubled
            .chunks_exact_mut(n)
            .zip(self.seen.chunks_exact_mut(n));
        for ((doubled, seen), &pu) in counts.zip(positions) {
            if pu == MISSING {
                continue;
            }
            for ((doubled, seen), &pv) in doubled.iter_mut().zip(seen).zip(positions) {
                // MISSING is below every position, so neither comparison holds for it.
                *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
                *seen += u16::from(pv != MISSING);
            }
        }
    }

    /// The shares of the pairs, divided as [`PairShares::fill_from`] divides.
    pub(super) fn write_shares(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        shares: &mut PairShares,
    ) {
        if self.quotients.is_empty() {
            self.quotients = vec![0.0; (Self::LIMIT + 1) * Self::QUOTIENTS];
            for seen in 1..=Self::LIMIT {
                for count in 0..=seen {
                    self.quotients[seen * Self::QUOTIENTS + count] = count as f64 / seen as f64;
                }
            }
        }
        let counted = rows.iter().map(|&row| (rankings.row(row), 1));
        self.counts
            .count(rankings.labels(), rankings.is_complete(), counted);
        dispatch(DividePairs {
            counts: &self.counts,
            quotients: &self.quotients,
            seen: rankings.is_complete().then_some(rows.len()),
            shares,
        });
    }
}

struct DividePairs<'a> {
    counts: &'a ByteCounts,
    quotients: &'a [f64],
    /// How many rows rank both labels of every pair, if that is the same number.
    seen: Option<usize>,
    shares: &'a mut PairShares,
}

impl Kernel for DividePairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let planes = self.shares.planes_mut();
        let counted = self.counts.planes();
        if let Some(seen) = self.seen {
            let row = &self.quotients[seen * FewRows::QUOTIENTS..];
            let Some(row) = row.first_chunk::<{ FewRows::QUOTIENTS }>() else {
                return;
            };
            for (plane, counts) in planes.into_iter().zip(counted) {
                for (share, &count) in plane.iter_mut().zip(counts) {
                    *share = row[usize::from(count) % FewRows::QUOTIENTS];
                }
            }
            return;
        }
        let [before, tied, after] = planes;
        for pair in 0..before.len() {
            let counts = counted.map(|counts| usize::from(counts[pair]));
            let seen: usize = counts.iter().sum();
            let row = &self.quotients[seen * FewRows::QUOTIENTS..][..FewRows::QUOTIENTS];
            before[pair] = row[counts[0]];
            tied[pair] = row[counts[1]];
            after[pair] = row[counts[2]];
        }
    }
}
