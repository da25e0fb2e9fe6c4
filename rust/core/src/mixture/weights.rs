//! Weights of a mixture of pair models, by expectation–maximisation on observed rankings.

use ndarray::{ArrayView2, ArrayView3};

use crate::error::{Error, Result};
use crate::pairs::{pair_count, pair_index};
use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// Steps of the expectation–maximisation algorithm.
const STEPS: usize = 60;
/// Weight of the starting weights, in rows.
const PRIOR_ROWS: f64 = 20.0;
/// Pairs per vector.
const LANES: usize = 8;
type PairLanes = [f64; LANES];

/// Share of the observed outcome of each ranked pair, row by row, looked up in tables of pair shares
/// (rows × pairs × before, tied, after).
///
/// # Errors
/// [`Error::Shapes`] when the tables have other rows or pairs than the rankings.
pub fn observed_shares(rankings: &Rankings, tables: ArrayView3<'_, f64>) -> Result<Vec<f64>> {
    let n = rankings.labels();
    let (rows, pairs, columns) = tables.dim();
    if (rows, pairs, columns) != (rankings.len(), pair_count(n), 3) {
        return Err(Error::Shapes {
            left: "the tables of shares",
            left_shape: (rows, pairs),
            right: "the pairs of the rankings",
            right_shape: (rankings.len(), pair_count(n)),
        });
    }
    let mut observed = Vec::new();
    for (positions, table) in rankings.rows().zip(tables.outer_iter()) {
        for (u, &own) in positions.iter().enumerate() {
            for (v, &other) in positions.iter().enumerate().skip(u + 1) {
                if own != MISSING && other != MISSING {
                    let relation = usize::from(own >= other) + usize::from(own > other);
                    observed.push(table[[pair_index(n, u, v), relation]]);
                }
            }
        }
    }
    Ok(observed)
}

/// Number of observed pairs of each row.
#[must_use]
pub fn observed_counts(rankings: &Rankings) -> Vec<usize> {
    let ranked = |row: &[u16]| row.iter().filter(|&&p| p != MISSING).count();
    rankings.rows().map(|row| pair_count(ranked(row))).collect()
}

/// Weights of the components of a mixture by 60 steps of expectation–maximisation from `start`.
///
/// `shares` has one row per component and one column per observed pair; `counts` is the number of pairs per row of the
/// data. Responsibilities are averaged within a row, so that a row counts by its weight in `row_weights`, however many
/// pairs it ranks. The start counts like 20 rows of weight 1; a component that starts at 0 stays at 0.
///
/// # Panics
/// When `counts` do not add up to the number of columns, `start` does not have one entry per component, or `row_weights`
/// not one per row.
#[must_use]
pub fn mixture_weights(
    shares: ArrayView2<'_, f64>,
    counts: &[usize],
    row_weights: &[f64],
    start: &[f64],
) -> Vec<f64> {
    assert_eq!(
        shares.ncols(),
        counts.iter().sum::<usize>(),
        "expected one column per observed pair"
    );
    assert_eq!(
        shares.nrows(),
        start.len(),
        "expected one start per component"
    );
    assert_eq!(
        row_weights.len(),
        counts.len(),
        "expected one weight per row"
    );
    let rows = || counts.iter().zip(row_weights);
    let compared: f64 = rows()
        .filter(|(&count, _)| count > 0)
        .map(|(_, weight)| weight)
        .sum();
    let pair_weights =
        rows().flat_map(|(&count, weight)| std::iter::repeat_n(weight / count as f64, count));
    let pair_weights = pack_lanes(pair_weights, 0.0);
    // Pad with 1.0 to avoid dividing by zero.
    let shares: Vec<Vec<PairLanes>> = shares
        .outer_iter()
        .map(|row| pack_lanes(row.iter().copied(), 1.0))
        .collect();
    let mut weights = start.to_vec();
    for _ in 0..STEPS {
        let sums = dispatch(ResponsibilitiesKernel {
            shares: &shares,
            pair_weights: &pair_weights,
            weights: &weights,
        });
        for ((weight, sum), start) in weights.iter_mut().zip(sums).zip(start) {
            *weight = (PRIOR_ROWS * start + *weight * sum) / (PRIOR_ROWS + compared);
        }
    }
    weights
}

/// Packs values into vectors, the last one padded.
fn pack_lanes(values: impl Iterator<Item = f64>, padding: f64) -> Vec<PairLanes> {
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
    use ndarray::{array, Array3};

    #[test]
    fn observed_shares_are_looked_up_per_ranked_pair() {
        let y = array![
            [1.0, 2.0, 1.0],
            [f64::NAN, 2.0, 1.0],
            [f64::NAN, f64::NAN, 1.0]
        ];
        let rankings = Rankings::new(y.view(), None).unwrap();
        let tables = Array3::from_shape_fn((3, 3, 3), |(row, pair, relation)| {
            (row * 100 + pair * 10 + relation) as f64
        });
        // Row 0: before, tied, after; row 1: only the last pair, after.
        let observed = observed_shares(&rankings, tables.view()).unwrap();
        assert_eq!(observed, [0.0, 11.0, 22.0, 122.0]);
        assert_eq!(observed_counts(&rankings), [3, 1, 0]);
        let other = Array3::zeros((2, 3, 3));
        assert!(observed_shares(&rankings, other.view()).is_err());
    }

    #[test]
    fn better_components_get_more_weight() {
        let shares = ndarray::Array2::from_shape_fn((3, 4000), |(k, _)| [0.9, 0.3, 0.001][k]);
        let counts = vec![4; 1000];
        let unit = vec![1.0; 1000];
        let weights = mixture_weights(shares.view(), &counts, &unit, &[0.4, 0.4, 0.2]);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(weights[0] > 0.95 && weights[1] > weights[2]);
        let without = mixture_weights(shares.view(), &counts, &unit, &[0.0, 0.6, 0.4]);
        assert_eq!(without[0], 0.0);
        let none = ndarray::Array2::zeros((2, 0));
        let nothing = mixture_weights(none.view(), &[0, 0], &[1.0, 1.0], &[0.7, 0.3]);
        assert!((nothing[0] - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_row_of_weight_two_equals_two_rows() {
        let start = [0.5, 0.5];
        let shares = array![[0.9, 0.2, 0.4], [0.1, 0.6, 0.5]];
        let weighted = mixture_weights(shares.view(), &[2, 1], &[1.0, 2.0], &start);
        let shares = array![[0.9, 0.2, 0.4, 0.4], [0.1, 0.6, 0.5, 0.5]];
        let repeated = mixture_weights(shares.view(), &[2, 1, 1], &[1.0; 3], &start);
        for (a, b) in weighted.iter().zip(&repeated) {
            assert!((a - b).abs() < 1e-14, "{weighted:?} {repeated:?}");
        }
    }
}
