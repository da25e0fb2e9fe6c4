//! Local search for a bucket order of large value: the sum, over all pairs of labels, of the value of their relation
//! (before, tied or after).

use super::budget::Budget;
use super::cut::best_cut;
use super::values::{BucketLimits, PairValues, NOISE};
use crate::error::Result;
use crate::random::Generator;
use crate::run::WorkMeter;

/// Limit of rounds, each of which moves single labels and then cuts the order of the labels into buckets again. Every
/// round but the last improves the value, so the limit is not reached in practice.
const MAX_ROUNDS: usize = 1000;

/// Restarts of the search from randomly perturbed results.
const RESTARTS: usize = 60;

impl PairValues {
    /// Improves an assignment to buckets 0, 1, …: moves single labels, and cuts the order of the labels into buckets
    /// again. The number of buckets must be within the limits, and stays there.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn improve(
        &self,
        start: Vec<usize>,
        limits: BucketLimits,
        meter: &mut WorkMeter,
    ) -> Result<Vec<usize>> {
        let mut bucket_of = start;
        let mut mover = LabelMover::new(self, limits);
        for _ in 0..MAX_ROUNDS {
            while mover.move_each(&mut bucket_of, meter)? {}
            let recut = best_cut(self, &order_of(&bucket_of), limits, meter)?;
            if self.value(&recut) <= self.value(&bucket_of) + NOISE {
                break;
            }
            bucket_of = recut;
        }
        Ok(bucket_of)
    }

    /// As [`Self::improve`], with restarts from randomly perturbed results; the seed is fixed. Branch and bound, which
    /// starts from the result, prunes most of its search if the result is good. Components (sets of labels that are
    /// ordered independently of each other) that are too large for branch and bound keep the result. No restart begins
    /// after the time limit of `budget`; its limit of steps does not apply.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn improve_repeatedly(
        &self,
        start: Vec<usize>,
        limits: BucketLimits,
        budget: &mut Budget,
    ) -> Result<Vec<usize>> {
        let mut best = self.improve(start, limits, &mut budget.meter)?;
        let mut value = self.value(&best);
        let mut random = Generator::new(0);
        for _ in 0..RESTARTS {
            if budget.is_late() {
                break;
            }
            let mut order = order_of(&best);
            for _ in 0..3 {
                let (from, to) = (random.below(self.n), random.below(self.n));
                let label = order.remove(from);
                order.insert(to, label);
            }
            let start = best_cut(self, &order, limits, &mut budget.meter)?;
            let found = self.improve(start, limits, &mut budget.meter)?;
            let found_value = self.value(&found);
            if found_value > value + NOISE {
                (best, value) = (found, found_value);
            }
        }
        Ok(best)
    }
}

/// The labels sorted by bucket; labels of a bucket by index.
pub(super) fn order_of(bucket_of: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..bucket_of.len()).collect();
    order.sort_by_key(|&label| bucket_of[label]);
    order
}

/// Moves labels to their best buckets, with buffers.
struct LabelMover<'a> {
    values: &'a PairValues,
    limits: BucketLimits,
    /// Per bucket: value of placing the moved label before the labels of the bucket.
    before: Vec<f64>,
    /// Per bucket: value of tying the moved label with the labels of the bucket.
    within: Vec<f64>,
    /// Per bucket: number of its labels other than the moved one.
    sizes: Vec<usize>,
}

impl<'a> LabelMover<'a> {
    fn new(values: &'a PairValues, limits: BucketLimits) -> Self {
        Self {
            values,
            limits,
            before: Vec::new(),
            within: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Moves each label once; returns whether a move improved the value.
    fn move_each(&mut self, bucket_of: &mut [usize], meter: &mut WorkMeter) -> Result<bool> {
        let mut moved = false;
        for label in 0..self.values.n {
            meter.add(4 * self.values.n as u64)?;
            moved |= self.move_label(label, bucket_of);
        }
        Ok(moved)
    }

    /// Moves a label to its best bucket or gap between buckets; returns whether that improves the value.
    fn move_label(&mut self, label: usize, bucket_of: &mut [usize]) -> bool {
        let buckets = bucket_of.iter().max().map_or(0, |&last| last + 1);
        self.sum_values(label, bucket_of, buckets);
        let own = bucket_of[label];
        let alone = usize::from(self.sizes[own] == 0);
        let may_join = self.limits.contain(buckets - alone);
        let may_stand_alone = self.limits.contain(buckets + 1 - alone);
        // Value of the label in a bucket of its own: before all buckets, then after each bucket in turn.
        let mut outside: f64 = self.before.iter().sum();
        let mut current = f64::NEG_INFINITY;
        let (mut best, mut target) = (f64::NEG_INFINITY, None);
        let mut offer = |value: f64, found, allowed: bool| {
            if allowed && value > best + NOISE {
                (best, target) = (value, Some(found));
            }
        };
        offer(outside, MoveTarget::Gap(0), may_stand_alone);
        for bucket in 0..buckets {
            let inside = outside - self.before[bucket] + self.within[bucket];
            if bucket == own {
                current = inside;
            } else {
                offer(inside, MoveTarget::Bucket(bucket), may_join);
            }
            outside -= 2.0 * self.before[bucket];
            offer(outside, MoveTarget::Gap(bucket + 1), may_stand_alone);
        }
        match target.filter(|_| best > current + NOISE) {
            None => return false,
            Some(MoveTarget::Bucket(bucket)) => bucket_of[label] = bucket,
            Some(MoveTarget::Gap(gap)) => {
                for bucket in bucket_of.iter_mut() {
                    *bucket += usize::from(*bucket >= gap);
                }
                bucket_of[label] = gap;
            }
        }
        close_gaps(bucket_of);
        true
    }

    fn sum_values(&mut self, label: usize, bucket_of: &[usize], buckets: usize) {
        for buffer in [&mut self.before, &mut self.within] {
            buffer.clear();
            buffer.resize(buckets, 0.0);
        }
        self.sizes.clear();
        self.sizes.resize(buckets, 0);
        for (other, &bucket) in bucket_of.iter().enumerate() {
            if other != label {
                self.before[bucket] += self.values.lead(label, other);
                self.within[bucket] += self.values.tied(label, other);
                self.sizes[bucket] += 1;
            }
        }
    }
}

/// Destination of a moved label.
#[derive(Clone, Copy)]
enum MoveTarget {
    /// Into this bucket.
    Bucket(usize),
    /// Into a bucket of its own before this bucket.
    Gap(usize),
}

/// Renumbers the buckets that have labels as 0, 1, ….
fn close_gaps(bucket_of: &mut [usize]) {
    let mut used = vec![0; bucket_of.iter().max().map_or(0, |&last| last + 1)];
    for &bucket in bucket_of.iter() {
        used[bucket] = 1;
    }
    let mut next = 0;
    for used in &mut used {
        next += *used;
        *used = next;
    }
    for bucket in bucket_of {
        *bucket = used[*bucket] - 1;
    }
}
