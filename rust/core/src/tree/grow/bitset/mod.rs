//! The engine for subtrees of at most 64 rows: a set of rows is a 64-bit word.
//!
//! Most nodes of a fully grown tree are small. Here a pair of labels is three words (the rows that rank the first label
//! before the second, after it, and that rank both), a split is one word (the rows on its left side), and counts are
//! population counts of intersections. Pairs that partition the rows in the same way are merged into one column, and a
//! partition that several features induce is scored once.

mod candidates;
mod pair_sets;
mod partition_bounds;
mod partition_scores;
mod rounded_scores;
mod row_codes;
mod row_cut;
mod small_score_tables;

use crate::error::Result;
use crate::features::{Features, MISSING_RANK};
use crate::run::WorkMeter;

use self::pair_sets::{bits_of_rows, ColumnMerger, PairSets, RowSetIndex};
use self::partition_scores::PromisingPartitions;
use self::row_cut::{restrict_cuts, FeatureSide, RowCut};
use self::small_score_tables::SmallScoreTables;
use crate::random::child_seed;
use crate::tree::draw::TOLERANCE;
use crate::tree::grow::coded::large_node::{rank, row, LargeNode};
use crate::tree::grow::coded::score_tables::ScoreTables;
use crate::tree::grow::{PreorderNode, Subtree, LEAF};
use crate::tree::missing_side::MissingSide;
use crate::tree::params::{Splitter, TreeOptions};

/// Rows of the largest node of this engine.
pub(crate) const MAX_ROWS: usize = 64;

/// Up to this many columns, scoring a partition is cheaper than finding out whether an equal one is scored already.
const MAX_CHEAP_COLUMNS: usize = 3;

/// Grows small subtrees, reusing its buffers between them.
pub(crate) struct BitsetGrower<'a> {
    features: &'a Features,
    options: &'a TreeOptions,
    /// Whether the splitter draws one random threshold per feature.
    is_random: bool,
    /// Whether all cuts of a node are candidates.
    has_all_candidates: bool,
    scores: &'a ScoreTables,
    small_scores: SmallScoreTables,
    /// Columns (pairs of labels) and cuts (candidate thresholds) of the nodes on the path from the root of the subtree
    /// to the current node, one node after the other.
    columns: Vec<PairSets>,
    cuts: Vec<RowCut>,
    /// Number of cuts in use; later ones are stale.
    cut_count: usize,
    merger: ColumnMerger,
    /// Distinct partitions of the current node's rows into left and right.
    partitions: RowSetIndex,
    /// Indices of the current node's cuts that may be chosen.
    candidates: Vec<u32>,
    /// Per candidate the index of its partition; unused in nodes of few columns.
    partition_of: Vec<u32>,
    /// Per feature of the current node the index of the cut at its random threshold, and the threshold.
    random_cuts: Vec<(usize, f64)>,
    /// Per feature of the current node its index and the end of its cuts; filled only with `max_features`.
    feature_ends: Vec<(u32, u32)>,
    /// The drawn features; filled only with `max_features`.
    drawn_features: Vec<u32>,
    /// Per partition the improvement; negative infinity if a bound shows that it is not the best.
    improvements: Vec<f64>,
    /// Bounds of the partitions, and the improvements of those that may be the best.
    promising: PromisingPartitions,
    /// Per training row, as indexed by the node's pair codes, its bits in the sets of rows: one, or several if its
    /// weight repeats it. Stale for rows outside the current subtree.
    row_bits: Vec<u64>,
    /// The lowest bit of each row of the current subtree, to count distinct rows.
    first_bits: u64,
    /// The features with missing values in the current subtree, ascending, and the sets of rows in which their values
    /// are missing.
    missing_rows: Vec<(u32, u64)>,
}

/// A node of at most 64 rows.
struct SmallNode {
    /// Set of rows.
    rows: u64,
    /// Start of the node's columns in the grower's buffer.
    columns: usize,
    /// Start of the node's cuts in the grower's buffer.
    cuts: usize,
    depth: usize,
    seed: u64,
}

impl<'a> BitsetGrower<'a> {
    pub(crate) fn new(
        features: &'a Features,
        options: &'a TreeOptions,
        scores: &'a ScoreTables,
    ) -> Self {
        let is_random = options.splitter == Splitter::RandomBinary;
        let is_limited = options.max_features.is_some() || options.min_samples_leaf > 1;
        Self {
            features,
            options,
            is_random,
            has_all_candidates: !is_random && !is_limited,
            scores,
            small_scores: SmallScoreTables::new(scores),
            columns: Vec::new(),
            cuts: Vec::new(),
            cut_count: 0,
            merger: ColumnMerger::default(),
            partitions: RowSetIndex::default(),
            candidates: Vec::new(),
            random_cuts: Vec::new(),
            feature_ends: Vec::new(),
            drawn_features: Vec::new(),
            partition_of: Vec::new(),
            improvements: Vec::new(),
            promising: PromisingPartitions::default(),
            row_bits: Vec::new(),
            first_bits: 0,
            missing_rows: Vec::new(),
        }
    }

