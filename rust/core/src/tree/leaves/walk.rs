//! Pair shares of leaves, computed on the way down from the root.
//!
//! Smoothed shares of a leaf depend on all nodes above it. They are not stored: a walk through the tree carries those
//! of the nodes on its path, so that the memory does not grow with the tree.

use crate::error::Result;
use crate::pairs::{ByteCounter, PairShares, RowCounter};
use crate::parallel::{run, Jobs};
use crate::rankings::Rankings;
use crate::weights::Weights;

use super::node_shares::NodeShares;
use super::rules::ShrinkageRule;
use super::shrinkage::Shrinkage;
use crate::tree::model::Tree;

/// A subtree of fewer rows is walked through by one thread.
const ROWS_AT_ONCE: usize = 2000;

/// Walks through a tree that was grown on these rankings.
pub(crate) struct LeafWalk<'a> {
    tree: &'a Tree,
    rows: RowCounter<'a>,
    shrinkage: Shrinkage,
    /// Strength for each pair.
    strengths: Vec<f64>,
    /// Whether the node lies on the path to a requested leaf.
    needed: Vec<bool>,
}

/// A node on the walk's stack, with its shares.
struct PendingShares {
    node: u32,
    smoothed: NodeShares,
}

/// Buffers reused during a walk.
#[derive(Default)]
struct Buffers {
    free: Vec<NodeShares>,
    bytes: ByteCounter,
}

impl Buffers {
    fn smoothed(&mut self, labels: usize) -> Result<NodeShares> {
        self.free.pop().map_or_else(|| NodeShares::new(labels), Ok)
    }
}

impl<'a> LeafWalk<'a> {
    /// Prepares the walk to some leaves. The weights are those that the tree was grown with.
    pub(crate) fn new(
        tree: &'a Tree,
        rankings: &'a Rankings,
        weights: &'a Weights,
        shrinkage: Shrinkage,
        leaves: impl Iterator<Item = u32>,
    ) -> Self {
        let mut needed = vec![false; tree.nodes().len()];
        for leaf in leaves {
            let mut node = leaf;
            while !needed[node as usize] {
                needed[node as usize] = true;
                node = tree.node(node).parent;
            }
        }
        Self {
            tree,
            rows: RowCounter::new(rankings, weights),
            shrinkage,
            strengths: Vec::new(),
            needed,
        }
    }

    /// Calls `visit` with each of the leaves and its shares, in an order that only depends on the tree.
    pub(crate) fn visit(
        mut self,
        mut visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let mut buffers = Buffers::default();
        let root = self.root(&mut buffers)?;
        self.walk(root, &mut buffers, &mut visit)
    }

