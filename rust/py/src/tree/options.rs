//! [`TreeSpec`]: the parameters of trees, as the Python layer passes them.

use bucketrank_core::tree::{Criterion, Splitter, TreeOptions, TreeParams};
use pyo3::prelude::*;

use crate::border::errors::{BorderError, Result};

/// The resolved parameters of a tree, from the Python layer: numbers of rows and features, no fractions.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TreeSpec {
    criterion: String,
    splitter: String,
    max_splits: usize,
    max_depth: Option<usize>,
    min_samples_split: usize,
    min_samples_leaf: usize,
    max_features: Option<usize>,
    seed: u64,
    n_jobs: usize,
    /// Whether the tree also supports soft routing, which sends rows near a threshold to both children.
    soft: bool,
}

impl TreeSpec {
    /// Whether the tree supports soft routing.
    pub fn is_soft(&self) -> bool {
        self.soft
    }

    /// The checked parameters.
    pub fn params(self) -> Result<TreeParams> {
        Ok(TreeParams::new(TreeOptions {
            criterion: self.criterion()?,
            splitter: self.splitter()?,
            max_depth: self.max_depth,
            min_samples_split: self.min_samples_split,
            min_samples_leaf: self.min_samples_leaf,
            max_features: self.max_features,
            seed: self.seed,
            n_jobs: self.n_jobs,
        })?)
    }

    fn criterion(&self) -> Result<Criterion> {
        match self.criterion.as_str() {
            "entropy" => Ok(Criterion::Entropy),
            "disagreements" => Ok(Criterion::Disagreements),
            "distance" => Ok(Criterion::Distance),
            other => Err(BorderError::value(format!("unknown criterion {other:?}"))),
        }
    }

    fn splitter(&self) -> Result<Splitter> {
        let max_splits = self.max_splits;
        match self.splitter.as_str() {
            "best" => Ok(Splitter::BestBinary),
            "random" => Ok(Splitter::RandomBinary),
            "equal_frequency" => Ok(Splitter::EqualFrequency { max_splits }),
            "equal_width" => Ok(Splitter::EqualWidth { max_splits }),
            other => Err(BorderError::value(format!("unknown splitter {other:?}"))),
        }
    }
}
