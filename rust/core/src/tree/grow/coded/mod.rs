//! The fast engine, for binary entropy trees with unit or small integer weights.
//!
//! Large nodes are split on a matrix of pair codes (one byte per row and pair of labels: before, after or tied), nodes
//! of at most 64 rows by the bitset engine. A column of the matrix stands for one pair of labels, or for several
//! equivalent ones. Every score is an exact integer or is computed by a fixed sequence of operations, so the tree
//! equals that of the general engine.

mod column_counts;
mod cut_splits;
pub(crate) mod large_node;
mod listed_cuts;
pub(crate) mod missing_first;
pub(crate) mod pair_codes;
pub(crate) mod random_threshold;
mod repeated_rows;
pub(crate) mod score_tables;
pub(crate) mod search_buffers;
mod shared_encoding;
mod split_search;
mod upper_bound;

use std::sync::Arc;

use crate::error::Result;
use crate::pairs::pair_count;
use crate::run::{self, require_memory, Jobs, Pool, WorkMeter};
use crate::weights::Weights;

pub(crate) use self::shared_encoding::SharedEncoding;

use self::large_node::{row, LargeNode, SpareBuffers};
use self::repeated_rows::{count_distinct, expand_weights, remove_repetitions};
use self::score_tables::ScoreTables;
use self::search_buffers::SearchBuffers;
use self::split_search::SplitSearch;
use self::upper_bound::UpperBound;
use crate::tree::grow::bitset::{self, BitsetGrower};
use crate::tree::grow::{GrowTask, PreorderNode, Subtree, LEAF};
use crate::tree::missing_side::MissingSide;
use crate::tree::params::{Criterion, Splitter};
use crate::tree::split::best_split::{BestSplit, SplitCandidate};

/// Maximal memory for pair codes, in bytes; larger data use the general engine.
const MAX_CODE_BYTES: usize = 4 << 30;

/// Pair codes of at most this many bytes fit in the processor's cache, where scattered rows need no repacking.
const CACHE_BYTES: usize = 16 << 20;

/// Subtrees of fewer rows are grown by one thread, because scheduling would take longer than growing.
const MIN_PARALLEL_ROWS: usize = 1000;

/// Grows the tree; `None` if this engine does not support the options, the weights or the size of the data.
pub(crate) fn grow(task: &GrowTask<'_>) -> Option<Result<Subtree>> {
    if !is_supported(task) {
        return None;
    }
    Some(grow_rows(task, expand_weights(task)?))
}

/// Whether the tree can be grown on pair codes, given the options and the size of the data.
pub(crate) fn is_supported(task: &GrowTask<'_>) -> bool {
    let options = task.options;
    let binary = matches!(
        options.splitter,
        Splitter::BestBinary | Splitter::RandomBinary
    );
    if options.criterion != Criterion::Entropy || !binary {
        return false;
    }
    let pairs = task.rankings.labels() * (task.rankings.labels() - 1) / 2;
    // With missing labels, a second matrix marks the pairs that a row ranks.
    let matrices = if task.rankings.is_complete() { 1 } else { 2 };
    let row = pairs + pair_codes::LANES;
    // Deeper nodes have copies of about half the size, then of a quarter, and so on: about twice the size in all.
    let bytes = require_memory::<u8>("the pair codes", &[task.rankings.len(), row, 2 * matrices]);
    bytes.is_ok_and(|bytes| bytes / 2 <= MAX_CODE_BYTES)
}

fn grow_rows(task: &GrowTask<'_>, rows: Vec<u32>) -> Result<Subtree> {
    let encoding = task.encoding.get(task.rankings);
    // Rows repeated by their weights may be more than the shared tables serve.
    let own =
        (rows.len() > task.rankings.len()).then(|| ScoreTables::new(task.rankings, rows.len()));
    let grower = CodedGrower {
        task,
        scores: own.as_ref().unwrap_or(&encoding.scores),
    };
    let root = LargeNode::root(
        task.features,
        Arc::clone(&encoding.pair_codes),
        &rows,
        task.options.seed,
    );
    let jobs = Jobs {
        n_jobs: task.options.n_jobs,
        interrupt: task.interrupt,
    };
    let nanoseconds = grower.estimate_nanoseconds(root.len());
    let mut tree = run::scope(jobs, nanoseconds as u64, |pool| {
        if pool.threads() == 1 {
            grower.grow(root)
        } else {
            grower.grow_parallel(root, pool)
        }
    })?;
    if matches!(task.rankings.weights(), Weights::Each(_)) {
        remove_repetitions(&mut tree);
    }
    Ok(tree)
}

