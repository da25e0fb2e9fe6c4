//! The fast engine: binary entropy trees on rows that count once.
//!
//! Large nodes work on a matrix of pair codes, small ones on sets of rows as bits. Every score is an exact integer or
//! is computed by a fixed sequence of operations, so the tree is the one of the general engine.

mod best;
mod bits;
mod block;
mod count;
mod node;
mod score;
mod search;
mod small;
mod small_score;

use crate::error::Result;
use crate::weights::Weights;

use self::best::{Best, Candidate};
use self::count::Counts;
use self::node::{row, Node};
use self::score::Score;
use self::search::{Known, Scratch};
use self::small::Small;
use super::draw::{draw_features, Watch};
use super::grow::{Grown, Subtree, Task, LEAF};
use super::params::{Criterion, Splitter};

/// The most memory for pair codes; beyond it the general engine takes over.
const MAX_CODES: usize = 4 << 30;

/// Whether this engine can grow the tree.
pub(super) fn can_grow(task: &Task<'_>) -> bool {
    let pairs = task.rankings.labels() * (task.rankings.labels() - 1) / 2;
    let planes = if task.rankings.is_complete() { 1 } else { 2 };
    task.options.criterion == Criterion::Entropy
        && task.options.splitter == Splitter::BestBinary
        && matches!(task.rankings.weights(), Weights::Unit(_))
        && task.rankings.len() * (pairs + block::LANES) <= MAX_CODES / planes
}

/// Grows the tree.
pub(super) fn grow(task: &Task<'_>) -> Result<Subtree> {
    let score = Score::new(task.rankings);
    let grower = Grower { task, score };
    let root = Node::root(task.features, task.rankings, task.options.seed);
    grower.grow(root)
}

struct Grower<'a> {
    task: &'a Task<'a>,
    score: Score,
}

impl Grower<'_> {
    /// Grows a subtree on one thread.
    fn grow(&self, root: Node) -> Result<Subtree> {
        let mut out = Subtree::default();
        let mut watch = Watch::new(self.task.should_stop);
        let mut small = Small::new(self.task.features, self.task.options, &self.score);
        let mut scratch = Scratch::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            if node.len() <= small::MAX_ROWS {
                small.grow(&node, &mut out, &mut watch)?;
                continue;
            }
            let split = self.split(&mut node, &mut out, &mut scratch, &mut watch)?;
            if let Some(split) = split {
                let [left, right] = node.divide(&split);
                stack.push(right);
                stack.push(left);
            }
        }
        Ok(out)
    }

    /// Writes down a large node and returns its split, if it has one.
    fn split(
        &self,
        node: &mut Node,
        out: &mut Subtree,
        scratch: &mut Scratch,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Candidate>> {
        let options = self.task.options;
        watch.work((node.len() * node.block.stride / 16) as u64)?;
        let mut totals = node.totals();
        let kept = impure(node, &totals);
        let few = 4 * kept.len() <= 3 * node.block.columns();
        if !kept.is_empty() && (few || 4 * node.len() <= node.block.rows.len()) {
            node.repack(&kept);
            totals = node.totals();
        }
        let rows = node.len();
        let sum = self
            .score
            .sides(&node.block, (rows, &totals), (rows, &totals))
            .0;
        let leaf = options.max_depth.is_some_and(|max| node.depth >= max)
            || rows < options.min_samples_split
            || kept.is_empty();
        let split = if leaf {
            None
        } else {
            let known = Known {
                node,
                score: &self.score,
                totals: &totals,
                sum,
                min_samples_leaf: options.min_samples_leaf,
            };
            self.search(&known, scratch, watch)?
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
            Some(split) => out.thresholds.push(self.task.features.threshold(
                split.feature as usize,
                split.ranks.0,
                split.ranks.1,
            )),
        }
        Ok(split)
    }

    fn search(
        &self,
        known: &Known<'_>,
        scratch: &mut Scratch,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Candidate>> {
        let mut drawn = known.node.features.clone();
        draw_features(&mut drawn, self.task.options.max_features, known.node.seed);
        let mut best = Best::new();
        for (index, feature) in known.node.features.iter().enumerate() {
            if drawn.binary_search(feature).is_ok() {
                known.search(index, scratch, &mut best, watch)?;
            }
        }
        Ok(best.winner())
    }
}

/// The columns that are not pure.
fn impure(node: &Node, totals: &Counts) -> Vec<u32> {
    let rows = node.len() as u32;
    let is_impure = |&column: &u32| {
        let at = column as usize;
        let seen = totals.seen.get(at).copied().unwrap_or(rows);
        let (before, after) = (totals.before[at], totals.after[at]);
        before.max(after).max(seen - before - after) < seen
    };
    (0..node.block.columns() as u32).filter(is_impure).collect()
}
