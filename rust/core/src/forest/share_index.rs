//! [`ShareIndex`]: anchored trees of a forest, which predict pair shares without counting the training rows again; and
//! [`IndexCache`], which keeps the last index.
//!
//! Anchors are nodes whose shares are stored: exact anchors in 32 bits per share, coarse anchors in 8 bits. The tail of
//! a leaf is the weighted sum of the rankings between the leaf and the anchor above it; its shares are the tail plus a
//! fraction of the shares of the anchor; see [`AnchoredTree`].

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::once::{build_once, BuildTurn};
use crate::pairs::{pair_count, CompactRankings, PackedPairCodes};
use crate::rankings::Rankings;
use crate::run::{self, Jobs, Work};
use crate::tree::{
    anchor_stride, coarse_stride, AnchorPlan, AnchoredTree, CodedTrees, Tree, MIN_ROWS_EXPONENTS,
};
use crate::weights::Weights;

use super::share_sums::fixed_point_unit;
use super::Forest;

/// Largest memory of all anchors together, in bytes.
const ANCHOR_BUDGET: usize = 64 << 20;

/// Largest memory of all stored tails together, in bytes.
const TAIL_BUDGET: usize = 192 << 20;

/// Fraction of the budget that coarse anchors may take: numerator and denominator.
const COARSE_PART: [usize; 2] = [3, 4];

/// Candidates for [`AnchorSizes::coarse_fraction`], largest first. One byte per share has an error of at most 1/510, so
/// the largest fraction adds at most 4e-7 to the error of a share. Smaller fractions need fewer anchors.
const COARSE_FRACTIONS: [f32; 5] = [2e-4, 5e-5, 1.25e-5, 3e-6, 8e-7];

/// Weights and strengths for which the climb from a leaf to its anchor can be computed in single precision.
const SINGLE_PRECISION: std::ops::RangeInclusive<f64> = 1e-20..=1e20;

/// The anchored trees of a forest for one strength of the m-estimate, which smooths the shares of the leaves.
///
/// Memory on top of the forest:
/// - at most 64 MB for anchors, unless extreme weights or an extreme strength make every leaf an anchor, and 4 bytes
///   per node;
/// - unless every leaf is an anchor: at most 192 MB for the tails of complete rankings. Trees without stored tails,
///   because these do not fit or labels are missing, take 16 bytes per node and 8 bytes per training row;
/// - unless every leaf is an anchor: 36 bytes per distinct ranking or, with missing labels or more than 32 labels, two
///   bytes per label and two or three bits per pair of labels;
/// - after the first prediction of many rows: 8 bytes per node.
#[derive(Debug)]
pub(super) struct ShareIndex {
    /// Strength of the m-estimate.
    pub(super) strength: f64,
    /// Fixed-point value of 1.0 in the shares of one tree.
    pub(super) unit: i32,
    pub(super) trees: Vec<AnchoredTree>,
    /// Largest fraction that a coarse anchor contributes to the shares of a leaf; 0 without coarse anchors.
    pub(super) coarse_fraction: f32,
    /// The distinct training rankings; none if every leaf is an anchor, or if they are stored in `compact`.
    pub(super) codes: PackedPairCodes,
    /// The distinct training rankings, if they rank all labels and there are few labels.
    pub(super) compact: Option<CompactRankings>,
    pub(super) distinct_rankings: usize,
    /// Whether some leaves are not anchors.
    pub(super) has_tails: bool,
    /// The trees with ranks in place of thresholds, which the first prediction of many rows computes.
    coded: OnceLock<Option<CodedTrees>>,
    /// Id of the process that has the [`BuildTurn`] to compute `coded`, or 0.
    coder: AtomicU32,
}

impl ShareIndex {
    /// Chooses the anchors of the trees and computes their shares, in parallel.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn new(forest: &Forest, strength: f64, jobs: Jobs<'_>) -> Result<Self> {
        let sizes = AnchorSizes::choose(forest, strength, ANCHOR_BUDGET, jobs)?;
        Self::with_sizes(forest, strength, sizes, jobs)
    }

    /// As [`Self::new`], with given sizes.
    pub(super) fn with_sizes(
        forest: &Forest,
        strength: f64,
        sizes: AnchorSizes,
        jobs: Jobs<'_>,
    ) -> Result<Self> {
        let rankings = &forest.rankings;
        let mut plan = sizes.plan(forest, strength);
        let distinct = DistinctRankings::new(rankings, plan.has_tails());
        plan.ranking_of = &distinct.ranking_of;
        let leaves = forest.leaves();
        let anchor = |(): &mut (), tree: usize| {
            let member = &forest.members[tree];
            let weights = forest.weights(member.kind, member.seed);
            let part = member.tree.leaves() as f64 / leaves as f64;
            let plan = AnchorPlan {
                tail_bytes: (sizes.tail_bytes as f64 * part) as usize,
                ..plan
            };
            AnchoredTree::new(&member.tree, &weights, &plan, jobs.interrupt)
        };
        let pairs = pair_count(rankings.labels());
        let work = Work::new(forest.members.len(), rankings.len() * pairs);
        let trees = run::map(jobs, work, || (), anchor)?;
        let labels = rankings.labels();
        let distinct_rankings = distinct.positions.len() / labels;
        let compact = CompactRankings::new(labels, &distinct.positions);
        let compact = compact.filter(|_| rankings.is_complete());
        let positions = match compact {
            Some(_) => Vec::new(),
            None => distinct.positions,
        };
        Ok(Self {
            strength,
            unit: plan.unit,
            trees,
            coarse_fraction: sizes.coarse_fraction,
            codes: PackedPairCodes::new(labels, positions),
            compact,
            distinct_rankings,
            has_tails: sizes.min_rows > 1,
            coded: OnceLock::new(),
            coder: AtomicU32::new(0),
        })
    }

    /// The trees of the forest with ranks in place of thresholds, computed by the first call; `None` if they cannot be
    /// coded.
    pub(super) fn coded_trees(&self, features: usize, trees: &[&Tree]) -> Option<&CodedTrees> {
        let code = || CodedTrees::new(features, trees);
        build_once(&self.coded, &self.coder, code).as_ref()
    }
}

