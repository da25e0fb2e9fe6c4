//! [`BucketPivot`]: a quicksort of labels around pivots that may grow into buckets.

use super::threshold::{exceeds, reaches, TOLERANCE};
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairOrderMatrix;

/// Bucket pivot algorithm with least-indecision pivots, multi-pivot means and two stages.
///
/// C(u,v) is the share of rankings that place u before v, ties counting half. The least indecisive label, whose entries
/// C(u,·) are on average nearest to 0, ½ or 1, becomes the pivot and starts the central bucket. For every other label
/// u, the mean of C(c,u) over the labels c of the bucket is computed: u joins the bucket if the mean is within ½ ± β,
/// goes left (before the bucket) if it is below and right if it is above. In the second stage, left and right labels
/// are compared again with the grown bucket. The left and the right part are then partitioned in the same way. Among
/// labels of equal indecision the first in the list is the pivot, so the result depends on the order of the labels.
/// O(n²).
///
/// Reference: J. A. Aledo, J. A. Gámez and A. Rosete, *Utopia in the solution of the bucket order problem*,
/// Decision Support Systems 97, 2017.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BucketPivot {
    beta: f64,
}

impl BucketPivot {
    /// Bucket pivot with buckets within ½ ± `beta`.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] when `beta` is negative or not finite.
    pub fn new(beta: f64) -> Result<Self> {
        super::check_beta(beta).map(|beta| Self { beta })
    }

    /// Half the width of the interval of ties.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.beta
    }
}

impl Default for BucketPivot {
    /// β = 0.25.
    fn default() -> Self {
        Self { beta: 0.25 }
    }
}

impl Aggregate for BucketPivot {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let Workspace {
            scores, partition, ..
        } = workspace;
        fill_indecision(evidence.pair_order(), scores);
        Ok(partition.run(evidence.pair_order(), scores, self.beta))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let order = self.aggregate(evidence, workspace)?;
        let details = Details::BucketPivot {
            indecision: workspace.scores.clone(),
            pivots: workspace.partition.pivots.clone(),
            distance: distance_to_order(evidence.pair_order(), &order),
        };
        Ok(Explanation { order, details })
    }
}

/// Mean distance of C(u,·) from the nearest of 0, ½ and 1.
///
/// The definition rounds C to one of the three. At ¼ and ¾ both candidates are equally near, so the rounding direction
/// does not matter.
fn fill_indecision(pair_order: &PairOrderMatrix, indecision: &mut Vec<f64>) {
    let n = pair_order.labels();
    indecision.clear();
    indecision.extend((0..n).map(|u| {
        // Four accumulators hide the latency of additions; the diagonal is ½ and adds 0.
        let mut lanes = [0.0; 4];
        for chunk in pair_order.row(u).chunks(4) {
            for (lane, &c) in lanes.iter_mut().zip(chunk) {
                let folded = (c - 0.5).abs();
                let far = 0.5 - folded;
                *lane += if folded < far { folded } else { far };
            }
        }
        lanes.iter().sum::<f64>() / (n - 1) as f64
    }));
}

/// Σ |C(u,v) − B(u,v)| over ordered pairs, with the bucket matrix B of `order`: 1 before, ½ tied, 0 after.
fn distance_to_order(pair_order: &PairOrderMatrix, order: &BucketOrder) -> f64 {
    let positions = order.positions();
    let mut total = 0.0;
    for (u, pu) in positions.iter().enumerate() {
        for (c, pv) in pair_order.row(u).iter().zip(positions) {
            let bucket = match pu.cmp(pv) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            };
            total += (c - bucket).abs();
        }
    }
    total
}

/// State of the recursion, on one list of labels that is permuted in place.
#[derive(Debug, Default)]
pub(super) struct Partition {
    /// All labels; the labels of finished buckets are at their final indices.
    labels: Vec<usize>,
    /// Whether a bucket starts at this index of `labels`.
    starts: Vec<bool>,
    /// Stack of the parts of `labels` that are not partitioned yet.
    pending: Vec<(usize, usize)>,
    /// Labels before, in and after the central bucket of the current part.
    left: Vec<usize>,
    central: Vec<usize>,
    right: Vec<usize>,
    /// Labels to compare in the current stage.
    remaining: Vec<usize>,
    /// Σ C(central label, ·) over the central bucket.
    sums: Vec<f64>,
    /// Pivots in the order in which they were chosen.
    pub(super) pivots: Vec<usize>,
}

