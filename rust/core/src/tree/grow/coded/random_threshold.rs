//! Random splitter of large nodes: one random threshold per feature.

use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};

use super::column_counts::ColumnCounts;
use super::large_node::{rank, LargeNode};
use super::repeated_rows::cut_range;
use super::split_search::SplitSearch;
use crate::tree::draw::random_threshold;
use crate::tree::split::best_split::BestSplit;

/// Draws the threshold of one of the node's features, reproducibly from the node's seed.
pub(crate) fn draw_threshold(features: &Features, node: &LargeNode, feature: usize) -> f64 {
    let sorted = node.sorted(feature);
    let values = features.distinct(node.features[feature] as usize);
    let value = |entry: u64| values[rank(entry) as usize];
    let ends = (value(sorted[0]), value(sorted[sorted.len() - 1]));
    random_threshold(node.seed, node.features[feature], ends)
}

impl SplitSearch<'_> {
    /// Evaluates the random threshold of one of the node's features and keeps the best in `best`.
    pub(crate) fn search_random_threshold(
        &self,
        features: &Features,
        feature: usize,
        left: &mut ColumnCounts,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        let values = features.distinct(self.node.features[feature] as usize);
        let threshold = draw_threshold(features, self.node, feature);
        let cut = sorted.partition_point(|&entry| values[rank(entry) as usize] <= threshold);
        let rows = sorted.len();
        let (first, last) = cut_range(sorted, self.min_samples_leaf);
        if cut < first || cut > last {
            return Ok(());
        }
        let columns = self.node.pair_codes.columns();
        meter.add((cut.min(rows - cut) / 4 * columns / 4 + 4 * columns) as u64)?;
        dispatch(ScoreRandomCut {
            search: self,
            feature,
            cut,
            left,
            best,
        });
        Ok(())
    }
}

struct ScoreRandomCut<'a> {
    search: &'a SplitSearch<'a>,
    feature: usize,
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
            feature,
            cut,
            left,
            best,
        } = self;
        let sorted = search.node.sorted(feature);
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
            search.evaluate_cut((feature, cut), left, best);
        }
    }
}
