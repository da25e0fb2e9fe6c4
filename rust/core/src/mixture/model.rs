//! [`Mixture`]: the pair model that mixes the shares of several components.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::pairs::pair_count;
use crate::predict::{BlockShares, PairModel, RowBlock};
use crate::run::Interrupt;

use super::log_linear::LogLinearPool;
use super::mixed_rows::{ComponentSums, MixedRow};

/// Rows per block: enough for a forest, whose trees are read once per block.
const BLOCK_ROWS: usize = 1024;

/// Models with the same labels and features.
pub type Models<'a> = Vec<Box<dyn PairModel + 'a>>;

/// A component of a mixture: models whose shares are averaged.
pub struct Component<'a> {
    /// The models, at least one.
    pub models: Models<'a>,
    /// The weight of the component, above 0.
    pub weight: f64,
}

/// Mixes the shares of several components. Without a pool, the mixed shares are the weighted mean of the components'
/// shares. With a pool, they are a weighted mean of this mean and of the log-linear pool.
///
/// A model whose shares of a row are not finite is left out of this row.
pub struct Mixture<'a> {
    components: Vec<Component<'a>>,
    pool: Option<LogLinearPool>,
    /// Per component: whether one of its models was left out of a row.
    left_out: Vec<AtomicBool>,
}

impl<'a> Mixture<'a> {
    /// A mixture of components.
    ///
    /// # Errors
    /// [`Error::NoComponents`] without components or models; [`Error::LabelCount`] or [`Error::FeatureCount`] if the
    /// models differ in labels or features; [`Error::Parameter`] for a weight that is not finite and above 0, or for a
    /// pool with another number of components, a number that is not finite, or a share outside 0 to 1.
    pub fn new(components: Vec<Component<'a>>, pool: Option<LogLinearPool>) -> Result<Self> {
        let first = components.first().and_then(|c| c.models.first());
        let first = first.ok_or(Error::NoComponents)?;
        let (labels, features) = (first.labels(), first.features());
        for Component { models, weight } in &components {
            if models.is_empty() {
                return Err(Error::NoComponents);
            }
            for model in models {
                check_shape(&**model, labels, features)?;
            }
            if !(*weight > 0.0 && weight.is_finite()) {
                return Err(Error::Parameter {
                    name: "weight",
                    found: *weight,
                    expected: "a finite number above 0",
                });
            }
        }
        if let Some(pool) = &pool {
            pool.check(components.len())?;
        }
        let left_out = components.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            components,
            pool,
            left_out,
        })
    }

    /// Indices of the components with a model that was left out of at least one row so far.
    #[must_use]
    pub fn left_out(&self) -> Vec<usize> {
        let left_out = self.left_out.iter().enumerate();
        left_out
            .filter(|(_, left_out)| left_out.load(Ordering::Relaxed))
            .map(|(component, _)| component)
            .collect()
    }
}

fn check_shape(model: &dyn PairModel, labels: usize, features: usize) -> Result<()> {
    if model.labels() != labels {
        return Err(Error::LabelCount {
            found: model.labels(),
            expected: labels,
        });
    }
    if model.features() != features {
        return Err(Error::FeatureCount {
            found: model.features(),
            expected: features,
        });
    }
    Ok(())
}

