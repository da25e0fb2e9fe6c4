//! The bucket order with the largest value. Each relation (before, tied or after) of each pair of labels has a value,
//! and the value of a bucket order is the sum over all pairs. [`solve`] finds an optimum with a proof,
//! [`search_locally`] a good bucket order in less time.
//!
//! `components.rs` divides the labels into components that can be ordered independently, `subsets.rs` solves small
//! components, and `prefixes.rs` searches larger ones with the bound of `triples.rs`, starting from the result of the
//! local search in `local.rs`. Components of more than 64 labels keep the result of the local search.

mod budget;
mod components;
mod cut;
mod local;
mod numbering;
mod prefixes;
mod set_hasher;
mod subsets;
mod triples;
mod values;

pub(super) use budget::SearchLimits;
pub(super) use numbering::refine_groups;
pub(super) use values::{BucketLimits, PairValues, TIE_BONUS};

use budget::Budget;
use components::decompose;
use cut::best_cut;
use local::order_of;
use prefixes::PrefixSearch;
use triples::TripleBound;
use values::NOISE;

use crate::error::{Error, Result};
use crate::run::{Interrupt, WorkMeter};

/// Largest component whose triples of labels are searched for a bound: their number grows with the third power.
const MAX_TRIPLE_LABELS: usize = 200;

/// Smallest component for which a local search precedes the search of all sets of labels; in smaller components it
/// would save no time.
const MIN_IMPROVED_LABELS: usize = 7;

/// Permitted bucket orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Buckets {
    /// All of them.
    #[default]
    Any,
    /// Strict orders, without ties.
    Strict,
    /// Those with a number of buckets from `least` to `most`.
    Between {
        /// Smallest number of buckets.
        least: usize,
        /// Largest number of buckets.
        most: usize,
    },
}

impl Buckets {
    /// Checks that `least` is at least 1 and at most `most`.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub(super) fn checked(self) -> Result<Self> {
        match self {
            Self::Between { least, most } if least < 1 || least > most => Err(Error::Parameter {
                name: "n_buckets",
                found: least as f64,
                expected: "at least 1 and not above the maximum",
            }),
            other => Ok(other),
        }
    }

    /// The limits for `n` labels.
    ///
    /// # Errors
    /// [`Error::TooManyBuckets`] when more buckets than labels are required.
    pub(super) fn limits(self, n: usize) -> Result<BucketLimits> {
        match self {
            Self::Any => Ok(BucketLimits::ANY),
            Self::Strict => Ok(BucketLimits::strict(n)),
            Self::Between { least, .. } if least > n => Err(Error::TooManyBuckets {
                found: least,
                labels: n,
            }),
            Self::Between { least, most } if least == 1 && most >= n => Ok(BucketLimits::ANY),
            Self::Between { least, most } => Ok(BucketLimits { least, most }),
        }
    }
}

/// A bucket order, with a bound that proves how good it is.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    /// Bucket of each label, from 0.
    pub(super) bucket_of: Vec<usize>,
    /// Upper bound of the value of all permitted bucket orders, with [`TIE_BONUS`] per tied pair.
    pub(super) bound: f64,
    /// Whether the bucket order is proven optimal.
    pub(super) optimal: bool,
    /// Whether it is the only optimum, if that is known.
    pub(super) unique: Option<bool>,
    /// Numbers of labels of the components (see [`decompose`]), in the order of their buckets.
    pub(super) components: Vec<usize>,
}

/// The best permitted bucket order, or the best one found within the limits of the search.
///
/// Among optimal bucket orders, only those with the most ties are considered, and the first one that the searches meet
/// is returned. Which one this is depends only on the order of the labels in `values`.
///
/// # Errors
/// [`Error::Interrupted`].
pub(super) fn solve(
    values: &PairValues,
    limits: BucketLimits,
    search: SearchLimits,
    interrupt: &Interrupt,
) -> Result<Solution> {
    let mut budget = Budget::new(search, interrupt);
    let n = values.n;
    if limits == BucketLimits::ANY || limits.forbid_ties(n) {
        return solve_components(values, limits, &mut budget);
    }
    let free = solve_components(values, BucketLimits::ANY, &mut budget)?;
    if limits.contain(free.bucket_of.iter().max().map_or(0, |&last| last + 1)) {
        // Other optima may have numbers of buckets that are not permitted, so only `Some(true)` remains valid.
        let unique = free.unique.filter(|&unique| unique);
        return Ok(Solution { unique, ..free });
    }
    // The number of buckets couples the components: search all labels together.
    let start = best_cut(
        values,
        &order_of(&free.bucket_of),
        limits,
        &mut budget.meter,
    )?;
    let found = solve_component(values, limits, start, &mut budget)?;
    let bound = found.bound.min(free.bound);
    Ok(Solution { bound, ..found })
}

/// Divides the labels, in the order of their indices, into the best buckets. The bound assumes the best relation of
/// every pair.
///
/// # Errors
/// [`Error::Interrupted`].
pub(super) fn cut_only(
    values: &PairValues,
    limits: BucketLimits,
    interrupt: &Interrupt,
) -> Result<Solution> {
    let mut meter = WorkMeter::new(interrupt);
    let bucket_of = best_cut(values, &identity(values.n), limits, &mut meter)?;
    Ok(heuristic_solution(values, limits, bucket_of))
}

