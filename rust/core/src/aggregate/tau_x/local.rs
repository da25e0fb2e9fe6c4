//! Local search: moves single labels between buckets while the value improves.

use crate::pairs::PairShares;

use super::super::threshold::TOLERANCE;
use super::cut::BucketCutter;

/// Limit of rounds of moves and cuts. Every round but the last improves the value, so it is not reached in practice.
const MAX_ROUNDS: usize = 1000;

/// Values of pairs, with labels numbered by their place in an order: the search depends on that order and not on the
/// indices of the labels.
pub(super) struct PairValues {
    pub(super) n: usize,
    /// `lead[i * n + j]`: value of i before j.
    pub(super) lead: Vec<f64>,
    /// Value of a tie.
    pub(super) tied: Vec<f64>,
}

impl PairValues {
    pub(super) fn new(shares: &PairShares, order: &[usize]) -> Self {
        let n = order.len();
        let (mut lead, mut tied) = (vec![0.0; n * n], vec![0.0; n * n]);
        for i in 0..n {
            for j in 0..n {
                if i != j {
                    let [before, tie, after] = shares.get(order[i], order[j]);
                    lead[i * n + j] = before - after;
                    tied[i * n + j] = tie;
                }
            }
        }
        Self { n, lead, tied }
    }

    /// Value of an assignment of labels to buckets.
    pub(super) fn value(&self, places: &[usize]) -> f64 {
        let mut value = 0.0;
        for i in 0..self.n {
            for j in i + 1..self.n {
                let at = i * self.n + j;
                value += match places[i].cmp(&places[j]) {
                    std::cmp::Ordering::Less => self.lead[at],
                    std::cmp::Ordering::Equal => self.tied[at],
                    std::cmp::Ordering::Greater => -self.lead[at],
                };
            }
        }
        value
    }

    /// Upper bound of the value: the best outcome of each pair.
    pub(super) fn upper_bound(&self) -> f64 {
        let pairs = (0..self.n).flat_map(|i| (i + 1..self.n).map(move |j| i * self.n + j));
        pairs.map(|at| self.lead[at].abs().max(self.tied[at])).sum()
    }

    /// Improves an assignment to buckets 0, 1, … by moves of single labels and new cuts of the order.
    pub(super) fn improve(&self, start: Vec<usize>, cutter: &mut BucketCutter) -> Vec<usize> {
        let mut places = start;
        for _ in 0..MAX_ROUNDS {
            while (0..self.n)
                .filter(|&label| self.move_label(label, &mut places))
                .count()
                > 0
            {}
            let recut = self.cut_again(&places, cutter);
            if self.value(&recut) <= self.value(&places) + TOLERANCE {
                break;
            }
            places = recut;
        }
        places
    }

    /// Moves a label to its best bucket or gap between buckets; returns whether that improves the value.
    fn move_label(&self, label: usize, places: &mut [usize]) -> bool {
        let buckets = places.iter().max().map_or(0, |&last| last + 1);
        // Value of the label before each bucket, and in it.
        let (mut before, mut within) = (vec![0.0; buckets], vec![0.0; buckets]);
        for other in (0..self.n).filter(|&other| other != label) {
            before[places[other]] += self.lead[label * self.n + other];
            within[places[other]] += self.tied[label * self.n + other];
        }
        let own = places[label];
        // Value of the label alone: before all buckets, then behind each bucket in turn.
        let mut outside: f64 = before.iter().sum();
        let (mut best, mut target) = (outside, MoveTarget::Gap(0));
        let mut current = f64::NEG_INFINITY;
        for bucket in 0..buckets {
            let inside = outside - before[bucket] + within[bucket];
            if bucket == own {
                current = inside;
            }
            outside -= 2.0 * before[bucket];
            for (value, found) in [
                (inside, MoveTarget::Bucket(bucket)),
                (outside, MoveTarget::Gap(bucket + 1)),
            ] {
                if value > best + TOLERANCE {
                    (best, target) = (value, found);
                }
            }
        }
        if best <= current + TOLERANCE {
            return false;
        }
        match target {
            MoveTarget::Bucket(bucket) => places[label] = bucket,
            MoveTarget::Gap(gap) => {
                for place in places.iter_mut() {
                    *place += usize::from(*place >= gap);
                }
                places[label] = gap;
            }
        }
        close_gaps(places);
        true
    }

    /// The best cut of the order given by the buckets.
    fn cut_again(&self, places: &[usize], cutter: &mut BucketCutter) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n).collect();
        order.sort_by_key(|&label| places[label]);
        let gain = |i: usize, j: usize| {
            let at = order[i] * self.n + order[j];
            self.tied[at] - self.lead[at]
        };
        let buckets = cutter.cut_places(self.n, gain);
        let mut places = vec![0; self.n];
        for (&label, &bucket) in order.iter().zip(&buckets) {
            places[label] = bucket;
        }
        places
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
