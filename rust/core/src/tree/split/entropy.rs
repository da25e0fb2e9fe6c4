//! Entropy scores that do not depend on the order of summation.
//!
//! A floating-point sum depends on its order, and with it on the width of vectors and the number of threads. Here
//! every term is rounded to an integer once, so that sums are exact and every way of adding gives the same tree.
//!
//! * [`Exact`]: complete rankings and whole-number weights. All pairs of a set of weight W are seen W times, so
//!   W times the summed entropy is `Σ (F[W] - F[before] - F[tied] - F[after])` with `F[c] = c·log2 c`, an integer
//!   table scaled by 2^k.
//! * [`Seen`]: pairs are seen differently often. Each pair's entropy is computed in floating point, always by the
//!   same operations, and rounded to a multiple of 2^-q.

/// Weights up to here are looked up, larger ones computed.
const MAX_TABLE: u64 = 1 << 22;

/// `c·log2 c`, with 0 for no rows.
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

/// Integer scores for complete rankings and whole-number weights.
#[derive(Debug)]
pub(crate) struct Exact {
    pairs: u64,
    classes: Vec<Class>,
}

/// The table for nodes of weight in `(2^(j-1), 2^j]`. Small nodes have finer scores, because a fixed error weighs
/// more in them.
#[derive(Debug)]
pub(crate) struct Class {
    /// Padded with zeros behind the entries.
    table: Vec<i64>,
    entries: usize,
    scale: f64,
}

impl Exact {
    /// Tables for nodes up to `total` weight.
    pub(crate) fn new(pairs: usize, total: u64) -> Self {
        let pairs = pairs as u64;
        let plain: Vec<f64> = (0..=total.min(MAX_TABLE))
            .map(|c| x_log_x(c as f64))
            .collect();
        let classes = (0..=ceil_log2(total))
            .map(|j| {
                // pairs · 2^j · j · 2^k stays below 2^61.
                let k = 61 - (ceil_log2(pairs) + j + ceil_log2(j.into())).cast_signed();
                let scale = f64::from(k).exp2();
                let entries = plain.len().min((1 << j) + 1);
                let values = plain[..entries].iter().map(|f| (f * scale).round() as i64);
                let mut table: Vec<i64> = values.collect();
                // All that a small type can count, so that kernels need not check their indices.
                if let Some(&size) = [256, 4096, 65536].iter().find(|&&size| entries <= size) {
                    table.resize(size, 0);
                }
                Class {
                    table,
                    entries,
                    scale,
                }
            })
            .collect();
        Self { pairs, classes }
    }

    /// The tables for all nodes, by the logarithm of their largest weight.
    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The table for a node.
    pub(crate) fn class(&self, weight: u64) -> &Class {
        &self.classes[ceil_log2(weight) as usize]
    }

    /// Impurity of a node from its score `Σ F - pairs·F[W]`.
    pub(crate) fn impurity(&self, weight: u64, score: i64) -> f64 {
        self.improvement(weight, -score)
    }

    /// Improvement of a split from the sum of the children's scores minus the node's, all in the node's class.
    pub(crate) fn improvement(&self, weight: u64, gain: i64) -> f64 {
        gain as f64 / self.unit(weight)
    }

    /// What the difference of scores is divided by to become an improvement of a node of this weight.
    pub(crate) fn unit(&self, weight: u64) -> f64 {
        weight as f64 * self.pairs as f64 * self.class(weight).scale
    }
}

impl Class {
    /// `F[count]`.
    #[inline]
    pub(crate) fn get(&self, count: u64) -> i64 {
        match self.table[..self.entries].get(count as usize) {
            Some(&value) => value,
            None => (x_log_x(count as f64) * self.scale).round() as i64,
        }
    }

    /// The values for all counts up to the class's largest weight; padded to 256, 4096 or 65536 entries when one of these suffices.
    pub(crate) fn table(&self) -> &[i64] {
        &self.table
    }
}

/// Rounded entropies for missing labels and fractional weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pairs: usize,
    /// 2^q: entropies of pairs are multiples of 2^-q.
    scale: f64,
}

impl Seen {
    pub(crate) fn new(pairs: usize) -> Self {
        // Sums over the pairs stay below 2^62, and single entropies within what `round` can do.
        let q = 48.min(60 - ceil_log2(pairs as u64));
        Self {
            pairs,
            scale: f64::from(q).exp2(),
        }
    }

    /// Impurity from the sum of the pairs' rounded entropies.
    pub(crate) fn impurity(self, entropy: i64) -> f64 {
        entropy as f64 / (self.scale * self.pairs as f64)
    }

    /// Improvement of a split: weights and entropy sums of the node and of its children.
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

    /// A pair's rounded entropy; 0 for an unseen pair.
    pub(crate) fn entropy(self, before: f64, tied: f64, after: f64) -> i64 {
        let seen = before + after + tied;
        if seen > 0.0 {
            // The sum treats before and after alike, so that a mirrored pair has the same entropy to the last bit.
            let inner = (x_log_x(before) + x_log_x(after)) + x_log_x(tied);
            self.round((x_log_x(seen) - inner) * (1.0 / seen))
        } else {
            0
        }
    }

    /// Rounds an entropy of at most log2 3 to the grid of 2^-q, without a conversion that vector units lack.
    #[inline(always)]
    pub(crate) fn round(self, entropy: f64) -> i64 {
        // Adding 1.5·2^52 leaves the nearest integer in the low bits of the mantissa.
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        let shifted = entropy * self.scale + MAGIC;
        (shifted.to_bits().wrapping_sub(MAGIC.to_bits())).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_scores_give_the_entropy_of_shares() {
        let shares = [5.0, 2.0, 3.0_f64];
        let entropy: f64 = shares.iter().map(|c| -(c / 10.0) * (c / 10.0).log2()).sum();
        let exact = Exact::new(1, 10);
        let class = exact.class(10);
        let score = class.get(5) + class.get(2) + class.get(3) - class.get(10);
        assert!((exact.impurity(10, score) - entropy).abs() < 1e-14);
        let seen = Seen::new(1);
        let rounded = seen.entropy(5.0, 2.0, 3.0);
        assert!((seen.impurity(rounded) - entropy).abs() < 1e-14);
        assert_eq!(rounded, seen.entropy(3.0, 2.0, 5.0));
    }

    #[test]
    fn pure_and_unseen_pairs_score_exactly_zero() {
        for c in 0..200 {
            let c = f64::from(c);
            assert_eq!(Seen::new(1).entropy(c, 0.0, 0.0), 0);
            assert_eq!(Seen::new(325).entropy(0.0, c, 0.0), 0);
        }
    }

    #[test]
    fn rounding_is_to_the_nearest() {
        for x in [0.0, 1.0, 0.3, 1.584_962_500_721_156] {
            let seen = Seen::new(325);
            assert!((seen.round(x) as f64 - x * seen.scale).abs() <= 0.5);
        }
    }
}
