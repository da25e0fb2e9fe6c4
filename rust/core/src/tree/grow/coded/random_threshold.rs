//! Random splitter of large nodes: one random threshold per feature.

use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};

use super::column_counts::ColumnCounts;
use super::large_node::{rank, LargeNode};
use super::missing_first::SortedFeature;
use super::repeated_rows::cut_range;
use super::split_search::SplitSearch;
use crate::tree::draw::random_threshold;
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::BestSplit;

/// Draws the threshold of one of the node's features, reproducibly from the node's seed. If all values that are not
/// missing are equal, +∞ separates them from the missing ones.
pub(crate) fn draw_threshold(features: &Features, node: &LargeNode, feature: usize) -> f64 {
    let order = node.sorted_feature(feature);
    let present = &order.entries[..order.present()];
    let values = features.distinct(node.features[feature] as usize);
    let value = |entry: u64| values[rank(entry) as usize];
    let (low, high) = (value(present[0]), value(present[present.len() - 1]));
    if low == high {
        return f64::INFINITY;
    }
    random_threshold(node.seed, node.features[feature], (low, high))
}

/// The cut (position among the sorted rows) at the random threshold of a feature; `None` if it leaves fewer than
/// `min_rows` rows on a side, or if the same cut was already a candidate with missing values last.
pub(crate) fn random_cut(
    features: &Features,
    node: &LargeNode,
    order: SortedFeature<'_>,
    min_rows: usize,
) -> Option<usize> {
    let values = features.distinct(node.features[order.feature] as usize);
    let threshold = draw_threshold(features, node, order.feature);
    let missing_first = match order.missing {
        // The cut between the values and the missing ones was a candidate with missing values last.
        MissingSide::Left if threshold.is_infinite() => return None,
        MissingSide::Left => order.entries.len() - order.present(),
        MissingSide::Heavier | MissingSide::Right => 0,
    };
    let present = &order.entries[missing_first..missing_first + order.present()];
    let is_left = |&entry: &u64| values[rank(entry) as usize] <= threshold;
    let cut = missing_first + present.partition_point(is_left);
    let (first, last) = cut_range(order.entries, min_rows);
    (first..=last).contains(&cut).then_some(cut)
}

impl SplitSearch<'_> {
    /// Evaluates the split at the random threshold of a sorted feature and adds it to `best`.
    pub(crate) fn search_random_threshold(
        &self,
        features: &Features,
        order: SortedFeature<'_>,
        left: &mut ColumnCounts,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let Some(cut) = random_cut(features, self.node, order, self.min_samples_leaf) else {
            return Ok(());
        };
        let rows = order.entries.len();
        let columns = self.node.pair_codes.columns();
        meter.add((cut.min(rows - cut) / 4 * columns / 4 + 4 * columns) as u64)?;
        dispatch(ScoreRandomCut {
            search: self,
            order,
            cut,
            left,
            best,
        });
        Ok(())
    }
}

struct ScoreRandomCut<'a> {
    search: &'a SplitSearch<'a>,
    order: SortedFeature<'a>,
    cut: usize,
    /// Buffer for the counts of the left side.
    left: &'a mut ColumnCounts,
    best: &'a mut BestSplit,
}

impl Kernel for ScoreRandomCut<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            search,
            order,
            cut,
            left,
            best,
        } = self;
        let sorted = order.entries;
        let pair_codes = &*search.node.pair_codes;
        left.reset(pair_codes);
        // Only the smaller side is counted; the other is the totals minus it.
        if 2 * cut <= sorted.len() {
            left.add(pair_codes, &sorted[..cut]);
        } else {
            left.add(pair_codes, &sorted[cut..]);
            left.complement(&search.node.totals);
        }
        if !search.is_pruned(cut, left, best) {
            search.evaluate_cut((order, cut), left, best);
        }
    }
}
