//! Draws of units with replacement.

use super::binomial::{log_factorials, Binomial};
use crate::comparisons::{Tallies, Units, OUTCOMES};
use crate::random::Generator;

/// Largest number of units that are drawn one by one, with 32-bit random numbers.
const MAX_SINGLE_DRAWS: u64 = 1 << 31;

/// Draws as many units with replacement as there are.
#[derive(Debug, Clone)]
pub(super) enum UnitDraw {
    /// This many units without copies are drawn one by one.
    Single(usize),
    /// Units with copies are drawn by one binomial number per distinct unit, so that the cost does not grow with the
    /// number of copies.
    Counts(CountDraw),
}

impl UnitDraw {
    /// Prepares the draws of distinct units with these numbers of copies.
    pub(super) fn new(copies: &[u64]) -> Self {
        let total: u64 = copies.iter().sum();
        if total == copies.len() as u64 && total <= MAX_SINGLE_DRAWS {
            Self::Single(copies.len())
        } else {
            Self::Counts(CountDraw::new(copies, total))
        }
    }

    /// Calls `each` with the drawn units and how often each was drawn. The order of calls is that of the draws.
    pub(super) fn draw(&self, generator: &mut Generator, mut each: impl FnMut(usize, u64)) {
        match self {
            Self::Single(units) => {
                for _ in 0..*units {
                    each(generator.below(*units), 1);
                }
            }
            Self::Counts(counts) => counts.draw(generator, each),
        }
    }

    /// Replaces the tallies by those of a resample of all units.
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

/// A multinomial draw: each unit's number is binomial given those of the units before it.
#[derive(Debug, Clone)]
pub(super) struct CountDraw {
    total: u64,
    /// Draw of each unit among itself and all units after it.
    binomials: Vec<Binomial>,
    log_factorials: Vec<f64>,
}

impl CountDraw {
    fn new(copies: &[u64], total: u64) -> Self {
        let mut rest = total;
        let binomial = |&own: &u64| {
            let binomial = Binomial::new(own as f64 / rest as f64, rest as f64);
            rest -= own;
            binomial
        };
        Self {
            total,
            binomials: copies.iter().map(binomial).collect(),
            log_factorials: log_factorials(),
        }
    }

    fn draw(&self, generator: &mut Generator, mut each: impl FnMut(usize, u64)) {
        let mut remaining = self.total;
        for (unit, binomial) in self.binomials.iter().enumerate() {
            if remaining == 0 {
                break;
            }
            let drawn = binomial.draw(generator, remaining, &self.log_factorials);
            if drawn > 0 {
                each(unit, drawn);
            }
            remaining -= drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_units_are_drawn_as_there_are() {
        for copies in [vec![1; 50], vec![1000, 0, 3, 20_000], vec![1]] {
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
