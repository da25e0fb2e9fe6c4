//! [`FewRows`]: pair order matrices (per ordered pair of labels the share of rankings that place the first before the
//! second, ties counting half) and pair shares (before, tied and after) of few rows of unit weight, looked up in a
//! table of quotients.

use super::super::{PairOrderMatrix, PairShares, PairTable};
use super::BytePairCounter;
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// Computes the pair order matrix and the pair shares of few rows of unit weight. Most leaves of a tree are this small.
#[derive(Debug, Clone, Default)]
pub(crate) struct FewRows {
    /// Table of k / (2 · seen), with one row per number `seen` of rows that rank both labels and one column per k: an
    /// entry of the pair order matrix C for k = 2 · before + tied, a pair share for k = 2 · count. The row for
    /// `seen` = 0 holds ½, then zeros.
    quotients: Vec<f64>,
    /// For each ordered pair of labels 2 · before + tied.
    doubled: Vec<u16>,
    /// For each ordered pair of labels the number of rows that rank both.
    seen: Vec<u16>,
}

/// Up to this many rows, C is computed from counts of ordered pairs, which takes about 0.75 of the time of counting in
/// bytes for 2 rows of 26 labels.
const MAX_ORDERED_PAIR_ROWS: usize = 5;

impl FewRows {
    /// The largest number of rows, so that the table of quotients stays in the first-level cache.
    pub(crate) const MAX_ROWS: usize = 24;
    /// Columns of `quotients`: a power of two above 2 · `MAX_ROWS`.
    const STRIDE: usize = 64;

    /// Writes the pair order matrix and, where given, the pair shares of the rows.
    pub(crate) fn write(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        bytes: &mut BytePairCounter,
        pair_order: &mut PairOrderMatrix,
        shares: Option<&mut PairShares>,
    ) {
        self.fill_quotients();
        let mut unwritten_order = Some(pair_order);
        if let (&[row], Some(order)) = (rows, &mut unwritten_order) {
            let positions = rankings.row(row);
            dispatch(CompareRow { positions, order });
            unwritten_order = None;
        } else if rows.len() <= MAX_ORDERED_PAIR_ROWS && shares.is_none() {
            if let Some(order) = unwritten_order {
                self.write_from_ordered_pairs(rankings, rows, order);
            }
            return;
        }
        if unwritten_order.is_none() && shares.is_none() {
            return;
        }
        let counted = rows.iter().map(|&row| (rankings.row(row), 1));
        bytes.count(rankings.labels(), rankings.is_complete(), counted);
        dispatch(DividePairs {
            counts: bytes.table(),
            quotients: &self.quotients,
            seen: rankings.is_complete().then_some(rows.len()),
            pair_order: unwritten_order,
            shares,
        });
    }

    /// Writes the pair order matrix from counts of ordered pairs.
    fn write_from_ordered_pairs(
        &mut self,
        rankings: &Rankings,
        rows: &[usize],
        order: &mut PairOrderMatrix,
    ) {
        let n = rankings.labels();
        for counts in [&mut self.doubled, &mut self.seen] {
            counts.clear();
            counts.resize(n * n, 0);
        }
        let rows = rows.iter().map(|&row| rankings.row(row));
        if rankings.is_complete() {
            let quotients = &self.quotients[rows.len() * Self::STRIDE..][..Self::STRIDE];
            rows.for_each(|positions| add_complete_row(&mut self.doubled, positions));
            for (share, &doubled) in order.shares_mut().iter_mut().zip(&self.doubled) {
                *share = quotients[usize::from(doubled)];
            }
            return;
        }
        rows.for_each(|positions| add_row(&mut self.doubled, &mut self.seen, positions));
        let counts = self.doubled.iter().zip(&self.seen);
        for (share, (&doubled, &seen)) in order.shares_mut().iter_mut().zip(counts) {
            *share = self.quotients[usize::from(seen) * Self::STRIDE + usize::from(doubled)];
        }
    }

