//! Splits of a node: criteria, exact entropies and the choice between candidates.

pub(crate) mod best_split;
pub(crate) mod criterion;
pub(crate) mod entropy;

pub use criterion::{Consensus, Sample};
