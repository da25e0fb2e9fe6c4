//! Subtrees of at most 64 rows: a set of rows is the set bits of a word.
//!
//! Most nodes of a fully grown tree are small. Here a pair of labels is a few words, a split is a word, and counting
//! is the population count of an intersection. Pairs that divide the rows alike are put together, and a division of
//! the rows that several features share is scored once.

mod columns;
mod score;

use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;

use self::columns::{bits_of_rows, ColumnMerger, PairSets, RowSetIndex};
use self::score::SmallScoreTables;
use crate::random::child_seed;
use crate::tree::draw::{draw_features, random_threshold, TOLERANCE};
use crate::tree::grow::coded::node::{rank, row, LargeNode};
use crate::tree::grow::coded::score::ScoreTables;
use crate::tree::grow::{Grown, Subtree, LEAF};
use crate::tree::params::{Splitter, TreeOptions};

/// Rows of the largest node that is grown here.
pub(crate) const MAX_ROWS: usize = 64;

/// Below this many columns, scoring a partition is cheaper than looking it up.
const FEW_COLUMNS: usize = 3;

/// A boundary between values of a feature.
#[derive(Debug, Clone, Copy, Default)]
struct RowCut {
    /// The rows of the node below the boundary.
    left: u64,
    feature: u32,
    lower: u32,
    upper: u32,
}

/// Grows small subtrees, one after the other, with the same buffers.
pub(crate) struct BitsetGrower<'a> {
    features: &'a Features,
    options: &'a TreeOptions,
    /// Whether only cuts at random thresholds may be chosen.
    is_random: bool,
    score: &'a ScoreTables,
    tables: SmallScoreTables,
    /// Columns and cuts of the node at work and behind it those of its children.
    columns: Vec<PairSets>,
    cuts: Vec<RowCut>,
    merge: ColumnMerger,
    memo: RowSetIndex,
    /// The cuts of the node at work that may be chosen, and for each of them which of the scored divisions it is.
    candidates: Vec<u32>,
    /// For each feature of the node at work the cut at its random threshold, and the threshold; ascending.
    random: Vec<(usize, f64)>,
    /// The features of the node at work and where the cuts of each end, and those features that it looks at, if not all.
    ends: Vec<(u32, u32)>,
    drawn: Vec<u32>,
    division: Vec<u32>,
    improvements: Vec<f64>,
    /// For each row of a block its bits in the node at work, or what was there earlier.
    bits_of: Vec<u64>,
}

/// A node of at most 64 rows: its row set, and where its columns and cuts start in the shared buffers.
struct SmallNode {
    rows: u64,
    columns: usize,
    cuts: usize,
    depth: usize,
    seed: u64,
}

impl<'a> BitsetGrower<'a> {
    pub(crate) fn new(
        features: &'a Features,
        options: &'a TreeOptions,
        score: &'a ScoreTables,
    ) -> Self {
        Self {
            features,
            options,
            is_random: options.splitter == Splitter::RandomBinary,
            score,
            tables: SmallScoreTables::new(score),
            columns: Vec::new(),
            cuts: Vec::new(),
            merge: ColumnMerger::default(),
            memo: RowSetIndex::default(),
            candidates: Vec::new(),
            random: Vec::new(),
            ends: Vec::new(),
            drawn: Vec::new(),
            division: Vec::new(),
            improvements: Vec::new(),
            bits_of: Vec::new(),
        }
    }

    /// Grows the subtree of a node.
    pub(crate) fn grow(
        &mut self,
        node: &LargeNode,
        out: &mut Subtree,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        self.columns.clear();
        self.cuts.clear();
        self.read_cuts(node);
        let rows = u64::MAX >> (MAX_ROWS - node.len());
        let raw = PairSets::read(&node.block, &node.members);
        self.merge
            .restrict(&raw, rows, node.block.seen.is_empty(), &mut self.columns);
        let place = SmallNode {
            rows,
            columns: 0,
            cuts: 0,
            depth: node.depth,
            seed: node.seed,
        };
        let names: Vec<u32> = node
            .members
            .iter()
            .map(|&entry| node.block.rows[row(entry)])
            .collect();
        self.grow_node(&place, &names, out, meter)
    }

