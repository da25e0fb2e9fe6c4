//! [`LatentRow`]: pair shares (for each pair of labels the probabilities of before, tied and after), likelihood and
//! derivatives of one row of scores, in double precision and for any finite scores.

use crate::rankings::MISSING;

use super::pair::{log_normaliser, pair_log_weights, pair_shares};
use super::strengths::StrengthTable;

/// Scores of one row: n utilities, which order the labels, then n tie terms, their tendencies to be tied.
#[derive(Debug, Clone, Copy)]
pub struct LatentRow<'a> {
    scores: &'a [f64],
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
        Self {
            scores,
            utilities,
            ties,
        }
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

    /// Writes the shares of all pairs (0,1), (0,2), …, (1,2), … to three arrays, for before, tied and after: 2n
    /// exponentials and one division per pair.
    ///
    /// # Panics
    /// When an array does not have n(n−1)/2 entries.
    pub fn write_shares(&self, planes: [&mut [f64]; 3]) {
        let n = self.labels();
        let pairs = n * n.saturating_sub(1) / 2;
        assert!(planes.iter().all(|plane| plane.len() == pairs));
        let mut strengths = StrengthTable::new(n);
        if strengths.push(self.scores) {
            return strengths.write_sums(planes);
        }
        let [before, tied, after] = planes;
        let each = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        for (pair, (u, v)) in each.enumerate() {
            [before[pair], tied[pair], after[pair]] = self.shares(u, v);
        }
    }

    /// As [`Self::write_shares`], but pairs with a label that was never compared with another label get shares of ⅓,
    /// because its scores say nothing.
    ///
    /// # Panics
    /// When an array does not have n(n−1)/2 entries, or `compared` does not have n entries.
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
