//! The consensus of leaves, remembered from one prediction to the next.

use std::sync::{Arc, Mutex, PoisonError};

use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::parallel::Jobs;
use bucketrank_core::tree::{FittedTree, Shrinkage};
use ndarray::Array2;
use pyo3::prelude::*;

use crate::border::aggregator::AggregatorSpec;
use crate::border::errors::{BorderError, Result};
use crate::border::run::run;

/// Number of aggregators whose leaf consensus is cached.
const TABLES: usize = 8;

/// A kind of shrinkage and its strength as the Python layer names them.
#[derive(Clone, PartialEq, FromPyObject)]
pub struct Smoothing(String, f64);

impl Smoothing {
    /// The shrinkage that the core knows.
    pub fn shrinkage(&self) -> Result<Shrinkage> {
        let strength = self.1;
        let shrinkage = match self.0.as_str() {
            "none" => Shrinkage::None,
            "path" => Shrinkage::Path { strength },
            "m-estimate" => Shrinkage::MEstimate { strength },
            other => return Err(BorderError::value(format!("unknown shrinkage {other:?}"))),
        };
        Ok(shrinkage.check()?)
    }
}

/// Positions by node; 0 for inner nodes, and for leaves that nobody has asked for.
pub type Table = Arc<Array2<u16>>;

/// What a table depends on: the aggregator and, if the leaves are smoothed, how.
pub type Key = (AggregatorSpec, Option<Smoothing>);

/// The last tables that were asked for.
#[derive(Default)]
pub struct LeafTables {
    tables: Mutex<Vec<(Key, Table)>>,
}

impl LeafTables {
    /// A table that knows the consensus of the leaves asked for.
    pub fn table(
        &self,
        py: Python<'_>,
        fitted: &FittedTree,
        key: &Key,
        asked: &[u32],
        n_jobs: usize,
    ) -> Result<Table> {
        let tree = fitted.tree();
        let known = self.remembered(key);
        let mut missing: Vec<u32> = asked
            .iter()
            .copied()
            .filter(|&leaf| {
                known
                    .as_ref()
                    .is_none_or(|table| table[[leaf as usize, 0]] == 0)
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        let mut table = match known {
            Some(table) if missing.is_empty() => return Ok(table),
            Some(table) => Array2::clone(&table),
            None => Array2::zeros((tree.nodes().len(), tree.labels())),
        };
        // Leaves on their own are quick, and the rest will be asked for soon; smoothed ones take a walk from the root,
        // which is shorter for a few of them.
        if key.1.is_none() || 2 * missing.len() > tree.leaves() {
            missing = tree.leaf_indices().collect();
        }
        let positions = consensus(py, fitted, key, &missing, n_jobs)?;
        for (&leaf, order) in missing.iter().zip(&positions) {
            for (to, &from) in table
                .row_mut(leaf as usize)
                .iter_mut()
                .zip(order.positions())
            {
                *to = from;
            }
        }
        let table = Arc::new(table);
        self.remember(key, &table);
        Ok(table)
    }

    // The lock is never held while the interpreter or another thread is waited for.
    fn remembered(&self, key: &Key) -> Option<Table> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.iter().find(|(known, _)| known == key);
        found.map(|(_, table)| Arc::clone(table))
    }

    fn remember(&self, key: &Key, table: &Table) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|(known, _)| known != key);
        if tables.len() == TABLES {
            tables.remove(0);
        }
        tables.push((key.clone(), Arc::clone(table)));
    }
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
    run(py, |interrupt| {
        let jobs = Jobs {
            n_jobs,
            chunk: 1,
            interrupt,
        };
        match shrinkage {
            None => fitted.consensus(&aggregator, leaves, n_jobs, interrupt),
            Some(shrinkage) => fitted.smoothed_consensus(&aggregator, shrinkage, leaves, jobs),
        }
    })
}
