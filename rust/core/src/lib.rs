//! Rankings with ties: pair statistics, rank aggregation and partial label ranking.
//!
//! Data enters through [`rankings::Rankings`], whose constructor checks all properties that the kernels rely on; the
//! kernels see valid data only. Start with [`rankings`], [`aggregate`] and [`metrics`]; [`tree`], [`forest`], [`boost`]
//! and [`linear`] learn rankings from [`features`].
//!
//! Modules that are rarely useful outside the Python package are public, but not documented here; their interface may
//! change in any release. Dependencies point one way: `error ← run, weights, raw_position ← rankings,
//! bucket_order, features ← pairs, metrics ← comparisons ← latent ← aggregate ← leaderboard, predict ← tree ← forest,
//! boost, linear ← mixture, shap, cross_validation, saved`.

pub mod aggregate;
mod aligned;
pub mod boost;
pub mod bucket_order;
pub mod categories;
mod cholesky;
pub mod comparisons;
#[doc(hidden)]
pub mod cross_validation;
pub mod error;
pub mod features;
pub mod forest;
#[doc(hidden)]
pub mod latent;
pub mod leaderboard;
pub mod linear;
pub mod metrics;
pub mod missing;
#[doc(hidden)]
pub mod mixture;
mod once;
pub mod pairs;
#[doc(hidden)]
pub mod predict;
mod random;
pub mod rankings;
#[doc(hidden)]
pub mod raw_position;
pub mod run;
#[doc(hidden)]
pub mod saved;
pub mod shap;
mod simd;
pub mod tree;
mod warm;
pub mod weights;
