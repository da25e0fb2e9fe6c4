//! [`LogProduct`]: logarithm of a product of many numbers, computed with a single call to `ln`.

/// A product stored as mantissa and exponent, which neither overflows nor underflows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogProduct {
    /// In [1, 2).
    mantissa: f64,
    /// Sum of the exponents, each with the bias of the float format.
    biased: u64,
    factors: u64,
}

impl Default for LogProduct {
    fn default() -> Self {
        Self {
            mantissa: 1.0,
            biased: 0,
            factors: 0,
        }
    }
}

impl LogProduct {
    const FRACTION: u64 = (1 << 52) - 1;
    const BIAS: u64 = 1023;

    /// Multiplies by a positive normal number up to 2^1022. No logarithm and no branch.
    #[inline(always)]
    pub(crate) fn multiply(&mut self, factor: f64) {
        let bits = (self.mantissa * factor).to_bits();
        self.biased += bits >> 52;
        self.factors += 1;
        self.mantissa = f64::from_bits(bits & Self::FRACTION | Self::BIAS << 52);
    }

    /// Natural logarithm of the product.
    #[inline(always)]
    pub(crate) fn ln(self) -> f64 {
        let exponent = self.biased as f64 - (self.factors * Self::BIAS) as f64;
        self.mantissa.ln() + exponent * std::f64::consts::LN_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_beyond_the_range_of_floats() {
        let factors = [1e-300, 3.5, 1e-300, 0.25, 1e-200, 1e300, 1.0, 7e-5, 1e-300];
        let mut product = LogProduct::default();
        for factor in factors {
            product.multiply(factor);
        }
        let expected: f64 = factors.iter().map(|f: &f64| f.ln()).sum();
        assert!((product.ln() - expected).abs() < 1e-11);
        assert_eq!(LogProduct::default().ln(), 0.0);
    }
}
