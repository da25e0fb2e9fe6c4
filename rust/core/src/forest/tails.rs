//! Pair shares of one row, summed over its leaves that are not anchors (nodes whose shares are stored). The shares of
//! such a leaf come from its tail, the training rows between the leaf and its anchor, and from the anchor, which is
//! found by a climb from the leaf towards the root; see [`AnchoredTree`](crate::tree::AnchoredTree).

use crate::error::Result;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};
use crate::tree::{ClimbEnd, ClimbedNode, NEGLIGIBLE, TAIL_ONE};

use super::share_index::ShareIndex;
use super::share_sums::ShareSums;

/// In place of the start of a climb, for a tree that needs none: it does not vote for the row, or the leaf of the row
/// is an anchor.
pub(super) const NO_START: u32 = u32::MAX;

/// Indices of the trees whose shares need a climb, with the starts of the climbs.
fn trees_to_climb(starts: &[u32]) -> impl Iterator<Item = (usize, &u32)> {
    let starts = starts.iter().enumerate();
    starts.filter(|(_, &start)| start != NO_START)
}

/// Sums the shares of leaves that are not anchors.
pub(super) enum TailSums<'a> {
    /// Every training row ranks all labels.
    Complete(CompleteTails<'a>),
    /// Labels are missing in some training rows.
    Incomplete(IncompleteTails<'a>),
}

impl<'a> TailSums<'a> {
    pub(super) fn new(index: &'a ShareIndex, is_complete: bool) -> Self {
        if is_complete {
            Self::Complete(CompleteTails::new(index))
        } else {
            Self::Incomplete(IncompleteTails::new(index))
        }
    }

    /// Adds the shares of the leaves of one row, given per tree by the start of its climb, or [`NO_START`].
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn add(
        &mut self,
        starts: &[u32],
        sums: &mut ShareSums,
        interrupt: &Interrupt,
    ) -> Result<()> {
        match self {
            Self::Complete(tails) => {
                interrupt.check()?;
                tails.add(starts, sums);
            }
            Self::Incomplete(tails) => {
                for (tree, &start) in trees_to_climb(starts) {
                    interrupt.check()?;
                    tails.add(tree, start, sums);
                }
            }
        }
        Ok(())
    }
}

/// Tails of complete rankings: those of all trees together are one weighted sum of rankings.
pub(super) struct CompleteTails<'a> {
    index: &'a ShareIndex,
    strength: f32,
    weights: RankingWeights,
    /// Coarse anchors of the current row, with their fractions.
    coarse: Vec<(&'a [u8], i32)>,
    /// Rankings of the current row, with their weights.
    weighted: Vec<(u32, i32)>,
}

/// Weights of the distinct rankings in a sum.
struct RankingWeights {
    /// Per distinct ranking, as multiples of 1/[`TAIL_ONE`]; all 0 before and after the sum of a row.
    weights: Vec<u64>,
    /// First the rankings whose weight is not 0, then unused entries: there is room for all rankings and one more.
    touched: Vec<u32>,
    /// Number of rankings whose weight is not 0.
    count: usize,
}

impl RankingWeights {
    /// Adds a weight that is not 0.
    #[inline(always)]
    fn add(&mut self, ranking: u32, weight: u32) {
        let sum = &mut self.weights[ranking as usize];
        // Branch-free: the ranking is always written, and kept if its weight was 0.
        self.touched[self.count] = ranking;
        self.count += usize::from(*sum == 0);
        *sum += u64::from(weight);
    }

    /// Returns the rankings with their weights, rounded to multiples of 1/`unit`, and resets the weights to 0.
    fn drain(&mut self, unit: i32) -> impl Iterator<Item = (u32, i32)> + '_ {
        let touched = &self.touched[..std::mem::take(&mut self.count)];
        let weights = &mut self.weights;
        // No overflow: a weight is at most 2³² per tree, and `unit` times the number of trees is at most 2³⁰.
        touched.iter().map(move |&ranking| {
            let weight = std::mem::take(&mut weights[ranking as usize]) * unit as u64;
            (ranking, ((weight + (1 << 31)) >> 32) as i32)
        })
    }
}

impl<'a> CompleteTails<'a> {
    fn new(index: &'a ShareIndex) -> Self {
        Self {
            index,
            strength: index.strength as f32,
            weights: RankingWeights {
                weights: vec![0; index.distinct_rankings],
                touched: vec![0; index.distinct_rankings + 1],
                count: 0,
            },
            coarse: Vec::new(),
            weighted: Vec::new(),
        }
    }

    fn add(&mut self, starts: &[u32], sums: &mut ShareSums) {
        let trees = &self.index.trees;
        // Loads the tails into the cache by reads that do not wait for each other.
        let touch = |all, (tree, &start): (usize, &u32)| all | trees[tree].touch_tail(start);
        std::hint::black_box(trees_to_climb(starts).fold(0, touch));
        self.coarse.clear();
        for (tree, &start) in trees_to_climb(starts) {
            let (end, fraction) = self.add_tail(tree, start);
            match end {
                ClimbEnd::Exact(anchor) => sums.add_fraction(anchor, fraction),
                ClimbEnd::Coarse(anchor) => {
                    self.coarse.push((anchor, sums.start_coarse(fraction)));
                }
                ClimbEnd::Root => sums.add_prior(fraction),
                ClimbEnd::Stopped => {}
            }
        }
        sums.add_coarse(&self.coarse);
        let fixed = self.weights.drain(self.index.unit);
        if let Some(compact) = &self.index.compact {
            return sums.add_compact(compact, fixed);
        }
        self.weighted.clear();
        self.weighted.extend(fixed);
        sums.add_rankings(&self.index.codes, &self.weighted);
    }

