//! The model of several rows side by side, one row a lane: what the pairs of all labels add up to.

use super::product::LogProduct;
use super::real::Real;

/// Rows that are computed side by side: a vector of single, or two of double precision.
pub(crate) const LANES: usize = 8;

type Lane<T> = [T; LANES];

/// What a label's pairs add up to, over all other labels: with the shares b, t and a of before, tied and after and
/// d = b − a, these are Σ d, Σ t, Σ (b + a − d²) and Σ t (1 − t).
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums<T> {
    pub(crate) net: Lane<T>,
    pub(crate) tied: Lane<T>,
    pub(crate) net_curvature: Lane<T>,
    pub(crate) tied_curvature: Lane<T>,
}

#[inline(always)]
fn each<T>(f: impl FnMut(usize) -> T) -> Lane<T> {
    std::array::from_fn(f)
}

/// A block of rows and the memory for its computation.
///
/// A label that a row does not rank has strength 0. To a ranked label it then looks like one that is certainly behind
/// it, which adds 1 to the label's Σ d and nothing to the other sums: whoever knows how many labels are missing can
/// take that away, and no pair needs a mask.
pub(crate) struct Block<T> {
    /// `exp(f_u − max f)`, 0 for a missing label.
    strengths: Vec<Lane<T>>,
    /// `exp((f_u − max f) / 2 + h_u)`, 0 for a missing label.
    ties: Vec<Lane<T>>,
    /// The largest utility of each row.
    largest: Lane<T>,
    sums: Vec<Sums<T>>,
}

impl<T: Real> Block<T> {
    pub(crate) fn new(labels: usize) -> Self {
        Self {
            strengths: vec![Lane::default(); labels],
            ties: vec![Lane::default(); labels],
            largest: Lane::default(),
            sums: vec![Sums::default(); labels],
        }
    }

    /// Number of labels.
    pub(crate) fn labels(&self) -> usize {
        self.sums.len()
    }

    /// Takes one row: its scores (n utilities, then n tie terms) and whether it ranks a label.
    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, scores: &[T], ranked: impl Fn(usize) -> bool) {
        let n = self.labels();
        for (label, (strength, tie)) in self.strengths.iter_mut().zip(&mut self.ties).enumerate() {
            // Until `exponentials` runs, the logarithms stand here; NaN marks a missing label.
            let missing = T::default() / T::default();
            strength[lane] = if ranked(label) {
                scores[label]
            } else {
                missing
            };
            tie[lane] = scores[n + label];
        }
    }

    /// Makes a lane a row that ranks nothing.
    #[inline(always)]
    pub(crate) fn clear(&mut self, lane: usize) {
        for strength in &mut self.strengths {
            strength[lane] = T::default() / T::default();
        }
    }

    /// Turns the scores that were set into strengths.
    #[inline(always)]
    pub(crate) fn exponentials(&mut self) {
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
        for (strength, tie) in self.strengths.iter_mut().zip(&mut self.ties) {
            // Whole lanes at a time: see `pairs`.
            let (own, own_tie) = (*strength, *tie);
            // False for NaN.
            let ranked = each(|l| own[l] <= largest[l]);
            let f = each(|l| own[l] - largest[l]);
            let f = each(|l| if f[l] > floor { f[l] } else { floor });
            let t = each(|l| f[l] * T::HALF + own_tie[l]);
            let t = each(|l| if t[l] > tie_floor { t[l] } else { tie_floor });
            let t = each(|l| {
                if t[l] < T::TIE_LIMIT {
                    t[l]
                } else {
                    T::TIE_LIMIT
                }
            });
            let (f, t) = (T::exponentials(f), T::exponentials(t));
            *strength = each(|l| if ranked[l] { f[l] } else { zero });
            *tie = each(|l| if ranked[l] { t[l] } else { zero });
        }
        self.largest = largest;
    }

    /// Adds up all pairs: O(n²) with one division a pair and lane.
    #[inline(always)]
    pub(crate) fn pairs(&mut self) -> &[Sums<T>] {
        let n = self.labels();
        self.sums.fill(Sums::default());
        for u in 0..n {
            let (a_u, t_u) = (self.strengths[u], self.ties[u]);
            let mut own = self.sums[u];
            let others = self.strengths[u + 1..].iter().zip(&self.ties[u + 1..]);
            for ((a_v, t_v), other) in others.zip(&mut self.sums[u + 1..]) {
                // Whole lanes at a time: a loop over places in several arrays would not become vector instructions.
                let tie = each(|l| t_u[l] * t_v[l]);
                // Two missing labels have nothing to divide by; nobody asks for their sums.
                let inverse = each(|l| T::ONE / (a_u[l] + a_v[l] + tie[l] + T::TINY));
                let net = each(|l| (a_u[l] - a_v[l]) * inverse[l]);
                let tied = each(|l| tie[l] * inverse[l]);
                let untied = each(|l| T::ONE - tied[l]);
                let net_curvature = each(|l| untied[l] - net[l] * net[l]);
                let tied_curvature = each(|l| tied[l] * untied[l]);
                own.net = each(|l| own.net[l] + net[l]);
                own.tied = each(|l| own.tied[l] + tied[l]);
                own.net_curvature = each(|l| own.net_curvature[l] + net_curvature[l]);
                own.tied_curvature = each(|l| own.tied_curvature[l] + tied_curvature[l]);
                other.net = each(|l| other.net[l] - net[l]);
                other.tied = each(|l| other.tied[l] + tied[l]);
                other.net_curvature = each(|l| other.net_curvature[l] + net_curvature[l]);
                other.tied_curvature = each(|l| other.tied_curvature[l] + tied_curvature[l]);
            }
            self.sums[u] = own;
        }
        &self.sums
    }
}

