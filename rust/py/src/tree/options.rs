//! [`TreeSpec`]: the parameters of trees, as the Python layer passes them.
//!
//! [`TreePlan`] holds them after the checks: the [`TreeParams`] of the core, and the flag for soft routing.

use bucketrank_core::aggregate::Aggregator;
use bucketrank_core::error;
use bucketrank_core::features::Features;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use bucketrank_core::tree::{Criterion, FittedTree, Splitter, TreeOptions, TreeParams};
use ndarray::ArrayView2;
use pyo3::prelude::*;

use crate::border::errors::{BindingError, Result};

/// The resolved parameters of a tree, from the Python layer: fractions have been replaced by numbers of rows or
/// features.
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

/// Checked parameters of a tree, and whether it also supports soft routing.
pub struct TreePlan {
    params: TreeParams,
    soft: bool,
}

impl TreePlan {
    /// Grows the tree.
    pub fn fit(
        &self,
        values: ArrayView2<'_, f64>,
        rankings: Rankings,
        aggregator: &Aggregator,
        interrupt: &Interrupt,
    ) -> error::Result<FittedTree> {
        let features = Features::new(values, interrupt)?;
        let tree = FittedTree::fit(&features, rankings, &self.params, aggregator, interrupt)?;
        if self.soft {
            tree.with_soft_routing(&features)
        } else {
            Ok(tree)
        }
    }
}

impl TreeSpec {
    /// The checked plan of a fit.
    pub fn plan(self) -> Result<TreePlan> {
        let soft = self.soft;
        let params = self.params()?;
        Ok(TreePlan { params, soft })
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
            other => Err(BindingError::value(format!("unknown criterion {other:?}"))),
        }
    }

    fn splitter(&self) -> Result<Splitter> {
        let max_splits = self.max_splits;
        match self.splitter.as_str() {
            "best" => Ok(Splitter::BestBinary),
            "random" => Ok(Splitter::RandomBinary),
            "equal_frequency" => Ok(Splitter::EqualFrequency { max_splits }),
            "equal_width" => Ok(Splitter::EqualWidth { max_splits }),
            other => Err(BindingError::value(format!("unknown splitter {other:?}"))),
        }
    }
}
