//! [`CutRule`]: how the cuts of a bisection are bounded and scored.

use super::column_counts::ColumnCounts;
use super::missing_first::SortedFeature;
use super::score_tables::SideScores;
use super::split_search::SplitSearch;
use crate::tree::split::best_split::BestSplit;

/// Bounds and scores of the cuts of sorted rows.
pub(crate) trait CutRule {
    /// Upper bound on the improvement of the cuts of an interval, given the score of the rows before its lower end and
    /// of the rows after its upper end.
    fn bound(&self, side_scores: SideScores) -> f64;

    /// Whether a cheap bound proves that a cut with these counts before it cannot be the best.
    fn is_pruned(&self, cut: usize, left: &ColumnCounts, best: &BestSplit) -> bool;

    /// Adds the splits at a cut to `best` and returns the scores of the rows before and after it.
    fn evaluate(&mut self, cut: usize, left: &ColumnCounts, best: &mut BestSplit) -> SideScores;
}

/// The rule for a feature whose sorted order holds all rows of the node.
pub(super) struct AllRows<'a> {
    pub(super) search: &'a SplitSearch<'a>,
    pub(super) order: SortedFeature<'a>,
}

impl CutRule for AllRows<'_> {
    #[inline(always)]
    fn bound(&self, side_scores: SideScores) -> f64 {
        let rows = self.order.entries.len();
        let search = self.search;
        search
            .scores
            .improvement(rows, search.node_score, 0, side_scores)
    }

    #[inline(always)]
    fn is_pruned(&self, cut: usize, left: &ColumnCounts, best: &BestSplit) -> bool {
        self.search.is_pruned(cut, left, best)
    }

    #[inline(always)]
    fn evaluate(&mut self, cut: usize, left: &ColumnCounts, best: &mut BestSplit) -> SideScores {
        self.search.evaluate_cut((self.order, cut), left, best)
    }
}
