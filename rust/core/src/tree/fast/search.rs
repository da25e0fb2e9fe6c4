//! The best split of a large node.

use super::super::draw::Watch;
use super::best::{Best, Candidate, MARGIN};
use super::block::Block;
use super::count::Counts;
use super::node::{rank, Node};
use super::score::{Score, Sides};
use crate::error::Result;
use crate::simd::{dispatch, Kernel};

/// What is known of a node when its features are searched.
pub(super) struct Known<'a> {
    pub(super) node: &'a Node,
    pub(super) score: &'a Score,
    pub(super) totals: &'a Counts,
    /// The node's own sum.
    pub(super) sum: i64,
    pub(super) min_samples_leaf: usize,
}

/// Buffers that are used again and again.
#[derive(Default)]
pub(super) struct Scratch {
    /// Positions in the order of a feature where the value changes, between 0 and the number of rows.
    cuts: Vec<u32>,
    /// Some of those positions, ascending from 0, with the counts of the rows before them.
    marks: Vec<u32>,
    counts: Vec<Counts>,
    between: Counts,
    stack: Vec<Interval>,
}

/// About how many positions of an order have their counts kept.
const MARKS: usize = 64;

/// The cuts strictly between two others.
#[derive(Clone, Copy)]
struct Interval {
    /// Indices of the bounding cuts.
    low: usize,
    high: usize,
    /// The left sum at `low` and the right sum at `high`.
    sums: Sides,
}

impl Known<'_> {
    /// Offers the cuts of one of the node's features.
    ///
    /// Between the cuts a < b both sides cost at least what the left costs at a and the right at b, for complete
    /// rankings: more rows never have less entropy times weight. So intervals are halved, and dropped as soon as
    /// they cannot hold the best. With missing labels this does not hold, and every cut is evaluated.
    pub(super) fn search(
        &self,
        feature: usize,
        scratch: &mut Scratch,
        best: &mut Best,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        scratch.find_cuts(sorted, self.min_samples_leaf);
        if scratch.cuts.len() < 3 {
            return Ok(());
        }
        let work = sorted.len() + scratch.cuts.len() * self.node.block.columns() / 4;
        watch.work(work as u64)?;
        dispatch(Halve {
            known: self,
            feature,
            scratch,
            best,
            watch,
        })
    }

    #[inline(always)]
    fn halve(
        &self,
        feature: usize,
        scratch: &mut Scratch,
        best: &mut Best,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let sorted = self.node.sorted(feature);
        let rows = sorted.len();
        let block = &*self.node.block;
        let bounded = matches!(self.score, Score::Exact(_));
        scratch.mark(block, sorted);
        let Scratch {
            cuts,
            marks,
            counts,
            between,
            stack,
        } = scratch;
        stack.clear();
        stack.push(Interval {
            low: 0,
            high: cuts.len() - 1,
            sums: (0, 0),
        });
        while let Some(Interval { low, high, sums }) = stack.pop() {
            if high - low < 2 {
                continue;
            }
            if bounded {
                let bound = self.score.improvement(rows, self.sum, 0, sums);
                if bound < best.improvement() - MARGIN {
                    continue;
                }
            }
            let middle = u32::midpoint(cuts[low], cuts[high]);
            let middle = cuts[low..high].partition_point(|&cut| cut < middle) + low;
            let middle = middle.clamp(low + 1, high - 1);
            let cut = cuts[middle] as usize;
            let mark = marks.partition_point(|&mark| mark as usize <= cut) - 1;
            // Without a bound that helps, a feature of many values takes longer than anybody waits for Ctrl-C.
            let added = cut - marks[mark] as usize;
            watch.work((block.columns() * (added / 16 + 1)) as u64)?;
            let left = if added == 0 {
                &counts[mark]
            } else {
                between.copy_from(&counts[mark]);
                between.add(block, &sorted[marks[mark] as usize..cut]);
                &*between
            };
            let at_cut = self.score.sides(block, (rows, self.totals), (cut, left));
            let improvement = self.score.improvement(rows, self.sum, cut, at_cut);
            best.offer(Candidate {
                feature: self.node.features[feature],
                ranks: (rank(sorted[cut - 1]), rank(sorted[cut])),
                improvement,
            });
            stack.push(Interval {
                low,
                high: middle,
                sums: (sums.0, at_cut.1),
            });
            stack.push(Interval {
                low: middle,
                high,
                sums: (at_cut.0, sums.1),
            });
        }
        Ok(())
    }
}

struct Halve<'a, 'b> {
    known: &'a Known<'a>,
    feature: usize,
    scratch: &'a mut Scratch,
    best: &'a mut Best,
    watch: &'a mut Watch<'b>,
}

impl Kernel for Halve<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        self.known
            .halve(self.feature, self.scratch, self.best, self.watch)
    }
}

impl Scratch {
    /// Counts the rows before cuts that are far enough apart.
    #[inline(always)]
    fn mark(&mut self, block: &Block, sorted: &[u64]) {
        let apart = sorted.len() / MARKS;
        self.marks.clear();
        for &cut in &self.cuts[..self.cuts.len() - 1] {
            let last = self.marks.last().copied();
            if last.is_some_and(|last| ((cut - last) as usize) < apart) {
                continue;
            }
            let index = self.marks.len();
            if self.counts.len() == index {
                self.counts.push(Counts::default());
            }
            let (known, next) = self.counts.split_at_mut(index);
            match (last, known.last()) {
                (Some(last), Some(known)) => {
                    next[0].copy_from(known);
                    next[0].add(block, &sorted[last as usize..cut as usize]);
                }
                _ => next[0].reset(block),
            }
            self.marks.push(cut);
        }
    }

    /// The possible cuts, with 0 before and the number of rows behind them.
    fn find_cuts(&mut self, sorted: &[u64], min_samples_leaf: usize) {
        let rows = sorted.len();
        self.cuts.clear();
        self.cuts.push(0);
        let possible = min_samples_leaf..(rows + 1).saturating_sub(min_samples_leaf);
        for cut in possible {
            if rank(sorted[cut - 1]) != rank(sorted[cut]) {
                self.cuts.push(cut as u32);
            }
        }
        self.cuts.push(rows as u32);
    }
}
