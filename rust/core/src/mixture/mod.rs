//! Mixtures of pair models: weighted means of their shares, and weights by likelihood.

mod model;
mod weights;

pub use model::{Component, Mixture};
pub use weights::{mixture_weights, observed_counts, observed_shares};
