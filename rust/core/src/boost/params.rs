//! Parameters of a booster: [`BoostOptions`], checked into [`BoostParams`].

use crate::error::{Error, Result};

/// Largest number of bins of a feature: the index of a bin is stored in one byte.
pub const MAX_BINS: usize = 256;

/// Largest depth: deeper trees could have more leaves than any dataset has rows.
pub const MAX_DEPTH: usize = 64;

/// Largest number of rounds: the rounds of a booster are counted by 32-bit integers.
const MAX_ROUNDS: usize = u32::MAX as usize;

/// The thresholds that are candidates in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thresholds {
    /// All thresholds between two bins.
    #[default]
    All,
    /// Only the first threshold of each block of consecutive rows, in the order of the feature, and none in the first
    /// block, if the feature has more than 16 bins in the node. A node has at least 16 blocks, and a block at most 16 rows.
    Spaced,
}

/// Up to this many bins of a feature in a node, [`Thresholds::Spaced`] keeps all thresholds.
const MIN_SPACED_BINS: u32 = 16;

/// Least number of blocks of a node.
const MIN_BLOCKS: u32 = 16;

/// Binary logarithm of the largest number of rows in a block.
const MAX_BLOCK_BITS: u32 = 4;

impl Thresholds {
    /// Binary logarithm of the number of rows in a block, given the bins of a feature in a node and the rows of the node.
    #[inline(always)]
    pub(super) fn block_bits(self, bins: u32, rows: u32) -> u32 {
        match self {
            Self::Spaced if bins > MIN_SPACED_BINS => {
                (rows / MIN_BLOCKS).max(1).ilog2().min(MAX_BLOCK_BITS)
            }
            _ => 0,
        }
    }
}

/// Options of a booster, not checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoostOptions {
    /// Number of trees.
    pub rounds: usize,
    /// Fraction of the Newton step that each tree takes, above 0 and up to 1.
    pub learning_rate: f64,
    /// Largest depth of a leaf.
    pub max_depth: usize,
    /// Smallest number of sampled rows of a leaf.
    pub min_samples_leaf: usize,
    /// Added to the curvature of leaves and of the constant scores.
    pub ridge: f64,
    /// Probability that a row is in the sample of a tree.
    pub row_share: f64,
    /// Share of the m features drawn per node; `None` draws max(⌊√m⌋, ⌊m/3⌋).
    pub feature_share: Option<f64>,
    /// Largest number of bins per feature. For features with no more distinct values than this, all midpoints
    /// are candidates.
    pub max_bins: usize,
    /// Candidate thresholds of a node.
    pub thresholds: Thresholds,
    /// Early stopping, if any.
    pub early_stopping: Option<EarlyStopping>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Number of threads. The model does not depend on it.
    pub n_jobs: usize,
}

/// Stops when the log-likelihood of held-out rows no longer improves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlyStopping {
    /// Share of the rows held out for validation.
    pub validation_share: f64,
    /// Number of rounds without improvement after which the fit stops.
    pub patience: usize,
}

impl Default for BoostOptions {
    fn default() -> Self {
        Self {
            rounds: 200,
            learning_rate: 0.1,
            max_depth: 6,
            min_samples_leaf: 10,
            ridge: 2.0,
            row_share: 0.6,
            feature_share: None,
            max_bins: MAX_BINS,
            thresholds: Thresholds::All,
            early_stopping: None,
            seed: 0,
            n_jobs: 1,
        }
    }
}

/// Checked options of a booster.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BoostParams(BoostOptions);

