//! Shares of one row: the training rows between each of its leaves and the anchor above it are added to the anchor.

use crate::error::Result;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};
use crate::tree::{step_up, ClimbEnd, ClimbedNode, NEGLIGIBLE};

use super::share_index::ShareIndex;
use super::share_sums::ShareSums;

/// Sums the shares of leaves that are not anchors.
pub(super) enum TailSums<'a> {
    /// Every training row ranks all labels.
    Complete(CompleteTails<'a>),
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

    /// Adds the shares of the leaves of one row, given as pairs of tree and leaf.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn add(
        &mut self,
        leaves: &[(usize, u32)],
        sums: &mut ShareSums,
        interrupt: &Interrupt,
    ) -> Result<()> {
        match self {
            Self::Complete(tails) => {
                interrupt.check()?;
                tails.add(leaves, sums);
            }
            Self::Incomplete(tails) => {
                for &(tree, leaf) in leaves {
                    interrupt.check()?;
                    tails.add(tree, leaf, sums);
                }
            }
        }
        Ok(())
    }
}

/// Complete rankings: the weights of a node are the same for all pairs, so the shares of all trees together are one
/// weighted sum of rankings.
pub(super) struct CompleteTails<'a> {
    index: &'a ShareIndex,
    strength: f32,
    /// Per distinct ranking its weight in the sum; 0 between two rows.
    weights: Vec<f32>,
    /// The rankings whose weight is not 0.
    touched: Vec<u32>,
    /// Nodes on the path from a leaf to its anchor, with the factor of their weights.
    levels: Vec<(ClimbedNode, f32)>,
    rings: Vec<Ring>,
    weighted: Vec<(u32, i32)>,
}

/// Training rows of a node that are not in its child on the path to the leaf.
struct Ring {
    tree: usize,
    start: u32,
    end: u32,
    /// Factor of the weights of the rows.
    factor: f32,
}

impl<'a> CompleteTails<'a> {
    fn new(index: &'a ShareIndex) -> Self {
        Self {
            index,
            strength: index.strength as f32,
            weights: vec![0.0; index.distinct_rankings],
            touched: Vec::new(),
            levels: Vec::new(),
            rings: Vec::new(),
            weighted: Vec::new(),
        }
    }

    fn add(&mut self, leaves: &[(usize, u32)], sums: &mut ShareSums) {
        self.rings.clear();
        for &(tree, leaf) in leaves {
            self.climb(tree, leaf, sums);
        }
        self.weigh_rankings();
        self.weighted.clear();
        for ranking in self.touched.drain(..) {
            let weight = std::mem::take(&mut self.weights[ranking as usize]);
            self.weighted.push((ranking, sums.fixed(weight)));
        }
        sums.add_rankings(&self.index.codes, &self.weighted);
    }

    /// Collects the rings of one leaf and adds the contribution of its anchor.
    fn climb(&mut self, tree: usize, leaf: u32, sums: &mut ShareSums) {
        let (levels, strength) = (&mut self.levels, self.strength);
        levels.clear();
        let mut fraction = 1.0;
        let top = self.index.trees[tree].climb(leaf, |level| {
            let [factor, rest] = step_up(fraction, level.weight, strength);
            levels.push((level, factor));
            fraction = rest;
            fraction >= NEGLIGIBLE
        });
        match top {
            ClimbEnd::Anchor(anchor) => sums.add_fraction(anchor, fraction),
            ClimbEnd::Root => sums.add_prior(fraction),
            ClimbEnd::Stopped => {}
        }
        // A row of the leaf is in all nodes above it: the factors add up from the top.
        let mut factor = 0.0;
        for at in (0..levels.len()).rev() {
            let (level, own) = levels[at];
            factor += own;
            let inner = at.checked_sub(1).map(|below| levels[below].0);
            for (start, end) in ring(level, inner) {
                if start < end {
                    self.rings.push(Ring {
                        tree,
                        start,
                        end,
                        factor,
                    });
                }
            }
        }
    }

