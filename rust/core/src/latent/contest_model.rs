//! [`ContestModel`]: the penalised log-likelihood of contests, with its derivatives.
//!
//! A contest is a distinct comparison of two labels. Its tally holds the weights of "first label wins", "tie" and
//! "second label wins". Effects, such as the advantage of the first label, add to the utility of the first label.

use crate::comparisons::{Contests, Tallies, Units, OUTCOMES};

use super::pair::{log_normaliser, pair_log_weights, pair_shares};
use super::real::Real;

/// If the largest weight of a contest is outside this range, it becomes the unit of the weights: otherwise rounding
/// would lose either the prior or the data.
const SAFE_WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Largest absolute sum of effects for which shares (probabilities of the outcomes) are computed from the strengths of
/// both labels (exponentials of their utilities); beyond it they are computed from the scores of the pair.
const MAX_EFFECT: f64 = 300.0;

/// How ties enter the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TieRule {
    /// A tie term per label (Davidson's model).
    #[default]
    Modelled,
    /// A tie is half a win and half a loss (the model of Bradley and Terry).
    Half,
}

/// The model of contests: utilities, tie terms (tendencies of the labels to be tied) and effects with independent
/// normal priors around 0.
///
/// Scores are n utilities, then n tie terms unless ties count half, then one number per effect of the contests. The sum
/// of the effects, each times its value in the contest, is added to the utility of the first label.
#[derive(Debug, Clone, Copy)]
pub struct ContestModel<'a> {
    contests: &'a Contests,
    ties: TieRule,
    /// Inverse variance of the priors, times the unit of the weights.
    ridge: f64,
    /// Centre of the priors; `None` for 0.
    centre: Option<&'a [f64]>,
    /// Unit of the weights. The prior is multiplied by it instead of dividing each weight, which gives the same model.
    weight_unit: f64,
}

impl<'a> ContestModel<'a> {
    /// The model of contests. `ridge` > 0 is the inverse variance of the priors; `tallies` only determine the unit of
    /// the weights.
    #[must_use]
    pub fn new(contests: &'a Contests, tallies: &Tallies, ties: TieRule, ridge: f64) -> Self {
        let seen = tallies.iter().map(|tally| tally.iter().sum::<f64>());
        let largest = seen.fold(0.0, f64::max);
        let is_safe = largest == 0.0 || SAFE_WEIGHTS.contains(&largest);
        let weight_unit = if is_safe { 1.0 } else { largest };
        Self {
            contests,
            ties,
            ridge: ridge * weight_unit,
            centre: None,
            weight_unit,
        }
    }

    /// The same model with priors around other numbers than 0, one per score.
    pub(crate) fn with_centre<'b>(&'b self, centre: &'b [f64]) -> ContestModel<'b> {
        ContestModel {
            centre: Some(centre),
            ..*self
        }
    }

    /// Standard deviation of the priors.
    pub(crate) fn prior_deviation(&self) -> f64 {
        (self.weight_unit / self.ridge).sqrt()
    }

