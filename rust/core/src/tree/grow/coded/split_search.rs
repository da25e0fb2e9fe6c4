//! [`SplitSearch`]: the search for the best split of a large node.
//!
//! A cut is a position in the sorted order of a feature between two distinct values, that is, a candidate threshold.

use super::column_counts::ColumnCounts;
use super::cut_rule::{AllRows, CutRule};
use super::large_node::{rank, LargeNode};
use super::missing_first::SortedFeature;
use super::pair_codes::PairCodes;
use super::repeated_rows::cut_range;
use super::score_tables::{ScoreTables, SideScores};
use super::upper_bound::UpperBound;
use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::{BestSplit, SplitCandidate, MARGIN};

/// Searches the cuts of one large node for the best split.
///
/// Read-only during the search, so features can be searched in any order or in parallel.
pub(crate) struct SplitSearch<'a> {
    pub(crate) node: &'a LargeNode,
    pub(crate) scores: &'a ScoreTables,
    /// Cheap bound that prunes most cuts; `None` with missing labels, where it does not hold, and for very large nodes.
    pub(crate) upper_bound: Option<UpperBound>,
    /// Score of the node itself; a split improves it by `node_score` − left − right.
    pub(crate) node_score: i64,
    pub(crate) min_samples_leaf: usize,
    /// Set if the splitter evaluates one random threshold per feature instead of all thresholds.
    pub(crate) random_thresholds: Option<&'a Features>,
}

/// Buffers reused between searches.
#[derive(Default)]
pub(crate) struct SearchBuffers {
    /// All cuts of the feature, ascending, preceded by 0 and followed by the number of rows.
    pub(super) cuts: Vec<u32>,
    /// The cuts at which counts are stored, ascending from 0.
    checkpoints: Vec<u32>,
    /// Per checkpoint the counts of the rows before it.
    counts: Vec<ColumnCounts>,
    /// Per cut except the last: index of the last checkpoint at or before it.
    checkpoint_of: Vec<u32>,
    /// Counts of the rows before the lower end of an interval on the stack, for lower ends that are not checkpoints.
    interval_counts: Vec<ColumnCounts>,
    stack: Vec<Interval>,
    /// The members of a node with missing values first.
    pub(super) rotated: Vec<u64>,
}

/// Approximate number of checkpoints per feature.
const CHECKPOINTS: usize = 64;

/// In intervals of at most this many cuts, a cut that [`UpperBound`] rejects is not scored. In larger intervals every
/// middle cut is scored, because its exact scores tighten the bounds of both halves.
const MAX_PRUNED_CUTS: usize = 16;

/// An open interval of cuts.
#[derive(Clone, Copy)]
struct Interval {
    /// Indices of the excluded end cuts.
    low: usize,
    high: usize,
    /// Index into `interval_counts` of the counts at `low`, unless `low` is a checkpoint.
    slot: usize,
    /// Score of the left side at `low` and of the right side at `high`.
    side_scores: SideScores,
}

