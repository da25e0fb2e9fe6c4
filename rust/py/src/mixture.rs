//! Bindings of `bucketrank_core::mixture`: predictions of several fitted models at once.

use bucketrank_core::error;
use bucketrank_core::forest::Voters;
use bucketrank_core::mixture::{Component, Mixture};
use bucketrank_core::pairs::PairShares;
use bucketrank_core::predict::{consensus, map_shares, BoosterStage, PairModel};
use bucketrank_core::run::Jobs;
use bucketrank_core::shap::{permutation_shap, Permutations};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::boost::Booster;
use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    order_table, require_orders, require_shares, share_tables, Matrix, OrderTable, ShareTables,
};
use crate::border::errors::Result;
use crate::border::run::run_jobs;
use crate::forest::Forest;
use crate::linear::LinearModel;
use crate::shap::ShapTable;

/// A fitted model and what its predictions need besides it.
#[derive(FromPyObject)]
pub enum FittedModel {
    /// A forest and the strength of its m-estimate.
    Forest(Py<Forest>, f64),
    /// A booster and its number of rounds.
    Booster(Py<Booster>, usize),
    /// A linear model.
    Linear((Py<LinearModel>,)),
}

impl FittedModel {
    fn model(&self, jobs: Jobs<'_>) -> error::Result<Box<dyn PairModel + '_>> {
        Ok(match self {
            Self::Forest(forest, strength) => {
                let forest = &forest.get().forest;
                Box::new(forest.predictor(*strength, Voters::All, jobs)?)
            }
            Self::Booster(booster, rounds) => Box::new(BoosterStage {
                booster: &booster.get().fitted,
                rounds: *rounds,
            }),
            Self::Linear((linear,)) => Box::new(&linear.get().fitted),
        })
    }
}

/// The models of a mixture with their weights.
type Models = Vec<(f64, FittedModel)>;

/// Number of labels; 0 without models.
fn label_count(models: &Models) -> usize {
    models.first().map_or(0, |(_, model)| match model {
        FittedModel::Forest(forest, _) => forest.get().forest.rankings().labels(),
        FittedModel::Booster(booster, _) => booster.get().fitted.labels(),
        FittedModel::Linear((linear,)) => linear.get().fitted.labels(),
    })
}

fn mixture<'a>(models: &'a Models, jobs: Jobs<'_>) -> error::Result<Mixture<'a>> {
    let component = |(weight, model): &'a (f64, FittedModel)| {
        Ok(Component {
            model: model.model(jobs)?,
            weight: *weight,
        })
    };
    Mixture::new(models.iter().map(component).collect::<error::Result<_>>()?)
}

/// The mean shares of each row, and the indices of the models left out of some row because their shares are not finite.
#[pyfunction]
pub fn mixture_pair_shares<'py>(
    py: Python<'py>,
    models: Models,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<(ShareTables<'py>, Vec<usize>)> {
    let values = x.as_array();
    require_shares(values.nrows(), label_count(&models))?;
    let (rows, labels, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&models, jobs)?;
        let keep = |(): &mut (), shares: &PairShares| Ok(shares.clone());
        let rows = map_shares(&mixture, values, jobs, || (), keep)?;
        Ok((rows, mixture.labels(), mixture.left_out()))
    })?;
    Ok((share_tables(&rows, labels).into_pyarray(py), left_out))
}

/// The consensus of the mean shares of each row, and the models left out as by `mixture_pair_shares`.
#[pyfunction]
pub fn mixture_consensus<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    models: Models,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<(OrderTable<'py>, Vec<usize>)> {
    let aggregator = spec.aggregator()?;
    let values = x.as_array();
    require_orders(values.nrows(), label_count(&models))?;
    let (orders, labels, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&models, jobs)?;
        let orders = consensus(&mixture, &aggregator, values, jobs)?;
        Ok((orders, mixture.labels(), mixture.left_out()))
    })?;
    Ok((order_table(&orders, labels).into_pyarray(py), left_out))
}

/// SHAP values of the Borda scores of the mean shares, estimated from `n_permutations` random orders of the features
/// (with their reverses) and background rows, and the models left out as by `mixture_pair_shares`.
#[pyfunction]
pub fn mixture_shap_values<'py>(
    py: Python<'py>,
    models: Models,
    x: Matrix<'py>,
    background: Matrix<'py>,
    orders: (usize, u64),
    n_jobs: usize,
) -> Result<(ShapTable<'py>, Vec<usize>)> {
    let (values, background) = (x.as_array(), background.as_array());
    let (count, seed) = orders;
    let (shap, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&models, jobs)?;
        let orders = Permutations { count, seed };
        let shap = permutation_shap(&mixture, values, background, orders, jobs)?;
        Ok((shap, mixture.left_out()))
    })?;
    Ok((shap.values.into_pyarray(py), left_out))
}
