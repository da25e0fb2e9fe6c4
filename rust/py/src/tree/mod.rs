//! Bindings of `bucketrank_core::tree`: a fitted tree, its nodes and the predictions of its leaves.

mod leaf_tables;
mod node_table;
mod options;

use std::collections::HashMap;

use bucketrank_core::error;
use bucketrank_core::pairs::{pair_count, PairOrderMatrix, PairShares};
use bucketrank_core::predict::{consensus, map_shares};
use bucketrank_core::run::{require_memory, Interrupt};
use bucketrank_core::tree::{FittedTree, Routing, Shrinkage, TreeNode};
use ndarray::{Array3, Axis};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

pub use self::leaf_tables::Smoothing;
use self::leaf_tables::{Key, LeafTables};
pub use self::options::TreeSpec;
use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    copy_shares, gather_rows, order_table, position_table, require_shares, share_tables,
    whole_numbers, write_pair_rows, Matrix, MaybeWeights, OrderTable, Positions, ShareTables,
};
use crate::border::errors::Result;
use crate::border::models;
use crate::border::run::{run, run_jobs};

/// Whole numbers for Python.
type Vector<'py> = Bound<'py, PyArray1<i64>>;

/// A fitted tree with its training rankings.
#[pyclass(frozen, module = "bucketrank._core")]
pub struct Tree {
    pub(crate) fitted: FittedTree,
    /// Cache, so that many predictions aggregate each leaf once.
    tables: LeafTables,
}

impl From<FittedTree> for Tree {
    fn from(fitted: FittedTree) -> Self {
        Self {
            fitted,
            tables: LeafTables::default(),
        }
    }
}