impl BoostParams {
    /// Checks options.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of the first invalid option.
    pub fn new(options: BoostOptions) -> Result<Self> {
        check_integer("rounds", options.rounds, 1, MAX_ROUNDS)?;
        check_share("learning_rate", options.learning_rate)?;
        check_integer("max_depth", options.max_depth, 1, MAX_DEPTH)?;
        check_integer("min_samples_leaf", options.min_samples_leaf, 1, usize::MAX)?;
        if !(options.ridge > 0.0 && options.ridge <= 1e12) {
            return Err(Error::Parameter {
                name: "ridge",
                found: options.ridge,
                expected: "a number above 0 and up to 1e12",
            });
        }
        check_share("row_share", options.row_share)?;
        if let Some(found) = options.feature_share {
            check_share("feature_share", found)?;
        }
        check_integer("max_bins", options.max_bins, 2, MAX_BINS)?;
        if let Some(EarlyStopping {
            validation_share,
            patience,
        }) = options.early_stopping
        {
            if !(validation_share > 0.0 && validation_share < 1.0) {
                return Err(Error::Parameter {
                    name: "validation_share",
                    found: validation_share,
                    expected: "a number above 0 and below 1",
                });
            }
            check_integer("patience", patience, 1, usize::MAX)?;
        }
        Ok(Self(options))
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &BoostOptions {
        &self.0
    }

    /// Number of features drawn per node, out of `features`.
    #[must_use]
    pub fn features_per_node(&self, features: usize) -> usize {
        let count = match self.0.feature_share {
            Some(share) => (share * features as f64) as usize,
            None => features.isqrt().max(features / 3),
        };
        count.clamp(1, features)
    }
}

fn check_share(name: &'static str, found: f64) -> Result<()> {
    if found > 0.0 && found <= 1.0 {
        return Ok(());
    }
    Err(Error::Parameter {
        name,
        found,
        expected: "a number above 0 and up to 1",
    })
}

fn check_integer(name: &'static str, found: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(Error::Parameter {
        name,
        found: found as f64,
        expected: match (least, most) {
            (1, MAX_DEPTH) => "a whole number from 1 to 64",
            (2, _) => "a whole number from 2 to 256",
            _ if found > most => "a whole number of at most 4294967295",
            _ => "a whole number of at least 1",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type OptionChange = fn(&mut BoostOptions);

    #[test]
    fn invalid_options_are_rejected_by_name() {
        let good = BoostOptions::default();
        assert!(BoostParams::new(good).is_ok());
        let stopping = |validation_share, patience| EarlyStopping {
            validation_share,
            patience,
        };
        let bad: [(&str, OptionChange); 13] = [
            ("rounds", |o| o.rounds = 0),
            ("rounds", |o| o.rounds = MAX_ROUNDS + 1),
            ("learning_rate", |o| o.learning_rate = 0.0),
            ("learning_rate", |o| o.learning_rate = f64::NAN),
            ("max_depth", |o| o.max_depth = 0),
            ("max_depth", |o| o.max_depth = 65),
            ("min_samples_leaf", |o| o.min_samples_leaf = 0),
            ("ridge", |o| o.ridge = 0.0),
            ("ridge", |o| o.ridge = f64::INFINITY),
            ("row_share", |o| o.row_share = 1.5),
            ("feature_share", |o| o.feature_share = Some(-0.1)),
            ("max_bins", |o| o.max_bins = 1),
            ("max_bins", |o| o.max_bins = 257),
        ];
        let refused = |expected: &str, options| match BoostParams::new(options) {
            Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
            other => panic!("{expected}: {other:?}"),
        };
        for (expected, change) in bad {
            let mut options = good;
            change(&mut options);
            refused(expected, options);
        }
        for (expected, stopping) in [
            ("validation_share", stopping(1.0, 5)),
            ("patience", stopping(0.1, 0)),
        ] {
            let early_stopping = Some(stopping);
            refused(
                expected,
                BoostOptions {
                    early_stopping,
                    ..good
                },
            );
        }
    }

    #[test]
    fn default_share_is_a_third_of_many_features_and_the_root_of_few() {
        let params = BoostParams::default();
        let counts = [1, 2, 4, 8, 16, 90].map(|m| params.features_per_node(m));
        assert_eq!(counts, [1, 1, 2, 2, 5, 30]);
    }
}
