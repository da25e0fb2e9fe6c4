//! [`CutSplits`]: the splits at the cuts (candidate thresholds) of a feature, for complete rankings. The counts of some
//! rows are their [`ColumnCounts`]: per pair of labels, how many of them rank it before and after.

use super::column_counts::ColumnCounts;
use super::missing_first::SortedFeature;
use super::repeated_rows::cut_range;
use super::score_tables::SideScores;
use super::search_buffers::SearchBuffers;
use super::split_search::SplitSearch;
use super::upper_bound::MissingTerms;
use crate::error::Result;
use crate::run::WorkMeter;
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::{BestSplit, MARGIN};

/// The smallest and the largest number of rows that may go left.
type LeftRange = (usize, usize);

/// Scores that bound the splits at all cuts between a lower and an upper cut: the score of the left side of the split
/// at the lower cut, and of the right side of the split at the upper cut. One entry per side of the missing values.
pub(super) type EndScores<const SIDES: usize> = [SideScores; SIDES];

/// The splits at the cuts of a feature. If the feature has missing values (`SIDES` = 2), each cut stands for two
/// splits: side 0 sends missing values to the right, side 1 to the left. Cuts are positions among the rows with a
/// value.
pub(super) struct CutSplits<'a, const SIDES: usize> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    /// Number of rows with a value.
    pub(super) present: usize,
    /// Per side of the missing values, the numbers of left rows that leave enough rows on both sides.
    ranges: [LeftRange; SIDES],
    /// Counts of the rows with a value; unused without missing values.
    present_counts: ColumnCounts,
    /// Counts of the rows with a missing value.
    missing_counts: ColumnCounts,
    /// Terms of the rows with a missing value in `UpperBound::quadratic`; used only for features with few cuts.
    missing_terms: MissingTerms,
    /// Buffer for the counts of the left side with the missing values.
    left_and_missing: ColumnCounts,
    /// End scores of the interval that contains all cuts.
    pub(super) end_scores: EndScores<SIDES>,
    /// Divisor that turns a difference of scores into an improvement.
    denominator: f64,
}

impl<'a, const SIDES: usize> CutSplits<'a, SIDES> {
    /// Prepares a feature; its rows are not counted yet.
    #[inline(always)]
    pub(super) fn new(
        search: &'a SplitSearch<'a>,
        order: SortedFeature<'a>,
        buffers: &mut SearchBuffers,
    ) -> Self {
        let [present_counts, missing_counts, left_and_missing] = if SIDES == 2 {
            std::mem::take(&mut buffers.split_counts)
        } else {
            Default::default()
        };
        let mut splits = Self {
            search,
            order,
            present: if SIDES == 2 {
                order.present()
            } else {
                order.entries.len()
            },
            ranges: [(0, usize::MAX); SIDES],
            present_counts,
            missing_counts,
            missing_terms: std::mem::take(&mut buffers.missing_terms),
            left_and_missing,
            end_scores: [(0, 0); SIDES],
            denominator: search.scores.denominator(order.entries.len()),
        };
        splits.find_ranges(buffers);
        splits
    }

    /// Returns the buffers for reuse.
    pub(super) fn release(self, buffers: &mut SearchBuffers) {
        buffers.missing_terms = self.missing_terms;
        if SIDES == 2 {
            buffers.split_counts = [
                self.present_counts,
                self.missing_counts,
                self.left_and_missing,
            ];
        }
    }

    /// Counts of the rows with a value.
    pub(super) fn totals(&self) -> &ColumnCounts {
        if SIDES == 1 {
            &self.search.node.totals
        } else {
            &self.present_counts
        }
    }

    /// Sets the ranges to the numbers of left rows that leave `min_samples_leaf` rows on both sides.
    fn find_ranges(&mut self, buffers: &mut SearchBuffers) {
        let min_rows = self.search.min_samples_leaf;
        let on_right = cut_range(self.order.entries, min_rows);
        self.ranges = [on_right; SIDES];
        if let (true, Some(on_left)) = (min_rows > 1, self.ranges.get_mut(1)) {
            let rotated = self.order.with_missing_first(&mut buffers.rotated);
            *on_left = cut_range(rotated.entries, min_rows);
        }
    }

