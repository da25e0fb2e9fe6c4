//! Bindings of `bucketrank_core::latent`: pair shares (for each pair of labels how often the first is before, tied
//! with, or after the second) and bucket orders from scores (for each label a utility, which orders the labels, and a
//! tie term, its tendency to be tied).

use bucketrank_core::error;
use bucketrank_core::latent::LatentRow;
use bucketrank_core::pairs::pair_count;
use bucketrank_core::predict::{consensus, LatentScores};
use bucketrank_core::run::Interrupt;
use ndarray::{Array3, ArrayView2};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::aggregate::to_table;
use crate::border::aggregator::AggregatorSpec;
use crate::border::arrays::{
    require_orders, require_shares, write_pair_rows, Matrix, OrderTable, ShareTables,
};
use crate::border::errors::{BindingError, Result};
use crate::border::run::{run, run_jobs};

/// Pair shares, rows × pairs × (before, tied, after), from rows of scores (n utilities, n tie terms). `compared` says
/// per label whether the training rankings compare it with another label.
#[pyfunction]
pub fn latent_pair_shares<'py>(
    py: Python<'py>,
    scores: Matrix<'py>,
    compared: PyReadonlyArray1<'py, bool>,
) -> Result<ShareTables<'py>> {
    let scores = scores.as_array();
    let compared = compared.as_array().to_vec();
    require_scores(scores.ncols(), compared.len())?;
    require_shares(scores.nrows(), compared.len())?;
    let shares = run(py, |interrupt| {
        shares_of_scores(scores, &compared, interrupt)
    })?;
    Ok(shares.into_pyarray(py))
}

/// Checks that a row has a utility and a tie term per label.
fn require_scores(found: usize, labels: usize) -> Result<()> {
    let expected = 2 * labels;
    if found == expected {
        return Ok(());
    }
    let message = format!("the number of scores per row is {found}; expected {expected}");
    Err(BindingError::value(message))
}

/// One table of pair shares per row of scores.
fn shares_of_scores(
    scores: ArrayView2<'_, f64>,
    compared: &[bool],
    interrupt: &Interrupt,
) -> error::Result<Array3<f64>> {
    let pairs = pair_count(compared.len());
    let mut shares = Array3::zeros((scores.nrows(), pairs, 3));
    let mut planes = [(); 3].map(|()| vec![0.0; pairs]);
    for (scores, table) in scores.outer_iter().zip(shares.outer_iter_mut()) {
        interrupt.check()?;
        let columns = planes.each_mut().map(Vec::as_mut_slice);
        LatentRow::new(&scores.to_vec()).write_known_shares(compared, columns);
        write_pair_rows(table, planes.each_ref().map(Vec::as_slice));
    }
    Ok(shares)
}

/// The bucket order of each row of scores.
#[pyfunction]
pub fn aggregate_scores<'py>(
    py: Python<'py>,
    spec: AggregatorSpec,
    scores: Matrix<'py>,
    compared: PyReadonlyArray1<'py, bool>,
    n_jobs: usize,
) -> Result<OrderTable<'py>> {
    let (aggregator, scores) = (spec.aggregator()?, scores.as_array());
    let compared = &compared.as_array().to_vec();
    require_orders(scores.nrows(), compared.len())?;
    let orders = run_jobs(py, n_jobs, |jobs| {
        consensus(&LatentScores { compared }, &aggregator, scores, jobs)
    })?;
    Ok(to_table(py, &orders))
}
