//! [`LatentBlock`]: pair sums of the latent model for several rows at once, one row per lane of the vector
//! instructions.
//!
//! The scores of a row are a utility `f_u`, which orders the labels, and a tie term `h_u`, the tendency to be tied, per
//! label u.

use super::product::LogProduct;
use super::real::Real;

/// Rows per block: one vector in single precision, two in double precision.
pub(crate) const LANES: usize = 8;

/// One number per row of a block.
type LatentLanes<T> = [T; LANES];

/// Sums over the pairs of a label with all other labels: Σ d, Σ t, Σ (b + a − d²) and Σ t (1 − t), where b, t and a are
/// the shares (probabilities) of before, tied and after, and d = b − a.
#[derive(Clone, Copy, Default)]
pub(crate) struct PairSums<T> {
    pub(crate) net: LatentLanes<T>,
    pub(crate) tied: LatentLanes<T>,
    pub(crate) net_curvature: LatentLanes<T>,
    pub(crate) tied_curvature: LatentLanes<T>,
}

#[inline(always)]
fn map_lanes<T>(f: impl FnMut(usize) -> T) -> LatentLanes<T> {
    std::array::from_fn(f)
}

/// A block of rows and its buffers.
///
/// A missing label has strength 0, as if it were ranked last with certainty. It adds 1 to Σ d of each ranked label and
/// 0 to the other sums; callers subtract the number of missing labels. No pair needs a mask.
pub(crate) struct LatentBlock<T> {
    /// Strength of each label: `a_u = exp(f_u − max f)`, 0 for a missing label.
    strengths: Vec<LatentLanes<T>>,
    /// Tie strength of each label: `t_u = exp((f_u − max f) / 2 + h_u)`, 0 for a missing label.
    ties: Vec<LatentLanes<T>>,
    /// Largest utility of each row.
    largest: LatentLanes<T>,
    sums: Vec<PairSums<T>>,
}

impl<T: Real> LatentBlock<T> {
    pub(crate) fn new(labels: usize) -> Self {
        Self {
            strengths: vec![LatentLanes::default(); labels],
            ties: vec![LatentLanes::default(); labels],
            largest: LatentLanes::default(),
            sums: vec![PairSums::default(); labels],
        }
    }

    /// Number of labels.
    pub(crate) fn labels(&self) -> usize {
        self.sums.len()
    }

    /// Sets one row: its scores (n utilities, then n tie terms) and which labels it ranks.
    #[inline(always)]
    pub(crate) fn set_lane(&mut self, lane: usize, scores: &[T], ranked: impl Fn(usize) -> bool) {
        let n = self.labels();
        for (label, (strength, tie)) in self.strengths.iter_mut().zip(&mut self.ties).enumerate() {
            // Both arrays hold scores until `compute_strengths` runs; a utility of NaN marks a missing label.
            let missing = T::default() / T::default();
            strength[lane] = if ranked(label) {
                scores[label]
            } else {
                missing
            };
            tie[lane] = scores[n + label];
        }
    }

    /// Sets all rows of the block: their scores (n utilities, then n tie terms), with all labels ranked. Faster than
    /// setting lane by lane, because each vector is written at once.
    #[inline(always)]
    pub(crate) fn set_rows(&mut self, scores: [&[T]; LANES]) {
        let n = self.labels();
        let utilities = scores.map(|scores| &scores[..n]);
        let tie_terms = scores.map(|scores| &scores[n..2 * n]);
        let (strengths, ties) = (&mut self.strengths[..n], &mut self.ties[..n]);
        for label in 0..n {
            strengths[label] = map_lanes(|lane| utilities[lane][label]);
            ties[label] = map_lanes(|lane| tie_terms[lane][label]);
        }
    }

    /// Marks a label of a lane as missing.
    #[inline(always)]
    pub(crate) fn mark_missing(&mut self, lane: usize, label: usize) {
        self.strengths[label][lane] = T::default() / T::default();
    }

    /// Marks all labels of a lane as missing.
    #[inline(always)]
    pub(crate) fn clear_lane(&mut self, lane: usize) {
        for strength in &mut self.strengths {
            strength[lane] = T::default() / T::default();
        }
    }