    /// If values are missing, counts the rows with a value and the others, adds the split between them to `best`, and
    /// sets the end scores of all cuts.
    #[inline(always)]
    pub(super) fn separate_missing(&mut self, best: &mut BestSplit) {
        if SIDES == 1 {
            return;
        }
        self.count_smaller_group();
        let split = (self.present, MissingSide::Right);
        let scores = self.score_split(split, (self.present, &self.present_counts), best);
        let missing_score = scores.1;
        for (scores, ends) in self
            .end_scores
            .iter_mut()
            .zip([(0, missing_score), (missing_score, 0)])
        {
            *scores = ends;
        }
    }

    /// Counts the rows with a value and the others, reading only the smaller group.
    #[inline(always)]
    fn count_smaller_group(&mut self) {
        let (pair_codes, totals) = (&*self.search.node.pair_codes, &self.search.node.totals);
        let (present, missing) = self.order.entries.split_at(self.present);
        let (fewer, counts, others) = if present.len() <= missing.len() {
            (present, &mut self.present_counts, &mut self.missing_counts)
        } else {
            (missing, &mut self.missing_counts, &mut self.present_counts)
        };
        counts.reset(pair_codes);
        counts.add(pair_codes, fewer);
        others.clone_from(counts);
        others.complement(totals);
    }

    /// Counts the rows before each cut, the rows with a value and the others. The largest group of rows between two
    /// cuts, or the rows with missing values if they are more, are never read: their counts follow from the totals.
    #[inline(always)]
    pub(super) fn count_cuts(
        &mut self,
        buffers: &mut SearchBuffers,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let pair_codes = &*self.search.node.pair_codes;
        let sorted = &self.order.entries[..self.present];
        buffers.choose_cuts_as_checkpoints();
        let mut gaps = buffers.cuts.windows(2).map(|ends| ends[1] - ends[0]);
        let missing = self.missing_rows() as u32;
        if SIDES == 1 || gaps.any(|gap| gap > missing) {
            if SIDES == 2 {
                self.count_smaller_group();
            }
            return buffers.count_checkpoints(pair_codes, sorted, Some(self.totals()), meter);
        }
        buffers.count_checkpoints(pair_codes, sorted, None, meter)?;
        let last = buffers.cuts.len() - 2;
        let start = buffers.cuts[last] as usize;
        self.present_counts
            .set_to_sum(&buffers.counts[last], pair_codes, &sorted[start..]);
        self.missing_counts.clone_from(&self.present_counts);
        self.missing_counts.complement(&self.search.node.totals);
        Ok(())
    }

    /// Whether a split at a cut in an interval with these end scores may be the best.
    #[inline(always)]
    pub(super) fn may_improve(&self, end_scores: &EndScores<SIDES>, best: &BestSplit) -> bool {
        let mut scores = end_scores.iter();
        scores.any(|&scores| self.side_may_improve(scores, best))
    }

    /// As [`Self::may_improve`] for one side of the missing values. Adding rows never decreases a score, so the end
    /// scores bound the improvement in the interval.
    #[inline(always)]
    fn side_may_improve(&self, end_scores: SideScores, best: &BestSplit) -> bool {
        let gain = self.search.node_score - end_scores.0 - end_scores.1;
        gain as f64 >= (best.improvement() - MARGIN) * self.denominator
    }

    /// Adds the splits at a cut to `best`, given the counts of the rows before it, and returns their scores. A split is
    /// not scored if the end scores of the interval around the cut or, if `may_prune`, its `UpperBound` show that it
    /// cannot be the best; these end scores are returned instead.
    #[inline(always)]
    pub(super) fn score_cut(
        &mut self,
        (cut, left): (usize, &ColumnCounts),
        end_scores: &EndScores<SIDES>,
        may_prune: bool,
        best: &mut BestSplit,
    ) -> EndScores<SIDES> {
        let mut at_cut = *end_scores;
        for (side, scores) in at_cut.iter_mut().enumerate() {
            // With one side, the caller has checked this already.
            if SIDES == 2 && !self.side_may_improve(*scores, best) {
                continue;
            }
            if let Some(scored) = self.score_one_side((cut, left), side, may_prune, best) {
                *scores = scored;
            }
        }
        at_cut
    }

