//! Entropy scores that do not depend on the order of summation.
//!
//! A floating-point sum depends on its order, and therefore on the vector width and the number of threads. Here every
//! term is rounded to an integer once, so sums are exact and all engines (implementations of tree growing) grow the
//! same tree.
//!
//! * [`IntegerEntropy`]: for complete rankings with integer weights. In a set of rows of total weight W every pair of
//!   labels has weight W, so W times the sum of the pairs' entropies is `Σ (F[W] - F[before] - F[tied] - F[after])`,
//!   where `before`, `tied` and `after` are the weights of the relations of a pair, and `F[c] = c·log2 c` is tabulated
//!   as integers scaled by 2^k.
//! * [`RoundedEntropy`]: for missing labels or fractional weights, where pairs differ in weight. Each pair's entropy
//!   is computed in floating point by a fixed sequence of operations and rounded to a multiple of 2^-q.

use std::sync::{Arc, OnceLock};

use crate::once::get_or_build;

/// `F` is tabulated for weights up to this and computed on demand above.
const MAX_TABLE: u64 = 1 << 22;

/// Number of tables that are built once per process: those for nodes of weight up to 4096.
const SHARED_TABLES: usize = 13;

/// Tables are built once per process if `pair_bits`, the binary logarithm of the number of pairs, rounded up, is below
/// this: for up to `2^15` pairs.
const SHARED_PAIR_SIZES: usize = 16;

/// `c·log2 c`, and 0 for `c = 0`.
pub(crate) fn x_log_x(count: f64) -> f64 {
    if count > 0.0 {
        count * count.log2()
    } else {
        0.0
    }
}

/// Smallest j with `2^j >= x`.
fn ceil_log2(x: u64) -> u32 {
    x.max(1).next_power_of_two().trailing_zeros()
}

/// Integer entropy scores for complete rankings with integer weights.
#[derive(Debug)]
pub(crate) struct IntegerEntropy {
    pairs: u64,
    /// Table j serves nodes of weight in `(2^(j-1), 2^j]`.
    tables: Vec<Arc<EntropyTable>>,
}

/// `F[c] = c·log2 c` for the nodes of one range of weights. The rounding error of an impurity is inversely proportional
/// to scale times weight of the node, so tables for small weights have a larger scale.
#[derive(Debug)]
pub(crate) struct EntropyTable {
    /// `entries` values of `F`, then zero padding.
    values: Vec<i64>,
    entries: usize,
    /// The factor 2^k.
    scale: f64,
}

impl EntropyTable {
    /// Table j, given the logarithm of the number of pairs, rounded up, and `c·log2 c` for all weights that may occur.
    fn new(pair_bits: u32, j: u32, unscaled: &[f64]) -> Self {
        // Sums over the pairs fit in 64 bits: pairs · F[2^j] · 2^k = pairs · 2^j · j · 2^k is at most 2^61.
        let k = 61 - (pair_bits + j + ceil_log2(j.into())).cast_signed();
        let scale = f64::from(k).exp2();
        let entries = unscaled.len().min((1 << j) + 1);
        let rounded = unscaled[..entries].iter();
        let mut values: Vec<i64> = rounded.map(|f| (f * scale).round() as i64).collect();
        // Pad to one of the sizes for which the kernels skip bounds checks.
        if let Some(&size) = [256, 4096, 65536].iter().find(|&&size| entries <= size) {
            values.resize(size, 0);
        }
        Self {
            values,
            entries,
            scale,
        }
    }

    /// Table j for all weights of its range, built once per process; `None` for large tables or many pairs.
    fn shared(pair_bits: u32, j: u32) -> Option<Arc<Self>> {
        static TABLES: [[OnceLock<Arc<EntropyTable>>; SHARED_TABLES]; SHARED_PAIR_SIZES] =
            [const { [const { OnceLock::new() }; SHARED_TABLES] }; SHARED_PAIR_SIZES];
        let table = TABLES.get(pair_bits as usize)?.get(j as usize)?;
        let build = || Arc::new(Self::new(pair_bits, j, &tabulate_x_log_x(1 << j)));
        Some(Arc::clone(get_or_build(table, build)))
    }
}

/// `c·log2 c` for all counts up to `last`.
fn tabulate_x_log_x(last: u64) -> Vec<f64> {
    (0..=last).map(|count| x_log_x(count as f64)).collect()
}

impl IntegerEntropy {
    /// The tables for nodes of weight up to `total`.
    pub(crate) fn new(pairs: usize, total: u64) -> Self {
        let pair_bits = ceil_log2(pairs as u64);
        let mut unscaled = Vec::new();
        let tables = (0..=ceil_log2(total)).map(|j| {
            EntropyTable::shared(pair_bits, j).unwrap_or_else(|| {
                if unscaled.is_empty() {
                    unscaled = tabulate_x_log_x(total.min(MAX_TABLE));
                }
                Arc::new(EntropyTable::new(pair_bits, j, &unscaled))
            })
        });
        Self {
            tables: tables.collect(),
            pairs: pairs as u64,
        }
    }

