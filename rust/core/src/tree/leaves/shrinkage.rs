//! [`Shrinkage`]: pair shares of a node, pulled towards those of the nodes above it.

use crate::error::{Error, Result};

/// How the shares of a node are smoothed. N is the weight of a node's rows that rank both labels of a pair.
///
/// References: A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, *Hierarchical shrinkage*, ICML 2022, for the sum
/// along the path; B. Cestnik, *Estimating probabilities*, ECAI 1990, for the m-estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shrinkage {
    /// The shares of the node's own rows; 0 where none of them ranks both labels.
    None,
    /// From the root's shares by the differences of neighbours on the path, the difference below a node divided by
    /// 1 + λ/N, with λ = `strength` · √(N of the root / weight of the root). A pair that no row ranks gets ⅓ each.
    Path {
        /// λ for a pair that every row ranks.
        strength: f64,
    },
    /// (weights of the node + `strength` · shares of its parent) / (N + `strength`); ⅓ each above the root.
    MEstimate {
        /// How many rows the parent's shares count for.
        strength: f64,
    },
}

impl Shrinkage {
    /// Checks the strength.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a strength that is negative, NaN or infinite, or 0 for the m-estimate, which would leave
    /// nothing where no row ranks a pair.
    pub fn check(self) -> Result<Self> {
        let (strength, possible) = match self {
            Self::None => return Ok(self),
            Self::Path { strength } => (strength, strength >= 0.0),
            Self::MEstimate { strength } => (strength, strength > 0.0),
        };
        if possible && strength.is_finite() {
            return Ok(self);
        }
        Err(Error::Parameter {
            name: "shrinkage_strength",
            found: strength,
            expected: "a finite number that is not negative, and above 0 for the m-estimate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_strengths_are_refused() {
        for strength in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Shrinkage::Path { strength }.check().is_err());
            assert!(Shrinkage::MEstimate { strength }.check().is_err());
        }
        assert!(Shrinkage::MEstimate { strength: 0.0 }.check().is_err());
        assert!(Shrinkage::Path { strength: 0.0 }.check().is_ok());
    }
}
