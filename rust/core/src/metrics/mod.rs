//! Agreement of predicted with true bucket orders: τ_X, Kendall's τ, concordant and discordant pairs, overlap of the
//! first places, bucket counts.

mod arrays;
mod blocks;
mod inversions;
mod overlap;
mod pair_agreement;

pub use arrays::tau_x_of_arrays;
pub use overlap::{rank_biased_overlaps, OverlapTies};
pub use pair_agreement::{pair_agreements, PairAgreement};

use crate::error::{Error, Result};
use crate::rankings::{Rankings, MISSING};
use crate::run::{Interrupt, WorkMeter};
use crate::weights::Weights;

/// τ_X of each pair of rows (Emond and Mason's extension of Kendall's τ to ties).
///
/// With a(u,v) = +1 where the first row places u before v or ties them and −1 elsewhere, and b(u,v) likewise for the
/// second row, τ_X is the mean of a·b over the ordered pairs of labels: 1 for equal orders, −1 for a total order and
/// its reverse. O(n²) per row in vector instructions for up to 1024 labels, O(n log n) above.
///
/// # Errors
/// [`Error::Shapes`], [`Error::Missing`] or [`Error::Interrupted`].
///
/// # Examples
/// ```
/// use bucketrank_core::{metrics::tau_x_rows, rankings::Rankings, run::Interrupt};
/// use ndarray::array;
///
/// let truth = Rankings::new(array![[1, 2, 3_i64]].view(), None, &Interrupt::never())?;
/// let predicted = Rankings::new(array![[1, 2, 2_i64]].view(), None, &Interrupt::never())?;
/// let values = tau_x_rows(&truth, &predicted, &Interrupt::never())?;
/// assert!((values[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn tau_x_rows(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let pairs = ordered_pairs(truth.labels());
    let counts = disagreements(truth, predicted, interrupt)?.into_iter();
    Ok(counts.map(|count| agreement(count, pairs)).collect())
}

/// Mean τ_X over the rows, weighted by the weights of `truth`.
///
/// With unit weights integers are summed, so the result is the same on every machine.
///
/// # Errors
/// As [`tau_x_rows`].
pub fn tau_x(truth: &Rankings, predicted: &Rankings, interrupt: &Interrupt) -> Result<f64> {
    let pairs = ordered_pairs(truth.labels());
    let counts = disagreements(truth, predicted, interrupt)?;
    Ok(match truth.weights() {
        Weights::Unit(rows) => mean_agreement(counts.iter().sum(), pairs, *rows),
        Weights::Each(weights) => {
            let rows = weights.iter().zip(&counts);
            let weighted = rows.map(|(&weight, &count)| weight * agreement(count, pairs));
            weighted.sum::<f64>() / truth.weights().total()
        }
    })
}

/// τ_X of each pair of rows over the labels that both rank; `None` if there are fewer than two such labels.
///
/// O(n²) per row. Equals [`tau_x_rows`] on complete rankings.
///
/// # Errors
/// [`Error::Shapes`] or [`Error::Interrupted`].
///
/// # Examples
/// ```
/// use bucketrank_core::{metrics::tau_x_ranked_rows, rankings::Rankings, run::Interrupt};
/// use ndarray::array;
///
/// let truth = array![[2.0, 1.0, f64::NAN], [1.0, f64::NAN, f64::NAN]];
/// let truth = Rankings::new(truth.view(), None, &Interrupt::never())?;
/// let predicted = Rankings::new(array![[1, 2, 3_i64], [1, 2, 3]].view(), None, &Interrupt::never())?;
/// let values = tau_x_ranked_rows(&truth, &predicted, &Interrupt::never())?;
/// assert_eq!(values, [Some(-1.0), None]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn tau_x_ranked_rows(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<Option<f64>>> {
    if truth.is_complete() && predicted.is_complete() {
        let values = tau_x_rows(truth, predicted, interrupt)?;
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut common = Vec::with_capacity(truth.labels());
    compare_rows(truth, predicted, interrupt, |a, b| {
        common.clear();
        let both = a.iter().copied().zip(b.iter().copied());
        common.extend(both.filter(|&(a, b)| a != MISSING && b != MISSING));
        let pairs = ordered_pairs(common.len());
        (common.len() > 1).then(|| agreement(count_disagreements(&common), pairs))
    })
}

/// Mean of [`tau_x_ranked_rows`] over the rows that have a value, weighted by the weights of `truth`.
///
/// # Errors
/// [`Error::Shapes`]; [`Error::NothingToCompare`] if no row of positive weight has two labels ranked in both;
/// [`Error::Interrupted`].
pub fn tau_x_ranked(truth: &Rankings, predicted: &Rankings, interrupt: &Interrupt) -> Result<f64> {
    if truth.is_complete() && predicted.is_complete() {
        return tau_x(truth, predicted, interrupt);
    }
    let (mut sum, mut total) = (0.0, 0.0);
    let values = tau_x_ranked_rows(truth, predicted, interrupt)?;
    for (row, value) in values.iter().enumerate() {
        if let Some(value) = value {
            let weight = truth.weights().get(row);
            sum += weight * value;
            total += weight;
        }
    }
    if total > 0.0 {
        Ok(sum / total)
    } else {
        Err(Error::NothingToCompare { rows: truth.len() })
    }
}