    /// Number of pairs of labels.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs as usize
    }

    /// All tables; table j serves nodes of weight in `(2^(j-1), 2^j]`.
    pub(crate) fn tables(&self) -> &[Arc<EntropyTable>] {
        &self.tables
    }

    /// Binary logarithm of the number of pairs, rounded up. The tables depend on the number of pairs only through it.
    pub(crate) fn pair_bits(&self) -> u32 {
        ceil_log2(self.pairs)
    }

    /// The table for nodes of this weight.
    pub(crate) fn table_for(&self, weight: u64) -> &EntropyTable {
        &self.tables[ceil_log2(weight) as usize]
    }

    /// Impurity of a node of this weight W, given `score = Σ (F[before] + F[tied] + F[after]) - pairs·F[W]`.
    pub(crate) fn impurity(&self, weight: u64, score: i64) -> f64 {
        self.improvement(weight, -score)
    }

    /// Improvement of a split of a node of this weight, given the children's scores minus the node's, all computed
    /// with the node's table.
    pub(crate) fn improvement(&self, weight: u64, gain: i64) -> f64 {
        gain as f64 / self.denominator(weight)
    }

    /// Divisor that turns a difference of scores into an improvement, for a node of this weight.
    pub(crate) fn denominator(&self, weight: u64) -> f64 {
        weight as f64 * self.pairs as f64 * self.table_for(weight).scale
    }
}

impl EntropyTable {
    /// `F[count]`.
    #[inline]
    pub(crate) fn get(&self, count: u64) -> i64 {
        match self.values[..self.entries].get(count as usize) {
            Some(&value) => value,
            None => (x_log_x(count as f64) * self.scale).round() as i64,
        }
    }

    /// `F` for all counts up to the largest weight of the table's range, but at most [`MAX_TABLE`], zero-padded to 256,
    /// 4096 or 65536 entries if one of these suffices.
    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }
}

/// Rounded entropies for missing labels or fractional weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundedEntropy {
    pairs: usize,
    /// 2^q: entropies of pairs are multiples of 2^-q.
    scale: f64,
}

impl RoundedEntropy {
    pub(crate) fn new(pairs: usize) -> Self {
        // Sums over the pairs stay below 2^62, and one entropy within the range of `round`.
        let q = 48.min(60 - ceil_log2(pairs as u64));
        Self {
            pairs,
            scale: f64::from(q).exp2(),
        }
    }

    /// Impurity, given the sum of the pairs' rounded entropies.
    pub(crate) fn impurity(self, entropy: i64) -> f64 {
        entropy as f64 / (self.scale * self.pairs as f64)
    }

    /// Improvement of a split, given (weight, sum of entropies) of the node and of each child.
    pub(crate) fn improvement(
        self,
        node: (f64, i64),
        children: impl Iterator<Item = (f64, i64)>,
    ) -> f64 {
        let below: f64 = children
            .map(|(weight, entropy)| weight * entropy as f64)
            .sum();
        (node.1 as f64 - below / node.0) / (self.scale * self.pairs as f64)
    }

    /// Rounded entropy of a pair; 0 if no row ranks both labels.
    pub(crate) fn entropy(self, before: f64, tied: f64, after: f64) -> i64 {
        let seen = before + after + tied;
        if seen > 0.0 {
            // Symmetric in before and after: exchanging the labels of a pair gives a bit-identical entropy.
            let inner = (x_log_x(before) + x_log_x(after)) + x_log_x(tied);
            self.round((x_log_x(seen) - inner) * (1.0 / seen))
        } else {
            0
        }
    }

    /// Rounds an entropy of at most log2 3 to a multiple of 2^-q. Avoids the float-to-i64 conversion, for which AVX2
    /// has no vector instruction.
    #[inline(always)]
    pub(crate) fn round(self, entropy: f64) -> i64 {
        // Adding 1.5·2^52 puts the nearest integer into the low bits of the mantissa.
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        let shifted = entropy * self.scale + MAGIC;
        (shifted.to_bits().wrapping_sub(MAGIC.to_bits())).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_and_rounded_scores_equal_the_entropy() {
        let shares = [5.0, 2.0, 3.0_f64];
        let entropy: f64 = shares.iter().map(|c| -(c / 10.0) * (c / 10.0).log2()).sum();
        let integer = IntegerEntropy::new(1, 10);
        let table = integer.table_for(10);
        let score = table.get(5) + table.get(2) + table.get(3) - table.get(10);
        assert!((integer.impurity(10, score) - entropy).abs() < 1e-14);
        let rounding = RoundedEntropy::new(1);
        let rounded = rounding.entropy(5.0, 2.0, 3.0);
        assert!((rounding.impurity(rounded) - entropy).abs() < 1e-14);
        assert_eq!(rounded, rounding.entropy(3.0, 2.0, 5.0));
    }

    #[test]
    fn shared_tables_equal_tables_of_one_fit() {
        let unscaled = tabulate_x_log_x(5000);
        let entropy = IntegerEntropy::new(21, 5000);
        assert_eq!(entropy.tables.len(), 14);
        for (j, table) in (0..).zip(&entropy.tables) {
            let own = EntropyTable::new(5, j, &unscaled);
            assert_eq!((table.scale, &table.values), (own.scale, &own.values));
        }
        let again = IntegerEntropy::new(17, 100);
        assert!(Arc::ptr_eq(&entropy.tables[7], &again.tables[7]));
    }

    #[test]
    fn pure_and_unseen_pairs_have_entropy_zero() {
        for c in 0..200 {
            let c = f64::from(c);
            assert_eq!(RoundedEntropy::new(1).entropy(c, 0.0, 0.0), 0);
            assert_eq!(RoundedEntropy::new(325).entropy(0.0, c, 0.0), 0);
        }
    }

    #[test]
    fn entropies_round_to_the_nearest_multiple() {
        for x in [0.0, 1.0, 0.3, 1.584_962_500_721_156] {
            let rounding = RoundedEntropy::new(325);
            assert!((rounding.round(x) as f64 - x * rounding.scale).abs() <= 0.5);
        }
    }
}
