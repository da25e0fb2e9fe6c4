//! Scores of the partitions of a small node into left and right rows: all of them, or only those that may be the best.

use super::partition_bounds::PartitionBounds;
use super::rounded_scores::RoundedScores;
use super::{BitsetGrower, SmallNode};
use crate::tree::grow::coded::score_tables::ScoreTables;
use crate::tree::split::best_split::MARGIN;
use crate::tree::split::entropy::IntegerEntropy;

/// Bounds save time in nodes with at least this many partitions and columns (pairs of labels).
const MIN_BOUNDED: (usize, usize) = (10, 16);

/// Buffers for the partitions that may be the best.
#[derive(Debug, Default)]
pub(super) struct PromisingPartitions {
    rounded_scores: RoundedScores,
    partition_bounds: PartitionBounds,
    /// Upper bounds on the improvements of all partitions.
    bounds: Vec<f64>,
    /// Indices, left sides and improvements of the partitions that are scored together.
    indices: Vec<u32>,
    left_sets: Vec<u64>,
    improvements: Vec<f64>,
}

impl BitsetGrower<'_> {
    /// Sets the improvements of the current node's partitions; negative infinity for a partition that a bound shows to
    /// be worse than the best by more than [`MARGIN`], so that it cannot be chosen.
    pub(super) fn score_partitions(&mut self, node: &SmallNode, node_score: i64) {
        let columns = &self.columns[node.columns..];
        let left_sets = self.partitions.sets();
        if let ScoreTables::Complete(entropy) = self.scores {
            if left_sets.len() >= MIN_BOUNDED.0 && columns.len() >= MIN_BOUNDED.1 {
                self.compute_bounds(node, node_score, entropy);
                return self.score_promising(node, node_score);
            }
        }
        self.small_scores.improvements(
            self.scores,
            (node.rows, node_score),
            columns,
            left_sets,
            &mut self.improvements,
        );
    }

    /// Bounds the improvements of all partitions.
    fn compute_bounds(&mut self, node: &SmallNode, node_score: i64, entropy: &IntegerEntropy) {
        let left_sets = self.partitions.sets();
        let PromisingPartitions {
            rounded_scores,
            partition_bounds,
            bounds,
            ..
        } = &mut self.promising;
        bounds.clear();
        let bounded = self.small_scores.bound_improvements(
            entropy,
            (node.rows, node_score),
            left_sets,
            (rounded_scores, bounds),
        );
        if !bounded {
            let columns = (&self.columns[node.columns..], entropy.pairs());
            bounds.extend(partition_bounds.compute(node.rows, columns, left_sets));
        }
    }

    /// Scores the partition with the largest bound, then all partitions whose bound is not below its improvement.
    fn score_promising(&mut self, node: &SmallNode, node_score: i64) {
        let columns = &self.columns[node.columns..];
        let left_sets = self.partitions.sets();
        let PromisingPartitions {
            bounds,
            indices,
            left_sets: promising,
            improvements,
            ..
        } = &mut self.promising;
        self.improvements.clear();
        self.improvements.resize(left_sets.len(), f64::NEG_INFINITY);
        let mut best = f64::NEG_INFINITY;
        let mut min_bound = bounds.iter().copied().fold(0.0, f64::max);
        for _ in 0..2 {
            indices.clear();
            promising.clear();
            for (at, (&bound, &set)) in bounds.iter().zip(left_sets).enumerate() {
                let is_scored = self.improvements[at] > f64::NEG_INFINITY;
                if bound >= min_bound && !is_scored {
                    indices.push(at as u32);
                    promising.push(set);
                }
            }
            let node = (node.rows, node_score);
            self.small_scores
                .improvements(self.scores, node, columns, promising, improvements);
            for (&at, &improvement) in indices.iter().zip(improvements.iter()) {
                self.improvements[at as usize] = improvement;
                best = best.max(improvement);
            }
            min_bound = best - MARGIN;
        }
    }
}
