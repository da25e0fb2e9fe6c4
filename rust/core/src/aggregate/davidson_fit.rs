//! [`DavidsonFit`]: Davidson's model (a utility and a tie term per label) fitted to a sample of comparisons or
//! rankings, with effects of being named first and of covariates, and with standard errors.

use ndarray::Array2;

use super::{Davidson, Workspace};
use crate::bucket_order::BucketOrder;
use crate::comparisons::ContestSample;
use crate::error::Result;
use crate::latent::{
    compared_labels, covariance, ContestModel, CovarianceMethod, Posterior, TieRule,
};
use crate::run::Interrupt;

/// Whether standard errors treat the comparisons of a unit (a ranking, or a group of comparisons) as independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorKind {
    /// Independent comparisons: the inverse information.
    #[default]
    Information,
    /// Dependent comparisons within each unit of the sample: the sandwich estimator.
    Robust,
}

/// Fitted scores of the labels, effects, and their covariance.
#[derive(Debug, Clone, PartialEq)]
pub struct DavidsonFit {
    /// The consensus of the fitted shares by [`TauX`](super::TauX), or the order of the utilities if ties count half.
    /// The effects are left out in both cases.
    pub order: BucketOrder,
    /// Most probable utility of each label.
    pub utilities: Vec<f64>,
    /// Most probable tie term of each label; empty if ties count half.
    pub tie_terms: Vec<f64>,
    /// The order effect (of being named first), if the sample has one, then the effects of the covariates.
    pub effects: Vec<f64>,
    /// Covariance of utilities, tie terms and effects; see [`covariance`].
    pub covariance: Array2<f64>,
}

impl DavidsonFit {
    /// Fits a sample.
    ///
    /// # Errors
    /// As [`Posterior::fit_contests`] and [`covariance`].
    pub fn new(
        davidson: Davidson,
        sample: &ContestSample,
        errors: ErrorKind,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let ContestSample {
            counts,
            contests,
            tallies,
            units,
        } = sample;
        let model = ContestModel::new(contests, tallies, davidson.ties(), davidson.ridge());
        let Posterior { scores } = Posterior::fit_contests(&model, tallies, interrupt)?;
        let method = match errors {
            ErrorKind::Information => CovarianceMethod::Information,
            ErrorKind::Robust => CovarianceMethod::Units(units),
        };
        let n = counts.labels();
        let tie_terms = if davidson.ties() == TieRule::Half {
            0
        } else {
            n
        };
        let compared = compared_labels(counts);
        Ok(Self {
            order: davidson.order(counts, &scores, &mut Workspace::new(interrupt))?,
            covariance: covariance(&model, tallies, &scores, &compared, method, interrupt)?,
            utilities: scores[..n].to_vec(),
            tie_terms: scores[n..n + tie_terms].to_vec(),
            effects: scores[n + tie_terms..].to_vec(),
        })
    }
}