impl SplitSearch<'_> {
    /// Evaluates the cuts of one of the node's features and keeps the best in `best`. If values are missing, every cut
    /// is evaluated with them on the right side and on the left side.
    ///
    /// For complete rankings, adding rows never decreases weight × entropy. Between two cuts a < b, the left side
    /// therefore scores at least its score at a, and the right side at least its score at b. This bounds the
    /// improvement of all cuts in the interval: intervals are bisected and pruned when the bound is below the best.
    /// With missing labels the bound does not hold, and every cut is scored.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(crate) fn search_feature(
        &self,
        feature: usize,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let order = self.node.sorted_feature(feature);
        if order.missing == MissingSide::Heavier {
            return self.search_order(order, buffers, best, meter);
        }
        if self.random_thresholds.is_none() && matches!(self.scores, ScoreTables::Complete(_)) {
            return self.search_both_sides(order, buffers, best, meter);
        }
        self.search_order(order, buffers, best, meter)?;
        self.search_missing_left(order, buffers, best, meter)
    }

    /// Evaluates the cuts of a sorted feature.
    pub(super) fn search_order(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        if let Some(features) = self.random_thresholds {
            let counts = buffers.scratch_counts();
            return self.search_random_threshold(features, order, counts, best, meter);
        }
        buffers.find_cuts(order.entries, self.min_samples_leaf);
        if order.missing == MissingSide::Left {
            buffers.drop_missing_cut(order.entries.len() - order.present());
        }
        if buffers.cuts.len() < 3 {
            return Ok(());
        }
        let work = order.entries.len() + buffers.cuts.len() * self.node.pair_codes.columns() / 4;
        meter.add(work as u64)?;
        dispatch(SearchOrder {
            search: self,
            order,
            buffers,
            best,
            meter,
        })
    }

    /// Bisects the cuts of sorted rows with these totals, pruning intervals by their bound. The counts at a cut are
    /// updated from those at the previous checkpoint or at the lower end of the interval, whichever is closer, so a row
    /// is counted at most once per level of bisection.
    #[inline(always)]
    pub(super) fn bisect_cuts(
        &self,
        (sorted, totals): (&[u64], &ColumnCounts),
        rule: &mut impl CutRule,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let pair_codes = &*self.node.pair_codes;
        buffers.count_checkpoints(pair_codes, sorted, totals, meter)?;
        let SearchBuffers {
            cuts,
            checkpoints,
            counts,
            checkpoint_of,
            interval_counts,
            stack,
            ..
        } = buffers;
        stack.clear();
        stack.push(Interval {
            low: 0,
            high: cuts.len() - 1,
            slot: 0,
            side_scores: (0, 0),
        });
        while let Some(interval) = stack.pop() {
            let Interval {
                low,
                high,
                slot,
                side_scores,
            } = interval;
            if high - low < 2 {
                continue;
            }
            if rule.bound(side_scores) < best.improvement() - MARGIN {
                continue;
            }
            let middle = usize::midpoint(low, high);
            let cut = cuts[middle] as usize;
            let checkpoint = checkpoint_of[middle] as usize;
            let start = checkpoints[checkpoint].max(cuts[low]) as usize;
            meter.add(estimated_work(pair_codes, cut - start))?;
            let left = if start == cut {
                &counts[checkpoint]
            } else {
                // The stack finishes the upper half before the lower half, so this slot is free.
                while interval_counts.len() < slot + 2 {
                    interval_counts.push(ColumnCounts::default());
                }
                let (stored, next) = interval_counts.split_at_mut(slot + 1);
                let from_checkpoint = checkpoints[checkpoint] as usize == start;
                let from = if from_checkpoint {
                    &counts[checkpoint]
                } else {
                    &stored[slot]
                };
                next[0].set_to_sum(from, pair_codes, &sorted[start..cut]);
                &next[0]
            };
            let scores_at_cut = if high - low <= MAX_PRUNED_CUTS && rule.is_pruned(cut, left, best)
            {
                // The bounds of the whole interval hold in both halves.
                side_scores
            } else {
                rule.evaluate(cut, left, best)
            };
            stack.push(Interval {
                high: middle,
                side_scores: (side_scores.0, scores_at_cut.1),
                ..interval
            });
            stack.push(Interval {
                low: middle,
                slot: slot + 1,
                side_scores: (scores_at_cut.0, side_scores.1),
                ..interval
            });
        }
        Ok(())
    }

    /// Scores every cut, in ascending order.
    #[inline(always)]
    fn scan_cuts(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let sorted = order.entries;
        let pair_codes = &*self.node.pair_codes;
        let cuts = std::mem::take(&mut buffers.cuts);
        let left = buffers.scratch_counts();
        left.reset(pair_codes);
        for ends in cuts[..cuts.len() - 1].windows(2) {
            let (last, cut) = (ends[0] as usize, ends[1] as usize);
            // Computing two rounded entropies takes about three times as long as two table lookups.
            meter.add(3 * estimated_work(pair_codes, cut - last))?;
            left.add(pair_codes, &sorted[last..cut]);
            self.evaluate_cut((order, cut), left, best);
        }
        buffers.cuts = cuts;
        Ok(())
    }

    /// Whether the upper bound proves that a cut with these left counts cannot be the best.
    #[inline(always)]
    pub(crate) fn is_pruned(&self, cut: usize, left: &ColumnCounts, best: &BestSplit) -> bool {
        self.upper_bound
            .as_ref()
            .is_some_and(|bound| bound.of_cut(cut, left) < best.improvement() - MARGIN)
    }

    /// Scores a cut with these left counts, adds it to `best` and returns the scores of both sides.
    #[inline(always)]
    pub(crate) fn evaluate_cut(
        &self,
        (order, cut): (SortedFeature<'_>, usize),
        left: &ColumnCounts,
        best: &mut BestSplit,
    ) -> SideScores {
        let sorted = order.entries;
        let rows = sorted.len();
        let scores_at_cut = self.scores.score_sides(
            &self.node.pair_codes,
            (rows, &self.node.totals),
            (cut, left),
        );
        best.add(SplitCandidate {
            feature: self.node.features[order.feature],
            ranks: (rank(sorted[cut - 1]), rank(sorted[cut])),
            missing: order.missing,
            improvement: self
                .scores
                .improvement(rows, self.node_score, cut, scores_at_cut),
        });
        scores_at_cut
    }
}

