//! The fast engine: binary entropy trees on rows that count once, or a whole number of times.
//!
//! Large nodes work on a matrix of pair codes, small ones on sets of rows as bits. Every score is an exact integer or
//! is computed by a fixed sequence of operations, so the tree is the one of the general engine.

mod aligned;
pub(crate) mod block;
mod count;
mod filter;
pub(crate) mod node;
mod random;
mod repeat;
pub(crate) mod score;
mod search;
mod start;

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Result;
use crate::parallel;
use crate::run::WorkMeter;
use crate::weights::Weights;

pub(crate) use self::start::SharedEncoding;

use self::filter::UpperBound;
use self::node::{row, LargeNode, SpareBuffers};
use self::repeat::{list_once, repeated_rows};
use self::score::ScoreTables;
use self::search::{SearchBuffers, SplitSearch};
use crate::tree::draw::draw_features;
use crate::tree::grow::bitset::{self, BitsetGrower};
use crate::tree::grow::{GrowTask, Grown, Subtree, LEAF};
use crate::tree::params::{Criterion, Splitter};
use crate::tree::split::candidate::{BestSplit, SplitCandidate};

/// The most memory for pair codes; beyond it the general engine takes over.
const MAX_CODES: usize = 4 << 30;

/// Codes up to this size stay in the processor's cache: a few rows of them need not be brought together.
const NEAR_CODES: usize = 16 << 20;

/// Smaller subtrees are grown by one thread: handing them over would take longer.
const MIN_PARALLEL: usize = 1000;

/// Grows the tree; `None` when it is not one for this engine.
pub(crate) fn grow(task: &GrowTask<'_>) -> Option<Result<Subtree>> {
    let options = task.options;
    let binary = matches!(
        options.splitter,
        Splitter::BestBinary | Splitter::RandomBinary
    );
    if options.criterion != Criterion::Entropy || !binary {
        return None;
    }
    let rows = repeated_rows(task)?;
    let pairs = task.rankings.labels() * (task.rankings.labels() - 1) / 2;
    let planes = if task.rankings.is_complete() { 1 } else { 2 };
    if task.rankings.len() * (pairs + block::LANES) > MAX_CODES / planes {
        return None;
    }
    Some(grow_rows(task, rows))
}

fn grow_rows(task: &GrowTask<'_>, rows: Vec<u32>) -> Result<Subtree> {
    let made = task.start.get(task.rankings);
    // Weights make more rows than the shared tables know.
    let own =
        (rows.len() > task.rankings.len()).then(|| ScoreTables::new(task.rankings, rows.len()));
    let grower = Grower {
        task,
        score: own.as_ref().unwrap_or(&made.score),
    };
    let root = LargeNode::root(
        task.features,
        Arc::clone(&made.block),
        &rows,
        task.options.seed,
    );
    let n_jobs = task.options.n_jobs;
    let mut tree = if n_jobs == 1 || root.len() < MIN_PARALLEL {
        grower.grow(root)?
    } else {
        parallel::install(n_jobs, task.interrupt, || grower.grow_parallel(root))?
    };
    if matches!(task.rankings.weights(), Weights::Each(_)) {
        list_once(&mut tree);
    }
    Ok(tree)
}

struct Grower<'a> {
    task: &'a GrowTask<'a>,
    score: &'a ScoreTables,
}

/// A stretch of the tree in preorder.
enum Piece {
    Grown(Subtree),
    Pending(LargeNode),
}

