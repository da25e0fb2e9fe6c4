//! Forests: many trees on the same rankings, whose pair shares are averaged.

mod bytes;
mod shares;

pub use shares::Voters;

use crate::error::{Error, Result};
use crate::features::Features;
use crate::parallel::{stream, Jobs};
use crate::random::{child_seed, Generator};
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::tree::{SharedEncoding, Splitter, Tree, TreeOptions, TreeParams};
use crate::weights::Weights;

/// What makes the trees of a forest differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Every tree is grown on rows drawn with replacement.
    Bootstrap,
    /// Every tree is grown on all rows, with random thresholds.
    ExtraTrees,
    /// The two in turn, the first one with drawn rows.
    Mixed,
}

impl Variant {
    fn kind(self, tree: usize) -> Kind {
        let draws_rows = match self {
            Self::Bootstrap => true,
            Self::ExtraTrees => false,
            Self::Mixed => tree.is_multiple_of(2),
        };
        if draws_rows {
            Kind::Bootstrap
        } else {
            Kind::ExtraTrees
        }
    }
}

/// How one tree was grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bootstrap,
    ExtraTrees,
}

/// The options of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForestOptions {
    /// What makes the trees differ.
    pub variant: Variant,
    /// Options of the trees. `max_features` holds for trees on drawn rows only: random thresholds look at all
    /// features. Splitter, seed and threads are the forest's business.
    pub tree: TreeOptions,
    /// Seed of all draws.
    pub seed: u64,
}

/// A forest with the rankings that it was grown on.
///
/// A tree keeps its nodes and rows, and no shares: those are computed when they are asked for, so that the memory is
/// that of the trees. Tree i depends on the seed and on i only.
///
/// References: L. Breiman, *Random forests*, Machine Learning 45, 2001; P. Geurts, D. Ernst and L. Wehenkel, *Extremely
/// randomized trees*, Machine Learning 63, 2006.
///
/// # Examples
/// ```
/// use bucketrank_core::forest::{Forest, ForestOptions, Variant};
/// use bucketrank_core::parallel::Jobs;
/// use bucketrank_core::{features::Features, rankings::Rankings, tree::TreeOptions};
/// use bucketrank_core::run::Interrupt;
/// use ndarray::array;
///
/// let features = Features::new(array![[0.0], [1.0], [2.0], [3.0]].view(), &Interrupt::never())?;
/// let rankings = Rankings::new(array![[1, 2], [1, 2], [2, 1], [2, 1_i64]].view(), None)?;
/// let options = ForestOptions { variant: Variant::Mixed, tree: TreeOptions::default(), seed: 1 };
/// let jobs = Jobs { n_jobs: 1, chunk: 1, interrupt: &Interrupt::never() };
/// let mut forest = Forest::new(rankings, features.columns());
/// forest.grow(&features, &options, 10, jobs)?;
/// assert_eq!(forest.trees(), 10);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    features: usize,
    rankings: Rankings,
    members: Vec<Member>,
}

/// A tree and what its weights can be computed from again.
#[derive(Debug, Clone, PartialEq)]
struct Member {
    tree: Tree,
    kind: Kind,
    seed: u64,
}

impl Forest {
    /// A forest without trees.
    #[must_use]
    pub fn new(rankings: Rankings, features: usize) -> Self {
        Self {
            features,
            rankings,
            members: Vec::new(),
        }
    }

