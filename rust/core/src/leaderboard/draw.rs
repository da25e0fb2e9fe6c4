//! Draws of units with replacement.

use super::binomial::binomial;
use crate::comparisons::{Tallies, Units, OUTCOMES};
use crate::random::Generator;

/// Largest number of units that are drawn one by one, with 32-bit random numbers.
const MAX_SINGLE_DRAWS: u64 = 1 << 31;

/// Calls `each` with the drawn units and how often each was drawn: as many draws with replacement as there are units.
///
/// Units with copies are drawn by one binomial number per distinct unit, so that the cost does not grow with the number
/// of copies; units without copies are drawn one by one. The order of calls is that of the draws.
pub(super) fn draw_units(copies: &[u64], generator: &mut Generator, each: impl FnMut(usize, u64)) {
    let total: u64 = copies.iter().sum();
    if total == copies.len() as u64 && total <= MAX_SINGLE_DRAWS {
        draw_singly(copies.len(), generator, each);
    } else {
        draw_by_counts(copies, total, generator, each);
    }
}

fn draw_singly(units: usize, generator: &mut Generator, mut each: impl FnMut(usize, u64)) {
    for _ in 0..units {
        each(generator.below(units), 1);
    }
}

fn draw_by_counts(
    copies: &[u64],
    total: u64,
    generator: &mut Generator,
    mut each: impl FnMut(usize, u64),
) {
    let (mut remaining, mut rest) = (total, total);
    for (unit, &own) in copies.iter().enumerate() {
        if remaining == 0 {
            break;
        }
        let drawn = binomial(generator, remaining, own as f64 / rest as f64);
        if drawn > 0 {
            each(unit, drawn);
        }
        remaining -= drawn;
        rest -= own;
    }
}

/// Replaces the tallies by those of a resample of all units.
pub(super) fn draw_tallies(units: &Units, generator: &mut Generator, tallies: &mut Tallies) {
    tallies.fill([0.0; OUTCOMES]);
    draw_units(units.copies(), generator, |unit, times| {
        units.add(unit, times as f64, tallies);
    });
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
            for _ in 0..400 {
                let mut drawn = 0;
                draw_units(&copies, &mut generator, |unit, times| {
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
