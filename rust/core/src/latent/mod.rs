//! The latent model of rankings with ties: Davidson's model with a tie term for each label.
//!
//! A label u has a utility `f_u`, which orders the labels, and a tie term `h_u`, its tendency to be tied. Two labels
//! compare with the weights
//!
//! - u before v: `exp((f_u − f_v) / 2)`,
//! - u after v: `exp((f_v − f_u) / 2)`,
//! - tied: `exp(h_u + h_v)`,
//!
//! and the shares (the probabilities of the three relations) are the weights divided by their sum. Only differences of
//! utilities matter. The likelihood of a ranking is the product of the shares of its relations, one per pair of labels
//! that it ranks. The logarithms of the weights are linear in the 2n utilities and tie terms, so the log-likelihood is
//! concave in them.
//!
//! Multiplying the three weights of a pair by `exp((f_u + f_v) / 2)` does not change the shares. The weights then are
//! `a_u`, `a_v` and `t_u · t_v`, with the strengths `a_u = exp(f_u)` and the tie strengths `t_u = exp(f_u / 2 + h_u)`:
//! 2n exponentials per row suffice for all n(n−1)/2 pairs. The kernels subtract the largest utility of the row first.
//! If the scores (utilities and tie terms) of a row are still too far apart for floats, `block.rs` clips them; the
//! other kernels compute the shares of such a row pair by pair.
//!
//! R. R. Davidson, "On extending the Bradley–Terry model to accommodate ties in paired comparison experiments",
//! Journal of the American Statistical Association 65 (1970).

mod block;
mod contest_model;
mod contest_runs;
mod counts;
mod covariance;
mod pair;
mod posterior;
mod product;
mod real;
mod refit;
mod row;
mod strengths;

pub(crate) use block::{LatentBlock, PairSums, LANES};
pub use contest_model::{ContestModel, TieRule};
pub use counts::compared_labels;
pub use covariance::{covariance, CovarianceMethod};
pub use pair::{pair_log_weights, pair_shares};
pub use posterior::{Posterior, GRADIENT_TOLERANCE, MAX_POSTERIOR_LABELS};
pub(crate) use real::{exponentials, logarithms};
pub(crate) use refit::WarmStart;
pub use row::{Derivatives, LatentRow};
pub(crate) use strengths::StrengthTable;
