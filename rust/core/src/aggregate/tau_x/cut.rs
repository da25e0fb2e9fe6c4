//! [`BucketCutter`]: cuts an order of labels into the best buckets by dynamic programming. A place is an index in this
//! order; the lead of u over v is the value of placing u before v.

use crate::bucket_order::BucketOrder;
use crate::pairs::PairShares;
use crate::simd::{dispatch, Kernel};

use super::super::optimum::TIE_BONUS;

/// Cuts whose values differ by no more than this are equal up to rounding.
const NOISE: f64 = 1e-11;

/// Gains of tying pairs of labels, and buffers of the dynamic program.
#[derive(Debug, Default)]
pub(in super::super) struct BucketCutter {
    /// Net preference of each label: the sum of its leads over all other labels.
    pub(in super::super) net: Vec<f64>,
    /// `gains[v * n + u]`: gain of tying u and v instead of placing u before v, with [`TIE_BONUS`].
    pub(super) gains: Vec<f64>,
    /// Per place of the order: whether its label stays in the bucket of the label before it. Empty if none does.
    pub(super) joined_labels: Vec<bool>,
    /// Scratch buffer: scores by label, by which labels with equal net preferences are sorted.
    pub(super) own_scores: Vec<f64>,
    /// Per place i: gain of tying the current place with all places from i on.
    tie_gains: Vec<f64>,
    /// Per place i: gain of one bucket with the places from i to the current one, compared with separate buckets.
    bucket_gains: Vec<f64>,
    /// `best[j]`: gain of the best cut of the first `j` places.
    best: Vec<f64>,
    /// `starts[j]`: start of the last bucket in the best cut of the first `j + 1` places.
    starts: Vec<usize>,
}

impl BucketCutter {
    /// Computes net preferences and gains from the shares.
    pub(super) fn read_shares(&mut self, shares: &PairShares) {
        dispatch(GainsKernel { cut: self, shares });
    }

    /// Computes net preferences and gains from the lead and the value of a tie of each pair u < v.
    pub(in super::super) fn read_values(
        &mut self,
        n: usize,
        value: impl Fn(usize, usize) -> (f64, f64),
    ) {
        self.net.clear();
        self.net.resize(n, 0.0);
        self.gains.clear();
        self.gains.resize(n * n, 0.0);
        for u in 0..n {
            for v in u + 1..n {
                let (lead, tied) = value(u, v);
                self.net[u] += lead;
                self.net[v] -= lead;
                self.gains[u * n + v] = tied + TIE_BONUS + lead;
                self.gains[v * n + u] = tied + TIE_BONUS - lead;
            }
        }
    }

    /// Cuts an order of the labels by the gains that were read last. Labels that `joined_labels` marks stay together.
    pub(super) fn cut_order(&mut self, order: &[usize]) -> BucketOrder {
        let n = order.len();
        let gains = std::mem::take(&mut self.gains);
        let joined = std::mem::take(&mut self.joined_labels);
        let gain = |i: usize, j: usize| gains[order[j] * n + order[i]];
        if joined.is_empty() {
            dispatch(CutKernel {
                cut: self,
                n,
                gain,
                may_end: |_: usize| true,
            });
        } else {
            dispatch(CutKernel {
                cut: self,
                n,
                gain,
                may_end: |j: usize| !joined.get(j + 1).is_some_and(|&joined| joined),
            });
        }
        (self.gains, self.joined_labels) = (gains, joined);
        let mut positions = vec![0; n];
        self.for_each_place(|place, bucket| positions[order[place]] = bucket as u16 + 1);
        BucketOrder::from_dense(positions)
    }

    /// Calls `put` with each place and its bucket, from the last bucket to the first.
    fn for_each_place(&self, mut put: impl FnMut(usize, usize)) {
        let (mut buckets, mut end) = (0, self.starts.len());
        while end > 0 {
            buckets += 1;
            end = self.starts[end - 1];
        }
        end = self.starts.len();
        while end > 0 {
            buckets -= 1;
            let start = self.starts[end - 1];
            for place in start..end {
                put(place, buckets);
            }
            end = start;
        }
    }
}

/// Dynamic program: finds the best last bucket of each prefix of the order. Among equally good cuts it prefers ties, by
/// [`TIE_BONUS`], then the shortest last bucket.
struct CutKernel<'a, G, E> {
    cut: &'a mut BucketCutter,
    n: usize,
    /// Gain of tying the places i < j instead of leaving i before j.
    gain: G,
    /// Whether a bucket may end with a place.
    may_end: E,
}

impl<G: Fn(usize, usize) -> f64, E: Fn(usize) -> bool> Kernel for CutKernel<'_, G, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            cut,
            n,
            gain,
            may_end,
        } = self;
        let BucketCutter {
            tie_gains,
            bucket_gains,
            best,
            starts,
            ..
        } = cut;
        tie_gains.clear();
        tie_gains.resize(n, 0.0);
        bucket_gains.clear();
        bucket_gains.resize(n, 0.0);
        best.clear();
        best.push(0.0);
        starts.clear();
        for j in 0..n {
            let mut total = 0.0;
            for i in (0..j).rev() {
                total += gain(i, j);
                tie_gains[i] = total;
            }
            // Gain if place j is a bucket of its own.
            let mut top = best[j];
            let gains = bucket_gains[..j].iter_mut().zip(&tie_gains[..j]);
            for ((sum, &tie_gain), &best) in gains.zip(&best[..j]) {
                *sum += tie_gain;
                top = if best + *sum > top { best + *sum } else { top };
            }
            let good = |i: usize| best[i] + bucket_gains[i] >= top - NOISE;
            let start = if best[j] >= top - NOISE {
                j
            } else {
                (0..j).rev().find(|&i| good(i)).unwrap_or(j)
            };
            best.push(if may_end(j) {
                best[start] + bucket_gains[start]
            } else {
                f64::NEG_INFINITY
            });
            starts.push(start);
        }
    }
}

struct GainsKernel<'a> {
    cut: &'a mut BucketCutter,
    shares: &'a PairShares,
}

impl Kernel for GainsKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let BucketCutter { net, gains, .. } = self.cut;
        let n = self.shares.labels();
        net.clear();
        net.resize(n, 0.0);
        gains.resize(n * n, 0.0);
        let [before, tied, after] = self.shares.planes();
        let mut start = 0;
        for u in 0..n {
            let pairs = start..start + n - u - 1;
            let planes = before[pairs.clone()]
                .iter()
                .zip(&tied[pairs.clone()])
                .zip(&after[pairs.clone()]);
            let mut own = 0.0;
            for (v, ((b, t), a)) in (u + 1..n).zip(planes) {
                let lead = b - a;
                own += lead;
                net[v] -= lead;
                let tie = t + TIE_BONUS;
                gains[u * n + v] = tie + lead;
                gains[v * n + u] = tie - lead;
            }
            net[u] += own;
            start = pairs.end;
        }
    }
}
