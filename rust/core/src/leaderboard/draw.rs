//! Draws of the units of resampling (comparisons, groups of them, or rankings) with replacement.

use super::binomial::Binomial;
use super::poisson::PoissonDraw;
use crate::comparisons::{Tallies, Units, OUTCOMES};
use crate::random::Generator;

/// Units with at most this many equal copies are drawn by [`PoissonDraw`]. It has a table per distinct number of
/// copies; together they take at most 3 MB.
const MAX_TABLE_COPIES: u64 = 1024;

/// Draws a resample: as many units, with replacement, as there are copies in total. The cost grows with the number of
/// distinct units, not with the number of their copies.
#[derive(Debug, Clone)]
pub(super) struct UnitDraw {
    /// Number of units, all copies counted.
    total: u64,
    /// Units with many copies, each with the binomial distribution of how often it is drawn. The probability of success
    /// is the unit's share of all copies except those of the large units before it.
    large: Vec<(usize, Binomial)>,
    /// Units with few copies; `None` if there are none.
    small: Option<(Vec<usize>, PoissonDraw)>,
}

impl UnitDraw {
    /// Prepares the draws of distinct units with these numbers of copies.
    pub(super) fn new(copies: &[u64]) -> Self {
        let total = copies.iter().sum();
        let (small, large): (Vec<usize>, Vec<usize>) =
            (0..copies.len()).partition(|&unit| copies[unit] <= MAX_TABLE_COPIES);
        let mut rest: u64 = total;
        let binomial = |unit: usize| {
            let share = copies[unit] as f64 / rest as f64;
            rest -= copies[unit];
            (unit, Binomial::new(share))
        };
        let large = large.into_iter().map(binomial).collect();
        let small_copies: Vec<u64> = small.iter().map(|&unit| copies[unit]).collect();
        Self {
            total,
            large,
            small: (rest > 0).then(|| (small, PoissonDraw::new(&small_copies))),
        }
    }

    /// Calls `each` with the drawn units and how often each was drawn.
    pub(super) fn draw(&self, generator: &mut Generator, mut each: impl FnMut(usize, u64)) {
        let mut remaining = self.total;
        for (unit, binomial) in &self.large {
            let drawn = binomial.draw(generator, remaining);
            if drawn > 0 {
                each(*unit, drawn);
            }
            remaining -= drawn;
        }
        if let Some((units, poisson)) = &self.small {
            for (&unit, drawn) in units.iter().zip(poisson.draw(generator, remaining)) {
                if drawn > 0 {
                    each(unit, u64::from(drawn));
                }
            }
        }
    }

    /// Replaces the tallies (the weight of each outcome per contest) by the tallies of a resample of all units.
    pub(super) fn draw_tallies(
        &self,
        units: &Units,
        generator: &mut Generator,
        tallies: &mut Tallies,
    ) {
        tallies.fill([0.0; OUTCOMES]);
        self.draw(generator, |unit, times| {
            units.add(unit, times as f64, tallies);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resample_has_as_many_units_as_there_are_copies() {
        for copies in [
            vec![1; 50],
            vec![1000, 0, 3, 20_000],
            vec![1],
            vec![5000, 9000],
        ] {
            let total: u64 = copies.iter().sum();
            let mut means = vec![0.0; copies.len()];
            let mut generator = Generator::new(7);
            let draw = UnitDraw::new(&copies);
            for _ in 0..400 {
                let mut drawn = 0;
                draw.draw(&mut generator, |unit, times| {
                    drawn += times;
                    means[unit] += times as f64 / 400.0;
                });
                assert_eq!(drawn, total);
            }
            for (mean, &own) in means.iter().zip(&copies) {
                let expected = own as f64;
                let error = (expected / 400.0).sqrt();
                assert!((mean - expected).abs() <= 5.0 * error, "{mean} {expected}");
            }
        }
    }
}