    /// Computes `f` for each of the leaves on several threads; by node in the result, empty for other nodes.
    pub(crate) fn map<S, T: Send>(
        mut self,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, u32, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<Option<T>>> {
        let mut buffers = Buffers::default();
        let mut tops = vec![self.root(&mut buffers)?];
        let mut subtrees = Vec::new();
        while let Some(top) = tops.pop() {
            let large = self.tree.node(top.node).rows as usize > ROWS_AT_ONCE;
            if large && !self.tree.node(top.node).is_leaf() {
                self.descend(top, &mut buffers, &mut tops)?;
            } else {
                subtrees.push(top);
            }
        }
        let this = &self;
        let parts = run(
            Jobs { chunk: 1, ..jobs },
            subtrees.len(),
            || (state(), Buffers::default()),
            |(state, buffers), item| {
                let mut found = Vec::new();
                let top = PendingShares {
                    node: subtrees[item].node,
                    smoothed: subtrees[item].smoothed.clone(),
                };
                this.walk(top, buffers, &mut |leaf, shares| {
                    found.push((leaf, f(state, leaf, shares)?));
                    Ok(())
                })?;
                Ok(found)
            },
        )?;
        let mut by_node: Vec<Option<T>> = Vec::new();
        by_node.resize_with(self.tree.nodes().len(), || None);
        for (leaf, value) in parts.into_iter().flatten() {
            by_node[leaf as usize] = Some(value);
        }
        Ok(by_node)
    }

    /// Counts the root and settles the strength for each pair.
    fn root(&mut self, buffers: &mut Buffers) -> Result<PendingShares> {
        let mut smoothed = buffers.smoothed(self.tree.labels())?;
        let rows = self.tree.node_rows(0);
        self.rows
            .count(rows, &mut smoothed.counts, &mut buffers.bytes);
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
        smoothed.fill_root(&ShrinkageRule {
            shrinkage: self.shrinkage,
            strengths: &self.strengths,
            weights: None,
        });
        Ok(PendingShares { node: 0, smoothed })
    }

    fn walk(
        &self,
        top: PendingShares,
        buffers: &mut Buffers,
        visit: &mut dyn FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let mut stack = vec![top];
        while let Some(pending) = stack.pop() {
            if self.tree.node(pending.node).is_leaf() {
                visit(pending.node, &pending.smoothed.shares)?;
                buffers.free.push(pending.smoothed);
            } else {
                self.descend(pending, buffers, &mut stack)?;
            }
        }
        Ok(())
    }

    /// Puts the children that are needed on the stack, the largest first, which keeps the stack short.
    fn descend(
        &self,
        parent: PendingShares,
        buffers: &mut Buffers,
        stack: &mut Vec<PendingShares>,
    ) -> Result<()> {
        let mut children: Vec<u32> = self.tree.children(parent.node).collect();
        children.sort_by_key(|&child| std::cmp::Reverse(self.tree.node(child).rows));
        if let (&[large, small], true) = (children.as_slice(), self.rows.is_exact()) {
            return self.descend_exactly(parent, [large, small], buffers, stack);
        }
        for node in children.into_iter().filter(|&child| self.is_needed(child)) {
            let mut smoothed = buffers.smoothed(self.tree.labels())?;
            let rows = self.tree.node_rows(node);
            self.rows
                .count(rows, &mut smoothed.counts, &mut buffers.bytes);
            smoothed.fill_below(&self.choice(node), &parent.smoothed);
            stack.push(PendingShares { node, smoothed });
        }
        buffers.free.push(parent.smoothed);
        Ok(())
    }

    /// The same for two children: the small one is counted, and the parent's statistics become those of the large one.
    fn descend_exactly(
        &self,
        mut parent: PendingShares,
        [large, small]: [u32; 2],
        buffers: &mut Buffers,
        stack: &mut Vec<PendingShares>,
    ) -> Result<()> {
        let mut smoothed = buffers.smoothed(self.tree.labels())?;
        let (rows, weight) = (self.tree.node_rows(small), self.tree.node(small).weight);
        let bytes = &mut buffers.bytes;
        let in_bytes = self.rows.count_in_bytes(rows, weight, bytes);
        if !in_bytes {
            self.rows.count(rows, &mut smoothed.counts, bytes);
        }
        if self.is_needed(small) {
            let choice = self.choice(small);
            if in_bytes {
                smoothed.fill_from(&choice, bytes.table().planes(), &parent.smoothed);
                if !self.tree.node(small).is_leaf() {
                    smoothed.set_counts(bytes.table().planes());
                }
            } else {
                smoothed.fill_below(&choice, &parent.smoothed);
            }
        }
        if self.is_needed(large) {
            let (node, choice) = (&mut parent.smoothed, self.choice(large));
            if in_bytes {
                node.become_sibling(&choice, bytes.table().planes());
            } else {
                node.become_sibling(&choice, smoothed.counts.planes());
            }
        }
        for (node, smoothed) in [(large, parent.smoothed), (small, smoothed)] {
            if self.is_needed(node) {
                stack.push(PendingShares { node, smoothed });
            } else {
                buffers.free.push(smoothed);
            }
        }
        Ok(())
    }

    fn is_needed(&self, node: u32) -> bool {
        self.needed[node as usize]
    }

    /// What decides the rule for a node below another one.
    fn choice(&self, node: u32) -> ShrinkageRule<'_> {
        let weight = |node: u32| self.tree.node(node).weight;
        let parent = self.tree.node(node).parent;
        ShrinkageRule {
            shrinkage: self.shrinkage,
            strengths: &self.strengths,
            weights: (self.rows.is_complete()).then(|| [weight(node), weight(parent)]),
        }
    }
}