struct CodedGrower<'a> {
    task: &'a GrowTask<'a>,
    scores: &'a ScoreTables,
}

/// Consecutive nodes of the tree in preorder: grown nodes, or the root of a subtree that is still to be grown.
enum PreorderPiece {
    Subtree(Subtree),
    Pending(LargeNode),
}

impl CodedGrower<'_> {
    /// Estimated time for growing a subtree of this many rows: each row is scored for all pairs on about eight levels.
    fn estimate_nanoseconds(&self, rows: usize) -> usize {
        rows * (16 + pair_count(self.task.rankings.labels())) * 16
    }

    /// Grows a subtree on one thread.
    fn grow(&self, root: LargeNode) -> Result<Subtree> {
        let mut out = Subtree::default();
        let mut meter = WorkMeter::new(self.task.interrupt);
        let mut small = BitsetGrower::new(self.task.features, self.task.options, self.scores);
        let mut buffers = SearchBuffers::default();
        let mut spare = SpareBuffers::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            if node.len() <= bitset::MAX_ROWS {
                small.grow(&node, &mut out, &mut meter)?;
                spare.put_back(node.order);
                continue;
            }
            let search_features = |search: &SplitSearch<'_>, drawn: &[usize]| {
                let mut best = BestSplit::new();
                for &feature in drawn {
                    search.search_feature(feature, &mut buffers, &mut best, &mut meter)?;
                }
                Ok(best)
            };
            if let Some(split) = self.split_node(&mut node, &mut out, search_features)? {
                let [left, right] = node.split(&split, &mut spare);
                stack.push(right);
                stack.push(left);
            }
        }
        Ok(out)
    }

    /// Grows a tree on all threads of the pool: first the large nodes, with features searched in parallel, then the
    /// subtrees below them in parallel. Concatenating the pieces in preorder gives the same tree as one thread.
    fn grow_parallel(&self, root: LargeNode, pool: Pool) -> Result<Subtree> {
        let total = self.estimate_nanoseconds(root.len());
        let min_rows = (root.len() / (8 * pool.threads())).max(MIN_PARALLEL_ROWS);
        let mut pieces = Vec::new();
        let mut spare = SpareBuffers::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            if node.len() < min_rows {
                pieces.push(PreorderPiece::Pending(node));
                continue;
            }
            let mut top = Subtree::default();
            let search_features = |search: &SplitSearch<'_>, drawn: &[usize]| {
                let level = self.estimate_nanoseconds(search.node.len()) / 8;
                let found = pool.map(level, drawn.to_vec(), |feature| {
                    let mut best = BestSplit::new();
                    let mut meter = WorkMeter::new(self.task.interrupt);
                    let mut buffers = SearchBuffers::default();
                    search.search_feature(feature, &mut buffers, &mut best, &mut meter)?;
                    Ok(best)
                });
                let mut best = BestSplit::new();
                for other in found {
                    best.merge(&other?);
                }
                Ok(best)
            };
            let split = self.split_node(&mut node, &mut top, search_features)?;
            pieces.push(PreorderPiece::Subtree(top));
            if let Some(split) = split {
                let [left, right] = node.split(&split, &mut spare);
                stack.push(right);
                stack.push(left);
            }
        }
        let grown = pool.map(total, pieces, |piece| match piece {
            PreorderPiece::Subtree(subtree) => Ok(subtree),
            PreorderPiece::Pending(node) => self.grow(node),
        });
        let mut out = Subtree::default();
        for subtree in grown {
            let subtree = subtree?;
            out.nodes.extend(subtree.nodes);
            out.thresholds.extend(subtree.thresholds);
            out.rows.extend(subtree.rows);
        }
        Ok(out)
    }

    /// Appends a large node to `out` and returns its split; `None` for a leaf. `search_features` evaluates the
    /// candidate thresholds of the given features.
    fn split_node(
        &self,
        node: &mut LargeNode,
        out: &mut Subtree,
        search_features: impl FnOnce(&SplitSearch<'_>, &[usize]) -> Result<BestSplit>,
    ) -> Result<Option<SplitCandidate>> {
        let options = self.task.options;
        let impure = find_impure_columns(node);
        let columns = node.pair_codes.columns() as u32;
        let few_columns = 4 * impure.len() <= 3 * columns as usize;
        // With missing labels every candidate is scored, so repacking and merging equal columns always saves time.
        let locality_matters =
            !node.pair_codes.is_complete() || node.pair_codes.codes.len() > CACHE_BYTES;
        let is_scattered = 4 * node.len() <= node.pair_codes.rows.len() && locality_matters;
        if !impure.is_empty() && (few_columns || is_scattered) {
            if few_columns || node.len() <= pair_codes::MAX_GROUPING_ROWS {
                node.repack(&impure);
            } else {
                // Copying whole rows is faster than copying most of their columns.
                node.repack(&(0..columns).collect::<Vec<_>>());
            }
        }
        let rows = node.len();
        let node_score = self
            .scores
            .score_sides(&node.pair_codes, (rows, &node.totals), (rows, &node.totals))
            .0;
        let is_leaf = options.max_depth.is_some_and(|max| node.depth >= max)
            || rows < options.min_samples_split
            || impure.is_empty()
            || (options.min_samples_split > 2
                && count_distinct(&node.members) < options.min_samples_split);
        let split = if is_leaf {
            None
        } else {
            let labels = self.task.rankings.labels();
            let search = SplitSearch {
                node,
                scores: self.scores,
                upper_bound: UpperBound::new(
                    &node.pair_codes,
                    rows,
                    &node.totals,
                    labels * (labels - 1) / 2,
                ),
                node_score,
                min_samples_leaf: options.min_samples_leaf,
                random_thresholds: (options.splitter == Splitter::RandomBinary)
                    .then_some(self.task.features),
            };
            search_features(&search, &node.draw_features(options.max_features))?.choose()
        };
        out.nodes.push(PreorderNode {
            rows: rows as u32,
            weight: rows as f64,
            impurity: self.scores.impurity(rows, node_score),
            feature: split.map_or(LEAF, |split| split.feature),
            thresholds: u32::from(split.is_some()),
            missing: split.map_or(MissingSide::Heavier, |split| split.missing),
        });
        match split {
            None => {
                let rows = node.members.iter();
                out.rows
                    .extend(rows.map(|&entry| node.pair_codes.rows[row(entry)]));
            }
            Some(split) => out.thresholds.push(threshold_of(self.task, node, &split)),
        }
        Ok(split)
    }
}

/// The threshold of the chosen split of a node.
pub(crate) fn threshold_of(task: &GrowTask<'_>, node: &LargeNode, split: &SplitCandidate) -> f64 {
    if task.options.splitter == Splitter::RandomBinary {
        let at = node.features.partition_point(|&f| f < split.feature);
        return random_threshold::draw_threshold(task.features, node, at);
    }
    let (lower, upper) = split.ranks;
    task.features
        .threshold(split.feature as usize, lower, upper)
}

/// Columns of the pair codes on which the node's rows do not all agree.
fn find_impure_columns(node: &LargeNode) -> Vec<u32> {
    let (rows, totals) = (node.len() as u32, &node.totals);
    let is_impure = |&column: &u32| {
        let at = column as usize;
        let seen = totals.seen.get(at).copied().unwrap_or(rows);
        let (before, after) = (totals.before[at], totals.after[at]);
        before.max(after).max(seen - before - after) < seen
    };
    (0..node.pair_codes.columns() as u32)
        .filter(is_impure)
        .collect()
}
