//! Shares of one row from its leaves, by the training rows between each leaf and its anchor.

use crate::error::Result;
use crate::run::Interrupt;
use crate::simd::{dispatch, Kernel};
use crate::tree::{step_up, ClimbEnd, ClimbedNode, Step, TailRow, NEGLIGIBLE};

use super::share_index::ShareIndex;
use super::share_sums::ShareSums;

/// Marks a tree that does not vote for a row, or whose leaf is an anchor.
pub(super) const NO_START: u32 = u32::MAX;

/// The trees with a way up, and its start.
fn started(starts: &[u32]) -> impl Iterator<Item = (usize, &u32)> {
    let starts = starts.iter().enumerate();
    starts.filter(|(_, &start)| start != NO_START)
}

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

    /// Adds the shares of the leaves of one row, given per tree by the start of its way up, or [`NO_START`].
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
                for (tree, &start) in started(starts) {
                    interrupt.check()?;
                    tails.add(tree, start, sums);
                }
            }
        }
        Ok(())
    }
}

/// Complete rankings: the weights of a node are the same for all pairs, so the shares of all trees together are one
/// weighted sum of rankings.
///
/// Most of the time would be spent waiting for memory, because the trees exceed the cache. All leaves therefore climb
/// together, one level at a time, so that the reads of different trees do not wait for each other.
pub(super) struct CompleteTails<'a> {
    index: &'a ShareIndex,
    strength: f32,
    /// Per distinct ranking its weight in the sum; 0 between two rows.
    weights: Vec<f32>,
    /// The rankings whose weight is not 0, and room for all rows.
    touched: Vec<u32>,
    climbs: Vec<Climb>,
    /// Nodes on the ways up.
    path: Vec<PathNode>,
    /// Per climb that ended: its tree and the index in `path` of its highest node.
    ended: Vec<(u32, u32)>,
    coarse: Vec<(&'a [u8], i32)>,
    weighted: Vec<(u32, i32)>,
}

/// A leaf on its way up.
#[derive(Clone, Copy)]
struct Climb {
    tree: u32,
    node: u32,
    /// Index in `CompleteTails::path` of the node below, or [`BOTTOM`].
    below: u32,
    /// Fraction of the leaf's shares that this node and those above it contribute.
    fraction: f32,
}

/// A node on the way up from a leaf, with the factor of its weights.
#[derive(Clone, Copy)]
struct PathNode {
    level: ClimbedNode,
    factor: f32,
    /// Index of the node below, or [`BOTTOM`].
    below: u32,
}

/// Marks that there is no node below.
const BOTTOM: u32 = u32::MAX;

/// Tail rows per cache line.
const ROWS_PER_LINE: usize = 64 / size_of::<TailRow>();

impl<'a> CompleteTails<'a> {
    fn new(index: &'a ShareIndex) -> Self {
        Self {
            index,
            strength: index.strength as f32,
            weights: vec![0.0; index.distinct_rankings],
            touched: Vec::new(),
            climbs: Vec::new(),
            path: Vec::new(),
            ended: Vec::new(),
            coarse: Vec::new(),
            weighted: Vec::new(),
        }
    }

    fn add(&mut self, starts: &[u32], sums: &mut ShareSums) {
        self.climbs.clear();
        self.climbs
            .extend(started(starts).map(|(tree, &node)| Climb {
                tree: tree as u32,
                node,
                below: BOTTOM,
                fraction: 1.0,
            }));
        self.path.clear();
        self.ended.clear();
        self.coarse.clear();
        while !self.climbs.is_empty() {
            self.climb_one_level(sums);
        }
        sums.add_coarse(&self.coarse);
        let touched = self.weigh_rankings();
        self.weighted.clear();
        for &ranking in &self.touched[..touched] {
            let weight = std::mem::take(&mut self.weights[ranking as usize]);
            self.weighted.push((ranking, sums.fixed(weight)));
        }
        sums.add_rankings(&self.index.codes, &self.weighted);
    }

