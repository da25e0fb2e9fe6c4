//! [`Real`]: the float type of a vector kernel, `f32` for speed or `f64` for precision.

use std::array::from_fn;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A float with the constants and the exponential that the kernels need.
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
    /// Added to denominators to avoid dividing by zero; too small to change any other denominator.
    const TINY: Self;
    /// Largest distance of a utility from the largest of its row; larger distances are clipped.
    const SPREAD: Self;
    /// Logarithms of tie strengths are clipped to this.
    const TIE_LIMIT: Self;

    /// e to these powers. Results must be normal numbers.
    ///
    /// Bit-identical on every machine, unlike the system library, and accurate to two units in the last place. Without
    /// branches and lane by lane at each step, so that it compiles to vector instructions.
    fn exponentials<const N: usize>(powers: [Self; N]) -> [Self; N];

    /// e to this power.
    #[inline(always)]
    fn exponential(self) -> Self {
        let [power] = Self::exponentials([self]);
        power
    }
}

/// Body of [`Real::exponentials`]: a power of two times a polynomial of the remainder, highest coefficient first. Adding
/// `round` leaves the exponent in the low bits; ln 2 is split into `high` and `low`.
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
    fn exponential_matches_the_standard_library() {
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
