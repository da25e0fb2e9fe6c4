//! Growing one tree of a booster, level by level.

use crate::parallel::ordered;
use crate::tree::child_seed;

use super::bins::Cut;
use super::candidates::{Candidates, Draw};
use super::drawn::Drawn;
use super::gradient::{Lines, OUTPUTS};
use super::model::{Node, ScoreTree, LEAF};
use super::params::BoostOptions;
use super::scale::Scale;
use super::split_scores::{score, totals, Considered, Scores, GROUPS};

/// Leaves add at most this much to a score.
const CLIP: f64 = 2.0;

/// In place of the leaf of a row that the tree has not seen.
pub(super) const NOT_DRAWN: u32 = u32::MAX;

/// Lines of derivatives that are worth a second thread.
const MANY_LINES: usize = 1 << 12;

/// What a tree is grown from.
pub(super) struct Task<'a> {
    pub(super) drawn: &'a Drawn<'a>,
    /// Their derivatives.
    pub(super) lines: &'a Lines,
    pub(super) scale: Scale,
    pub(super) options: &'a BoostOptions,
    /// Number of features that are drawn for a node.
    pub(super) features_per_node: usize,
    /// Number of outputs: twice the labels.
    pub(super) outputs: usize,
    pub(super) seed: u64,
}

/// A tree that has just been grown.
pub(super) struct GrownTree {
    pub(super) tree: ScoreTree,
    /// For each inner node the last bin that goes left.
    pub(super) last_left: Vec<u8>,
    /// For each row, drawn or not, the number of its leaf or [`NOT_DRAWN`].
    pub(super) leaves: Vec<u32>,
    /// Feature and gain of each split.
    pub(super) gains: Vec<(u32, f64)>,
}

/// A node that may be split: where it is, and where its rows are.
struct Open {
    node: usize,
    rows: std::ops::Range<usize>,
    seed: u64,
}

struct Best {
    feature: usize,
    cut: Cut,
    gain: f64,
}