/// Parameters of the [`AnchorPlan`]s of a forest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AnchorSizes {
    /// Smallest number of rows of an exact anchor.
    pub(super) min_rows: u32,
    /// Largest fraction that a coarse anchor contributes to the shares of a leaf; 0 for no coarse anchors.
    pub(super) coarse_fraction: f32,
    /// Memory of the stored tails of all trees.
    pub(super) tail_bytes: usize,
}

impl AnchorSizes {
    /// Every leaf is an exact anchor.
    pub(super) const LEAVES: Self = Self {
        min_rows: 1,
        coarse_fraction: 0.0,
        tail_bytes: 0,
    };

    fn plan(self, forest: &Forest, strength: f64) -> AnchorPlan<'_> {
        AnchorPlan {
            rankings: &forest.rankings,
            ranking_of: &[],
            strength,
            min_rows: self.min_rows,
            coarse_fraction: self.coarse_fraction,
            unit: fixed_point_unit(forest.members.len()),
            tail_bytes: 0,
        }
    }

    /// Chooses the sizes such that the anchors take at most `budget` bytes. Every leaf is an anchor if all leaves fit,
    /// or if single precision does not suffice. Otherwise chooses the largest `coarse_fraction` whose anchors fit in
    /// [`COARSE_PART`] of the budget, and the smallest power of two for `min_rows` whose anchors fit in the rest.
    fn choose(forest: &Forest, strength: f64, budget: usize, jobs: Jobs<'_>) -> Result<Self> {
        if !fits_single_precision(forest, strength) {
            return Ok(Self::LEAVES);
        }
        let labels = forest.rankings.labels();
        let exact_bytes = anchor_stride(labels) * size_of::<i32>();
        if forest.leaves().saturating_mul(exact_bytes) <= budget {
            return Ok(Self::LEAVES);
        }
        let [parts, of] = COARSE_PART;
        for coarse_fraction in COARSE_FRACTIONS {
            let counts = AnchorCounts::new(forest, strength, coarse_fraction, jobs)?;
            let coarse = counts.coarse.saturating_mul(coarse_stride(labels));
            if coarse <= budget / of * parts {
                let left = budget - coarse;
                return Ok(Self {
                    min_rows: counts.min_rows(left / exact_bytes),
                    coarse_fraction,
                    tail_bytes: TAIL_BUDGET,
                });
            }
        }
        let counts = AnchorCounts::new(forest, strength, 0.0, jobs)?;
        Ok(Self {
            min_rows: counts.min_rows(budget / exact_bytes),
            coarse_fraction: 0.0,
            tail_bytes: TAIL_BUDGET,
        })
    }
}

/// Whether the weights and the strength allow single precision.
fn fits_single_precision(forest: &Forest, strength: f64) -> bool {
    let fits = |number: f64| number == 0.0 || SINGLE_PRECISION.contains(&number);
    let weights_fit = match forest.rankings.weights() {
        Weights::Unit(_) => true,
        Weights::Each(weights) => weights.iter().copied().all(fits),
    };
    weights_fit && fits(strength)
}

/// Numbers of anchors in all trees together.
struct AnchorCounts {
    coarse: usize,
    /// Exact anchors for each power of two of `min_rows`.
    exact: [usize; MIN_ROWS_EXPONENTS],
}

impl AnchorCounts {
    fn new(forest: &Forest, strength: f64, coarse_fraction: f32, jobs: Jobs<'_>) -> Result<Self> {
        let sizes = AnchorSizes {
            coarse_fraction,
            ..AnchorSizes::LEAVES
        };
        let plan = sizes.plan(forest, strength);
        let work = Work::new(forest.members.len(), 20 * forest.rankings.len());
        let count = |(): &mut (), tree: usize| {
            let tree = &forest.members[tree].tree;
            let fractions = plan.fractions(tree);
            Ok(Self {
                coarse: fractions.coarse_anchors(),
                exact: AnchorPlan::exact_counts(tree, &fractions),
            })
        };
        let mut sums = Self {
            coarse: 0,
            exact: [0; MIN_ROWS_EXPONENTS],
        };
        for counts in run::map(jobs, work, || (), count)? {
            sums.coarse += counts.coarse;
            for (sum, count) in sums.exact.iter_mut().zip(counts.exact) {
                *sum += count;
            }
        }
        Ok(sums)
    }

