//! Forests: many trees on the same rankings, whose pair shares are averaged. The pair shares of a leaf are, per pair of
//! labels, the shares of its rows that rank the first label before, tied with or after the second.

mod anchor_sums;
mod share_index;
mod share_sums;
mod shares;
mod tails;

pub use shares::{ForestHalf, Voters};

use crate::error::{Error, Result};
use crate::features::Features;
use crate::pairs::pair_count;
use crate::random::{child_seed, Generator};
use crate::rankings::Rankings;
use crate::run::{self, require_memory, Interrupt, Jobs, Work};
use crate::tree::{SharedEncoding, Splitter, Tree, TreeOptions, TreeParams};
use crate::weights::Weights;

use self::share_index::IndexCache;

/// How the trees of a forest are randomised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForestVariant {
    /// Every tree is grown on a bootstrap sample of the rows.
    Bootstrap,
    /// Every tree is grown on all rows, with random thresholds.
    ExtraTrees,
    /// Trees alternate between the two other variants; the first tree has a bootstrap sample.
    Mixed,
}

impl ForestVariant {
    fn kind_of_tree(self, tree: usize) -> TreeKind {
        let draws_rows = match self {
            Self::Bootstrap => true,
            Self::ExtraTrees => false,
            Self::Mixed => tree.is_multiple_of(2),
        };
        if draws_rows {
            TreeKind::Bootstrap
        } else {
            TreeKind::ExtraTrees
        }
    }
}

/// How one tree is randomised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeKind {
    Bootstrap,
    ExtraTrees,
}

/// The options of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForestOptions {
    /// How the trees are randomised.
    pub variant: ForestVariant,
    /// Options of the trees. `max_features` applies to trees on bootstrap samples only; trees with random thresholds
    /// use all features. The forest overrides splitter, seed and number of threads.
    pub tree: TreeOptions,
    /// Seed of all draws.
    pub seed: u64,
}

/// A forest with its training rankings.
///
/// Trees store nodes and rows, but no pair shares. The first prediction computes the shares that later predictions
/// need, and keeps them in memory. On the same data, the tree with index i depends only on the options and i.
///
/// References: L. Breiman, *Random forests*, Machine Learning 45, 2001; P. Geurts, D. Ernst and L. Wehenkel, *Extremely
/// randomized trees*, Machine Learning 63, 2006.
///
/// # Examples
/// ```
/// use bucketrank_core::forest::{Forest, ForestOptions, ForestVariant};
/// use bucketrank_core::{features::Features, rankings::Rankings, tree::TreeOptions};
/// use bucketrank_core::run::{Interrupt, Jobs};
/// use ndarray::array;
///
/// let features = Features::new(array![[0.0], [1.0], [2.0], [3.0]].view(), &Interrupt::never())?;
/// let rankings = Rankings::new(array![[1, 2], [1, 2], [2, 1], [2, 1_i64]].view(), None, &Interrupt::never())?;
/// let options = ForestOptions { variant: ForestVariant::Mixed, tree: TreeOptions::default(), seed: 1 };
/// let jobs = Jobs { n_jobs: 1, interrupt: &Interrupt::never() };
/// let mut forest = Forest::new(rankings, features.columns());
/// forest.grow(&features, &options, 10, jobs)?;
/// assert_eq!(forest.trees(), 10);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    features: usize,
    rankings: Rankings,
    pub(crate) members: Vec<ForestTree>,
    /// The shares of the trees, prepared for predictions.
    cache: IndexCache,
}

/// A tree of a forest, with the kind and seed that determine its bootstrap weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForestTree {
    pub(crate) tree: Tree,
    pub(crate) kind: TreeKind,
    pub(crate) seed: u64,
}

/// The bootstrap sample of a tree: `rows` draws with replacement, as indices among the rows of positive weight.
pub(crate) fn bootstrap_draws(seed: u64, rows: usize) -> impl Iterator<Item = usize> {
    // A stream of random numbers separate from the one for features and thresholds.
    let mut generator = Generator::new(child_seed(seed, 1));
    (0..rows).map(move |_| generator.below(rows))
}

