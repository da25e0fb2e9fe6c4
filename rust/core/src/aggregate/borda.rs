//! [`Borda`]: orders labels by the sum of their shares of won comparisons.

use super::threshold::exceeds;
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairOrderMatrix;

/// Borda's rule on the pair order matrix C, where C(u,v) is the share of rankings that place u before v, ties counting
/// half.
///
/// Labels are sorted by their score S(u) = Σ_{v≠u} C(u,v), largest first. A label joins the bucket of the label before
/// it if the drop in score is at most β, so ties cascade. O(n²).
///
/// Reference: J.-C. de Borda, *Mémoire sur les élections au scrutin*, 1784.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Borda {
    beta: f64,
}

impl Borda {
    /// Borda's rule; `beta` is the largest drop in score between neighbours of a bucket.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] when `beta` is negative or not finite.
    pub fn new(beta: f64) -> Result<Self> {
        super::check_beta(beta).map(|beta| Self { beta })
    }

    /// The largest drop in score between neighbours of a bucket.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Writes the Borda score of each label to `scores`.
    pub(crate) fn fill_scores(pair_order: &PairOrderMatrix, scores: &mut Vec<f64>) {
        scores.clear();
        scores.extend((0..pair_order.labels()).map(|u| {
            // Subtract the diagonal, which is ½.
            sum_in_lanes(pair_order.row(u)) - 0.5
        }));
    }

    fn cut_into_buckets(self, scores: &[f64], order: &mut Vec<usize>) -> BucketOrder {
        BucketOrder::from_scores_with_buffer(scores, |drop| !exceeds(drop, self.beta), order)
    }
}

impl Default for Borda {
    /// β = 0.9.
    fn default() -> Self {
        Self { beta: 0.9 }
    }
}

impl Aggregate for Borda {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let Workspace { scores, order, .. } = workspace;
        Self::fill_scores(evidence.pair_order(), scores);
        Ok(self.cut_into_buckets(scores, order))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let order = self.aggregate(evidence, workspace)?;
        Ok(Explanation {
            order,
            details: Details::Scores {
                scores: workspace.scores.clone(),
            },
        })
    }
}

/// Sum with four accumulators: a single one would wait for the latency of each addition.
fn sum_in_lanes(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let chunks = values.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn drops_up_to_beta_tie_and_cascade() {
        let c = array![[0.5, 0.6, 0.9], [0.4, 0.5, 0.8], [0.1, 0.2, 0.5]];
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(c.view()).unwrap());
        let positions = |beta| {
            let explained = Borda::new(beta)
                .unwrap()
                .explain(&evidence, &mut Workspace::default())
                .unwrap();
            explained.order.positions().to_vec()
        };
        // Scores 1.5, 1.2, 0.3.
        assert_eq!(positions(0.0), [1, 2, 3]);
        assert_eq!(positions(0.3), [1, 1, 2]);
        assert_eq!(positions(0.9), [1, 1, 1]);
        assert_eq!(positions(0.299), [1, 2, 3]);
    }

    #[test]
    fn beta_is_checked() {
        for beta in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(Borda::new(beta).is_err());
        }
    }
}
