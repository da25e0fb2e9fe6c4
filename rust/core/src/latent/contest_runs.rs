//! [`RunGradient`]: the gradient of a [`ContestModel`], by vector instructions.
//!
//! It applies only to contests (distinct comparisons of two labels) without effects, that is, without an advantage of
//! the first label and without covariates.

use std::array::from_fn;

use crate::comparisons::{Contests, Tallies};
use crate::simd::{dispatch, Kernel};

use super::contest_model::{ContestModel, TieRule};
use super::real::{exponentials, Real};

/// Contests that are computed at once.
const LANES: usize = 4;

/// Consecutive contests of one first label with consecutive second labels.
struct Run {
    first: usize,
    second: usize,
    /// Index of the first contest.
    start: usize,
    len: usize,
}

/// All contests as runs. If all pairs were compared, every label except the last is the first label of one run.
pub(super) struct ContestRuns(Vec<Run>);

impl ContestRuns {
    /// The runs of contests; `None` for contests with effects.
    pub(super) fn of(contests: &Contests) -> Option<Self> {
        if contests.effects() > 0 {
            return None;
        }
        let mut runs: Vec<Run> = Vec::new();
        for (start, &[u, v]) in contests.pairs().iter().enumerate() {
            let (first, second) = (u as usize, v as usize);
            match runs.last_mut() {
                Some(run) if run.first == first && run.second + run.len == second => run.len += 1,
                _ => runs.push(Run {
                    first,
                    second,
                    start,
                    len: 1,
                }),
            }
        }
        Some(Self(runs))
    }
}

/// The gradient of a model at many scores, for one set of tallies (the weights of the outcomes of each contest).
///
/// Each entry is the derivative of the prior, plus the expected and minus the observed value of a sum: half of wins
/// minus losses for the utility of a label, ties for its tie term. The observed values do not depend on the scores.
pub(super) struct RunGradient<'a> {
    model: &'a ContestModel<'a>,
    runs: &'a [Run],
    /// Weight of each contest.
    weights: Vec<f64>,
    /// Half of wins minus losses per label, then ties per label.
    observed: Vec<f64>,
    /// Expected values, in the order of `observed`.
    expected: Vec<f64>,
    /// Per label with utility `f_u` the strength `exp(f_u − max f)`. Then per label with tie term `h_u` the tie
    /// strength `exp((f_u − max f) / 2 + h_u)`, or 0 when ties count half.
    strengths: Vec<f64>,
}

impl<'a> RunGradient<'a> {
    pub(super) fn new(
        model: &'a ContestModel<'a>,
        runs: &'a ContestRuns,
        tallies: &Tallies,
    ) -> Self {
        let n = model.labels();
        let mut observed = vec![0.0; 2 * n];
        for (&[u, v], &[b, t, a]) in model.contests().pairs().iter().zip(tallies) {
            let (u, v) = (u as usize, v as usize);
            let net = (b - a) / 2.0;
            observed[u] += net;
            observed[v] -= net;
            observed[n + u] += t;
            observed[n + v] += t;
        }
        Self {
            model,
            runs: &runs.0,
            weights: tallies.iter().map(|tally| tally.iter().sum()).collect(),
            observed,
            expected: vec![0.0; 2 * n],
            strengths: vec![0.0; 2 * n],
        }
    }

    /// Overwrites `gradient` with the gradient of the objective and returns `true`. If utilities are too far apart or a
    /// tie term is too large, writes nothing and returns `false`. The result is identical with every instruction set.
    pub(super) fn write(&mut self, scores: &[f64], gradient: &mut [f64]) -> bool {
        let is_close = dispatch(ExpectationKernel {
            gradient: self,
            scores,
        });
        if is_close {
            let sums = self.expected.iter().zip(&self.observed);
            let entries = gradient.iter_mut().zip(scores).zip(sums).enumerate();
            for (index, ((to, &score), (expected, observed))) in entries {
                let prior = self.model.ridge() * self.model.distance_to_centre(index, score);
                *to = prior + (expected - observed);
            }
        }
        is_close
    }

