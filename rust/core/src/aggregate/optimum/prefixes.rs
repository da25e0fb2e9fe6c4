//! Branch and bound over prefixes (sets of labels that fill the first buckets), for components (sets of labels that can
//! be ordered independently of each other) with too many labels for a table of all sets. The loss of a bucket order is
//! the sum over all pairs of the value of the best relation (before, tied or after) minus that of the chosen one.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::budget::Budget;
use super::set_hasher::SetHasher;
use super::triples::TripleBound;
use super::values::{BucketLimits, PairValues, NOISE};
use crate::error::Result;

/// Largest number of labels, because sets of labels are 64-bit masks.
pub(super) const MAX_LABELS: usize = 64;

/// Largest number of prefixes in memory, about 64 bytes each.
const MAX_PREFIXES: usize = 6_000_000;

/// Result of a search that may have ended early.
pub(super) struct PrefixResult {
    /// A better bucket order than the start, if one was found.
    pub(super) bucket_of: Option<Vec<usize>>,
    /// No bucket order has a loss below this, up to rounding.
    pub(super) least_loss: f64,
    /// Whether the search was exhaustive.
    pub(super) finished: bool,
}

/// A set of labels that fills the first buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Prefix {
    set: u64,
    /// Number of these buckets if the number of buckets is limited, else 0.
    buckets: u16,
}

/// The cheapest known way to fill the first buckets with the labels of a prefix.
#[derive(Debug, Clone, Copy)]
struct PrefixPath {
    /// Loss of the pairs with at least one label in the prefix.
    loss: f64,
    /// Lower bound of the loss of the other pairs.
    rest_bound: f64,
    /// The prefix without its last bucket.
    from: u64,
}

/// The prefixes with a certain number of labels.
type Layer = HashMap<Prefix, PrefixPath, BuildHasherDefault<SetHasher>>;

/// Extends prefixes by whole buckets, in the order of their number of labels.
///
/// A prefix decides every pair with at least one label in it; the other pairs lose at least their [`TripleBound`]. A
/// prefix is pruned unless the loss of the decided pairs plus this bound is below the loss of the best known bucket
/// order. A prefix is reached from smaller prefixes only, so it is extended once, when its cheapest path is known.
pub(super) struct PrefixSearch<'a> {
    /// Number of labels.
    m: usize,
    limits: BucketLimits,
    /// Whether the number of buckets is limited, so that prefixes are distinguished by it.
    counted: bool,
    /// Loss of the pair i, j at `i * m + j` if i is before j.
    before: Vec<f64>,
    /// Loss of the pair i, j at `i * m + j` if i and j are tied.
    tie: Vec<f64>,
    triples: &'a TripleBound,
    /// Loss of the best known bucket order.
    incumbent: f64,
    /// The best bucket order, if it is better than the start.
    found: Option<Vec<usize>>,
    /// Prefixes by number of labels.
    layers: Vec<Layer>,
    /// Number of prefixes in all layers.
    prefixes: usize,
}

/// A prefix that is extended by a bucket.
struct Extension {
    prefix: Prefix,
    reached: PrefixPath,
    /// The labels that are not in the prefix.
    rest: Vec<usize>,
    /// Per depth (number of labels of `rest` that are decided) and label of `rest`: its loss against the decided labels
    /// if it joins the bucket.
    join: Vec<f64>,
    /// The same if it does not join the bucket.
    skip: Vec<f64>,
}

impl<'a> PrefixSearch<'a> {
    /// Searches for a bucket order with a loss below `incumbent`. At most [`MAX_LABELS`] labels.
    pub(super) fn new(
        values: &PairValues,
        limits: BucketLimits,
        triples: &'a TripleBound,
        incumbent: f64,
    ) -> Self {
        let m = values.n;
        let (mut before, mut tie) = (vec![0.0; m * m], vec![0.0; m * m]);
        for i in 0..m {
            for j in (0..m).filter(|&j| j != i) {
                let best = values.best(i, j, limits);
                before[i * m + j] = best - values.lead(i, j);
                tie[i * m + j] = if limits.forbid_ties(m) {
                    f64::INFINITY
                } else {
                    best - values.tied(i, j)
                };
            }
        }
        Self {
            m,
            limits,
            counted: limits != BucketLimits::ANY && !limits.forbid_ties(m),
            before,
            tie,
            triples,
            incumbent,
            found: None,
            layers: vec![Layer::default(); m + 1],
            prefixes: 0,
        }
    }

