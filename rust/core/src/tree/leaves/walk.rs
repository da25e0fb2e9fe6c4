//! [`ShareWalk`]: smoothed pair shares of chosen nodes, computed in one traversal from the root. The pair shares of a
//! node are, per pair of labels, the shares of its rows that rank the first label before, tied with or after the
//! second.
//!
//! The smoothed shares of a node depend on all its ancestors. They are not stored: the traversal keeps only the shares
//! of the nodes on its stack, so memory does not grow with the number of nodes.

use crate::error::Result;
use crate::pairs::{pair_count, BytePairCounter, PairShares, RowPairCounter};
use crate::rankings::Rankings;
use crate::run::{self, Interrupt, Jobs, Work};
use crate::weights::Weights;

use super::node_shares::NodeShares;
use super::share_formula::ShrinkageRule;
use super::shrinkage::Shrinkage;
use crate::tree::model::Tree;

/// Subtrees with at most this many training rows are traversed by one thread.
const ROWS_PER_TASK: usize = 2000;

/// Traverses a tree and computes the smoothed shares of the requested nodes.
pub(crate) struct ShareWalk<'a> {
    tree: &'a Tree,
    rows: RowPairCounter<'a>,
    shrinkage: Shrinkage,
    /// Strength of the shrinkage per pair; set by [`Self::start`].
    strengths: Vec<f64>,
    /// Per node: whether the traversal needs it.
    use_of: Vec<NodeUse>,
    interrupt: Interrupt,
}

/// Whether a traversal needs a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeUse {
    Unused,
    /// An ancestor of a requested node.
    Passed,
    Requested,
}

/// A node on the stack of the traversal, with its shares.
struct PendingShares {
    node: u32,
    smoothed: NodeShares,
}

/// Buffers reused during a traversal.
#[derive(Default)]
struct WalkBuffers {
    /// Shares of nodes that are no longer needed.
    free: Vec<NodeShares>,
    /// Counts the pairs of a few rows, one byte per count.
    bytes: BytePairCounter,
}

impl WalkBuffers {
    /// Takes a buffer with arbitrary contents.
    fn take(&mut self, labels: usize) -> Result<NodeShares> {
        self.free.pop().map_or_else(|| NodeShares::new(labels), Ok)
    }
}

impl<'a> ShareWalk<'a> {
    /// Prepares the traversal to `nodes`. `weights` are those that the tree was grown with.
    pub(crate) fn new(
        tree: &'a Tree,
        rankings: &'a Rankings,
        weights: &'a Weights,
        shrinkage: Shrinkage,
        nodes: impl Iterator<Item = u32>,
        interrupt: &Interrupt,
    ) -> Self {
        let mut use_of = vec![NodeUse::Unused; tree.nodes().len()];
        for requested in nodes {
            let mut node = requested;
            while use_of[node as usize] == NodeUse::Unused {
                use_of[node as usize] = NodeUse::Passed;
                node = tree.node(node).parent;
            }
            use_of[requested as usize] = NodeUse::Requested;
        }
        Self {
            tree,
            rows: RowPairCounter::new(rankings, weights),
            shrinkage,
            strengths: Vec::new(),
            use_of,
            interrupt: interrupt.clone(),
        }
    }

    /// Calls `visit` with each requested node and its shares, in an order that depends on the tree only.
    pub(crate) fn visit(
        mut self,
        mut visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let mut buffers = WalkBuffers::default();
        let root = self.start(&mut buffers)?;
        self.walk(root, &mut buffers, &mut visit)
    }