impl Forest {
    /// A forest without trees.
    #[must_use]
    pub fn new(rankings: Rankings, features: usize) -> Self {
        Self {
            features,
            rankings,
            members: Vec::new(),
            cache: IndexCache::default(),
        }
    }

    /// Grows further trees, in parallel, up to a total of `trees`. The trees depend neither on the number of threads
    /// nor on how many trees existed before.
    ///
    /// # Errors
    /// The errors of [`Tree::fit`]; after an error the forest is unchanged.
    pub fn grow(
        &mut self,
        features: &Features,
        options: &ForestOptions,
        trees: usize,
        jobs: Jobs<'_>,
    ) -> Result<()> {
        let first = self.members.len();
        let missing = trees.saturating_sub(first);
        self.check_growth(features, missing)?;
        let mut grown: Vec<Option<Result<ForestTree>>> = Vec::new();
        grown.resize_with(missing, || None);
        let mut failed = false;
        let this = &*self;
        let encoding = SharedEncoding::default();
        run::stream(
            jobs,
            Work::new(missing, self.nanoseconds_per_tree()),
            || (),
            |(), item| this.grow_tree(&encoding, features, options, first + item, jobs.interrupt),
            |item, member: Result<ForestTree>| {
                failed |= member.is_err();
                grown[item] = Some(member);
                !failed
            },
        )?;
        // Trees are collected in order, so the error is that of the first tree that failed.
        let grown: Vec<ForestTree> = grown.into_iter().flatten().collect::<Result<_>>()?;
        self.add_trees(grown);
        Ok(())
    }

    /// Checks that the number of features is that of the forest, and that memory for the trees can be allocated.
    pub(crate) fn check_growth(&self, features: &Features, trees: usize) -> Result<()> {
        if features.columns() != self.features {
            return Err(Error::FeatureCount {
                found: features.columns(),
                expected: self.features,
            });
        }
        // A tree lists its rows and has at least one node; it is stored once while growing and once in the forest.
        let least = 2 * size_of::<Option<Result<ForestTree>>>() + 4 * self.rankings.len();
        require_memory::<u8>("the trees", &[trees, least])?;
        Ok(())
    }

    /// Estimated time for growing one tree.
    pub(crate) fn nanoseconds_per_tree(&self) -> usize {
        self.rankings.len() * (16 + pair_count(self.rankings.labels())) * 16
    }

    /// Appends trees grown by [`Self::grow_tree`], in the order of their indices.
    pub(crate) fn add_trees(&mut self, trees: Vec<ForestTree>) {
        self.members.extend(trees);
        self.cache = IndexCache::default();
    }

    /// Grows the tree with this index; `encoding` (of the rankings) is shared by all trees of the forest.
    ///
    /// # Errors
    /// The errors of [`Tree::fit`].
    pub(crate) fn grow_tree(
        &self,
        encoding: &SharedEncoding,
        features: &Features,
        options: &ForestOptions,
        index: usize,
        interrupt: &Interrupt,
    ) -> Result<ForestTree> {
        let kind = options.variant.kind_of_tree(index);
        let seed = child_seed(options.seed, index);
        let tree = match kind {
            TreeKind::Bootstrap => TreeOptions {
                splitter: Splitter::BestBinary,
                ..options.tree
            },
            TreeKind::ExtraTrees => TreeOptions {
                splitter: Splitter::RandomBinary,
                max_features: None,
                ..options.tree
            },
        };
        let params = TreeParams::new(TreeOptions {
            seed,
            n_jobs: 1,
            ..tree
        })?;
        let rankings = match kind {
            TreeKind::ExtraTrees => None,
            TreeKind::Bootstrap => Some(self.rankings.with_weights(self.weights(kind, seed))),
        };
        let rankings = rankings.as_ref().unwrap_or(&self.rankings);
        let tree = Tree::fit_with_encoding(encoding, features, rankings, &params, None, interrupt)?;
        Ok(ForestTree { tree, kind, seed })
    }

