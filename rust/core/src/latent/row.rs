//! [`LatentRow`]: shares, likelihood and derivatives of one row, in double precision and for any finite scores.

use crate::rankings::MISSING;
use crate::simd::{dispatch, Kernel};

use super::pair::{log_normaliser, pair_log_weights, pair_shares};
use super::real::Real;

/// Scores of one row: n utilities, then n tie terms.
#[derive(Debug, Clone, Copy)]
pub struct LatentRow<'a> {
    utilities: &'a [f64],
    ties: &'a [f64],
}

/// First derivatives of a log-likelihood and the diagonal of its negative second derivatives. Utilities come first.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivatives {
    /// Gradient.
    pub gradient: Vec<f64>,
    /// Curvature, never negative.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// Zeros for `labels` labels.
    #[must_use]
    pub fn new(labels: usize) -> Self {
        Self {
            gradient: vec![0.0; 2 * labels],
            curvature: vec![0.0; 2 * labels],
        }
    }
}

impl<'a> LatentRow<'a> {
    /// Wraps 2n numbers. Shares of labels with NaN or infinite scores may be NaN.
    #[must_use]
    pub fn new(scores: &'a [f64]) -> Self {
        let (utilities, ties) = scores.split_at(scores.len() / 2);
        Self { utilities, ties }
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.utilities.len()
    }

    /// Shares of before, tied and after of labels u and v.
    #[must_use]
    pub fn shares(&self, u: usize, v: usize) -> [f64; 3] {
        let (f, h) = self.pair_scores(u, v);
        pair_shares(f, h)
    }

    /// Utilities and tie terms of labels u and v.
    pub(super) fn pair_scores(&self, u: usize, v: usize) -> ([f64; 2], [f64; 2]) {
        (
            [self.utilities[u], self.utilities[v]],
            [self.ties[u], self.ties[v]],
        )
    }

    /// Writes the shares of all pairs (0,1), (0,2), …, (1,2), … to the planes before, tied and after: 2n exponentials
    /// and one division per pair.
    ///
    /// # Panics
    /// When a plane does not have n(n−1)/2 entries.
    pub fn write_shares(&self, planes: [&mut [f64]; 3]) {
        let n = self.labels();
        let pairs = n * n.saturating_sub(1) / 2;
        assert!(planes.iter().all(|plane| plane.len() == pairs));
        if let Some(strengths) = self.strengths() {
            dispatch(SharesKernel { strengths, planes });
            return;
        }
        let [before, tied, after] = planes;
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        for (pair, (u, v)) in each.enumerate() {
            [before[pair], tied[pair], after[pair]] = self.shares(u, v);
        }
    }

    /// As [`Self::write_shares`], with shares of ⅓ for pairs with a label that was never compared with another label.
    ///
    /// # Panics
    /// When a plane does not have n(n−1)/2 entries, or `compared` does not have n.
    pub fn write_known_shares(&self, compared: &[bool], mut planes: [&mut [f64]; 3]) {
        let n = self.labels();
        assert_eq!(compared.len(), n, "expected one flag per label");
        self.write_shares(planes.each_mut().map(|plane| &mut **plane));
        if compared.iter().all(|&compared| compared) {
            return;
        }
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        for (pair, (u, v)) in each.enumerate() {
            if !(compared[u] && compared[v]) {
                for plane in &mut planes {
                    plane[pair] = 1.0 / 3.0;
                }
            }
        }
    }

    /// Log-likelihood of a ranking: a sum over the pairs that it ranks.
    #[must_use]
    pub fn log_likelihood(&self, positions: &[u16]) -> f64 {
        let mut sum = 0.0;
        for_ranked_pairs(positions, |u, v| {
            let (f, h) = self.pair_scores(u, v);
            let [before, tied, after] = pair_log_weights(f, h);
            let observed = match positions[u].cmp(&positions[v]) {
                std::cmp::Ordering::Less => before,
                std::cmp::Ordering::Equal => tied,
                std::cmp::Ordering::Greater => after,
            };
            sum += observed - log_normaliser(f, h);
        });
        sum
    }