    /// Bits are numbered by row, so that the rows of a leaf come out ascending.
    fn read_cuts(&mut self, node: &LargeNode) {
        self.bits_of
            .resize(node.block.rows.len().max(self.bits_of.len()), 0);
        for (entry, bits) in bits_of_rows(&node.members) {
            self.bits_of[row(entry)] = bits;
        }
        for (index, &feature) in node.features.iter().enumerate() {
            let sorted = node.sorted(index);
            let mut left = 0;
            let mut lower = rank(sorted[0]);
            for &entry in sorted {
                let upper = rank(entry);
                if upper != lower {
                    self.cuts.push(RowCut {
                        left,
                        feature,
                        lower,
                        upper,
                    });
                    lower = upper;
                }
                left |= self.bits_of[row(entry)];
            }
        }
    }

    fn grow_node(
        &mut self,
        place: &SmallNode,
        names: &[u32],
        out: &mut Subtree,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let rows = place.rows.count_ones() as usize;
        let columns = self.columns.len() - place.columns;
        let cuts = self.cuts.len() - place.cuts;
        meter.add((100 + cuts * (5 + columns)) as u64)?;
        let sum = self
            .tables
            .whole(self.score, rows, &self.columns[place.columns..]);
        let leaf = self.options.max_depth.is_some_and(|max| place.depth >= max)
            || rows < self.options.min_samples_split
            || columns == 0;
        let split = if leaf { None } else { self.best(place, sum) };
        let split = split.map(|at| self.cuts[at]).zip(split);
        out.nodes.push(Grown {
            rows: rows as u32,
            weight: rows as f64,
            impurity: self.score.impurity(rows, sum),
            feature: split.map_or(LEAF, |(cut, _)| cut.feature),
            thresholds: u32::from(split.is_some()),
        });
        let Some((split, at)) = split else {
            let mut left = place.rows;
            while left != 0 {
                out.rows.push(names[left.trailing_zeros() as usize]);
                left &= left - 1;
            }
            return Ok(());
        };
        let drawn = self.random.iter().find(|cut| self.is_random && cut.0 == at);
        out.thresholds.push(drawn.map_or_else(
            || {
                self.features
                    .threshold(split.feature as usize, split.lower, split.upper)
            },
            |&(_, threshold)| threshold,
        ));
        for (child, rows) in [split.left, place.rows & !split.left]
            .into_iter()
            .enumerate()
        {
            let below = SmallNode {
                rows,
                columns: self.columns.len(),
                cuts: self.cuts.len(),
                depth: place.depth + 1,
                seed: child_seed(place.seed, child),
            };
            self.descend(place, &below);
            self.grow_node(&below, names, out, meter)?;
            self.columns.truncate(below.columns);
            self.cuts.truncate(below.cuts);
        }
        Ok(())
    }

    /// Appends the columns and cuts of a child. One row has neither.
    fn descend(&mut self, place: &SmallNode, below: &SmallNode) {
        if below.rows.is_power_of_two() {
            return;
        }
        let complete = self.tables.complete();
        if complete && below.rows.count_ones() == 2 {
            ColumnMerger::restrict_to_two(&mut self.columns, place.columns, below.rows);
        } else {
            self.merge
                .restrict_in_place(&mut self.columns, place.columns, below.rows, complete);
        }
        if self.columns.len() == below.columns {
            return;
        }
        self.cuts
            .resize(2 * below.cuts - place.cuts + 1, RowCut::default());
        let (known, new) = self.cuts.split_at_mut(below.cuts);
        let mut found = 0;
        // No feature has this number.
        let mut last = RowCut {
            feature: u32::MAX,
            ..RowCut::default()
        };
        for cut in &known[place.cuts..] {
            let left = cut.left & below.rows;
            let divides = left != 0 && left != below.rows;
            // The same rows are below several boundaries of the parent: the gap between values has grown.
            let same = left == last.left && cut.feature == last.feature;
            let next = RowCut {
                left,
                lower: if same { last.lower } else { cut.lower },
                ..*cut
            };
            // Written in any case and kept or overwritten: no branch that is hard to predict.
            found -= usize::from(same);
            new[found] = next;
            found += usize::from(divides);
            last = if divides { next } else { last };
        }
        self.cuts.truncate(below.cuts + found);
    }