/// Estimated time, in nanoseconds, to count `added` rows and score a cut.
fn estimated_work(pair_codes: &PairCodes, added: usize) -> u64 {
    (pair_codes.columns() * (added / 16 + 1)) as u64
}

struct SearchOrder<'a> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    buffers: &'a mut SearchBuffers,
    best: &'a mut BestSplit,
    meter: &'a mut WorkMeter,
}

impl Kernel for SearchOrder<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self {
            search,
            order,
            buffers,
            best,
            meter,
        } = self;
        if matches!(search.scores, ScoreTables::Complete(_)) {
            let rows = (order.entries, &search.node.totals);
            search.bisect_cuts(rows, &mut AllRows { search, order }, buffers, best, meter)
        } else {
            search.scan_cuts(order, buffers, best, meter)
        }
    }
}

impl SearchBuffers {
    /// A buffer for counts, with any content.
    fn scratch_counts(&mut self) -> &mut ColumnCounts {
        if self.interval_counts.is_empty() {
            self.interval_counts.push(ColumnCounts::default());
        }
        &mut self.interval_counts[0]
    }

    /// Counts the rows before each checkpoint: upwards from 0 by adding rows, and downwards from the totals by
    /// subtracting rows. The rows of the widest gap between checkpoints are never read.
    #[inline(always)]
    fn count_checkpoints(
        &mut self,
        pair_codes: &PairCodes,
        sorted: &[u64],
        totals: &ColumnCounts,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        self.choose_checkpoints(sorted.len());
        let Self {
            checkpoints,
            counts,
            ..
        } = self;
        if counts.len() < checkpoints.len() {
            counts.resize_with(checkpoints.len(), ColumnCounts::default);
        }
        let end = |index: usize| {
            checkpoints
                .get(index + 1)
                .map_or(sorted.len(), |&m| m as usize)
        };
        let rows = |index: usize| &sorted[checkpoints[index] as usize..end(index)];
        let widest = (0..checkpoints.len()).max_by_key(|&index| rows(index).len());
        let widest = widest.unwrap_or(0);
        let (low, high) = counts[..checkpoints.len()].split_at_mut(widest + 1);
        low[0].reset(pair_codes);
        for index in 0..widest {
            meter.add(estimated_work(pair_codes, rows(index).len()))?;
            let (counted, next) = low.split_at_mut(index + 1);
            next[0].set_to_sum(&counted[index], pair_codes, rows(index));
        }
        for index in (0..high.len()).rev() {
            let rows = rows(widest + 1 + index);
            meter.add(estimated_work(pair_codes, rows.len()))?;
            let (next, counted) = high.split_at_mut(index + 1);
            let counted = counted.first().unwrap_or(totals);
            next[index].set_to_difference(counted, pair_codes, rows);
        }
        Ok(())
    }

    /// Chooses cuts at least `rows / CHECKPOINTS` rows apart as checkpoints.
    fn choose_checkpoints(&mut self, rows: usize) {
        let min_distance = rows / CHECKPOINTS;
        self.checkpoints.clear();
        self.checkpoint_of.clear();
        for &cut in &self.cuts[..self.cuts.len() - 1] {
            let last = self.checkpoints.last().copied();
            if last.is_none_or(|last| (cut - last) as usize >= min_distance) {
                self.checkpoints.push(cut);
            }
            self.checkpoint_of.push(self.checkpoints.len() as u32 - 1);
        }
    }

    /// Lists the cuts that leave `min_samples_leaf` rows on both sides.
    pub(super) fn find_cuts(&mut self, sorted: &[u64], min_samples_leaf: usize) {
        let rows = sorted.len();
        let (first, last) = cut_range(sorted, min_samples_leaf);
        self.cuts.clear();
        self.cuts.resize((last + 1).saturating_sub(first) + 2, 0);
        let mut found = 1;
        let cuts = &mut self.cuts[..];
        for (cut, pair) in (1..=last).zip(sorted.windows(2)).skip(first - 1) {
            // Branch-free: every position is written, and overwritten by the next unless it is a cut.
            cuts[found] = cut as u32;
            found += usize::from(rank(pair[0]) != rank(pair[1]));
        }
        self.cuts[found] = rows as u32;
        self.cuts.truncate(found + 1);
    }
}
