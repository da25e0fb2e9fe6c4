//! [`order_categories`]: the order of the categories of a feature by their rankings.
//!
//! A split of a categorical feature sends a set of categories left. Of the 2^(k-1) - 1 sets of k categories the trees
//! consider the k - 1 that are prefixes of one order. For a numeric target the order by the mean of the target contains
//! the best set (Fisher 1958, "On grouping for maximum homogeneity"). For rankings the categories are ordered by the
//! first principal component (the direction of largest variance) of their mean label relations, two numbers per label
//! that say how many labels are ranked after, before and with it.

use crate::error::{Error, Result};
use crate::pairs::{check_label_count, for_each_range, label_relations_of};
use crate::rankings::Rankings;
use crate::run::Interrupt;

/// Code of a missing category.
pub const MISSING_CATEGORY: u32 = u32::MAX;

/// Largest number of categories of a feature.
pub const MAX_CATEGORIES: usize = 255;

/// Largest number of rounds of the power iteration. Convergence is geometric; a direction that has not converged after
/// this many rounds is one of several that explain nearly the same variance.
const MAX_ROUNDS: usize = 500;

/// The coordinates of the categories along the principal component are rounded to multiples of this share of the
/// largest one, so that rounding errors do not decide their order.
const TOLERANCE: f64 = 1e-9;

/// The position of each category, from 0, in the order of the first principal component of their mean label relations.
///
/// The mean label relations of a category are two numbers per label, weighted means over the rows of the category: the
/// number of labels ranked after the label minus the number ranked before it, and the number tied with it. A missing
/// label counts as ranked after all labels of the row; its own two numbers are 0. Each category has the weight of its
/// rows in the principal component, whose sign is chosen for a positive skewness; categories with equal coordinates are
/// ordered by descending weight and by code. The order depends neither on the order of the labels nor, unless
/// categories are exactly symmetric, on the codes. Categories without rows come last. O(rows · labels²), and
/// O(categories · labels) per round of the power iteration.
///
/// # Errors
/// [`Error::RowCounts`] for different numbers of codes and rankings, [`Error::Parameter`] for more than
/// [`MAX_CATEGORIES`] categories or a code that is neither below `categories` nor [`MISSING_CATEGORY`],
/// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`](crate::pairs::MAX_PAIR_LABELS), and [`Error::Interrupted`].
///
/// # Examples
/// ```
/// use bucketrank_core::{categories::order_categories, rankings::Rankings, run::Interrupt};
/// use ndarray::array;
///
/// let y = array![[1, 2, 3], [3, 2, 1], [1, 3, 2], [3, 2, 1], [1, 2, 3_i64]];
/// let rankings = Rankings::new(y.view(), None, &Interrupt::never())?;
/// // Category 1 reverses the ranking of category 0; category 2 is between them.
/// let order = order_categories(&[0, 1, 2, 1, 0], 3, &rankings, &Interrupt::never())?;
/// assert_eq!(order, [0, 2, 1]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn order_categories(
    codes: &[u32],
    categories: usize,
    rankings: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<u32>> {
    check(codes, categories, rankings)?;
    let means = CategoryMeans::new(codes, categories, rankings, interrupt)?;
    let coordinates = means.first_component();
    let largest = coordinates.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
    // Rounded to multiples of the tolerance, so that equality is transitive.
    let step = (largest * TOLERANCE).max(f64::MIN_POSITIVE);
    let key = |category: usize| (coordinates[category] / step).round();
    let mut order: Vec<usize> = (0..categories).collect();
    order.sort_by(|&a, &b| {
        let is_empty = |category: usize| means.weights[category] <= 0.0;
        is_empty(a)
            .cmp(&is_empty(b))
            .then(key(a).total_cmp(&key(b)))
            .then(means.weights[b].total_cmp(&means.weights[a]))
    });
    let mut positions = vec![0; categories];
    for (position, &category) in order.iter().enumerate() {
        positions[category] = position as u32;
    }
    Ok(positions)
}

fn check(codes: &[u32], categories: usize, rankings: &Rankings) -> Result<()> {
    if codes.len() != rankings.len() {
        return Err(Error::RowCounts {
            features: codes.len(),
            rankings: rankings.len(),
        });
    }
    if categories > MAX_CATEGORIES {
        return Err(Error::Parameter {
            name: "categories",
            found: categories as f64,
            expected: "at most 255 categories",
        });
    }
    check_label_count(rankings.labels())?;
    let is_invalid = |&&code: &&u32| code != MISSING_CATEGORY && code as usize >= categories;
    match codes.iter().find(is_invalid) {
        None => Ok(()),
        Some(&code) => Err(Error::Parameter {
            name: "code",
            found: f64::from(code),
            expected: "a code below the number of categories",
        }),
    }
}

