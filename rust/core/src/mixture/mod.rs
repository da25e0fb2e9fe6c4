//! Mixtures of a forest, boosters and linear models: the fit by held-out likelihood, and the prediction.
//!
//! The forest is grown on all rows and evaluated out-of-bag. Boosters and linear models are cross-fitted: one per part
//! of the rows, fitted without the part and evaluated on it. The observed relations of at most a few thousand rows
//! decide the number of boosting rounds and the weights of the three components. Predictions are a weighted mean of two
//! pools of the components' shares: the linear pool, a weighted mean, and the log-linear pool, a weighted geometric
//! mean.

mod choice;
mod components;
mod evidence;
mod fit;
mod log_linear;
mod mixed_rows;
mod model;
mod out_of_bag;
mod params;
mod pool_fit;
mod pool_objective;
mod weights;

pub use fit::{fit_mixture, FailedComponent, FittedMixture};
pub use log_linear::LogLinearPool;
pub use model::{Component, Mixture, Models};
pub use params::{HeldOutRows, MixtureParams};

/// Kinds of components, in the order of all arrays with one entry per component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentKind {
    /// The forest.
    Forest,
    /// The boosters, one per part.
    Booster,
    /// The linear models, one per part.
    Linear,
}

/// Number of components.
pub const COMPONENTS: usize = 3;