    /// Computes the strengths of all labels; `false` if the utilities are too far apart or a tie term is too large.
    #[inline(always)]
    fn set_strengths(&mut self, scores: &[f64]) -> bool {
        let n = self.model.labels();
        let (utilities, tie_terms) = scores.split_at(n);
        let high = utilities.iter().copied().fold(f64::MIN, f64::max);
        let low = utilities.iter().copied().fold(f64::MAX, f64::min);
        let (strengths, tie_strengths) = self.strengths.split_at_mut(n);
        for (strength, f) in strengths.iter_mut().zip(utilities) {
            *strength = f - high;
        }
        let mut is_close = high - low <= f64::SPREAD;
        if self.model.ties() == TieRule::Modelled {
            let below = &*strengths;
            for ((tie_strength, below), h) in tie_strengths.iter_mut().zip(below).zip(tie_terms) {
                *tie_strength = below / 2.0 + h;
                is_close &= h.abs() <= f64::TIE_LIMIT / 2.0;
            }
        }
        if is_close {
            exponentiate(strengths);
            if self.model.ties() == TieRule::Modelled {
                exponentiate(tie_strengths);
            }
        }
        is_close
    }

    /// Overwrites the expected values, given the strengths.
    #[inline(always)]
    fn sum_expected(&mut self) {
        let n = self.model.labels();
        let (strengths, tie_strengths) = self.strengths.split_at(n);
        self.expected.fill(0.0);
        let (nets, expected_ties) = self.expected.split_at_mut(n);
        for run in self.runs {
            let seconds = run.second..run.second + run.len;
            let columns = RunColumns {
                own: [strengths[run.first], tie_strengths[run.first]],
                weights: &self.weights[run.start..run.start + run.len],
                strengths: &strengths[seconds.clone()],
                tie_strengths: &tie_strengths[seconds.clone()],
            };
            let [net, tie] =
                columns.add_to(&mut nets[seconds.clone()], &mut expected_ties[seconds]);
            nets[run.first] += net;
            expected_ties[run.first] += tie;
        }
    }
}

struct ExpectationKernel<'a, 'b> {
    gradient: &'a mut RunGradient<'b>,
    scores: &'a [f64],
}

impl Kernel for ExpectationKernel<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let is_close = self.gradient.set_strengths(self.scores);
        if is_close {
            self.gradient.sum_expected();
        }
        is_close
    }
}

/// The numbers of a run: one entry per second label, that is, per contest.
struct RunColumns<'a> {
    /// Strength and tie strength of the first label.
    own: [f64; 2],
    weights: &'a [f64],
    strengths: &'a [f64],
    tie_strengths: &'a [f64],
}

impl RunColumns<'_> {
    /// Subtracts the expected half of wins minus losses of the first label from `nets` and adds the expected ties to
    /// `expected_ties`, one entry per second label; returns both sums over the run.
    #[inline(always)]
    fn add_to(&self, nets: &mut [f64], expected_ties: &mut [f64]) -> [f64; 2] {
        let (weights, last_weights) = self.weights.as_chunks::<LANES>();
        let (strengths, last_strengths) = self.strengths.as_chunks::<LANES>();
        let (ties, last_ties) = self.tie_strengths.as_chunks::<LANES>();
        let (nets, last_nets) = nets.as_chunks_mut::<LANES>();
        let (expected_ties, last_expected) = expected_ties.as_chunks_mut::<LANES>();
        let mut sums = [[0.0; LANES]; 2];
        for (i, (nets, expected_ties)) in nets.iter_mut().zip(expected_ties).enumerate() {
            let [net, tie] = expected(self.own, weights[i], strengths[i], ties[i]);
            for l in 0..LANES {
                nets[l] -= net[l];
                expected_ties[l] += tie[l];
                sums[0][l] += net[l];
                sums[1][l] += tie[l];
            }
        }
        let mut total = sums.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        for (i, (nets, expected_ties)) in last_nets.iter_mut().zip(last_expected).enumerate() {
            let columns = ([last_weights[i]], [last_strengths[i]], [last_ties[i]]);
            let [[net], [tie]] = expected(self.own, columns.0, columns.1, columns.2);
            *nets -= net;
            *expected_ties += tie;
            total[0] += net;
            total[1] += tie;
        }
        total
    }
}

