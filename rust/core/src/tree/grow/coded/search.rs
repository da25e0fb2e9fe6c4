//! The best split of a large node.

use super::block::PairCodes;
use super::count::Counts;
use super::filter::UpperBound;
use super::node::{rank, LargeNode};
use super::score::{ScoreTables, Sides};
use crate::error::Result;
use crate::features::Features;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};
use crate::tree::split::candidate::{BestSplit, SplitCandidate, MARGIN};

/// Read-only context of one large node's split search; features may be searched in any order or in parallel.
pub(crate) struct SplitSearch<'a> {
    pub(crate) node: &'a LargeNode,
    pub(crate) score: &'a ScoreTables,
    /// For complete rankings, unless the node is very large.
    pub(crate) filter: Option<UpperBound>,
    /// Score of the node itself.
    pub(crate) sum: i64,
    pub(crate) min_samples_leaf: usize,
    /// The features, where random thresholds are looked at instead of all.
    pub(crate) random: Option<&'a Features>,
}

/// Buffers reused between searches.
#[derive(Default)]
pub(crate) struct SearchBuffers {
    /// Positions in the order of a feature where the value changes, between 0 and the number of rows.
    cuts: Vec<u32>,
    /// Some of those positions, ascending from 0, with the counts of the rows before them.
    marks: Vec<u32>,
    counts: Vec<Counts>,
    /// For each cut but the last the mark at it or nearest below.
    mark_of: Vec<u32>,
    /// Counts of the rows before the lower ends of intervals on the stack that are not marks.
    lows: Vec<Counts>,
    stack: Vec<Interval>,
}

/// About how many positions of an order have their counts kept.
const MARKS: usize = 64;

/// Intervals of more cuts than this are worth the exact sums at their middle, from which the bounds of both halves
/// come; in smaller ones a cut that cannot be the best is only passed over.
const FEW_CUTS: usize = 16;

/// The cuts strictly between two others.
#[derive(Clone, Copy)]
struct Interval {
    /// Indices of the bounding cuts.
    low: usize,
    high: usize,
    /// Where the counts of the rows before `low` are kept, unless it is a mark.
    slot: usize,
    /// The left sum at `low` and the right sum at `high`.
    sums: Sides,
}

impl SplitSearch<'_> {
    /// Offers the cuts of one of the node's features.
    ///
    /// Between the cuts a < b both sides cost at least what the left costs at a and the right at b, for complete
    /// rankings: more rows never have less entropy times weight. So intervals are halved, and dropped as soon as
    /// they cannot hold the best. With missing labels this does not hold, and every cut is evaluated.
    pub(crate) fn search(
        &self,
        feature: usize,
        scratch: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        if let Some(features) = self.random {
            return self.offer_random(features, feature, scratch.low(), best, meter);
        }
        let sorted = self.node.sorted(feature);
        scratch.find_cuts(sorted, self.min_samples_leaf);
        if scratch.cuts.len() < 3 {
            return Ok(());
        }
        let work = sorted.len() + scratch.cuts.len() * self.node.block.columns() / 4;
        meter.add(work as u64)?;
        dispatch(SearchFeature {
            known: self,
            feature,
            scratch,
            best,
            meter,
        })
    }

    /// With bounds. The counts at a cut come from those at the nearest mark or, if nearer, at the lower end of the
    /// interval: a row is added once for each halving around it, however many cuts are evaluated.
    #[inline(always)]
    fn halve(
        &self,
        feature: usize,
        scratch: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        let rows = sorted.len();
        let block = &*self.node.block;
        scratch.mark(block, sorted, &self.node.totals, meter)?;
        let SearchBuffers {
            cuts,
            marks,
            counts,
            mark_of,
            lows,
            stack,
        } = scratch;
        stack.clear();
        stack.push(Interval {
            low: 0,
            high: cuts.len() - 1,
            slot: 0,
            sums: (0, 0),
        });
        while let Some(interval) = stack.pop() {
            let Interval {
                low,
                high,
                slot,
                sums,
            } = interval;
            if high - low < 2 {
                continue;
            }
            let bound = self.score.improvement(rows, self.sum, 0, sums);
            if bound < best.improvement() - MARGIN {
                continue;
            }
            let middle = usize::midpoint(low, high);
            let cut = cuts[middle] as usize;
            let mark = mark_of[middle] as usize;
            let start = marks[mark].max(cuts[low]) as usize;
            meter.add(work(block, cut - start))?;
            let left = if start == cut {
                &counts[mark]
            } else {
                // The interval above the cut is done before the one below it, so this slot is free.
                while lows.len() < slot + 2 {
                    lows.push(Counts::default());
                }
                let (known, next) = lows.split_at_mut(slot + 1);
                let from_mark = marks[mark] as usize == start;
                let from = if from_mark {
                    &counts[mark]
                } else {
                    &known[slot]
                };
                next[0].continue_from(from, block, &sorted[start..cut]);
                &next[0]
            };
            let at_cut = if high - low <= FEW_CUTS && self.is_passed_over(cut, left, best) {
                // What is known of the whole interval holds in both halves.
                sums
            } else {
                self.offer((feature, cut), left, best)
            };
            stack.push(Interval {
                high: middle,
                sums: (sums.0, at_cut.1),
                ..interval
            });
            stack.push(Interval {
                low: middle,
                slot: slot + 1,
                sums: (at_cut.0, sums.1),
                ..interval
            });
        }
        Ok(())
    }

    /// Without bounds: one cut after the other.
    #[inline(always)]
    fn sweep(
        &self,
        feature: usize,
        scratch: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        let block = &*self.node.block;
        let cuts = std::mem::take(&mut scratch.cuts);
        let left = scratch.low();
        left.reset(block);
        for ends in cuts[..cuts.len() - 1].windows(2) {
            let (last, cut) = (ends[0] as usize, ends[1] as usize);
            // Two entropies with roundings take a few times as long as sums of a table.
            meter.add(3 * work(block, cut - last))?;
            left.add(block, &sorted[last..cut]);
            self.offer((feature, cut), left, best);
        }
        scratch.cuts = cuts;
        Ok(())
    }

    /// Whether a cheap bound proves that a cut, with the counts of the rows before it, cannot be the best.
    #[inline(always)]
    pub(crate) fn is_passed_over(&self, cut: usize, left: &Counts, best: &BestSplit) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.bound(cut, left) < best.improvement() - MARGIN)
    }

    /// Offers a cut of a feature, with the counts of the rows before it.
    #[inline(always)]
    pub(crate) fn offer(
        &self,
        (feature, cut): (usize, usize),
        left: &Counts,
        best: &mut BestSplit,
    ) -> Sides {
        let sorted = self.node.sorted(feature);
        let rows = sorted.len();
        let at_cut = self
            .score
            .sides(&self.node.block, (rows, &self.node.totals), (cut, left));
        best.offer(SplitCandidate {
            feature: self.node.features[feature],
            ranks: (rank(sorted[cut - 1]), rank(sorted[cut])),
            improvement: self.score.improvement(rows, self.sum, cut, at_cut),
        });
        at_cut
    }
}