    /// Replaces the scores by strengths, after all lanes are set.
    #[inline(always)]
    pub(crate) fn compute_strengths(&mut self) {
        let zero = T::default();
        let floor = zero - T::SPREAD;
        let tie_floor = zero - T::TIE_LIMIT - T::TIE_LIMIT;
        let mut largest = [zero - T::ONE / T::TINY; LANES];
        for strength in &self.strengths {
            for (largest, &f) in largest.iter_mut().zip(strength) {
                // False for NaN.
                *largest = if f > *largest { f } else { *largest };
            }
        }
        for strength in &mut self.strengths {
            *strength = map_lanes(|l| strength[l] - largest[l]);
        }
        // One loop over all numbers, not lane by lane: the exponentials then compile to whole vectors.
        let strengths = self.strengths.as_flattened_mut();
        for (strength, tie) in strengths.iter_mut().zip(self.ties.as_flattened_mut()) {
            // False for NaN.
            let ranked = *strength <= zero;
            let f = if *strength > floor { *strength } else { floor };
            let t = f * T::HALF + *tie;
            let t = if t > tie_floor { t } else { tie_floor };
            let t = if t < T::TIE_LIMIT { t } else { T::TIE_LIMIT };
            let (f, t) = (f.exponential(), t.exponential());
            *strength = if ranked { f } else { zero };
            *tie = if ranked { t } else { zero };
        }
        self.largest = largest;
    }

    /// Sums over all pairs: O(n²), with one division per pair and lane.
    ///
    /// Two labels are compared with all later ones in one pass, so that the sums of these are read and written half as
    /// often. Each sum adds its pairs in the order of the labels.
    #[inline(always)]
    pub(crate) fn sum_pairs(&mut self) -> &[PairSums<T>] {
        let n = self.labels();
        self.sums.fill(PairSums::default());
        let (strengths, ties, sums) = (&self.strengths[..n], &self.ties[..n], &mut self.sums[..n]);
        // The last of an odd number of labels has no later ones.
        for u in (0..n.saturating_sub(1)).step_by(2) {
            let (done, later) = sums.split_at_mut(u + 2);
            let [.., first, second] = done else {
                break;
            };
            let (a, t) = ([strengths[u], strengths[u + 1]], [ties[u], ties[u + 1]]);
            let pair = PairTerms::new((a[0], t[0]), (a[1], t[1]));
            let mut own = [*first, *second];
            pair.add_first(&mut own[0]);
            pair.add_second(&mut own[1]);
            let others = strengths[u + 2..].iter().zip(&ties[u + 2..]);
            for ((&a_v, &t_v), other) in others.zip(later) {
                for side in 0..2 {
                    let pair = PairTerms::new((a[side], t[side]), (a_v, t_v));
                    pair.add_first(&mut own[side]);
                    pair.add_second(other);
                }
            }
            [*first, *second] = own;
        }
        sums
    }
}

/// Terms of one pair: d, t, b + a − d² and t (1 − t).
struct PairTerms<T> {
    net: LatentLanes<T>,
    tied: LatentLanes<T>,
    net_curvature: LatentLanes<T>,
    tied_curvature: LatentLanes<T>,
}

impl<T: Real> PairTerms<T> {
    /// Terms of two labels, each given by its strength and its tie strength.
    #[inline(always)]
    fn new(
        (a_u, t_u): (LatentLanes<T>, LatentLanes<T>),
        (a_v, t_v): (LatentLanes<T>, LatentLanes<T>),
    ) -> Self {
        // Each array is computed in a loop of its own: a single loop that computes several arrays is not vectorised.
        let tie = map_lanes(|l| t_u[l] * t_v[l]);
        // `TINY` avoids dividing by zero for two missing labels, whose sums are unused.
        let inverse = map_lanes(|l| T::ONE / (a_u[l] + a_v[l] + tie[l] + T::TINY));
        let net = map_lanes(|l| (a_u[l] - a_v[l]) * inverse[l]);
        let tied = map_lanes(|l| tie[l] * inverse[l]);
        let untied = map_lanes(|l| T::ONE - tied[l]);
        Self {
            net_curvature: map_lanes(|l| untied[l] - net[l] * net[l]),
            tied_curvature: map_lanes(|l| tied[l] * untied[l]),
            net,
            tied,
        }
    }

