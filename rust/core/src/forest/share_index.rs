//! [`ShareIndex`]: stored shares, with which a forest predicts without counting its training rows again; and its cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use crate::error::Result;
use crate::pairs::{pair_count, PackedPairCodes};
use crate::rankings::Rankings;
use crate::run::{self, Jobs, Work};
use crate::tree::{anchor_stride, AnchorPlan, AnchoredTree, LEAST_EXPONENTS};
use crate::weights::Weights;

use super::share_sums::unit;
use super::Forest;

/// Memory of all anchors together, in bytes.
const ANCHOR_BUDGET: usize = 64 << 20;

/// Weights and strengths for which the path from a leaf to its anchor can be computed in single precision.
const SINGLE_PRECISION: std::ops::RangeInclusive<f64> = 1e-20..=1e20;

/// The anchored trees of a forest for one strength of the m-estimate.
///
/// Anchors are nodes whose shares are stored; the shares of a leaf are computed from those of the anchor above it.
///
/// Memory on top of the forest: 64 MB for anchors, 16 bytes per node, 8 bytes per tree and training row, three
/// bits per distinct ranking and pair of labels.
#[derive(Debug)]
pub(super) struct ShareIndex {
    pub(super) strength: f64,
    /// The number 1 in fixed point, for the shares of one tree.
    pub(super) unit: i32,
    pub(super) trees: Vec<AnchoredTree>,
    /// The distinct training rankings; none if every leaf is an anchor.
    pub(super) codes: PackedPairCodes,
    pub(super) distinct_rankings: usize,
}

impl ShareIndex {
    /// Anchors the trees, in parallel.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn new(forest: &Forest, strength: f64, jobs: Jobs<'_>) -> Result<Self> {
        let least = choose_least(forest, strength, ANCHOR_BUDGET, jobs)?;
        Self::with_least(forest, strength, least, jobs)
    }

    /// As [`Self::new`], with anchors of at least `least` rows.
    pub(super) fn with_least(
        forest: &Forest,
        strength: f64,
        least: u32,
        jobs: Jobs<'_>,
    ) -> Result<Self> {
        let rankings = &forest.rankings;
        let distinct = DistinctRankings::new(rankings, least > 1);
        let plan = AnchorPlan {
            rankings,
            ranking_of: &distinct.ranking_of,
            strength,
            least,
            unit: unit(forest.members.len()),
        };
        let anchor = |(): &mut (), tree: usize| {
            let member = &forest.members[tree];
            let weights = forest.weights(member.kind, member.seed);
            AnchoredTree::new(&member.tree, &weights, &plan)
        };
        let pairs = pair_count(rankings.labels());
        let work = Work::new(forest.members.len(), rankings.len() * pairs);
        let trees = run::map(jobs, work, || (), anchor)?;
        let distinct_rankings = distinct.positions.len() / rankings.labels();
        Ok(Self {
            strength,
            unit: plan.unit,
            trees,
            codes: PackedPairCodes::new(rankings.labels(), distinct.positions),
            distinct_rankings,
        })
    }
}

/// The smallest number of rows of an anchor, a power of two, for which all anchors fit in `budget` bytes.
fn choose_least(forest: &Forest, strength: f64, budget: usize, jobs: Jobs<'_>) -> Result<u32> {
    let is_moderate = |weight: f64| weight == 0.0 || SINGLE_PRECISION.contains(&weight);
    let weights_are_moderate = match forest.rankings.weights() {
        Weights::Unit(_) => true,
        Weights::Each(weights) => weights.iter().copied().all(is_moderate),
    };
    if !(weights_are_moderate && is_moderate(strength)) {
        return Ok(1);
    }
    let plan = AnchorPlan {
        rankings: &forest.rankings,
        ranking_of: &[],
        strength,
        least: 1,
        unit: 1,
    };
    let work = Work::new(forest.members.len(), 20 * forest.rankings.len());
    let counts = run::map(
        jobs,
        work,
        || (),
        |(), tree| Ok(plan.anchor_counts(&forest.members[tree].tree)),
    )?;
    let bytes_per_anchor = anchor_stride(forest.rankings.labels()) * size_of::<i32>();
    let fits = |exponent: &usize| {
        let anchors: usize = counts.iter().map(|counts| counts[*exponent]).sum();
        anchors.saturating_mul(bytes_per_anchor) <= budget
    };
    let exponent = (0..LEAST_EXPONENTS).find(fits);
    Ok(1 << exponent.unwrap_or(LEAST_EXPONENTS - 1))
}

/// The distinct rankings of the training data.
struct DistinctRankings {
    /// Per training row: index of its ranking.
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

/// The index that was used last. Clones share it.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    index: Mutex<Option<Arc<ShareIndex>>>,
    /// Held while an index is built, so that it is built once.
    building: Mutex<()>,
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
        let _building = loop {
            match self.building.try_lock() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    // Not a blocking lock: Ctrl-C must end the wait.
                    jobs.interrupt.check()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        };
        // Another thread may have built it meanwhile.
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
            building: Mutex::default(),
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
    fn a_smaller_budget_takes_larger_anchors() {
        let x = Array2::from_shape_fn((400, 2), |(i, j)| ((i * (7 + j)) % 101) as f64);
        let y = Array2::from_shape_fn((400, 3), |(i, j)| ((i * i / 7 + j) % 3) as i64 + 1);
        let never = Interrupt::never();
        let jobs = Jobs {
            n_jobs: 1,
            interrupt: &never,
        };
        let mut forest = Forest::new(Rankings::new(y.view(), None).unwrap(), 2);
        let features = Features::new(x.view(), &never).unwrap();
        let options = ForestOptions {
            variant: ForestVariant::ExtraTrees,
            tree: TreeOptions::default(),
            seed: 1,
        };
        forest.grow(&features, &options, 4, jobs).unwrap();
        let least = |budget| choose_least(&forest, 0.5, budget, jobs).unwrap();
        assert_eq!(least(ANCHOR_BUDGET), 1);
        // 3 pairs of 2 numbers per anchor, padded to 16 numbers of 4 bytes.
        let leaves: usize = (0..4).map(|t| forest.tree(t).unwrap().leaves()).sum();
        assert_eq!(least(64 * leaves), 1);
        assert!(least(64 * leaves - 1) > 1);
        let mut before = 1;
        for budget in [12800, 6400, 3200, 1600, 0] {
            let index = ShareIndex::with_least(&forest, 0.5, least(budget), jobs).unwrap();
            let anchors: usize = index.trees.iter().map(AnchoredTree::anchors).sum();
            assert!(64 * anchors <= budget && least(budget) >= before);
            before = least(budget);
        }
    }
}