    /// Adds the derivatives of the log-likelihood of a ranking, times `weight`.
    ///
    /// # Panics
    /// When `to` has a different number of labels.
    pub fn add_derivatives(&self, positions: &[u16], weight: f64, to: &mut Derivatives) {
        let n = self.labels();
        assert_eq!(
            to.gradient.len(),
            2 * n,
            "expected derivatives of {n} labels"
        );
        for_ranked_pairs(positions, |u, v| {
            let [before, tied, after] = self.shares(u, v);
            let net = before - after;
            let observed = f64::from(i8::from(positions[u] < positions[v]))
                - f64::from(i8::from(positions[u] > positions[v]));
            let is_tied = f64::from(i8::from(positions[u] == positions[v]));
            let net_gradient = weight * (observed - net) / 2.0;
            to.gradient[u] += net_gradient;
            to.gradient[v] -= net_gradient;
            let net_curvature = weight * (before + after - net * net).max(0.0) / 4.0;
            let tied_curvature = weight * tied * (1.0 - tied);
            for label in [u, v] {
                to.curvature[label] += net_curvature;
                to.gradient[n + label] += weight * (is_tied - tied);
                to.curvature[n + label] += tied_curvature;
            }
        });
    }

    /// `exp(f_u − max f)` and `exp((f_u − max f) / 2 + h_u)`, or `None` if the scores are too far apart.
    fn strengths(&self) -> Option<RowStrengths> {
        let bounds = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::MAX, f64::min);
            (low, values.iter().copied().fold(f64::MIN, f64::max))
        };
        let (low, high) = bounds(self.utilities);
        let (tie_low, tie_high) = bounds(self.ties);
        let limit = f64::TIE_LIMIT / 2.0;
        if high - low > f64::SPREAD || tie_low < -limit || tie_high > limit {
            return None;
        }
        let below = self.utilities.iter().map(|f| f - high);
        Some(RowStrengths {
            plain: below.clone().map(Real::exponential).collect(),
            tie: below
                .zip(self.ties)
                .map(|(f, h)| (f / 2.0 + h).exponential())
                .collect(),
        })
    }
}

/// Calls `each(u, v)` for the pairs u < v that a row ranks.
fn for_ranked_pairs(positions: &[u16], mut each: impl FnMut(usize, usize)) {
    for (u, &position) in positions.iter().enumerate() {
        if position == MISSING {
            continue;
        }
        for (v, &other) in positions.iter().enumerate().skip(u + 1) {
            if other != MISSING {
                each(u, v);
            }
        }
    }
}

/// Strengths of the labels of one row: `a_u` and `t_u` of the module documentation.
struct RowStrengths {
    plain: Vec<f64>,
    tie: Vec<f64>,
}

struct SharesKernel<'a> {
    strengths: RowStrengths,
    planes: [&'a mut [f64]; 3],
}

impl Kernel for SharesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let RowStrengths { plain, tie } = &self.strengths;
        let [mut before, mut tied, mut after] = self.planes;
        for u in 0..plain.len() {
            let (a_u, t_u) = (plain[u], tie[u]);
            let rest = plain.len() - u - 1;
            let (b, t, a);
            (b, before) = before.split_at_mut(rest);
            (t, tied) = tied.split_at_mut(rest);
            (a, after) = after.split_at_mut(rest);
            let others = plain[u + 1..].iter().zip(&tie[u + 1..]);
            for (((b, t), a), (a_v, t_v)) in b.iter_mut().zip(t).zip(a).zip(others) {
                let both = t_u * t_v;
                let inverse = 1.0 / (a_u + a_v + both);
                *b = a_u * inverse;
                *t = both * inverse;
                *a = a_v * inverse;
            }
        }
    }
}
