//! Comparison with a threshold up to rounding, the same on every machine.
//!
//! Shares such as 9/10 and thresholds such as 0.5 + 0.4 differ in the last bit although they are mathematically equal.
//! Values within the tolerance count as equal to the threshold, so that rounding does not affect results.

/// Values closer to a threshold than this are equal to it.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// Whether the value is above the threshold and not equal to it.
#[inline]
pub(crate) fn exceeds(value: f64, threshold: f64) -> bool {
    value > threshold + TOLERANCE
}

/// Whether the value is above the threshold or equal to it.
#[inline]
pub(crate) fn reaches(value: f64, threshold: f64) -> bool {
    value >= threshold - TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_within_rounding_equal_the_threshold() {
        let threshold = 0.1 + 0.2;
        for value in [0.3, threshold] {
            assert!(reaches(value, threshold) && !exceeds(value, threshold));
        }
        assert!(exceeds(0.31, threshold) && !reaches(0.29, threshold));
    }
}
