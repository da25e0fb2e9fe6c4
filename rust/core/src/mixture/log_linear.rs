//! [`LogLinearPool`]: a weighted geometric mean of the shares of several components.
//!
//! For component k and a pair with shares b, t and a of before, tied and after, each at least 0.001, let
//! x = ln b − ln a and y = ln t − ½ (ln b + ln a). The pooled weights of before, tied and after are exp(½ Σ αₖ xₖ),
//! exp(Σ βₖ yₖ + γ) and exp(−½ Σ αₖ xₖ); the pooled shares are the weights divided by their sum.

use std::array::from_fn;
use std::hint::select_unpredictable;

use crate::error::{Error, Result};
use crate::latent::{exponentials, logarithms};
use crate::simd::Kernel;

/// Pairs per vector.
pub(super) const LANES: usize = 8;

/// One number per pair of a vector.
pub(super) type PairLanes = [f64; LANES];

/// Smallest share, which keeps logarithms finite.
const FLOOR: f64 = 0.001;

/// Logarithms of weights are clipped to ± this, so that the square of a weight is finite.
const LARGEST_LOG: f64 = 300.0;

/// If the absolute pooled logarithms of a pair, and the differences between its weighted mean shares, add up to less than
/// this, the shares of the pair count as uniform in all components: no training row compares its labels. The sum is not
/// exactly 0, because the shares of a forest are accurate to 1e-6 only. Without the differences, a pair would count as
/// uniform if the logarithms of its components cancel.
const UNIFORM: f64 = 1e-5;

/// The numbers of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLinearPool {
    /// α: per component the weight of its log ratio of before and after, not negative.
    pub order: Vec<f64>,
    /// β: per component the weight of its log ratio of tied and not tied, not negative.
    pub tie: Vec<f64>,
    /// γ: added to the logarithm of the weight of tied.
    pub tie_offset: f64,
    /// Share of the pool in the mixed shares, from 0 to 1; the rest is the weighted mean.
    pub share: f64,
}

impl LogLinearPool {
    /// Checks that the numbers are finite and belong to this many components.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub(super) fn check(&self, components: usize) -> Result<()> {
        for numbers in [&self.order, &self.tie] {
            if numbers.len() != components {
                return Err(Error::Parameter {
                    name: "the log-linear pool",
                    found: numbers.len() as f64,
                    expected: "one number per component",
                });
            }
        }
        let mut numbers = self.order.iter().chain(&self.tie).chain([&self.tie_offset]);
        match numbers.find(|number| !number.is_finite()) {
            None if !(0.0..=1.0).contains(&self.share) => Err(Error::Parameter {
                name: "the share of the log-linear pool",
                found: self.share,
                expected: "a number from 0 to 1",
            }),
            None => Ok(()),
            Some(&found) => Err(Error::Parameter {
                name: "a number of the log-linear pool",
                found,
                expected: "a finite number",
            }),
        }
    }
}

/// The log ratios x and y of pairs with these shares.
#[inline(always)]
pub(super) fn log_ratios([before, tied, after]: [PairLanes; 3]) -> [PairLanes; 2] {
    let floor = |shares: PairLanes| -> PairLanes {
        // A comparison instead of `max` would compile to a branch per pair.
        from_fn(|l| shares[l].max(FLOOR))
    };
    let (before, tied, after) = (floor(before), floor(tied), floor(after));
    let x = logarithms(from_fn(|l| before[l] / after[l]));
    let twice: PairLanes = logarithms(from_fn(|l| tied[l] * tied[l] / (before[l] * after[l])));
    [x, from_fn(|l| 0.5 * twice[l])]
}

/// Shares of one pair from which [`log_ratios_of_pair`] are computed: raised to at least 0.001, then divided by their
/// sum.
pub(super) fn floored_shares(shares: [f64; 3]) -> [f64; 3] {
    let floored = shares.map(|share| share.max(FLOOR));
    let sum: f64 = floored.iter().sum();
    floored.map(|share| share / sum)
}

/// The log ratios x and y of one pair.
pub(super) fn log_ratios_of_pair(shares: [f64; 3]) -> [f64; 2] {
    let [before, tied, after] = shares.map(|share| share.max(FLOOR));
    let twice = tied * tied / (before * after);
    [(before / after).ln(), 0.5 * twice.ln()]
}