    pub(super) fn contests(&self) -> &'a Contests {
        self.contests
    }

    pub(super) fn ties(&self) -> TieRule {
        self.ties
    }

    /// Distance of a score from the centre of its prior.
    #[inline]
    pub(super) fn distance_to_centre(&self, index: usize, score: f64) -> f64 {
        score - self.centre.map_or(0.0, |centre| centre[index])
    }

    pub(super) fn ridge(&self) -> f64 {
        self.ridge
    }

    pub(super) fn weight_unit(&self) -> f64 {
        self.weight_unit
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.contests.labels()
    }

    /// Number of scores.
    #[must_use]
    pub fn size(&self) -> usize {
        self.effects_start() + self.contests.effects()
    }

    /// Index of the first effect among the scores.
    #[must_use]
    pub fn effects_start(&self) -> usize {
        match self.ties {
            TieRule::Modelled => 2 * self.labels(),
            TieRule::Half => self.labels(),
        }
    }

    /// Largest weight of the comparisons of a label, at least the unit of the weights.
    pub(super) fn largest_weight(&self, tallies: &Tallies) -> f64 {
        let mut weights = vec![0.0; self.labels()];
        for (pair, tally) in self.contests.pairs().iter().zip(tallies) {
            for &label in pair {
                weights[label as usize] += tally.iter().sum::<f64>();
            }
        }
        weights.into_iter().fold(self.weight_unit, f64::max)
    }

    /// Penalty minus log-likelihood.
    #[must_use]
    pub fn objective(&self, tallies: &Tallies, scores: &[f64]) -> f64 {
        let squares = scores.iter().enumerate();
        let squares = squares.map(|(index, &score)| self.distance_to_centre(index, score).powi(2));
        let mut sum = squares.sum::<f64>() * self.ridge / 2.0;
        for (contest, &[b, t, a]) in tallies.iter().enumerate() {
            if b + t + a == 0.0 {
                continue;
            }
            let [u, v] = self.contests.pairs()[contest].map(|label| label as usize);
            let f = [scores[u] + self.effect(scores, contest), scores[v]];
            sum -= match self.ties {
                TieRule::Modelled => {
                    let h = [scores[self.labels() + u], scores[self.labels() + v]];
                    let [before, tied, after] = pair_log_weights(f, h);
                    b * before + t * tied + a * after - (b + t + a) * log_normaliser(f, h)
                }
                TieRule::Half => {
                    let log_share = |x: f64| x.min(0.0) - (-x.abs()).exp().ln_1p();
                    let difference = f[0] - f[1];
                    (b + t / 2.0) * log_share(difference) + (a + t / 2.0) * log_share(-difference)
                }
            };
        }
        sum
    }

    /// Sum of the effects, each times its value in the contest.
    #[inline]
    fn effect(&self, scores: &[f64], contest: usize) -> f64 {
        let effects = scores[self.effects_start()..].iter();
        let values = self.contests.values(contest);
        effects
            .zip(values)
            .map(|(effect, value)| effect * value)
            .sum()
    }

    /// Overwrites `gradient` with the gradient of the objective.
    pub fn write_gradient(&self, tallies: &Tallies, scores: &[f64], gradient: &mut [f64]) {
        for (index, (gradient, &score)) in gradient.iter_mut().zip(scores).enumerate() {
            *gradient = self.ridge * self.distance_to_centre(index, score);
        }
        let shares = ContestShares::new(self, scores);
        for (contest, tally) in tallies.iter().enumerate() {
            if tally.iter().sum::<f64>() > 0.0 {
                self.add_slopes(&shares, contest, tally, -1.0, gradient);
            }
        }
    }

    /// Adds `factor` times the derivatives of the log-likelihood of one contest. Its tally is b, t and a: the weights
    /// of "first label wins", "tie" and "second label wins".
    #[inline]
    fn add_slopes(
        &self,
        shares: &ContestShares<'_>,
        contest: usize,
        &[b, t, a]: &[f64; OUTCOMES],
        factor: f64,
        to: &mut [f64],
    ) {
        let [u, v] = self.contests.pairs()[contest].map(|label| label as usize);
        let [before, tied, after] = shares.of(contest);
        let seen = b + t + a;
        let slope = factor * (b - a - seen * (before - after)) / 2.0;
        to[u] += slope;
        to[v] -= slope;
        if self.ties == TieRule::Modelled {
            let tie_slope = factor * (t - seen * tied);
            to[self.labels() + u] += tie_slope;
            to[self.labels() + v] += tie_slope;
        }
        let effects = to[self.effects_start()..].iter_mut();
        for (to, value) in effects.zip(self.contests.values(contest)) {
            *to += slope * value;
        }
    }

    /// Second derivatives of the objective, row-major.
    ///
    /// With y = +1 when the first label wins, 0 for a tie, −1 when it loses, and t = 1 for a tie, else 0, the scores
    /// enter the log-likelihood of a contest as `y (f_u − f_v + effects) / 2 + t (h_u + h_v)`: its second derivatives
    /// are the variances of y/2 and t and their covariance.
    #[must_use]
    pub fn hessian(&self, tallies: &Tallies, scores: &[f64]) -> Vec<f64> {
        let (n, size) = (self.labels(), self.size());
        let mut matrix = vec![0.0; size * size];
        matrix
            .iter_mut()
            .step_by(size + 1)
            .for_each(|d| *d = self.ridge);
        let shares = ContestShares::new(self, scores);
        // Index, coefficient of y/2 and coefficient of t of each score in the contest.
        let mut entries: Vec<(usize, f64, f64)> = Vec::new();
        for (contest, tally) in tallies.iter().enumerate() {
            let seen: f64 = tally.iter().sum();
            if seen == 0.0 {
                continue;
            }
            let [before, tied, after] = shares.of(contest);
            let net = before - after;
            let net_variance = seen * (before + after - net * net).max(0.0) / 4.0;
            let tied_variance = seen * tied * (1.0 - tied);
            let covariance = -seen * net * tied / 2.0;
            let [u, v] = self.contests.pairs()[contest].map(|label| label as usize);
            entries.clear();
            entries.extend([(u, 1.0, 0.0), (v, -1.0, 0.0)]);
            if self.ties == TieRule::Modelled {
                entries.extend([(n + u, 0.0, 1.0), (n + v, 0.0, 1.0)]);
            }
            let effects = self.contests.values(contest).iter().enumerate();
            entries.extend(effects.map(|(k, &value)| (self.effects_start() + k, value, 0.0)));
            for &(i, net_i, tied_i) in &entries {
                for &(j, net_j, tied_j) in &entries {
                    matrix[i * size + j] += net_i * net_j * net_variance
                        + tied_i * tied_j * tied_variance
                        + (net_i * tied_j + tied_i * net_j) * covariance;
                }
            }
        }
        matrix
    }

    /// Calls `each` for every distinct unit of resampling, with its number of copies and the derivatives of its
    /// log-likelihood.
    pub(super) fn for_each_unit(
        &self,
        units: &Units,
        scores: &[f64],
        mut each: impl FnMut(u64, &[f64]),
    ) {
        let shares = ContestShares::new(self, scores);
        let mut slopes = vec![0.0; self.size()];
        for (unit, &copies) in units.copies().iter().enumerate() {
            slopes.fill(0.0);
            // A cell stands for one outcome of one contest.
            for (cell, weight) in units.entries(unit) {
                let mut tally = [0.0; OUTCOMES];
                tally[cell % OUTCOMES] = weight;
                self.add_slopes(&shares, cell / OUTCOMES, &tally, 1.0, &mut slopes);
            }
            each(copies, &slopes);
        }
    }
}