/// Improves the result of [`cut_only`] by a local search. The bound is the same.
///
/// # Errors
/// [`Error::Interrupted`].
pub(super) fn search_locally(
    values: &PairValues,
    limits: BucketLimits,
    interrupt: &Interrupt,
) -> Result<Solution> {
    let mut meter = WorkMeter::new(interrupt);
    let start = best_cut(values, &identity(values.n), limits, &mut meter)?;
    let bucket_of = values.improve(start, limits, &mut meter)?;
    Ok(heuristic_solution(values, limits, bucket_of))
}

/// A heuristic solution, which is proven optimal only if every pair has its best relation.
fn heuristic_solution(
    values: &PairValues,
    limits: BucketLimits,
    bucket_of: Vec<usize>,
) -> Solution {
    let bound = values.upper_bound(limits);
    Solution {
        optimal: bound - values.value(&bucket_of) <= NOISE,
        bucket_of,
        bound,
        unique: None,
        components: vec![values.n],
    }
}

/// Solves the components one by one and concatenates their bucket orders.
fn solve_components(
    values: &PairValues,
    limits: BucketLimits,
    budget: &mut Budget,
) -> Result<Solution> {
    let components = decompose(values, limits);
    let mut whole = Solution {
        bucket_of: vec![0; values.n],
        bound: values.upper_bound(limits),
        optimal: true,
        unique: Some(true),
        components: components.iter().map(Vec::len).collect(),
    };
    let mut first_bucket = 0;
    for labels in components {
        let own = values.restrict(&labels);
        let own_limits = if limits.forbid_ties(values.n) {
            BucketLimits::strict(own.n)
        } else {
            BucketLimits::ANY
        };
        let start = best_cut(&own, &identity(own.n), own_limits, &mut budget.meter)?;
        let part = solve_component(&own, own_limits, start, budget)?;
        for (&label, &bucket) in labels.iter().zip(&part.bucket_of) {
            whole.bucket_of[label] = first_bucket + bucket;
        }
        first_bucket += part.bucket_of.iter().max().map_or(0, |&last| last + 1);
        whole.bound += part.bound - own.upper_bound(own_limits);
        whole.optimal &= part.optimal;
        whole.unique = match (whole.unique, part.unique) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
    }
    if has_free_neighbours(values, &whole.bucket_of) {
        whole.unique = Some(false);
    }
    if !whole.optimal {
        whole.unique = None;
    }
    Ok(whole)
}

fn identity(n: usize) -> Vec<usize> {
    (0..n).collect()
}

/// Whether two adjacent buckets can be exchanged without loss. If not, and if each component has a unique optimum, the
/// whole optimum is unique: another one would have the same buckets in another order, so that some adjacent buckets
/// could be exchanged.
fn has_free_neighbours(values: &PairValues, bucket_of: &[usize]) -> bool {
    let mut buckets = vec![Vec::new(); bucket_of.iter().max().map_or(0, |&last| last + 1)];
    for (label, &bucket) in bucket_of.iter().enumerate() {
        buckets[bucket].push(label);
    }
    let is_free = |first: &[usize], second: &[usize]| {
        let mut pairs = first
            .iter()
            .flat_map(|&i| second.iter().map(move |&j| (i, j)));
        pairs.all(|(i, j)| values.lead(i, j) <= NOISE)
    };
    buckets.windows(2).any(|pair| is_free(&pair[0], &pair[1]))
}

/// Searches all labels together, starting from a permitted assignment to buckets.
fn solve_component(
    values: &PairValues,
    limits: BucketLimits,
    start: Vec<usize>,
    budget: &mut Budget,
) -> Result<Solution> {
    let m = values.n;
    let is_bucket_count_limited = limits != BucketLimits::ANY && !limits.forbid_ties(m);
    if m <= subsets::MAX_LABELS && !is_bucket_count_limited {
        let start = if m < MIN_IMPROVED_LABELS {
            start
        } else {
            values.improve(start, limits, &mut budget.meter)?
        };
        let known_value = values.value(&start);
        let found = subsets::find_best(values, limits, known_value, &mut budget.meter)?;
        return Ok(Solution {
            bound: values.value(&found.bucket_of),
            bucket_of: found.bucket_of,
            optimal: true,
            unique: Some(found.unique),
            components: vec![m],
        });
    }
    let bucket_of = values.improve_repeatedly(start, limits, budget)?;
    search_prefixes(values, limits, bucket_of, budget)
}

/// Proves a local optimum or improves it, by branch and bound. The loss of a bucket order is the bound that assumes the
/// best relation of every pair, minus the value of the bucket order.
fn search_prefixes(
    values: &PairValues,
    limits: BucketLimits,
    bucket_of: Vec<usize>,
    budget: &mut Budget,
) -> Result<Solution> {
    let m = values.n;
    let pair_bound = values.upper_bound(limits);
    let incumbent_loss = pair_bound - values.value(&bucket_of);
    let mut solution = Solution {
        bucket_of,
        bound: pair_bound,
        optimal: false,
        unique: None,
        components: vec![m],
    };
    let mut least_loss = 0.0;
    if m <= MAX_TRIPLE_LABELS {
        let triples = TripleBound::new(values, limits);
        least_loss = triples.total();
        if m <= prefixes::MAX_LABELS {
            let found = PrefixSearch::new(values, limits, &triples, incumbent_loss).run(budget)?;
            solution.bucket_of = found.bucket_of.unwrap_or(solution.bucket_of);
            solution.optimal = found.finished;
            least_loss = found.least_loss.max(least_loss);
        }
    }
    let value = values.value(&solution.bucket_of);
    solution.bound = (pair_bound - least_loss).max(value);
    solution.optimal |= solution.bound - value <= NOISE;
    if solution.optimal {
        solution.bound = value;
    }
    Ok(solution)
}

#[cfg(test)]
mod tests;