/// Expected half of wins minus losses, and expected ties, of contests of a first label with second labels. `own` is the
/// strength and the tie strength of the first label.
#[inline(always)]
fn expected<const N: usize>(
    own: [f64; 2],
    weights: [f64; N],
    strengths: [f64; N],
    tie_strengths: [f64; N],
) -> [[f64; N]; 2] {
    let [strength, tie_strength] = own;
    let both: [f64; N] = from_fn(|l| tie_strength * tie_strengths[l]);
    let scaled: [f64; N] = from_fn(|l| weights[l] / (strength + both[l] + strengths[l]));
    [
        from_fn(|l| scaled[l] * ((strength - strengths[l]) / 2.0)),
        from_fn(|l| scaled[l] * both[l]),
    ]
}

/// Replaces each value x by eˣ.
#[inline(always)]
fn exponentiate(values: &mut [f64]) {
    let (chunks, rest) = values.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = exponentials(*chunk);
    }
    for value in rest {
        *value = value.exponential();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::PairCounts;

    /// Labels 2 and 7 are never compared, so that runs have gaps.
    fn counts() -> PairCounts {
        let mut counts = PairCounts::empty(13).unwrap();
        for u in 0..13_usize {
            for v in (u + 1..13).filter(|v| ![u, *v].iter().any(|label| [2, 7].contains(label))) {
                for outcome in 0..3_u8 {
                    let weight = (u * 7 + v * 3 + usize::from(outcome)) % 5;
                    counts.add_comparison(u, v, outcome, weight as f64);
                }
            }
        }
        counts
    }

    #[test]
    fn gradients_match_those_contest_by_contest() {
        let (contests, tallies) = Contests::of_counts(&counts());
        let runs = ContestRuns::of(&contests).unwrap();
        assert!(runs.0.iter().any(|run| run.len > LANES));
        for (ties, spread) in [
            (TieRule::Modelled, 1.0),
            (TieRule::Half, 1.0),
            (TieRule::Modelled, 80.0),
        ] {
            let model = ContestModel::new(&contests, &tallies, ties, 0.3);
            let centre: Vec<f64> = (0..model.size()).map(|i| (i as f64).cos()).collect();
            let model = model.with_centre(&centre);
            let scores: Vec<f64> = (0..model.size())
                .map(|i| spread * (i as f64).sin())
                .collect();
            let (mut found, mut expected) = (vec![0.0; model.size()], vec![0.0; model.size()]);
            let mut gradient = RunGradient::new(&model, &runs, &tallies);
            assert!(gradient.write(&scores, &mut found));
            model.write_gradient(&tallies, &scores, &mut expected);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
        }
    }

    #[test]
    fn scores_too_far_apart_are_left_to_the_caller() {
        let (contests, tallies) = Contests::of_counts(&counts());
        let runs = ContestRuns::of(&contests).unwrap();
        let model = ContestModel::new(&contests, &tallies, TieRule::Modelled, 0.3);
        let mut gradient = RunGradient::new(&model, &runs, &tallies);
        let mut to = vec![7.0; model.size()];
        for (index, score) in [(0, 700.0), (20, 200.0), (20, f64::NAN)] {
            let mut scores = vec![0.0; model.size()];
            scores[index] = score;
            assert!(!gradient.write(&scores, &mut to));
        }
        assert!(to.iter().all(|&entry| entry == 7.0));
    }
}
