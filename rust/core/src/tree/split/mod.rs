//! Splits of a node: impurity criteria, exact entropies and the choice of the best candidate.

pub(crate) mod best_split;
pub(crate) mod criterion;
pub(crate) mod entropy;

pub use criterion::{Consensus, Sample};
