//! Exact SHAP values of label scores: which feature moves which label, and by how much.
//!
//! [`ScoreModel`] explains the utilities (the scores that order the labels) of boosters and linear models and the Borda
//! scores (sums of the shares of won comparisons, ties counting half) of trees and forests. For trees these are the
//! Shapley values of the path-dependent conditional expectation: a row follows all branches of a split on a feature
//! outside the coalition, weighted by their training rows. [`permutation_shap`] estimates Shapley values of any other
//! model that predicts pair shares.
//!
//! Reference: S. M. Lundberg et al., *From local explanations to global understanding with explainable AI for trees*,
//! Nature Machine Intelligence 2, 2020.
//!
//! # Examples
//! ```
//! use bucketrank_core::{features::Features, rankings::Rankings, shap::ScoreModel};
//! use bucketrank_core::aggregate::{Aggregator, Borda};
//! use bucketrank_core::run::{Interrupt, Jobs};
//! use bucketrank_core::tree::{FittedTree, Shrinkage, TreeParams};
//! use ndarray::array;
//!
//! let x = array![[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]];
//! let features = Features::new(x.view(), &Interrupt::never())?;
//! let rankings = Rankings::new(array![[1, 2], [1, 2], [2, 1], [2, 1_i64]].view(), None, &Interrupt::never())?;
//! let borda = Aggregator::Borda(Borda::default());
//! let tree = FittedTree::fit(&features, rankings, &TreeParams::default(), &borda, &Interrupt::never())?;
//! let model = ScoreModel::Tree(&tree, Shrinkage::None);
//! let shap = model.shap_values(x.view(), Jobs::serial())?;
//! // Half of the training rows prefer each label; the first feature decides which.
//! assert_eq!(model.base_values(Jobs::serial())?, [0.5, 0.5]);
//! assert!((shap[[0, 0, 0]] - 0.5).abs() < 1e-12 && shap[[0, 1, 0]] == 0.0);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod linear;
mod path_tree;
mod path_walk;
mod permutation;
mod quadrature;
mod tree_sum;
mod trees;

pub use permutation::{permutation_shap, PermutationShap, Permutations};

use ndarray::{Array2, Array3, ArrayView2};

use crate::boost::Booster;
use crate::error::Result;
use crate::forest::Forest;
use crate::linear::LinearModel;
use crate::run::Jobs;
use crate::tree::{FittedTree, Shrinkage};

use trees::{ForestScores, TreeScores};

/// A model with one score per label that is explained exactly.
#[derive(Debug, Clone, Copy)]
pub enum ScoreModel<'a> {
    /// Borda scores of the shares of the leaves, with hard routing: each row goes to one leaf.
    Tree(&'a FittedTree, Shrinkage),
    /// Borda scores of the averaged shares, smoothed by an m-estimate of this strength. They are computed without the
    /// rounding of [`Forest::predictor`].
    Forest(&'a Forest, f64),
    /// Utilities, summed in double precision.
    Booster(&'a Booster),
    /// Utilities, before they are clipped.
    Linear(&'a LinearModel),
}

/// Evaluates `$call` with the trees of a model, or `$other` if the model is linear.
macro_rules! with_trees {
    ($model:expr, $trees:ident => $call:expr, $linear:ident => $other:expr) => {
        match *$model {
            Self::Tree(fitted, shrinkage) => {
                let shrinkage = shrinkage.check()?;
                let $trees = &TreeScores { fitted, shrinkage };
                $call
            }
            Self::Forest(forest, strength) => {
                let shrinkage = Shrinkage::MEstimate { strength }.check()?;
                let $trees = &ForestScores { forest, shrinkage };
                $call
            }
            Self::Booster($trees) => $call,
            Self::Linear($linear) => $other,
        }
    };
}

impl ScoreModel<'_> {
    /// SHAP values: rows × features × labels. The values of a row and label add up to its score minus the base value.
    /// The result does not depend on the number of threads.
    ///
    /// Per row and tree O(L·d·(d + n)) for L leaves, at most d distinct features per path and n labels; linear models
    /// take O(features · n) per row.
    ///
    /// # Errors
    /// Another number of features than the model has, an infinite value, an invalid strength of shrinkage,
    /// [`Error::Memory`](crate::error::Error::Memory), [`Error::Interrupted`](crate::error::Error::Interrupted), or
    /// threads that cannot be started.
    pub fn shap_values(&self, values: ArrayView2<'_, f64>, jobs: Jobs<'_>) -> Result<Array3<f64>> {
        with_trees!(
            self,
            trees => tree_sum::shap_values(trees, values, jobs),
            model => linear::shap_values(model, values, jobs.interrupt)
        )
    }

    /// Score of each label when no feature is known. Trees: the mean over their training rows. Linear models: the score
    /// of a row with all features at their means.
    ///
    /// # Errors
    /// As [`Self::shap_values`].
    pub fn base_values(&self, jobs: Jobs<'_>) -> Result<Vec<f64>> {
        with_trees!(
            self,
            trees => tree_sum::base_values(trees, jobs),
            model => Ok(linear::base_values(model))
        )
    }

    /// The explained score of each row and label.
    ///
    /// # Errors
    /// As [`Self::shap_values`].
    pub fn label_scores(&self, values: ArrayView2<'_, f64>, jobs: Jobs<'_>) -> Result<Array2<f64>> {
        with_trees!(
            self,
            trees => tree_sum::label_scores(trees, values, jobs),
            model => linear::label_scores(model, values, jobs.interrupt)
        )
    }
}

#[cfg(test)]
mod tests;
