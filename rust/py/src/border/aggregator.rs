//! [`AggregatorSpec`]: conversion of aggregators (methods that find the consensus of rankings) from Python.

use std::sync::Arc;
use std::time::Duration;

use bucketrank_core::aggregate::{
    Aggregator, Borda, BucketPivot, Buckets, Copeland, Davidson, External, Kemeny, KemenyParams,
    KemenySearch, MarkovChain, MaximalLottery, RankedPairs, ReciprocalRankFusion, Schulze, Scorer,
    TauX, TauXSearch,
};
use bucketrank_core::error;
use bucketrank_core::latent::TieRule;
use pyo3::prelude::*;

use super::errors::{BindingError, Result};
use super::python_method::PythonMethod;

/// Name and parameters of an aggregator, from the Python layer.
#[derive(Clone, PartialEq, FromPyObject)]
pub enum AggregatorSpec {
    /// A method and its parameter, which is ignored by methods without a parameter.
    Parametric((String, f64)),
    /// A search for the best bucket order and its options.
    Search((String, SearchOptions)),
    /// An aggregator written in Python: its name, whether it reads a pair order matrix instead of rankings, and the
    /// object.
    Python((String, bool, PythonObject)),
}

/// A Python object; equal only to itself.
#[derive(FromPyObject)]
pub struct PythonObject(Py<PyAny>);

impl Clone for PythonObject {
    fn clone(&self) -> Self {
        Self(Python::attach(|py| self.0.clone_ref(py)))
    }
}

impl PartialEq for PythonObject {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&other.0)
    }
}

/// Options of the searches of τ_X and Kemeny; each method reads only its own options.
#[derive(Clone, PartialEq, FromPyObject)]
#[pyo3(from_item_all)]
pub struct SearchOptions {
    search: String,
    /// Method that computes the initial order of the labels.
    order: Option<(String, f64)>,
    penalty: f64,
    ties: bool,
    /// Smallest and largest number of buckets.
    n_buckets: Option<(usize, usize)>,
    time_limit: Option<f64>,
    label_weights: Option<Vec<f64>>,
}

impl AggregatorSpec {
    /// The aggregator of the core with this name and these parameters.
    pub fn aggregator(&self) -> Result<Aggregator> {
        match self {
            Self::Parametric((method, parameter)) => parse_method(method, *parameter),
            Self::Search((method, options)) if method == "tau_x" => options.tau_x(),
            Self::Search((method, options)) if method == "kemeny" => options.kemeny(),
            Self::Search((method, _)) => Err(unknown(method)),
            Self::Python((name, reads_pair_order, object)) => {
                let method = PythonMethod::new(object.clone().0, name.clone(), *reads_pair_order);
                Ok(Aggregator::External(External::new(Arc::new(method))))
            }
        }
    }
}

/// A method with at most one parameter, by its name.
fn parse_method(method: &str, parameter: f64) -> Result<Aggregator> {
    Ok(match method {
        "maximal_lottery" => Aggregator::MaximalLottery(MaximalLottery),
        "tau_x" => Aggregator::TauX(TauX::default()),
        "schulze" => Aggregator::Schulze(Schulze),
        "ranked_pairs" => Aggregator::RankedPairs(RankedPairs),
        _ => parse_parametric(method, parameter).ok_or_else(|| unknown(method))??,
    })
}

/// A method with one parameter; `None` for an unknown name.
fn parse_parametric(method: &str, parameter: f64) -> Option<error::Result<Aggregator>> {
    let half_ties = |davidson: Davidson| davidson.with_ties(TieRule::Half);
    Some(match method {
        "borda" => Borda::new(parameter).map(Aggregator::Borda),
        "copeland" => Copeland::new(parameter).map(Aggregator::Copeland),
        "bucket_pivot" => BucketPivot::new(parameter).map(Aggregator::BucketPivot),
        "markov_chain" => MarkovChain::new(parameter as u8).map(Aggregator::MarkovChain),
        "davidson" => Davidson::new(parameter).map(Aggregator::Davidson),
        "davidson_half" => Davidson::new(parameter)
            .map(half_ties)
            .map(Aggregator::Davidson),
        "reciprocal_rank_fusion" => {
            ReciprocalRankFusion::new(parameter).map(Aggregator::ReciprocalRankFusion)
        }
        _ => return None,
    })
}

fn unknown(method: &str) -> BindingError {
    BindingError::value(format!("unknown method {method:?}"))
}

impl SearchOptions {
    fn buckets(&self) -> Buckets {
        match self.n_buckets {
            Some((least, most)) => Buckets::Between { least, most },
            None if self.ties => Buckets::Any,
            None => Buckets::Strict,
        }
    }

    fn tau_x(&self) -> Result<Aggregator> {
        let search = match self.search.as_str() {
            "cut" => TauXSearch::Cut,
            "local" => TauXSearch::Local,
            "exact" => TauXSearch::Exact,
            other => return Err(unknown_search(other)),
        };
        let tau_x = TauX::new(search, self.scorer()?).with_buckets(self.buckets());
        Ok(Aggregator::TauX(tau_x.with_time_limit(self.duration()?)))
    }

    /// The method that computes the initial order of the labels.
    fn scorer(&self) -> Result<Option<Scorer>> {
        let order = self.order.as_ref();
        let order = order.map(|(method, parameter)| parse_method(method, *parameter));
        Ok(order.transpose()?.map(Scorer::try_from).transpose()?)
    }

    fn duration(&self) -> Result<Option<Duration>> {
        let limit = self.time_limit.map(Duration::try_from_secs_f64);
        let message = "time_limit: expected seconds that are not negative";
        limit
            .transpose()
            .map_err(|_| BindingError::value(message.into()))
    }

    fn kemeny(&self) -> Result<Aggregator> {
        let kemeny = Kemeny::new(KemenyParams {
            penalty: self.penalty,
            buckets: self.buckets(),
            search: self.kemeny_search()?,
            time_limit: self.time_limit,
            label_weights: self.label_weights.clone(),
        })?;
        Ok(Aggregator::Kemeny(kemeny))
    }

    fn kemeny_search(&self) -> Result<KemenySearch> {
        match self.search.as_str() {
            "auto" => Ok(KemenySearch::Auto),
            "exact" => Ok(KemenySearch::Exact),
            "local" => Ok(KemenySearch::Local),
            other => Err(unknown_search(other)),
        }
    }
}

fn unknown_search(search: &str) -> BindingError {
    BindingError::value(format!("unknown search {search:?}"))
}
