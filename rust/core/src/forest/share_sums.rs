//! [`ShareSums`]: pair shares (of before, tied and after) of one row, summed over trees in fixed point, so that equal
//! shares stay equal.
//!
//! Anchors are the nodes whose shares are stored: exact anchors in fixed point, coarse anchors as one byte per share.
//! The shares of other leaves are a fraction of the shares of an anchor above, plus the weights of the training rows
//! between leaf and anchor; see [`AnchoredTree`](crate::tree::AnchoredTree).

use crate::pairs::{CompactRankings, PackedPairCodes, RankingSums};
use crate::simd::{dispatch, Kernel};
use crate::tree::{anchor_stride, coarse_stride, COARSE_LANES, COARSE_ONE};

use super::anchor_sums::AnchorSums;
use super::share_index::ShareIndex;

/// Fixed-point value of 1.0 in the shares summed over all trees, so that these sums stay below 2³¹.
const ONE: usize = 1 << 30;

/// Fixed-point value of 1.0 in the shares of one of `trees` trees.
pub(super) fn fixed_point_unit(trees: usize) -> i32 {
    (ONE / trees.max(1)) as i32
}

/// Sums of the shares of before and after per pair; the shares of tied are the rest of `total`. Before and after are
/// treated alike, so exchanging the two labels of a pair exchanges its sums.
pub(super) struct ShareSums {
    /// Fixed-point value of 1.0 in the shares of one tree.
    unit: f32,
    /// Per pair the sums of all contributions but those of anchors, with padding.
    before: Vec<i32>,
    after: Vec<i32>,
    /// Rankings to be added to `before` and `after`.
    rankings: RankingSums,
    /// Sums over exact anchors: per pair the sum of before, then per pair the sum of after, and padding.
    anchored: Vec<i32>,
    /// Sums over coarse anchors, in the same layout with other padding; empty without coarse anchors.
    coarse: Vec<i32>,
    /// Fixed-point value of 1.0 in the fractions of coarse anchors.
    coarse_one: f32,
    /// Sum of before, tied and after, the same for all pairs.
    total: i32,
}

impl ShareSums {
    /// Sums of 0, for a forest whose anchored trees are in `index`.
    pub(super) fn new(index: &ShareIndex, labels: usize) -> Self {
        let has_coarse = index.coarse_fraction > 0.0;
        let coarse = coarse_stride(labels) * usize::from(has_coarse);
        // Scales the fractions so that fraction × byte, summed over all trees, stays below 2³¹.
        let largest = index.coarse_fraction * index.trees.len() as f32 * f32::from(COARSE_ONE);
        Self {
            unit: index.unit as f32,
            before: vec![0; index.codes.stride()],
            after: vec![0; index.codes.stride()],
            rankings: RankingSums::new(if index.compact.is_some() { labels } else { 0 }),
            anchored: vec![0; anchor_stride(labels)],
            coarse: vec![0; coarse],
            coarse_one: if has_coarse { 2e9 / largest } else { 1.0 },
            total: 0,
        }
    }

    /// Converts a share of one tree, or a fraction of it, to fixed point.
    #[inline]
    pub(super) fn to_fixed(&self, share: f32) -> i32 {
        to_fixed(share, self.unit)
    }

    /// Starts the sums of a row of the block with those of its leaves that are anchors.
    pub(super) fn start(&mut self, anchors: &AnchorSums, row: usize) {
        self.before.fill(0);
        self.after.fill(0);
        self.coarse.fill(0);
        let (sums, count) = anchors.row(row);
        if count > 0 {
            self.anchored.copy_from_slice(sums);
        } else {
            // The sums are 0. Reading them would be slower, because their memory may not have been touched yet.
            self.anchored.fill(0);
        }
        self.total = count * self.unit as i32;
    }

    /// Adds a fraction of the shares of an exact anchor.
    pub(super) fn add_fraction(&mut self, anchor: &[i32], fraction: f32) {
        self.total += self.to_fixed(fraction);
        dispatch(AddFractionKernel {
            sums: &mut self.anchored,
            anchor,
            fraction,
        });
    }

    /// Adds the fraction of a coarse anchor to the total, and returns it in fixed point for [`Self::add_coarse`].
    pub(super) fn start_coarse(&mut self, fraction: f32) -> i32 {
        self.total += self.to_fixed(fraction);
        to_fixed(fraction, self.coarse_one)
    }

    /// Adds fractions of the shares of coarse anchors; the fractions are those of [`Self::start_coarse`].
    pub(super) fn add_coarse(&mut self, anchors: &[(&[u8], i32)]) {
        dispatch(AddCoarseKernel {
            sums: &mut self.coarse,
            anchors,
        });
    }

    /// Adds a fraction of the prior shares of ⅓ each.
    pub(super) fn add_prior(&mut self, fraction: f32) {
        let third = self.to_fixed(fraction / 3.0);
        self.total += 3 * third;
        for sums in [&mut self.before, &mut self.after] {
            for sum in sums {
                *sum += third;
            }
        }
    }

