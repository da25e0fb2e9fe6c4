//! Shares (probabilities of before, tied and after) of one pair of labels in the latent model, for any finite scores: a
//! utility and a tie term (tendency to be tied) per label.

/// Logarithms of weights are clamped to ± this bound. It is large enough to give one relation the whole share, and
/// small enough that differences of clamped logarithms are finite.
const DECISIVE: f64 = 1e300;

/// Logarithms of the weights of before, tied and after for two labels with utilities `f` and tie terms `h`.
#[must_use]
pub fn pair_log_weights(f: [f64; 2], h: [f64; 2]) -> [f64; 3] {
    let half = (f[0] / 2.0 - f[1] / 2.0).clamp(-DECISIVE, DECISIVE);
    let tied = (h[0] + h[1]).clamp(-DECISIVE, DECISIVE);
    [half, tied, -half]
}

/// The shares of before, tied and after, which add up to 1. Finite for any finite input.
///
/// # Examples
/// ```
/// use bucketrank_core::latent::pair_shares;
///
/// let third = 1.0 / 3.0;
/// assert_eq!(pair_shares([2.0, 2.0], [0.0, 0.0]), [third, third, third]);
/// assert_eq!(pair_shares([1e308, -1e308], [0.0, 0.0]), [1.0, 0.0, 0.0]);
/// ```
#[must_use]
pub fn pair_shares(f: [f64; 2], h: [f64; 2]) -> [f64; 3] {
    let logs = pair_log_weights(f, h);
    let largest = logs.into_iter().fold(f64::MIN, f64::max);
    let weights = logs.map(|log| (log - largest).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Logarithm of the sum of the weights.
pub(super) fn log_normaliser(f: [f64; 2], h: [f64; 2]) -> f64 {
    let logs = pair_log_weights(f, h);
    let largest = logs.into_iter().fold(f64::MIN, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
    largest + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_normaliser_of_a_worked_example() {
        // Weights e^{1/2}, e^{0.3}, e^{-1/2}.
        let shares = pair_shares([2.0, 1.0], [0.1, 0.2]);
        let weights = [0.5_f64.exp(), 0.3_f64.exp(), (-0.5_f64).exp()];
        let sum: f64 = weights.iter().sum();
        for (share, weight) in shares.iter().zip(weights) {
            assert!((share - weight / sum).abs() < 1e-15);
        }
        let normaliser = log_normaliser([2.0, 1.0], [0.1, 0.2]);
        assert!((normaliser - sum.ln()).abs() < 1e-15);
    }

    #[test]
    fn extremes_stay_finite() {
        let extreme = [-f64::MAX, -1e200, -1e3, 0.0, 1e3, 1e200, f64::MAX];
        for fu in extreme {
            for fv in extreme {
                for h in extreme {
                    let shares = pair_shares([fu, fv], [h, h]);
                    let sum: f64 = shares.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-12, "{fu} {fv} {h}: {shares:?}");
                    assert!(log_normaliser([fu, fv], [h, h]).is_finite());
                }
            }
        }
    }
}
