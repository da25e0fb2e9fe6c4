//! Out-of-bag evidence of a forest, with the noise that comes from few voting trees.
//!
//! A training row is out of bag for a fraction of the trees only, so its shares are a mean over fewer trees than a
//! prediction. The means of two halves of these trees differ by noise; their difference yields an estimate of
//! the excess noise of the evidence: the variance that a prediction with all trees does not have.

use ndarray::{ArrayView2, Axis};

use crate::error::Result;
use crate::forest::{Forest, ForestHalf, Voters};
use crate::pairs::PairShares;
use crate::predict;
use crate::run::Jobs;

use super::evidence::{ObservedPairs, Shares};
use super::log_linear::{floored_shares, log_ratios_of_pair};

/// Correction of the logarithm of a share per unit of the variance of this logarithm.
const VARIANCE_FACTOR: f64 = 3.0;

/// Largest correction of the logarithm of a share: the variance is known to first order only.
const LARGEST_CORRECTION: f64 = 3.0;

/// Excess noise of the log ratios of a pair, x of before to after and y of tied to not tied: variance of x,
/// covariance of x and y, and variance of y. See [`log_ratios_of_pair`].
pub(super) type LogNoise = [f64; 3];

/// Out-of-bag shares of the observed pairs.
pub(super) struct ForestEvidence {
    /// Shares of each observed pair. A row that is in every bootstrap sample has uniform shares.
    pub(super) shares: Vec<Shares>,
    /// Estimated noise of each observed pair; 0 for a row that is out of bag in at most one half of the forest.
    pub(super) noise: Vec<LogNoise>,
}

/// The mean shares of the voting trees of one half of a forest.
struct HalfVotes {
    shares: Vec<Shares>,
    /// Per row: the number of voting trees.
    voters: Vec<usize>,
}

impl ForestEvidence {
    /// Out-of-bag shares that a forest predicts for the observed pairs of training rows.
    ///
    /// # Errors
    /// As [`Forest::map_shares`].
    pub(super) fn new(
        forest: &Forest,
        values: ArrayView2<'_, f64>,
        rows: &[usize],
        strength: f64,
        observed: &ObservedPairs,
        jobs: Jobs<'_>,
    ) -> Result<Self> {
        let values = values.select(Axis(0), rows);
        let votes = |half| -> Result<HalfVotes> {
            let voters = Voters::OutOfBagHalf(rows, half);
            let predictor = forest.predictor(strength, voters, jobs)?;
            let keep = |(): &mut (), shares: &PairShares| Ok(shares.clone());
            let tables = predict::map_shares(&predictor, values.view(), jobs, || (), keep)?;
            Ok(HalfVotes {
                shares: observed.gather_all(&tables),
                voters: predictor.voter_counts(rows.len()),
            })
        };
        let halves = [votes(ForestHalf::First)?, votes(ForestHalf::Second)?];
        Ok(Self::combine(&halves, observed.counts(), forest.trees()))
    }

    /// Combines the halves of a forest; `counts` is the number of pairs per row, `trees` the number of trees of a
    /// prediction.
    fn combine(halves: &[HalfVotes; 2], counts: &[usize], trees: usize) -> Self {
        let [first, second] = halves;
        let mut evidence = Self {
            shares: Vec::with_capacity(first.shares.len()),
            noise: Vec::with_capacity(first.shares.len()),
        };
        let voters = first.voters.iter().zip(&second.voters);
        let of_rows = voters.zip(counts);
        let voters = of_rows.flat_map(|(voters, &count)| std::iter::repeat_n(voters, count));
        let pairs = first.shares.iter().zip(&second.shares).zip(voters);
        for ((first, second), (&left, &right)) in pairs {
            let pair = combine_pair([*first, *second], [left as f64, right as f64], trees as f64);
            evidence.shares.push(pair.0);
            evidence.noise.push(pair.1);
        }
        evidence
    }

    /// Raises the out-of-bag shares of the observed relations, because a prediction with all trees is better; results
    /// are at most 1.
    ///
    /// Noise that gives ln p the variance v lowers the mean of ln p by v / 2. In addition, the trees without bootstrap,
    /// which are half of the forest, predict but have no out-of-bag votes. The fewer rows there are, the more
    /// accurate these trees are compared with the others. The factor exp(3 v), which accounts for both effects, was
    /// chosen by measurement.
    pub(super) fn correct_noise(&self, relations: &[u8], observed: &mut [f64]) {
        let pairs = self.shares.iter().zip(&self.noise).zip(relations);
        for (share, ((shares, noise), &relation)) in observed.iter_mut().zip(pairs) {
            let variance = log_share_variance(*shares, *noise, relation);
            let logarithm = (VARIANCE_FACTOR * variance).min(LARGEST_CORRECTION);
            *share = (*share * logarithm.exp()).min(1.0);
        }
    }
}

