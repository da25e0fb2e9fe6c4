//! How well predicted bucket orders agree with true ones: τ_X and friends.

mod arrays;

pub use arrays::tau_x_of_arrays;

use crate::error::{Error, Result};
use crate::rankings::{Rankings, MISSING};

/// τ_X of each pair of rows (Emond and Mason's extension of Kendall's τ to ties).
///
/// With a(u,v) = +1 where u is ahead of or tied with v and −1 elsewhere, τ_X is the mean of a·b over the ordered
/// pairs of labels: 1 for equal orders, −1 for a total order and its reverse. O(n²) a row in vector
/// instructions for up to 1024 labels, O(n log n) above.
///
/// # Errors
/// Shapes that differ, or a missing label.
///
/// # Examples
/// ```
/// use bucketrank_core::{metrics::tau_x_rows, rankings::Rankings};
/// use ndarray::array;
///
/// let truth = Rankings::new(array![[1, 2, 3_i64]].view(), None)?;
/// let predicted = Rankings::new(array![[1, 2, 2_i64]].view(), None)?;
/// assert!((tau_x_rows(&truth, &predicted)?[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn tau_x_rows(truth: &Rankings, predicted: &Rankings) -> Result<Vec<f64>> {
    let pairs = ordered_pairs(truth.labels());
    Ok(disagreements(truth, predicted)?
        .into_iter()
        .map(|disagreeing| agreement(disagreeing, pairs))
        .collect())
}

/// Mean τ_X over the rows, weighted by the weights of `truth`.
///
/// With unit weights the sum is one of whole numbers: the result is the same on every machine.
///
/// # Errors
/// As [`tau_x_rows`].
pub fn tau_x(truth: &Rankings, predicted: &Rankings) -> Result<f64> {
    let pairs = ordered_pairs(truth.labels());
    let disagreements = disagreements(truth, predicted)?;
    Ok(match truth.weights() {
        crate::weights::Weights::Unit(rows) => {
            mean_agreement(disagreements.iter().sum(), pairs, *rows)
        }
        crate::weights::Weights::Each(weights) => {
            let sum: f64 = weights
                .iter()
                .zip(&disagreements)
                .map(|(&weight, &disagreeing)| weight * agreement(disagreeing, pairs))
                .sum();
            sum / truth.weights().total()
        }
    })
}

/// τ_X of each pair of rows over the labels that both rank; `None` where these are fewer than two.
///
/// O(n²) a row. On complete rankings the same numbers as [`tau_x_rows`].
///
/// # Errors
/// Shapes that differ.
///
/// # Examples
/// ```
/// use bucketrank_core::{metrics::tau_x_ranked_rows, rankings::Rankings};
/// use ndarray::array;
///
/// let truth = array![[2.0, 1.0, f64::NAN], [1.0, f64::NAN, f64::NAN]];
/// let truth = Rankings::new(truth.view(), None)?;
/// let predicted = Rankings::new(array![[1, 2, 3_i64], [1, 2, 3]].view(), None)?;
/// assert_eq!(tau_x_ranked_rows(&truth, &predicted)?, [Some(-1.0), None]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn tau_x_ranked_rows(truth: &Rankings, predicted: &Rankings) -> Result<Vec<Option<f64>>> {
    if truth.is_complete() && predicted.is_complete() {
        let values = tau_x_rows(truth, predicted)?;
        return Ok(values.into_iter().map(Some).collect());
    }
    check_shapes(truth, predicted)?;
    let mut common = Vec::with_capacity(truth.labels());
    let rows = truth.rows().zip(predicted.rows());
    Ok(rows
        .map(|(a, b)| {
            common.clear();
            let both = a.iter().copied().zip(b.iter().copied());
            common.extend(both.filter(|&(a, b)| a != MISSING && b != MISSING));
            let pairs = ordered_pairs(common.len());
            (common.len() > 1).then(|| agreement(disagreeing_pairs(&common), pairs))
        })
        .collect())
}