impl Block<f64> {
    /// For each row the sum over its ranked pairs of `ln(a_u + a_v + t_u · t_v)`.
    #[inline(always)]
    pub(crate) fn log_normalisers(&self) -> Lane<f64> {
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

    /// The largest utility of each row: what the others are measured from.
    pub(crate) fn largest(&self) -> Lane<f64> {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Derivatives, LatentRow};
    use super::*;
    use crate::rankings::MISSING;
    use crate::simd::{dispatch, Kernel};

    struct Run<'a, T>(&'a mut Block<T>);

    impl<T: Real> Kernel for Run<'_, T> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            self.0.exponentials();
            self.0.pairs();
        }
    }

    fn pseudo(i: usize) -> f64 {
        ((i * 7919 + 13) % 1009) as f64 / 1009.0 * 6.0 - 3.0
    }

    /// A block against the rows one by one, some labels missing; the last lane ranks nothing.
    fn check<T: Real>(n: usize, from: impl Fn(f64) -> T, to: impl Fn(T) -> f64, tolerance: f64) {
        let mut block = Block::new(n);
        let missing = |lane: usize, u: usize| lane == LANES - 1 || (lane * 3 + u) % 4 == 1;
        let scores = |lane: usize| (0..2 * n).map(move |i| pseudo(lane * 2 * n + i));
        for lane in 0..LANES - 1 {
            let row: Vec<T> = scores(lane).map(&from).collect();
            block.set(lane, &row, |u| !missing(lane, u));
        }
        block.clear(LANES - 1);
        dispatch(Run(&mut block));
        for lane in 0..LANES - 1 {
            let row: Vec<f64> = scores(lane).collect();
            // All tied, so that the gradient's own part is known: 0 for utilities, the number of ties for tie terms.
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
    fn lanes_are_rows() {
        for n in [2, 3, 7, 26] {
            check(n, |x| x, |x| x, 1e-12);
            check(n, |x| x as f32, f64::from, 2e-5);
        }
    }

    #[test]
    fn normalisers_are_those_of_the_rows() {
        let n = 5;
        let mut block = Block::new(n);
        let row: Vec<f64> = (0..2 * n).map(pseudo).collect();
        for lane in 0..LANES {
            block.set(lane, &row, |u| u != lane);
        }
        block.exponentials();
        let logs = block.log_normalisers();
        for (lane, log) in logs.iter().enumerate() {
            let positions: Vec<u16> = (0..n).map(|u| u16::from(u != lane)).collect();
            let ranked = || (0..n).filter(|&u| u != lane);
            let count = ranked().count() as f64;
            let ties: f64 = ranked().map(|u| row[n + u] * (count - 1.0)).sum();
            let shift: f64 = ranked()
                .map(|u| (row[u] - block.largest()[lane]) * (count - 1.0) / 2.0)
                .sum();
            let expected = LatentRow::new(&row).log_likelihood(&positions);
            assert!((ties + shift - log - expected).abs() < 1e-11);
        }
    }

    #[test]
    fn far_away_utilities_stay_finite() {
        let mut block = Block::<f32>::new(3);
        let rows = [
            [1e30, -1e30, 0.0, 1e30, -1e30, 5.0],
            [-400.0, 0.0, 400.0, 300.0, 300.0, 300.0],
            [-400.0, 0.0, 400.0, -300.0, -300.0, -300.0],
        ];
        for lane in 0..LANES {
            block.set(lane, &rows[lane % 3], |_| true);
        }
        dispatch(Run(&mut block));
        for sums in &block.sums {
            let all = [sums.net, sums.tied, sums.net_curvature, sums.tied_curvature];
            assert!(all.as_flattened().iter().all(|x| x.is_finite()), "{all:?}");
        }
    }
}
