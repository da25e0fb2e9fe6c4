//! The linear latent model: utilities and tie terms of the labels as linear functions of standardised features.
//!
//! The utilities of a row order its labels; a larger tie term makes ties of a label more likely (see
//! [`crate::latent`]). The penalised log-likelihood is concave, so the best model is unique. It is found to a given
//! tolerance.
//!
//! # Examples
//! ```
//! use bucketrank_core::{linear::{LinearModel, LinearParams}, rankings::Rankings};
//! use bucketrank_core::run::Interrupt;
//! use ndarray::{array, Array2};
//!
//! let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64);
//! let y = Array2::from_shape_fn((40, 2), |(i, j)| if (i < 20) == (j == 0) { 1_i64 } else { 2 });
//! let rankings = Rankings::new(y.view(), None, &Interrupt::never())?;
//! let model = LinearModel::fit(x.view(), &[], &rankings, &LinearParams::default(), &Interrupt::never())?;
//! assert!(model.has_converged());
//! let scores = model.scores(array![[3.0], [33.0]].view(), &Interrupt::never())?;
//! assert!(scores[[0, 0]] > scores[[0, 1]] && scores[[1, 0]] < scores[[1, 1]]);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod curvature;
mod derivatives;
#[cfg(test)]
mod examples;
mod information;
mod model;
mod objective;
mod pair_model;
mod params;
mod quasi_newton;
mod rows;
mod standardise;
mod strips;

pub use standardise::CategoricalFeature;
pub(crate) use standardise::Standardiser;

pub use information::LinearInformation;
pub use model::LinearModel;
pub use params::{LinearOptions, LinearParams};
