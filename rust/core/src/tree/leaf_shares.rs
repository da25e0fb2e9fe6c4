//! Pair shares of leaves, computed on the way down from the root.
//!
//! Smoothed shares of a leaf depend on all nodes above it. They are not stored: a walk through the tree carries those
//! of the nodes on its path, so that the memory does not grow with the tree.

use crate::error::Result;
use crate::pairs::{pair_count, PairShares, SquareCounts};
use crate::parallel::{run, Jobs};
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

use super::model::Tree;
use super::shrinkage::{Shrinkage, Smoothed};

/// A subtree of fewer rows is walked through by one thread.
const ROWS_AT_ONCE: usize = 2000;

/// Weights up to this are counted in bytes.
const LARGEST_SMALL: f64 = 64.0;

/// Walks through a tree that was grown on these rankings.
pub(crate) struct LeafShares<'a> {
    tree: &'a Tree,
    rankings: &'a Rankings,
    shrinkage: Shrinkage,
    /// Weights of the rows where the tree has its own, as in a forest.
    weights: &'a Weights,
    /// Whether sums of weights are exact, so that one child can be had by subtraction.
    exact: bool,
    /// Whether all weights are small whole numbers.
    small: bool,
    /// Strength for each pair.
    lambda: Vec<f64>,
    /// Nodes that lead to a leaf that somebody asks for.
    needed: Vec<bool>,
}

/// A node that waits to be visited.
struct Pending {
    node: u32,
    smoothed: Smoothed,
}

/// Memory that a walk uses again and again.
#[derive(Default)]
struct Buffers {
    free: Vec<Smoothed>,
    bytes: SquareCounts,
}