    /// The smallest power of two for [`AnchorSizes::min_rows`] with at most `limit` exact anchors.
    fn min_rows(&self, limit: usize) -> u32 {
        let exponent = self.exact.iter().position(|&count| count <= limit);
        1 << exponent.unwrap_or(MIN_ROWS_EXPONENTS - 1)
    }
}

/// The distinct rankings of the training data.
struct DistinctRankings {
    /// Per training row: index of its ranking among the distinct rankings.
    ranking_of: Vec<u32>,
    /// Positions of the distinct rankings, one after the other.
    positions: Vec<u16>,
}

impl DistinctRankings {
    /// Finds the distinct rankings, or no rankings if they are not `needed`.
    fn new(rankings: &Rankings, needed: bool) -> Self {
        let mut indices: HashMap<&[u16], u32> = HashMap::new();
        let mut positions = Vec::new();
        let mut index_of = |row| {
            let next = indices.len() as u32;
            *indices.entry(row).or_insert_with(|| {
                positions.extend_from_slice(row);
                next
            })
        };
        let rows = rankings.rows().filter(|_| needed);
        let ranking_of = rows.map(&mut index_of).collect();
        Self {
            ranking_of,
            positions,
        }
    }
}

/// Keeps the index that was used last. A clone keeps the same index.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    index: Mutex<Option<Arc<ShareIndex>>>,
    /// Id of the process that has the [`BuildTurn`] to build an index, or 0.
    builder: AtomicU32,
}

impl IndexCache {
    /// The index of a forest for a strength, built if the cache holds another or none.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn get(
        &self,
        forest: &Forest,
        strength: f64,
        jobs: Jobs<'_>,
    ) -> Result<Arc<ShareIndex>> {
        if let Some(index) = self.cached(strength) {
            return Ok(index);
        }
        let _turn = loop {
            if let Some(turn) = BuildTurn::take(&self.builder) {
                break turn;
            }
            // Not a blocking lock: Ctrl-C must end the wait.
            jobs.interrupt.check()?;
            std::thread::sleep(Duration::from_millis(1));
        };
        // Another thread may have built the index meanwhile.
        if let Some(index) = self.cached(strength) {
            return Ok(index);
        }
        let index = Arc::new(ShareIndex::new(forest, strength, jobs)?);
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&index));
        Ok(index)
    }

    fn cached(&self, strength: f64) -> Option<Arc<ShareIndex>> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let matching = index.as_ref().filter(|index| index.strength == strength);
        matching.map(Arc::clone)
    }
}

impl Clone for IndexCache {
    fn clone(&self) -> Self {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            index: Mutex::new(index.clone()),
            builder: AtomicU32::new(0),
        }
    }
}

/// Forests are compared without their caches.
impl PartialEq for IndexCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::forest::{ForestOptions, ForestVariant};
    use crate::run::Interrupt;
    use crate::tree::TreeOptions;
    use ndarray::Array2;

    #[test]
    fn anchors_fit_in_the_budget() {
        let x = Array2::from_shape_fn((400, 2), |(i, j)| ((i * (7 + j)) % 101) as f64);
        let y = Array2::from_shape_fn((400, 3), |(i, j)| ((i * i / 7 + j) % 3) as i64 + 1);
        let never = Interrupt::never();
        let jobs = Jobs {
            n_jobs: 1,
            interrupt: &never,
        };
        let mut forest = Forest::new(
            Rankings::new(y.view(), None, &Interrupt::never()).unwrap(),
            2,
        );
        let features = Features::new(x.view(), &never).unwrap();
        let options = ForestOptions {
            variant: ForestVariant::ExtraTrees,
            tree: TreeOptions::default(),
            seed: 1,
        };
        forest.grow(&features, &options, 4, jobs).unwrap();
        let choose = |budget| AnchorSizes::choose(&forest, 0.5, budget, jobs).unwrap();
        assert_eq!(choose(ANCHOR_BUDGET), AnchorSizes::LEAVES);
        // An exact anchor takes 64 bytes: 2 shares for each of 3 pairs, padded to 16 numbers of 4 bytes.
        let leaves: usize = (0..4).map(|t| forest.tree(t).unwrap().leaves()).sum();
        assert_eq!(choose(64 * leaves), AnchorSizes::LEAVES);
        assert!(choose(64 * leaves - 1).min_rows > 1);
        let mut before = f32::INFINITY;
        for budget in [12800, 6400, 3200, 1600, 0] {
            let sizes = choose(budget);
            let index = ShareIndex::with_sizes(&forest, 0.5, sizes, jobs).unwrap();
            let bytes: usize = index.trees.iter().map(AnchoredTree::anchor_bytes).sum();
            assert!(bytes <= budget && sizes.coarse_fraction <= before);
            before = sizes.coarse_fraction;
        }
    }
}
