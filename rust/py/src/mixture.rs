//! Bindings of `bucketrank_core::mixture`: weighted mixtures of a forest, boosters and linear models (the components).

use bucketrank_core::boost::BoosterStage;
use bucketrank_core::error;
use bucketrank_core::forest::Voters;
use bucketrank_core::mixture::{
    fit_mixture as fit_core_mixture, Component, ComponentKind, FailedComponent, FittedMixture,
    HeldOutRows, LogLinearPool, Mixture, MixtureParams,
};
use bucketrank_core::predict::{consensus, map_shares, PairModel};
use bucketrank_core::run::Jobs;
use bucketrank_core::shap::{permutation_shap, Permutations};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::boost::{Booster, BoosterSpec};
use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    copy_shares, order_table, require_orders, require_shares, share_tables, Matrix, MaybeWeights,
    OrderTable, Positions, ShareTables,
};
use crate::border::errors::Result;
use crate::border::run::run_jobs;
use crate::forest::{forest_options, Forest};
use crate::linear::{categorical_features, LinearModel, LinearSpec};
use crate::shap::ShapTable;
use crate::tree::TreeSpec;

/// Options of a fit and its held-out rows, from the Python layer.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MixtureOptions<'py> {
    tree: TreeSpec,
    variant: String,
    trees: usize,
    shrinkage_strength: f64,
    /// The parameters of one booster per part of the rows.
    boosters: Vec<BoosterSpec<'py>>,
    linear: LinearSpec<'py>,
    /// The categorical features and their numbers of categories.
    categorical: Vec<(u32, u32)>,
    held_out: Option<HeldOut<'py>>,
    n_jobs: usize,
}

/// Indices of rows, or of parts of the rows.
type Indices<'py> = PyReadonlyArray1<'py, i64>;

/// Per row the index of the part whose models hold it out; the rows on which rounds and weights are chosen; and per
/// part the rows that its linear model is fitted on.
type HeldOut<'py> = (Indices<'py>, Indices<'py>, Vec<Indices<'py>>);

fn held_out_rows((part_of, evidence, linear): HeldOut<'_>) -> HeldOutRows {
    HeldOutRows {
        part_of: indices(&part_of),
        evidence: indices(&evidence),
        linear: linear.iter().map(indices).collect(),
    }
}

/// Copies indices; a negative one becomes too large, which the core reports.
fn indices(array: &Indices<'_>) -> Vec<usize> {
    let each = array.as_array();
    let index = |&index: &i64| usize::try_from(index).unwrap_or(usize::MAX);
    each.iter().map(index).collect()
}

impl MixtureOptions<'_> {
    fn params(self) -> Result<MixtureParams> {
        let boosters = self.boosters.into_iter().map(BoosterSpec::params);
        Ok(MixtureParams {
            forest: forest_options(self.tree, &self.variant)?,
            trees: self.trees,
            shrinkage_strength: self.shrinkage_strength,
            boosters: boosters.collect::<Result<_>>()?,
            linear: self.linear.params()?,
            categorical: categorical_features(self.categorical),
            held_out: self.held_out.map(held_out_rows),
        })
    }
}

/// A log-linear pool of the components: the weights of their log ratios of before and after, the weights of their log
/// ratios of tied and not tied, the offset of ties, and the share of the pool in the mixed shares.
type Pool = (Vec<f64>, Vec<f64>, f64, f64);

/// A fitted mixture: a dictionary for Python.
#[derive(IntoPyObject)]
pub struct MixtureFit {
    forest: Option<Forest>,
    boosters: Vec<Booster>,
    linears: Vec<LinearModel>,
    /// Weights of the forest, the boosters and the linear models.
    weights: Vec<f64>,
    pool: Option<Pool>,
    rounds: usize,
    /// Names of the components that failed, and why.
    failed: Vec<(&'static str, String)>,
}

impl From<FittedMixture> for MixtureFit {
    fn from(fitted: FittedMixture) -> Self {
        let boosters = fitted.boosters.into_iter();
        let linears = fitted.linears.into_iter();
        Self {
            forest: fitted.forest.map(|forest| Forest { forest }),
            boosters: boosters.map(|fitted| Booster { fitted }).collect(),
            linears: linears.map(|fitted| LinearModel { fitted }).collect(),
            weights: fitted.weights.to_vec(),
            pool: fitted
                .pool
                .map(|pool| (pool.order, pool.tie, pool.tie_offset, pool.share)),
            rounds: fitted.rounds,
            failed: fitted.failed.iter().map(describe_failure).collect(),
        }
    }
}

fn describe_failure(failed: &FailedComponent) -> (&'static str, String) {
    let name = match failed.component {
        ComponentKind::Forest => "forest",
        ComponentKind::Booster => "booster",
        ComponentKind::Linear => "linear",
    };
    let why = match &failed.error {
        Some(error) => format!("failed and has weight 0: {error}"),
        None => "gives shares that are not finite; its weight is 0".into(),
    };
    (name, why)
}

/// Fits the components of a mixture and chooses their weights.
#[pyfunction]
pub fn fit_mixture<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Positions<'py>,
    weights: MaybeWeights<'py>,
    options: MixtureOptions<'py>,
) -> Result<MixtureFit> {
    let (n_jobs, params) = (options.n_jobs, options.params()?);
    let (values, rankings) = (x.as_array(), y.read(py, &weights)?);
    let fitted = run_jobs(py, n_jobs, |jobs| {
        fit_core_mixture(values, rankings, &params, jobs)
    })?;
    Ok(fitted.into())
}

