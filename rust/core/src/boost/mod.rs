//! Gradient boosting of the latent tie model: each tree adds to the utilities and tie terms of all labels.
//!
//! A round computes the first and second derivatives of the log-likelihood of sampled rows in all 2n scores, grows one
//! tree on them, and adds a shrunken Newton step per leaf to the scores of its rows. Features are binned to bytes, and
//! splits are compared by sums of derivatives per bin.
//!
//! # Examples
//! ```
//! use bucketrank_core::{boost::{BoostOptions, BoostParams, Booster, Observer}, rankings::Rankings};
//! use bucketrank_core::run::{Interrupt, Jobs};
//! use ndarray::{array, Array2};
//!
//! let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64);
//! let y = Array2::from_shape_fn((40, 2), |(i, j)| if (i < 20) == (j == 0) { 1_i64 } else { 2 });
//! let rankings = Rankings::new(y.view(), None, &Interrupt::never())?;
//! let params = BoostParams::new(BoostOptions { rounds: 20, ..BoostOptions::default() })?;
//! let booster = Booster::fit(x.view(), &rankings, &params, &Observer::silent())?;
//! let scores = booster.scores(array![[3.0], [33.0]].view(), 20, Jobs::serial())?;
//! assert!(scores[[0, 0]] > scores[[0, 1]] && scores[[1, 0]] < scores[[1, 1]]);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod bin_groups;
mod bins;
mod booster;
mod buffers;
mod candidates;
mod coded_scores;
mod fit;
mod gradient;
mod grow;
mod model;
mod params;
mod row_sample;
mod scale;
mod split_scores;
mod stage;

pub(crate) use coded_scores::CodedCache;
pub(crate) use model::ScoreTree;

pub use booster::Booster;
pub use fit::Observer;
pub use params::{BoostOptions, BoostParams, EarlyStopping, Thresholds, MAX_BINS, MAX_DEPTH};
pub use stage::BoosterStage;