/// Weights of the categories and their mean label relations, centred.
struct CategoryMeans {
    weights: Vec<f64>,
    /// The weights times a power of two, so that squares of their sums stay finite.
    scaled_weights: Vec<f64>,
    /// One row per category; 0 for a category without rows.
    rows: Vec<Vec<f64>>,
}

impl CategoryMeans {
    fn new(
        codes: &[u32],
        categories: usize,
        rankings: &Rankings,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let width = 2 * rankings.labels();
        let mut weights = vec![0.0; categories];
        let mut rows = vec![vec![0.0; width]; categories];
        for_each_range(rankings, interrupt, |range| {
            let relations: Vec<f64> = label_relations_of(rankings, range.clone());
            for (row, relations) in range.zip(relations.chunks_exact(width)) {
                if codes[row] == MISSING_CATEGORY {
                    continue;
                }
                let (code, weight) = (codes[row] as usize, rankings.weights().get(row));
                weights[code] += weight;
                for (sum, relation) in rows[code].iter_mut().zip(relations) {
                    *sum += weight * relation;
                }
            }
        })?;
        centre_means(&mut rows, &weights, width);
        let total: f64 = weights.iter().sum();
        let exponent = total.max(f64::MIN_POSITIVE).log2().floor() as i32;
        let scale = 2_f64.powi(-exponent);
        Ok(Self {
            scaled_weights: weights.iter().map(|weight| weight * scale).collect(),
            weights,
            rows,
        })
    }

    /// The coordinate of each category in the direction of largest weighted variance, by power iteration. Starts at the
    /// category that contributes most to the variance, a choice that does not depend on the codes.
    fn first_component(&self) -> Vec<f64> {
        let contribution = |category: &usize| {
            self.scaled_weights[*category] * sum_of_squares(&self.rows[*category])
        };
        let start = (0..self.rows.len())
            .max_by(|a, b| contribution(a).total_cmp(&contribution(b)))
            .map_or(Vec::new(), |category| self.rows[category].clone());
        let mut direction = start;
        let mut coordinates = self.project(&direction);
        for _ in 0..MAX_ROUNDS {
            let mut next = vec![0.0; direction.len()];
            let categories = self.rows.iter().zip(&self.scaled_weights);
            for ((row, weight), coordinate) in categories.zip(&coordinates) {
                for (sum, value) in next.iter_mut().zip(row) {
                    *sum += weight * coordinate * value;
                }
            }
            let length = sum_of_squares(&next).sqrt();
            if length <= 0.0 {
                break;
            }
            for value in &mut next {
                *value /= length;
            }
            let change: f64 = next
                .iter()
                .zip(&direction)
                .map(|(a, b)| (a - b).powi(2))
                .sum();
            direction = next;
            coordinates = self.project(&direction);
            if change < 1e-24 {
                break;
            }
        }
        self.orient(coordinates)
    }

    /// The coordinate of each category along `direction`.
    fn project(&self, direction: &[f64]) -> Vec<f64> {
        let dot = |row: &Vec<f64>| row.iter().zip(direction).map(|(a, b)| a * b).sum();
        self.rows.iter().map(dot).collect()
    }

    /// Chooses the sign with a positive weighted sum of cubes.
    fn orient(&self, mut coordinates: Vec<f64>) -> Vec<f64> {
        let cubes = coordinates.iter().zip(&self.scaled_weights);
        let skewness: f64 = cubes.map(|(c, weight)| weight * c.powi(3)).sum();
        if skewness < 0.0 {
            for coordinate in &mut coordinates {
                *coordinate *= -1.0;
            }
        }
        coordinates
    }
}

/// Divides the sums of each category by its weight and subtracts the mean of all rows.
fn centre_means(rows: &mut [Vec<f64>], weights: &[f64], width: usize) {
    let total: f64 = weights.iter().sum();
    let mut centre = vec![0.0; width];
    for (row, &weight) in rows.iter_mut().zip(weights) {
        for (sum, centre) in row.iter_mut().zip(&mut centre) {
            *centre += *sum / total.max(f64::MIN_POSITIVE);
            *sum /= weight.max(f64::MIN_POSITIVE);
        }
    }
    for (row, _) in rows.iter_mut().zip(weights).filter(|(_, &w)| w > 0.0) {
        for (mean, centre) in row.iter_mut().zip(&centre) {
            *mean -= centre;
        }
    }
}

fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, Array2, Axis};

    /// Category c ranks label l by the distance of 3 l from c, with noise.
    fn example() -> (Vec<u32>, Array2<i64>) {
        let codes: Vec<u32> = (0..240).map(|row| (row * row + row / 7) % 12).collect();
        let y = Array2::from_shape_fn((240, 4), |(row, label)| {
            let distance = (i64::from(codes[row]) - 3 * label as i64).abs();
            distance + (row * (label + 3) % 5) as i64
        });
        let dense =
            crate::missing::to_dense_ranks(y.mapv(|v| v as f64).view(), &Interrupt::never())
                .unwrap();
        let y = Array2::from_shape_fn(y.dim(), |(row, label)| i64::from(dense.row(row)[label]));
        (codes, y)
    }

    fn order(codes: &[u32], categories: usize, y: &Array2<i64>) -> Vec<u32> {
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        order_categories(codes, categories, &rankings, &Interrupt::never()).unwrap()
    }

    #[test]
    fn the_order_recovers_a_hidden_scale() {
        let (codes, y) = example();
        let found = order(&codes, 12, &y);
        let ascending: Vec<u32> = (0..12).collect();
        let descending: Vec<u32> = (0..12).rev().collect();
        assert!(found == ascending || found == descending, "{found:?}");
    }

    #[test]
    fn codes_labels_and_rows_can_be_permuted() {
        let (codes, y) = example();
        let found = order(&codes, 12, &y);
        let recode = |code: u32| (code * 5 + 3) % 12;
        let recoded: Vec<u32> = codes.iter().map(|&code| recode(code)).collect();
        let again = order(&recoded, 12, &y);
        assert!((0..12).all(|code| again[recode(code) as usize] == found[code as usize]));
        assert_eq!(order(&codes, 12, &y.select(Axis(1), &[2, 0, 3, 1])), found);
        let rows: Vec<usize> = (0..240).map(|row| row * 77 % 240).collect();
        let moved: Vec<u32> = rows.iter().map(|&row| codes[row]).collect();
        assert_eq!(order(&moved, 12, &y.select(Axis(0), &rows)), found);
    }

    #[test]
    fn missing_and_empty_categories_have_no_influence() {
        let y = array![[1, 2], [2, 1], [1, 2], [2, 1]];
        let found = order(&[3, 1, MISSING_CATEGORY, 1], 5, &y);
        assert_eq!((found[1], found[3]), (0, 1));
        let mut empty = [found[0], found[2], found[4]];
        empty.sort_unstable();
        assert_eq!(empty, [2, 3, 4]);
        assert_eq!(order(&[MISSING_CATEGORY; 4], 0, &y), [0_u32; 0]);
        let equal = array![[1, 2], [1, 2], [1, 2], [1, 2]];
        assert_eq!(order(&[0, 1, 1, 2], 3, &equal), [1, 0, 2]);
    }

    #[test]
    fn invalid_codes_are_rejected() {
        let y = array![[1, 2], [2, 1_i64]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let order = |codes: &[u32], categories| {
            order_categories(codes, categories, &rankings, &Interrupt::never())
        };
        assert!(order(&[0, 3], 3).is_err());
        assert!(order(&[0], 3).is_err());
        assert!(order(&[0, 1], 256).is_err());
        // More labels than the pair statistics support.
        let y = Array2::from_elem((1, 40_000), 1_i64);
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let error = order_categories(&[0], 1, &rankings, &Interrupt::never()).unwrap_err();
        assert!(matches!(error, Error::TooManyLabels { .. }));
    }

    #[test]
    fn extreme_weights_give_the_same_order() {
        let (codes, y) = example();
        // Twelve groups of four labels, so that the sums of squares are larger.
        let columns: Vec<usize> = (0..48).map(|label| label % 4).collect();
        let y = y.select(Axis(1), &columns);
        let with = |weight: f64| {
            let weights: Vec<f64> = (0..240)
                .map(|row| weight * f64::from(1 + row % 3))
                .collect();
            let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
            order_categories(&codes, 12, &rankings, &Interrupt::never()).unwrap()
        };
        for weight in [1e-149, 1e-140, 1e140, 3e149, 1e300] {
            assert_eq!(with(weight), with(1.0), "{weight}");
        }
    }

    #[test]
    fn the_order_can_be_interrupted() {
        let rankings = Rankings::new(array![[1, 2_i64]].view(), None, &Interrupt::never()).unwrap();
        let interrupt = Interrupt::new();
        interrupt.request();
        let error = order_categories(&[0], 1, &rankings, &interrupt).unwrap_err();
        assert_eq!(error, Error::Interrupted);
    }
}