    /// Adds the split at a cut with missing values on one side to `best`, unless a cheap bound shows that it is worse.
    #[inline(always)]
    pub(super) fn score_side(
        &mut self,
        cut: (usize, &ColumnCounts),
        side: usize,
        best: &mut BestSplit,
    ) {
        let _ = self.score_one_side(cut, side, true, best);
    }

    /// Scores of the split at a cut with missing values on one side; `None` if `may_prune` and it cannot be the best.
    #[inline(always)]
    fn score_one_side(
        &mut self,
        (cut, left): (usize, &ColumnCounts),
        side: usize,
        may_prune: bool,
        best: &mut BestSplit,
    ) -> Option<SideScores> {
        let missing = match (SIDES, side) {
            (1, _) => MissingSide::Heavier,
            (_, 0) => MissingSide::Right,
            _ => MissingSide::Left,
        };
        let mut split = (cut, left);
        if missing == MissingSide::Left {
            self.left_and_missing
                .set_to_total(left, &self.missing_counts);
            split = (cut + self.missing_rows(), &self.left_and_missing);
        }
        if may_prune && self.search.is_pruned(split.0, split.1, best) {
            return None;
        }
        Some(self.score_split((cut, missing), split, best))
    }

    /// Prepares the bounds of the splits with missing values on the left side.
    #[inline(always)]
    pub(super) fn prepare_bounds(&mut self) {
        if let (2, Some(bound)) = (SIDES, &self.search.upper_bound) {
            let rows = self.missing_rows();
            bound.set_missing_terms(rows, &self.missing_counts, &mut self.missing_terms);
        }
    }

    /// Upper bounds on the improvements of the splits at a cut, given the counts of the rows before it; infinite
    /// without a bound.
    #[inline(always)]
    pub(super) fn bound_cut(&self, cut: usize, left: &ColumnCounts) -> [f64; SIDES] {
        match &self.search.upper_bound {
            Some(bound) => bound.quadratic(cut, left, &self.missing_terms),
            None => [f64::INFINITY; SIDES],
        }
    }

    /// Upper bound on the improvement of the split between the rows with a value and the others.
    #[inline(always)]
    pub(super) fn bound_missing_split(&self) -> f64 {
        match &self.search.upper_bound {
            Some(bound) => {
                let [bound] =
                    bound.quadratic(self.present, &self.present_counts, &self.missing_terms);
                bound
            }
            None => f64::INFINITY,
        }
    }

    /// Adds the split between the rows with a value and the others to `best`.
    #[inline(always)]
    pub(super) fn score_missing_split(&self, best: &mut BestSplit) {
        let split = (self.present, MissingSide::Right);
        self.score_split(split, (self.present, &self.present_counts), best);
    }

    /// Number of rows with a missing value.
    fn missing_rows(&self) -> usize {
        self.order.entries.len() - self.present
    }

    /// Scores a split, given the rows that go left, and adds it to `best` if it leaves enough rows on both sides.
    #[inline(always)]
    fn score_split(
        &self,
        (cut, missing): (usize, MissingSide),
        (left_rows, left): (usize, &ColumnCounts),
        best: &mut BestSplit,
    ) -> SideScores {
        let search = self.search;
        let scores = search.score_sides(left_rows, left);
        let (first, last) = self.ranges[usize::from(missing == MissingSide::Left) % SIDES.max(1)];
        if (first..=last).contains(&left_rows) {
            let order = SortedFeature {
                missing,
                ..self.order
            };
            search.add_split((order, cut), (left_rows, scores), best);
        }
        scores
    }
}