impl Grower<'_> {
    /// Grows a subtree on one thread.
    fn grow(&self, root: LargeNode) -> Result<Subtree> {
        let mut out = Subtree::default();
        let mut meter = WorkMeter::new(self.task.interrupt);
        let mut small = BitsetGrower::new(self.task.features, self.task.options, self.score);
        let mut scratch = SearchBuffers::default();
        let mut spare = SpareBuffers::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            if node.len() <= bitset::MAX_ROWS {
                small.grow(&node, &mut out, &mut meter)?;
                spare.give(node.order);
                continue;
            }
            let search = |known: &SplitSearch<'_>, drawn: &[usize]| {
                let mut best = BestSplit::new();
                for &feature in drawn {
                    known.search(feature, &mut scratch, &mut best, &mut meter)?;
                }
                Ok(best)
            };
            if let Some(split) = self.split(&mut node, &mut out, search)? {
                let [left, right] = node.divide(&split, &mut spare);
                stack.push(right);
                stack.push(left);
            }
        }
        Ok(out)
    }

    /// Grows a tree on all threads of the pool: first the top, its features in parallel, then the subtrees below
    /// it in parallel. The pieces are put together in preorder, so the tree is the same.
    fn grow_parallel(&self, root: LargeNode) -> Result<Subtree> {
        let large = (root.len() / (8 * self.task.options.n_jobs)).max(MIN_PARALLEL);
        let mut pieces = Vec::new();
        let mut spare = SpareBuffers::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            if node.len() < large {
                pieces.push(Piece::Pending(node));
                continue;
            }
            let mut top = Subtree::default();
            let search = |known: &SplitSearch<'_>, drawn: &[usize]| {
                drawn
                    .par_iter()
                    .map(|&feature| {
                        let mut best = BestSplit::new();
                        let mut meter = WorkMeter::new(self.task.interrupt);
                        known.search(
                            feature,
                            &mut SearchBuffers::default(),
                            &mut best,
                            &mut meter,
                        )?;
                        Ok(best)
                    })
                    .try_reduce(BestSplit::new, |mut a, b| {
                        a.merge(&b);
                        Ok(a)
                    })
            };
            let split = self.split(&mut node, &mut top, search)?;
            pieces.push(Piece::Grown(top));
            if let Some(split) = split {
                let [left, right] = node.divide(&split, &mut spare);
                stack.push(right);
                stack.push(left);
            }
        }
        let grown: Vec<Subtree> = pieces
            .into_par_iter()
            .map(|piece| match piece {
                Piece::Grown(subtree) => Ok(subtree),
                Piece::Pending(node) => self.grow(node),
            })
            .collect::<Result<_>>()?;
        let mut out = Subtree::default();
        for subtree in grown {
            out.nodes.extend(subtree.nodes);
            out.thresholds.extend(subtree.thresholds);
            out.rows.extend(subtree.rows);
        }
        Ok(out)
    }

    /// Writes down a large node and returns its split, if it has one.
    /// `search` finds the best among the cuts of some of the node's features.
    fn split(
        &self,
        node: &mut LargeNode,
        out: &mut Subtree,
        search: impl FnOnce(&SplitSearch<'_>, &[usize]) -> Result<BestSplit>,
    ) -> Result<Option<SplitCandidate>> {
        let options = self.task.options;
        let kept = impure(node);
        let columns = node.block.columns() as u32;
        let few = 4 * kept.len() <= 3 * columns as usize;
        // Without bounds every cut is scored: putting equal columns together always pays.
        let apart_matters = !node.block.seen.is_empty() || node.block.codes.len() > NEAR_CODES;
        let far_apart = 4 * node.len() <= node.block.rows.len() && apart_matters;
        if !kept.is_empty() && (few || far_apart) {
            if few || node.len() <= block::MANY_ROWS {
                node.repack(&kept);
            } else {
                // Whole rows are copied faster than most of their columns.
                node.repack(&(0..columns).collect::<Vec<_>>());
            }
        }
        let rows = node.len();
        let sum = self
            .score
            .sides(&node.block, (rows, &node.totals), (rows, &node.totals))
            .0;
        let leaf = options.max_depth.is_some_and(|max| node.depth >= max)
            || rows < options.min_samples_split
            || kept.is_empty();
        let split = if leaf {
            None
        } else {
            let labels = self.task.rankings.labels();
            let known = SplitSearch {
                node,
                score: self.score,
                filter: UpperBound::new(&node.block, rows, &node.totals, labels * (labels - 1) / 2),
                sum,
                min_samples_leaf: options.min_samples_leaf,
                random: (options.splitter == Splitter::RandomBinary).then_some(self.task.features),
            };
            search(&known, &self.drawn(node))?.winner()
        };
        out.nodes.push(Grown {
            rows: rows as u32,
            weight: rows as f64,
            impurity: self.score.impurity(rows, sum),
            feature: split.map_or(LEAF, |split| split.feature),
            thresholds: u32::from(split.is_some()),
        });
        match split {
            None => {
                let rows = node.members.iter();
                out.rows
                    .extend(rows.map(|&entry| node.block.rows[row(entry)]));
            }
            Some(split) if options.splitter == Splitter::RandomBinary => {
                let at = node.features.partition_point(|&f| f < split.feature);
                out.thresholds
                    .push(random::threshold(self.task.features, node, at));
            }
            Some(split) => out.thresholds.push(self.task.features.threshold(
                split.feature as usize,
                split.ranks.0,
                split.ranks.1,
            )),
        }
        Ok(split)
    }

    /// Which of the node's features to look at.
    fn drawn(&self, node: &LargeNode) -> Vec<usize> {
        let mut drawn = node.features.clone();
        draw_features(&mut drawn, self.task.options.max_features, node.seed);
        (0..node.features.len())
            .filter(|&index| drawn.binary_search(&node.features[index]).is_ok())
            .collect()
    }
}

/// The columns that are not pure.
fn impure(node: &LargeNode) -> Vec<u32> {
    let (rows, totals) = (node.len() as u32, &node.totals);
    let is_impure = |&column: &u32| {
        let at = column as usize;
        let seen = totals.seen.get(at).copied().unwrap_or(rows);
        let (before, after) = (totals.before[at], totals.after[at]);
        before.max(after).max(seen - before - after) < seen
    };
    (0..node.block.columns() as u32).filter(is_impure).collect()
}
