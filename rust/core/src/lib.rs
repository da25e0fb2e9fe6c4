//! Rankings with ties: pair statistics, rank aggregation and partial label ranking.
//!
//! Data enters through [`rankings::Rankings`], whose constructor proves what the kernels rely on; everything
//! behind it works on valid data. Dependencies point one way:
//! `error ← run, random, saved, weights, raw_position ← rankings, bucket_order ← pairs ← metrics, latent ← aggregate ← tree ←
//! forest, boost, cross_validation`.

pub mod aggregate;
pub mod boost;
pub mod bucket_order;
mod cholesky;
pub mod cross_validation;
pub mod error;
pub mod features;
pub mod forest;
pub mod latent;
pub mod linear;
pub mod metrics;
pub mod missing;
pub mod mixture;
pub mod pairs;
pub mod parallel;
mod random;
pub mod rankings;
pub mod raw_position;
pub mod run;
pub mod saved;
mod simd;
pub mod tree;
pub mod weights;