    /// Grows more trees, until there are `trees`, in parallel. The trees do not depend on the number of threads, nor on
    /// how many were there before.
    ///
    /// # Errors
    /// As [`Tree::fit`]; an error leaves the forest as it was.
    pub fn grow(
        &mut self,
        features: &Features,
        options: &ForestOptions,
        trees: usize,
        jobs: Jobs<'_>,
    ) -> Result<()> {
        if features.columns() != self.features {
            return Err(Error::FeatureCount {
                found: features.columns(),
                expected: self.features,
            });
        }
        let first = self.members.len();
        let wanted = trees.saturating_sub(first);
        let mut grown: Vec<Option<Result<Member>>> = Vec::new();
        grown.resize_with(wanted, || None);
        let mut failed = false;
        let this = &*self;
        let start = SharedEncoding::default();
        stream(
            jobs,
            wanted,
            |item| this.member(&start, features, options, first + item, jobs.interrupt),
            &mut |item, member: Result<Member>| {
                failed |= member.is_err();
                grown[item] = Some(member);
                !failed
            },
        )?;
        // The first error is that of the first tree that has one: trees are taken in order.
        let grown: Vec<Member> = grown.into_iter().flatten().collect::<Result<_>>()?;
        self.members.extend(grown);
        Ok(())
    }

    fn member(
        &self,
        start: &SharedEncoding,
        features: &Features,
        options: &ForestOptions,
        index: usize,
        interrupt: &Interrupt,
    ) -> Result<Member> {
        let kind = options.variant.kind(index);
        let seed = child_seed(options.seed, index);
        let tree = match kind {
            Kind::Bootstrap => TreeOptions {
                splitter: Splitter::BestBinary,
                ..options.tree
            },
            Kind::ExtraTrees => TreeOptions {
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
            Kind::ExtraTrees => None,
            Kind::Bootstrap => Some(self.rankings.with_weights(self.weights(kind, seed))),
        };
        let rankings = rankings.as_ref().unwrap_or(&self.rankings);
        let tree = Tree::fit_from(start, features, rankings, &params, None, interrupt)?;
        Ok(Member { tree, kind, seed })
    }

    /// The weights that a tree was grown with.
    fn weights(&self, kind: Kind, seed: u64) -> Weights {
        let own = self.rankings.weights();
        if kind == Kind::ExtraTrees {
            return own.clone();
        }
        let rows: Vec<usize> = (0..self.rankings.len())
            .filter(|&row| own.get(row) > 0.0)
            .collect();
        let mut weights = vec![0.0; self.rankings.len()];
        // Another stream than that of the tree's own draws.
        let mut generator = Generator::new(child_seed(seed, 1));
        for _ in &rows {
            let row = rows[generator.below(rows.len())];
            weights[row] += own.get(row);
        }
        Weights::Each(weights)
    }

    /// Number of trees.
    #[must_use]
    pub fn trees(&self) -> usize {
        self.members.len()
    }

    /// One of the trees.
    #[must_use]
    pub fn tree(&self, index: usize) -> Option<&Tree> {
        self.members.get(index).map(|member| &member.tree)
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The rankings that the forest was grown on.
    #[must_use]
    pub fn rankings(&self) -> &Rankings {
        &self.rankings
    }

    /// Mean over the trees of the share of each feature in the decrease of impurity; all 0 when nothing decreases.
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
    fn trees_that_share_their_start_are_those_grown_alone() {
        let rows = 300;
        let x = Array2::from_shape_fn((rows, 4), |(row, column)| {
            ((row * (7 + column) + row * row / 11) % 23) as f64
        });
        let y = Array2::from_shape_fn((rows, 4), |(row, label)| {
            1 + i64::from((row * row / 5 + row * label) % 3 != label % 3) * i64::from(label > 0)
        });
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        // Three times as many rows as rankings: more than the shared tables are made for.
        let heavy: Vec<f64> = (0..rows).map(|row| (row % 7) as f64).collect();
        for weights in [None, Some(&heavy[..])] {
            let rankings = Rankings::new(y.view(), weights).unwrap();
            let tree = TreeOptions {
                max_features: Some(2),
                ..TreeOptions::default()
            };
            let options = ForestOptions {
                variant: Variant::Mixed,
                tree,
                seed: 4,
            };
            let jobs = Jobs {
                n_jobs: 2,
                chunk: 1,
                interrupt: &Interrupt::never(),
            };
            let mut forest = Forest::new(rankings.clone(), 4);
            forest.grow(&features, &options, 6, jobs).unwrap();
            for (index, member) in forest.members.iter().enumerate() {
                let alone = forest
                    .member(
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
}