/// A tuple of a fitted model and the other arguments of its predictions.
pub enum FittedModel {
    /// A forest and the strength of its m-estimate.
    Forest(Py<Forest>, f64),
    /// A booster and its number of rounds.
    Booster(Py<Booster>, usize),
    /// A linear model.
    Linear((Py<LinearModel>,)),
}

impl<'py> FromPyObject<'_, 'py> for FittedModel {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // Test the type first, because an exception for each other type would take longer than a small prediction.
        let model = object.get_item(0)?;
        if model.is_instance_of::<Forest>() {
            let (forest, strength) = object.extract()?;
            Ok(Self::Forest(forest, strength))
        } else if model.is_instance_of::<Booster>() {
            let (booster, rounds) = object.extract()?;
            Ok(Self::Booster(booster, rounds))
        } else {
            object.extract().map(Self::Linear)
        }
    }
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

/// The components of a mixture: the weight of each, and its models.
type Components = Vec<(f64, Vec<FittedModel>)>;

/// Number of labels; 0 without models.
fn label_count(components: &Components) -> usize {
    let first = components.first().and_then(|(_, models)| models.first());
    first.map_or(0, |model| match model {
        FittedModel::Forest(forest, _) => forest.get().forest.rankings().labels(),
        FittedModel::Booster(booster, _) => booster.get().fitted.labels(),
        FittedModel::Linear((linear,)) => linear.get().fitted.labels(),
    })
}

fn mixture<'a>(
    components: &'a Components,
    pool: Option<Pool>,
    jobs: Jobs<'_>,
) -> error::Result<Mixture<'a>> {
    let component = |(weight, models): &'a (f64, Vec<FittedModel>)| {
        let models = models.iter().map(|model| model.model(jobs));
        Ok(Component {
            models: models.collect::<error::Result<_>>()?,
            weight: *weight,
        })
    };
    let components = components.iter().map(component);
    let components = components.collect::<error::Result<_>>()?;
    Mixture::new(components, pool.map(log_linear_pool))
}

fn log_linear_pool((order, tie, tie_offset, share): Pool) -> LogLinearPool {
    LogLinearPool {
        order,
        tie,
        tie_offset,
        share,
    }
}

/// The mixed shares of each row, and the indices of the components left out of some row because their shares are
/// not finite.
#[pyfunction]
pub fn mixture_pair_shares<'py>(
    py: Python<'py>,
    components: Components,
    pool: Option<Pool>,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<(ShareTables<'py>, Vec<usize>)> {
    let values = x.as_array();
    require_shares(values.nrows(), label_count(&components))?;
    let (rows, labels, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&components, pool, jobs)?;
        let rows = map_shares(&mixture, values, jobs, || (), copy_shares)?;
        Ok((rows, mixture.labels(), mixture.left_out()))
    })?;
    Ok((share_tables(&rows, labels).into_pyarray(py), left_out))
}

/// The consensus of the mixed shares of each row, and the components left out as by `mixture_pair_shares`.
#[pyfunction]
pub fn mixture_consensus<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    components: Components,
    pool: Option<Pool>,
    x: Matrix<'py>,
    n_jobs: usize,
) -> Result<(OrderTable<'py>, Vec<usize>)> {
    let (aggregator, values) = (spec.aggregator()?, x.as_array());
    require_orders(values.nrows(), label_count(&components))?;
    let (orders, labels, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&components, pool, jobs)?;
        let orders = consensus(&mixture, &aggregator, values, jobs)?;
        Ok((orders, mixture.labels(), mixture.left_out()))
    })?;
    Ok((order_table(&orders, labels).into_pyarray(py), left_out))
}

/// SHAP values of the Borda scores of the mixed shares, and the components left out as by `mixture_pair_shares`. The
/// values are estimated from background rows, and from random orders of the features and the reverses of these orders.
/// `orders` is the number of random orders and their seed.
#[pyfunction]
pub fn mixture_shap_values<'py>(
    py: Python<'py>,
    components: Components,
    pool: Option<Pool>,
    x: Matrix<'py>,
    background: Matrix<'py>,
    orders: (usize, u64),
    n_jobs: usize,
) -> Result<(ShapTable<'py>, Vec<usize>)> {
    let (values, background) = (x.as_array(), background.as_array());
    let (shap, left_out) = run_jobs(py, n_jobs, |jobs| {
        let mixture = mixture(&components, pool, jobs)?;
        let orders = permutations(orders);
        let shap = permutation_shap(&mixture, values, background, orders, jobs)?;
        Ok((shap, mixture.left_out()))
    })?;
    Ok((shap.values.into_pyarray(py), left_out))
}

fn permutations((count, seed): (usize, u64)) -> Permutations {
    Permutations { count, seed }
}
