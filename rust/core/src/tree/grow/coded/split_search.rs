//! [`SplitSearch`]: the search for the best split of a large node.
//!
//! A cut is a position in the sorted order of a feature between two distinct values, that is, a candidate threshold.
//! Its counts are the [`ColumnCounts`] of the rows before it: per pair of labels, how many rank it before and after.

use super::column_counts::ColumnCounts;
use super::cut_splits::{CutSplits, EndScores};
use super::large_node::{rank, LargeNode};
use super::listed_cuts;
use super::missing_first::SortedFeature;
use super::score_tables::{ScoreTables, SideScores};
use super::search_buffers::{estimated_work, Interval, SearchBuffers};
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
    /// The features, if the splitter evaluates one random threshold per feature; `None` if it evaluates all thresholds.
    pub(crate) random_thresholds: Option<&'a Features>,
}

/// Initial capacity of the stack of intervals that are still to be searched: two per level of bisection.
const STACK_CAPACITY: usize = 32;

/// In intervals of at most this many rows, a cut that [`UpperBound`] rejects is not scored. In larger intervals every
/// middle cut is scored, because its exact scores tighten the bounds of both halves.
const MAX_PRUNED_ROWS: usize = 2;

/// The cut nearest to a position is looked for by comparing this many values in both directions, then by binary search.
const MAX_SCANNED_ROWS: usize = 8;

