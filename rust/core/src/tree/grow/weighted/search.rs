//! [`WeightedSearch`]: the search for the best split of a node with weighted rows.

use crate::error::Result;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};

use super::sums::WeightedSums;
use crate::tree::grow::coded::large_node::{rank, LargeNode};
use crate::tree::grow::coded::missing_first::SortedFeature;
use crate::tree::grow::coded::pair_codes::PairCodes;
use crate::tree::grow::coded::random_threshold::random_cut;
use crate::tree::grow::coded::search_buffers::SearchBuffers;
use crate::tree::grow::GrowTask;
use crate::tree::missing_side::MissingSide;
use crate::tree::params::Splitter;
use crate::tree::split::best_split::{BestSplit, SplitCandidate};
use crate::tree::split::criterion::EntropyScore;

/// Bound on the difference between an estimated and an exact improvement, for sums of weights whose logarithms are at
/// most `magnitude` in absolute value. Both use the same sums; only terms w·log2 w are rounded differently, by a few
/// units in the last place.
pub(super) fn estimate_error(magnitude: f64) -> f64 {
    16.0 * f64::EPSILON * (16.0 + magnitude)
}

/// Buffers reused between nodes.
#[derive(Default)]
pub(super) struct WeightedBuffers {
    /// Only its cuts are used.
    search: SearchBuffers,
    /// The rows of the node, those with missing values first.
    rotated: Vec<u64>,
    sums: WeightedSums,
    /// Left sides of the cuts, in ascending order of the cuts.
    left: Vec<SideScore>,
    /// Right sides of the cuts, in descending order of the cuts.
    right: Vec<SideScore>,
}

/// Weight of the rows on one side of a cut, and the estimated sum of the entropies of all pairs of labels in them.
type SideScore = (f64, f64);

/// Searches the splits of one node. A cut is a position in the rows sorted by a feature, that is, a candidate
/// threshold. Candidates are compared by estimated improvements. Where the errors of the estimates could change the
/// choice between two candidates, both are scored exactly, so the chosen split is that of the general engine.
pub(super) struct WeightedSearch<'a> {
    pub(super) task: &'a GrowTask<'a>,
    pub(super) node: &'a LargeNode,
    /// Weights of the training rows.
    pub(super) weights: &'a [f64],
    pub(super) entropy: &'a EntropyScore,
    /// Bound on the error of estimated improvements.
    pub(super) error: f64,
    /// Number of pairs of labels.
    pub(super) pairs: f64,
    /// Weight of the node.
    pub(super) weight: f64,
    /// Exact score and impurity of the node.
    pub(super) node_score: i64,
    pub(super) impurity: f64,
}

