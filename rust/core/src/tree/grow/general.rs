//! [`GeneralSearch`]: split search for every criterion, every splitter and any weights.
//!
//! Counts are never subtracted, which would be inexact for fractional weights. The search of all binary splits counts
//! left sides in sorted order and right sides in reverse order; other splitters count each child in sorted order.

use crate::error::Result;
use crate::features::{Features, MISSING_RANK};
use crate::pairs::PairCounts;
use crate::rankings::Rankings;
use crate::run::WorkMeter;

use super::sorted_rows::{Cuts, SortedRows};
use crate::tree::draw::{draw_features, random_threshold, TOLERANCE};
use crate::tree::missing_side::MissingSide;
use crate::tree::params::{Splitter, TreeOptions};
use crate::tree::split::criterion::{Consensus, Cost, Impurity, Sample};

/// A split into two or more children: child i takes the rows with values above threshold i - 1 and up to threshold i.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MultiwaySplit {
    pub(crate) feature: usize,
    pub(crate) thresholds: Vec<f64>,
    /// The largest value rank of each child but the last.
    pub(crate) last_ranks: Vec<u32>,
    pub(crate) missing: MissingSide,
}

/// Statistics of a node.
pub(crate) struct NodeStats {
    pub(crate) weight: f64,
    pub(crate) cost: Cost,
    pub(crate) is_pure: bool,
}

/// Searches for the best split of a node.
pub(crate) struct GeneralSearch<'a> {
    features: &'a Features,
    rankings: &'a Rankings,
    options: &'a TreeOptions,
    impurity: Impurity<'a>,
    /// Buffer for the counts of a set of rows.
    counts: PairCounts,
    /// Buffer for the rows of a node, sorted by a feature.
    sorted: Vec<u32>,
}

impl<'a> GeneralSearch<'a> {
    pub(crate) fn new(
        features: &'a Features,
        rankings: &'a Rankings,
        options: &'a TreeOptions,
        consensus: Option<&'a dyn Consensus>,
    ) -> Result<Self> {
        Ok(Self {
            features,
            rankings,
            options,
            impurity: Impurity::new(options.criterion, rankings, consensus)?,
            counts: PairCounts::empty(rankings.labels())?,
            sorted: Vec::new(),
        })
    }

    pub(crate) fn impurity(&self, node: &NodeStats) -> f64 {
        self.impurity.impurity(node.weight, node.cost)
    }

    /// Computes the statistics of a node.
    pub(crate) fn count_node(&mut self, rows: &[u32]) -> Result<NodeStats> {
        let weight = self.weight(rows);
        let cost = self.cost(weight, rows)?;
        Ok(NodeStats {
            weight,
            cost,
            is_pure: crate::tree::split::criterion::is_pure(&self.counts),
        })
    }

    /// Finds the best split of a node; `None` if no split is possible.
    pub(crate) fn find_best_split(
        &mut self,
        rows: &[u32],
        node: &NodeStats,
        seed: u64,
        meter: &mut WorkMeter,
    ) -> Result<Option<MultiwaySplit>> {
        let mut candidates: Vec<u32> = (0..self.features.columns() as u32)
            .filter(|&feature| {
                let ranks = self.features.ranks(feature as usize);
                rows.iter()
                    .any(|&row| ranks[row as usize] != ranks[rows[0] as usize])
            })
            .collect();
        draw_features(&mut candidates, self.options.max_features, seed);
        let mut best: Option<(f64, MultiwaySplit)> = None;
        for &feature in &candidates {
            let ranks = self.features.ranks(feature as usize);
            let mut sorted = std::mem::take(&mut self.sorted);
            sorted.clear();
            sorted.extend_from_slice(rows);
            // Equal values are sorted by row, so that sums of fractional weights do not depend on the order of `rows`.
            sorted.sort_unstable_by_key(|&row| (ranks[row as usize], row));
            let present = sorted.partition_point(|&row| ranks[row as usize] != MISSING_RANK);
            let missing = sorted.len() - present;
            let sides: &[bool] = if missing > 0 {
                &[false, true]
            } else {
                &[false]
            };
            let searched = sides.iter().try_for_each(|&missing_left| {
                if missing_left {
                    sorted.rotate_left(present);
                }
                let order = SortedRows {
                    feature: feature as usize,
                    rows: &sorted,
                    missing,
                    missing_left,
                };
                self.search_order(&order, node, seed, meter, &mut best)
            });
            self.sorted = sorted;
            searched?;
        }
        Ok(best.map(|(_, split)| split))
    }