impl SplitSearch<'_> {
    /// Evaluates the cuts of one of the node's features and keeps the best in `best`. If values are missing, every cut
    /// is evaluated with them on the right side and on the left side.
    ///
    /// For complete rankings, adding rows never decreases weight × entropy. Between two cuts a < b, the left side
    /// therefore scores at least its score at a, and the right side at least its score at b. This bounds the
    /// improvement of all cuts in the interval: intervals are bisected and pruned when the bound is below the best.
    /// A feature with few cuts is not bisected: [`UpperBound`] bounds each cut, and the most promising ones are scored.
    /// With missing labels these bounds do not hold, and every cut is scored.
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
        if self.random_thresholds.is_none() && matches!(self.scores, ScoreTables::Complete(_)) {
            return self.search_with_bounds(order, buffers, best, meter);
        }
        self.search_order(order, buffers, best, meter)?;
        if order.missing == MissingSide::Heavier {
            return Ok(());
        }
        self.search_missing_left(order, buffers, best, meter)
    }

    /// Evaluates a sorted feature with missing values on one side: the cut at its random threshold, or all cuts.
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
        if buffers.cuts.len() < 3 && order.missing == MissingSide::Heavier {
            return Ok(());
        }
        let work = order.entries.len() + buffers.cuts.len() * self.node.pair_codes.columns() / 4;
        meter.add(work as u64)?;
        self.dispatch_search::<0>(order, buffers, best, meter)
    }

    /// Evaluates the cuts of a sorted feature, each with missing values on the right and on the left, for complete
    /// rankings.
    fn search_with_bounds(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let columns = self.node.pair_codes.columns();
        let listed = listed_cuts::max_cuts(columns).min(order.entries.len()) * columns / 4;
        meter.add((order.entries.len() + listed) as u64)?;
        if order.missing == MissingSide::Heavier {
            return self.dispatch_search::<1>(order, buffers, best, meter);
        }
        self.dispatch_search::<2>(order, buffers, best, meter)
    }

    fn dispatch_search<const SIDES: usize>(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        dispatch(SearchOrder::<SIDES> {
            search: self,
            order,
            buffers,
            best,
            meter,
        })
    }

    /// Bisects the cuts of a feature, pruning intervals by their bound. The counts at a cut are computed from those at
    /// the previous checkpoint (a position whose counts are stored) or at the lower end of the interval, whichever is
    /// closer, so a row is counted at most once per level of bisection.
    #[inline(always)]
    fn bisect_cuts<const SIDES: usize>(
        &self,
        sorted: &[u64],
        splits: &mut CutSplits<'_, SIDES>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let pair_codes = &*self.node.pair_codes;
        let distance_bits = buffers.choose_checkpoints(sorted.len());
        buffers.count_checkpoints(pair_codes, sorted, Some(splits.totals()), meter)?;
        let SearchBuffers {
            counts,
            interval_counts,
            ..
        } = buffers;
        let mut stack = Vec::with_capacity(STACK_CAPACITY);
        stack.push(Interval {
            low: 0,
            high: sorted.len(),
            slot: 0,
            end_scores: splits.end_scores,
        });
        while let Some(interval) = stack.pop() {
            let Interval {
                low,
                high,
                slot,
                end_scores,
            } = interval;
            if high - low < 2 || !splits.may_improve(&end_scores, best) {
                continue;
            }
            let Some(cut) = find_middle_cut(sorted, low, high) else {
                continue;
            };
            let checkpoint = cut >> distance_bits;
            let start = (checkpoint << distance_bits).max(low);
            meter.add(estimated_work(pair_codes, cut - start))?;
            let left = if start == cut {
                &counts[checkpoint]
            } else {
                // The stack finishes the upper half before the lower half, so the slot after this interval's is free.
                while interval_counts.len() < slot + 2 {
                    interval_counts.push(ColumnCounts::default());
                }
                let (stored, next) = interval_counts.split_at_mut(slot + 1);
                let from = if checkpoint << distance_bits == start {
                    &counts[checkpoint]
                } else {
                    &stored[slot]
                };
                next[0].set_to_sum(from, pair_codes, &sorted[start..cut]);
                &next[0]
            };
            let may_prune = high - low <= MAX_PRUNED_ROWS;
            let at_cut = splits.score_cut((cut, left), &end_scores, may_prune, best);
            let ends = |low: &EndScores<SIDES>, high: &EndScores<SIDES>| {
                std::array::from_fn(|side| (low[side].0, high[side].1))
            };
            stack.push(Interval {
                high: cut,
                end_scores: ends(&end_scores, &at_cut),
                ..interval
            });
            stack.push(Interval {
                low: cut,
                slot: slot + 1,
                end_scores: ends(&at_cut, &end_scores),
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

    /// Scores both sides of a split with these rows on the left.
    #[inline(always)]
    pub(super) fn score_sides(&self, left_rows: usize, left: &ColumnCounts) -> SideScores {
        let node = self.node;
        self.scores.score_sides(
            &node.pair_codes,
            (node.len(), &node.totals),
            (left_rows, left),
        )
    }

    /// Adds the split at a cut to `best`, given the number of rows on its left side and the scores of its sides.
    #[inline(always)]
    pub(super) fn add_split(
        &self,
        (order, cut): (SortedFeature<'_>, usize),
        (left_rows, scores): (usize, SideScores),
        best: &mut BestSplit,
    ) {
        let sorted = order.entries;
        best.add(SplitCandidate {
            feature: self.node.features[order.feature],
            ranks: (rank(sorted[cut - 1]), rank(sorted[cut])),
            missing: order.missing,
            improvement: self
                .scores
                .improvement(sorted.len(), self.node_score, left_rows, scores),
        });
    }

    /// Scores a cut with these left counts and adds it to `best`.
    #[inline(always)]
    pub(crate) fn evaluate_cut(
        &self,
        (order, cut): (SortedFeature<'_>, usize),
        left: &ColumnCounts,
        best: &mut BestSplit,
    ) {
        let scores = self.score_sides(cut, left);
        self.add_split((order, cut), (cut, scores), best);
    }
}

/// The cut nearest to the middle of an open interval of rows; `None` if the interval contains no cut.
#[inline(always)]
fn find_middle_cut(sorted: &[u64], low: usize, high: usize) -> Option<usize> {
    let middle = usize::midpoint(low, high);
    let value = rank(sorted[middle]);
    for distance in 0..MAX_SCANNED_ROWS.min(middle - low) {
        let (start, end) = (middle - distance, middle + distance);
        if rank(sorted[start - 1]) != value {
            return Some(start);
        }
        if end < high && rank(sorted[end]) != value {
            return Some(end);
        }
    }
    let start = low + sorted[low..middle].partition_point(|&entry| rank(entry) < value);
    let end = middle + sorted[middle..high].partition_point(|&entry| rank(entry) <= value);
    if start > low && (end == high || middle - start <= end - middle) {
        Some(start)
    } else {
        (end < high).then_some(end)
    }
}

/// Kernel that searches the cuts of a feature. With bounds, `SIDES` is the number of splits per cut: 2 if values are
/// missing, else 1. Without bounds, `SIDES` is 0, and the cuts in the buffers are scored one after the other.
struct SearchOrder<'a, const SIDES: usize> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    buffers: &'a mut SearchBuffers,
    best: &'a mut BestSplit,
    meter: &'a mut WorkMeter,
}

impl<const SIDES: usize> Kernel for SearchOrder<'_, SIDES> {
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
        if SIDES == 0 {
            return search.scan_cuts(order, buffers, best, meter);
        }
        let mut splits = CutSplits::<SIDES>::new(search, order, buffers);
        let sorted = &order.entries[..splits.present];
        let max_cuts = listed_cuts::max_cuts(search.node.pair_codes.columns());
        let is_listed = search.upper_bound.is_some() && buffers.list_few_cuts(sorted, max_cuts);
        let searched = if is_listed {
            splits.search_all(buffers, best, meter)
        } else {
            splits.separate_missing(best);
            search.bisect_cuts(sorted, &mut splits, buffers, best, meter)
        };
        splits.release(buffers);
        searched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_cut_is_the_nearest_one() {
        let sorted: Vec<u64> = [0, 0, 0, 4, 4, 7, 7, 7, 7, 7]
            .map(|rank| rank << 32)
            .to_vec();
        assert_eq!(find_middle_cut(&sorted, 0, 10), Some(5));
        assert_eq!(find_middle_cut(&sorted, 0, 8), Some(3));
        assert_eq!(find_middle_cut(&sorted, 0, 5), Some(3));
        assert_eq!(find_middle_cut(&sorted, 3, 10), Some(5));
        assert_eq!(find_middle_cut(&sorted, 5, 10), None);
        assert_eq!(find_middle_cut(&sorted, 0, 3), None);
    }
}
