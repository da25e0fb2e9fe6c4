//! [`TreeGrower`]: grows one tree of a booster, level by level.

use std::ops::Range;

use crate::error::Result;
use crate::random::child_seed;
use crate::run::{Interrupt, Pool};
use crate::tree::walker::FlatNode;
use crate::weights::Weights;

use super::bin_groups::EdgeRule;
use super::bins::LeftBins;
use super::buffers::SplitBuffers;
use super::candidates::{Boundary, CandidateFeatures, FeatureDraw};
use super::gradient::{DerivativeLines, OUTPUTS};
use super::model::ScoreTree;
use super::params::BoostOptions;
use super::row_sample::RowSample;
use super::scale::Scale;
use super::split_scores::{score_splits, sum_derivatives, SearchNode, SplitScores, GROUPS};

/// Largest change of a score by a leaf.
const CLIP: f64 = 2.0;

/// Estimated time for adding a cache line of derivatives to the sums of one feature.
const NANOSECONDS_PER_LINE: usize = 8;

/// Inputs of one tree.
pub(super) struct TreeGrower<'a> {
    pub(super) sample: &'a RowSample<'a>,
    /// Weights of all training rows.
    pub(super) weights: &'a Weights,
    /// Derivatives of the sampled rows.
    pub(super) lines: &'a DerivativeLines,
    pub(super) scale: Scale,
    pub(super) options: &'a BoostOptions,
    pub(super) buffers: &'a SplitBuffers,
    /// Number of features drawn per node.
    pub(super) features_per_node: usize,
    /// Number of outputs: twice the labels.
    pub(super) outputs: usize,
    pub(super) seed: u64,
}

/// A new tree, with the leaves of the training rows.
pub(super) struct GrownTree {
    pub(super) tree: ScoreTree,
    /// Per training row, sampled or not: the number of its leaf.
    pub(super) leaves: Vec<u32>,
    /// Feature and gain of each split.
    pub(super) gains: Vec<(u32, f64)>,
}

/// Rows in the order of the nodes: the rows of a node are contiguous and ascending.
struct NodeRows {
    /// Sampled rows, as indices into the sample.
    sampled: Vec<u32>,
    /// The other rows, which follow the splits without affecting them.
    others: Vec<u32>,
    /// Scratch space of [`partition_rows`]: as long as the longer of the two lists.
    scratch: Vec<u32>,
}

/// A node that is not split yet, with the ranges of its rows.
struct OpenNode {
    node: usize,
    rows: Range<usize>,
    others: Range<usize>,
    seed: u64,
}

/// The best split of a node.
struct ScoreSplit {
    boundary: Boundary,
    gain: f64,
}

impl ScoreSplit {
    /// Whether missing values go left. If values are missing in the node, their side is learnt. Otherwise they go to
    /// the side with more rows, and right if both sides are equal: `left` of the node's `rows` rows go left.
    fn sends_missing_left(&self, left: usize, rows: usize) -> bool {
        self.boundary.missing_left.unwrap_or(2 * left > rows)
    }
}

impl GrownTree {
    /// Splits a node and returns its children, given the numbers of sampled rows and of other rows that go left.
    fn split(
        &mut self,
        open: &OpenNode,
        split: &ScoreSplit,
        (left, others_left): (usize, usize),
    ) -> [OpenNode; 2] {
        let child = self.tree.nodes.len();
        let Boundary { feature, cut, .. } = split.boundary;
        self.tree.nodes[open.node] = FlatNode {
            threshold: cut.threshold,
            feature: feature as u32,
            child: child as u32,
        };
        self.tree
            .nodes
            .extend([child, child + 1].map(FlatNode::leaf));
        self.tree.missing_left[open.node] = split.sends_missing_left(left, open.rows.len());
        self.tree.missing_left.extend([true; 2]);
        self.gains.push((feature as u32, split.gain));
        let rows = split_range(&open.rows, left);
        let others = split_range(&open.others, others_left);
        std::array::from_fn(|side| OpenNode {
            node: child + side,
            rows: rows[side].clone(),
            others: others[side].clone(),
            seed: child_seed(open.seed, side),
        })
    }
}

/// The first `left` numbers of a range, and the rest.
fn split_range(range: &Range<usize>, left: usize) -> [Range<usize>; 2] {
    let middle = range.start + left;
    [range.start..middle, middle..range.end]
}

