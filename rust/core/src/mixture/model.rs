//! [`Mixture`]: the weighted mean of the shares of several models.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::pairs::pair_count;
use crate::predict::{PairModel, RowBlock};
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};

/// A model of a mixture.
pub struct Component<'a> {
    /// The model.
    pub model: Box<dyn PairModel + 'a>,
    /// Its weight, above 0.
    pub weight: f64,
}

/// The weighted mean of the shares of several models.
///
/// A component whose shares of a row are not finite is left out of the mean of this row.
pub struct Mixture<'a> {
    components: Vec<Component<'a>>,
    /// Per component: whether it was left out of a row.
    left_out: Vec<AtomicBool>,
}

impl<'a> Mixture<'a> {
    /// A mixture of models.
    ///
    /// # Errors
    /// [`Error::NoComponents`] without components; [`Error::LabelCount`] or [`Error::FeatureCount`] if they differ in
    /// labels or features; [`Error::Parameter`] for a weight that is not above 0.
    pub fn new(components: Vec<Component<'a>>) -> Result<Self> {
        let first = components.first().ok_or(Error::NoComponents)?;
        let (labels, features) = (first.model.labels(), first.model.features());
        for Component { model, weight } in &components {
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
            if !(*weight > 0.0 && weight.is_finite()) {
                return Err(Error::Parameter {
                    name: "weight",
                    found: *weight,
                    expected: "a finite number above 0",
                });
            }
        }
        let left_out = components.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            components,
            left_out,
        })
    }

    /// Indices of the components that were left out of at least one row so far.
    #[must_use]
    pub fn left_out(&self) -> Vec<usize> {
        let left_out = self.left_out.iter().enumerate();
        left_out
            .filter(|(_, left_out)| left_out.load(Ordering::Relaxed))
            .map(|(component, _)| component)
            .collect()
    }
}

impl PairModel for Mixture<'_> {
    fn labels(&self) -> usize {
        self.components[0].model.labels()
    }

    fn features(&self) -> usize {
        self.components[0].model.features()
    }

    fn write_shares(
        &self,
        block: RowBlock<'_>,
        shares: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let numbers = 3 * pair_count(self.labels());
        shares.fill(0.0);
        let mut weights = vec![0.0; block.rows];
        let mut own = vec![0.0; shares.len()];
        for (component, left_out) in self.components.iter().zip(&self.left_out) {
            component.model.write_shares(block, &mut own, interrupt)?;
            let rows = shares.chunks_exact_mut(numbers).zip(own.chunks(numbers));
            for ((sums, own), weight) in rows.zip(&mut weights) {
                if dispatch(IsFinite { shares: own }) {
                    *weight += component.weight;
                    dispatch(AddWeighted {
                        sums,
                        shares: own,
                        weight: component.weight,
                    });
                } else {
                    left_out.store(true, Ordering::Relaxed);
                }
            }
        }
        let all: f64 = self.components.iter().map(|c| c.weight).sum();
        for ((row, sums), &weight) in shares.chunks_exact_mut(numbers).enumerate().zip(&weights) {
            if weight == 0.0 {
                return Err(Error::NoFiniteShares {
                    row: block.first + row,
                });
            }
            // The sum of all weights is 1 up to rounding, which is not to change the shares.
            if weight < all || (all - 1.0).abs() > 1e-9 {
                for sum in sums {
                    *sum /= weight;
                }
            }
        }
        Ok(())
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
            model: Box::new(Line { slope, features: 1 }),
            weight: 1.0 / slopes.len() as f64,
        };
        Mixture::new(slopes.iter().map(component).collect()).unwrap()
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
        // 0 times infinity is NaN, and so is infinity minus infinity.
        let broken = mixture(&[f64::INFINITY, 0.25]);
        assert_eq!(before(&broken).unwrap(), [0.0, 0.25, 0.5]);
        assert_eq!(broken.left_out(), [0]);
        let all = mixture(&[f64::INFINITY]);
        assert_eq!(before(&all), Err(Error::NoFiniteShares { row: 0 }));
    }

    #[test]
    fn components_must_fit_together() {
        let line = |features, weight| Component {
            model: Box::new(Line {
                slope: 0.5,
                features,
            }) as Box<dyn PairModel>,
            weight,
        };
        assert!(matches!(Mixture::new(vec![]), Err(Error::NoComponents)));
        let features = Mixture::new(vec![line(1, 0.5), line(2, 0.5)]);
        assert!(matches!(features, Err(Error::FeatureCount { .. })));
        let weight = Mixture::new(vec![line(1, 0.0)]);
        assert!(matches!(weight, Err(Error::Parameter { .. })));
    }
}
