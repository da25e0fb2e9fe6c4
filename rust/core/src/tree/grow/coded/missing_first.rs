//! Search of the cuts of a feature with missing values.
//!
//! The orders of a node have missing values last. For complete rankings the rows with a value are searched once, and
//! every cut is evaluated with missing values on both sides. Otherwise the order is searched as it is, with missing
//! values on the right, and again with missing values first.

use crate::error::Result;
use crate::features::MISSING_RANK;
use crate::run::WorkMeter;

use super::column_counts::ColumnCounts;
use super::cut_rule::CutRule;
use super::large_node::{rank, LargeNode};
use super::repeated_rows::cut_range;
use super::score_tables::SideScores;
use super::split_search::{SearchBuffers, SplitSearch};
use super::upper_bound::UpperBound;
use crate::simd::{dispatch, Kernel};
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::{BestSplit, SplitCandidate, MARGIN};

/// The first and the last cut that leave enough rows on both sides.
type CutRange = (usize, usize);

/// The members of a node, sorted by one of its features.
#[derive(Clone, Copy)]
pub(crate) struct SortedFeature<'a> {
    /// Index among the node's features.
    pub(crate) feature: usize,
    /// Missing values are last, or first for [`MissingSide::Left`].
    pub(crate) entries: &'a [u64],
    pub(crate) missing: MissingSide,
}

impl LargeNode {
    /// The members sorted by one of the node's features, missing values last.
    pub(crate) fn sorted_feature(&self, feature: usize) -> SortedFeature<'_> {
        let entries = self.sorted(feature);
        let missing = match entries.last() {
            Some(&last) if rank(last) == MISSING_RANK => MissingSide::Right,
            _ => MissingSide::Heavier,
        };
        SortedFeature {
            feature,
            entries,
            missing,
        }
    }
}

impl<'a> SortedFeature<'a> {
    /// Number of members with a value; the others are missing.
    pub(crate) fn present(&self) -> usize {
        match self.missing {
            MissingSide::Heavier => self.entries.len(),
            MissingSide::Right => self.entries.partition_point(|&e| rank(e) != MISSING_RANK),
            MissingSide::Left => {
                self.entries.len() - self.entries.partition_point(|&e| rank(e) == MISSING_RANK)
            }
        }
    }

    /// The same members with missing values first, in the memory of `buffer`.
    pub(crate) fn with_missing_first(self, buffer: &'a mut Vec<u64>) -> Self {
        let (present, missing) = self.entries.split_at(self.present());
        buffer.clear();
        buffer.extend_from_slice(missing);
        buffer.extend_from_slice(present);
        Self {
            entries: buffer,
            missing: MissingSide::Left,
            ..self
        }
    }
}

impl SplitSearch<'_> {
    /// Evaluates the cuts of a feature with missing values on the left side, after those on the right side.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(crate) fn search_missing_left(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let mut rotated = std::mem::take(&mut buffers.rotated);
        let rotated_order = order.with_missing_first(&mut rotated);
        let result = self.search_order(rotated_order, buffers, best, meter);
        buffers.rotated = rotated;
        result
    }
}

impl SearchBuffers {
    /// Drops the cut between the missing values and all others: with missing values last it was a candidate already.
    pub(crate) fn drop_missing_cut(&mut self, missing: usize) {
        if self.cuts.get(1).is_some_and(|&cut| cut as usize == missing) {
            self.cuts.remove(1);
        }
    }
}

impl SplitSearch<'_> {
    /// Evaluates the cuts of a feature with missing values on both sides, for complete rankings.
    ///
    /// Only the rows with a value are sorted and counted. Both splits at a cut are merged from the three groups of rows
    /// before it, after it and missing, so their improvement is at most that of the three groups. This bounds both at
    /// once, and most cuts are pruned by one bound, as without missing values.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(crate) fn search_both_sides(
        &self,
        order: SortedFeature<'_>,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        buffers.find_cuts(&order.entries[..order.present()], 1);
        let min_rows = self.min_samples_leaf;
        let mut rotated = std::mem::take(&mut buffers.rotated);
        let ranges = [
            cut_range(order.entries, min_rows),
            cut_range(order.with_missing_first(&mut rotated).entries, min_rows),
        ];
        buffers.rotated = rotated;
        let work = order.entries.len() + buffers.cuts.len() * self.node.pair_codes.columns() / 4;
        meter.add(work as u64)?;
        dispatch(SearchBothSides {
            search: self,
            order,
            ranges,
            buffers,
            best,
            meter,
        })
    }
}

struct SearchBothSides<'a> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    ranges: [CutRange; 2],
    buffers: &'a mut SearchBuffers,
    best: &'a mut BestSplit,
    meter: &'a mut WorkMeter,
}

