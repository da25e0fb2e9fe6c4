//! Weights of a mixture of pair models, by expectation–maximisation on observed rankings.

use super::log_linear::{PairLanes, LANES};
use crate::simd::{dispatch, Kernel};

/// Steps of the expectation–maximisation algorithm.
const STEPS: usize = 60;
/// Weight of the starting weights, in comparisons.
const PRIOR_EVIDENCE: f64 = 10.0;

/// Weights of the components of a mixture by 60 steps of expectation–maximisation from `start`.
///
/// `shares` holds, per component, the share of each observed relation; `counts` holds the number of observed pairs per
/// row. Responsibilities are averaged within a row. A row that ranks k labels counts as k − 1 comparisons, times its
/// weight in `row_weights`. The start counts as 10 comparisons; a component that starts at 0 stays at 0.
pub(super) fn mixture_weights(
    shares: &[Vec<f64>],
    counts: &[usize],
    row_weights: &[f64],
    start: &[f64],
) -> Vec<f64> {
    let total = total_evidence(counts, row_weights);
    let pair_weights = pack_lanes(pair_weights(counts, row_weights), 0.0);
    // Pad with 1.0 to avoid dividing by zero.
    let shares: Vec<Vec<PairLanes>> = shares
        .iter()
        .map(|shares| pack_lanes(shares.iter().copied(), 1.0))
        .collect();
    let mut weights = start.to_vec();
    for _ in 0..STEPS {
        let sums = dispatch(ResponsibilitiesKernel {
            shares: &shares,
            pair_weights: &pair_weights,
            weights: &weights,
        });
        for ((weight, sum), start) in weights.iter_mut().zip(sums).zip(start) {
            *weight = (PRIOR_EVIDENCE * start + *weight * sum) / (PRIOR_EVIDENCE + total);
        }
    }
    weights
}

/// Weight of each pair: the weighted comparisons of its row divided by the number of pairs of the row.
pub(super) fn pair_weights<'a>(
    counts: &'a [usize],
    row_weights: &'a [f64],
) -> impl Iterator<Item = f64> + 'a {
    let rows = counts.iter().zip(row_weights);
    rows.flat_map(|(&count, weight)| {
        let evidence = weight * comparisons(count);
        std::iter::repeat_n(evidence / count as f64, count)
    })
}

/// Number of comparisons of all rows, weighted.
pub(super) fn total_evidence(counts: &[usize], row_weights: &[f64]) -> f64 {
    let rows = counts.iter().zip(row_weights);
    rows.map(|(&count, weight)| weight * comparisons(count))
        .sum()
}

/// Number of comparisons of a row with `pairs` = k (k − 1) / 2 pairs: k − 1, because k − 1 comparisons of neighbours
/// determine the ranking of k labels.
fn comparisons(pairs: usize) -> f64 {
    (((1 + 8 * pairs) as f64).sqrt() - 1.0) / 2.0
}

/// Packs values into vectors, the last one padded.
pub(super) fn pack_lanes(values: impl Iterator<Item = f64>, padding: f64) -> Vec<PairLanes> {
    let mut lanes = Vec::new();
    for (index, value) in values.enumerate() {
        if index % LANES == 0 {
            lanes.push([padding; LANES]);
        }
        if let Some(lane) = lanes.last_mut() {
            lane[index % LANES] = value;
        }
    }
    lanes
}

/// Per component: Σ over pairs of pair weight · share of the component / share of the mixture.
struct ResponsibilitiesKernel<'a> {
    shares: &'a [Vec<PairLanes>],
    pair_weights: &'a [PairLanes],
    weights: &'a [f64],
}

impl Kernel for ResponsibilitiesKernel<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let mut sums = vec![[0.0; LANES]; self.shares.len()];
        for (place, pair_weights) in self.pair_weights.iter().enumerate() {
            let mut mixed = [0.0; LANES];
            for (shares, weight) in self.shares.iter().zip(self.weights) {
                let shares = &shares[place];
                mixed = std::array::from_fn(|l| mixed[l] + weight * shares[l]);
            }
            let factors: PairLanes = std::array::from_fn(|l| pair_weights[l] / mixed[l]);
            for (sum, shares) in sums.iter_mut().zip(self.shares) {
                let shares = &shares[place];
                *sum = std::array::from_fn(|l| sum[l] + factors[l] * shares[l]);
            }
        }
        sums.iter().map(|lanes| lanes.iter().sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_components_get_more_weight() {
        let shares = [0.9, 0.3, 0.001].map(|share| vec![share; 4000]);
        let counts = vec![4; 1000];
        let unit = vec![1.0; 1000];
        let weights = mixture_weights(&shares, &counts, &unit, &[0.4, 0.4, 0.2]);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(weights[0] > 0.95 && weights[1] > weights[2]);
        let without = mixture_weights(&shares, &counts, &unit, &[0.0, 0.6, 0.4]);
        assert_eq!(without[0], 0.0);
        let none = [vec![], vec![]];
        let nothing = mixture_weights(&none, &[0, 0], &[1.0, 1.0], &[0.7, 0.3]);
        assert!((nothing[0] - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_row_of_weight_two_equals_two_rows() {
        let start = [0.5, 0.5];
        let shares = [vec![0.9, 0.2, 0.4], vec![0.1, 0.6, 0.5]];
        let weighted = mixture_weights(&shares, &[2, 1], &[1.0, 2.0], &start);
        let shares = [vec![0.9, 0.2, 0.4, 0.4], vec![0.1, 0.6, 0.5, 0.5]];
        let repeated = mixture_weights(&shares, &[2, 1, 1], &[1.0; 3], &start);
        for (a, b) in weighted.iter().zip(&repeated) {
            assert!((a - b).abs() < 1e-14, "{weighted:?} {repeated:?}");
        }
    }
}
