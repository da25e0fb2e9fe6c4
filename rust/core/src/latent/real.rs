//! The numbers of the vector kernels: `f32` where speed counts, `f64` where digits do, one exponential for both.

use std::array::from_fn;
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

    /// e to these powers, for powers that neither overflow nor leave the normal numbers.
    ///
    /// The same to the last bit on every machine and in every lane, which a system's library does not promise; without
    /// branches and all lanes at every step, so that it becomes vector instructions. Within two units in the last place.
    fn exponentials<const N: usize>(powers: [Self; N]) -> [Self; N];

    /// e to this power.
    #[inline(always)]
    fn exponential(self) -> Self {
        let [power] = Self::exponentials([self]);
        power
    }
}

/// The body of [`Real::exponentials`]: a power of two, whose exponent appears in the low bits when `round` is added, times
/// a polynomial of the rest, highest coefficient first. The logarithm of 2 comes in two parts, `high` and `low`.
macro_rules! exponentials {
    ($powers:ident, $float:ident, round $round:expr, mantissa $mantissa:expr, one $one:expr, high $high:expr, low $low:expr;
     $first:expr $(, $rest:expr)*) => {{
        let shifted: [$float; N] = from_fn(|l| $powers[l] * std::$float::consts::LOG2_E + $round);
        let whole: [$float; N] = from_fn(|l| shifted[l] - $round);
        let r: [$float; N] = from_fn(|l| $powers[l] - whole[l] * $high - whole[l] * $low);
        let power: [$float; N] =
            from_fn(|l| $float::from_bits((shifted[l].to_bits() << $mantissa).wrapping_add($one)));
        let sum: [$float; N] = [$first; N];
        $(let sum: [$float; N] = from_fn(|l| sum[l] * r[l] + $rest);)*
        from_fn(|l| power[l] * sum[l])
    }};
}

impl Real for f32 {
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    const TINY: Self = f32::MIN_POSITIVE;
    const SPREAD: Self = 80.0;
    const TIE_LIMIT: Self = 43.0;

    #[inline(always)]
    fn exponentials<const N: usize>(powers: [Self; N]) -> [Self; N] {
        // 1.5 · 2^23: adding it rounds to the nearest whole number.
        exponentials!(
            powers, f32, round 12_582_912.0, mantissa 23, one 0x3F80_0000, high 0.693_359_4, low -2.121_944_4e-4;
            1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
        )
    }
}

impl Real for f64 {
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    const TINY: Self = f64::MIN_POSITIVE;
    const SPREAD: Self = 600.0;
    const TIE_LIMIT: Self = 300.0;

    #[inline(always)]
    fn exponentials<const N: usize>(powers: [Self; N]) -> [Self; N] {
        // 1.5 · 2^52, as above.
        exponentials!(
            powers, f64, round 6_755_399_441_055_744.0, mantissa 52, one 0x3FF0_0000_0000_0000,
            high 0.693_147_180_369_123_8, low 1.908_214_929_270_587_7e-10;
            1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
            1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
            1.0 / 6.0, 0.5, 1.0, 1.0
        )
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
