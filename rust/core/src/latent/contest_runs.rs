//! [`RunGradient`]: the gradient of a [`ContestModel`] without effects, by vector instructions.

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

/// The gradient of a model at many scores, for one set of tallies.
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
    expected: Vec<f64>,
    /// `exp(f_u − max f)` per label, then `exp((f_u − max f) / 2 + h_u)` per label, or 0 when ties count half.
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

    /// Overwrites `gradient` with the gradient of the objective; returns `false` and writes nothing if utilities are
    /// too far apart or a tie term is too large. The result is identical with every instruction set.
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
        let (utilities, rest) = scores.split_at(n);
        let high = utilities.iter().copied().fold(f64::MIN, f64::max);
        let low = utilities.iter().copied().fold(f64::MAX, f64::min);
        let (wins, ties) = self.strengths.split_at_mut(n);
        for (win, f) in wins.iter_mut().zip(utilities) {
            *win = f - high;
        }
        let mut is_close = high - low <= f64::SPREAD;
        if self.model.ties() == TieRule::Modelled {
            for ((tie, win), h) in ties.iter_mut().zip(&*wins).zip(rest) {
                *tie = win / 2.0 + h;
                is_close &= h.abs() <= f64::TIE_LIMIT / 2.0;
            }
        }
        if is_close {
            exponentiate(wins);
            if self.model.ties() == TieRule::Modelled {
                exponentiate(ties);
            }
        }
        is_close
    }

    #[inline(always)]
    fn add_expected(&mut self) {
        let n = self.model.labels();
        let (wins, ties) = self.strengths.split_at(n);
        self.expected.fill(0.0);
        let (nets, expected_ties) = self.expected.split_at_mut(n);
        for run in self.runs {
            let seconds = run.second..run.second + run.len;
            let columns = RunColumns {
                own: [wins[run.first], ties[run.first]],
                weights: &self.weights[run.start..run.start + run.len],
                strengths: [&wins[seconds.clone()], &ties[seconds.clone()]],
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
            self.gradient.add_expected();
        }
        is_close
    }
}

/// Strengths of the first label of a run, and weights and strengths of its second labels.
struct RunColumns<'a> {
    own: [f64; 2],
    weights: &'a [f64],
    strengths: [&'a [f64]; 2],
}

impl RunColumns<'_> {
    /// Subtracts the expected half of wins minus losses of the first label from `nets` and adds the expected ties to
    /// `expected_ties`, one entry per second label; returns both sums over the run.
    #[inline(always)]
    fn add_to(&self, nets: &mut [f64], expected_ties: &mut [f64]) -> [f64; 2] {
        let (weights, last_weights) = self.weights.as_chunks::<LANES>();
        let (wins, last_wins) = self.strengths[0].as_chunks::<LANES>();
        let (ties, last_ties) = self.strengths[1].as_chunks::<LANES>();
        let (nets, last_nets) = nets.as_chunks_mut::<LANES>();
        let (expected_ties, last_expected) = expected_ties.as_chunks_mut::<LANES>();
        let mut sums = [[0.0; LANES]; 2];
        for (i, (nets, expected_ties)) in nets.iter_mut().zip(expected_ties).enumerate() {
            let [net, tie] = expected(self.own, weights[i], wins[i], ties[i]);
            for l in 0..LANES {
                nets[l] -= net[l];
                expected_ties[l] += tie[l];
                sums[0][l] += net[l];
                sums[1][l] += tie[l];
            }
        }
        let mut total = sums.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        for (i, (nets, expected_ties)) in last_nets.iter_mut().zip(last_expected).enumerate() {
            let columns = ([last_weights[i]], [last_wins[i]], [last_ties[i]]);
            let [[net], [tie]] = expected(self.own, columns.0, columns.1, columns.2);
            *nets -= net;
            *expected_ties += tie;
            total[0] += net;
            total[1] += tie;
        }
        total
    }
}

/// Expected half of wins minus losses, and expected ties, of contests of one label with others. `win` and `tie` are the
/// strength and the tie strength of the one label, `wins` and `ties` those of the others.
#[inline(always)]
fn expected<const N: usize>(
    [win, tie]: [f64; 2],
    weights: [f64; N],
    wins: [f64; N],
    ties: [f64; N],
) -> [[f64; N]; 2] {
    let both: [f64; N] = from_fn(|l| tie * ties[l]);
    let scaled: [f64; N] = from_fn(|l| weights[l] / (win + both[l] + wins[l]));
    [
        from_fn(|l| scaled[l] * ((win - wins[l]) / 2.0)),
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
