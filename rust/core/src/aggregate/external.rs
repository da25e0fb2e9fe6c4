//! [`External`]: an aggregation method that the host (the program that calls this crate) implements.

use std::fmt;
use std::sync::Arc;

use super::{Aggregate, Details, Evidence, Explanation, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::{pluralize, Error, Result};
use crate::pairs::PairOrderMatrix;
use crate::rankings::Rankings;

/// A method written by the host, for example in another language.
pub trait ExternalMethod: fmt::Debug + Send + Sync {
    /// Name of the method, for messages.
    fn name(&self) -> String;

    /// Whether it aggregates a pair order matrix; otherwise it aggregates rankings.
    fn reads_pair_order(&self) -> bool;

    /// Positions of all labels: smaller is better, equal ones are tied.
    ///
    /// # Errors
    /// The failure of the method.
    fn aggregate(&self, input: ExternalInput<'_>)
        -> std::result::Result<Vec<f64>, ExternalFailure>;
}

/// Failure of an [`ExternalMethod`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalFailure {
    /// The host interrupted the work.
    Interrupted,
    /// An error, with its message.
    Failed(String),
}

/// Input of an [`ExternalMethod`].
#[derive(Debug, Clone, Copy)]
pub enum ExternalInput<'a> {
    /// The pair order matrix C.
    PairOrder(&'a PairOrderMatrix),
    /// Rankings with weights.
    Rankings(&'a Rankings),
}

impl ExternalInput<'_> {
    /// Description for messages.
    fn describe(&self) -> String {
        match self {
            Self::PairOrder(matrix) => {
                format!("a pair order matrix of {} labels", matrix.labels())
            }
            Self::Rankings(rankings) => {
                format!(
                    "{} of {} labels",
                    pluralize(rankings.len(), "ranking"),
                    rankings.labels()
                )
            }
        }
    }
}

/// Holds an [`ExternalMethod`]; equal to its clones only.
#[derive(Debug, Clone)]
pub struct External(Arc<dyn ExternalMethod>);

impl External {
    /// Wraps a method of the host.
    #[must_use]
    pub fn new(method: Arc<dyn ExternalMethod>) -> Self {
        Self(method)
    }

    fn run(&self, input: ExternalInput<'_>, labels: usize) -> Result<BucketOrder> {
        let failure = |message: String| Error::External {
            method: self.0.name(),
            input: input.describe(),
            message,
        };
        let positions = self.0.aggregate(input).map_err(|error| match error {
            ExternalFailure::Interrupted => Error::Interrupted,
            ExternalFailure::Failed(message) => failure(message),
        })?;
        if positions.len() != labels {
            return Err(failure(format!(
                "it returned {}; expected one position per label",
                pluralize(positions.len(), "position")
            )));
        }
        if let Some(label) = positions.iter().position(|position| position.is_nan()) {
            return Err(failure(format!(
                "it returned NaN for label {label}; expected a position for each label"
            )));
        }
        let scores: Vec<f64> = positions.iter().map(|position| -position).collect();
        // Compare ranks, because the difference of two infinite positions is NaN.
        let mut levels = scores.clone();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let level = |score: &f64| levels.partition_point(|other| other < score) as f64;
        let ranks: Vec<f64> = scores.iter().map(level).collect();
        Ok(BucketOrder::from_scores(&ranks, |drop| drop < 0.5))
    }
}

impl PartialEq for External {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Aggregate for External {
    fn needs(&self) -> Needs {
        if self.0.reads_pair_order() {
            Needs::PairOrder
        } else {
            Needs::Rankings
        }
    }

    fn aggregate(&self, evidence: &Evidence, _: &mut Workspace) -> Result<BucketOrder> {
        let labels = evidence.labels();
        if self.0.reads_pair_order() {
            return self.run(ExternalInput::PairOrder(evidence.pair_order()), labels);
        }
        match evidence.rankings() {
            Some(rankings) => self.run(ExternalInput::Rankings(rankings), labels),
            None => Err(Error::External {
                method: self.0.name(),
                input: evidence.describe().into(),
                message: "it aggregates rankings only; define aggregate_pair_order to support pair statistics"
                    .into(),
            }),
        }
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let order = self.aggregate(evidence, workspace)?;
        Ok(Explanation {
            order,
            details: Details::External,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Aggregator;
    use super::*;
    use crate::run::Interrupt;
    use ndarray::array;

    /// Returns the given positions, or fails if there are none. The flag is returned by `reads_pair_order`.
    #[derive(Debug)]
    struct Fixed(Option<Vec<f64>>, bool);

    impl ExternalMethod for Fixed {
        fn name(&self) -> String {
            "Fixed".into()
        }

        fn reads_pair_order(&self) -> bool {
            self.1
        }

        fn aggregate(
            &self,
            _: ExternalInput<'_>,
        ) -> std::result::Result<Vec<f64>, ExternalFailure> {
            let missing = || ExternalFailure::Failed("no positions".into());
            self.0.clone().ok_or_else(missing)
        }
    }

    fn run(positions: Option<Vec<f64>>, reads_pair_order: bool) -> Result<BucketOrder> {
        let method =
            Aggregator::External(External::new(Arc::new(Fixed(positions, reads_pair_order))));
        let y = Rankings::new(
            array![[1, 2, 3_i64], [2, 1, 3]].view(),
            None,
            &Interrupt::never(),
        )
        .unwrap();
        let mut evidence = Evidence::new(3, method.needs())?;
        evidence.fill(&y, 0..2, &Interrupt::never())?;
        let filled = method.aggregate(&evidence, &mut Workspace::default());
        let evidence = Evidence::from_rankings(&y, method.needs(), &Interrupt::never())?;
        let order = method.aggregate(&evidence, &mut Workspace::default());
        assert_eq!(order, filled);
        order
    }

    #[test]
    fn positions_are_ranked_densely() {
        let infinite = f64::INFINITY;
        for reads_pair_order in [true, false] {
            let order = run(Some(vec![7.0, -1.5, 7.0]), reads_pair_order).unwrap();
            assert_eq!(order.positions(), [2, 1, 2]);
            let order = run(Some(vec![infinite, 1.0, infinite]), reads_pair_order).unwrap();
            assert_eq!(order.positions(), [2, 1, 2]);
        }
    }

    #[test]
    fn failures_name_method_and_input() {
        let error = run(None, true).unwrap_err().to_string();
        assert_eq!(
            error,
            "Fixed, on a pair order matrix of 3 labels: no positions"
        );
        let error = run(Some(vec![1.0]), false).unwrap_err().to_string();
        assert!(
            error.contains("on 2 rankings of 3 labels: it returned 1 position;"),
            "{error}"
        );
        let error = run(Some(vec![1.0, f64::NAN, 2.0]), true).unwrap_err();
        assert!(error.to_string().contains("NaN for label 1"), "{error}");
        let rows_only = External::new(Arc::new(Fixed(None, false)));
        let matrix = Evidence::from_pair_order(PairOrderMatrix::undecided(3));
        let error = rows_only.aggregate(&matrix, &mut Workspace::default());
        assert!(matches!(error, Err(Error::External { .. })));
    }

    #[test]
    fn methods_are_equal_when_they_are_the_same_object() {
        let method = External::new(Arc::new(Fixed(None, true)));
        assert_eq!(method, method.clone());
        assert_ne!(method, External::new(Arc::new(Fixed(None, true))));
    }
}