    /// Runs until all prefixes are extended or pruned, or the budget is spent.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn run(mut self, budget: &mut Budget) -> Result<PrefixResult> {
        let start = PrefixPath {
            loss: 0.0,
            rest_bound: self.triples.total(),
            from: 0,
        };
        self.layers[0].insert(Prefix { set: 0, buckets: 0 }, start);
        for size in 0..self.m {
            let mut layer: Vec<_> = self.layers[size].iter().map(|(p, r)| (*p, *r)).collect();
            // The most promising prefixes first: they lower the incumbent soon.
            layer.sort_by(|(p, a), (q, b)| {
                let bounds = (a.loss + a.rest_bound).total_cmp(&(b.loss + b.rest_bound));
                bounds.then(p.cmp(q))
            });
            for (index, &(prefix, reached)) in layer.iter().enumerate() {
                if reached.loss + reached.rest_bound >= self.incumbent - NOISE {
                    continue;
                }
                self.extend(prefix, reached, budget)?;
                if budget.is_spent() || self.prefixes > MAX_PREFIXES {
                    let open = layer[index..].iter().map(|(_, reached)| reached);
                    return Ok(self.stop(size, open.map(|r| r.loss + r.rest_bound)));
                }
            }
        }
        Ok(PrefixResult {
            least_loss: self.incumbent,
            bucket_of: self.found,
            finished: true,
        })
    }

    /// The result of an unfinished search. `open` holds bounds of the prefixes of this size that are not extended;
    /// these and the bounds of all larger prefixes bound the loss.
    fn stop(&self, size: usize, open: impl Iterator<Item = f64>) -> PrefixResult {
        let later = self.layers[size + 1..].iter().flat_map(HashMap::values);
        let bounds = later.map(|reached| reached.loss + reached.rest_bound);
        PrefixResult {
            least_loss: open.chain(bounds).fold(self.incumbent, f64::min),
            bucket_of: self.found.clone(),
            finished: false,
        }
    }

    /// Extends a prefix by every bucket that is not pruned.
    fn extend(&mut self, prefix: Prefix, reached: PrefixPath, budget: &mut Budget) -> Result<()> {
        let rest: Vec<usize> = (0..self.m).filter(|&u| prefix.set >> u & 1 == 0).collect();
        let mut extension = Extension {
            prefix,
            reached,
            join: vec![0.0; (rest.len() + 1) * rest.len()],
            skip: vec![0.0; (rest.len() + 1) * rest.len()],
            rest,
        };
        self.choose(&mut extension, 0, 0, 0.0, budget)
    }

    /// Tries both choices for the label at `depth` of the rest, to join the bucket or not, after the choices for the
    /// labels before it. `loss` is the loss of the pairs that these earlier choices decide.
    fn choose(
        &mut self,
        extension: &mut Extension,
        depth: usize,
        bucket: u64,
        loss: f64,
        budget: &mut Budget,
    ) -> Result<()> {
        let width = extension.rest.len();
        budget.spend(width as u64)?;
        if budget.is_spent() {
            return Ok(());
        }
        if depth == width {
            if bucket != 0 {
                self.reach(extension, bucket, loss);
            }
            return Ok(());
        }
        let label = extension.rest[depth];
        let single = self.limits.forbid_ties(self.m);
        let now = depth * width;
        for joins in [true, false] {
            if joins && single && bucket != 0 {
                continue;
            }
            let own = if joins {
                extension.join[now + depth]
            } else {
                extension.skip[now + depth]
            };
            let mut bound = loss + own;
            for at in depth + 1..width {
                let other = extension.rest[at];
                let (mut join, mut skip) = (extension.join[now + at], extension.skip[now + at]);
                if joins {
                    join += self.tie[label * self.m + other];
                    skip += self.before[label * self.m + other];
                } else {
                    join += self.before[other * self.m + label];
                }
                extension.join[now + width + at] = join;
                extension.skip[now + width + at] = skip;
                bound += join.min(skip);
            }
            if extension.reached.loss + bound < self.incumbent - NOISE {
                let bucket = bucket | u64::from(joins) << label;
                self.choose(extension, depth + 1, bucket, loss + own, budget)?;
            }
        }
        Ok(())
    }

    /// Records the prefix that ends with `bucket`, unless it is pruned.
    fn reach(&mut self, extension: &Extension, bucket: u64, loss: f64) {
        let set = extension.prefix.set | bucket;
        let loss = extension.reached.loss + loss;
        let size = set.count_ones() as usize;
        let buckets = if self.counted {
            extension.prefix.buckets + 1
        } else {
            0
        };
        let left = self.m - size;
        if self.counted
            && (usize::from(buckets) + left < self.limits.least
                || usize::from(buckets) + usize::from(left > 0) > self.limits.most)
        {
            return;
        }
        if left == 0 {
            if loss < self.incumbent - NOISE {
                self.incumbent = loss;
                self.found = Some(self.trace(extension.prefix));
            }
            return;
        }
        let prefix = Prefix { set, buckets };
        let known = self.layers[size].get(&prefix).copied();
        let from = extension.prefix.set;
        let replaces = |known: PrefixPath| {
            loss < known.loss - NOISE || (loss <= known.loss + NOISE && from < known.from)
        };
        if known.is_some_and(|known| !replaces(known)) {
            return;
        }
        let rest_bound = known.map_or_else(
            || self.triples.within(!set & (u64::MAX >> (64 - self.m))),
            |known| known.rest_bound,
        );
        if loss + rest_bound < self.incumbent - NOISE {
            self.prefixes += usize::from(known.is_none());
            self.layers[size].insert(
                prefix,
                PrefixPath {
                    loss,
                    rest_bound,
                    from,
                },
            );
        }
    }

    /// Buckets of the labels of a prefix; the remaining labels form the last bucket.
    fn trace(&self, end: Prefix) -> Vec<usize> {
        let mut sets = vec![end.set];
        let mut prefix = end;
        while prefix.set != 0 {
            let Some(reached) = self.layers[prefix.set.count_ones() as usize].get(&prefix) else {
                break;
            };
            prefix = Prefix {
                set: reached.from,
                buckets: prefix.buckets.saturating_sub(u16::from(self.counted)),
            };
            sets.push(prefix.set);
        }
        // The bucket of a label is the number of non-empty prefixes without it.
        let lacking = |label: usize| sets.iter().filter(|&&set| set >> label & 1 == 0).count();
        (0..self.m).map(|label| lacking(label) - 1).collect()
    }
}