    /// Grows the subtree of a node of at most [`MAX_ROWS`] rows and appends it to `out`.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(crate) fn grow(
        &mut self,
        node: &LargeNode,
        out: &mut Subtree,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        self.columns.clear();
        self.cut_count = 0;
        self.read_cuts(node);
        let rows = u64::MAX >> (MAX_ROWS - node.len());
        let pair_sets = PairSets::read(&node.pair_codes, &node.members);
        self.merger.restrict(
            &pair_sets,
            rows,
            node.pair_codes.is_complete(),
            &mut self.columns,
        );
        let root = SmallNode {
            rows,
            columns: 0,
            cuts: 0,
            depth: node.depth,
            seed: node.seed,
        };
        let row_ids: Vec<u32> = node
            .members
            .iter()
            .map(|&entry| node.pair_codes.rows[row(entry)])
            .collect();
        self.grow_node(&root, &row_ids, out, meter)
    }

    /// Assigns the bits of the rows and lists the cuts of the subtree's root. Bits are assigned in ascending row order,
    /// so that the rows of a leaf are ascending.
    fn read_cuts(&mut self, node: &LargeNode) {
        self.row_bits
            .resize(node.pair_codes.rows.len().max(self.row_bits.len()), 0);
        self.first_bits = 0;
        for (entry, bits) in bits_of_rows(&node.members) {
            self.row_bits[row(entry)] = bits;
            self.first_bits |= bits & bits.wrapping_neg();
        }
        self.missing_rows.clear();
        for (index, &feature) in node.features.iter().enumerate() {
            let sorted = node.sorted(index);
            self.read_feature_cuts(FeatureSide::new(feature, false), sorted.iter());
            let present = sorted.partition_point(|&entry| rank(entry) != MISSING_RANK);
            let (present, missing) = sorted.split_at(present);
            if !missing.is_empty() {
                let rows = missing.iter().map(|&entry| self.row_bits[row(entry)]);
                self.missing_rows
                    .push((feature, rows.fold(0, |all, bits| all | bits)));
                let feature_side = FeatureSide::new(feature, true);
                self.read_feature_cuts(feature_side, missing.iter().chain(present));
            }
        }
    }

    /// Lists the cuts of a feature with missing values on one side, given the rows in that order.
    fn read_feature_cuts<'e>(
        &mut self,
        feature_side: FeatureSide,
        mut sorted: impl Iterator<Item = &'e u64>,
    ) {
        let Some(&first) = sorted.next() else {
            return;
        };
        let end = self.cut_count + MAX_ROWS;
        if self.cuts.len() < end {
            self.cuts.resize(2 * end, RowCut::default());
        }
        let cuts = &mut self.cuts[self.cut_count..end];
        let mut found = 0;
        let (mut left, mut lower) = (self.row_bits[row(first)], rank(first));
        for &entry in sorted {
            let upper = rank(entry);
            // Branch-free: a cut is written before each row, and overwritten by the next unless the value changes.
            cuts[found % MAX_ROWS] = RowCut {
                left,
                feature_side,
                lower,
                upper,
            };
            found += usize::from(upper != lower);
            lower = upper;
            left |= self.row_bits[row(entry)];
        }
        self.cut_count += found;
    }

    /// The side of missing values at a cut of a node.
    fn missing_side(&self, node: &SmallNode, cut: &RowCut) -> MissingSide {
        let is_missing = |&(feature, rows): &(u32, u64)| {
            feature == cut.feature_side.feature() && rows & node.rows != 0
        };
        if self.missing_rows.iter().any(is_missing) {
            MissingSide::learnt(cut.feature_side.missing_left())
        } else {
            MissingSide::Heavier
        }
    }

    /// Appends a node and, recursively, its children to `out`. `row_ids` has the index of the training row of each bit.
    fn grow_node(
        &mut self,
        node: &SmallNode,
        row_ids: &[u32],
        out: &mut Subtree,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let rows = node.rows.count_ones() as usize;
        let columns = self.columns.len() - node.columns;
        let cuts = self.cut_count - node.cuts;
        meter.add((100 + cuts * (5 + columns)) as u64)?;
        let node_score = if columns == 0 {
            0
        } else {
            self.small_scores
                .score_node(self.scores, rows, &self.columns[node.columns..])
        };
        let is_leaf = self.options.max_depth.is_some_and(|max| node.depth >= max)
            || self.count_rows(node.rows) < self.options.min_samples_split
            || columns == 0;
        let split = if is_leaf {
            None
        } else {
            self.find_best_cut(node, node_score)
        };
        let split = split.map(|at| self.cuts[at]).zip(split);
        out.nodes.push(PreorderNode {
            rows: rows as u32,
            weight: rows as f64,
            impurity: self.scores.impurity(rows, node_score),
            feature: split.map_or(LEAF, |(cut, _)| cut.feature_side.feature()),
            thresholds: u32::from(split.is_some()),
            missing: split.map_or(MissingSide::Heavier, |(cut, _)| {
                self.missing_side(node, &cut)
            }),
        });
        let Some((split, at)) = split else {
            let mut left = node.rows;
            while left != 0 {
                out.rows.push(row_ids[left.trailing_zeros() as usize]);
                left &= left - 1;
            }
            return Ok(());
        };
        let random_cut = self
            .random_cuts
            .iter()
            .find(|cut| self.is_random && cut.0 == at);
        out.thresholds.push(random_cut.map_or_else(
            || {
                let feature = split.feature_side.feature() as usize;
                self.features.threshold(feature, split.lower, split.upper)
            },
            |&(_, threshold)| threshold,
        ));
        for (side, rows) in [split.left, node.rows & !split.left]
            .into_iter()
            .enumerate()
        {
            let child = SmallNode {
                rows,
                columns: self.columns.len(),
                cuts: self.cut_count,
                depth: node.depth + 1,
                seed: child_seed(node.seed, side),
            };
            self.push_child(node, &child);
            self.grow_node(&child, row_ids, out, meter)?;
            self.columns.truncate(child.columns);
            self.cut_count = child.cuts;
        }
        Ok(())
    }

    /// Number of distinct rows of a set; a repeated row has several bits.
    fn count_rows(&self, set: u64) -> usize {
        (set & self.first_bits).count_ones() as usize
    }

    /// Appends the columns and cuts of a child to the buffers. A child of one row has none.
    fn push_child(&mut self, node: &SmallNode, child: &SmallNode) {
        if child.rows.is_power_of_two() {
            return;
        }
        let complete = self.small_scores.is_complete();
        if complete && child.rows.count_ones() == 2 {
            ColumnMerger::restrict_to_two(&mut self.columns, node.columns, child.rows);
        } else {
            self.merger
                .restrict_in_place(&mut self.columns, node.columns, child.rows, complete);
        }
        if self.columns.len() == child.columns {
            return;
        }
        let size = 2 * child.cuts - node.cuts + 1;
        if self.cuts.len() < size {
            self.cuts.resize(2 * size, RowCut::default());
        }
        let (parent_cuts, child_cuts) = self.cuts.split_at_mut(child.cuts);
        let parent_cuts = &parent_cuts[node.cuts..];
        // Two rows have one partition, and the first of equally good cuts is chosen.
        let first_only = child.rows.count_ones() == 2 && self.has_all_candidates;
        let restrict = match (self.missing_rows.is_empty(), first_only) {
            (true, false) => restrict_cuts::<false, false>,
            (true, true) => restrict_cuts::<false, true>,
            (false, false) => restrict_cuts::<true, false>,
            (false, true) => restrict_cuts::<true, true>,
        };
        let found = restrict(parent_cuts, child.rows, child_cuts);
        self.cut_count = child.cuts + found;
    }

    /// Index of the node's best candidate cut; `None` without candidates.
    fn find_best_cut(&mut self, node: &SmallNode, node_score: i64) -> Option<usize> {
        self.find_candidates(node);
        if node.rows.count_ones() == 2 {
            // Two rows have one partition: no cut is better than the first.
            return self.candidates.first().map(|&at| at as usize);
        }
        let is_cheap = self.columns.len() - node.columns <= MAX_CHEAP_COLUMNS;
        self.list_partitions(node, is_cheap);
        self.score_partitions(node, node_score);
        let improvements = &self.improvements;
        if is_cheap {
            choose_candidate(&self.candidates, improvements.iter().copied())
        } else {
            let of_partition = self.partition_of.iter();
            choose_candidate(
                &self.candidates,
                of_partition.map(|&partition| improvements[partition as usize]),
            )
        }
    }

    /// Lists the distinct partitions of the candidates or, if `is_cheap`, one partition per candidate.
    fn list_partitions(&mut self, node: &SmallNode, is_cheap: bool) {
        let cuts = &self.cuts;
        let left_sets = self.candidates.iter().map(|&at| cuts[at as usize].left);
        if is_cheap {
            self.partitions.set_all(left_sets);
            return;
        }
        self.partitions.clear(self.candidates.len());
        self.partition_of.clear();
        let lowest = node.rows & node.rows.wrapping_neg();
        for left in left_sets {
            // A partition is identified by the side with the lowest row.
            let side = if left & lowest == 0 {
                node.rows & !left
            } else {
                left
            };
            self.partition_of.push(self.partitions.insert(side));
        }
    }
}

/// The first candidate, unless a later one is better by more than [`TOLERANCE`].
fn choose_candidate(candidates: &[u32], improvements: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best = (f64::NEG_INFINITY, None);
    for (&at, improvement) in candidates.iter().zip(improvements) {
        if improvement > best.0 + TOLERANCE {
            best = (improvement, Some(at as usize));
        }
    }
    best.1
}
