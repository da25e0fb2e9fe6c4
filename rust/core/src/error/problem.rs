//! [`WeightProblem`]: the reason why a weight is invalid.

/// Reason why a weight is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightProblem {
    /// Less than zero.
    Negative,
    /// NaN or infinite.
    NotFinite,
}
