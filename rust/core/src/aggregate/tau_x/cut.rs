//! [`BucketCutter`]: cuts an order of labels into buckets by dynamic programming.

use crate::bucket_order::BucketOrder;
use crate::pairs::PairShares;
use crate::simd::{dispatch, Kernel};

use super::super::threshold::TOLERANCE;

/// Pair gains and buffers of the dynamic program.
#[derive(Debug, Default)]
pub(in super::super) struct BucketCutter {
    /// Net preference of each label.
    pub(super) net: Vec<f64>,
    /// `gains[v * n + u]`: gain of tying u and v instead of placing u before v.
    gains: Vec<f64>,
    /// Gain of tying the current place with all places from i on.
    joined: Vec<f64>,
    /// Gain of the bucket from each place to the current one over its labels in separate buckets.
    sums: Vec<f64>,
    /// Gain of the best buckets of the first places.
    best: Vec<f64>,
    /// Start of the last of those buckets.
    starts: Vec<usize>,
}

impl BucketCutter {
    /// Computes net preferences and gains from the shares.
    pub(super) fn read_shares(&mut self, shares: &PairShares) {
        dispatch(GainsKernel { cut: self, shares });
    }

    /// Cuts an order of the labels, with the shares that were read last.
    pub(super) fn cut_order(&mut self, order: &[usize]) -> BucketOrder {
        let n = order.len();
        let gains = std::mem::take(&mut self.gains);
        dispatch(CutKernel {
            cut: self,
            n,
            gain: |i: usize, j: usize| gains[order[j] * n + order[i]],
        });
        self.gains = gains;
        let mut positions = vec![0; n];
        self.for_each_place(|place, bucket| positions[order[place]] = bucket as u16 + 1);
        BucketOrder::from_dense(positions)
    }

    /// Buckets of n places, given the gain of tying the places i < j instead of leaving i before j.
    pub(super) fn cut_places(
        &mut self,
        n: usize,
        gain: impl Fn(usize, usize) -> f64,
    ) -> Vec<usize> {
        dispatch(CutKernel { cut: self, n, gain });
        let mut places = vec![0; n];
        self.for_each_place(|place, bucket| places[place] = bucket);
        places
    }

    /// Calls `put` with each place, from the last to the first, and its bucket.
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

/// Dynamic program over the last bucket of the first places.
struct CutKernel<'a, G> {
    cut: &'a mut BucketCutter,
    n: usize,
    gain: G,
}

impl<G: Fn(usize, usize) -> f64> Kernel for CutKernel<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { cut, n, gain } = self;
        let BucketCutter {
            joined,
            sums,
            best,
            starts,
            ..
        } = cut;
        joined.clear();
        joined.resize(n, 0.0);
        sums.clear();
        sums.resize(n, 0.0);
        best.clear();
        best.push(0.0);
        starts.clear();
        for j in 0..n {
            let mut total = 0.0;
            for i in (0..j).rev() {
                total += gain(i, j);
                joined[i] = total;
            }
            // The bucket of place j alone.
            let mut top = best[j];
            for ((sum, &joined), &best) in sums[..j].iter_mut().zip(&joined[..j]).zip(&best[..j]) {
                *sum += joined;
                top = if best + *sum > top { best + *sum } else { top };
            }
            let good = |i: usize| best[i] + sums[i] >= top - TOLERANCE;
            let start = if best[j] >= top - TOLERANCE {
                j
            } else {
                (0..j).rev().find(|&i| good(i)).unwrap_or(j)
            };
            best.push(best[start] + sums[start]);
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
                gains[u * n + v] = t + lead;
                gains[v * n + u] = t - lead;
            }
            net[u] += own;
            start = pairs.end;
        }
    }
}
