//! Candidate cuts of a small node: the cuts of the drawn features, at all thresholds or at random thresholds.

use super::row_cut::RowCut;
use super::{BitsetGrower, SmallNode};
use crate::features::MISSING_RANK;
use crate::tree::draw::{draw_features, random_threshold};

impl BitsetGrower<'_> {
    /// Lists the cuts of the drawn features that leave `min_samples_leaf` rows on both sides. With the random splitter,
    /// only cuts at random thresholds are listed.
    pub(super) fn find_candidates(&mut self, node: &SmallNode) {
        self.draw_features(node);
        let all = self.options.max_features.is_none();
        self.candidates.clear();
        if self.is_random {
            self.find_random_cuts(node);
        }
        let is_drawn = |feature| all || self.drawn_features.binary_search(&feature).is_ok();
        if self.is_random {
            let cuts = self.random_cuts.iter().map(|&(at, _)| at as u32);
            self.candidates
                .extend(cuts.filter(|&at| is_drawn(self.cuts[at as usize].feature_side.feature())));
        } else if all {
            self.candidates
                .extend(node.cuts as u32..self.cut_count as u32);
        } else {
            let mut start = node.cuts as u32;
            let mut drawn = self.drawn_features.iter().peekable();
            for &(feature, end) in &self.feature_ends {
                if drawn.next_if(|&&next| next == feature).is_some() {
                    self.candidates.extend(start..end);
                }
                start = end;
            }
        }
        let min_rows = self.options.min_samples_leaf as u32;
        // Every cut has at least one row on both sides.
        if min_rows > 1 {
            let rows = self.count_rows(node.rows) as u32;
            let (cuts, first_bits) = (&self.cuts, self.first_bits);
            self.candidates.retain(|&at| {
                let left = (cuts[at as usize].left & first_bits).count_ones();
                left >= min_rows && rows - left >= min_rows
            });
        }
    }

    /// Draws `max_features` of the node's features, if set.
    fn draw_features(&mut self, node: &SmallNode) {
        if self.options.max_features.is_none() {
            return;
        }
        let mut end = node.cuts as u32;
        self.feature_ends.clear();
        let same_feature =
            |a: &RowCut, b: &RowCut| a.feature_side.feature() == b.feature_side.feature();
        for cuts in self.cuts[node.cuts..self.cut_count].chunk_by(same_feature) {
            end += cuts.len() as u32;
            self.feature_ends
                .push((cuts[0].feature_side.feature(), end));
        }
        self.drawn_features.clear();
        self.drawn_features
            .extend(self.feature_ends.iter().map(|&(feature, _)| feature));
        draw_features(
            &mut self.drawn_features,
            self.options.max_features,
            node.seed,
        );
    }

    /// Finds the cut at the random threshold of each feature, for both sides of missing values. If all values of a
    /// feature that are not missing are equal, the cut separates them from the missing ones.
    fn find_random_cuts(&mut self, node: &SmallNode) {
        // With two rows all cuts are equally good, and the first is chosen.
        let first_only = node.rows.count_ones() == 2 && self.options.max_features.is_none();
        self.random_cuts.clear();
        let mut start = node.cuts;
        for cuts in
            self.cuts[node.cuts..self.cut_count].chunk_by(|a, b| a.feature_side == b.feature_side)
        {
            let feature = cuts[0].feature_side.feature();
            // The cut between all values and the missing ones is the first or the last.
            let skipped = usize::from(cuts[0].lower == MISSING_RANK);
            let ends_missing = usize::from(cuts[cuts.len() - 1].upper == MISSING_RANK);
            let between = &cuts[skipped..(cuts.len() - ends_missing).max(skipped)];
            let (at, threshold) = match (between.first(), between.last()) {
                (Some(first), Some(last)) => {
                    let values = self.features.distinct(feature as usize);
                    let ends = (values[first.lower as usize], values[last.upper as usize]);
                    let threshold = random_threshold(node.seed, feature, ends);
                    let at = between.partition_point(|cut| values[cut.upper as usize] <= threshold);
                    (skipped + at, threshold)
                }
                _ => (
                    0,
                    self.features
                        .threshold(feature as usize, cuts[0].lower, cuts[0].upper),
                ),
            };
            self.random_cuts.push((start + at, threshold));
            if first_only {
                break;
            }
            start += cuts.len();
        }
    }
}