    fn find_random_cuts(&mut self, place: &SmallNode) {
        // Two rows are divided by the first feature that is drawn.
        let first_only = place.rows.count_ones() == 2 && self.options.max_features.is_none();
        self.random.clear();
        let mut start = place.cuts;
        for cuts in self.cuts[place.cuts..].chunk_by(|a, b| a.feature == b.feature) {
            let (first, last) = (cuts[0], cuts[cuts.len() - 1]);
            let values = self.features.distinct(first.feature as usize);
            let ends = (values[first.lower as usize], values[last.upper as usize]);
            let threshold = random_threshold(place.seed, first.feature, ends);
            let at = cuts.partition_point(|cut| values[cut.upper as usize] <= threshold);
            self.random.push((start + at, threshold));
            if first_only {
                break;
            }
            start += cuts.len();
        }
    }

    /// Where the best of the node's cuts stands, or of those among them that were drawn.
    fn best(&mut self, place: &SmallNode, sum: i64) -> Option<usize> {
        self.find_candidates(place);
        if place.rows.count_ones() == 2 {
            // There is one way to divide two rows: no cut is better than the first.
            return self.candidates.first().map(|&at| at as usize);
        }
        self.memo.clear(self.candidates.len());
        self.division.clear();
        let lowest = place.rows & place.rows.wrapping_neg();
        let is_cheap = self.columns.len() - place.columns <= FEW_COLUMNS;
        for &at in &self.candidates {
            let left = self.cuts[at as usize].left;
            self.division.push(if is_cheap {
                self.memo.append(left)
            } else if left & lowest == 0 {
                // Left and right may be exchanged: the side with the lowest row stands for both.
                self.memo.number(place.rows & !left)
            } else {
                self.memo.number(left)
            });
        }
        let columns = &self.columns[place.columns..];
        self.tables.improvements(
            self.score,
            (place.rows, sum),
            columns,
            self.memo.sides(),
            &mut self.improvements,
        );
        let mut best: Option<(f64, u32)> = None;
        for (&at, &division) in self.candidates.iter().zip(&self.division) {
            let improvement = self.improvements[division as usize];
            if best.is_none_or(|(best, _)| improvement > best + TOLERANCE) {
                best = Some((improvement, at));
            }
        }
        best.map(|(_, at)| at as usize)
    }

    /// Lists the cuts that may be chosen: those of the drawn features, at random thresholds or anywhere, that leave
    /// enough rows on both sides.
    fn find_candidates(&mut self, place: &SmallNode) {
        self.draw(place);
        let all = self.options.max_features.is_none();
        self.candidates.clear();
        if self.is_random {
            self.find_random_cuts(place);
        }
        let is_drawn = |feature| all || self.drawn.binary_search(&feature).is_ok();
        if self.is_random {
            let cuts = self.random.iter().map(|&(at, _)| at as u32);
            self.candidates
                .extend(cuts.filter(|&at| is_drawn(self.cuts[at as usize].feature)));
        } else if all {
            self.candidates
                .extend(place.cuts as u32..self.cuts.len() as u32);
        } else {
            let mut start = place.cuts as u32;
            let mut drawn = self.drawn.iter().peekable();
            for &(feature, end) in &self.ends {
                if drawn.next_if(|&&next| next == feature).is_some() {
                    self.candidates.extend(start..end);
                }
                start = end;
            }
        }
        let leaf = self.options.min_samples_leaf as u32;
        // Both sides of a cut have a row.
        if leaf > 1 {
            let rows = place.rows.count_ones();
            let cuts = &self.cuts;
            self.candidates.retain(|&at| {
                let left = cuts[at as usize].left.count_ones();
                left >= leaf && rows - left >= leaf
            });
        }
    }

    /// Draws the features to look at, unless all are.
    fn draw(&mut self, place: &SmallNode) {
        if self.options.max_features.is_none() {
            return;
        }
        let mut end = place.cuts as u32;
        self.ends.clear();
        for cuts in self.cuts[place.cuts..].chunk_by(|a, b| a.feature == b.feature) {
            end += cuts.len() as u32;
            self.ends.push((cuts[0].feature, end));
        }
        self.drawn.clear();
        self.drawn
            .extend(self.ends.iter().map(|&(feature, _)| feature));
        draw_features(&mut self.drawn, self.options.max_features, place.seed);
    }
}
