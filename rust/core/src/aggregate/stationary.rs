//! [`Elimination`]: limit distribution of a Markov chain from the uniform start, without subtractions.
//!
//! States are eliminated one after the other (censoring): transitions into an eliminated state are redirected to the
//! successors of that state. Only sums, products and quotients of non-negative numbers occur, so every entry is
//! accurate to a few units in the last place however slowly the chain mixes: nearly disconnected groups of states
//! lose no accuracy. A state without transitions to remaining states becomes the root of its recurrent class instead
//! of being eliminated; the mass that reaches each root from the uniform start is the weight of its class. O(n³/3),
//! no iteration.
//!
//! Reference: W. K. Grassmann, M. I. Taksar and D. P. Heyman, *Regenerative analysis and steady state distributions
//! for Markov chains*, Operations Research 33, 1985.

use crate::error::Result;
use crate::run::{Interrupt, WorkMeter};
use crate::simd::{dispatch, Kernel};

/// Odds (probabilities of the states of a class, up to a common factor) above this are scaled down, long before they
/// overflow.
const MAX_ODDS: f64 = 1e100;

/// Entry of [`Elimination::class`] for a state that belongs to no recurrent class.
const TRANSIENT: usize = usize::MAX;

/// Buffers of the elimination.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// Counts the work for each state.
    meter: WorkMeter,
    /// States without a transition to remaining states, in the order of discovery.
    roots: Vec<usize>,
    /// Mass that has reached each state from the uniform start.
    mass: Vec<f64>,
    /// Probability of leaving each eliminated state, at its elimination.
    leaving: Vec<f64>,
    /// Root of the recurrent class of each state.
    class: Vec<usize>,
    /// Transition probabilities of the eliminated state, divided by the probability of leaving it.
    onward: Vec<f64>,
    /// Sum of the odds of each class.
    totals: Vec<f64>,
}

impl Elimination {
    /// Writes the limit distribution of the chain to `limit`. `moves` holds the transition probabilities row by row and
    /// is overwritten. Its diagonal is not read: self-loops have the remaining probability. Each recurrent class needs
    /// a self-loop.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn run(&mut self, moves: &mut [f64], limit: &mut Vec<f64>) -> Result<()> {
        dispatch(EliminationKernel {
            elimination: self,
            moves,
            limit,
        })
    }

    pub(super) fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.meter = WorkMeter::new(interrupt);
    }

    fn reset(&mut self, n: usize) {
        self.roots.clear();
        self.mass.clear();
        self.mass.resize(n, 1.0 / n as f64);
        self.leaving.clear();
        self.leaving.resize(n, 0.0);
        self.class.clear();
        self.class.resize(n, TRANSIENT);
        self.onward.clear();
        self.onward.resize(n, 0.0);
    }

    /// Redirects transitions into `state` to the states with smaller indices and to the roots with larger ones.
    #[inline(always)]
    fn eliminate(&mut self, state: usize, n: usize, moves: &mut [f64]) {
        let (remaining, rest) = moves.split_at_mut(state * n);
        let row = &rest[..n];
        let leaving =
            row[..state].iter().sum::<f64>() + self.roots.iter().map(|&r| row[r]).sum::<f64>();
        if leaving <= 0.0 {
            self.roots.push(state);
            return;
        }
        self.leaving[state] = leaving;
        let onward = &mut self.onward;
        for (onward, p) in onward[..state].iter_mut().zip(row) {
            *onward = p / leaving;
        }
        for &root in &self.roots {
            onward[root] = row[root] / leaving;
        }
        let mass = self.mass[state];
        for (to, onward) in self.mass[..state].iter_mut().zip(&onward[..state]) {
            *to += mass * onward;
        }
        for &root in &self.roots {
            self.mass[root] += mass * onward[root];
        }
        self.mass[state] = 0.0;
        for from in remaining.chunks_exact_mut(n) {
            let into = from[state];
            if into > 0.0 {
                for (to, onward) in from[..state].iter_mut().zip(&onward[..state]) {
                    *to += into * onward;
                }
                for &root in &self.roots {
                    from[root] += into * onward[root];
                }
            }
        }
    }

    /// Computes the odds of `state` within its class from the odds of the states with smaller indices; 1 for a root.
    #[inline(always)]
    fn substitute(&mut self, state: usize, n: usize, moves: &[f64], odds: &mut [f64]) {
        if self.leaving[state] <= 0.0 {
            odds[state] = 1.0;
            self.class[state] = state;
            return;
        }
        let mut inflow = 0.0;
        for (from, odds) in odds[..state].iter().enumerate() {
            let part = odds * moves[from * n + state];
            if part > 0.0 {
                inflow += part;
                self.class[state] = self.class[from];
            }
        }
        let leaving = self.leaving[state];
        if inflow <= MAX_ODDS * leaving {
            odds[state] = inflow / leaving;
            return;
        }
        // The quotient could overflow: normalise the odds of the class by this state instead.
        let scale = leaving / inflow;
        for (odds, class) in odds[..state].iter_mut().zip(&self.class) {
            if *class == self.class[state] {
                *odds *= scale;
            }
        }
        odds[state] = 1.0;
    }

    /// Turns odds within classes into probabilities.
    fn weight_classes(&mut self, odds: &mut [f64]) {
        self.totals.clear();
        self.totals.resize(odds.len(), 0.0);
        for (odds, &class) in odds.iter().zip(&self.class) {
            if class != TRANSIENT {
                self.totals[class] += odds;
            }
        }
        for (odds, &class) in odds.iter_mut().zip(&self.class) {
            if class != TRANSIENT {
                *odds *= self.mass[class] / self.totals[class];
            }
        }
    }
}

