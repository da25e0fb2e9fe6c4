//! Seeds and random draws. Every value is stable: the same seed gives the same draws on every machine and in every
//! version. Tests compare with fixed values.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Seed of the `child`-th part of a task with the seed `parent`, computed by the finaliser of `SplitMix64`.
///
/// It depends on the indices of the part and its ancestors only, not on the order in which parts are computed.
pub(crate) fn child_seed(parent: u64, child: usize) -> u64 {
    let mut z = parent
        .wrapping_add(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(child as u64);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Seed of the `resample`-th resample of data, for a seed that a user chooses.
///
/// Up to 2²⁰ resamples of each of two seeds that differ by less than 2⁴⁴ have different seeds. With [`child_seed`],
/// resample b + 1 of a seed would be resample b of the next seed.
pub(crate) fn resample_seed(seed: u64, resample: usize) -> u64 {
    child_seed(seed.wrapping_add((resample as u64) << 44), 0)
}

/// A pseudo-random generator (PCG64) with the draws that this crate uses.
pub(crate) struct Generator(Pcg64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// A number from 0 to `bound - 1`: the high half of the product of `bound` and 32 random bits. For bounds below 2³²
    /// the bias is at most `bound` / 2³².
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u64::from(self.0.next_u32()) * bound as u64) >> 32) as usize
    }

    /// A number from a range without bias, by the algorithm of `rand`, which draws other values than [`Self::below`].
    /// Used only for the validation rows of boosters, so that these stay the same.
    pub(crate) fn in_range(&mut self, range: Range<usize>) -> usize {
        self.0.random_range(range)
    }

    /// A number from 0 inclusive to 1 exclusive.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Shuffles by the algorithm of `rand`, which draws other values than [`Self::below`]. Used only for the folds of
    /// cross-validation, so that these stay the same.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn values_are_stable() {
        assert_eq!(
            [child_seed(0, 0), child_seed(0, 1), child_seed(u64::MAX, 7)],
            [
                0xe220_a839_7b1d_cdaf,
                0x910a_2dec_8902_5cc1,
                0xbd64_a5d9_adef_e000
            ]
        );
        let mut generator = Generator::new(42);
        assert_eq!(
            [5, 10, 1000, 1 << 31].map(|bound| generator.below(bound)),
            [3, 1, 603, 1_900_753_014]
        );
        assert_eq!(
            [3..5, 0..1000].map(|range| generator.in_range(range)),
            [3, 543]
        );
        assert_eq!(generator.unit().to_bits(), 0x3fc8_0d61_14a1_7a40);
        assert_eq!(generator.bits(), 0x864f_f6ef_dee6_dfe8);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        generator.shuffle(&mut items);
        assert_eq!(items, [4, 6, 3, 1, 7, 0, 2, 5]);
    }

    #[test]
    fn resamples_of_neighbouring_seeds_differ() {
        assert_eq!(
            [resample_seed(0, 0), resample_seed(7, 1)],
            [child_seed(0, 0), child_seed(7 + (1 << 44), 0)]
        );
        let seeds = [0, 1, 2, 1000, u64::MAX, u64::MAX - 1];
        let resamples = || (0..2000).chain(999_000..1_000_000);
        let all = seeds.map(|seed| resamples().map(move |b| resample_seed(seed, b)));
        let distinct: HashSet<u64> = all.into_iter().flatten().collect();
        assert_eq!(distinct.len(), seeds.len() * resamples().count());
    }

    #[test]
    fn bounded_draws_are_below_their_bound_and_uniform() {
        let mut counts = [0_u32; 6];
        let mut generator = Generator::new(1);
        for _ in 0..12_000 {
            counts[generator.below(6)] += 1;
        }
        assert!(
            counts.iter().all(|&c| (1850..2150).contains(&c)),
            "{counts:?}"
        );
        assert_eq!(generator.below(1), 0);
    }
}
