//! Local search: moves single labels between buckets while the value improves.

use super::cut::best_cut;
use super::values::{BucketLimits, PairValues, NOISE};
use crate::error::Result;
use crate::random::Generator;
use crate::run::WorkMeter;

/// Limit of rounds of moves and cuts. Every round but the last improves the value, so it is not reached in practice.
const MAX_ROUNDS: usize = 1000;

/// Restarts of the search from randomly perturbed results.
const RESTARTS: usize = 60;

impl PairValues {
    /// Improves an assignment to buckets 0, 1, … by moves of single labels and new cuts of the order. The number of
    /// buckets must be within the limits, and stays there.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn improve(
        &self,
        start: Vec<usize>,
        limits: BucketLimits,
        meter: &mut WorkMeter,
    ) -> Result<Vec<usize>> {
        let mut places = start;
        let mut mover = LabelMover::new(self, limits);
        for _ in 0..MAX_ROUNDS {
            while mover.move_each(&mut places, meter)? {}
            let recut = best_cut(self, &order_of(&places), limits, meter)?;
            if self.value(&recut) <= self.value(&places) + NOISE {
                break;
            }
            places = recut;
        }
        Ok(places)
    }

    /// As [`Self::improve`], with restarts from perturbed results, drawn with a fixed seed. For components with too many
    /// labels for a table of all sets: with a good start, branch and bound prunes most of its search.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    pub(super) fn improve_repeatedly(
        &self,
        start: Vec<usize>,
        limits: BucketLimits,
        meter: &mut WorkMeter,
    ) -> Result<Vec<usize>> {
        let mut best = self.improve(start, limits, meter)?;
        let mut value = self.value(&best);
        let mut random = Generator::new(0);
        for _ in 0..RESTARTS {
            let mut order = order_of(&best);
            for _ in 0..3 {
                let (from, to) = (random.below(self.n), random.below(self.n));
                let label = order.remove(from);
                order.insert(to, label);
            }
            let start = best_cut(self, &order, limits, meter)?;
            let found = self.improve(start, limits, meter)?;
            let found_value = self.value(&found);
            if found_value > value + NOISE {
                (best, value) = (found, found_value);
            }
        }
        Ok(best)
    }
}

/// The labels sorted by bucket; labels of a bucket by number.
pub(super) fn order_of(places: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&label| places[label]);
    order
}

/// Moves labels to their best buckets, with buffers.
struct LabelMover<'a> {
    values: &'a PairValues,
    limits: BucketLimits,
    /// Per bucket: value of the label before all its labels, value of the label in it, and number of labels.
    before: Vec<f64>,
    within: Vec<f64>,
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
    fn move_each(&mut self, places: &mut [usize], meter: &mut WorkMeter) -> Result<bool> {
        let mut moved = false;
        for label in 0..self.values.n {
            meter.add(4 * self.values.n as u64)?;
            moved |= self.move_label(label, places);
        }
        Ok(moved)
    }

    /// Moves a label to its best bucket or gap between buckets; returns whether that improves the value.
    fn move_label(&mut self, label: usize, places: &mut [usize]) -> bool {
        let buckets = places.iter().max().map_or(0, |&last| last + 1);
        self.sum_values(label, places, buckets);
        let own = places[label];
        let alone = usize::from(self.sizes[own] == 0);
        let may_join = self.limits.contain(buckets - alone);
        let may_stand_alone = self.limits.contain(buckets + 1 - alone);
        // Value of the label alone: before all buckets, then after each bucket in turn.
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
            Some(MoveTarget::Bucket(bucket)) => places[label] = bucket,
            Some(MoveTarget::Gap(gap)) => {
                for place in places.iter_mut() {
                    *place += usize::from(*place >= gap);
                }
                places[label] = gap;
            }
        }
        close_gaps(places);
        true
    }

    fn sum_values(&mut self, label: usize, places: &[usize], buckets: usize) {
        for buffer in [&mut self.before, &mut self.within] {
            buffer.clear();
            buffer.resize(buckets, 0.0);
        }
        self.sizes.clear();
        self.sizes.resize(buckets, 0);
        for (other, &place) in places.iter().enumerate() {
            if other != label {
                self.before[place] += self.values.lead(label, other);
                self.within[place] += self.values.tied(label, other);
                self.sizes[place] += 1;
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
fn close_gaps(places: &mut [usize]) {
    let mut used = vec![0; places.iter().max().map_or(0, |&last| last + 1)];
    for &place in places.iter() {
        used[place] = 1;
    }
    let mut next = 0;
    for number in &mut used {
        next += *number;
        *number = next;
    }
    for place in places {
        *place = used[*place] - 1;
    }
}