    /// The weights of a tree's rows: those of the rankings, for a bootstrap tree times the number of draws of the row.
    pub(crate) fn weights(&self, kind: TreeKind, seed: u64) -> Weights {
        let ranking_weights = self.rankings.weights();
        if kind == TreeKind::ExtraTrees {
            return ranking_weights.clone();
        }
        let rows: Vec<usize> = (0..self.rankings.len())
            .filter(|&row| ranking_weights.get(row) > 0.0)
            .collect();
        let mut weights = vec![0.0; self.rankings.len()];
        for drawn in bootstrap_draws(seed, rows.len()) {
            let row = rows[drawn];
            weights[row] += ranking_weights.get(row);
        }
        Weights::Each(weights)
    }

    /// Number of trees.
    #[must_use]
    pub fn trees(&self) -> usize {
        self.members.len()
    }

    /// Number of leaves of all trees together.
    fn leaves(&self) -> usize {
        self.members.iter().map(|member| member.tree.leaves()).sum()
    }

    /// The tree with this index.
    #[must_use]
    pub fn tree(&self, index: usize) -> Option<&Tree> {
        self.members.get(index).map(|member| &member.tree)
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The training rankings.
    #[must_use]
    pub fn rankings(&self) -> &Rankings {
        &self.rankings
    }

    /// Impurity-based importance per feature, averaged over the trees and normalised to sum 1; all 0 if no split
    /// decreases the impurity.
    #[must_use]
    pub fn feature_importances(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.features];
        for member in &self.members {
            for (sum, importance) in sums.iter_mut().zip(member.tree.feature_importances()) {
                *sum += importance;
            }
        }
        let total: f64 = sums.iter().sum();
        if total > 0.0 {
            for sum in &mut sums {
                *sum /= total;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn trees_with_a_shared_encoding_equal_trees_grown_alone() {
        let rows = 300;
        let x = Array2::from_shape_fn((rows, 4), |(row, column)| {
            ((row * (7 + column) + row * row / 11) % 23) as f64
        });
        let y = Array2::from_shape_fn((rows, 4), |(row, label)| {
            1 + i64::from((row * row / 5 + row * label) % 3 != label % 3) * i64::from(label > 0)
        });
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        // These weights sum to three times the number of rankings, which is more than the score tables of the shared
        // encoding cover.
        let heavy: Vec<f64> = (0..rows).map(|row| (row % 7) as f64).collect();
        for weights in [None, Some(&heavy[..])] {
            let rankings = Rankings::new(y.view(), weights, &Interrupt::never()).unwrap();
            let tree = TreeOptions {
                max_features: Some(2),
                ..TreeOptions::default()
            };
            let options = ForestOptions {
                variant: ForestVariant::Mixed,
                tree,
                seed: 4,
            };
            let jobs = Jobs {
                n_jobs: 2,
                interrupt: &Interrupt::never(),
            };
            let mut forest = Forest::new(rankings.clone(), 4);
            forest.grow(&features, &options, 6, jobs).unwrap();
            for (index, member) in forest.members.iter().enumerate() {
                let alone = forest
                    .grow_tree(
                        &SharedEncoding::default(),
                        &features,
                        &options,
                        index,
                        &Interrupt::never(),
                    )
                    .unwrap();
                assert_eq!(member, &alone);
            }
        }
    }

    #[test]
    fn the_estimated_time_grows_with_rows_and_pairs() {
        let estimate = |rows, labels| {
            let y = Array2::<i64>::ones((rows, labels));
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            Forest::new(rankings, 1).nanoseconds_per_tree()
        };
        assert_eq!(estimate(600, 5), 3 * estimate(200, 5));
        assert_eq!(estimate(1, 40) - estimate(1, 2), 779 * 16);
    }
}