    /// Evaluates the candidates of a feature, with missing values on one side, and keeps the best split in `best`.
    fn search_order(
        &mut self,
        order: &SortedRows<'_>,
        node: &NodeStats,
        seed: u64,
        meter: &mut WorkMeter,
        best: &mut Option<(f64, MultiwaySplit)>,
    ) -> Result<()> {
        let present = order.present();
        let cuts = match self.options.splitter {
            Splitter::BestBinary => return self.search_binary(order, node, meter, best),
            Splitter::RandomBinary => self.random_cut(order.feature, present, seed),
            Splitter::EqualFrequency { max_splits } => {
                self.equal_frequency_cuts(order.feature, present, max_splits)
            }
            Splitter::EqualWidth { max_splits } => {
                self.equal_width_cuts(order.feature, present, max_splits)
            }
        };
        let is_random = self.options.splitter == Splitter::RandomBinary;
        let separates_missing = order.missing > 0 && !order.missing_left;
        let is_constant = cuts.is_empty();
        self.evaluate_multiway(order, node, meter, &order.shift(cuts), best)?;
        if separates_missing && (is_constant || !is_random) {
            let cut = (present.len(), f64::INFINITY);
            self.evaluate_multiway(order, node, meter, &[cut], best)?;
        }
        Ok(())
    }

    /// Evaluates all thresholds of a feature and keeps the best split in `best`.
    fn search_binary(
        &mut self,
        order: &SortedRows<'_>,
        node: &NodeStats,
        meter: &mut WorkMeter,
        best: &mut Option<(f64, MultiwaySplit)>,
    ) -> Result<()> {
        let (feature, sorted) = (order.feature, order.rows);
        let ranks = self.features.ranks(feature);
        let rank = |i: usize| ranks[sorted[i] as usize];
        let min_rows = self.options.min_samples_leaf;
        // With missing values first, the cut after them was a candidate with missing values last.
        let cuts: Vec<usize> = (min_rows..(sorted.len() + 1).saturating_sub(min_rows))
            .filter(|&i| rank(i - 1) != rank(i) && rank(i - 1) != MISSING_RANK)
            .collect();
        if cuts.is_empty() {
            return Ok(());
        }
        let left = self.score_ranges(sorted, cuts.iter().map(|&cut| (0, cut)), node, meter)?;
        let reversed: Vec<u32> = sorted.iter().rev().copied().collect();
        let ends = cuts.iter().rev().map(|&cut| (0, sorted.len() - cut));
        let right = self.score_ranges(&reversed, ends, node, meter)?;
        for ((&cut, &left), &right) in cuts.iter().zip(&left).zip(right.iter().rev()) {
            let improvement = self
                .impurity
                .improvement((node.weight, node.cost), &[left, right]);
            if improves(best.as_ref(), improvement) {
                let (lower, upper) = (rank(cut - 1), rank(cut));
                let split = MultiwaySplit {
                    feature,
                    thresholds: vec![self.features.threshold(feature, lower, upper)],
                    last_ranks: vec![lower],
                    missing: order.missing_side(),
                };
                *best = Some((improvement, split));
            }
        }
        Ok(())
    }

    /// Evaluates the split of a feature at all `cuts` (position in `sorted`, threshold) at once.
    fn evaluate_multiway(
        &mut self,
        order: &SortedRows<'_>,
        node: &NodeStats,
        meter: &mut WorkMeter,
        cuts: &[(usize, f64)],
        best: &mut Option<(f64, MultiwaySplit)>,
    ) -> Result<()> {
        let (feature, sorted) = (order.feature, order.rows);
        let starts = std::iter::once(0).chain(cuts.iter().map(|cut| cut.0));
        let ends = cuts
            .iter()
            .map(|cut| cut.0)
            .chain(std::iter::once(sorted.len()));
        let children: Vec<(usize, usize)> = starts.zip(ends).collect();
        let min_rows = self.options.min_samples_leaf;
        if cuts.is_empty() || children.iter().any(|(start, end)| end - start < min_rows) {
            return Ok(());
        }
        let costs = self.score_ranges(sorted, children.into_iter(), node, meter)?;
        let improvement = self.impurity.improvement((node.weight, node.cost), &costs);
        if improves(best.as_ref(), improvement) {
            let ranks = self.features.ranks(feature);
            let split = MultiwaySplit {
                feature,
                thresholds: cuts.iter().map(|cut| cut.1).collect(),
                last_ranks: cuts
                    .iter()
                    .map(|cut| ranks[sorted[cut.0 - 1] as usize])
                    .collect(),
                missing: order.missing_side(),
            };
            *best = Some((improvement, split));
        }
        Ok(())
    }