    /// Computes `f` for each requested node, in parallel. The result is indexed by node, with `None` for all other
    /// nodes.
    pub(crate) fn map<S, T: Send>(
        mut self,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, u32, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<Option<T>>> {
        let mut buffers = WalkBuffers::default();
        let mut tops = vec![self.start(&mut buffers)?];
        let mut subtrees = Vec::new();
        while let Some(top) = tops.pop() {
            let is_large = self.tree.node(top.node).rows as usize > ROWS_PER_TASK;
            if is_large && !self.is_requested(top.node) {
                self.push_children(top, &mut buffers, &mut tops)?;
            } else {
                subtrees.push(top);
            }
        }
        let this = &self;
        // An estimate per subtree: every row is counted once per level, for all pairs at once.
        let rows = self.tree.node(0).rows as usize / subtrees.len().max(1);
        let nanoseconds = rows * pair_count(self.tree.labels());
        let parts = run::map(
            jobs,
            Work::new(subtrees.len(), nanoseconds),
            || (state(), WalkBuffers::default()),
            |(state, buffers), item| {
                let mut found = Vec::new();
                let top = PendingShares {
                    node: subtrees[item].node,
                    smoothed: subtrees[item].smoothed.clone(),
                };
                this.walk(top, buffers, &mut |node, shares| {
                    found.push((node, f(state, node, shares)?));
                    Ok(())
                })?;
                Ok(found)
            },
        )?;
        let mut by_node: Vec<Option<T>> = Vec::new();
        by_node.resize_with(self.tree.nodes().len(), || None);
        for (node, value) in parts.into_iter().flatten() {
            by_node[node as usize] = Some(value);
        }
        Ok(by_node)
    }

    /// Counts the pairs of the root and computes the strength per pair.
    fn start(&mut self, buffers: &mut WalkBuffers) -> Result<PendingShares> {
        let mut smoothed = buffers.take(self.tree.labels())?;
        let rows = self.tree.node_rows(0);
        let counts = &mut smoothed.counts;
        self.rows
            .count(rows, counts, &mut buffers.bytes, &self.interrupt)?;
        let [before, tied, after] = smoothed.counts.planes();
        let seen = before
            .iter()
            .zip(tied)
            .zip(after)
            .map(|((b, t), a)| b + t + a);
        self.strengths = match self.shrinkage {
            Shrinkage::None => seen.map(|_| 0.0).collect(),
            Shrinkage::MEstimate { strength } => seen.map(|_| strength).collect(),
            Shrinkage::Path { strength } => {
                let weight = self.tree.node(0).weight;
                seen.map(|seen| strength * (seen / weight).sqrt()).collect()
            }
        };
        smoothed.smooth_root(&ShrinkageRule {
            shrinkage: self.shrinkage,
            strengths: &self.strengths,
            weights: None,
        });
        Ok(PendingShares { node: 0, smoothed })
    }

    /// Visits the requested nodes among `top` and its descendants.
    fn walk(
        &self,
        top: PendingShares,
        buffers: &mut WalkBuffers,
        visit: &mut dyn FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let mut stack = vec![top];
        while let Some(pending) = stack.pop() {
            self.interrupt.check()?;
            if self.is_requested(pending.node) {
                visit(pending.node, &pending.smoothed.shares)?;
            }
            let mut children = self.tree.children(pending.node);
            if children.any(|child| self.requires(child)) {
                self.push_children(pending, buffers, &mut stack)?;
            } else {
                buffers.free.push(pending.smoothed);
            }
        }
        Ok(())
    }

    /// Pushes the required children onto the stack, the largest first, so that the stack stays short.
    fn push_children(
        &self,
        parent: PendingShares,
        buffers: &mut WalkBuffers,
        stack: &mut Vec<PendingShares>,
    ) -> Result<()> {
        let mut children: Vec<u32> = self.tree.children(parent.node).collect();
        children.sort_by_key(|&child| std::cmp::Reverse(self.tree.node(child).rows));
        if let (&[large, small], true) = (children.as_slice(), self.rows.is_exact()) {
            return self.push_two_children(parent, [large, small], buffers, stack);
        }
        for node in children.into_iter().filter(|&child| self.requires(child)) {
            let mut smoothed = buffers.take(self.tree.labels())?;
            let rows = self.tree.node_rows(node);
            let counts = &mut smoothed.counts;
            self.rows
                .count(rows, counts, &mut buffers.bytes, &self.interrupt)?;
            smoothed.smooth(&self.rule(node), &parent.smoothed);
            stack.push(PendingShares { node, smoothed });
        }
        buffers.free.push(parent.smoothed);
        Ok(())
    }

    /// As [`Self::push_children`] for two children, if sums of weights are exact: counts the pairs of the small child,
    /// and subtracts them from those of the parent to get those of the large child.
    fn push_two_children(
        &self,
        mut parent: PendingShares,
        [large, small]: [u32; 2],
        buffers: &mut WalkBuffers,
        stack: &mut Vec<PendingShares>,
    ) -> Result<()> {
        let mut smoothed = buffers.take(self.tree.labels())?;
        let (rows, weight) = (self.tree.node_rows(small), self.tree.node(small).weight);
        let bytes = &mut buffers.bytes;
        let in_bytes = self.rows.count_in_bytes(rows, weight, bytes);
        if !in_bytes {
            let counts = &mut smoothed.counts;
            self.rows.count(rows, counts, bytes, &self.interrupt)?;
        }
        if self.requires(small) {
            let rule = self.rule(small);
            if in_bytes {
                smoothed.smooth_counts(&rule, bytes.table().planes(), &parent.smoothed);
                if !self.tree.node(small).is_leaf() {
                    smoothed.set_counts(bytes.table().planes());
                }
            } else {
                smoothed.smooth(&rule, &parent.smoothed);
            }
        }
        if self.requires(large) {
            let (node, rule) = (&mut parent.smoothed, self.rule(large));
            if in_bytes {
                node.replace_by_sibling(&rule, bytes.table().planes());
            } else {
                node.replace_by_sibling(&rule, smoothed.counts.planes());
            }
        }
        for (node, smoothed) in [(large, parent.smoothed), (small, smoothed)] {
            if self.requires(node) {
                stack.push(PendingShares { node, smoothed });
            } else {
                buffers.free.push(smoothed);
            }
        }
        Ok(())
    }

    /// Whether a node is requested or an ancestor of a requested node.
    fn requires(&self, node: u32) -> bool {
        self.use_of[node as usize] != NodeUse::Unused
    }

    fn is_requested(&self, node: u32) -> bool {
        self.use_of[node as usize] == NodeUse::Requested
    }

    /// The shrinkage rule of a node other than the root.
    fn rule(&self, node: u32) -> ShrinkageRule<'_> {
        let weight = |node: u32| self.tree.node(node).weight;
        let parent = self.tree.node(node).parent;
        ShrinkageRule {
            shrinkage: self.shrinkage,
            strengths: &self.strengths,
            weights: (self.rows.is_exact_and_complete()).then(|| [weight(node), weight(parent)]),
        }
    }
}