    /// Adds the rankings between a leaf and its anchor; returns the end of the climb and the fraction that this end
    /// contributes to the shares of the leaf.
    #[inline]
    fn add_tail(&mut self, tree: usize, start: u32) -> (ClimbEnd<'a>, f32) {
        let anchored = &self.index.trees[tree];
        let weights = &mut self.weights;
        let Some(tail) = anchored.tail(start) else {
            let add = |ranking, weight| {
                let weight: f32 = weight * TAIL_ONE;
                if weight >= 1.0 {
                    weights.add(ranking, weight as u32);
                }
            };
            return anchored.compute_tail(start, self.strength, add);
        };
        tail.for_each(|ranking, weight| weights.add(ranking, weight));
        (tail.end, tail.fraction)
    }
}

/// Tails of rankings with missing labels: the weight of a node differs between pairs, so a climb is computed per pair.
pub(super) struct IncompleteTails<'a> {
    index: &'a ShareIndex,
    /// Per pair: weights of before, after and of all rows that rank both labels.
    counts: [Vec<f32>; 3],
    /// Rankings and weights of the rows of a node that are not in its child on the path.
    outside: Vec<(u32, f32)>,
    pairs: PairFractions,
}

/// State of the climb in one tree.
struct PairFractions {
    /// Strength of the m-estimate that smooths the shares.
    strength: f32,
    /// Per pair the share of before from the nodes so far.
    before: Vec<f32>,
    /// Per pair the share of after from the nodes so far.
    after: Vec<f32>,
    /// Per pair the fraction that nodes further up contribute.
    fractions: Vec<f32>,
}

impl<'a> IncompleteTails<'a> {
    fn new(index: &'a ShareIndex) -> Self {
        let zeros = || vec![0.0; index.codes.pairs()];
        Self {
            index,
            counts: std::array::from_fn(|_| vec![0.0; index.codes.stride()]),
            outside: Vec::new(),
            pairs: PairFractions {
                strength: index.strength as f32,
                before: zeros(),
                after: zeros(),
                fractions: zeros(),
            },
        }
    }

    fn add(&mut self, tree: usize, start: u32, sums: &mut ShareSums) {
        let anchored = &self.index.trees[tree];
        self.pairs.clear();
        self.counts.iter_mut().for_each(|counts| counts.fill(0.0));
        let mut inner: Option<ClimbedNode> = None;
        let top = anchored.climb(start, |level| {
            self.outside.clear();
            for (start, end) in level.rows_outside(inner) {
                let rows = anchored.rows(start, end).iter();
                self.outside
                    .extend(rows.map(|row| (row.ranking, row.weight)));
            }
            inner = Some(level);
            let counts = self.counts.each_mut().map(Vec::as_mut_slice);
            self.index.codes.add_incomplete(&self.outside, counts);
            let counts = self.counts.each_ref().map(Vec::as_slice);
            let pairs = &mut self.pairs;
            dispatch(StepUpPairsKernel { pairs, counts })
        });
        match top {
            ClimbEnd::Exact(anchor) => {
                let unit = self.index.unit as f32;
                let (before, rest) = anchor.split_at(self.index.codes.pairs());
                let above = before.iter().zip(rest);
                self.pairs
                    .add_above(above.map(|(&b, &a)| [b as f32 / unit, a as f32 / unit]));
            }
            ClimbEnd::Root => self.pairs.add_above(std::iter::repeat([1.0 / 3.0; 2])),
            // There are no coarse anchors with missing labels.
            ClimbEnd::Coarse(_) | ClimbEnd::Stopped => {}
        }
        sums.add_shares([&self.pairs.before, &self.pairs.after]);
    }
}

impl PairFractions {
    fn clear(&mut self) {
        self.before.fill(0.0);
        self.after.fill(0.0);
        self.fractions.fill(1.0);
    }

    /// Adds the contribution of the node above, given its shares of before and after.
    fn add_above(&mut self, above: impl Iterator<Item = [f32; 2]>) {
        let shares = self.before.iter_mut().zip(&mut self.after);
        for (((before, after), fraction), above) in shares.zip(&self.fractions).zip(above) {
            *before += fraction * above[0];
            *after += fraction * above[1];
        }
    }
}

/// Adds the contribution of one node and computes the fractions that are left to its parent.
struct StepUpPairsKernel<'a> {
    pairs: &'a mut PairFractions,
    counts: [&'a [f32]; 3],
}

impl Kernel for StepUpPairsKernel<'_> {
    /// Whether the parent is needed for any pair.
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let strength = self.pairs.strength;
        let length = self.pairs.fractions.len();
        let before = &mut self.pairs.before[..length];
        let after = &mut self.pairs.after[..length];
        let fractions = &mut self.pairs.fractions[..length];
        let [b, a, seen] = self.counts.map(|plane| &plane[..length]);
        let mut needed = 0_u32;
        for pair in 0..length {
            let factor = fractions[pair] / (seen[pair] + strength);
            before[pair] += factor * b[pair];
            after[pair] += factor * a[pair];
            let rest = factor * strength;
            fractions[pair] = rest;
            needed |= u32::from(rest >= NEGLIGIBLE);
        }
        needed > 0
    }
}
