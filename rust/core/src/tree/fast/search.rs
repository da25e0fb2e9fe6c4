//! The best split of a large node.

use super::super::draw::Watch;
use super::best::{Best, Candidate, MARGIN};
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
    /// Left counts along the path of the search.
    levels: Vec<Counts>,
    stack: Vec<Interval>,
}

/// The cuts strictly between two others.
#[derive(Clone, Copy)]
struct Interval {
    /// Indices of the bounding cuts.
    low: usize,
    high: usize,
    /// Where the left counts of `low` are.
    level: usize,
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
        });
        Ok(())
    }

    #[allow(clippy::inline_always)] // it must become part of the dispatched function to use its instructions
    #[inline(always)]
    fn halve(&self, feature: usize, scratch: &mut Scratch, best: &mut Best) {
        let sorted = self.node.sorted(feature);
        let Scratch {
            cuts,
            levels,
            stack,
        } = scratch;
        let rows = sorted.len();
        let block = &*self.node.block;
        let bounded = matches!(self.score, Score::Exact(_));
        if levels.is_empty() {
            levels.push(Counts::default());
        }
        levels[0].reset(block);
        stack.clear();
        stack.push(Interval {
            low: 0,
            high: cuts.len() - 1,
            level: 0,
            sums: (0, 0),
        });
        while let Some(interval) = stack.pop() {
            let Interval {
                low,
                high,
                level,
                sums,
            } = interval;
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
            if levels.len() < level + 2 {
                levels.push(Counts::default());
            }
            let (known, next) = levels.split_at_mut(level + 1);
            let left = &mut next[0];
            left.copy_from(&known[level]);
            left.add(block, &sorted[cuts[low] as usize..cut]);
            let at_cut = self.score.sides(block, (rows, self.totals), (cut, left));
            let improvement = self.score.improvement(rows, self.sum, cut, at_cut);
            best.offer(Candidate {
                feature: self.node.features[feature],
                ranks: (rank(sorted[cut - 1]), rank(sorted[cut])),
                improvement,
            });
            // The right half comes off the stack first: it needs the counts at the middle, which the left half
            // overwrites.
            stack.push(Interval {
                low,
                high: middle,
                level,
                sums: (sums.0, at_cut.1),
            });
            stack.push(Interval {
                low: middle,
                high,
                level: level + 1,
                sums: (at_cut.0, sums.1),
            });
        }
    }
}

struct Halve<'a> {
    known: &'a Known<'a>,
    feature: usize,
    scratch: &'a mut Scratch,
    best: &'a mut Best,
}

impl Kernel for Halve<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.known.halve(self.feature, self.scratch, self.best);
    }
}

impl Scratch {
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