/// Shares of before, tied and after from the pooled logarithms ½ Σ αₖ xₖ and Σ βₖ yₖ + γ, and the sum of the weights
/// divided by the weight of after.
#[inline(always)]
pub(super) fn pooled_shares(half: PairLanes, tie: PairLanes) -> ([PairLanes; 3], PairLanes) {
    let clip =
        |logs: PairLanes| -> PairLanes { from_fn(|l| logs[l].clamp(-LARGEST_LOG, LARGEST_LOG)) };
    let before = exponentials(clip(half));
    let tied = exponentials(clip(tie));
    // All weights are multiplied by that of before.
    let before_squared: PairLanes = from_fn(|l| before[l] * before[l]);
    let tied: PairLanes = from_fn(|l| tied[l] * before[l]);
    let sum: PairLanes = from_fn(|l| before_squared[l] + tied[l] + 1.0);
    (
        [
            from_fn(|l| before_squared[l] / sum[l]),
            from_fn(|l| tied[l] / sum[l]),
            from_fn(|l| 1.0 / sum[l]),
        ],
        sum,
    )
}

/// Adds the log ratios of one component to the pooled logarithms of a row.
pub(super) struct AddLogRatios<'a> {
    /// Planes of a row: sums of the shares of `1 / factor` models.
    pub(super) shares: &'a [f64],
    pub(super) factor: f64,
    /// Weights of x and y.
    pub(super) weights: [f64; 2],
    /// Sums of αₖ xₖ and βₖ yₖ.
    pub(super) logs: [&'a mut [f64]; 2],
}

impl Kernel for AddLogRatios<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.shares.len() / 3;
        let (before, rest) = self.shares.split_at(pairs);
        let (tied, after) = rest.split_at(pairs);
        let [order, tie] = self.logs;
        let weights = self.weights;
        for_each_vector(pairs, |first, count| {
            let load = |plane: &[f64]| -> PairLanes {
                let lanes = load_lanes(plane, first, count, 1.0);
                from_fn(|l| lanes[l] * self.factor)
            };
            let [x, y] = log_ratios([load(before), load(tied), load(after)]);
            let add_x = |sums: PairLanes| from_fn(|l| sums[l] + weights[0] * x[l]);
            update_lanes(order, first, count, add_x);
            let add_y = |sums: PairLanes| from_fn(|l| sums[l] + weights[1] * y[l]);
            update_lanes(tie, first, count, add_y);
        });
    }
}

/// Calls `f` with the first pair of each vector and the number of its pairs, which is less than [`LANES`] at the end.
#[inline(always)]
fn for_each_vector(pairs: usize, mut f: impl FnMut(usize, usize)) {
    let whole = pairs / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        f(first, LANES);
    }
    if whole < pairs {
        f(whole, pairs - whole);
    }
}

/// Reads a vector of `count` numbers and padding.
#[inline(always)]
fn load_lanes(plane: &[f64], first: usize, count: usize, padding: f64) -> PairLanes {
    let plane = &plane[first..][..count];
    if let Some(&lanes) = plane.first_chunk() {
        return lanes;
    }
    let mut lanes = [padding; LANES];
    lanes[..count].copy_from_slice(plane);
    lanes
}

/// Replaces a vector of `count` numbers by a function of it.
#[inline(always)]
fn update_lanes(plane: &mut [f64], first: usize, count: usize, f: impl Fn(PairLanes) -> PairLanes) {
    let updated = f(load_lanes(plane, first, count, 0.0));
    let plane = &mut plane[first..][..count];
    if let Some(lanes) = plane.first_chunk_mut() {
        *lanes = updated;
    } else {
        plane.copy_from_slice(&updated[..count]);
    }
}

/// Replaces the shares of a row by a weighted mean of themselves and of the pooled shares.
pub(super) struct AveragePooled<'a> {
    /// Planes of a row, which add up to 1.
    pub(super) shares: &'a mut [f64],
    /// Weight of the pooled shares.
    pub(super) pool_share: f64,
    /// Sums of αₖ xₖ and βₖ yₖ.
    pub(super) logs: [&'a [f64]; 2],
    pub(super) tie_offset: f64,
}