/// Kendall's τ of each pair of rows of total orders.
///
/// # Errors
/// [`Error::Shapes`], [`Error::Missing`], [`Error::Tied`] or [`Error::Interrupted`].
pub fn kendall_tau_rows(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    // τ_X and Kendall's τ are equal on total orders.
    let values = tau_x_rows(truth, predicted, interrupt)?;
    require_total(truth, "Y_true")?;
    require_total(predicted, "Y_pred")?;
    Ok(values)
}

/// Per row, the number of predicted buckets minus the number of true buckets.
///
/// # Errors
/// [`Error::Shapes`] or [`Error::Missing`].
pub fn bucket_count_differences(truth: &Rankings, predicted: &Rankings) -> Result<Vec<i64>> {
    check_complete(truth, predicted)?;
    Ok((0..truth.len())
        .map(|row| predicted.buckets(row) as i64 - truth.buckets(row) as i64)
        .collect())
}

/// Compares each pair of rows with a function that takes O(n²) steps of about a nanosecond.
fn compare_rows<T>(
    first: &Rankings,
    second: &Rankings,
    interrupt: &Interrupt,
    mut compare: impl FnMut(&[u16], &[u16]) -> T,
) -> Result<Vec<T>> {
    check_shapes(first, second)?;
    let mut meter = WorkMeter::new(interrupt);
    let steps = (first.labels() as u64).pow(2);
    let rows = first.rows().zip(second.rows());
    rows.map(|(a, b)| {
        meter.add(steps)?;
        Ok(compare(a, b))
    })
    .collect()
}

/// Number of ordered pairs of labels.
fn ordered_pairs(labels: usize) -> f64 {
    labels as f64 * (labels as f64 - 1.0)
}

/// Mean τ_X of rows, from the number of disagreements of all rows.
fn mean_agreement(disagreeing: u64, pairs: f64, rows: usize) -> f64 {
    1.0 - 2.0 * (disagreeing as f64 / pairs) / rows as f64
}

/// τ_X of a row, from its number of disagreements.
fn agreement(disagreeing: u64, pairs: f64) -> f64 {
    1.0 - 2.0 * (disagreeing as f64 / pairs)
}

/// Number of ordered pairs on which two rankings differ, from the positions of each label in both.
fn count_disagreements(positions: &[(u16, u16)]) -> u64 {
    let mut count = 0;
    for (index, &(au, bu)) in positions.iter().enumerate() {
        for &(av, bv) in &positions[..index] {
            count += u64::from((au > av) ^ (bu > bv)) + u64::from((av > au) ^ (bv > bu));
        }
    }
    count
}

fn check_shapes(truth: &Rankings, predicted: &Rankings) -> Result<()> {
    let shape = |rankings: &Rankings| (rankings.len(), rankings.labels());
    if shape(truth) != shape(predicted) {
        return Err(Error::Shapes {
            left: "Y_true",
            left_shape: shape(truth),
            right: "Y_pred",
            right_shape: shape(predicted),
        });
    }
    Ok(())
}

/// Requires equal shapes and complete rankings.
fn check_complete(truth: &Rankings, predicted: &Rankings) -> Result<()> {
    check_shapes(truth, predicted)?;
    truth.require_complete("Y_true")?;
    predicted.require_complete("Y_pred")
}

fn require_total(rankings: &Rankings, what: &'static str) -> Result<()> {
    for (row, positions) in rankings.rows().enumerate() {
        if rankings.buckets(row) == positions.len() {
            continue;
        }
        let tied_before = |second: usize| {
            let before = &positions[..second];
            before.iter().position(|&p| p == positions[second])
        };
        let mut ties =
            (0..positions.len()).filter_map(|second| Some((tied_before(second)?, second)));
        if let Some((first, second)) = ties.next() {
            return Err(Error::Tied {
                what,
                row,
                first,
                second,
            });
        }
    }
    Ok(())
}

