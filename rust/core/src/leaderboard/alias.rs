//! [`AliasTable`]: draws from a discrete distribution, at a cost that does not depend on the number of values.

use crate::random::Generator;

/// Number of bits of a threshold.
const THRESHOLD_BITS: u32 = 32;

/// A discrete distribution as columns of equal probability, each divided between two values.
///
/// Probabilities are exact to 2⁻³² per column.
///
/// Reference: M. D. Vose, *A linear algorithm for generating random numbers with a given distribution*, IEEE
/// Transactions on Software Engineering 17, 1991.
#[derive(Debug, Clone)]
pub(super) struct AliasTable(Vec<Column>);

/// One column: below the threshold the column's own index is drawn, otherwise its alias.
#[derive(Debug, Clone, Copy)]
struct Column {
    threshold: u32,
    alias: u32,
}

impl AliasTable {
    /// Prepares draws of indices in proportion to `weights`, which are non-negative with a positive finite sum. O(n).
    pub(super) fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut rest: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        // A full column is its own alias, because the largest threshold leaves the alias a probability of 2⁻³².
        let mut columns: Vec<Column> = (0..weights.len() as u32)
            .map(|alias| Column {
                threshold: u32::MAX,
                alias,
            })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..rest.len()).partition(|&index| rest[index] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            columns[low] = Column {
                threshold: (rest[low] * 2.0_f64.powi(THRESHOLD_BITS as i32)) as u32,
                alias: high as u32,
            };
            rest[high] -= 1.0 - rest[low];
            if rest[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Self(columns)
    }

    /// Draws an index from 64 random bits: the high half of their product with the number of columns is the column, and
    /// the low half is uniform within the column.
    #[inline]
    pub(super) fn draw(&self, generator: &mut Generator) -> usize {
        let product = u128::from(generator.bits()) * self.0.len() as u128;
        let index = (product >> 64) as usize;
        let within = (product as u64 >> THRESHOLD_BITS) as u32;
        let column = self.0[index];
        if within < column.threshold {
            index
        } else {
            column.alias as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability of each index that the columns stand for.
    fn probabilities(table: &AliasTable) -> Vec<f64> {
        let width = 1.0 / table.0.len() as f64;
        let mut all = vec![0.0; table.0.len()];
        for (index, column) in table.0.iter().enumerate() {
            let own = f64::from(column.threshold) / 2.0_f64.powi(32);
            all[index] += own * width;
            all[column.alias as usize] += (1.0 - own) * width;
        }
        all
    }

    #[test]
    fn columns_have_the_given_probabilities() {
        let mut generator = Generator::new(3);
        for size in [1, 2, 3, 10, 257] {
            let mut weights: Vec<f64> = (0..size).map(|_| generator.unit().powi(4)).collect();
            weights[size / 2] = if size > 2 { 0.0 } else { 1e-3 };
            let sum: f64 = weights.iter().sum();
            let found = probabilities(&AliasTable::new(&weights));
            for (found, weight) in found.iter().zip(&weights) {
                assert!(
                    (found - weight / sum).abs() < 1e-9,
                    "{found} {weight} {size}"
                );
            }
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let weights = [5.0, 0.0, 1.0, 14.0];
        let table = AliasTable::new(&weights);
        let mut generator = Generator::new(4);
        let mut counts = [0.0; 4];
        for _ in 0..20_000 {
            counts[table.draw(&mut generator)] += 1.0;
        }
        assert_eq!(counts[1], 0.0);
        for (count, weight) in counts.iter().zip(weights) {
            let expected = 1000.0 * weight;
            assert!((count - expected).abs() < 300.0, "{counts:?}");
        }
    }
}