    /// Adds the pair to the sums of its first label.
    #[inline(always)]
    fn add_first(&self, sums: &mut PairSums<T>) {
        sums.net = map_lanes(|l| sums.net[l] + self.net[l]);
        self.add_symmetric_terms(sums);
    }

    /// Adds the pair to the sums of its second label.
    #[inline(always)]
    fn add_second(&self, sums: &mut PairSums<T>) {
        sums.net = map_lanes(|l| sums.net[l] - self.net[l]);
        self.add_symmetric_terms(sums);
    }

    /// Adds the terms that do not depend on the order of the labels.
    #[inline(always)]
    fn add_symmetric_terms(&self, sums: &mut PairSums<T>) {
        sums.tied = map_lanes(|l| sums.tied[l] + self.tied[l]);
        sums.net_curvature = map_lanes(|l| sums.net_curvature[l] + self.net_curvature[l]);
        sums.tied_curvature = map_lanes(|l| sums.tied_curvature[l] + self.tied_curvature[l]);
    }
}

impl LatentBlock<f64> {
    /// Per row: sum over its ranked pairs of `ln(a_u + a_v + t_u · t_v)`, with the strengths a and the tie strengths t.
    #[inline(always)]
    pub(crate) fn log_normalisers(&self) -> LatentLanes<f64> {
        let n = self.labels();
        let mut products = [LogProduct::default(); LANES];
        for u in 0..n {
            let (a_u, t_u) = (self.strengths[u], self.ties[u]);
            for (a_v, t_v) in self.strengths[u + 1..].iter().zip(&self.ties[u + 1..]) {
                for (l, product) in products.iter_mut().enumerate() {
                    let sum = a_u[l] + a_v[l] + t_u[l] * t_v[l];
                    let both_ranked = a_u[l].min(a_v[l]) > 0.0;
                    product.multiply(if both_ranked { sum } else { 1.0 });
                }
            }
        }
        products.map(LogProduct::ln)
    }

    /// Largest utility of each row, which was subtracted from the others.
    pub(crate) fn largest_utilities(&self) -> LatentLanes<f64> {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Derivatives, LatentRow};
    use super::*;
    use crate::rankings::MISSING;
    use crate::simd::{dispatch, Kernel};