/// Per row, the number of ordered pairs on which the two rankings differ.
fn disagreements(
    truth: &Rankings,
    predicted: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<u64>> {
    check_complete(truth, predicted)?;
    if truth.labels() <= blocks::MAX_LABELS {
        return blocks::disagreements(truth, predicted, interrupt);
    }
    let mut counter = inversions::InversionCounter::default();
    let rows = truth.rows().zip(predicted.rows());
    rows.map(|(a, b)| {
        interrupt.check()?;
        Ok(counter.disagreements(a, b))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, Array2};

    const NEVER: &Interrupt = &Interrupt::never();

    fn rankings(y: &Array2<i64>) -> Rankings {
        Rankings::new(y.view(), None, &Interrupt::never()).unwrap()
    }

    fn disagreements_by_definition(a: &[u16], b: &[u16]) -> u64 {
        let n = a.len();
        let at_least = |p: &[u16], u: usize, v: usize| p[u] <= p[v];
        (0..n)
            .flat_map(|u| (0..n).map(move |v| (u, v)))
            .filter(|&(u, v)| u != v && at_least(a, u, v) != at_least(b, u, v))
            .count() as u64
    }

    #[test]
    fn both_counting_methods_agree_with_the_definition() {
        let a = array![[1, 2, 3, 4], [1, 1, 2, 2], [1, 1, 1, 1], [3, 1, 2, 1]];
        let b = array![[4, 3, 2, 1], [2, 2, 1, 1], [1, 1, 2, 2], [1, 2, 2, 3]];
        let (a, b) = (rankings(&a), rankings(&b));
        let fast = blocks::disagreements(&a, &b, NEVER).unwrap();
        for ((a, b), fast) in a.rows().zip(b.rows()).zip(fast) {
            let expected = disagreements_by_definition(a, b);
            assert_eq!(fast, expected);
            assert_eq!(
                inversions::InversionCounter::default().disagreements(a, b),
                expected
            );
        }
    }

    #[test]
    fn total_order_and_its_reverse_have_tau_x_of_minus_one() {
        for n in [2_i64, 26, 127, 128, 300, 1024, 1025] {
            let forward = Array2::from_shape_fn((1, n as usize), |(_, j)| j as i64 + 1);
            let backward = forward.mapv(|p| n + 1 - p);
            let (a, b) = (rankings(&forward), rankings(&backward));
            assert_eq!(tau_x(&a, &b, NEVER).unwrap(), -1.0);
            assert_eq!(tau_x(&a, &a, NEVER).unwrap(), 1.0);
        }
    }

    #[test]
    fn kendall_tau_requires_total_orders() {
        let total = rankings(&array![[1, 2, 3]]);
        let tied = rankings(&array![[1, 2, 2]]);
        assert_eq!(
            kendall_tau_rows(&total, &tied, NEVER).unwrap_err(),
            Error::Tied {
                what: "Y_pred",
                row: 0,
                first: 1,
                second: 2
            }
        );
    }

    #[test]
    fn missing_labels_are_rejected() {
        let complete = Rankings::new(array![[1.0, 2.0]].view(), None, &Interrupt::never()).unwrap();
        let missing =
            Rankings::new(array![[1.0, f64::NAN]].view(), None, &Interrupt::never()).unwrap();
        assert_eq!(
            tau_x(&complete, &missing, NEVER).unwrap_err(),
            Error::Missing {
                what: "Y_pred",
                row: 0,
                label: 1
            }
        );
    }

    #[test]
    fn counts_for_few_and_many_labels_equal_the_definition() {
        for labels in [9, blocks::MAX_LABELS, blocks::MAX_LABELS + 60] {
            let of = |factor: usize| {
                let y = Array2::from_shape_fn((3, labels), |(row, label)| {
                    1 + ((label * factor + 5 * row) % (labels - row)) as i64
                });
                rankings(&y)
            };
            let (a, b) = (of(7), of(11));
            let pairs = (labels * (labels - 1)) as f64;
            let expected: Vec<f64> = a
                .rows()
                .zip(b.rows())
                .map(|(a, b)| 1.0 - 2.0 * (disagreements_by_definition(a, b) as f64 / pairs))
                .collect();
            assert_eq!(tau_x_rows(&a, &b, NEVER).unwrap(), expected);
        }
    }

    #[test]
    fn missing_labels_are_left_out_and_rows_are_weighted() {
        const NAN: f64 = f64::NAN;
        let truth = array![
            [1.0, 2.0, 2.0, NAN],
            [1.0, NAN, NAN, 2.0],
            [1.0, 2.0, 3.0, 4.0]
        ];
        let predicted = array![
            [1.0, 1.0, 2.0, 3.0],
            [NAN, 1.0, 2.0, 3.0],
            [2.0, 1.0, NAN, 3.0]
        ];
        let truth =
            Rankings::new(truth.view(), Some(&[1.0, 5.0, 3.0]), &Interrupt::never()).unwrap();
        let predicted = Rankings::new(predicted.view(), None, &Interrupt::never()).unwrap();
        // Row 0: of six ordered pairs of labels 0, 1, 2 two differ. Row 1 has one common label. Row 2: two of six
        // differ.
        let rows = tau_x_ranked_rows(&truth, &predicted, NEVER).unwrap();
        let third = 1.0 - 2.0 * (2.0 / 6.0);
        assert_eq!(rows, [Some(third), None, Some(third)]);
        let mean = tau_x_ranked(&truth, &predicted, NEVER).unwrap();
        assert!((mean - third).abs() < 1e-15);
        // Reversed in the last row: (1 · ⅓ − 3 · 1) / 4.
        let predicted = array![
            [1.0, 1.0, 2.0, 3.0],
            [NAN, 1.0, 2.0, 3.0],
            [4.0, 3.0, 2.0, 1.0]
        ];
        let predicted = Rankings::new(predicted.view(), None, &Interrupt::never()).unwrap();
        let mean = tau_x_ranked(&truth, &predicted, NEVER).unwrap();
        assert!((mean - (third - 3.0) / 4.0).abs() < 1e-15);
    }
}
