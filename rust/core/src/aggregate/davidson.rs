//! [`Davidson`]: the consensus of Davidson's model, which has a utility (log-strength) and a tie term (tendency to be
//! tied) per label.

use super::tau_x::TauX;
use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::comparisons::Contests;
use crate::error::{Error, Result};
use crate::latent::{
    compared_labels, covariance, ContestModel, CovarianceMethod, LatentRow, Posterior, TieRule,
};
use crate::pairs::{PairCounts, PairShares};

/// Fits a utility and a tie term to each label, with normal priors around 0, and aggregates the fitted pair shares (for
/// each pair of labels the probabilities that the first is before, tied with, or after the second) by [`TauX`]. Pairs
/// that no ranking compares get the shares predicted by the model; pairs with a label that was never compared get
/// shares of ⅓. With [`TieRule::Half`] (a tie is half a win) labels are ordered by utility, and only equal utilities
/// are tied.
///
/// Reference: R. R. Davidson, *On extending the Bradley–Terry model to accommodate ties in paired comparison
/// experiments*, Journal of the American Statistical Association 65, 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Davidson {
    ridge: f64,
    ties: TieRule,
}

/// Utilities that differ by no more than this are equal up to rounding.
pub(crate) const TIE_TOLERANCE: f64 = 1e-8;

impl Davidson {
    /// `ridge` is the inverse variance of the priors.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless it is above 0 and at most 1e12.
    pub fn new(ridge: f64) -> Result<Self> {
        if ridge > 0.0 && ridge <= 1e12 {
            return Ok(Self {
                ridge,
                ties: TieRule::Modelled,
            });
        }
        Err(Error::Parameter {
            name: "ridge",
            found: ridge,
            expected: "a number above 0 and up to 1e12",
        })
    }

    /// The same model with another treatment of ties.
    #[must_use]
    pub fn with_ties(self, ties: TieRule) -> Self {
        Self { ties, ..self }
    }

    /// Inverse variance of the priors.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// How ties enter the model.
    #[must_use]
    pub fn ties(&self) -> TieRule {
        self.ties
    }

    /// The bucket order of fitted `scores`: the utilities, then the tie terms (none if ties count half), then effects,
    /// which are not used.
    ///
    /// # Errors
    /// As [`TauX`].
    pub(super) fn order(
        &self,
        counts: &PairCounts,
        scores: &[f64],
        workspace: &mut Workspace,
    ) -> Result<BucketOrder> {
        let n = counts.labels();
        if self.ties == TieRule::Half {
            let is_equal = |drop: f64| drop <= TIE_TOLERANCE;
            return Ok(BucketOrder::from_scores(&scores[..n], is_equal));
        }
        let mut shares = PairShares::unknown(n)?;
        let row = LatentRow::new(&scores[..2 * n]);
        row.write_known_shares(&compared_labels(counts), shares.planes_mut());
        TauX::default().aggregate(&Evidence::from_pair_shares(shares), workspace)
    }

    fn counts(evidence: &Evidence) -> Result<&PairCounts> {
        evidence.counts().ok_or(Error::TooLittleKnown {
            method: "Davidson",
            needed: "rankings",
            known: evidence.describe(),
        })
    }
}

impl Default for Davidson {
    /// ridge = 0.1, with tie terms.
    fn default() -> Self {
        Self {
            ridge: 0.1,
            ties: TieRule::Modelled,
        }
    }
}

impl Aggregate for Davidson {
    fn needs(&self) -> Needs {
        Needs::Counts
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        let counts = Self::counts(evidence)?;
        let posterior = Posterior::fit(counts, self.ties, self.ridge, &workspace.interrupt)?;
        self.order(counts, &posterior.scores, workspace)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let counts = Self::counts(evidence)?;
        let (contests, tallies) = Contests::of_counts(counts);
        let model = ContestModel::new(&contests, &tallies, self.ties, self.ridge);
        let Posterior { scores } = Posterior::fit_contests(&model, &tallies, &workspace.interrupt)?;
        let method = CovarianceMethod::Information;
        let compared = compared_labels(counts);
        let interrupt = &workspace.interrupt;
        let matrix = covariance(&model, &tallies, &scores, &compared, method, interrupt)?;
        let errors: Vec<f64> = matrix.diag().iter().map(|v| v.max(0.0).sqrt()).collect();
        let split = |values: &[f64]| {
            let (utilities, tie_terms) = values.split_at(counts.labels());
            (utilities.to_vec(), tie_terms.to_vec())
        };
        let order = self.order(counts, &scores, workspace)?;
        let (utilities, tie_terms) = split(&scores);
        let (utility_errors, tie_term_errors) = split(&errors);
        Ok(Explanation {
            order,
            details: Details::Davidson {
                utilities,
                tie_terms,
                utility_errors,
                tie_term_errors,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Aggregator;
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn comparisons_of_pairs_give_a_consensus_of_all_labels() {
        // 0 beats 1 and 1 beats 2; 0 and 2 are never compared with each other, and 3 is never compared at all.
        let nan = f64::NAN;
        let y = array![[1.0, 2.0, nan, nan], [nan, 1.0, 2.0, nan]];
        let weights = [20.0, 20.0];
        let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        let davidson = Aggregator::Davidson(Davidson::default());
        let evidence =
            Evidence::from_rankings(&rankings, davidson.needs(), &Interrupt::never()).unwrap();
        let explanation = davidson
            .explain(&evidence, &mut Workspace::default())
            .unwrap();
        let positions = explanation.order.positions();
        assert!(positions[0] < positions[1] && positions[1] < positions[2]);
        let Details::Davidson {
            utilities,
            utility_errors,
            ..
        } = explanation.details
        else {
            panic!("details of another method");
        };
        assert_eq!(utilities[3], 0.0);
        // The error of a label without comparisons is that of the prior.
        assert!((utility_errors[3] - 10_f64.sqrt()).abs() < 1e-9);
        assert!(utility_errors[1] < utility_errors[3]);
    }

    #[test]
    fn shares_without_counts_are_rejected() {
        let shares = PairShares::unknown(3).unwrap();
        let evidence = Evidence::from_pair_shares(shares);
        let result = Davidson::default().aggregate(&evidence, &mut Workspace::default());
        assert!(matches!(result, Err(Error::TooLittleKnown { .. })));
        for ridge in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Davidson::new(ridge).is_err());
        }
    }
}