#[pymethods]
impl Tree {
    /// Grows a tree.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        x: Matrix<'py>,
        y: Positions<'py>,
        weights: MaybeWeights<'py>,
        spec: AggregatorSpec,
        options: TreeSpec,
    ) -> Result<Self> {
        let (aggregator, plan) = (spec.aggregator()?, options.plan()?);
        let (values, rankings) = (x.as_array(), y.read(py, &weights)?);
        let fitted = run(py, |interrupt| {
            plan.fit(values, rankings, &aggregator, interrupt)
        })?;
        Ok(fitted.into())
    }

    /// The leaf of each row.
    fn apply<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> Result<Vector<'py>> {
        let leaves = self.leaves_of(py, &x)?;
        Ok(whole_numbers(py, leaves))
    }

    /// The consensus of each of the given leaves, which may repeat.
    #[pyo3(signature = (spec, leaves, n_jobs, smoothing=None))]
    fn consensus<'py>(
        &self,
        py: Python<'py>,
        spec: AggregatorSpec,
        leaves: PyReadonlyArray1<'py, i64>,
        n_jobs: usize,
        smoothing: Option<Smoothing>,
    ) -> Result<OrderTable<'py>> {
        let leaves = self.check_nodes(&leaves)?;
        self.gather_consensus(py, &(spec, smoothing), &leaves, n_jobs)
    }

    /// The consensus of the leaf of each row.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        spec: AggregatorSpec,
        x: Matrix<'py>,
        n_jobs: usize,
    ) -> Result<OrderTable<'py>> {
        let leaves = self.leaves_of(py, &x)?;
        self.gather_consensus(py, &(spec, None), &leaves, n_jobs)
    }

    /// The pair order matrix of the training rows of each given node.
    fn pair_orders<'py>(
        &self,
        py: Python<'py>,
        nodes: PyReadonlyArray1<'py, i64>,
    ) -> Result<ShareTables<'py>> {
        let nodes = self.check_nodes(&nodes)?;
        let n = self.fitted.tree().labels();
        require_memory::<f64>("the pair order matrices", &[nodes.len(), n, n, 2])?;
        let matrices = run(py, |interrupt| self.fitted.pair_orders(&nodes, interrupt))?;
        let shares = matrices.iter().flat_map(PairOrderMatrix::as_slice);
        let shares = PyArray1::from_iter(py, shares.copied());
        Ok(shares.reshape([nodes.len(), n, n])?)
    }

    /// The smoothed pair shares (before, tied, after) of each given leaf, per pair of labels: how often the first label
    /// is before, tied with, or after the second.
    fn pair_shares<'py>(
        &self,
        py: Python<'py>,
        smoothing: Smoothing,
        leaves: PyReadonlyArray1<'py, i64>,
    ) -> Result<ShareTables<'py>> {
        let (leaves, shrinkage) = (self.check_nodes(&leaves)?, smoothing.shrinkage()?);
        let labels = self.fitted.tree().labels();
        require_shares(leaves.len(), labels)?;
        let mut shares = Array3::zeros((leaves.len(), pair_count(labels), 3));
        run(py, |interrupt| {
            self.write_leaf_shares(shrinkage, &leaves, interrupt, &mut shares)
        })?;
        Ok(shares.into_pyarray(py))
    }

    /// The consensus of each row with soft routing, which sends a row near a threshold to both children.
    fn soft_consensus<'py>(
        &self,
        py: Python<'py>,
        spec: AggregatorSpec,
        x: Matrix<'py>,
        n_jobs: usize,
        smoothing: Smoothing,
    ) -> Result<OrderTable<'py>> {
        let (aggregator, shrinkage) = (spec.aggregator()?, smoothing.shrinkage()?);
        let values = x.as_array();
        let orders = run_jobs(py, n_jobs, |jobs| {
            let soft = self.fitted.predictor(shrinkage, Routing::Soft)?;
            consensus(&soft, &aggregator, values, jobs)
        })?;
        Ok(order_table(&orders, self.fitted.tree().labels()).into_pyarray(py))
    }

    /// The smoothed shares of each row with soft routing.
    fn soft_pair_shares<'py>(
        &self,
        py: Python<'py>,
        smoothing: Smoothing,
        x: Matrix<'py>,
        n_jobs: usize,
    ) -> Result<ShareTables<'py>> {
        let (values, shrinkage) = (x.as_array(), smoothing.shrinkage()?);
        let rows = run_jobs(py, n_jobs, |jobs| {
            let soft = self.fitted.predictor(shrinkage, Routing::Soft)?;
            map_shares(&soft, values, jobs, || (), copy_shares)
        })?;
        Ok(share_tables(&rows, self.fitted.tree().labels()).into_pyarray(py))
    }

    /// The training rows of a node.
    fn node_rows<'py>(&self, py: Python<'py>, node: i64) -> Result<Vector<'py>> {
        let node = self.check_node(node)?;
        let rows = self.fitted.tree().node_rows(node);
        Ok(whole_numbers(py, rows.iter().copied()))
    }

    /// The training rankings of a node, 0 where a label is missing.
    fn node_rankings<'py>(&self, py: Python<'py>, node: i64) -> Result<OrderTable<'py>> {
        let node = self.check_node(node)?;
        let rows = self.fitted.tree().node_rows(node);
        let rankings = self.fitted.rankings();
        let positions = rows.iter().map(|&row| rankings.row(row as usize));
        Ok(position_table(positions, rows.len(), rankings.labels()).into_pyarray(py))
    }

    /// The nodes from the root to each given leaf, as the index arrays of a sparse matrix with one row per leaf: the
    /// start of each row, and its nodes.
    fn paths<'py>(
        &self,
        py: Python<'py>,
        leaves: PyReadonlyArray1<'py, i64>,
    ) -> Result<(Vector<'py>, Vector<'py>)> {
        let (mut starts, mut nodes) = (vec![0], Vec::new());
        for leaf in self.check_nodes(&leaves)? {
            nodes.extend(self.fitted.tree().path(leaf).into_iter().map(i64::from));
            starts.push(nodes.len() as i64);
        }
        Ok((starts.into_pyarray(py), nodes.into_pyarray(py)))
    }

    /// The node table by column; `feature` is -1 in a leaf, and the children of a node are adjacent.
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let nodes = self.fitted.tree().nodes();
        let numbers = |of: fn(&TreeNode) -> f64| nodes.iter().map(of).collect::<Vec<f64>>();
        let result = PyDict::new(py);
        for (name, column) in node_table::integer_columns(self.fitted.tree()) {
            result.set_item(name, column.into_pyarray(py))?;
        }
        result.set_item("weight", numbers(|node| node.weight).into_pyarray(py))?;
        result.set_item("impurity", numbers(|node| node.impurity).into_pyarray(py))?;
        result.set_item("thresholds", node_table::thresholds(self.fitted.tree()))?;
        Ok(result)
    }

    /// Share of each feature in the decrease of impurity.
    fn feature_importances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.fitted.tree().feature_importances().into_pyarray(py)
    }

    /// Indices of the leaves, ascending.
    fn leaves<'py>(&self, py: Python<'py>) -> Vector<'py> {
        whole_numbers(py, self.fitted.tree().leaf_indices())
    }

    /// Numbers of features and labels.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let tree = self.fitted.tree();
        (tree.features(), tree.labels())
    }

    /// Whether the tree supports soft routing.
    #[getter]
    fn is_soft(&self) -> bool {
        self.fitted.soft_routing().is_some()
    }

    /// Whether any node sends missing values to another side than the heavier one.
    #[getter]
    fn learnt_missing(&self) -> bool {
        self.fitted.tree().has_learnt_missing_sides()
    }

    /// Depth of the deepest leaf.
    #[getter]
    fn depth(&self) -> usize {
        self.fitted.tree().depth()
    }

    /// Number of leaves.
    #[getter]
    fn n_leaves(&self) -> usize {
        self.fitted.tree().leaves()
    }

    /// The tree and its rankings as bytes, with a format version and a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        models::to_bytes(py, &self.fitted)
    }

    /// Reads the bytes of `to_bytes`; any other bytes are an error.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> Result<Self> {
        Ok(models::from_bytes::<FittedTree>(py, data)?.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        models::reduce::<Self>(py, self.to_bytes(py)?)
    }
}

