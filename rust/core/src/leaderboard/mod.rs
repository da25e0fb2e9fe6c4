//! Leaderboards: scores of labels with their uncertainty, and the pairs of labels whose difference exceeds it.
//!
//! [`resample_scores`] computes the scores of the data and of resamples of it (comparisons or rankings drawn with
//! replacement), by any method with scores.
//! [`Separation`] compares all pairs of labels by these scores; rank intervals and tiers follow from it.

mod alias;
mod binomial;
mod draw;
mod poisson;
mod resample;
mod separation;
mod tiers;

pub use resample::{
    resample_scores, BoardData, BoardMethod, ResampleOptions, ScoreSample, MAX_BOARD_LABELS,
};
pub use separation::{CriticalValue, Separation};
pub use tiers::{rank_by_score, tiers, RankInterval};