/// Units of work to add some rows and evaluate a cut.
fn work(block: &PairCodes, added: usize) -> u64 {
    (block.columns() * (added / 16 + 1)) as u64
}

struct SearchFeature<'a> {
    known: &'a SplitSearch<'a>,
    feature: usize,
    scratch: &'a mut SearchBuffers,
    best: &'a mut BestSplit,
    meter: &'a mut WorkMeter,
}

impl Kernel for SearchFeature<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self {
            known,
            feature,
            scratch,
            best,
            meter,
        } = self;
        if matches!(known.score, ScoreTables::Exact(_)) {
            known.halve(feature, scratch, best, meter)
        } else {
            known.sweep(feature, scratch, best, meter)
        }
    }
}

impl SearchBuffers {
    /// Memory for counts.
    fn low(&mut self) -> &mut Counts {
        if self.lows.is_empty() {
            self.lows.push(Counts::default());
        }
        &mut self.lows[0]
    }

    /// Counts the rows before cuts that are far enough apart: from below and, taking away from the totals, from above.
    /// The two meet at the widest gap, whose rows are never read.
    #[inline(always)]
    fn mark(
        &mut self,
        block: &PairCodes,
        sorted: &[u64],
        totals: &Counts,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        self.find_marks(sorted.len());
        let Self { marks, counts, .. } = self;
        if counts.len() < marks.len() {
            counts.resize_with(marks.len(), Counts::default);
        }
        let end = |index: usize| marks.get(index + 1).map_or(sorted.len(), |&m| m as usize);
        let rows = |index: usize| &sorted[marks[index] as usize..end(index)];
        let widest = (0..marks.len()).max_by_key(|&index| rows(index).len());
        let widest = widest.unwrap_or(0);
        let (low, high) = counts[..marks.len()].split_at_mut(widest + 1);
        low[0].reset(block);
        for index in 0..widest {
            meter.add(work(block, rows(index).len()))?;
            let (known, next) = low.split_at_mut(index + 1);
            next[0].continue_from(&known[index], block, rows(index));
        }
        for index in (0..high.len()).rev() {
            let rows = rows(widest + 1 + index);
            meter.add(work(block, rows.len()))?;
            let (next, known) = high.split_at_mut(index + 1);
            let known = known.first().unwrap_or(totals);
            next[index].go_back_from(known, block, rows);
        }
        Ok(())
    }

    /// Chooses the marks.
    fn find_marks(&mut self, rows: usize) {
        let apart = rows / MARKS;
        self.marks.clear();
        self.mark_of.clear();
        for &cut in &self.cuts[..self.cuts.len() - 1] {
            let last = self.marks.last().copied();
            if last.is_none_or(|last| (cut - last) as usize >= apart) {
                self.marks.push(cut);
            }
            self.mark_of.push(self.marks.len() as u32 - 1);
        }
    }

    /// The possible cuts, with 0 before and the number of rows behind them.
    fn find_cuts(&mut self, sorted: &[u64], min_samples_leaf: usize) {
        let rows = sorted.len();
        let last = (rows + 1).saturating_sub(min_samples_leaf);
        self.cuts.clear();
        self.cuts
            .resize(last.saturating_sub(min_samples_leaf) + 2, 0);
        let mut found = 1;
        let cuts = &mut self.cuts[..];
        for (cut, pair) in (1..last).zip(sorted.windows(2)).skip(min_samples_leaf - 1) {
            // Every position is written and kept or overwritten: no branch that is hard to predict.
            cuts[found] = cut as u32;
            found += usize::from(rank(pair[0]) != rank(pair[1]));
        }
        self.cuts[found] = rows as u32;
        self.cuts.truncate(found + 1);
    }
}
