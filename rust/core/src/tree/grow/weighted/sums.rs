//! [`WeightedSums`]: sums of weights per pair of labels (column of [`PairCodes`]) and outcome, and their entropy.

use crate::tree::grow::coded::large_node::row;
use crate::tree::grow::coded::pair_codes::PairCodes;

/// Per column the sums of the weights of the rows with outcome before, tied and after, and the weight of all rows.
///
/// The callers add rows in the order of the general engine, so the sums of both are bit-identical.
#[derive(Debug, Clone, Default)]
pub(super) struct WeightedSums {
    pub(super) weight: f64,
    pub(super) before: Vec<f64>,
    pub(super) tied: Vec<f64>,
    pub(super) after: Vec<f64>,
}

impl WeightedSums {
    /// Sets all sums to 0.
    #[inline(always)]
    pub(super) fn reset(&mut self, columns: usize) {
        self.weight = 0.0;
        for sums in [&mut self.before, &mut self.tied, &mut self.after] {
            sums.clear();
            sums.resize(columns, 0.0);
        }
    }

    /// Adds the row of an entry, whose low half is its index in `pair_codes`; `weights` are per training row. Adding 0
    /// to the other outcomes changes no sum.
    #[inline(always)]
    pub(super) fn add(&mut self, pair_codes: &PairCodes, weights: &[f64], entry: u64) {
        let weight = weights[pair_codes.rows[row(entry)] as usize];
        self.weight += weight;
        let columns = pair_codes.columns();
        let start = row(entry) * pair_codes.stride;
        let codes = &pair_codes.codes[start..start + columns];
        let sums = self.before.iter_mut().zip(&mut self.after);
        for ((before, after), &code) in sums.zip(codes) {
            *before += f64::from(code & 1) * weight;
            *after += f64::from(code >> 4) * weight;
        }
        if pair_codes.is_complete() {
            for (tied, &code) in self.tied.iter_mut().zip(codes) {
                *tied += f64::from(u8::from(code == 0)) * weight;
            }
        } else {
            let seen = &pair_codes.seen[start..start + columns];
            for ((tied, &code), &seen) in self.tied.iter_mut().zip(codes).zip(seen) {
                *tied += f64::from(u8::from(code == 0) & seen) * weight;
            }
        }
    }

    /// The sums before, tied and after of each column.
    pub(super) fn triples(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        let sums = self.before.iter().zip(&self.tied).zip(&self.after);
        sums.map(|((&before, &tied), &after)| [before, tied, after])
    }

    /// Whether the rows disagree on a column.
    pub(super) fn is_impure(&self, column: usize) -> bool {
        let outcomes = [self.before[column], self.tied[column], self.after[column]];
        outcomes.iter().filter(|&&weight| weight > 0.0).count() > 1
    }

    /// Sum of the entropies of all pairs, with an error of a few units in the last place per pair.
    #[inline(always)]
    pub(super) fn estimate_entropy(&self, pair_codes: &PairCodes) -> f64 {
        let mut lanes = [0.0; LANES];
        let (before, before_rest) = self.before.as_chunks::<LANES>();
        let (tied, tied_rest) = self.tied.as_chunks::<LANES>();
        let (after, after_rest) = self.after.as_chunks::<LANES>();
        let (pairs, pairs_rest) = pair_codes.multiplicity.as_chunks::<LANES>();
        for (((before, tied), after), pairs) in before.iter().zip(tied).zip(after).zip(pairs) {
            for lane in 0..LANES {
                lanes[lane] +=
                    pairs[lane] as f64 * entropy([before[lane], tied[lane], after[lane]]);
            }
        }
        let rest = before_rest.iter().zip(tied_rest).zip(after_rest);
        for (((&before, &tied), &after), &pairs) in rest.zip(pairs_rest) {
            lanes[0] += pairs as f64 * entropy([before, tied, after]);
        }
        lanes.iter().sum()
    }
}

/// Columns per vector.
const LANES: usize = 8;

/// Entropy of three outcomes; 0 if all weights are 0.
#[inline(always)]
fn entropy(weights: [f64; 3]) -> f64 {
    let [before, tied, after] = weights;
    let seen = before + after + tied;
    let inverse = 1.0 / if seen > 0.0 { seen } else { 1.0 };
    let term = |weight: f64| {
        let share = weight * inverse;
        share * fast_log2(share)
    };
    -(term(before) + term(after) + term(tied))
}

/// log2 of a normal positive number, with a relative error below 1e-14; some finite number for 0. Compiled to vector
/// instructions, unlike [`f64::log2`].
#[inline(always)]
fn fast_log2(x: f64) -> f64 {
    /// Bits of 1.0 and of √½: mantissas are taken from [√½, √2).
    const ONE: u64 = 0x3FF0_0000_0000_0000;
    const LEAST: u64 = 0x3FE6_A09E_667F_3BCD;
    /// Bits of 2^52: with an integer in its mantissa bits, the float is 2^52 plus the integer. `OFFSET` is 2^52 plus
    /// the exponent bias.
    const INTEGER: u64 = 0x4330_0000_0000_0000;
    const OFFSET: f64 = 4_503_599_627_370_496.0 + 1023.0;
    let shifted = x.to_bits().wrapping_add(ONE - LEAST);
    let exponent = f64::from_bits(INTEGER | (shifted >> 52)) - OFFSET;
    let mantissa = f64::from_bits((shifted & (u64::MAX >> 12)) + LEAST);
    // ln m = 2·artanh((m - 1) / (m + 1)).
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut series = 0.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = (series + 1.0 / odd) * square;
    }
    exponent + (series + 1.0) * ratio * (2.0 * std::f64::consts::LOG2_E)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_accurate() {
        let mut x = 1e-290_f64;
        while x < 1e160 {
            let error = (fast_log2(x) - x.log2()).abs();
            assert!(error <= 1e-15 * x.log2().abs().max(1.0), "{x}: {error}");
            x *= 1.37;
        }
        assert!(fast_log2(0.0).is_finite());
        assert_eq!(entropy([0.0; 3]), 0.0);
        assert!((entropy([0.3, 0.3, 0.0]) - 1.0).abs() < 1e-15);
    }
}