    /// Adds the rings to the weights of the rankings.
    fn weigh_rankings(&mut self) {
        for ring in &self.rings {
            for row in self.index.trees[ring.tree].rows(ring.start, ring.end) {
                let weight = &mut self.weights[row.ranking as usize];
                if *weight == 0.0 {
                    self.touched.push(row.ranking);
                }
                *weight += ring.factor * row.weight;
            }
        }
    }
}

/// Missing labels: every pair has its own weights, so the path to the anchor is computed pair by pair.
pub(super) struct IncompleteTails<'a> {
    index: &'a ShareIndex,
    /// Per pair: weights of before, after and of all rows that rank both labels.
    counts: [Vec<f32>; 3],
    /// Rankings of the rows of a ring, with their weights.
    ring: Vec<(u32, f32)>,
    pairs: PairFractions,
}

/// Shares of before and after of one tree, and the fraction that nodes further up contribute.
struct PairFractions {
    strength: f32,
    before: Vec<f32>,
    after: Vec<f32>,
    fractions: Vec<f32>,
}

impl<'a> IncompleteTails<'a> {
    fn new(index: &'a ShareIndex) -> Self {
        let zeros = || vec![0.0; index.codes.pairs()];
        Self {
            index,
            counts: std::array::from_fn(|_| vec![0.0; index.codes.stride()]),
            ring: Vec::new(),
            pairs: PairFractions {
                strength: index.strength as f32,
                before: zeros(),
                after: zeros(),
                fractions: zeros(),
            },
        }
    }

    fn add(&mut self, tree: usize, leaf: u32, sums: &mut ShareSums) {
        let anchored = &self.index.trees[tree];
        self.pairs.clear();
        self.counts.iter_mut().for_each(|counts| counts.fill(0.0));
        let mut inner: Option<ClimbedNode> = None;
        let top = anchored.climb(leaf, |level| {
            self.ring.clear();
            for (start, end) in ring(level, inner) {
                let rows = anchored.rows(start, end).iter();
                self.ring.extend(rows.map(|row| (row.ranking, row.weight)));
            }
            inner = Some(level);
            let counts = self.counts.each_mut().map(Vec::as_mut_slice);
            self.index.codes.add_incomplete(&self.ring, counts);
            let counts = self.counts.each_ref().map(Vec::as_slice);
            let pairs = &mut self.pairs;
            dispatch(StepUpPairs { pairs, counts })
        });
        match top {
            ClimbEnd::Anchor(anchor) => {
                let unit = self.index.unit as f32;
                let (before, rest) = anchor.split_at(self.index.codes.pairs());
                let above = before.iter().zip(rest);
                self.pairs
                    .add_above(above.map(|(&b, &a)| [b as f32 / unit, a as f32 / unit]));
            }
            ClimbEnd::Root => self.pairs.add_above(std::iter::repeat([1.0 / 3.0; 2])),
            ClimbEnd::Stopped => {}
        }
        sums.add_shares([&self.pairs.before, &self.pairs.after]);
    }
}

/// The two ranges of rows of a node that are not in its child `inner`.
fn ring(level: ClimbedNode, inner: Option<ClimbedNode>) -> [(u32, u32); 2] {
    let (inner_start, inner_end) = inner.map_or((level.end, level.end), |i| (i.start, i.end));
    [(level.start, inner_start), (inner_end, level.end)]
}

impl PairFractions {
    fn clear(&mut self) {
        self.before.fill(0.0);
        self.after.fill(0.0);
        self.fractions.fill(1.0);
    }

    /// Adds the contribution of the node above, given its shares of before and after.
    fn add_above(&mut self, above: impl Iterator<Item = [f32; 2]>) {
        let own = self.before.iter_mut().zip(&mut self.after);
        for (((before, after), fraction), above) in own.zip(&self.fractions).zip(above) {
            *before += fraction * above[0];
            *after += fraction * above[1];
        }
    }
}

struct StepUpPairs<'a> {
    pairs: &'a mut PairFractions,
    counts: [&'a [f32]; 3],
}

impl Kernel for StepUpPairs<'_> {
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