impl WeightedSearch<'_> {
    /// Finds the best split; `None` if no split is possible.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn find_best_split(
        &self,
        buffers: &mut WeightedBuffers,
        meter: &mut WorkMeter,
    ) -> Result<Option<SplitCandidate>> {
        let mut best = BestSplit::new();
        for feature in self.node.draw_features(self.task.options.max_features) {
            let order = self.node.sorted_feature(feature);
            self.search_order(order, buffers, &mut best, meter)?;
            if order.missing == MissingSide::Right {
                let mut rotated = std::mem::take(&mut buffers.rotated);
                let result = self.search_order(
                    order.with_missing_first(&mut rotated),
                    buffers,
                    &mut best,
                    meter,
                );
                buffers.rotated = rotated;
                result?;
            }
        }
        Ok(best.choose_confirmed(self.error, |split| self.score_exactly(split)))
    }

    /// Estimates the improvement of each cut of a feature with missing values on one side, and adds each to `best`.
    fn search_order(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut WeightedBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let min_rows = self.task.options.min_samples_leaf;
        let WeightedBuffers {
            search,
            sums,
            left,
            right,
            ..
        } = buffers;
        let rows = order.entries.len();
        if self.is_random() {
            let cut = random_cut(self.task.features, self.node, order, min_rows);
            search.cuts.clear();
            search.cuts.push(0);
            search.cuts.extend(cut.map(|cut| cut as u32));
            search.cuts.push(rows as u32);
        } else {
            search.find_cuts(order.entries, min_rows);
            if order.missing == MissingSide::Left {
                search.drop_missing_cut(rows - order.present());
            }
        }
        let cuts = &search.cuts[1..search.cuts.len() - 1];
        if cuts.is_empty() {
            return Ok(());
        }
        let columns = self.node.pair_codes.columns();
        meter.add((columns * (2 * rows + 16 * cuts.len())) as u64)?;
        let mut score = |direction: Direction, out: &mut Vec<SideScore>| {
            dispatch(ScoreSides {
                pair_codes: &self.node.pair_codes,
                weights: self.weights,
                entries: order.entries,
                cuts,
                direction,
                sums,
                out,
            });
        };
        score(Direction::Left, left);
        score(self.right_direction(), right);
        for ((&cut, &left), &right) in cuts.iter().zip(&*left).zip(right.iter().rev()) {
            let children_entropy = (left.0 * left.1 + right.0 * right.1) / self.weight;
            let entries = order.entries;
            best.add(SplitCandidate {
                feature: self.node.features[order.feature],
                ranks: (rank(entries[cut as usize - 1]), rank(entries[cut as usize])),
                missing: order.missing,
                improvement: self.impurity - children_entropy / self.pairs,
            });
        }
        Ok(())
    }

    fn is_random(&self) -> bool {
        self.task.options.splitter == Splitter::RandomBinary
    }

    /// Direction for the right side: ascending for a random cut, as in the general engine.
    fn right_direction(&self) -> Direction {
        if self.is_random() {
            Direction::RightAscending
        } else {
            Direction::Right
        }
    }

    /// The improvement of a split as computed by the general engine.
    fn score_exactly(&self, split: &SplitCandidate) -> f64 {
        let feature = self.node.features.partition_point(|&f| f < split.feature);
        let order = self.node.sorted_feature(feature);
        let mut rotated = Vec::new();
        let (order, missing_first) = if split.missing == MissingSide::Left {
            let missing = order.entries.len() - order.present();
            (order.with_missing_first(&mut rotated), missing)
        } else {
            (order, 0)
        };
        let is_left = |&entry: &u64| rank(entry) <= split.ranks.0;
        let cut = missing_first + order.entries[missing_first..].partition_point(is_left);
        let pair_codes = &*self.node.pair_codes;
        let mut sums = WeightedSums::default();
        let mut score = |direction: Direction| {
            let mut out = Vec::new();
            ScoreSides {
                pair_codes,
                weights: self.weights,
                entries: order.entries,
                cuts: &[cut as u32],
                direction,
                sums: &mut sums,
                out: &mut out,
            }
            .run();
            let multiplicities = pair_codes.multiplicity.iter().copied();
            let columns = multiplicities.zip(sums.triples());
            let score = self.entropy.score(self.weight, sums.weight, columns);
            (sums.weight, score)
        };
        let sides = [score(Direction::Left), score(self.right_direction())];
        self.entropy
            .improvement((self.weight, self.node_score), &sides)
    }
}

/// Which side of the cuts is scored, and the order in which its rows are added.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    /// The left side, ascending.
    Left,
    /// The right side, descending.
    Right,
    /// The right side of one cut, ascending.
    RightAscending,
}

/// Kernel that scores one side of each cut, in ascending order of the cuts for the left side and in descending order
/// for the right side.
struct ScoreSides<'a> {
    pair_codes: &'a PairCodes,
    weights: &'a [f64],
    entries: &'a [u64],
    cuts: &'a [u32],
    direction: Direction,
    sums: &'a mut WeightedSums,
    out: &'a mut Vec<SideScore>,
}

impl Kernel for ScoreSides<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (sums, out, pair_codes) = (self.sums, self.out, self.pair_codes);
        sums.reset(pair_codes.columns());
        out.clear();
        let mut last = if self.direction == Direction::Right {
            self.entries.len()
        } else {
            0
        };
        for at in 0..self.cuts.len() {
            let cut = match self.direction {
                Direction::Left | Direction::RightAscending => self.cuts[at],
                Direction::Right => self.cuts[self.cuts.len() - 1 - at],
            } as usize;
            match self.direction {
                Direction::Left => {
                    for &entry in &self.entries[last..cut] {
                        sums.add(pair_codes, self.weights, entry);
                    }
                }
                Direction::Right => {
                    for &entry in self.entries[cut..last].iter().rev() {
                        sums.add(pair_codes, self.weights, entry);
                    }
                }
                Direction::RightAscending => {
                    for &entry in &self.entries[cut..] {
                        sums.add(pair_codes, self.weights, entry);
                    }
                }
            }
            last = cut;
            out.push((sums.weight, sums.estimate_entropy(pair_codes)));
        }
    }
}
