//! [`SortedFeature`]: the rows of a node sorted by a feature, with missing values last or first.
//!
//! A node stores its rows sorted by each feature, with missing values last. A cut is a position between two distinct
//! values, that is, a candidate threshold. If all thresholds are candidates and rankings are complete, the coded engine
//! searches the rows with a value once and evaluates every cut twice, with missing values on the right and on the left.
//! Otherwise it searches the sorted rows with missing values last, and then the same rows with missing values first.

use crate::error::Result;
use crate::features::MISSING_RANK;
use crate::run::WorkMeter;

use super::large_node::{rank, LargeNode};
use super::search_buffers::SearchBuffers;
use super::split_search::SplitSearch;
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::BestSplit;

/// The members (rows, repeated by their weights) of a node, sorted by one of its features.
#[derive(Clone, Copy)]
pub(crate) struct SortedFeature<'a> {
    /// Index among the node's features.
    pub(crate) feature: usize,
    /// Value ranks with rows, as in [`LargeNode::order`]. Missing values are last, or first for [`MissingSide::Left`].
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
    /// Evaluates the cuts of a feature with missing values on the left side; the cuts with missing values on the right
    /// side must have been evaluated before.
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
    /// Drops the cut between the `missing` first rows, whose value is missing, and all others: with missing values last
    /// it was a candidate already.
    pub(crate) fn drop_missing_cut(&mut self, missing: usize) {
        if self.cuts.get(1).is_some_and(|&cut| cut as usize == missing) {
            self.cuts.remove(1);
        }
    }
}
