//! [`ReciprocalRankFusion`]: orders labels by the sum of their reciprocal ranks.

use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};

/// Scores that differ by no more than this share of the largest one are equal.
const TIE_TOLERANCE: f64 = 1e-12;

/// Reciprocal rank fusion: the score of a label is Σ over rankings of 1 / (k + rank).
///
/// Ranks count from 1; each of several tied labels gets the mean of 1 / (k + rank) over the places that they occupy,
/// and a missing label gets nothing from the ranking. Labels with equal scores are tied. O(n) per row without ties,
/// O(n²) per row at most.
///
/// Reference: G. V. Cormack, C. L. A. Clarke and S. Buettcher, *Reciprocal rank fusion outperforms Condorcet and
/// individual rank learning methods*, SIGIR 2009.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReciprocalRankFusion {
    k: f64,
}

impl ReciprocalRankFusion {
    /// `k` lowers the influence of the first ranks.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `k` is finite and not negative.
    pub fn new(k: f64) -> Result<Self> {
        if k.is_finite() && k >= 0.0 {
            return Ok(Self { k });
        }
        Err(Error::Parameter {
            name: "k",
            found: k,
            expected: "a finite number that is not negative",
        })
    }

    fn scores(self, evidence: &Evidence) -> Result<Vec<f64>> {
        // Per label and place, the weight of the rankings in which the label occupies the place.
        let places = evidence.place_shares().ok_or(Error::TooLittleKnown {
            method: "ReciprocalRankFusion",
            needed: "rankings",
            known: evidence.describe(),
        })?;
        let score = |label: usize| {
            let weights = places.of(label).iter().enumerate();
            let terms = weights.map(|(place, weight)| weight / (self.k + place as f64 + 1.0));
            terms.sum()
        };
        Ok((0..evidence.labels()).map(score).collect())
    }
}

impl Default for ReciprocalRankFusion {
    /// k = 60.
    fn default() -> Self {
        Self { k: 60.0 }
    }
}

impl Aggregate for ReciprocalRankFusion {
    fn needs(&self) -> Needs {
        // Row statistics include how often each label occupies each place.
        Needs::RowStatistics
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.explain(evidence, workspace).map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let scores = self.scores(evidence)?;
        let tie = TIE_TOLERANCE * scores.iter().copied().fold(0.0, f64::max);
        let order =
            BucketOrder::from_scores_with_buffer(&scores, |drop| drop <= tie, &mut workspace.order);
        Ok(Explanation {
            order,
            details: Details::Scores { scores },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn scores_are_those_worked_by_hand() {
        let nan = f64::NAN;
        let y = array![[1.0, 2.0, 2.0, nan], [2.0, 1.0, nan, nan]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let evidence =
            Evidence::from_rankings(&rankings, Needs::RowStatistics, &Interrupt::never()).unwrap();
        let fusion = ReciprocalRankFusion::default();
        let shared = f64::midpoint(1.0 / 62.0, 1.0 / 63.0);
        let expected = [1.0 / 61.0 + 1.0 / 62.0, shared + 1.0 / 61.0, shared, 0.0];
        let found = fusion
            .explain(&evidence, &mut Workspace::default())
            .unwrap();
        let Details::Scores { scores } = found.details else {
            panic!("details of another method");
        };
        for (found, expected) in scores.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(found.order.positions(), [1, 2, 3, 4]);
        assert!(ReciprocalRankFusion::new(-1.0).is_err());
        assert!(ReciprocalRankFusion::new(f64::NAN).is_err());
    }
}
