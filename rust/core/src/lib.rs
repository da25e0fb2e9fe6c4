//! Rankings with ties: pair statistics, rank aggregation and partial label ranking.
//!
//! Data enters through [`rankings::Rankings`], whose constructor checks all properties that the kernels rely on; the
//! kernels see valid data only. Dependencies point one way: `error ← run, random, saved, weights, raw_position ←
//! rankings, bucket_order ← pairs ← comparisons ← metrics, latent ← aggregate ← leaderboard, tree ← forest, boost,
//! cross_validation`.

pub mod aggregate;
pub mod boost;
pub mod bucket_order;
mod cholesky;
pub mod comparisons;
pub mod cross_validation;
pub mod error;
pub mod features;
pub mod forest;
pub mod latent;
pub mod leaderboard;
pub mod linear;
pub mod metrics;
pub mod missing;
pub mod mixture;
pub mod pairs;
pub mod predict;
mod random;
pub mod rankings;
pub mod raw_position;
pub mod run;
pub mod saved;
mod simd;
pub mod tree;
pub mod weights;