/// Shares of the outcomes of contests at given scores.
struct ContestShares<'a> {
    model: &'a ContestModel<'a>,
    scores: &'a [f64],
    /// Per label with utility `f_u` and tie term `h_u`: the strength `exp(f_u − max f)` and the tie strength
    /// `exp((f_u − max f) / 2 + h_u)`. Empty if the scores are too far apart.
    strengths: Vec<[f64; 2]>,
}

impl<'a> ContestShares<'a> {
    fn new(model: &'a ContestModel<'a>, scores: &'a [f64]) -> Self {
        let n = model.labels();
        let high = scores[..n].iter().copied().fold(f64::MIN, f64::max);
        let low = scores[..n].iter().copied().fold(f64::MAX, f64::min);
        let ties = match model.ties {
            TieRule::Modelled => &scores[n..2 * n],
            TieRule::Half => &[],
        };
        let limit = f64::TIE_LIMIT / 2.0;
        let is_close = high - low <= f64::SPREAD && ties.iter().all(|h| h.abs() <= limit);
        let strength = |u: usize| {
            let below = scores[u] - high;
            // In a model without tie terms, ties have no weight.
            let tie = ties.get(u).map_or(0.0, |h| (below / 2.0 + h).exponential());
            [below.exponential(), tie]
        };
        let strengths = if is_close {
            (0..n).map(strength).collect()
        } else {
            Vec::new()
        };
        Self {
            model,
            scores,
            strengths,
        }
    }

    /// Shares of "first label wins", "tie" and "second label wins".
    #[inline]
    fn of(&self, contest: usize) -> [f64; OUTCOMES] {
        let [u, v] = self.model.contests.pairs()[contest].map(|label| label as usize);
        let effect = if self.model.contests.effects() == 0 {
            0.0
        } else {
            self.model.effect(self.scores, contest)
        };
        if self.strengths.is_empty() || effect.abs() > MAX_EFFECT {
            return self.shares_of_pair(u, v, effect);
        }
        let ([a_u, t_u], [a_v, t_v]) = (self.strengths[u], self.strengths[v]);
        let exp_half_effect = if effect == 0.0 {
            1.0
        } else {
            (effect / 2.0).exponential()
        };
        let (before, tied) = (
            a_u * exp_half_effect * exp_half_effect,
            t_u * t_v * exp_half_effect,
        );
        let inverse = 1.0 / (before + tied + a_v);
        [before * inverse, tied * inverse, a_v * inverse]
    }

    /// Computes the shares without strengths, for scores that are too far apart and for large effects.
    fn shares_of_pair(&self, u: usize, v: usize, effect: f64) -> [f64; OUTCOMES] {
        let (n, scores) = (self.model.labels(), self.scores);
        let f = [scores[u] + effect, scores[v]];
        match self.model.ties {
            TieRule::Modelled => pair_shares(f, [scores[n + u], scores[n + v]]),
            TieRule::Half => {
                let before = 1.0 / (1.0 + (f[1] - f[0]).exp());
                [before, 0.0, 1.0 / (1.0 + (f[0] - f[1]).exp())]
            }
        }
    }
}

#[cfg(test)]
mod tests;
