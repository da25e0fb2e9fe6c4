//! [`Scale`]: the unit of derivatives, chosen so that products of their sums stay within single precision.

/// Smallest ridge for comparing splits, relative to the largest possible sum. A smaller ridge is raised to it, so that
/// products of sums stay within single precision.
const LEAST_RIDGE: f64 = 1.0 / (1_u64 << 40) as f64;

/// Unit of derivatives and ridge. The unit multiplies the scores of all splits by the same constant and does not change
/// the Newton steps of the leaves. It is a power of two, so dividing by it causes no rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) unit: f64,
    /// Ridge for comparing splits, in units.
    pub(super) ridge: f32,
}

impl Scale {
    /// Scale for sums of derivatives up to `largest`.
    ///
    /// Up to a small factor, curvature plus ridge is between 1/q and q units and gradients are at most q units, for
    /// some q ≤ 2^20. A product of five such numbers neither overflows nor underflows.
    pub(super) fn new(largest: f64, ridge: f64) -> Self {
        let ridge = ridge.max(largest * LEAST_RIDGE);
        let middle = ridge.log2().midpoint(largest.max(ridge).log2());
        let unit = middle.round().exp2();
        Self {
            unit,
            ridge: (ridge / unit) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_stay_within_single_precision() {
        for largest in [1e-9, 1.0, 2e3, 1e9, 1e19, 1e30] {
            for ridge in [1e-300, 1e-12, 2.0, 1e12] {
                let Scale { unit, ridge } = Scale::new(largest, ridge);
                assert_eq!(unit.log2().fract(), 0.0);
                let most = (largest / unit) as f32;
                let denominator = most + ridge;
                let numerator = most * most * denominator.powi(3);
                assert!(4.0 * numerator < f32::MAX, "{largest} {ridge}: {numerator}");
                assert!(ridge.powi(4) > f32::MIN_POSITIVE, "{largest} {ridge}");
            }
        }
    }

    #[test]
    fn an_ordinary_ridge_is_kept() {
        let scale = Scale::new(7000.0, 2.0);
        assert_eq!(f64::from(scale.ridge) * scale.unit, 2.0);
    }
}