impl PairModel for Mixture<'_> {
    fn labels(&self) -> usize {
        self.components[0].models[0].labels()
    }

    fn features(&self) -> usize {
        self.components[0].models[0].features()
    }

    fn block_rows(&self) -> usize {
        BLOCK_ROWS
    }

    fn write_shares(
        &self,
        block: RowBlock<'_>,
        shares: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let pairs = pair_count(self.labels());
        let mut prepared: Vec<Vec<BlockShares<'_>>> = Vec::new();
        for component in &self.components {
            let models = component.models.iter();
            let models = models.map(|model| model.block_shares(block, interrupt));
            prepared.push(models.collect::<Result<_>>()?);
        }
        let all = self.components.iter().map(|c| c.weight).sum();
        let mut sums = ComponentSums::new(self.labels());
        let mut logs = vec![0.0; if self.pool.is_some() { 2 * pairs } else { 0 }];
        for (row, shares) in shares.chunks_exact_mut(3 * pairs).enumerate() {
            let mut mixed = MixedRow::new(shares, &mut logs);
            for (index, models) in prepared.iter().enumerate() {
                sums.sum_models(models, row);
                if sums.finite() < models.len() {
                    self.left_out[index].store(true, Ordering::Relaxed);
                }
                mixed.add_weighted(&sums, self.components[index].weight);
                if let Some(pool) = &self.pool {
                    mixed.add_log_ratios(&sums, [pool.order[index], pool.tie[index]]);
                }
            }
            mixed.normalise(all, block.first + row)?;
            if let Some(pool) = &self.pool {
                mixed.average_pooled(pool);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::PairShares;
    use crate::predict::map_shares;
    use crate::run::Jobs;
    use ndarray::array;

    /// Shares of one pair: before is `slope` times the feature, after is the rest.
    struct Line {
        slope: f64,
        features: usize,
    }

    impl PairModel for Line {
        fn labels(&self) -> usize {
            2
        }

        fn features(&self) -> usize {
            self.features
        }

        fn write_shares(&self, block: RowBlock<'_>, out: &mut [f64], _: &Interrupt) -> Result<()> {
            for (shares, value) in out.chunks_exact_mut(3).zip(block.values) {
                let before = self.slope * value;
                shares.copy_from_slice(&[before, 0.0, 1.0 - before]);
            }
            Ok(())
        }
    }

    fn mixture(slopes: &[f64]) -> Mixture<'static> {
        let component = |&slope: &f64| Component {
            models: vec![Box::new(Line { slope, features: 1 })],
            weight: 1.0 / slopes.len() as f64,
        };
        Mixture::new(slopes.iter().map(component).collect(), None).unwrap()
    }

    fn before(mixture: &Mixture<'_>) -> Result<Vec<f64>> {
        let x = array![[0.0], [1.0], [2.0]];
        let jobs = Jobs {
            n_jobs: 2,
            interrupt: &Interrupt::never(),
        };
        let first = |(): &mut (), shares: &PairShares| Ok(shares.as_slice()[0]);
        map_shares(mixture, x.view(), jobs, || (), first)
    }

    #[test]
    fn shares_are_weighted_means() {
        let two = mixture(&[0.5, 0.25]);
        assert_eq!(before(&two).unwrap(), [0.0, 0.375, 0.75]);
        assert!(two.left_out().is_empty());
    }

    #[test]
    fn components_that_are_not_finite_are_left_out_of_the_row() {
        // The shares of the first component are not finite: 0 times infinity is NaN.
        let broken = mixture(&[f64::INFINITY, 0.25]);
        assert_eq!(before(&broken).unwrap(), [0.0, 0.25, 0.5]);
        assert_eq!(broken.left_out(), [0]);
        let all = mixture(&[f64::INFINITY]);
        assert_eq!(before(&all), Err(Error::NoFiniteShares { row: 0 }));
    }

    #[test]
    fn models_of_a_component_are_averaged() {
        let group = |slopes: &[f64], weight| Component {
            models: slopes
                .iter()
                .map(|&slope| Box::new(Line { slope, features: 1 }) as Box<dyn PairModel>)
                .collect(),
            weight,
        };
        let two = Mixture::new(vec![group(&[0.5, 0.25], 0.5), group(&[0.125], 0.5)], None).unwrap();
        assert_eq!(before(&two).unwrap(), [0.0, 0.25, 0.5]);
        // The component keeps its weight, and its shares are those of the other model.
        for slopes in [[f64::NAN, 0.375], [0.375, f64::NAN]] {
            let broken =
                Mixture::new(vec![group(&slopes, 0.5), group(&[0.125], 0.5)], None).unwrap();
            assert_eq!(before(&broken).unwrap(), [0.0, 0.25, 0.5]);
            assert_eq!(broken.left_out(), [0]);
        }
        assert!(matches!(
            Mixture::new(vec![group(&[0.5], 0.5), group(&[], 0.5)], None),
            Err(Error::NoComponents)
        ));
    }

    #[test]
    fn a_pool_is_averaged_with_the_weighted_mean() {
        let line = |slope| Component {
            models: vec![Box::new(Line { slope, features: 1 }) as Box<dyn PairModel>],
            weight: 0.5,
        };
        let pool = |order: f64| LogLinearPool {
            order: vec![order, 0.0],
            tie: vec![0.5, 0.5],
            tie_offset: 0.0,
            share: 0.25,
        };
        let mixture = Mixture::new(vec![line(0.4), line(0.2)], Some(pool(2.0))).unwrap();
        let found = before(&mixture).unwrap();
        // Row 1: shares 0.4, 0, 0.6 and 0.2, 0, 0.8; those below 0.001 are raised to it.
        let ratio: f64 = 0.4 / 0.6;
        let ties = (0.001_f64.powi(4) / (0.4 * 0.6 * 0.2 * 0.8)).powf(0.25);
        let pooled = ratio / (ratio + 1.0 / ratio + ties);
        let expected = 0.75 * 0.3 + 0.25 * pooled;
        assert!((found[1] - expected).abs() < 1e-12, "{found:?}");
        let few = LogLinearPool {
            order: vec![1.0],
            ..pool(1.0)
        };
        let large = LogLinearPool {
            share: 1.5,
            ..pool(1.0)
        };
        for broken in [few, large, pool(f64::NAN)] {
            let found = Mixture::new(vec![line(0.4), line(0.2)], Some(broken));
            assert!(matches!(found, Err(Error::Parameter { .. })));
        }
    }

    #[test]
    fn components_must_fit_together() {
        let line = |features, weight| Component {
            models: vec![Box::new(Line {
                slope: 0.5,
                features,
            }) as Box<dyn PairModel>],
            weight,
        };
        assert!(matches!(
            Mixture::new(vec![], None),
            Err(Error::NoComponents)
        ));
        let features = Mixture::new(vec![line(1, 0.5), line(2, 0.5)], None);
        assert!(matches!(features, Err(Error::FeatureCount { .. })));
        let weight = Mixture::new(vec![line(1, 0.0)], None);
        assert!(matches!(weight, Err(Error::Parameter { .. })));
    }
}
