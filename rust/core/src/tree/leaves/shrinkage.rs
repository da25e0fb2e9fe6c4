//! [`Shrinkage`]: how the pair shares of a node (per pair of labels the shares of its rows that rank the first label
//! before, tied with or after the second) are shrunk towards those of its ancestors.

use crate::error::{Error, Result};

/// How the shares of a node are smoothed. N is the weight of the node's rows that rank both labels of a pair. Before,
/// tied and after are smoothed separately; below, a share is any of the three.
///
/// References: A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, *Hierarchical shrinkage*, ICML 2022, for `Path`;
/// B. Cestnik, *Estimating probabilities*, ECAI 1990, for `MEstimate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shrinkage {
    /// The shares of the node's own rows; 0 for a pair that none of them ranks.
    None,
    /// The root's share, plus for each step on the path from the root to the node the difference between the shares of
    /// child and parent, divided by 1 + λ/N, where N is that of the parent. λ = `strength` · √(N of the root / weight
    /// of the root). A pair that no row ranks has shares of ⅓.
    Path {
        /// λ for a pair that every row ranks.
        strength: f64,
    },
    /// (w + `strength` · smoothed share of the parent) / (N + `strength`), where w is the weight of the node's rows
    /// with the outcome (before, tied or after); the root's parent has shares of ⅓.
    MEstimate {
        /// Weight of the parent's shares, in rows.
        strength: f64,
    },
}

impl Shrinkage {
    /// Checks the strength.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a negative, NaN or infinite strength, and for 0 with the m-estimate, whose denominator
    /// would be 0 for a pair that no row ranks.
    pub fn check(self) -> Result<Self> {
        let (strength, in_range) = match self {
            Self::None => return Ok(self),
            Self::Path { strength } => (strength, strength >= 0.0),
            Self::MEstimate { strength } => (strength, strength > 0.0),
        };
        if in_range && strength.is_finite() {
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
    fn invalid_strengths_are_rejected() {
        for strength in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Shrinkage::Path { strength }.check().is_err());
            assert!(Shrinkage::MEstimate { strength }.check().is_err());
        }
        assert!(Shrinkage::MEstimate { strength: 0.0 }.check().is_err());
        assert!(Shrinkage::Path { strength: 0.0 }.check().is_ok());
    }
}