/// Mean of [`tau_x_ranked_rows`] over the rows that have a value, weighted by the weights of `truth`.
///
/// # Errors
/// Shapes that differ, or no row of positive weight in which both rank two labels.
pub fn tau_x_ranked(truth: &Rankings, predicted: &Rankings) -> Result<f64> {
    if truth.is_complete() && predicted.is_complete() {
        return tau_x(truth, predicted);
    }
    let (mut sum, mut total) = (0.0, 0.0);
    for (row, value) in tau_x_ranked_rows(truth, predicted)?.iter().enumerate() {
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
/// Shapes that differ, a missing label, or a tie.
pub fn kendall_tau_rows(truth: &Rankings, predicted: &Rankings) -> Result<Vec<f64>> {
    // On total orders τ_X and Kendall's τ are the same number.
    let values = tau_x_rows(truth, predicted)?;
    require_total(truth, "Y_true")?;
    require_total(predicted, "Y_pred")?;
    Ok(values)
}

/// Number of buckets of each predicted row minus that of the true row.
///
/// # Errors
/// Shapes that differ, or a missing label.
pub fn bucket_count_differences(truth: &Rankings, predicted: &Rankings) -> Result<Vec<i64>> {
    check(truth, predicted)?;
    Ok((0..truth.len())
        .map(|row| predicted.buckets(row) as i64 - truth.buckets(row) as i64)
        .collect())
}

fn ordered_pairs(labels: usize) -> f64 {
    labels as f64 * (labels as f64 - 1.0)
}

fn mean_agreement(disagreeing: u64, pairs: f64, rows: usize) -> f64 {
    1.0 - 2.0 * (disagreeing as f64 / pairs) / rows as f64
}

fn agreement(disagreeing: u64, pairs: f64) -> f64 {
    1.0 - 2.0 * (disagreeing as f64 / pairs)
}

/// Number of ordered pairs on which a and b differ, from the positions of each label in both.
fn disagreeing_pairs(positions: &[(u16, u16)]) -> u64 {
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

fn check(truth: &Rankings, predicted: &Rankings) -> Result<()> {
    check_shapes(truth, predicted)?;
    truth.require_complete("Y_true")?;
    predicted.require_complete("Y_pred")
}

fn require_total(rankings: &Rankings, what: &'static str) -> Result<()> {
    for (row, positions) in rankings.rows().enumerate() {
        if rankings.buckets(row) < positions.len() {
            let tie = (0..positions.len()).find_map(|second| {
                let first = positions[..second]
                    .iter()
                    .position(|&p| p == positions[second])?;
                Some((first, second))
            });
            if let Some((first, second)) = tie {
                return Err(Error::Tied {
                    what,
                    row,
                    first,
                    second,
                });
            }
        }
    }
    Ok(())
}

/// Number of ordered pairs (u, v) of each row on which a and b differ.
fn disagreements(truth: &Rankings, predicted: &Rankings) -> Result<Vec<u64>> {
    check(truth, predicted)?;
    if truth.labels() <= blocks::MAX_LABELS {
        return Ok(blocks::disagreements(truth, predicted));
    }
    let mut scratch = sorting::Scratch::default();
    Ok(truth
        .rows()
        .zip(predicted.rows())
        .map(|(a, b)| scratch.disagreements(a, b))
        .collect())
}

/// Up to a thousand labels: compare all pairs, a block of rows at a time, as small integers.
mod blocks {
    use super::Rankings;
    use crate::simd::{dispatch, Kernel};

    /// Above this, counting inversions is faster than comparing all pairs.
    pub(super) const MAX_LABELS: usize = 1024;
    /// Positions fit a signed byte, for which every instruction set has a comparison.
    pub(super) const MAX_BYTE_LABELS: usize = 127;

    pub(super) const LANES: usize = 64;
    /// A pair adds at most 2 to a byte.
    const PAIRS_PER_FLUSH: usize = 127;

    pub(super) fn disagreements(truth: &Rankings, predicted: &Rankings) -> Vec<u64> {
        if truth.labels() <= MAX_BYTE_LABELS {
            in_blocks(truth, predicted, |position| position as i8)
        } else {
            in_blocks(truth, predicted, |position| position as i16)
        }
    }

    fn in_blocks<T: Copy + Default + PartialOrd>(
        truth: &Rankings,
        predicted: &Rankings,
        narrow: impl Fn(u16) -> T + Copy,
    ) -> Vec<u64> {
        let n = truth.labels();
        let rows = truth.len();
        let mut a = vec![[T::default(); LANES]; n];
        let mut b = a.clone();
        let mut out = Vec::with_capacity(rows);
        for start in (0..rows).step_by(LANES) {
            let filled = LANES.min(rows - start);
            transpose(truth, start, filled, narrow, &mut a);
            transpose(predicted, start, filled, narrow, &mut b);
            let totals = dispatch(Block { a: &a, b: &b });
            out.extend(totals[..filled].iter().map(|&t| u64::from(t)));
        }
        out
    }

    fn transpose<T>(
        rankings: &Rankings,
        start: usize,
        filled: usize,
        narrow: impl Fn(u16) -> T,
        columns: &mut [[T; LANES]],
    ) {
        let rows = rankings
            .block(start, filled)
            .chunks_exact(rankings.labels());
        for (lane, positions) in rows.enumerate().take(LANES) {
            for (column, &position) in columns.iter_mut().zip(positions) {
                column[lane] = narrow(position);
            }
        }
    }

    /// Number of disagreements of each row of a block, whose columns are labels.
    struct Block<'a, T> {
        a: &'a [[T; LANES]],
        b: &'a [[T; LANES]],
    }

    impl<T: Copy + PartialOrd> Kernel for Block<'_, T> {
        type Output = [u32; LANES];

        #[inline(always)]
        fn run(self) -> [u32; LANES] {
            disagreeing(self.a, self.b)
        }
    }

    /// Number of disagreements of each row; the columns are labels.
    #[inline(always)]
    pub(super) fn disagreeing<T: Copy + PartialOrd>(
        a: &[[T; LANES]],
        b: &[[T; LANES]],
    ) -> [u32; LANES] {
        let mut totals = [0_u32; LANES];
        let mut bytes = [0_u8; LANES];
        let mut pending = 0;
        for u in 1..a.len() {
            let mut done = 0;
            while done < u {
                let now = (u - done).min(PAIRS_PER_FLUSH - pending);
                let range = done..done + now;
                add_pairs((&a[u], &b[u]), (&a[range.clone()], &b[range]), &mut bytes);
                done += now;
                pending += now;
                if pending == PAIRS_PER_FLUSH {
                    flush(&mut bytes, &mut totals);
                    pending = 0;
                }
            }
        }
        flush(&mut bytes, &mut totals);
        totals
    }

    /// Adds the disagreements about one label and each of several others.
    #[inline(always)]
    fn add_pairs<T: Copy + PartialOrd>(
        (au, bu): (&[T; LANES], &[T; LANES]),
        (a, b): (&[[T; LANES]], &[[T; LANES]]),
        bytes: &mut [u8; LANES],
    ) {
        for (av, bv) in a.iter().zip(b) {
            for lane in 0..LANES {
                let forward = (au[lane] > av[lane]) ^ (bu[lane] > bv[lane]);
                let backward = (av[lane] > au[lane]) ^ (bv[lane] > bu[lane]);
                bytes[lane] += u8::from(forward) + u8::from(backward);
            }
        }
    }

    #[inline(always)]
    fn flush(bytes: &mut [u8; LANES], totals: &mut [u32; LANES]) {
        for (total, byte) in totals.iter_mut().zip(bytes) {
            *total += u32::from(*byte);
            *byte = 0;
        }
    }
}

/// Many labels: count inversions with a Fenwick tree.
mod sorting {
    #[derive(Default)]
    pub(super) struct Scratch {
        order: Vec<u32>,
        tree: Vec<u32>,
        sizes: Vec<u64>,
    }

    impl Scratch {
        /// An unordered pair disagrees in both directions when the orders are opposite, in one direction when
        /// exactly one side ties it, and in none otherwise.
        pub(super) fn disagreements(&mut self, a: &[u16], b: &[u16]) -> u64 {
            let tied_a = self.tied_pairs(a.iter().map(|&p| u32::from(p)), a.len());
            let tied_b = self.tied_pairs(b.iter().map(|&p| u32::from(p)), b.len());
            let (discordant, tied_both) = self.discordant(a, b);
            2 * discordant + (tied_a - tied_both) + (tied_b - tied_both)
        }

        fn tied_pairs(&mut self, positions: impl Iterator<Item = u32>, labels: usize) -> u64 {
            self.sizes.clear();
            self.sizes.resize(labels + 1, 0);
            let mut pairs = 0;
            for position in positions {
                let size = &mut self.sizes[position as usize];
                pairs += *size;
                *size += 1;
            }
            pairs
        }

        /// Pairs in strictly opposite order, and pairs tied in both.
        fn discordant(&mut self, a: &[u16], b: &[u16]) -> (u64, u64) {
            self.order.clear();
            self.order.extend(0..a.len() as u32);
            let key = |&label: &u32| (a[label as usize], b[label as usize]);
            self.order.sort_unstable_by_key(key);
            let tied_both = self
                .order
                .chunk_by(|u, v| key(u) == key(v))
                .map(|run| (run.len() as u64) * (run.len() as u64 - 1) / 2)
                .sum();
            self.tree.clear();
            self.tree.resize(a.len() + 1, 0);
            let mut discordant = 0;
            let mut inserted = 0_u64;
            // Labels tied in a stand together: ask for all of them before inserting any.
            for run in self.order.chunk_by(|&u, &v| a[u as usize] == a[v as usize]) {
                for &label in run {
                    let not_after = prefix_sum(&self.tree, b[label as usize].into());
                    discordant += inserted - u64::from(not_after);
                }
                for &label in run {
                    insert(&mut self.tree, b[label as usize].into());
                    inserted += 1;
                }
            }
            (discordant, tied_both)
        }
    }

    fn prefix_sum(tree: &[u32], mut index: usize) -> u32 {
        let mut sum = 0;
        while index > 0 {
            sum += tree[index];
            index &= index - 1;
        }
        sum
    }

    fn insert(tree: &mut [u32], mut index: usize) {
        while index < tree.len() {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, Array2};

    fn rankings(y: &Array2<i64>) -> Rankings {
        Rankings::new(y.view(), None).unwrap()
    }

    fn by_definition(a: &[u16], b: &[u16]) -> u64 {
        let n = a.len();
        let at_least = |p: &[u16], u: usize, v: usize| p[u] <= p[v];
        (0..n)
            .flat_map(|u| (0..n).map(move |v| (u, v)))
            .filter(|&(u, v)| u != v && at_least(a, u, v) != at_least(b, u, v))
            .count() as u64
    }

    #[test]
    fn both_ways_of_counting_agree_with_the_definition() {
        let a = array![[1, 2, 3, 4], [1, 1, 2, 2], [1, 1, 1, 1], [3, 1, 2, 1]];
        let b = array![[4, 3, 2, 1], [2, 2, 1, 1], [1, 1, 2, 2], [1, 2, 2, 3]];
        let (a, b) = (rankings(&a), rankings(&b));
        let fast = blocks::disagreements(&a, &b);
        for ((a, b), fast) in a.rows().zip(b.rows()).zip(fast) {
            let expected = by_definition(a, b);
            assert_eq!(fast, expected);
            assert_eq!(sorting::Scratch::default().disagreements(a, b), expected);
        }
    }

    #[test]
    fn a_total_order_and_its_reverse() {
        for n in [2_i64, 26, 127, 128, 300, 1024, 1025] {
            let forward = Array2::from_shape_fn((1, n as usize), |(_, j)| j as i64 + 1);
            let backward = forward.mapv(|p| n + 1 - p);
            let (a, b) = (rankings(&forward), rankings(&backward));
            assert_eq!(tau_x(&a, &b).unwrap(), -1.0);
            assert_eq!(tau_x(&a, &a).unwrap(), 1.0);
        }
    }

    #[test]
    fn kendall_needs_total_orders() {
        let total = rankings(&array![[1, 2, 3]]);
        let tied = rankings(&array![[1, 2, 2]]);
        assert_eq!(
            kendall_tau_rows(&total, &tied).unwrap_err(),
            Error::Tied {
                what: "Y_pred",
                row: 0,
                first: 1,
                second: 2
            }
        );
    }

    #[test]
    fn missing_labels_are_refused() {
        let complete = Rankings::new(array![[1.0, 2.0]].view(), None).unwrap();
        let missing = Rankings::new(array![[1.0, f64::NAN]].view(), None).unwrap();
        assert_eq!(
            tau_x(&complete, &missing).unwrap_err(),
            Error::Missing {
                what: "Y_pred",
                row: 0,
                label: 1
            }
        );
    }
}
