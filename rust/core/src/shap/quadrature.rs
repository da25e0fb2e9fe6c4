//! [`GaussLegendre`]: points and weights that integrate polynomials over 0 to 1 exactly.

use std::f64::consts::PI;

/// Steps of Newton's method per point; three reach double precision, and the others take little time.
const NEWTON_STEPS: usize = 8;

/// Gauss–Legendre quadrature: `n` points integrate polynomials up to degree 2n − 1 exactly.
///
/// All points are strictly between 0 and 1, and all weights are positive, so that sums of positive values do not
/// cancel. O(n²).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GaussLegendre {
    pub(super) points: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

impl GaussLegendre {
    /// The quadrature with `n` points, at least one.
    pub(super) fn new(n: usize) -> Self {
        let n = n.max(1);
        let mut points = Vec::with_capacity(n);
        let mut weights = Vec::with_capacity(n);
        for index in 0..n {
            let mut x = -(PI * (index as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut derivative = 1.0;
            for _ in 0..NEWTON_STEPS {
                let (value, slope) = legendre(n, x);
                derivative = slope;
                x -= value / slope;
            }
            points.push(f64::midpoint(x, 1.0));
            weights.push(1.0 / ((1.0 - x * x) * derivative * derivative));
        }
        Self { points, weights }
    }
}

/// The Legendre polynomial of degree `n` and its derivative at `x`, inside −1 to 1.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for degree in 2..=n {
        let k = degree as f64;
        let next = ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k;
        (before, value) = (value, next);
    }
    (value, n as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_exactly() {
        for n in [1, 2, 3, 7, 20, 64] {
            let quadrature = GaussLegendre::new(n);
            for degree in 0..2 * n as i32 {
                let powers = quadrature.points.iter().map(|t| t.powi(degree));
                let sum: f64 = powers.zip(&quadrature.weights).map(|(p, w)| p * w).sum();
                let expected = 1.0 / f64::from(degree + 1);
                assert!((sum - expected).abs() < 1e-14, "{n} {degree} {sum}");
            }
        }
    }

    #[test]
    fn points_stay_inside_for_many_points() {
        let quadrature = GaussLegendre::new(700);
        assert!(quadrature.points.is_sorted());
        assert!(quadrature.points.iter().all(|t| 0.0 < *t && *t < 1.0));
        assert!(quadrature.weights.iter().all(|w| *w > 0.0));
    }
}