    /// Adds complete rankings, given by their indices in `codes`, with their weights.
    pub(super) fn add_rankings(&mut self, codes: &PackedPairCodes, rankings: &[(u32, i32)]) {
        self.total += rankings.iter().map(|(_, weight)| weight).sum::<i32>();
        codes.add_complete(rankings, [&mut self.before, &mut self.after]);
    }

    /// As [`Self::add_rankings`], for rankings of few labels, which `compact` stores in another layout.
    pub(super) fn add_compact(
        &mut self,
        compact: &CompactRankings,
        rankings: impl Iterator<Item = (u32, i32)>,
    ) {
        for (ranking, weight) in rankings {
            self.total += weight;
            self.rankings.push(ranking, weight);
        }
        self.rankings
            .drain(compact, [&mut self.before, &mut self.after]);
    }

    /// Adds the shares of before and after of one tree.
    pub(super) fn add_shares(&mut self, shares: [&[f32]; 2]) {
        self.total += self.unit as i32;
        let unit = self.unit;
        for (sums, shares) in [&mut self.before, &mut self.after].into_iter().zip(shares) {
            dispatch(AddSharesKernel { sums, shares, unit });
        }
    }

    /// Writes the normalised shares: per pair before, then per pair tied, then per pair after; 0 if no shares were
    /// added.
    pub(super) fn write(&self, shares: &mut [f64]) {
        dispatch(WriteSharesKernel { sums: self, shares });
    }
}

/// `share * unit`, rounded to the nearest integer; neither factor may be negative.
#[inline(always)]
fn to_fixed(share: f32, unit: f32) -> i32 {
    (share * unit + 0.5) as i32
}

/// Adds fractions of coarse anchors to 32 sums at a time, which stay in registers while all anchors are read.
struct AddCoarseKernel<'a> {
    sums: &'a mut [i32],
    anchors: &'a [(&'a [u8], i32)],
}

impl Kernel for AddCoarseKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let chunks = self.sums.as_chunks_mut::<COARSE_LANES>().0;
        for (chunk, sums) in chunks.iter_mut().enumerate() {
            let mut lanes = *sums;
            for &(anchor, fraction) in self.anchors {
                let Some(shares) = anchor.as_chunks::<COARSE_LANES>().0.get(chunk) else {
                    continue;
                };
                for lane in 0..COARSE_LANES {
                    lanes[lane] += i32::from(shares[lane]) * fraction;
                }
            }
            *sums = lanes;
        }
    }
}

struct AddFractionKernel<'a> {
    sums: &'a mut [i32],
    anchor: &'a [i32],
    fraction: f32,
}

impl Kernel for AddFractionKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, &share) in self.sums.iter_mut().zip(self.anchor) {
            *sum += to_fixed(share as f32, self.fraction);
        }
    }
}

struct AddSharesKernel<'a> {
    sums: &'a mut [i32],
    shares: &'a [f32],
    unit: f32,
}

impl Kernel for AddSharesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, &share) in self.sums.iter_mut().zip(self.shares) {
            *sum += to_fixed(share, self.unit);
        }
    }
}

struct WriteSharesKernel<'a> {
    sums: &'a ShareSums,
    shares: &'a mut [f64],
}

impl Kernel for WriteSharesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.shares.len() / 3;
        let (out_before, rest) = self.shares.split_at_mut(pairs);
        let (out_tied, out_after) = rest.split_at_mut(pairs);
        let (before, after) = (&self.sums.before[..pairs], &self.sums.after[..pairs]);
        let (anchor_before, rest) = self.sums.anchored.split_at(pairs);
        let anchor_after = &rest[..pairs];
        let total = self.sums.total;
        // Without coarse anchors, the sums of exact anchors take their place and are multiplied by 0.
        let has_coarse = !self.sums.coarse.is_empty();
        let coarse = if has_coarse {
            &self.sums.coarse
        } else {
            &self.sums.anchored
        };
        let (coarse_before, rest) = coarse.split_at(pairs);
        let coarse_after = &rest[..pairs];
        let scale = self.sums.unit / (f32::from(COARSE_ONE) * self.sums.coarse_one);
        let scale = if has_coarse { scale } else { 0.0 };
        for pair in 0..pairs {
            let b =
                before[pair] + anchor_before[pair] + to_fixed(coarse_before[pair] as f32, scale);
            let a = after[pair] + anchor_after[pair] + to_fixed(coarse_after[pair] as f32, scale);
            // Rounding can make the sum of before and after larger than the total.
            let tied = if total > b + a { total - b - a } else { 0 };
            let sum = f64::from(b + a + tied);
            let divisor = if sum > 0.0 { sum } else { 1.0 };
            out_before[pair] = f64::from(b) / divisor;
            out_tied[pair] = f64::from(tied) / divisor;
            out_after[pair] = f64::from(a) / divisor;
        }
    }
}
