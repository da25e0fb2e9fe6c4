//! Sums over the components of a mixture for one row at a time, which stay in the first-level cache.

use crate::error::{Error, Result};
use crate::latent::StrengthTable;
use crate::pairs::pair_count;
use crate::predict::BlockShares;
use crate::simd::{dispatch, Kernel};

use super::log_linear::{AddLogRatios, AveragePooled, LogLinearPool};

/// The mixed shares of a row.
pub(super) struct MixedRow<'a> {
    shares: &'a mut [f64],
    /// The total weight of the components with finite shares.
    weight: f64,
    /// The pooled log ratios of before and after, then those of tied and not tied; empty without a log-linear pool.
    logs: &'a mut [f64],
}

impl<'a> MixedRow<'a> {
    /// A row without components; `shares` and `logs` are overwritten.
    pub(super) fn new(shares: &'a mut [f64], logs: &'a mut [f64]) -> Self {
        shares.fill(0.0);
        logs.fill(0.0);
        Self {
            shares,
            weight: 0.0,
            logs,
        }
    }

    /// Adds the mean shares of a component to the linear pool.
    pub(super) fn add_weighted(&mut self, sums: &ComponentSums, component_weight: f64) {
        if sums.finite > 0 {
            self.weight += component_weight;
            dispatch(AddWeighted {
                sums: self.shares,
                shares: &sums.sums,
                weight: component_weight / sums.finite as f64,
            });
        }
    }

    /// Adds the log ratios of the mean shares of a component to the log-linear pool.
    pub(super) fn add_log_ratios(&mut self, sums: &ComponentSums, weights: [f64; 2]) {
        if sums.finite > 0 && weights != [0.0; 2] {
            let (order, tie) = self.logs.split_at_mut(self.shares.len() / 3);
            dispatch(AddLogRatios {
                shares: &sums.sums,
                factor: 1.0 / sums.finite as f64,
                weights,
                logs: [order, tie],
            });
        }
    }

    /// Divides the weighted sums by their total weight; `all` is the weight of all components.
    pub(super) fn normalise(&mut self, all: f64, row: usize) -> Result<()> {
        let weight = self.weight;
        if weight == 0.0 {
            return Err(Error::NoFiniteShares { row });
        }
        // When no component is left out and the weights sum to 1 up to rounding, the division would only add rounding
        // errors.
        if weight < all || (all - 1.0).abs() > 1e-9 {
            for share in &mut *self.shares {
                *share /= weight;
            }
        }
        Ok(())
    }

    /// Replaces the linear pool by the weighted mean of both pools.
    pub(super) fn average_pooled(&mut self, pool: &LogLinearPool) {
        let (order, tie) = self.logs.split_at(self.shares.len() / 3);
        dispatch(AveragePooled {
            shares: self.shares,
            pool_share: pool.share,
            logs: [order, tie],
            tie_offset: pool.tie_offset,
        });
    }
}

/// Sums of the finite shares of the models of one component for one row.
pub(super) struct ComponentSums {
    sums: Vec<f64>,
    /// The number of models whose shares are finite.
    finite: usize,
    /// Shares of one model.
    own: Vec<f64>,
    /// Strengths of the latent models.
    strengths: StrengthTable,
}

impl ComponentSums {
    pub(super) fn new(labels: usize) -> Self {
        let numbers = 3 * pair_count(labels);
        Self {
            sums: vec![0.0; numbers],
            finite: 0,
            own: vec![0.0; numbers],
            strengths: StrengthTable::new(labels),
        }
    }

    /// Replaces the sums by those of the models of a component.
    pub(super) fn sum_models(&mut self, models: &[BlockShares<'_>], row: usize) {
        if !self.sum_latent_models(models, row) {
            self.sum_one_by_one(models, row);
        }
    }

    /// Sums latent models pair by pair. Returns false if a model is not latent, does not compare all labels or has
    /// extreme scores.
    fn sum_latent_models(&mut self, models: &[BlockShares<'_>], row: usize) -> bool {
        self.strengths.clear();
        for model in models {
            let is_added = model
                .known_scores(row)
                .is_some_and(|scores| self.strengths.push(scores));
            if !is_added {
                return false;
            }
        }
        self.finite = self.strengths.models();
        let pairs = self.sums.len() / 3;
        let (before, rest) = self.sums.split_at_mut(pairs);
        let (tied, after) = rest.split_at_mut(pairs);
        self.strengths.write_sums([before, tied, after]);
        true
    }

    fn sum_one_by_one(&mut self, models: &[BlockShares<'_>], row: usize) {
        self.finite = 0;
        for model in models {
            let shares = model.row(row, &mut self.own);
            if !dispatch(IsFinite { shares }) {
                continue;
            }
            let sums = &mut self.sums;
            if self.finite == 0 {
                sums.copy_from_slice(shares);
            } else {
                dispatch(AddWeighted {
                    sums,
                    shares,
                    weight: 1.0,
                });
            }
            self.finite += 1;
        }
    }

    /// Number of models whose shares are finite.
    pub(super) fn finite(&self) -> usize {
        self.finite
    }
}

struct IsFinite<'a> {
    shares: &'a [f64],
}

impl Kernel for IsFinite<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // No early exit, so that the compiler vectorises the loop.
        let all = |all: bool, share: &f64| all & share.is_finite();
        self.shares.iter().fold(true, all)
    }
}

struct AddWeighted<'a> {
    sums: &'a mut [f64],
    shares: &'a [f64],
    weight: f64,
}

impl Kernel for AddWeighted<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, share) in self.sums.iter_mut().zip(self.shares) {
            *sum += self.weight * share;
        }
    }
}
