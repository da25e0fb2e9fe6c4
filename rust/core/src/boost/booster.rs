//! [`Booster`]: a fitted booster and the scores that it predicts.

use ndarray::{Array2, ArrayView2, Axis, Slice};

use crate::error::{Error, Result};
use crate::features::check_values;
use crate::run::{self, require_memory, Jobs};

use super::coded_scores::{CodedBlocks, CodedCache};
use super::model::{add_trees, ScoreTree, FEW_ROWS};

/// Rows per block: their scores stay in the second-level cache, and each tree is read once for many rows.
const ROWS_AT_ONCE: usize = 512;

/// From this many rows on, coding the rows by the ranks of their values saves more time than it takes. So does coding
/// fewer than [`FEW_ROWS`] rows, each of which is walked through many trees at once.
const MANY_ROWS: usize = 64;

/// A constant plus a sum of trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Booster {
    pub(crate) features: usize,
    /// Constant scores: n utilities, then n tie terms.
    pub(crate) start: Vec<f32>,
    pub(crate) trees: Vec<ScoreTree>,
    /// Per label: whether the training rankings compare it with another label.
    pub(crate) compared: Vec<bool>,
    /// Total gain of the splits per feature.
    pub(crate) gains: Vec<f64>,
    /// Mean log-likelihood per validation pair after each round; empty without early stopping.
    pub(crate) validation: Vec<f64>,
    /// The trees in the layout for many or very few rows.
    pub(crate) coded: CodedCache,
}

impl Booster {
    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.compared.len()
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of rounds; fewer than requested after early stopping.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.trees.len()
    }

    /// Per label: whether the training rankings compare it with another label.
    #[must_use]
    pub fn compared_labels(&self) -> &[bool] {
        &self.compared
    }

    /// Mean log-likelihood per validation pair after each round; empty without early stopping.
    #[must_use]
    pub fn validation_scores(&self) -> &[f64] {
        &self.validation
    }

    /// Share of each feature in the gain of all splits; zeros without splits.
    #[must_use]
    pub fn feature_importances(&self) -> Vec<f64> {
        let total: f64 = self.gains.iter().sum();
        let divisor = if total > 0.0 { total } else { 1.0 };
        self.gains.iter().map(|gain| gain / divisor).collect()
    }

    /// Scores of rows after `rounds` rounds: n utilities, then n tie terms per row. The result does not depend on the
    /// number of threads.
    ///
    /// # Errors
    /// A number of features that differs from training, an infinite value, [`Error::Memory`], [`Error::Interrupted`],
    /// or threads that cannot be started.
    pub fn scores(
        &self,
        values: ArrayView2<'_, f64>,
        rounds: usize,
        jobs: Jobs<'_>,
    ) -> Result<Array2<f32>> {
        let mut staged = self.staged_scores(values, &[rounds], jobs)?;
        Ok(staged.pop().unwrap_or_default())
    }

    /// Scores of rows after each of several ascending numbers of rounds; every tree is evaluated once. Bit-identical to
    /// [`Self::scores`].
    ///
    /// # Errors
    /// As [`Self::scores`].
    pub fn staged_scores(
        &self,
        values: ArrayView2<'_, f64>,
        rounds: &[usize],
        jobs: Jobs<'_>,
    ) -> Result<Vec<Array2<f32>>> {
        let (rows, columns) = values.dim();
        if columns != self.features {
            return Err(Error::FeatureCount {
                found: columns,
                expected: self.features,
            });
        }
        let has_missing = check_values(values)?;
        let outputs = self.start.len();
        // Each score is stored in single precision here and in double precision by the caller.
        require_memory::<[f32; 3]>("the scores", &[rows, outputs, rounds.len() + 1])?;
        let mut scores: Vec<f32> = self.start.repeat(rows);
        let mut stages = Vec::with_capacity(rounds.len());
        let is_coded = !(FEW_ROWS..MANY_ROWS).contains(&rows) && !has_missing;
        let coded = is_coded.then(|| self.coded.get(columns, &self.trees));
        let coded = CodedBlocks::new(coded.flatten(), rows.div_ceil(ROWS_AT_ONCE));
        // About 5 ns per level of a tree, plus adding the vector of scores of a leaf.
        let per_tree = rows * (32 + outputs / 4);
        let nanoseconds = self.trees.len().saturating_mul(per_tree);
        run::scope(jobs, nanoseconds as u64, |pool| {
            let mut done = 0;
            for &round in rounds {
                let end = round.clamp(done, self.trees.len());
                let trees = &self.trees[done..end];
                pool.for_each_chunk(
                    trees.len() * per_tree,
                    &mut scores,
                    ROWS_AT_ONCE * outputs,
                    |block, scores| {
                        if jobs.interrupt.check().is_err() {
                            return;
                        }
                        let first = block * ROWS_AT_ONCE;
                        let rows = Slice::from(first..first + scores.len() / outputs);
                        let values = values.slice_axis(Axis(0), rows);
                        if !coded.add_trees((trees, done), (block, values), outputs, scores) {
                            add_trees(trees, (values, has_missing), outputs, scores);
                        }
                    },
                );
                jobs.interrupt.check()?;
                done = end;
                let stage = Array2::from_shape_vec((rows, outputs), scores.clone());
                stages.push(stage.unwrap_or_default());
            }
            Ok(())
        })?;
        Ok(stages)
    }
}
