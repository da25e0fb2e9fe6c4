//! The numbers of the vector kernels: `f32` where speed counts, `f64` where digits do, one exponential for both.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A float that kernels compute with in lanes.
pub(crate) trait Real:
    Copy
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
{
    const ONE: Self;
    const HALF: Self;
    /// Added to a denominator that may be 0; too small to change any other.
    const TINY: Self;
    /// Utilities further than this below the best of their row count as being there.
    const SPREAD: Self;
    /// Logarithms of tie strengths end here on both sides.
    const TIE_LIMIT: Self;

    /// e to this power, for powers that neither overflow nor leave the normal numbers.
    ///
    /// The same to the last bit on every machine and in every lane, which a system's library does not promise; without
    /// branches, so that loops over lanes become vector instructions. Within two units in the last place.
    fn exponential(self) -> Self;
}

/// Evaluates a polynomial, highest coefficient first.
macro_rules! horner {
    ($x:expr; $first:expr $(, $rest:expr)*) => {{
        let sum = $first;
        $(let sum = sum * $x + $rest;)*
        sum
    }};
}

impl Real for f32 {
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    const TINY: Self = f32::MIN_POSITIVE;
    const SPREAD: Self = 80.0;
    const TIE_LIMIT: Self = 43.0;

    #[inline(always)]
    fn exponential(self) -> Self {
        // 1.5 · 2^23: adding it rounds to the nearest whole number, which then stands in the low bits.
        const ROUND: f32 = 12_582_912.0;
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        let shifted = self * std::f32::consts::LOG2_E + ROUND;
        let whole = shifted - ROUND;
        let r = self - whole * LN2_HIGH - whole * LN2_LOW;
        let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3F80_0000));
        power
            * horner!(r; 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0)
    }
}

impl Real for f64 {
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    const TINY: Self = f64::MIN_POSITIVE;
    const SPREAD: Self = 600.0;
    const TIE_LIMIT: Self = 300.0;

    #[inline(always)]
    fn exponential(self) -> Self {
        const ROUND: f64 = 6_755_399_441_055_744.0;
        const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
        const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        let shifted = self * std::f64::consts::LOG2_E + ROUND;
        let whole = shifted - ROUND;
        let r = self - whole * LN2_HIGH - whole * LN2_LOW;
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3FF0_0000_0000_0000));
        power
            * horner!(r;
                1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
                1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
                1.0 / 6.0, 0.5, 1.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_the_exponential() {
        for i in -8700..=8800 {
            let x = f64::from(i) / 100.0 + 1e-4;
            let wide = x.exp();
            assert!((x.exponential() / wide - 1.0).abs() < 5e-16, "{x}");
            let narrow = (x as f32).exponential();
            let expected = f64::from(x as f32).exp();
            assert!((f64::from(narrow) / expected - 1.0).abs() < 3e-7, "{x}");
        }
        for x in [-700.0_f64, -600.0, 0.0, 300.0, 700.0] {
            assert!((x.exponential() / x.exp() - 1.0).abs() < 5e-16, "{x}");
        }
        assert_eq!(0.0_f32.exponential(), 1.0);
        assert_eq!(0.0_f64.exponential(), 1.0);
    }
}
