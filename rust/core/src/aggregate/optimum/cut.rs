//! The best cut of an order of labels: buckets of consecutive labels, in a permitted number, with the largest sum of
//! pair values (the values of the relation, before, tied or after, that the cut gives to each pair of labels).

use super::values::{BucketLimits, PairValues, NOISE};
use crate::error::Result;
use crate::run::WorkMeter;

/// Bucket of each label in the best cut of `order`. If the number of buckets is limited, the cut with the fewest
/// buckets is chosen among equally good ones. Among cuts that are still equal, the one with the smallest last bucket is
/// chosen. O(n²), or O(n² b) when at most b buckets are permitted.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub(super) fn best_cut(
    values: &PairValues,
    order: &[usize],
    limits: BucketLimits,
    meter: &mut WorkMeter,
) -> Result<Vec<usize>> {
    let n = order.len();
    if limits.forbid_ties(n) {
        return Ok(assign(order, &(0..n).collect::<Vec<_>>()));
    }
    // Layer b of the table holds cuts into b buckets. Without limits, a single layer holds all cuts.
    let counted = limits != BucketLimits::ANY;
    let layers = if counted { limits.most.min(n) + 1 } else { 1 };
    let mut table = CutTable::new(n, layers);
    let mut gains = vec![0.0; n];
    for j in 0..n {
        meter.add((n * layers) as u64)?;
        // Per place (index in the order) i: value of one bucket with the places from i to j, minus their value in
        // separate buckets. The lead of a label over another is the value of placing it before the other.
        let mut joined = 0.0;
        for i in (0..j).rev() {
            joined += values.tied(order[i], order[j]) - values.lead(order[i], order[j]);
            gains[i] += joined;
        }
        for layer in 0..layers {
            let from = if counted {
                layer.checked_sub(1)
            } else {
                Some(0)
            };
            if let Some(from) = from {
                table.fill(layer, from, j, &gains);
            }
        }
    }
    let feasible = (limits.least..layers).filter(|_| counted);
    let last = feasible.fold(None, |best: Option<usize>, layer| match best {
        Some(best) if table.value(layer, n) <= table.value(best, n) + NOISE => Some(best),
        _ => Some(layer),
    });
    Ok(assign(order, &table.buckets(last.unwrap_or(0), counted)))
}

/// Per layer (a number of buckets, or a single layer for any number) and number p of places: the best cut of the first
/// p places.
struct CutTable {
    n: usize,
    /// Gain of the cut: its value minus the value of one bucket per place.
    best: Vec<f64>,
    /// Start of the last bucket of the cut.
    start: Vec<usize>,
}

impl CutTable {
    fn new(n: usize, layers: usize) -> Self {
        let mut best = vec![f64::NEG_INFINITY; layers * (n + 1)];
        best[0] = 0.0;
        Self {
            n,
            best,
            start: vec![0; layers * (n + 1)],
        }
    }

    fn value(&self, layer: usize, places: usize) -> f64 {
        self.best[layer * (self.n + 1) + places]
    }

    /// Fills the entry of the first `j + 1` places: chooses their last bucket, which follows a cut of layer `from`.
    fn fill(&mut self, layer: usize, from: usize, j: usize, gains: &[f64]) {
        let (mut best, mut start) = (f64::NEG_INFINITY, j);
        for i in (0..=j).rev() {
            let gain = if i == j { 0.0 } else { gains[i] };
            let value = self.value(from, i) + gain;
            if value > best + NOISE {
                (best, start) = (value, i);
            }
        }
        let at = layer * (self.n + 1) + j + 1;
        self.best[at] = best;
        self.start[at] = start;
    }

    /// The bucket of each place.
    fn buckets(&self, mut layer: usize, counted: bool) -> Vec<usize> {
        let mut boundaries = vec![0; self.n];
        let mut end = self.n;
        while end > 0 {
            let start = self.start[layer * (self.n + 1) + end];
            boundaries[start] = 1;
            end = start;
            layer -= usize::from(counted);
        }
        let mut bucket = 0;
        for (place, boundary) in boundaries.iter_mut().enumerate() {
            bucket += usize::from(place > 0) * *boundary;
            *boundary = bucket;
        }
        boundaries
    }
}

/// Buckets by label from buckets by place.
fn assign(order: &[usize], buckets: &[usize]) -> Vec<usize> {
    let mut bucket_of = vec![0; order.len()];
    for (&label, &bucket) in order.iter().zip(buckets) {
        bucket_of[label] = bucket;
    }
    bucket_of
}