impl Partition {
    fn run(&mut self, pair_order: &PairOrderMatrix, indecision: &[f64], beta: f64) -> BucketOrder {
        let n = pair_order.labels();
        self.labels.clear();
        self.labels.extend(0..n);
        self.starts.clear();
        self.starts.resize(n + 1, false);
        self.pivots.clear();
        self.pending.clear();
        self.pending.push((0, n));
        while let Some((from, to)) = self.pending.pop() {
            match to - from {
                0 => {}
                1 => {
                    self.pivots.push(self.labels[from]);
                    self.starts[from] = true;
                    self.starts[to] = true;
                }
                _ => self.partition_part(from, to, pair_order, indecision, beta),
            }
        }
        let mut position = 0;
        let mut positions = vec![0; n];
        for (&label, &starts) in self.labels.iter().zip(&self.starts) {
            position += u16::from(starts);
            positions[label] = position;
        }
        BucketOrder::from_dense(positions)
    }

    /// Partitions one part of the list around its pivot.
    fn partition_part(
        &mut self,
        from: usize,
        to: usize,
        pair_order: &PairOrderMatrix,
        indecision: &[f64],
        beta: f64,
    ) {
        let pivot = least_indecision_pivot(&self.labels[from..to], indecision);
        self.pivots.push(pivot);
        self.central.clear();
        self.central.push(pivot);
        self.sums.clear();
        self.sums.extend_from_slice(pair_order.row(pivot));

        self.remaining.clear();
        self.remaining
            .extend(self.labels[from..to].iter().filter(|&&u| u != pivot));
        self.run_stage(pair_order, beta);
        if self.central.len() > 1 {
            self.remaining.clear();
            self.remaining.extend(self.left.iter().chain(&self.right));
            self.run_stage(pair_order, beta);
        }

        let parts = [&self.left, &self.central, &self.right];
        for (slot, &label) in self.labels[from..to]
            .iter_mut()
            .zip(parts.into_iter().flatten())
        {
            *slot = label;
        }
        let start = from + self.left.len();
        let end = start + self.central.len();
        self.starts[start] = true;
        self.starts[end] = true;
        self.pending.push((end, to));
        self.pending.push((from, start));
    }

    /// Compares the labels of `remaining` in order with the central bucket, which grows during the stage.
    fn run_stage(&mut self, pair_order: &PairOrderMatrix, beta: f64) {
        self.left.clear();
        self.right.clear();
        let remaining = std::mem::take(&mut self.remaining);
        for &label in &remaining {
            let mean = self.sums[label] / self.central.len() as f64;
            if !reaches(mean, 0.5 - beta) {
                self.left.push(label);
            } else if !exceeds(mean, 0.5 + beta) {
                self.grow_bucket(label, pair_order);
            } else {
                self.right.push(label);
            }
        }
        self.remaining = remaining;
    }

    /// Adds a label to the central bucket.
    fn grow_bucket(&mut self, label: usize, pair_order: &PairOrderMatrix) {
        self.central.push(label);
        for (sum, c) in self.sums.iter_mut().zip(pair_order.row(label)) {
            *sum += c;
        }
    }
}

/// The label with the smallest indecision; among equal ones, the first of the list.
fn least_indecision_pivot(labels: &[usize], indecision: &[f64]) -> usize {
    let least = labels
        .iter()
        .map(|&u| indecision[u])
        .fold(f64::INFINITY, f64::min);
    let first = labels.iter().find(|&&u| indecision[u] <= least + TOLERANCE);
    first.copied().unwrap_or(labels[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn explain(matrix: &ndarray::Array2<f64>, beta: f64) -> Explanation {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(matrix.view()).unwrap());
        BucketPivot::new(beta)
            .unwrap()
            .explain(&evidence, &mut Workspace::default())
            .unwrap()
    }

    #[test]
    fn indecision_is_zero_for_decided_pairs() {
        let c = array![[0.5, 1.0, 1.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]];
        let explained = explain(&c, 0.25);
        assert_eq!(explained.order.positions(), [1, 2, 2]);
        let Details::BucketPivot {
            indecision,
            pivots,
            distance,
        } = explained.details
        else {
            panic!("details of another method");
        };
        assert_eq!(indecision, [0.0; 3]);
        assert_eq!(pivots, [0, 1]);
        assert!(distance.abs() < 1e-15);
    }

    #[test]
    fn second_stage_compares_with_the_grown_bucket() {
        // Label 1 goes right of the pivot 0 first; label 2 joins the pivot, and label 1 then joins in the second stage.
        let c = array![[0.5, 0.8, 0.5], [0.2, 0.5, 0.7], [0.5, 0.3, 0.5]];
        let explained = explain(&c, 0.25);
        assert_eq!(explained.order.positions(), [1, 1, 1]);
        let Details::BucketPivot { indecision, .. } = explained.details else {
            panic!("details of another method");
        };
        for (found, expected) in indecision.iter().zip([0.1, 0.2, 0.1]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn beta_is_kept_and_a_quarter_by_default() {
        assert_eq!(BucketPivot::new(0.1).unwrap().beta(), 0.1);
        assert_eq!(BucketPivot::default().beta(), 0.25);
    }
}
