//! [`LeafTables`]: cache of the consensus of the training rankings in each leaf of a tree.

use std::sync::{Arc, Mutex, PoisonError};

use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::tree::{FittedTree, Shrinkage};
use ndarray::{Array2, ArrayView1};
use pyo3::prelude::*;

use crate::border::aggregator::AggregatorSpec;
use crate::border::errors::{BindingError, Result};
use crate::border::run::run_jobs;

/// Largest number of cached tables.
const MAX_TABLES: usize = 8;

/// Name and strength of a shrinkage of the pair shares in leaves, from the Python layer.
#[derive(Clone, PartialEq, FromPyObject)]
pub struct Smoothing(String, f64);

impl Smoothing {
    /// The shrinkage of the core with this name and strength.
    pub fn shrinkage(&self) -> Result<Shrinkage> {
        let strength = self.1;
        let shrinkage = match self.0.as_str() {
            "none" => Shrinkage::None,
            "path" => Shrinkage::Path { strength },
            "m-estimate" => Shrinkage::MEstimate { strength },
            other => return Err(BindingError::value(format!("unknown shrinkage {other:?}"))),
        };
        Ok(shrinkage.check()?)
    }
}

/// Positions per node and label; 0 for inner nodes and for leaves not aggregated yet.
pub type Table = Arc<Array2<u16>>;

/// Key of a cached table: the aggregator and, if the leaves are smoothed, the shrinkage.
pub type Key = (AggregatorSpec, Option<Smoothing>);

/// The tables that were computed last.
#[derive(Default)]
pub struct LeafTables {
    tables: Mutex<Vec<(Key, Table)>>,
}

impl LeafTables {
    /// A table that has the consensus of all leaves in `wanted`, and possibly of more.
    pub fn table(
        &self,
        py: Python<'_>,
        fitted: &FittedTree,
        key: &Key,
        wanted: &[u32],
        n_jobs: usize,
    ) -> Result<Table> {
        let cached = self.cached(key).unwrap_or_else(|| empty_table(fitted));
        let leaves = leaves_to_aggregate(fitted, key, missing_leaves(&cached, wanted));
        if leaves.is_empty() {
            return Ok(cached);
        }
        let orders = consensus(py, fitted, key, &leaves, n_jobs)?;
        Ok(self.insert(key, with_orders(&cached, &leaves, &orders)))
    }

    // The lock is never held while waiting for the interpreter or another thread.
    fn cached(&self, key: &Key) -> Option<Table> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.iter().find(|(cached, _)| cached == key);
        found.map(|(_, table)| Arc::clone(table))
    }

    fn insert(&self, key: &Key, table: Table) -> Table {
        let entry = (key.clone(), Arc::clone(&table));
        // Dropped after the lock is released, because dropping an aggregator written in Python may run Python code.
        let _dropped = self.replace(entry);
        table
    }

    /// Adds an entry and returns the entry that it replaces: that of the same key, or the oldest one of a full cache.
    fn replace(&self, entry: (Key, Table)) -> Vec<(Key, Table)> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(key, _): &mut (Key, Table)| *key == entry.0;
        let mut replaced: Vec<_> = tables.extract_if(.., is_same).collect();
        if tables.len() == MAX_TABLES {
            replaced.push(tables.remove(0));
        }
        tables.push(entry);
        replaced
    }
}

/// A table without the consensus of any leaf.
fn empty_table(fitted: &FittedTree) -> Table {
    let tree = fitted.tree();
    Arc::new(Array2::zeros((tree.nodes().len(), tree.labels())))
}

/// The leaves without a consensus in the table, ascending and without repeats.
fn missing_leaves(table: &Array2<u16>, wanted: &[u32]) -> Vec<u32> {
    let is_missing = |leaf: u32| table[[leaf as usize, 0]] == 0;
    let mut missing: Vec<u32> = wanted.iter().copied().filter(|&l| is_missing(l)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// The leaves to aggregate: the missing ones, or all leaves if these cost little more; none if no leaf is missing.
///
/// Leaves without smoothing are quick to aggregate. Smoothing needs a walk from the root, which is shorter for a
/// few leaves.
fn leaves_to_aggregate(fitted: &FittedTree, key: &Key, missing: Vec<u32>) -> Vec<u32> {
    let tree = fitted.tree();
    let is_all = key.1.is_none() || 2 * missing.len() > tree.leaves();
    if is_all && !missing.is_empty() {
        tree.leaf_indices().collect()
    } else {
        missing
    }
}

/// The table with the positions of more leaves.
fn with_orders(table: &Array2<u16>, leaves: &[u32], orders: &[BucketOrder]) -> Table {
    let mut table = table.clone();
    for (&leaf, order) in leaves.iter().zip(orders) {
        let positions = ArrayView1::from(order.positions());
        table.row_mut(leaf as usize).assign(&positions);
    }
    Arc::new(table)
}

fn consensus(
    py: Python<'_>,
    fitted: &FittedTree,
    (spec, smoothing): &Key,
    leaves: &[u32],
    n_jobs: usize,
) -> Result<Vec<BucketOrder>> {
    let aggregator = spec.aggregator()?;
    let shrinkage = smoothing.as_ref().map(Smoothing::shrinkage).transpose()?;
    run_jobs(py, n_jobs, |jobs| match shrinkage {
        None => fitted.consensus(&aggregator, leaves, n_jobs, jobs.interrupt),
        Some(shrinkage) => fitted.smoothed_consensus(&aggregator, shrinkage, leaves, jobs),
    })
}
