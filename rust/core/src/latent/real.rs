//! [`Real`]: the float type of a vector kernel, `f32` for speed or `f64` for precision.
//!
//! The kernels compute, for each label with utility `f_u` and tie term `h_u`, the strength `exp(f_u − max f)` and the
//! tie strength `exp((f_u − max f) / 2 + h_u)`.

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
    /// Largest distance of a utility from the largest of its row, so that strengths are normal numbers. `LatentBlock`
    /// clips larger distances; the other kernels refuse such rows, whose shares are then computed pair by pair.
    const SPREAD: Self;
    /// Largest logarithm of a tie strength, so that products of two tie strengths are finite.
    const TIE_LIMIT: Self;

    /// e to these powers. Results must be normal numbers.
    ///
    /// Bit-identical on every machine, unlike the system library, and accurate to two units in the last place. It
    /// has no branches, and each step is a loop over the lanes, so that it compiles to vector instructions.
    fn exponentials<const N: usize>(powers: [Self; N]) -> [Self; N];

    /// e to this power.
    #[inline(always)]
    fn exponential(self) -> Self {
        let [power] = Self::exponentials([self]);
        power
    }
}

/// Body of [`Real::exponentials`]: a power of two times a polynomial of the remainder, highest coefficient first.
/// Adding `round` rounds the exponent to a whole number and leaves it in the low bits; `mantissa` is the number of bits
/// of the mantissa, `one` the bits of 1.0; ln 2 is split into `high` and `low`.
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
        // 1.5 · 2^52: adding it rounds to the nearest whole number.
        exponentials!(
            powers, f64, round 6_755_399_441_055_744.0, mantissa 52, one 0x3FF0_0000_0000_0000,
            high 0.693_147_180_369_123_8, low 1.908_214_929_270_587_7e-10;
            1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
            1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
            1.0 / 6.0, 0.5, 1.0, 1.0
        )
    }
}

/// e to these powers, as [`Real::exponentials`].
#[inline(always)]
pub(crate) fn exponentials<const N: usize>(powers: [f64; N]) -> [f64; N] {
    f64::exponentials(powers)
}

/// Natural logarithms of positive normal numbers, with the properties of [`Real::exponentials`].
///
/// A number is 2ᵏ·m with m from √½ to √2, and ln m = 2 artanh(s) with s = (m − 1) / (m + 1): |s| < 0.172, so that ten
/// terms of the series suffice.
#[inline(always)]
pub(crate) fn logarithms<const N: usize>(values: [f64; N]) -> [f64; N] {
    const ROOT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1_f64.to_bits();
    const MANTISSA: u64 = (1 << 52) - 1;
    /// Converts k to a float without branches: for k < 2⁵², the bits of the float 2⁵² + k are those of 2⁵², plus k.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    const SERIES: [f64; 9] = [
        2.0 / 17.0,
        2.0 / 15.0,
        2.0 / 13.0,
        2.0 / 11.0,
        2.0 / 9.0,
        2.0 / 7.0,
        2.0 / 5.0,
        2.0 / 3.0,
        2.0,
    ];
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Moves the numbers at which the exponent bits grow by 1 from 2ᵏ to 2ᵏ·√½.
    let moved: [u64; N] = from_fn(|l| values[l].to_bits().wrapping_add(ONE - ROOT_HALF));
    let power: [f64; N] =
        from_fn(|l| f64::from_bits(SHIFT.to_bits() | (moved[l] >> 52)) - (SHIFT + 1023.0));
    let m: [f64; N] = from_fn(|l| f64::from_bits((moved[l] & MANTISSA) + ROOT_HALF));
    let s: [f64; N] = from_fn(|l| (m[l] - 1.0) / (m[l] + 1.0));
    let square: [f64; N] = from_fn(|l| s[l] * s[l]);
    let mut sum = [2.0 / 19.0; N];
    for coefficient in SERIES {
        sum = from_fn(|l| sum[l] * square[l] + coefficient);
    }
    from_fn(|l| power[l] * HIGH + (power[l] * LOW + s[l] * sum[l]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_match_the_standard_library() {
        for i in -7000..=7000 {
            let x = (f64::from(i) / 10.0).exp() * 1.000_123;
            let [found] = logarithms([x]);
            let error = (found - x.ln()).abs();
            assert!(error <= 4e-16 * x.ln().abs().max(0.5), "{x} {found}");
        }
        let near_one: Vec<f64> = (-500..=500).map(|i| 1.0 + f64::from(i) * 1e-9).collect();
        for x in near_one {
            let [found] = logarithms([x]);
            assert!((found - x.ln()).abs() <= 1e-15 * x.ln().abs(), "{x}");
        }
        assert_eq!(logarithms([1.0, f64::MIN_POSITIVE, 2.0])[0], 0.0);
    }

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