impl<'a> LeafShares<'a> {
    /// Prepares the walk to some leaves.
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
        let exact = match weights {
            Weights::Unit(_) => true,
            Weights::Each(each) => {
                each.iter().all(|weight| weight.fract() == 0.0) && weights.total() < 2_f64.powi(52)
            }
        };
        let small = match weights {
            Weights::Unit(_) => true,
            Weights::Each(each) => exact && each.iter().all(|&weight| weight <= LARGEST_SMALL),
        };
        Self {
            tree,
            rankings,
            shrinkage,
            weights,
            exact,
            small,
            lambda: Vec::new(),
            needed,
        }
    }

    /// Calls `visit` with each of the leaves and its shares, in an order that only depends on the tree.
    pub(crate) fn visit(
        mut self,
        mut visit: impl FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let root = self.root();
        let mut shares = PairShares::unknown(self.tree.labels())?;
        self.walk(root, &mut shares, &mut visit)
    }

    /// Computes `f` for each of the leaves on several threads; by node in the result, empty for other nodes.
    pub(crate) fn map<S, T: Send>(
        mut self,
        jobs: Jobs<'_>,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, u32, &PairShares) -> Result<T> + Sync,
    ) -> Result<Vec<Option<T>>> {
        let root = self.root();
        let mut tops = vec![root];
        let mut subtrees = Vec::new();
        while let Some(top) = tops.pop() {
            let large = self.tree.node(top.node).rows as usize > ROWS_AT_ONCE;
            if large && !self.tree.node(top.node).is_leaf() {
                tops.extend(self.children(&top, &mut Buffers::default()));
            } else {
                subtrees.push(top);
            }
        }
        let this = &self;
        let parts = run(
            Jobs { chunk: 1, ..jobs },
            subtrees.len(),
            || (state(), PairShares::unknown(this.tree.labels())),
            |(state, shares), item| {
                let shares = shares.as_mut().map_err(|error| error.clone())?;
                let mut found = Vec::new();
                let top = Pending {
                    node: subtrees[item].node,
                    smoothed: subtrees[item].smoothed.clone(),
                };
                this.walk(top, shares, &mut |leaf, shares| {
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
    fn root(&mut self) -> Pending {
        let pairs = pair_count(self.tree.labels());
        let mut smoothed = Smoothed::default();
        self.count(0, &mut smoothed.counts, &mut SquareCounts::default());
        self.lambda = vec![0.0; pairs];
        if let Shrinkage::Path { strength } = self.shrinkage {
            let counts = &smoothed.counts;
            for (pair, lambda) in self.lambda.iter_mut().enumerate() {
                let seen = counts[pair] + counts[pairs + pair] + counts[2 * pairs + pair];
                *lambda = strength * (seen / self.tree.node(0).weight).sqrt();
            }
        }
        smoothed.fill_root(self.shrinkage, &self.lambda);
        Pending { node: 0, smoothed }
    }

    fn walk(
        &self,
        top: Pending,
        shares: &mut PairShares,
        visit: &mut dyn FnMut(u32, &PairShares) -> Result<()>,
    ) -> Result<()> {
        let mut stack = vec![top];
        let mut buffers = Buffers::default();
        while let Some(pending) = stack.pop() {
            if !self.needed[pending.node as usize] {
                buffers.free.push(pending.smoothed);
                continue;
            }
            if self.tree.node(pending.node).is_leaf() {
                shares
                    .as_mut_slice()
                    .copy_from_slice(&pending.smoothed.shares);
                visit(pending.node, shares)?;
            } else {
                stack.extend(self.children(&pending, &mut buffers));
            }
            buffers.free.push(pending.smoothed);
        }
        Ok(())
    }

    /// The children that are needed, the largest first: whoever takes the last first never has many waiting.
    fn children(&self, parent: &Pending, buffers: &mut Buffers) -> Vec<Pending> {
        let mut order: Vec<u32> = self.tree.children(parent.node).collect();
        order.sort_by_key(|&child| std::cmp::Reverse(self.tree.node(child).rows));
        let mut children: Vec<Pending> = order
            .into_iter()
            .map(|node| Pending {
                node,
                smoothed: buffers.free.pop().unwrap_or_default(),
            })
            .collect();
        match children.as_mut_slice() {
            [large, small] if self.exact => {
                self.count(small.node, &mut small.smoothed.counts, &mut buffers.bytes);
                let counts = &mut large.smoothed.counts;
                counts.clear();
                let both = parent.smoothed.counts.iter().zip(&small.smoothed.counts);
                counts.extend(both.map(|(parent, small)| parent - small));
            }
            all => {
                for child in all.iter_mut().filter(|c| self.needed[c.node as usize]) {
                    self.count(child.node, &mut child.smoothed.counts, &mut buffers.bytes);
                }
            }
        }
        children.retain(|child| self.needed[child.node as usize]);
        for child in &mut children {
            child
                .smoothed
                .fill(self.shrinkage, &parent.smoothed, &self.lambda);
        }
        children
    }

    /// Counts the rows of a node.
    fn count(&self, node: u32, counts: &mut Vec<f64>, bytes: &mut SquareCounts) {
        counts.clear();
        counts.resize(3 * pair_count(self.tree.labels()), 0.0);
        if self.small {
            self.count_in_bytes(node, counts, bytes);
            return;
        }
        dispatch(Count {
            rankings: self.rankings,
            weights: self.weights,
            rows: self.tree.node_rows(node),
            counts,
        });
    }
}

impl LeafShares<'_> {
    /// Counts rows whose weights are small whole numbers.
    fn count_in_bytes(&self, node: u32, counts: &mut [f64], bytes: &mut SquareCounts) {
        let times = |row: u32| self.weights.get(row as usize) as usize;
        let mut rows = self.tree.node_rows(node);
        while !rows.is_empty() {
            let mut sum = 0;
            let fits = |&&row: &&u32| {
                sum += times(row);
                sum <= SquareCounts::MAX_ROWS
            };
            let (now, later) = rows.split_at(rows.iter().take_while(fits).count());
            rows = later;
            bytes.clear(self.tree.labels());
            let positions = now.iter().map(|&row| {
                let positions = self.rankings.row(row as usize);
                (positions, times(row) as u8)
            });
            bytes.add_rows(positions);
            bytes.add_to(counts);
        }
    }
}

struct Count<'a> {
    rankings: &'a Rankings,
    weights: &'a Weights,
    rows: &'a [u32],
    counts: &'a mut [f64],
}

impl Kernel for Count<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.counts.len() / 3;
        let (before, rest) = self.counts.split_at_mut(pairs);
        let (tied, after) = rest.split_at_mut(pairs);
        for &row in self.rows {
            let weight = self.weights.get(row as usize);
            let positions = self.rankings.row(row as usize);
            let mut start = 0;
            for (u, &pu) in positions.iter().enumerate() {
                let others = &positions[u + 1..];
                let end = start + others.len();
                if pu != MISSING {
                    let counts = before[start..end]
                        .iter_mut()
                        .zip(&mut tied[start..end])
                        .zip(&mut after[start..end]);
                    for (((before, tied), after), &pv) in counts.zip(others) {
                        // MISSING is below every position.
                        *before += if pu < pv { weight } else { 0.0 };
                        *tied += if pu == pv { weight } else { 0.0 };
                        *after += if pu > pv && pv != MISSING {
                            weight
                        } else {
                            0.0
                        };
                    }
                }
                start = end;
            }
        }
    }
}
