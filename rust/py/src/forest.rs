//! Bindings of `bucketrank_core::forest`: ensembles of trees, which predict pair shares (for each pair of labels how
//! often the first is before, tied with, or after the second) or their consensus.

use bucketrank_core::error;
use bucketrank_core::features::Features;
use bucketrank_core::forest::{Forest as CoreForest, ForestOptions, ForestVariant, Voters};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    copy_shares, order_table, require_orders, require_shares, share_tables, whole_numbers, Matrix,
    MaybeWeights, OrderTable, Positions, ShareTables,
};
use crate::border::errors::{BindingError, Result};
use crate::border::models;
use crate::border::run::{run, run_jobs};
use crate::tree::TreeSpec;

/// A forest with its training rankings.
#[pyclass(frozen, module = "bucketrank._core")]
pub struct Forest {
    pub(crate) forest: CoreForest,
}

fn parse_variant(name: &str) -> Result<ForestVariant> {
    match name {
        "bootstrap" => Ok(ForestVariant::Bootstrap),
        "extra_trees" => Ok(ForestVariant::ExtraTrees),
        "mixed" => Ok(ForestVariant::Mixed),
        other => Err(BindingError::value(format!("unknown variant {other:?}"))),
    }
}

/// The options of a forest.
pub fn forest_options(options: TreeSpec, variant: &str) -> Result<ForestOptions> {
    let tree = *options.params()?.options();
    Ok(ForestOptions {
        variant: parse_variant(variant)?,
        tree,
        seed: tree.seed,
    })
}

fn voters(out_of_bag: bool) -> Voters<'static> {
    if out_of_bag {
        Voters::OutOfBag
    } else {
        Voters::All
    }
}

#[pymethods]
impl Forest {
    /// A forest without trees.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        n_features: usize,
    ) -> Result<Self> {
        let rankings = y.read(py, &weights)?;
        let forest = CoreForest::new(rankings, n_features);
        Ok(Self { forest })
    }

    /// The forest with more trees, up to a total of `trees`; `x` are the features of its training rankings.
    fn grown<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        options: TreeSpec,
        variant: &str,
        trees: usize,
    ) -> Result<Self> {
        let (values, options) = (x.as_array(), forest_options(options, variant)?);
        let forest = run_jobs(py, options.tree.n_jobs, |jobs| {
            let features = Features::new(values, jobs.interrupt)?;
            let mut forest = self.forest.clone();
            forest.grow(&features, &options, trees, jobs)?;
            Ok(forest)
        })?;
        Ok(Self { forest })
    }

    /// The consensus of the averaged shares of each row, smoothed by an m-estimate of `strength`. With `out_of_bag`,
    /// the rows are the training rows, and only trees grown without a row count.
    fn consensus<'py>(
        &self,
        py: Python<'py>,
        spec: AggregatorSpec,
        x: Matrix<'py>,
        strength: f64,
        out_of_bag: bool,
        n_jobs: usize,
    ) -> Result<OrderTable<'py>> {
        let (aggregator, voters) = (spec.aggregator()?, voters(out_of_bag));
        let (values, labels) = (x.as_array(), self.forest.rankings().labels());
        require_orders(values.nrows(), labels)?;
        let orders = run_jobs(py, n_jobs, |jobs| {
            let forest = &self.forest;
            forest.consensus(&aggregator, values, strength, voters, jobs)
        })?;
        Ok(order_table(&orders, labels).into_pyarray(py))
    }

    /// The averaged pair shares of each row; arguments as for `consensus`.
    fn pair_shares<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        strength: f64,
        out_of_bag: bool,
        n_jobs: usize,
    ) -> Result<ShareTables<'py>> {
        let (values, voters, forest) = (x.as_array(), voters(out_of_bag), &self.forest);
        require_shares(values.nrows(), forest.rankings().labels())?;
        let rows = run_jobs(py, n_jobs, |jobs| {
            forest.map_shares(values, strength, voters, jobs, || (), copy_shares)
        })?;
        Ok(share_tables(&rows, forest.rankings().labels()).into_pyarray(py))
    }

    /// Per training row, the number of trees that were grown without it.
    fn out_of_bag_counts<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<i64>>> {
        let counts = run(py, |_| Ok(self.forest.out_of_bag_counts()))?;
        Ok(whole_numbers(py, counts))
    }

    /// The leaf of each row in each tree.
    fn apply<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> Result<OrderTable<'py>> {
        let values = x.as_array();
        let trees = 0..self.forest.trees();
        require_orders(values.nrows(), self.forest.trees())?;
        let leaves = run(py, |interrupt| {
            let trees = trees.filter_map(|index| self.forest.tree(index));
            let leaves = trees.map(|tree| tree.apply(values, interrupt));
            leaves.collect::<error::Result<Vec<_>>>()
        })?;
        let shape = (values.nrows(), leaves.len());
        let out = Array2::from_shape_fn(shape, |(row, tree)| i64::from(leaves[tree][row]));
        Ok(out.into_pyarray(py))
    }

    /// Share of each feature in the decrease of impurity, averaged over the trees.
    fn feature_importances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.forest.feature_importances().into_pyarray(py)
    }

    /// Number of leaves and depth of each tree.
    fn sizes(&self) -> Vec<(usize, usize)> {
        let trees = (0..self.forest.trees()).filter_map(|index| self.forest.tree(index));
        trees.map(|tree| (tree.leaves(), tree.depth())).collect()
    }

    /// Numbers of features and labels.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.forest.features(), self.forest.rankings().labels())
    }

    /// Number of training rows.
    #[getter]
    fn n_rows(&self) -> usize {
        self.forest.rankings().len()
    }

    /// Number of trees.
    #[getter]
    fn n_trees(&self) -> usize {
        self.forest.trees()
    }

    /// The forest and its rankings as bytes, with a format version and a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        models::to_bytes(py, &self.forest)
    }

    /// Reads the bytes of `to_bytes`; any other bytes are an error.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> Result<Self> {
        let forest = models::from_bytes(py, data)?;
        Ok(Self { forest })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        models::reduce::<Self>(py, self.to_bytes(py)?)
    }
}