/// Eliminates all states of a chain, then substitutes back.
struct EliminationKernel<'a> {
    elimination: &'a mut Elimination,
    moves: &'a mut [f64],
    limit: &'a mut Vec<f64>,
}

impl Kernel for EliminationKernel<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self {
            elimination,
            moves,
            limit,
        } = self;
        let n = moves.len().isqrt();
        elimination.reset(n);
        for state in (0..n).rev() {
            elimination.meter.add((n * n) as u64)?;
            elimination.eliminate(state, n, moves);
        }
        limit.clear();
        limit.resize(n, 0.0);
        for state in 0..n {
            elimination.meter.add(n as u64)?;
            elimination.substitute(state, n, moves, limit);
        }
        elimination.weight_classes(limit);
        Ok(())
    }
}

/// The largest change of a probability in one step of the chain.
pub(super) fn residual(moves: &[f64], distribution: &[f64]) -> f64 {
    let n = distribution.len();
    let mut change = vec![0.0; n];
    for (u, (row, p)) in moves.chunks_exact(n).zip(distribution).enumerate() {
        for (v, m) in row.iter().enumerate().filter(|&(v, _)| v != u) {
            change[v] += p * m;
            change[u] -= p * m;
        }
    }
    // `f64::max` would hide a NaN.
    change
        .iter()
        .map(|c| c.abs())
        .fold(0.0, |worst, c| if c <= worst { worst } else { c })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(moves: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        Elimination::default()
            .run(&mut moves.to_vec(), &mut out)
            .unwrap();
        assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        assert!(residual(moves, &out) < 1e-15);
        out
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-13, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn limits_of_two_states() {
        assert_close(&limit(&[0.9, 0.1, 0.3, 0.7]), &[0.75, 0.25]);
        // Without transitions the uniform start is the limit.
        assert_close(&limit(&[1.0, 0.0, 0.0, 1.0]), &[0.5, 0.5]);
    }

    #[test]
    fn classes_are_weighted_by_absorption_in_every_order() {
        // State 0 is transient and moves to 1 with probability ¼ and to 2 with ½; 2 and 3 communicate.
        let by_name = |from: usize, to: usize| match (from, to) {
            (0, 1) => 0.25,
            (0, 2) => 0.5,
            (2, 3) => 0.2,
            (3, 2) => 0.6,
            _ => 0.0,
        };
        let expected = [0.0, 0.25 + 0.25 / 3.0, 0.75 * 2.0 / 3.0, 0.25 * 2.0 / 3.0];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            let mut moves = vec![0.0; 16];
            for (i, &u) in order.iter().enumerate() {
                for (j, &v) in order.iter().enumerate() {
                    moves[i * 4 + j] = by_name(u, v);
                }
            }
            assert_close(&limit(&moves), &order.map(|u| expected[u]));
        }
    }

    #[test]
    fn almost_disconnected_groups_are_exact() {
        // Two groups of 50 states with coupling 1e-12 one way and 3e-12 back: the groups have probability ¾ and ¼,
        // spread evenly.
        let n = 100;
        let mut moves = vec![0.0; n * n];
        for u in 0..n {
            for v in 0..n {
                moves[u * n + v] = match (u < 50, v < 50) {
                    (true, false) => 1e-12 / 50.0,
                    (false, true) => 3e-12 / 50.0,
                    _ => 0.01,
                };
            }
        }
        let expected: Vec<f64> = (0..n).map(|u| if u < 50 { 0.015 } else { 0.005 }).collect();
        assert_close(&limit(&moves), &expected);
    }

    #[test]
    fn tiny_couplings_do_not_overflow() {
        // A chain 0 → 1 → … with moves back of 1e-200: odds of 1e200 per step.
        let n = 6;
        let mut moves = vec![0.0; n * n];
        for u in 0..n - 1 {
            moves[u * n + u + 1] = 0.5;
            moves[(u + 1) * n + u] = 1e-200;
        }
        assert_close(&limit(&moves), &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
