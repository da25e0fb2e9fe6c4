//! Parameters of a tree: [`TreeOptions`], checked into [`TreeParams`].

use crate::error::{Error, Result};

/// Impurity measure of a node. The consensus of a node is one ranking that an aggregator computes from its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// Entropy (base 2) of the relation (before, tied or after), averaged over the pairs of labels.
    #[default]
    Entropy,
    /// Share of the rows whose relation differs from that in the node's consensus, averaged over the pairs of labels.
    Disagreements,
    /// Distance from the node's consensus, averaged over rows and pairs of labels: 2 for opposite orders, 1 if exactly
    /// one of row and consensus ties the pair.
    Distance,
}

/// How a node is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splitter {
    /// Into two children, at the best threshold between consecutive distinct values.
    #[default]
    BestBinary,
    /// Into two children, at the best of one random threshold per feature.
    RandomBinary,
    /// Into at most `max_splits` children of about equal weight.
    EqualFrequency {
        /// Largest number of children; the name is that of the Python parameter.
        max_splits: usize,
    },
    /// Into at most `max_splits` children of equally wide intervals of values.
    EqualWidth {
        /// Largest number of children; the name is that of the Python parameter.
        max_splits: usize,
    },
}

/// Unchecked options of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// Impurity measure.
    pub criterion: Criterion,
    /// How a node is split.
    pub splitter: Splitter,
    /// Maximal depth; the root has depth 0.
    pub max_depth: Option<usize>,
    /// Minimal number of rows of a node to be split.
    pub min_samples_split: usize,
    /// Minimal number of rows of each child.
    pub min_samples_leaf: usize,
    /// Number of features drawn per node, among those that are not constant in it; `None`: all.
    pub max_features: Option<usize>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Number of threads; does not affect the result.
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

/// Checked options of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeParams {
    options: TreeOptions,
}

impl TreeParams {
    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Parameter`] for `min_samples_split < 2`, `min_samples_leaf < 1`, `max_features < 1`, `max_splits < 2`
    /// or `n_jobs < 1`.
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
        let minima = [
            ("min_samples_split", options.min_samples_split, 2),
            ("min_samples_leaf", options.min_samples_leaf, 1),
            ("max_features", options.max_features.unwrap_or(1), 1),
            ("max_splits", max_splits, 2),
            ("n_jobs", options.n_jobs, 1),
        ];
        for (name, found, minimum) in minima {
            if found < minimum {
                let expected = if minimum == 1 {
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
    fn invalid_options_are_rejected() {
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