impl Kernel for SearchBothSides<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self {
            search,
            order,
            ranges,
            buffers,
            best,
            meter,
        } = self;
        let (present, missing) = order.entries.split_at(order.present());
        let (of_present, of_missing) = search.count_groups(present, missing);
        let mut rule = BothSides::new(search, (order, ranges), &of_present, of_missing);
        rule.separate_missing(best);
        if buffers.cuts.len() < 3 {
            return Ok(());
        }
        search.bisect_cuts((present, &of_present), &mut rule, buffers, best, meter)
    }
}

impl SplitSearch<'_> {
    /// Counts two groups that make up the node; only the smaller one is read.
    #[inline(always)]
    fn count_groups(&self, first: &[u64], second: &[u64]) -> (ColumnCounts, ColumnCounts) {
        let (pair_codes, totals) = (&*self.node.pair_codes, &self.node.totals);
        let mut counted = ColumnCounts::default();
        counted.reset(pair_codes);
        let first_is_smaller = first.len() <= second.len();
        counted.add(pair_codes, if first_is_smaller { first } else { second });
        let mut rest = counted.clone();
        rest.complement(totals);
        if first_is_smaller {
            (counted, rest)
        } else {
            (rest, counted)
        }
    }
}

/// The rule for rows with a value: every cut is two splits, with missing values on the right and on the left.
struct BothSides<'a> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    /// Number of rows with a value.
    present: usize,
    /// Numbers of rows that may go left, with missing values on the right and on the left.
    ranges: [CutRange; 2],
    of_missing: ColumnCounts,
    /// Scores of the rows with a value and of the missing rows.
    group_scores: SideScores,
    /// Improvement by separating the two groups.
    separation: f64,
    /// Bound on the improvement of a cut of the rows with a value.
    upper_bound: Option<UpperBound>,
    /// Buffer for counts.
    left: ColumnCounts,
}

impl<'a> BothSides<'a> {
    #[inline(always)]
    fn new(
        search: &'a SplitSearch<'a>,
        (order, ranges): (SortedFeature<'a>, [CutRange; 2]),
        of_present: &ColumnCounts,
        of_missing: ColumnCounts,
    ) -> Self {
        let present = order.present();
        let mut rule = Self {
            search,
            order,
            present,
            ranges,
            of_missing,
            group_scores: (0, 0),
            separation: 0.0,
            upper_bound: search.upper_bound.as_ref().and_then(|bound| {
                UpperBound::new(&search.node.pair_codes, present, of_present, bound.pairs())
            }),
            left: ColumnCounts::default(),
        };
        rule.group_scores = rule.score(present, of_present);
        rule.separation = rule.improvement(rule.group_scores);
        rule
    }

    fn rows(&self) -> usize {
        self.order.entries.len()
    }

    #[inline(always)]
    fn score(&self, left_rows: usize, left: &ColumnCounts) -> SideScores {
        let node = self.search.node;
        let totals = (self.rows(), &node.totals);
        self.search
            .scores
            .score_sides(&node.pair_codes, totals, (left_rows, left))
    }

    fn improvement(&self, scores: SideScores) -> f64 {
        let search = self.search;
        search
            .scores
            .improvement(self.rows(), search.node_score, 0, scores)
    }

    /// Adds a split that sends `left_rows` rows left, if it leaves enough rows on both sides.
    fn add(
        &self,
        (cut, missing): (usize, MissingSide),
        (left_rows, scores): (usize, SideScores),
        best: &mut BestSplit,
    ) {
        let (first, last) = self.ranges[usize::from(missing == MissingSide::Left)];
        if left_rows < first || left_rows > last {
            return;
        }
        let entries = self.order.entries;
        best.add(SplitCandidate {
            feature: self.search.node.features[self.order.feature],
            ranks: (rank(entries[cut - 1]), rank(entries[cut])),
            missing,
            improvement: self.improvement(scores),
        });
    }

    /// Adds the split between the values and the missing ones.
    fn separate_missing(&self, best: &mut BestSplit) {
        let split = (self.present, MissingSide::Right);
        self.add(split, (self.present, self.group_scores), best);
    }
}

impl CutRule for BothSides<'_> {
    #[inline(always)]
    fn bound(&self, (before, after): SideScores) -> f64 {
        self.improvement((before + self.group_scores.1, after))
    }

    #[inline(always)]
    fn is_pruned(&self, cut: usize, left: &ColumnCounts, best: &BestSplit) -> bool {
        self.upper_bound.as_ref().is_some_and(|bound| {
            let share = self.present as f64 / self.rows() as f64;
            let three_groups = self.separation + share * bound.of_cut(cut, left);
            three_groups < best.improvement() - MARGIN
        })
    }

    #[inline(always)]
    fn evaluate(&mut self, cut: usize, left: &ColumnCounts, best: &mut BestSplit) -> SideScores {
        let on_right = self.score(cut, left);
        self.add((cut, MissingSide::Right), (cut, on_right), best);
        let left_rows = cut + self.rows() - self.present;
        self.left.clone_from(left);
        self.left.add_counts(&self.of_missing);
        let on_left = self.score(left_rows, &self.left);
        self.add((cut, MissingSide::Left), (left_rows, on_left), best);
        (on_right.0, on_left.1)
    }
}
