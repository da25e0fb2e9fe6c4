//! [`FittedTree`]: a tree with its training rankings, so that an aggregator (a method that combines rankings into one)
//! can be applied to the rankings of a leaf.

use crate::aggregate::{estimate_cost, Aggregator, Evidence, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::features::Features;
use crate::pairs::PairOrderMatrix;
use crate::rankings::Rankings;
use crate::run::{self, Interrupt, Jobs, Work};

use super::leaves::soft::SoftRouting;
use super::model::Tree;
use super::params::TreeParams;
use super::split::criterion::{Consensus, Sample};

/// A tree and its training rankings, so that any aggregator can be applied to any leaf.
///
/// Invariants, checked also when a tree is read from bytes: tree and rankings have the same numbers of labels and rows,
/// and the leaves hold exactly the rows of positive weight.
///
/// # Examples
/// ```
/// use bucketrank_core::aggregate::{Aggregator, Borda};
/// use bucketrank_core::{features::Features, rankings::Rankings, tree::{FittedTree, TreeParams}};
/// use bucketrank_core::run::Interrupt;
/// use ndarray::array;
///
/// let features = Features::new(array![[0.0], [1.0], [2.0]].view(), &Interrupt::never())?;
/// let rankings = Rankings::new(array![[1, 2], [1, 2], [2, 1_i64]].view(), None, &Interrupt::never())?;
/// let borda = Aggregator::Borda(Borda::new(0.0)?);
/// let fitted = FittedTree::fit(&features, rankings, &TreeParams::default(), &borda, &Interrupt::never())?;
/// let leaves: Vec<u32> = fitted.tree().leaf_indices().collect();
/// let orders = fitted.consensus(&borda, &leaves, 1, &Interrupt::never())?;
/// assert_eq!(orders[0].positions(), [1, 2]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FittedTree {
    tree: Tree,
    rankings: Rankings,
    soft: Option<SoftRouting>,
}

impl FittedTree {
    /// Grows a tree and keeps its rankings. The aggregator is used only by criteria that compare rows with a consensus.
    ///
    /// # Errors
    /// The errors of [`Tree::fit`].
    pub fn fit(
        features: &Features,
        rankings: Rankings,
        params: &TreeParams,
        aggregator: &Aggregator,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let tree = Tree::fit(features, &rankings, params, Some(aggregator), interrupt)?;
        Ok(Self {
            tree,
            rankings,
            soft: None,
        })
    }

    /// Adds soft routing (a row near a threshold follows both branches), computed from the training features.
    ///
    /// # Errors
    /// The errors of [`SoftRouting::new`].
    pub fn with_soft_routing(mut self, features: &Features) -> Result<Self> {
        self.soft = Some(SoftRouting::new(&self.tree, features)?);
        Ok(self)
    }

    /// Joins the parts of a saved tree.
    pub(crate) fn from_parts(tree: Tree, rankings: Rankings, soft: Option<SoftRouting>) -> Self {
        Self {
            tree,
            rankings,
            soft,
        }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The training rankings.
    #[must_use]
    pub fn rankings(&self) -> &Rankings {
        &self.rankings
    }

    /// The soft routing, if present.
    #[must_use]
    pub fn soft_routing(&self) -> Option<&SoftRouting> {
        self.soft.as_ref()
    }

    /// Consensus of the training rows of each node in `nodes`, on `n_jobs` threads (0: all). The result does not depend
    /// on `n_jobs`. `interrupt` ends it early.
    ///
    /// # Errors
    /// The errors of [`Aggregator::aggregate`], or [`crate::error::Error::Interrupted`].
    ///
    /// # Panics
    /// If an index is not a node of the tree.
    pub fn consensus(
        &self,
        aggregator: &Aggregator,
        nodes: &[u32],
        n_jobs: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<BucketOrder>> {
        let rows: usize = nodes
            .iter()
            .map(|&node| self.tree.node_rows(node).len())
            .sum();
        let rows_per_node = rows / nodes.len().max(1);
        let nanoseconds = estimate_cost(aggregator, rows_per_node, self.tree.labels());
        let work = Work::new(nodes.len(), nanoseconds);
        // Buffers are created once per thread; creating them may fail, so each thread keeps the result.
        let state = || {
            let evidence = Evidence::new(self.tree.labels(), aggregator.needs());
            (evidence, Workspace::new(interrupt))
        };
        let jobs = Jobs { n_jobs, interrupt };
        run::map(jobs, work, state, |(evidence, workspace), item| {
            let evidence = evidence.as_mut().map_err(|error| error.clone())?;
            let rows = self.rows_of(nodes[item]);
            aggregator.aggregate_rows(&self.rankings, rows, evidence, workspace)
        })
    }

    /// Pair order matrix of the training rows of each node in `nodes`: per pair of labels the share of the rows that
    /// place the first before the second, where ties count half.
    ///
    /// # Errors
    /// Too many labels for pair statistics, or [`crate::error::Error::Interrupted`].
    ///
    /// # Panics
    /// If an index is not a node of the tree.
    pub fn pair_orders(
        &self,
        nodes: &[u32],
        interrupt: &Interrupt,
    ) -> Result<Vec<PairOrderMatrix>> {
        let mut evidence = Evidence::new(self.tree.labels(), Needs::PairOrder)?;
        let matrices = nodes.iter().map(|&node| {
            interrupt.check()?;
            evidence.fill(&self.rankings, self.rows_of(node), interrupt)?;
            Ok(evidence.pair_order().clone())
        });
        matrices.collect()
    }

    fn rows_of(&self, node: u32) -> impl Iterator<Item = usize> + Clone + '_ {
        self.tree.node_rows(node).iter().map(|&row| row as usize)
    }
}

impl Consensus for Aggregator {
    fn consensus(&self, sample: &Sample<'_>) -> Result<BucketOrder> {
        let evidence = if self.needs() == Needs::PairOrder {
            Evidence::from_pair_order(PairOrderMatrix::from_counts(sample.counts))
        } else {
            let mut evidence = Evidence::new(sample.counts.labels(), self.needs())?;
            let rows = sample.rows.iter().map(|&row| row as usize);
            evidence.fill(sample.rankings, rows, &Interrupt::never())?;
            evidence
        };
        self.aggregate(&evidence, &mut Workspace::default())
    }
}
