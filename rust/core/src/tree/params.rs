//! Parameters of a tree: [`TreeOptions`], checked into [`TreeParams`].

use crate::error::{Error, Result};

/// What makes a node impure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// Mean entropy (base 2) of before / tied / after over the pairs of labels.
    #[default]
    Entropy,
    /// Mean share of the rows that disagree with the node's consensus on a pair.
    Disagreements,
    /// Mean distance to the node's consensus: 2 for an opposite order, 1 where only one side ties.
    Distance,
}

/// How a node is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splitter {
    /// In two, at the best boundary between distinct values.
    #[default]
    BestBinary,
    /// In two, at the best of one random threshold for each feature.
    RandomBinary,
    /// Into at most `max_splits` children of about equal weight.
    EqualFrequency {
        /// Largest number of children.
        max_splits: usize,
    },
    /// Into at most `max_splits` children that cover equally wide intervals.
    EqualWidth {
        /// Largest number of children.
        max_splits: usize,
    },
}

/// The options of a tree, not yet checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// What makes a node impure.
    pub criterion: Criterion,
    /// How a node is split.
    pub splitter: Splitter,
    /// Depth at which nodes become leaves; the root has depth 0.
    pub max_depth: Option<usize>,
    /// A node with fewer rows is a leaf.
    pub min_samples_split: usize,
    /// Each child must have this many rows.
    pub min_samples_leaf: usize,
    /// Number of features to draw at each node among those that are not constant there; `None`: all.
    pub max_features: Option<usize>,
    /// Seed of those draws.
    pub seed: u64,
    /// Number of threads. The tree does not depend on it.
    pub n_jobs: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            criterion: Criterion::Entropy,
            splitter: Splitter::BestBinary,
            max_depth: None,
            min_samples_split: 2,
            min_samples_leaf: 1,
            max_features: None,
            seed: 0,
            n_jobs: 1,
        }
    }
}

/// Options whose values are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeParams {
    options: TreeOptions,
}

impl TreeParams {
    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Parameter`] for `min_samples_split < 2`, `min_samples_leaf < 1`, `max_features < 1`,
    /// `max_splits < 2` or `n_jobs < 1`.
    ///
    /// # Examples
    /// ```
    /// use bucketrank_core::tree::{TreeOptions, TreeParams};
    ///
    /// assert!(TreeParams::new(TreeOptions { min_samples_split: 20, ..TreeOptions::default() }).is_ok());
    /// assert!(TreeParams::new(TreeOptions { min_samples_split: 1, ..TreeOptions::default() }).is_err());
    /// ```
    pub fn new(options: TreeOptions) -> Result<Self> {
        let max_splits = match options.splitter {
            Splitter::BestBinary | Splitter::RandomBinary => 2,
            Splitter::EqualFrequency { max_splits } | Splitter::EqualWidth { max_splits } => {
                max_splits
            }
        };
        let at_least = [
            ("min_samples_split", options.min_samples_split, 2),
            ("min_samples_leaf", options.min_samples_leaf, 1),
            ("max_features", options.max_features.unwrap_or(1), 1),
            ("max_splits", max_splits, 2),
            ("n_jobs", options.n_jobs, 1),
        ];
        for (name, found, least) in at_least {
            if found < least {
                let expected = if least == 1 {
                    "at least 1"
                } else {
                    "at least 2"
                };
                return Err(Error::Parameter {
                    name,
                    found: found as f64,
                    expected,
                });
            }
        }
        Ok(Self { options })
    }

    /// The checked options.
    #[must_use]
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }
}

impl Default for TreeParams {
    /// A fully grown binary entropy tree.
    fn default() -> Self {
        Self {
            options: TreeOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_options_are_refused() {
        let good = TreeOptions::default();
        let bad = [
            TreeOptions {
                min_samples_leaf: 0,
                ..good
            },
            TreeOptions {
                max_features: Some(0),
                ..good
            },
            TreeOptions { n_jobs: 0, ..good },
            TreeOptions {
                splitter: Splitter::EqualWidth { max_splits: 1 },
                ..good
            },
        ];
        for options in bad {
            assert!(TreeParams::new(options).is_err(), "{options:?}");
        }
        assert_eq!(TreeParams::new(good).unwrap(), TreeParams::default());
    }
}