impl Kernel for AveragePooled<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.shares.len() / 3;
        let (before, rest) = self.shares.split_at_mut(pairs);
        let (tied, after) = rest.split_at_mut(pairs);
        for_each_vector(pairs, |first, count| {
            let order = load_lanes(self.logs[0], first, count, 0.0);
            let tie = load_lanes(self.logs[1], first, count, 0.0);
            let [b, t, a] =
                [&*before, &*tied, &*after].map(|plane| load_lanes(plane, first, count, 0.0));
            let offset: PairLanes = from_fn(|l| {
                let logs = order[l].abs() + tie[l].abs();
                let differences = (b[l] - a[l]).abs() + (t[l] - b[l]).abs();
                select_unpredictable(logs + differences < UNIFORM, 0.0, self.tie_offset)
            });
            let half = from_fn(|l| 0.5 * order[l]);
            let tie = from_fn(|l| tie[l] + offset[l]);
            let (pooled, _) = pooled_shares(half, tie);
            let planes = [&mut *before, &mut *tied, &mut *after];
            for (plane, pooled) in planes.into_iter().zip(pooled) {
                let average = |shares: PairLanes| {
                    from_fn(|l| shares[l] + self.pool_share * (pooled[l] - shares[l]))
                };
                update_lanes(plane, first, count, average);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch;

    /// The definition, pair by pair.
    fn pool(shares: &[[f64; 3]], pool: &LogLinearPool) -> [f64; 3] {
        let (mut order, mut tie) = (0.0, pool.tie_offset);
        for (k, shares) in shares.iter().enumerate() {
            let [b, t, a] = shares.map(|share| share.max(FLOOR).ln());
            order += pool.order[k] * (b - a);
            tie += pool.tie[k] * (t - 0.5 * (b + a));
        }
        let weights = [(0.5 * order).exp(), tie.exp(), (-0.5 * order).exp()];
        weights.map(|weight| weight / weights.iter().sum::<f64>())
    }

    #[test]
    fn pooled_rows_match_the_definition() {
        let numbers = LogLinearPool {
            order: vec![0.7, 1.3],
            tie: vec![0.2, 0.9],
            tie_offset: -0.4,
            share: 0.7,
        };
        let pairs = 11;
        let component = |k: usize| -> Vec<[f64; 3]> {
            let raw = |pair: usize| [1 + (pair * 7 + k) % 5, (pair + k) % 3, 1 + (pair * k) % 4];
            let normalise =
                |raw: [usize; 3]| raw.map(|count| count as f64 / raw.iter().sum::<usize>() as f64);
            (0..pairs).map(|pair| normalise(raw(pair))).collect()
        };
        let components = [component(1), component(2)];
        let planes = |shares: &[[f64; 3]]| -> Vec<f64> {
            (0..3)
                .flat_map(|plane| shares.iter().map(move |s| s[plane]))
                .collect()
        };
        let (mut order, mut tie) = (vec![0.0; pairs], vec![0.0; pairs]);
        for (k, shares) in components.iter().enumerate() {
            // Sums of two equal models.
            let doubled: Vec<f64> = planes(shares).iter().map(|share| 2.0 * share).collect();
            dispatch(AddLogRatios {
                shares: &doubled,
                factor: 0.5,
                weights: [numbers.order[k], numbers.tie[k]],
                logs: [&mut order, &mut tie],
            });
        }
        let linear = planes(&components[0]);
        let mut mixed = linear.clone();
        dispatch(AveragePooled {
            shares: &mut mixed,
            pool_share: numbers.share,
            logs: [&order, &tie],
            tie_offset: numbers.tie_offset,
        });
        let both = components[0].iter().zip(&components[1]);
        for (pair, (&first, &second)) in both.enumerate() {
            let expected = pool(&[first, second], &numbers);
            for (plane, expected) in expected.into_iter().enumerate() {
                let place = plane * pairs + pair;
                let expected = 0.3 * linear[place] + 0.7 * expected;
                assert!((mixed[place] - expected).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn uniform_pairs_stay_uniform() {
        let mut shares = [1.0 / 3.0; 3];
        dispatch(AveragePooled {
            shares: &mut shares,
            pool_share: 0.5,
            logs: [&[1e-7], &[-1e-7]],
            tie_offset: 0.8,
        });
        for share in shares {
            assert!((share - 1.0 / 3.0).abs() < 1e-7);
        }
    }

    #[test]
    fn pairs_whose_logarithms_cancel_keep_the_tie_offset() {
        let mut shares = [0.5, 0.2, 0.3];
        dispatch(AveragePooled {
            shares: &mut shares,
            pool_share: 1.0,
            logs: [&[1e-7], &[0.0]],
            tie_offset: 0.8,
        });
        let tied = 0.8_f64.exp() / (0.8_f64.exp() + 2.0);
        assert!((shares[1] - tied).abs() < 1e-6);
    }

    #[test]
    fn extreme_logarithms_give_finite_shares() {
        for half in [-1e6, 0.0, 1e6] {
            for tie in [-1e6, 1e6] {
                let (shares, _) = pooled_shares([half; LANES], [tie; LANES]);
                let sum: f64 = shares.iter().map(|plane| plane[0]).sum();
                assert!((sum - 1.0).abs() < 1e-12);
            }
        }
    }
}
