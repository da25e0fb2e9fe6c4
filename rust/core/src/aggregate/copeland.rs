//! [`Copeland`]: orders labels by the number of comparisons they win.

use super::threshold::{exceeds, reaches};
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairOrderMatrix;

/// Copeland's rule on the pair order matrix C.
///
/// C(u,v) is the share of rankings that place u before v, ties counting half. Label u wins against v (1 point) if
/// C(u,v) is above ½ + β, draws (½ point) if it is within ½ ± β, and loses otherwise. Labels with equal points are
/// tied. O(n²).
///
/// Reference: A. H. Copeland, *A reasonable social welfare function*, 1951.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Copeland {
    beta: f64,
}

impl Copeland {
    /// Copeland's rule with draws within ½ ± `beta`.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] when `beta` is negative or not finite.
    pub fn new(beta: f64) -> Result<Self> {
        super::check_beta(beta).map(|beta| Self { beta })
    }

    /// Half the width of the interval of draws.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Writes twice the points of each label to `levels`: integers, so equality is exact.
    fn fill_levels(self, pair_order: &PairOrderMatrix, levels: &mut Vec<u32>) {
        let (win, draw) = (0.5 + self.beta, 0.5 - self.beta);
        levels.clear();
        levels.extend((0..pair_order.labels()).map(|u| {
            let doubled: u32 = pair_order
                .row(u)
                .iter()
                .map(|&c| u32::from(exceeds(c, win)) + u32::from(reaches(c, draw)))
                .sum();
            // The diagonal is a draw of the label with itself.
            doubled - 1
        }));
    }

    /// Writes the points of all labels to the scores of the workspace.
    pub(super) fn fill_scores(self, pair_order: &PairOrderMatrix, workspace: &mut Workspace) {
        let Workspace { levels, scores, .. } = workspace;
        self.fill_levels(pair_order, levels);
        scores.clear();
        scores.extend(levels.iter().map(|&level| f64::from(level) / 2.0));
    }
}

impl Default for Copeland {
    /// β = 0.4.
    fn default() -> Self {
        Self { beta: 0.4 }
    }
}

impl Aggregate for Copeland {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let Workspace {
            levels, present, ..
        } = workspace;
        self.fill_levels(evidence.pair_order(), levels);
        let limit = 2 * (evidence.labels() - 1);
        Ok(BucketOrder::from_levels(levels, limit, present))
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let order = self.aggregate(evidence, workspace)?;
        let scores = workspace.levels.iter().map(|&l| f64::from(l) / 2.0);
        Ok(Explanation {
            order,
            details: Details::Scores {
                scores: scores.collect(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn points_for_wins_draws_and_losses() {
        let c = array![[0.5, 0.9, 0.9], [0.1, 0.5, 0.95], [0.1, 0.05, 0.5]];
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(c.view()).unwrap());
        // 0.9 is a draw at β = 0.4: exactly on the threshold, up to rounding.
        for (beta, expected) in [(0.4, [1.0, 1.5, 0.5]), (0.0, [2.0, 1.0, 0.0])] {
            let explained = Copeland::new(beta)
                .unwrap()
                .explain(&evidence, &mut Workspace::default())
                .unwrap();
            let scores = expected.to_vec();
            assert_eq!(explained.details, Details::Scores { scores });
        }
    }

    #[test]
    fn beta_of_one_half_ties_all() {
        let c = array![[0.5, 1.0], [0.0, 0.5]];
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(c.view()).unwrap());
        let order = Copeland::new(0.5)
            .unwrap()
            .aggregate(&evidence, &mut Workspace::default());
        assert_eq!(order.unwrap(), BucketOrder::all_tied(2));
    }

    #[test]
    fn beta_is_kept() {
        assert_eq!(Copeland::new(0.25).unwrap().beta(), 0.25);
    }
}
