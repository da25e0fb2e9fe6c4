//! [`AggregatorSpec`]: conversion of an aggregator.

use bucketrank_core::aggregate::{
    Aggregator, Borda, BucketPivot, Copeland, Davidson, MarkovChain, MaximalLottery, Scorer, TauX,
    TauXSearch,
};
use bucketrank_core::error;
use pyo3::prelude::*;

use super::errors::{BorderError, Result};

/// An aggregator as the Python layer names it.
#[derive(Clone, PartialEq, FromPyObject)]
pub enum AggregatorSpec {
    /// A method and its one parameter.
    Plain((String, f64)),
    /// A method that starts from the scores of another one.
    Ordered((String, (String, f64))),
}

impl AggregatorSpec {
    /// The aggregator that the core knows.
    pub fn aggregator(&self) -> Result<Aggregator> {
        let (method, parameter) = match self {
            Self::Plain((method, parameter)) => (method, parameter),
            Self::Ordered((method, order)) => {
                let order = Self::Plain(order.clone()).aggregator()?;
                let order = Scorer::try_from(order)?;
                let tau_x = TauX::new(search(method)?, Some(order));
                return Ok(Aggregator::TauX(tau_x));
            }
        };
        let checked: error::Result<Aggregator> = match method.as_str() {
            "borda" => Borda::new(*parameter).map(Aggregator::Borda),
            "copeland" => Copeland::new(*parameter).map(Aggregator::Copeland),
            "bucket_pivot" => BucketPivot::new(*parameter).map(Aggregator::BucketPivot),
            "markov_chain" => MarkovChain::new(*parameter as u8).map(Aggregator::MarkovChain),
            "davidson" => Davidson::new(*parameter).map(Aggregator::Davidson),
            "maximal_lottery" => Ok(Aggregator::MaximalLottery(MaximalLottery)),
            other => Ok(Aggregator::TauX(TauX::new(search(other)?, None))),
        };
        Ok(checked?)
    }
}

/// The search that a variant of `TauX` does.
fn search(method: &str) -> Result<TauXSearch> {
    match method {
        "tau_x_cut" => Ok(TauXSearch::Cut),
        "tau_x_local" => Ok(TauXSearch::Local),
        "tau_x_exact" => Ok(TauXSearch::Exact),
        other => Err(BorderError::value(format!("unknown method {other:?}"))),
    }
}
