//! Sums over the components of a mixture for the rows of a block.

use crate::error::{Error, Result};
use crate::predict::RowBlock;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

use super::log_linear::{AddLogRatios, AveragePooled, LogLinearPool};
use super::model::Models;

/// The mixed shares of the rows of a block.
pub(super) struct MixedRows<'a> {
    pairs: usize,
    shares: &'a mut [f64],
    /// Per row: the total weight of the components with finite shares.
    weights: Vec<f64>,
    /// Per row: the pooled log ratios of before and after, then those of tied and not tied; empty without a log-linear
    /// pool.
    logs: Vec<f64>,
}

impl<'a> MixedRows<'a> {
    /// Rows without components; `shares` are overwritten. The log-linear pool is prepared if `is_pooled`.
    pub(super) fn new(shares: &'a mut [f64], rows: usize, pairs: usize, is_pooled: bool) -> Self {
        shares.fill(0.0);
        Self {
            pairs,
            shares,
            weights: vec![0.0; rows],
            logs: vec![0.0; if is_pooled { rows * 2 * pairs } else { 0 }],
        }
    }

    /// Adds the mean shares of a component to the linear pool.
    pub(super) fn add_weighted(&mut self, sums: &ComponentSums, component_weight: f64) {
        let rows = self.shares.chunks_exact_mut(3 * self.pairs);
        for ((mixed, weight), (sums, finite)) in rows.zip(&mut self.weights).zip(sums.rows()) {
            if finite > 0 {
                *weight += component_weight;
                dispatch(AddWeighted {
                    sums: mixed,
                    shares: sums,
                    weight: component_weight / finite as f64,
                });
            }
        }
    }

    /// Adds the log ratios of the mean shares of a component to the log-linear pool.
    pub(super) fn add_log_ratios(&mut self, sums: &ComponentSums, weights: [f64; 2]) {
        let rows = self.logs.chunks_exact_mut(2 * self.pairs);
        for (logs, (sums, finite)) in rows.zip(sums.rows()) {
            if finite > 0 {
                let (order, tie) = logs.split_at_mut(self.pairs);
                dispatch(AddLogRatios {
                    shares: sums,
                    factor: 1.0 / finite as f64,
                    weights,
                    logs: [order, tie],
                });
            }
        }
    }

    /// Divides the weighted sums of each row by their total weight; `all` is the weight of all components.
    pub(super) fn normalise(&mut self, all: f64, first_row: usize) -> Result<()> {
        let rows = self.shares.chunks_exact_mut(3 * self.pairs).enumerate();
        for ((row, shares), &weight) in rows.zip(&self.weights) {
            if weight == 0.0 {
                return Err(Error::NoFiniteShares {
                    row: first_row + row,
                });
            }
            // When no component is left out and the weights sum to 1 up to rounding, the division would only add
            // rounding errors.
            if weight < all || (all - 1.0).abs() > 1e-9 {
                for share in shares {
                    *share /= weight;
                }
            }
        }
        Ok(())
    }

    /// Replaces the linear pool by the weighted mean of both pools.
    pub(super) fn average_pooled(&mut self, pool: &LogLinearPool) {
        let rows = self.shares.chunks_exact_mut(3 * self.pairs);
        for (shares, logs) in rows.zip(self.logs.chunks_exact(2 * self.pairs)) {
            let (order, tie) = logs.split_at(self.pairs);
            dispatch(AveragePooled {
                shares,
                pool_share: pool.share,
                logs: [order, tie],
                tie_offset: pool.tie_offset,
            });
        }
    }
}

/// Sums of the finite shares of the models of one component, row by row.
pub(super) struct ComponentSums {
    numbers: usize,
    sums: Vec<f64>,
    /// Per row: the number of models whose shares are finite.
    finite: Vec<usize>,
    /// Shares of one model.
    own: Vec<f64>,
}

impl ComponentSums {
    pub(super) fn new(rows: usize, numbers: usize) -> Self {
        Self {
            numbers,
            sums: vec![0.0; rows * numbers],
            finite: vec![0; rows],
            own: Vec::new(),
        }
    }

    /// Replaces the sums by those of the models of a component.
    pub(super) fn sum_models(
        &mut self,
        models: &Models<'_>,
        block: RowBlock<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (first, others) = models.split_first().ok_or(Error::NoComponents)?;
        first.write_shares(block, &mut self.sums, interrupt)?;
        for (sums, finite) in self
            .sums
            .chunks_exact_mut(self.numbers)
            .zip(&mut self.finite)
        {
            let is_finite = dispatch(IsFinite { shares: sums });
            *finite = usize::from(is_finite);
            if !is_finite {
                sums.fill(0.0);
            }
        }
        for model in others {
            self.own.resize(self.sums.len(), 0.0);
            model.write_shares(block, &mut self.own, interrupt)?;
            let rows = self.sums.chunks_exact_mut(self.numbers);
            let rows = rows.zip(self.own.chunks_exact(self.numbers));
            for ((sums, shares), finite) in rows.zip(&mut self.finite) {
                if dispatch(IsFinite { shares }) {
                    *finite += 1;
                    dispatch(AddWeighted {
                        sums,
                        shares,
                        weight: 1.0,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether any row lacks one of the component's `models` models because its shares are not finite.
    pub(super) fn left_out(&self, models: usize) -> bool {
        self.finite.iter().any(|&finite| finite < models)
    }

    /// The sums of each row and the number of models in them.
    fn rows(&self) -> impl Iterator<Item = (&[f64], usize)> {
        let sums = self.sums.chunks_exact(self.numbers);
        sums.zip(self.finite.iter().copied())
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