    fn fill_quotients(&mut self) {
        if self.quotients.is_empty() {
            self.quotients = vec![0.0; (Self::MAX_ROWS + 1) * Self::STRIDE];
            self.quotients[0] = 0.5;
            for seen in 1..=Self::MAX_ROWS {
                for k in 0..=2 * seen {
                    self.quotients[seen * Self::STRIDE + k] = k as f64 / (2 * seen) as f64;
                }
            }
        }
    }
}

fn add_complete_row(doubled: &mut [u16], positions: &[u16]) {
    for (doubled, &pu) in doubled.chunks_exact_mut(positions.len()).zip(positions) {
        for (doubled, &pv) in doubled.iter_mut().zip(positions) {
            *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
        }
    }
}

fn add_row(doubled: &mut [u16], seen: &mut [u16], positions: &[u16]) {
    let n = positions.len();
    let counts = doubled.chunks_exact_mut(n).zip(seen.chunks_exact_mut(n));
    for ((doubled, seen), &pu) in counts.zip(positions) {
        if pu == MISSING {
            continue;
        }
        for ((doubled, seen), &pv) in doubled.iter_mut().zip(seen).zip(positions) {
            // MISSING is smaller than every position, so neither comparison holds for it.
            *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
            *seen += u16::from(pv != MISSING);
        }
    }
}

/// The pair order matrix of a single row, without counting: about a quarter of the time of counting in bytes.
struct CompareRow<'a> {
    positions: &'a [u16],
    order: &'a mut PairOrderMatrix,
}

impl Kernel for CompareRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let positions = self.positions;
        let rows = self.order.shares_mut().chunks_exact_mut(positions.len());
        for (shares, &pu) in rows.zip(positions) {
            for (share, &pv) in shares.iter_mut().zip(positions) {
                let seen = pu != MISSING && pv != MISSING;
                let before = if seen && pu < pv { 0.5 } else { 0.0 };
                let after = if seen && pu > pv { 0.5 } else { 0.0 };
                *share = 0.5 + before - after;
            }
        }
    }
}

struct DividePairs<'a> {
    counts: &'a PairTable<u8>,
    quotients: &'a [f64],
    /// Number of rows that rank both labels, if it is the same for all pairs.
    seen: Option<usize>,
    pair_order: Option<&'a mut PairOrderMatrix>,
    shares: Option<&'a mut PairShares>,
}

impl Kernel for DividePairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (rows, _) = self.quotients.as_chunks::<{ FewRows::STRIDE }>();
        match self.seen {
            Some(seen) => self.write(|_| &rows[seen]),
            None => self.write(|[b, t, a]| &rows[usize::from(b + t + a)]),
        }
    }
}

impl DividePairs<'_> {
    /// Writes the entries of each pair, looked up in the row of quotients for its counts.
    #[inline(always)]
    fn write<'q>(self, quotients: impl Fn([u8; 3]) -> &'q [f64; FewRows::STRIDE]) {
        // An unseen pair has shares of 0: they are read from the column after the ½ in the row for `seen` = 0.
        let unseen_shift = |counts| usize::from(counts == [0; 3]);
        if let Some(pair_order) = self.pair_order {
            pair_order.fill_pairs(self.counts.triples().map(|counts| {
                let quotients = quotients(counts);
                let [before, tied, after] = counts.map(usize::from);
                [before, after].map(|count| quotients[(2 * count + tied) % FewRows::STRIDE])
            }));
        }
        if let Some(shares) = self.shares {
            let [before, tied, after] = shares.planes_mut();
            let shares = before.iter_mut().zip(tied).zip(after);
            for (((before, tied), after), counts) in shares.zip(self.counts.triples()) {
                let (quotients, shift) = (quotients(counts), unseen_shift(counts));
                [*before, *tied, *after] = counts
                    .map(|count| quotients[(2 * usize::from(count) + shift) % FewRows::STRIDE]);
            }
        }
    }
}