impl TreeGrower<'_> {
    /// Grows the tree.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted), checked before each level.
    pub(super) fn grow(&self, pool: Pool, interrupt: &Interrupt) -> Result<GrownTree> {
        let mut rows = NodeRows {
            sampled: (0..self.sample.rows.len() as u32).collect(),
            others: self.sample.others.clone(),
            scratch: vec![0; self.sample.rows.len().max(self.sample.others.len())],
        };
        let mut grown = GrownTree {
            tree: ScoreTree::new(vec![FlatNode::leaf(0)], vec![true], Vec::new(), Vec::new()),
            leaves: vec![0; self.sample.bins.rows()],
            gains: Vec::new(),
        };
        let mut leaves: Vec<OpenNode> = Vec::new();
        let mut level = vec![OpenNode {
            node: 0,
            rows: 0..rows.sampled.len(),
            others: 0..rows.others.len(),
            seed: self.seed,
        }];
        for _ in 0..self.options.max_depth {
            interrupt.check()?;
            let splits = self.best_splits(&level, &rows.sampled, pool);
            let mut next = Vec::new();
            for (open, best) in level.into_iter().zip(splits) {
                let Some(best) = best else {
                    leaves.push(open);
                    continue;
                };
                let left = self.partition(&mut rows, &open, &best);
                next.extend(grown.split(&open, &best, left));
            }
            level = next;
        }
        leaves.append(&mut level);
        leaves.sort_unstable_by_key(|open| open.node);
        self.fill_leaves(&mut grown, &leaves, &rows, pool);
        Ok(grown)
    }

    /// Best split of each node of a level; `None` for a node that becomes a leaf.
    fn best_splits(&self, level: &[OpenNode], rows: &[u32], pool: Pool) -> Vec<Option<ScoreSplit>> {
        let total: usize = level.iter().map(|open| open.rows.len()).sum();
        let per_row = self.features_per_node * NANOSECONDS_PER_LINE;
        let candidates = pool.map(total * per_row, 0..level.len(), |i| {
            let rows = &rows[level[i].rows.clone()];
            self.candidates(rows, level[i].seed)
        });
        let tasks = self.lines.groups().div_ceil(GROUPS);
        let nanoseconds = total * self.lines.groups() * per_row;
        let mut scores = pool.map(nanoseconds, 0..level.len() * tasks, |task| {
            let (node, task) = (task / tasks, task % tasks);
            let Some(candidates) = &candidates[node] else {
                return SplitScores::default();
            };
            let node = SearchNode {
                sample: self.sample,
                rows: &rows[level[node].rows.clone()],
                candidates,
                buffers: self.buffers,
            };
            score_splits(node, self.lines, task * GROUPS, self.scale.ridge)
        });
        candidates
            .into_iter()
            .zip(level)
            .zip(scores.chunks_exact_mut(tasks))
            .map(|((candidates, open), scores)| {
                let candidates = candidates?;
                let best = self.best_split(&candidates, &rows[open.rows.clone()], scores);
                self.buffers.candidates.give_back(candidates);
                best
            })
            .collect()
    }

    fn candidates(&self, rows: &[u32], seed: u64) -> Option<CandidateFeatures> {
        if rows.len() < 2 * self.options.min_samples_leaf {
            return None;
        }
        let draw = FeatureDraw {
            features: self.features_per_node,
            edges: EdgeRule {
                min_samples_leaf: self.options.min_samples_leaf,
                thresholds: self.options.thresholds,
            },
            seed,
        };
        let mut candidates = self.buffers.candidates.take();
        candidates.draw(self.sample, rows, draw);
        if candidates.boundaries() == 0 {
            self.buffers.candidates.give_back(candidates);
            return None;
        }
        Some(candidates)
    }

    /// The first of the best splits, if it improves on the node.
    fn best_split(
        &self,
        candidates: &CandidateFeatures,
        rows: &[u32],
        scores: &mut [SplitScores],
    ) -> Option<ScoreSplit> {
        let whole: f64 = scores.iter().map(|group| group.node).sum();
        let (sums, others) = scores.split_first_mut()?;
        for group in others {
            for (sum, score) in sums.splits.iter_mut().zip(&group.splits) {
                *sum += score;
            }
            self.buffers
                .splits
                .give_back(std::mem::take(&mut group.splits));
        }
        let splits = std::mem::take(&mut sums.splits);
        let worth = largest(&splits);
        let index = splits.iter().position(|&split| split == worth);
        self.buffers.splits.give_back(splits);
        let index = index.filter(|_| worth > whole)?;
        Some(ScoreSplit {
            boundary: candidates.boundary(self.sample, rows, index)?,
            gain: (worth - whole) * self.scale.unit,
        })
    }

    /// Moves the rows of a node that go left to the front, and returns the numbers of such sampled rows and other rows.
    fn partition(&self, rows: &mut NodeRows, open: &OpenNode, best: &ScoreSplit) -> (usize, usize) {
        let Boundary { feature, cut, .. } = best.boundary;
        let bins = self.sample.bins;
        // Without missing values in the node, their side does not matter to the sampled rows.
        let missing_left = best.boundary.missing_left.unwrap_or(false);
        let left_bins = bins.left_bins(feature, cut, missing_left);
        let sampled = &mut rows.sampled[open.rows.clone()];
        let left = partition_rows(
            sampled,
            self.sample.column(feature),
            left_bins,
            &mut rows.scratch,
        );
        let missing_left = best.sends_missing_left(left, open.rows.len());
        let left_bins = bins.left_bins(feature, cut, missing_left);
        let others = &mut rows.others[open.others.clone()];
        (
            left,
            partition_rows(others, bins.column(feature), left_bins, &mut rows.scratch),
        )
    }

    /// Numbers the leaves in the order of their nodes and computes their values: Newton steps, shrunk by the ridge and
    /// the learning rate.
    fn fill_leaves(&self, grown: &mut GrownTree, leaves: &[OpenNode], rows: &NodeRows, pool: Pool) {
        let nanoseconds = rows.sampled.len() * self.lines.groups() * NANOSECONDS_PER_LINE;
        let ridge = self.options.ridge / self.scale.unit;
        let values = pool.map(nanoseconds, 0..leaves.len(), |leaf| {
            let sums = sum_derivatives(&rows.sampled[leaves[leaf].rows.clone()], self.lines);
            let value = |output: usize| {
                let line = &sums[output / OUTPUTS];
                let (gradient, curvature) =
                    (line[output % OUTPUTS], line[output % OUTPUTS + OUTPUTS]);
                let step = self.options.learning_rate * gradient / (curvature + ridge);
                step.clamp(-CLIP, CLIP) as f32
            };
            (0..self.outputs).map(value).collect::<Vec<f32>>()
        });
        let mut covers = vec![0.0; leaves.len()];
        for (number, open) in leaves.iter().enumerate() {
            for &row in &rows.sampled[open.rows.clone()] {
                let row = self.sample.rows[row as usize] as usize;
                grown.leaves[row] = number as u32;
                covers[number] += self.weights.get(row);
            }
            for &row in &rows.others[open.others.clone()] {
                grown.leaves[row as usize] = number as u32;
            }
        }
        let nodes = std::mem::take(&mut grown.tree.nodes);
        let missing_left = std::mem::take(&mut grown.tree.missing_left);
        grown.tree = ScoreTree::new(nodes, missing_left, values.concat(), covers);
    }
}

/// Stable partition: moves the rows whose bins go left to the front and returns their number.
///
/// `scratch` is at least as long as `rows`.
fn partition_rows(
    rows: &mut [u32],
    column: &[u8],
    left_bins: LeftBins,
    scratch: &mut [u32],
) -> usize {
    let (mut left, mut right) = (0, 0);
    for at in 0..rows.len() {
        let row = rows[at];
        // Branch-free: each row is written to both sides and kept on one.
        let goes_left = left_bins.contains(column[row as usize]);
        rows[left] = row;
        scratch[right] = row;
        left += usize::from(goes_left);
        right += usize::from(!goes_left);
    }
    rows[left..].copy_from_slice(&scratch[..right]);
    left
}

/// The largest of some scores, in lanes that compile to vector instructions; −∞ without scores.
fn largest(scores: &[f64]) -> f64 {
    const LANES: usize = 8;
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for chunk in chunks {
        lanes = std::array::from_fn(|lane| larger(lanes[lane], chunk[lane]));
    }
    lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f64::NEG_INFINITY, larger)
}