/// Variance of the logarithm of the share of one relation, to first order, from the covariance of the log ratios.
fn log_share_variance(shares: Shares, noise: LogNoise, relation: u8) -> f64 {
    let [before, tied, after] = floored_shares(shares);
    let [own_before, own_tied, own_after] = [0, 1, 2].map(|k| f64::from(u8::from(k == relation)));
    let by_order = (own_before - own_after - (before - after)) / 2.0;
    let by_tie = own_tied - tied;
    let [order, both, tie] = noise;
    by_order * by_order * order + 2.0 * by_order * by_tie * both + by_tie * by_tie * tie
}

/// Mean shares of a pair over all voters, and their noise beyond that of the mean of `trees` trees.
///
/// With V₁ + V₂ = V voters of variance σ² each, the difference of the means of both halves has the variance
/// σ² (1 / V₁ + 1 / V₂), the mean of all voters σ² / V, and that of a prediction σ² / trees.
fn combine_pair(halves: [Shares; 2], [left, right]: [f64; 2], trees: f64) -> (Shares, LogNoise) {
    let voters = left + right;
    if voters == 0.0 {
        return ([1.0 / 3.0; 3], [0.0; 3]);
    }
    let mean = |k: usize| (left * halves[0][k] + right * halves[1][k]) / voters;
    let [[x1, y1], [x2, y2]] = halves.map(log_ratios_of_pair);
    let (x, y) = (x1 - x2, y1 - y2);
    // 0 if one half has no voters.
    let variance = left * right / (voters * voters);
    let excess = variance * (1.0 - voters / trees).max(0.0);
    (
        [mean(0), mean(1), mean(2)],
        [excess * x * x, excess * x * y, excess * y * y],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ForestEvidence {
        /// Evidence of a forest whose trees agree.
        pub(in crate::mixture) fn without_noise(shares: Vec<Shares>) -> Self {
            let noise = vec![[0.0; 3]; shares.len()];
            Self { shares, noise }
        }
    }

    #[test]
    fn halves_give_the_mean_and_its_noise() {
        let halves = [[0.6, 0.2, 0.2], [0.3, 0.4, 0.3]];
        let (shares, noise) = combine_pair(halves, [10.0, 5.0], 60.0);
        for (share, expected) in shares.iter().zip([0.5, 4.0 / 15.0, 7.0 / 30.0]) {
            assert!((share - expected).abs() < 1e-15);
        }
        // The log ratios differ by ln 3 − ln 1 and ln (0.2 / √0.12) − ln (0.4 / 0.3). The variance of the mean is 50 /
        // 225 of the squared difference, and 45 of 60 trees do not vote.
        let (x, y) = (3_f64.ln(), (0.15 / 0.12_f64.sqrt()).ln());
        let excess = 2.0 / 9.0 * 0.75;
        for (noise, expected) in noise.iter().zip([x * x, x * y, y * y]) {
            assert!((noise - excess * expected).abs() < 1e-12);
        }
    }

    #[test]
    fn noise_of_a_log_share_follows_from_that_of_the_log_ratios() {
        let shares = [0.5, 0.2, 0.3];
        let noise = [0.04, -0.01, 0.09];
        let step = 1e-6;
        // Logarithms of the shares with the log ratios x + dx and y + dy.
        let moved = |dx: f64, dy: f64| {
            let [x, y] = log_ratios_of_pair(shares);
            let half = 0.5 * (x + dx);
            let weights = [half.exp(), (y + dy).exp(), (-half).exp()];
            let sum: f64 = weights.iter().sum();
            weights.map(|weight| (weight / sum).ln())
        };
        for relation in 0..3_u8 {
            let k = usize::from(relation);
            let by_x = (moved(step, 0.0)[k] - moved(-step, 0.0)[k]) / (2.0 * step);
            let by_y = (moved(0.0, step)[k] - moved(0.0, -step)[k]) / (2.0 * step);
            let expected =
                by_x * by_x * noise[0] + 2.0 * by_x * by_y * noise[1] + by_y * by_y * noise[2];
            let found = log_share_variance(shares, noise, relation);
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
        let evidence = ForestEvidence {
            shares: vec![shares; 3],
            noise: vec![noise, [0.0; 3], [1e9, 0.0, 0.0]],
        };
        let mut observed = [0.5, 0.2, 0.3];
        evidence.correct_noise(&[0, 1, 2], &mut observed);
        let factor = (3.0 * log_share_variance(shares, noise, 0)).exp();
        assert_eq!(observed, [0.5 * factor, 0.2, 1.0]);
    }

    #[test]
    fn without_voters_in_a_half_there_is_no_noise() {
        let halves = [[0.6, 0.2, 0.2], [0.0; 3]];
        let (shares, noise) = combine_pair(halves, [4.0, 0.0], 50.0);
        assert_eq!((shares, noise), ([0.6, 0.2, 0.2], [0.0; 3]));
        let (shares, noise) = combine_pair([[0.0; 3]; 2], [0.0; 2], 50.0);
        assert_eq!((shares, noise), ([1.0 / 3.0; 3], [0.0; 3]));
    }
}