    /// Computes the weight and cost of each range (start, end) of positions in `sorted`, adding rows in the order of
    /// `sorted`. A range with the same start as the previous one continues from its counts.
    fn score_ranges(
        &mut self,
        sorted: &[u32],
        ranges: impl Iterator<Item = (usize, usize)>,
        node: &NodeStats,
        meter: &mut WorkMeter,
    ) -> Result<Vec<(f64, Cost)>> {
        let pairs = (self.rankings.labels() * self.rankings.labels()) as u64;
        let mut costs = Vec::new();
        let (mut range_start, mut counted, mut weight) = (usize::MAX, 0, 0.0);
        for (start, end) in ranges {
            if start != range_start {
                self.counts.clear();
                (range_start, counted, weight) = (start, start, 0.0);
            }
            for &row in &sorted[counted..end] {
                meter.add(pairs)?;
                let row_weight = self.rankings.weights().get(row as usize);
                weight += row_weight;
                self.counts.add(self.rankings.row(row as usize), row_weight);
            }
            counted = end;
            meter.add(4 * pairs)?;
            let sample = Sample {
                rankings: self.rankings,
                rows: &sorted[start..end],
                counts: &self.counts,
            };
            costs.push((weight, self.impurity.cost(node.weight, weight, &sample)?));
        }
        Ok(costs)
    }

    /// The cut at the random threshold of a feature; none if the rows have equal values.
    fn random_cut(&self, feature: usize, sorted: &[u32], seed: u64) -> Cuts {
        let ranks = self.features.ranks(feature);
        let values = self.features.distinct(feature);
        let value = |row: u32| values[ranks[row as usize] as usize];
        let (low, high) = (value(sorted[0]), value(sorted[sorted.len() - 1]));
        if low == high {
            return Vec::new();
        }
        let threshold = random_threshold(seed, feature as u32, (low, high));
        let cut = sorted.partition_point(|&row| value(row) <= threshold);
        vec![(cut, threshold)]
    }

    /// Cuts after each value at which the cumulative weight reaches the next multiple of 1 / `max_splits` of the total.
    fn equal_frequency_cuts(&self, feature: usize, sorted: &[u32], max_splits: usize) -> Cuts {
        let ranks = self.features.ranks(feature);
        let total = self.weight(sorted);
        let mut cuts = Vec::new();
        let (mut weight, mut reached) = (0.0, 1_usize);
        for i in 1..sorted.len() {
            weight += self.rankings.weights().get(sorted[i - 1] as usize);
            let (lower, upper) = (ranks[sorted[i - 1] as usize], ranks[sorted[i] as usize]);
            if lower == upper {
                continue;
            }
            let before = reached;
            while reached < max_splits && weight * max_splits as f64 >= total * reached as f64 {
                reached += 1;
            }
            if reached > before {
                cuts.push((i, self.features.threshold(feature, lower, upper)));
            }
        }
        cuts
    }

    /// Cuts at equally spaced thresholds between the smallest and the largest value, except thresholds that would leave
    /// a child empty.
    fn equal_width_cuts(&self, feature: usize, sorted: &[u32], max_splits: usize) -> Cuts {
        let ranks = self.features.ranks(feature);
        let values = self.features.distinct(feature);
        let value = |i: usize| values[ranks[sorted[i] as usize] as usize];
        let (low, high) = (value(0), value(sorted.len() - 1));
        let mut cuts: Cuts = Vec::new();
        let mut position = 0;
        for j in 1..max_splits {
            let share = j as f64 / max_splits as f64;
            // A weighted mean of the ends, because their difference could overflow.
            let mean = low * (1.0 - share) + high * share;
            // Rounding could move the mean out of [low, high); a threshold below `high` always separates at least
            // one row.
            let threshold = mean.max(low).min(high.next_down());
            while position < sorted.len() && value(position) <= threshold {
                position += 1;
            }
            let is_new = cuts.last().map_or(0, |cut| cut.0) < position;
            if is_new && position < sorted.len() {
                cuts.push((position, threshold));
            }
        }
        cuts
    }

    fn weight(&self, rows: &[u32]) -> f64 {
        rows.iter()
            .map(|&row| self.rankings.weights().get(row as usize))
            .sum()
    }

    /// Counts the rows of a node of this weight and returns its cost.
    fn cost(&mut self, weight: f64, rows: &[u32]) -> Result<Cost> {
        self.counts.clear();
        for &row in rows {
            self.counts.add(
                self.rankings.row(row as usize),
                self.rankings.weights().get(row as usize),
            );
        }
        let sample = Sample {
            rankings: self.rankings,
            rows,
            counts: &self.counts,
        };
        self.impurity.cost(weight, weight, &sample)
    }
}

/// Whether a candidate replaces the best split.
fn improves(best: Option<&(f64, MultiwaySplit)>, improvement: f64) -> bool {
    best.is_none_or(|(best, _)| improvement > best + TOLERANCE)
}
