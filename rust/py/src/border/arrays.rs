//! Conversion between `NumPy` arrays and the core's rankings, bucket orders and pair shares.
//!
//! Another Python thread may write to an array during a call. The core therefore reads each number once, or checks its
//! own copy. The result is then that of some mixture of old and new numbers, or an error, but there is never a panic.

use bucketrank_core::bucket_order::BucketOrder;
use bucketrank_core::error::{self, InputPart};
use bucketrank_core::pairs::{pair_count, PairOrderMatrix, PairShares};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::{require_memory, Interrupt};
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, Axis};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
};
use pyo3::prelude::*;

use super::errors::Result;
use super::run::run;

/// A matrix of floats: features with one row per ranking, scores, or a pair order matrix (per ordered pair of labels
/// the share of rankings that place the first before the second, ties counting half).
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;

/// Optional weights, one per row.
pub type MaybeWeights<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// Bucket orders (rankings with ties) for Python, one row per order; also other tables of integers, such as leaves and
/// counts of pairs.
pub type OrderTable<'py> = Bound<'py, PyArray2<i64>>;

/// Pair shares for Python: rows × pairs × (before, tied, after); also pair order matrices: nodes × labels × labels.
pub type ShareTables<'py> = Bound<'py, PyArray3<f64>>;

/// An array of positions from the Python layer: native 64-bit integers or floats, any strides.
pub enum Positions<'py> {
    /// Complete rankings.
    Integers(PyReadonlyArray2<'py, i64>),
    /// NaN marks missing labels.
    Floats(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Positions<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // Test the type first, because raising an exception for an array of floats would cost more than reading it.
        if object.cast::<PyArray2<i64>>().is_ok() {
            object.extract().map(Self::Integers)
        } else {
            object.extract().map(Self::Floats)
        }
    }
}

impl Positions<'_> {
    /// A view that other threads may read.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Integers(array) => View::Integers(array.as_array()),
            Self::Floats(array) => View::Floats(array.as_array()),
        }
    }

    /// Reads rankings and their weights.
    pub fn read(&self, py: Python<'_>, weights: &MaybeWeights<'_>) -> Result<Rankings> {
        let (view, weights) = (self.view(), weights_to_vec(weights)?);
        run(py, |interrupt| view.read(weights.as_deref(), interrupt))
    }
}

/// A view of positions that other threads may read.
pub enum View<'a> {
    /// Complete rankings.
    Integers(ArrayView2<'a, i64>),
    /// NaN marks missing labels.
    Floats(ArrayView2<'a, f64>),
}

impl View<'_> {
    /// Number of rows and of labels.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Integers(view) => view.dim(),
            Self::Floats(view) => view.dim(),
        }
    }

    /// Reads the rankings.
    pub fn read(&self, weights: Option<&[f64]>, interrupt: &Interrupt) -> error::Result<Rankings> {
        match self {
            Self::Integers(view) => Rankings::new(view.view(), weights, interrupt),
            Self::Floats(view) => Rankings::new(view.view(), weights, interrupt),
        }
    }

    /// Reads the rankings of an argument; errors name it.
    pub fn read_argument(
        &self,
        name: &'static str,
        weights: Option<&[f64]>,
        interrupt: &Interrupt,
    ) -> error::Result<Rankings> {
        let rankings = self.read(weights, interrupt);
        rankings.map_err(|error| error.in_part(InputPart::Argument(name)))
    }
}

/// Copies weights of any stride.
pub fn weights_to_vec(weights: &MaybeWeights<'_>) -> Result<Option<Vec<f64>>> {
    let Some(weights) = weights else {
        return Ok(None);
    };
    let weights = weights.as_array();
    require_memory::<f64>("the weights", &[weights.len(), 2])?;
    Ok(Some(weights.iter().copied().collect()))
}

/// Whole numbers as an array of 64-bit integers.
pub fn whole_numbers<T: TryInto<i64>>(
    py: Python<'_>,
    numbers: impl IntoIterator<Item = T>,
) -> Bound<'_, PyArray1<i64>> {
    let numbers = numbers.into_iter();
    // Counts and indices always fit, because no array has 2⁶³ entries.
    let numbers: Vec<i64> = numbers.map(|n| n.try_into().unwrap_or(i64::MAX)).collect();
    numbers.into_pyarray(py)
}