impl Tree {
    fn check_node(&self, node: i64) -> Result<u32> {
        let nodes = self.fitted.tree().nodes().len();
        match u32::try_from(node) {
            Ok(index) if (index as usize) < nodes => Ok(index),
            _ => Err(PyIndexError::new_err(format!(
                "there is no node {node}; the tree has the nodes 0 to {}",
                nodes - 1
            ))
            .into()),
        }
    }

    /// The indices of nodes; an error names the first that does not exist.
    fn check_nodes(&self, nodes: &PyReadonlyArray1<'_, i64>) -> Result<Vec<u32>> {
        let nodes = nodes.as_array();
        nodes.iter().map(|&node| self.check_node(node)).collect()
    }

    fn leaves_of(&self, py: Python<'_>, x: &Matrix<'_>) -> Result<Vec<u32>> {
        let values = x.as_array();
        run(py, |interrupt| self.fitted.tree().apply(values, interrupt))
    }

    /// Writes the smoothed shares of each of the given leaves, which may repeat.
    fn write_leaf_shares(
        &self,
        shrinkage: Shrinkage,
        leaves: &[u32],
        interrupt: &Interrupt,
        out: &mut Array3<f64>,
    ) -> error::Result<()> {
        let rows_of = rows_by_leaf(leaves);
        let write = |leaf, shares: &PairShares| {
            for &row in rows_of.get(&leaf).into_iter().flatten() {
                interrupt.check()?;
                write_pair_rows(out.index_axis_mut(Axis(0), row), shares.planes());
            }
            Ok(())
        };
        let tree = &self.fitted;
        tree.visit_pair_shares(shrinkage, leaves, interrupt, write)
    }

    /// The consensus of each of the given leaves, from the cache where possible.
    fn gather_consensus<'py>(
        &self,
        py: Python<'py>,
        key: &Key,
        leaves: &[u32],
        n_jobs: usize,
    ) -> Result<OrderTable<'py>> {
        let table = self.tables.table(py, &self.fitted, key, leaves, n_jobs)?;
        gather_rows(py, &table, leaves)
    }
}

/// For each distinct leaf, its indices in `leaves`.
fn rows_by_leaf(leaves: &[u32]) -> HashMap<u32, Vec<usize>> {
    let mut rows_of: HashMap<u32, Vec<usize>> = HashMap::new();
    for (row, &leaf) in leaves.iter().enumerate() {
        rows_of.entry(leaf).or_default().push(row);
    }
    rows_of
}
