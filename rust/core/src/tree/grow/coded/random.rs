//! Random thresholds: one cut for each feature of a large node.

use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};

use super::count::Counts;
use super::node::{rank, LargeNode};
use super::search::SplitSearch;
use crate::tree::draw::random_threshold;
use crate::tree::split::candidate::BestSplit;

/// The random threshold of one of the node's features.
pub(crate) fn threshold(features: &Features, node: &LargeNode, feature: usize) -> f64 {
    let sorted = node.sorted(feature);
    let values = features.distinct(node.features[feature] as usize);
    let value = |entry: u64| values[rank(entry) as usize];
    let ends = (value(sorted[0]), value(sorted[sorted.len() - 1]));
    random_threshold(node.seed, node.features[feature], ends)
}

impl SplitSearch<'_> {
    /// Offers the cut at the random threshold of one of the node's features.
    pub(crate) fn offer_random(
        &self,
        features: &Features,
        feature: usize,
        left: &mut Counts,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        let values = features.distinct(self.node.features[feature] as usize);
        let threshold = threshold(features, self.node, feature);
        let cut = sorted.partition_point(|&entry| values[rank(entry) as usize] <= threshold);
        let rows = sorted.len();
        if cut.min(rows - cut) < self.min_samples_leaf {
            return Ok(());
        }
        let columns = self.node.block.columns();
        meter.add((cut.min(rows - cut) / 4 * columns / 4 + 4 * columns) as u64)?;
        dispatch(ScoreRandomCut {
            known: self,
            feature,
            cut,
            left,
            best,
        });
        Ok(())
    }
}

struct ScoreRandomCut<'a> {
    known: &'a SplitSearch<'a>,
    feature: usize,
    cut: usize,
    /// Memory for the counts of the rows before the cut.
    left: &'a mut Counts,
    best: &'a mut BestSplit,
}

impl Kernel for ScoreRandomCut<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            known,
            feature,
            cut,
            left,
            best,
        } = self;
        let sorted = known.node.sorted(feature);
        let block = &*known.node.block;
        left.reset(block);
        // The smaller side is counted, the other one is what remains.
        if 2 * cut <= sorted.len() {
            left.add(block, &sorted[..cut]);
        } else {
            left.add(block, &sorted[cut..]);
            left.complement(&known.node.totals);
        }
        if !known.is_passed_over(cut, left, best) {
            known.offer((feature, cut), left, best);
        }
    }
}