/// Positions as an integer array, 0 where a label is missing.
pub fn rankings_to_array<'py>(py: Python<'py>, rankings: &Rankings) -> Result<OrderTable<'py>> {
    let (rows, labels) = (rankings.len(), rankings.labels());
    require_orders(rows, labels)?;
    Ok(position_table(rankings.rows(), rows, labels).into_pyarray(py))
}

/// Checks that bucket orders, and the array that they are copied to, can be allocated.
pub fn require_orders(rows: usize, labels: usize) -> Result<()> {
    require_memory::<i64>("the bucket orders", &[rows, labels + 8])?;
    Ok(())
}

/// Checks that pair shares, and the array that they are copied to, can be allocated.
pub fn require_shares(rows: usize, labels: usize) -> Result<()> {
    require_memory::<f64>("the pair shares", &[rows, pair_count(labels), 3, 2])?;
    Ok(())
}

/// The positions of bucket orders of `labels` labels, one row per order.
pub fn order_table(orders: &[BucketOrder], labels: usize) -> Array2<i64> {
    let rows = orders.iter().map(BucketOrder::positions);
    position_table(rows, orders.len(), labels)
}

/// Widens `height` rows of positions to 64-bit integers.
pub fn position_table<'a>(
    rows: impl Iterator<Item = &'a [u16]>,
    height: usize,
    labels: usize,
) -> Array2<i64> {
    let mut table = Array2::zeros((height, labels));
    for (mut to, from) in table.rows_mut().into_iter().zip(rows) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = i64::from(from);
        }
    }
    table
}

/// Copies a pair order matrix.
pub fn matrix_to_array<'py>(
    py: Python<'py>,
    matrix: &PairOrderMatrix,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let n = matrix.labels();
    PyArray1::from_slice(py, matrix.as_slice()).reshape([n, n])
}

/// Copies rows of a table of positions; a row may be copied many times.
pub fn gather_rows<'py>(
    py: Python<'py>,
    table: &Array2<u16>,
    rows: &[u32],
) -> Result<OrderTable<'py>> {
    require_orders(rows.len(), table.ncols())?;
    // NumPy allocates huge memory pages; the page faults of a fresh vector would take longer than the copy.
    let array = PyArray2::zeros(py, (rows.len(), table.ncols()), false);
    let mut out = array.try_readwrite().map_err(PyErr::from)?;
    let out = out.as_slice_mut().map_err(PyErr::from)?;
    run(py, |_| {
        copy_rows(table, rows, out);
        Ok(())
    })?;
    Ok(array)
}

fn copy_rows(table: &Array2<u16>, rows: &[u32], out: &mut [i64]) {
    for (out, &row) in out.chunks_exact_mut(table.ncols().max(1)).zip(rows) {
        for (out, &position) in out.iter_mut().zip(table.row(row as usize)) {
            *out = i64::from(position);
        }
    }
}

/// Copies the shares of a row, as a callback of `map_shares`.
#[allow(clippy::unnecessary_wraps)] // Other callbacks fail.
pub fn copy_shares((): &mut (), shares: &PairShares) -> error::Result<PairShares> {
    Ok(shares.clone())
}

/// A table of pair shares for each row, all of `labels` labels.
pub fn share_tables(rows: &[PairShares], labels: usize) -> Array3<f64> {
    let mut tables = Array3::zeros((rows.len(), pair_count(labels), 3));
    for (table, shares) in tables.axis_iter_mut(Axis(0)).zip(rows) {
        write_pair_rows(table, shares.planes());
    }
    tables
}

/// Writes one row per pair: before, tied and after. `planes` has one array for each of the three.
pub fn write_pair_rows(mut table: ArrayViewMut2<'_, f64>, planes: [&[f64]; 3]) {
    for (pair, mut row) in table.rows_mut().into_iter().enumerate() {
        for (value, plane) in row.iter_mut().zip(planes) {
            *value = plane[pair];
        }
    }
}
