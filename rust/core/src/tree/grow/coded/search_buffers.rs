//! [`SearchBuffers`]: the cuts of a feature and the counts at checkpoints.
//!
//! The rows of a node are sorted by a feature. A cut is a position between two distinct values, that is, a candidate
//! threshold. Its counts are the [`ColumnCounts`] of the rows before it: per pair of labels, how many rank it before
//! and after. They are stored at some positions, the checkpoints, and computed from there at the cuts. `SplitSearch`
//! finds the best of many cuts by bisection, with a stack of intervals of cuts; few cuts are all checkpoints.

use super::column_counts::ColumnCounts;
use super::cut_splits::EndScores;
use super::large_node::rank;
use super::pair_codes::PairCodes;
use super::repeated_rows::cut_range;
use super::upper_bound::MissingTerms;
use crate::error::Result;
use crate::run::WorkMeter;

/// Buffers reused between searches.
#[derive(Default)]
pub(crate) struct SearchBuffers {
    /// Candidate cuts of the feature, ascending, preceded by 0 and followed by the number of rows.
    pub(crate) cuts: Vec<u32>,
    /// The positions at which counts are stored, ascending from 0.
    pub(super) checkpoints: Vec<u32>,
    /// Per checkpoint the counts of the rows before it.
    pub(super) counts: Vec<ColumnCounts>,
    /// Counts of the rows before the lower end of each [`Interval`] on the stack of the bisection, for lower ends that
    /// are not checkpoints.
    pub(super) interval_counts: Vec<ColumnCounts>,
    /// Splits of the feature with an upper bound on their improvement.
    pub(super) bounded: Vec<BoundedSplit>,
    /// The members of a node, those with missing values first.
    pub(super) rotated: Vec<u64>,
    /// Buffers of [`super::cut_splits::CutSplits`]: counts of the rows with a value, of the rows with a missing value,
    /// and of a left side that contains the missing values.
    pub(super) split_counts: [ColumnCounts; 3],
    /// Terms of the rows with a missing value in `UpperBound::quadratic`.
    pub(super) missing_terms: MissingTerms,
}

/// Approximate number of checkpoints per feature.
const CHECKPOINTS: usize = 16;

/// Smallest number of rows between two checkpoints of the bisection.
const MIN_CHECKPOINT_DISTANCE: usize = 8;

/// With more than this many rows per cut, cuts are found faster by binary searches than by reading all rows.
const ROWS_PER_SEARCH: usize = 16;

/// A split at a cut, with an upper bound on its improvement.
#[derive(Clone, Copy)]
pub(super) struct BoundedSplit {
    pub(super) bound: f64,
    /// Index of the cut.
    pub(super) cut: u32,
    /// 1 if missing values are on the left side, else 0.
    pub(super) side: u32,
}

/// An open interval of positions, whose cuts are still to be searched.
#[derive(Clone, Copy)]
pub(super) struct Interval<const SIDES: usize> {
    /// The excluded ends.
    pub(super) low: usize,
    pub(super) high: usize,
    /// Index into `interval_counts` of the counts at `low`, unless `low` is a checkpoint.
    pub(super) slot: usize,
    /// Scores of the left side of the split at `low` and of the right side at `high`, per side of the missing values.
    pub(super) end_scores: EndScores<SIDES>,
}

/// Estimated time, in nanoseconds, to count `added` rows and score a cut.
pub(super) fn estimated_work(pair_codes: &PairCodes, added: usize) -> u64 {
    (pair_codes.columns() * (added / 16 + 1)) as u64
}

impl SearchBuffers {
    /// A buffer for counts, with any content.
    pub(super) fn scratch_counts(&mut self) -> &mut ColumnCounts {
        if self.interval_counts.is_empty() {
            self.interval_counts.push(ColumnCounts::default());
        }
        &mut self.interval_counts[0]
    }