    struct BlockKernel<'a, T>(&'a mut LatentBlock<T>);

    impl<T: Real> Kernel for BlockKernel<'_, T> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            self.0.compute_strengths();
            self.0.sum_pairs();
        }
    }

    fn pseudo_random_score(i: usize) -> f64 {
        ((i * 7919 + 13) % 1009) as f64 / 1009.0 * 6.0 - 3.0
    }

    /// Compares a block with its rows one by one. Some labels are missing; the last lane ranks nothing.
    fn check<T: Real>(n: usize, from: impl Fn(f64) -> T, to: impl Fn(T) -> f64, tolerance: f64) {
        let mut block = LatentBlock::new(n);
        let missing = |lane: usize, u: usize| lane == LANES - 1 || (lane * 3 + u) % 4 == 1;
        let scores = |lane: usize| (0..2 * n).map(move |i| pseudo_random_score(lane * 2 * n + i));
        for lane in 0..LANES - 1 {
            let row: Vec<T> = scores(lane).map(&from).collect();
            block.set_lane(lane, &row, |u| !missing(lane, u));
        }
        block.clear_lane(LANES - 1);
        dispatch(BlockKernel(&mut block));
        for lane in 0..LANES - 1 {
            let row: Vec<f64> = scores(lane).collect();
            // All tied, so that the observed part of the gradient is known: 0 for utilities, the number of ties for tie
            // terms.
            let positions: Vec<u16> = (0..n)
                .map(|u| if missing(lane, u) { MISSING } else { 1 })
                .collect();
            let mut expected = Derivatives::new(n);
            LatentRow::new(&row).add_derivatives(&positions, 1.0, &mut expected);
            let absent = positions.iter().filter(|&&p| p == MISSING).count();
            for u in (0..n).filter(|&u| !missing(lane, u)) {
                let sums = &block.sums[u];
                let found = [
                    (absent as f64 - to(sums.net[lane])) / 2.0,
                    (n - 1 - absent) as f64 - to(sums.tied[lane]),
                    to(sums.net_curvature[lane]) / 4.0,
                    to(sums.tied_curvature[lane]),
                ];
                let wanted = [
                    expected.gradient[u],
                    expected.gradient[n + u],
                    expected.curvature[u],
                    expected.curvature[n + u],
                ];
                for (found, wanted) in found.iter().zip(wanted) {
                    assert!((found - wanted).abs() < tolerance, "{found} {wanted}");
                }
            }
        }
        for sums in &block.sums {
            assert!(sums.net.iter().all(|&x| to(x).is_finite()));
            assert!(sums.net_curvature.iter().all(|&x| to(x).is_finite()));
        }
    }

    #[test]
    fn block_sums_match_single_rows() {
        for n in [2, 3, 7, 26] {
            check(n, |x| x, |x| x, 1e-12);
            check(n, |x| x as f32, f64::from, 2e-5);
        }
    }

    #[test]
    fn rows_set_together_equal_rows_set_one_by_one() {
        let n = 5;
        let scores: Vec<f32> = (0..LANES * 2 * n)
            .map(|i| pseudo_random_score(i) as f32)
            .collect();
        let rows: Vec<&[f32]> = scores.chunks_exact(2 * n).collect();
        let missing = |lane: usize, label: usize| (lane + label) % 3 == 1;
        let [mut together, mut apart] = [(); 2].map(|()| LatentBlock::new(n));
        together.set_rows(std::array::from_fn(|lane| rows[lane]));
        for (lane, row) in rows.iter().enumerate() {
            apart.set_lane(lane, row, |label| !missing(lane, label));
            for label in (0..n).filter(|&label| missing(lane, label)) {
                together.mark_missing(lane, label);
            }
        }
        together.compute_strengths();
        apart.compute_strengths();
        assert_eq!(together.strengths, apart.strengths);
        assert_eq!(together.ties, apart.ties);
    }

    #[test]
    fn normalisers_match_single_rows() {
        let n = 5;
        let mut block = LatentBlock::new(n);
        let row: Vec<f64> = (0..2 * n).map(pseudo_random_score).collect();
        for lane in 0..LANES {
            block.set_lane(lane, &row, |u| u != lane);
        }
        block.compute_strengths();
        let logs = block.log_normalisers();
        for (lane, log) in logs.iter().enumerate() {
            let positions: Vec<u16> = (0..n).map(|u| u16::from(u != lane)).collect();
            let ranked = || (0..n).filter(|&u| u != lane);
            let count = ranked().count() as f64;
            let ties: f64 = ranked().map(|u| row[n + u] * (count - 1.0)).sum();
            let shift: f64 = ranked()
                .map(|u| (row[u] - block.largest_utilities()[lane]) * (count - 1.0) / 2.0)
                .sum();
            let expected = LatentRow::new(&row).log_likelihood(&positions);
            assert!((ties + shift - log - expected).abs() < 1e-11);
        }
    }

    #[test]
    fn extreme_scores_stay_finite() {
        let mut block = LatentBlock::<f32>::new(3);
        let rows = [
            [1e30, -1e30, 0.0, 1e30, -1e30, 5.0],
            [-400.0, 0.0, 400.0, 300.0, 300.0, 300.0],
            [-400.0, 0.0, 400.0, -300.0, -300.0, -300.0],
        ];
        for lane in 0..LANES {
            block.set_lane(lane, &rows[lane % 3], |_| true);
        }
        dispatch(BlockKernel(&mut block));
        for sums in &block.sums {
            let all = [sums.net, sums.tied, sums.net_curvature, sums.tied_curvature];
            assert!(all.as_flattened().iter().all(|x| x.is_finite()), "{all:?}");
        }
    }
}