impl Task<'_> {
    /// Grows the tree; `spread` when the caller runs in a pool of several threads.
    pub(super) fn grow(&self, spread: bool) -> GrownTree {
        // Places among the drawn rows: the rows of a node stand together, in ascending order.
        let mut places: Vec<u32> = (0..self.drawn.rows.len() as u32).collect();
        let mut grown = GrownTree {
            tree: ScoreTree::default(),
            last_left: vec![0],
            leaves: vec![NOT_DRAWN; self.drawn.bins.rows()],
            gains: Vec::new(),
        };
        let unfinished = Node {
            threshold: 0.0,
            feature: LEAF,
            child: 0,
        };
        grown.tree.nodes.push(unfinished);
        let mut leaves: Vec<Open> = Vec::new();
        let mut level = vec![Open {
            node: 0,
            rows: 0..places.len(),
            seed: self.seed,
        }];
        for _ in 0..self.options.max_depth {
            let splits = self.best_splits(&level, &places, spread);
            let mut next = Vec::new();
            for (open, best) in level.into_iter().zip(splits) {
                let Some(best) = best else {
                    leaves.push(open);
                    continue;
                };
                let left = self.partition(&mut places[open.rows.clone()], &best);
                let child = grown.tree.nodes.len();
                let middle = open.rows.start + left;
                for (number, rows) in [open.rows.start..middle, middle..open.rows.end]
                    .into_iter()
                    .enumerate()
                {
                    grown.tree.nodes.push(unfinished);
                    grown.last_left.push(0);
                    next.push(Open {
                        node: child + number,
                        rows,
                        seed: child_seed(open.seed, number),
                    });
                }
                grown.tree.nodes[open.node] = Node {
                    threshold: best.cut.threshold,
                    feature: best.feature as u32,
                    child: child as u32,
                };
                grown.last_left[open.node] = best.cut.last_left;
                grown.gains.push((best.feature as u32, best.gain));
            }
            level = next;
        }
        leaves.append(&mut level);
        leaves.sort_unstable_by_key(|open| open.node);
        self.fill_leaves(&mut grown, &leaves, &places, spread);
        grown
    }

    /// The best split of each node of a level.
    fn best_splits(&self, level: &[Open], places: &[u32], spread: bool) -> Vec<Option<Best>> {
        let rows: usize = level.iter().map(|open| open.rows.len()).sum();
        let spread = spread && rows * self.lines.groups() >= MANY_LINES;
        let candidates = ordered(spread, level.len(), |i| {
            let rows = &places[level[i].rows.clone()];
            self.candidates(rows, level[i].seed)
        });
        let tasks = self.lines.groups().div_ceil(GROUPS);
        let scores = ordered(spread, level.len() * tasks, |task| {
            let (node, task) = (task / tasks, task % tasks);
            let Some(candidates) = &candidates[node] else {
                return Scores::default();
            };
            let node = Considered {
                drawn: self.drawn,
                rows: &places[level[node].rows.clone()],
                candidates,
            };
            score(node, self.lines, task * GROUPS, self.scale.ridge)
        });
        candidates
            .into_iter()
            .zip(level)
            .zip(scores.chunks_exact(tasks))
            .map(|((candidates, open), scores)| {
                self.best(&candidates?, &places[open.rows.clone()], scores)
            })
            .collect()
    }

    fn candidates(&self, places: &[u32], seed: u64) -> Option<Candidates> {
        if places.len() < 2 * self.options.min_samples_leaf {
            return None;
        }
        let draw = Draw {
            features: self.features_per_node,
            min_samples_leaf: self.options.min_samples_leaf,
            seed,
        };
        let candidates = Candidates::draw(self.drawn, places, draw);
        (candidates.boundaries() > 0).then_some(candidates)
    }

    /// The first of the best splits, if it is better than none.
    fn best(&self, candidates: &Candidates, places: &[u32], scores: &[Scores]) -> Option<Best> {
        let whole: f64 = scores.iter().map(|group| group.node).sum();
        let mut best: Option<(usize, f64)> = None;
        for index in 0..scores[0].splits.len() {
            let worth: f64 = scores.iter().map(|group| group.splits[index]).sum();
            if worth > best.map_or(whole, |(_, worth)| worth) {
                best = Some((index, worth));
            }
        }
        let (index, worth) = best?;
        let (feature, cut) = candidates.cut(self.drawn, places, index)?;
        Some(Best {
            feature,
            cut,
            gain: (worth - whole) * self.scale.unit,
        })
    }

    /// Moves the rows that go left to the front, keeping the order on both sides, and returns how many they are.
    fn partition(&self, places: &mut [u32], best: &Best) -> usize {
        let column = self.drawn.column(best.feature);
        let mut others = vec![0; places.len()];
        let (mut left, mut right) = (0, 0);
        for at in 0..places.len() {
            let place = places[at];
            // Written to both sides and kept on one: the processor need not guess.
            let goes_left = column[place as usize] <= best.cut.last_left;
            places[left] = place;
            others[right] = place;
            left += usize::from(goes_left);
            right += usize::from(!goes_left);
        }
        places[left..].copy_from_slice(&others[..right]);
        left
    }

    /// Numbers the leaves and gives each a step of Newton's method, shortened by the ridge and the learning rate.
    fn fill_leaves(&self, grown: &mut GrownTree, leaves: &[Open], places: &[u32], spread: bool) {
        let spread = spread && places.len() * self.lines.groups() >= MANY_LINES;
        let ridge = self.options.ridge / self.scale.unit;
        let values = ordered(spread, leaves.len(), |leaf| {
            let sums = totals(&places[leaves[leaf].rows.clone()], self.lines);
            let value = |output: usize| {
                let line = &sums[output / OUTPUTS];
                let (gradient, curvature) =
                    (line[output % OUTPUTS], line[output % OUTPUTS + OUTPUTS]);
                let step = self.options.learning_rate * gradient / (curvature + ridge);
                step.clamp(-CLIP, CLIP) as f32
            };
            (0..self.outputs).map(value).collect::<Vec<f32>>()
        });
        for (number, open) in leaves.iter().enumerate() {
            grown.tree.nodes[open.node].child = number as u32;
            for &place in &places[open.rows.clone()] {
                grown.leaves[self.drawn.rows[place as usize] as usize] = number as u32;
            }
        }
        grown.tree.values = values.concat();
    }
}