    /// Moves all climbs to the parents of their nodes, and removes those that end.
    fn climb_one_level(&mut self, sums: &mut ShareSums) {
        let (index, strength) = (self.index, self.strength);
        let (path, ended, coarse) = (&mut self.path, &mut self.ended, &mut self.coarse);
        self.climbs.retain_mut(|climb| {
            let fraction = climb.fraction;
            let top = match index.trees[climb.tree as usize].step(climb.node) {
                Step::Up(level, parent) => {
                    let [factor, rest] = step_up(fraction, level.weight, strength);
                    path.push(PathNode {
                        level,
                        factor,
                        below: climb.below,
                    });
                    climb.below = path.len() as u32 - 1;
                    climb.fraction = rest;
                    match parent {
                        _ if rest < NEGLIGIBLE => ClimbEnd::Stopped,
                        Some(parent) => {
                            climb.node = parent;
                            return true;
                        }
                        None => ClimbEnd::Root,
                    }
                }
                Step::End(top) => top,
            };
            match top {
                ClimbEnd::Exact(anchor) => sums.add_fraction(anchor, climb.fraction),
                ClimbEnd::Coarse(anchor) => {
                    coarse.push((anchor, sums.start_coarse(climb.fraction)));
                }
                ClimbEnd::Root => sums.add_prior(climb.fraction),
                ClimbEnd::Stopped => {}
            }
            if climb.below != BOTTOM {
                ended.push((climb.tree, climb.below));
            }
            false
        });
    }

    /// Adds the rows of all ways up to the weights of the rankings; returns the number of rankings that are touched.
    fn weigh_rankings(&mut self) -> usize {
        let rows_of = |tree: u32, start, end| self.index.trees[tree as usize].rows(start, end);
        let (mut all, mut most) = (0, 1);
        for &(tree, highest) in &self.ended {
            let level = self.path[highest as usize].level;
            let rows = rows_of(tree, level.start, level.end).iter();
            most += rows.len();
            all = rows
                .step_by(ROWS_PER_LINE)
                .fold(all, |all, row| all | row.ranking);
        }
        // The rows are in the cache now: the reads above did not wait for each other.
        std::hint::black_box(all);
        self.touched.resize(most.max(self.touched.len()), 0);
        let mut touched = 0;
        for &(tree, highest) in &self.ended {
            // A row of the leaf is in all nodes above it: the factors add up from the top.
            let (mut at, mut factor) = (highest, 0.0);
            while let Some(&PathNode {
                level,
                factor: own,
                below,
            }) = self.path.get(at as usize)
            {
                factor += own;
                let inner = self.path.get(below as usize).map(|node| node.level);
                for (start, end) in ring(level, inner) {
                    for row in rows_of(tree, start, end) {
                        let weight = &mut self.weights[row.ranking as usize];
                        // Branch-free: the ranking is written always, and kept if it is new.
                        self.touched[touched] = row.ranking;
                        touched += usize::from(*weight == 0.0);
                        *weight += factor * row.weight;
                    }
                }
                at = below;
            }
        }
        touched
    }
}

/// Missing labels: every pair has its own weights, and the way up is computed pair by pair.
pub(super) struct IncompleteTails<'a> {
    index: &'a ShareIndex,
    /// Per pair: weights of before, after and of all rows that rank both labels.
    counts: [Vec<f32>; 3],
    /// Rankings and weights of the rows of a node outside its child on the path.
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

    fn add(&mut self, tree: usize, start: u32, sums: &mut ShareSums) {
        let anchored = &self.index.trees[tree];
        self.pairs.clear();
        self.counts.iter_mut().for_each(|counts| counts.fill(0.0));
        let mut inner: Option<ClimbedNode> = None;
        let top = anchored.climb(start, |level| {
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

/// The two ranges of rows of a node outside its child `inner`.
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