    /// Counts the rows before each checkpoint: upwards from 0 by adding rows, and downwards from the totals (the counts
    /// of all `sorted` rows), if given, by subtracting rows. The rows of the widest gap between checkpoints or, without
    /// totals, of the last gap are never read.
    #[inline(always)]
    pub(super) fn count_checkpoints(
        &mut self,
        pair_codes: &PairCodes,
        sorted: &[u64],
        totals: Option<&ColumnCounts>,
        meter: &mut WorkMeter,
    ) -> Result<()> {
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
        let widest = match totals {
            Some(_) => (0..checkpoints.len()).max_by_key(|&index| rows(index).len()),
            None => checkpoints.len().checked_sub(1),
        };
        let widest = widest.unwrap_or(0);
        let (low, high) = counts[..checkpoints.len()].split_at_mut(widest + 1);
        // The counts at checkpoint 0 are never written to, so they stay 0.
        low[0].resize(pair_codes);
        for index in 0..widest {
            meter.add(estimated_work(pair_codes, rows(index).len()))?;
            let (counted, next) = low.split_at_mut(index + 1);
            next[0].set_to_sum(&counted[index], pair_codes, rows(index));
        }
        for index in (0..high.len()).rev() {
            let rows = rows(widest + 1 + index);
            meter.add(estimated_work(pair_codes, rows.len()))?;
            let (next, counted) = high.split_at_mut(index + 1);
            if let Some(counted) = counted.first().or(totals) {
                next[index].set_to_difference(counted, pair_codes, rows);
            }
        }
        Ok(())
    }

    /// Chooses equidistant checkpoints and returns the logarithm of their distance, which is a power of two.
    pub(super) fn choose_checkpoints(&mut self, rows: usize) -> u32 {
        let distance = (rows / CHECKPOINTS).max(MIN_CHECKPOINT_DISTANCE);
        let distance = distance.next_power_of_two();
        self.checkpoints.clear();
        self.checkpoints.extend((0..rows as u32).step_by(distance));
        distance.trailing_zeros()
    }

    /// Chooses all cuts in the buffer as checkpoints.
    pub(super) fn choose_cuts_as_checkpoints(&mut self) {
        self.checkpoints.clear();
        self.checkpoints
            .extend_from_slice(&self.cuts[..self.cuts.len() - 1]);
    }

    /// Lists the cuts if the ranks of the first and the last value differ by at most `max_cuts`, so that there are at
    /// most `max_cuts` cuts, and returns whether they are listed.
    pub(super) fn list_few_cuts(&mut self, sorted: &[u64], max_cuts: usize) -> bool {
        let ends = sorted.first().zip(sorted.last());
        let cuts = ends.map_or(0, |(&first, &last)| (rank(last) - rank(first)) as usize);
        if cuts > max_cuts {
            return false;
        }
        if sorted.len() <= ROWS_PER_SEARCH * cuts {
            self.find_cuts(sorted, 1);
            return true;
        }
        self.cuts.clear();
        self.cuts.push(0);
        let mut start = 0;
        while start < sorted.len() {
            let value = rank(sorted[start]);
            start += sorted[start..].partition_point(|&entry| rank(entry) == value);
            self.cuts.push(start as u32);
        }
        true
    }

    /// Lists the cuts that leave at least `min_samples_leaf` distinct rows on both sides.
    pub(crate) fn find_cuts(&mut self, sorted: &[u64], min_samples_leaf: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cuts_are_found_by_reading_and_by_searching() {
        for repeats in [1, 40] {
            let ranks = [2_u64, 3, 3, 9].into_iter();
            let sorted: Vec<u64> = ranks
                .flat_map(|rank| std::iter::repeat_n(rank << 32, repeats))
                .collect();
            let mut buffers = SearchBuffers::default();
            assert!(!buffers.list_few_cuts(&sorted, 6));
            assert!(buffers.list_few_cuts(&sorted, 7));
            let expected = [0, 1, 3, 4].map(|cut| cut * repeats as u32);
            assert_eq!(buffers.cuts, expected);
        }
    }

    #[test]
    fn checkpoints_are_equidistant() {
        let mut buffers = SearchBuffers::default();
        assert_eq!(buffers.choose_checkpoints(20), 3);
        assert_eq!(buffers.checkpoints, [0, 8, 16]);
        assert_eq!(buffers.choose_checkpoints(512), 5);
        assert_eq!(buffers.checkpoints.len(), 16);
    }
}
