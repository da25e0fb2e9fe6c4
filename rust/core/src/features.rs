//! [`Features`]: a validated feature matrix, presorted for growing trees.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::run::{require_memory, Interrupt};

/// Memory of a value and its rank.
const BYTES_PER_VALUE: usize = size_of::<f64>() + size_of::<u32>();

/// Features with at most this many distinct values are ranked through a hash table instead of a sort.
const FEW_VALUES: usize = 512;

/// Rank of a missing value (NaN): larger than the rank of every value.
pub const MISSING_RANK: u32 = u32::MAX;

/// A matrix of numbers (rows × features) whose values are replaced by their ranks. NaN is a missing value.
///
/// Invariants: at least one row and one column, no value infinite. `-0` and `0` are the same value.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    rows: usize,
    columns: Vec<RankedColumn>,
}

/// One feature: its distinct values, ascending, and the index of the value of each row, [`MISSING_RANK`] for a missing
/// value.
#[derive(Debug, Clone, PartialEq)]
struct RankedColumn {
    values: Vec<f64>,
    ranks: Vec<u32>,
    has_missing: bool,
}

impl Features {
    /// Reads and presorts a feature matrix: O(rows · log rows) per feature, O(rows) for a feature with few
    /// distinct values.
    ///
    /// # Errors
    /// [`Error::NoFeatures`], [`Error::NoRows`], [`Error::TooManyRows`], [`Error::Memory`], [`Error::Feature`] for an
    /// infinite value, or [`Error::Interrupted`]. The interrupt is checked before each column; a column of a million
    /// rows takes a tenth of a second.
    ///
    /// # Examples
    /// ```
    /// use bucketrank_core::features::Features;
    /// use bucketrank_core::run::Interrupt;
    /// use ndarray::array;
    ///
    /// let features = Features::new(array![[0.5, 1.0], [-2.0, 1.0]].view(), &Interrupt::never())?;
    /// assert_eq!(features.distinct(0), [-2.0, 0.5]);
    /// let features = Features::new(array![[f64::NAN], [3.0]].view(), &Interrupt::never())?;
    /// assert_eq!(features.distinct(0), [3.0]);
    /// assert!(features.has_missing(0));
    /// assert!(Features::new(array![[f64::INFINITY]].view(), &Interrupt::never()).is_err());
    /// # Ok::<(), bucketrank_core::error::Error>(())
    /// ```
    pub fn new(values: ArrayView2<'_, f64>, interrupt: &Interrupt) -> Result<Self> {
        let (rows, columns) = values.dim();
        if columns == 0 {
            return Err(Error::NoFeatures);
        }
        if rows == 0 {
            return Err(Error::NoRows);
        }
        check_rows(rows)?;
        // Three more columns for the buffers of the sort.
        require_memory::<u8>("the features", &[rows, columns + 3, BYTES_PER_VALUE])?;
        check_values(values)?;
        let mut column = Vec::with_capacity(rows);
        let columns = values
            .columns()
            .into_iter()
            .enumerate()
            .map(|(index, raw)| {
                interrupt.check()?;
                column.clear();
                // Adding 0 turns -0 into 0.
                column.extend(raw.iter().map(|&value| value + 0.0));
                // Checked again: another thread may have written to the array.
                if let Some(row) = column.iter().position(|value| value.is_infinite()) {
                    let found = column[row];
                    return Err(Error::Feature {
                        row,
                        column: index,
                        found,
                    });
                }
                Ok(RankedColumn::new(&column))
            })
            .collect::<Result<_>>()?;
        Ok(Self { rows, columns })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Always false: the constructor rejects an empty matrix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of features.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The distinct values of a feature, ascending.
    #[must_use]
    pub fn distinct(&self, feature: usize) -> &[f64] {
        &self.columns[feature].values
    }

    /// Whether a value of the feature is missing.
    #[must_use]
    pub fn has_missing(&self, feature: usize) -> bool {
        self.columns[feature].has_missing
    }

    /// Per row, the index of its value in [`Features::distinct`]; [`MISSING_RANK`] for a missing value.
    #[must_use]
    pub fn ranks(&self, feature: usize) -> &[u32] {
        &self.columns[feature].ranks
    }

    /// The threshold between two distinct values of a feature, given by their ranks: the midpoint, or the lower
    /// value if they are adjacent floats. `lower <= threshold < upper` always holds.
    ///
    /// The threshold between all values and the missing ones is +∞ if missing values are on the right, else -∞.
    #[must_use]
    pub fn threshold(&self, feature: usize, lower: u32, upper: u32) -> f64 {
        let values = &self.columns[feature].values;
        if upper == MISSING_RANK {
            return f64::INFINITY;
        }
        if lower == MISSING_RANK {
            return f64::NEG_INFINITY;
        }
        let (lower, upper) = (values[lower as usize], values[upper as usize]);
        midpoint(lower, upper)
    }
}

/// Checks that rows can be numbered in 32 bits.
fn check_rows(found: usize) -> Result<()> {
    let limit = u32::MAX as usize;
    if found > limit {
        return Err(Error::TooManyRows { found, limit });
    }
    Ok(())
}

/// Checks that no value is infinite and returns whether a value is missing (NaN).
///
/// # Errors
/// [`Error::Feature`] with the first infinite value.
pub(crate) fn check_values(values: ArrayView2<'_, f64>) -> Result<bool> {
    // No early exit, so that the compiler vectorises the loop.
    let are_finite = |slice: &[f64]| slice.iter().fold(true, |all, v| all & v.is_finite());
    if values.as_slice().is_some_and(are_finite) {
        return Ok(false);
    }
    let mut has_missing = false;
    for ((row, column), &found) in values.indexed_iter() {
        if found.is_infinite() {
            return Err(Error::Feature { row, column, found });
        }
        has_missing |= found.is_nan();
    }
    Ok(has_missing)
}

/// Checks that every value is finite.
///
/// # Errors
/// [`Error::Feature`] with the first NaN or infinite value.
pub(crate) fn check_finite(values: ArrayView2<'_, f64>) -> Result<()> {
    check_values(values)?;
    match values.indexed_iter().find(|(_, value)| value.is_nan()) {
        None => Ok(()),
        Some(((row, column), &found)) => Err(Error::Feature { row, column, found }),
    }
}

/// A number in [lower, upper): the midpoint, or `lower` if rounding moves the midpoint out of the interval.
pub(crate) fn midpoint(lower: f64, upper: f64) -> f64 {
    let middle = f64::midpoint(lower, upper);
    if (lower..upper).contains(&middle) {
        middle
    } else {
        lower
    }
}

impl RankedColumn {
    /// Ranks a column without infinite values; missing values have the rank [`MISSING_RANK`].
    fn new(column: &[f64]) -> Self {
        Self::from_few_values(column).unwrap_or_else(|| {
            if !column.iter().any(|value| value.is_nan()) {
                return Self::by_sorting(column);
            }
            let is_present = |value: &&f64| !value.is_nan();
            let present: Vec<f64> = column.iter().filter(is_present).copied().collect();
            let Self { values, ranks, .. } = Self::by_sorting(&present);
            let mut ranks = ranks.into_iter();
            let next_rank = |value: &f64| {
                if value.is_nan() {
                    MISSING_RANK
                } else {
                    ranks.next().unwrap_or(MISSING_RANK)
                }
            };
            Self {
                ranks: column.iter().map(next_rank).collect(),
                values,
                has_missing: true,
            }
        })
    }

    /// Ranks a column through a hash table of its distinct values; `None` if there are more than [`FEW_VALUES`].
    fn from_few_values(column: &[f64]) -> Option<Self> {
        let mut table = ValueTable::new();
        let mut indices = Vec::with_capacity(column.len());
        for &value in column {
            indices.push(if value.is_nan() {
                MISSING_RANK
            } else {
                table.index_of(value)?
            });
        }
        let order = sort_rows(&table.values);
        let mut rank_of = vec![0; order.len()];
        for (rank, &index) in order.iter().enumerate() {
            rank_of[index as usize] = rank as u32;
        }
        Some(Self {
            values: order
                .iter()
                .map(|&index| table.values[index as usize])
                .collect(),
            ranks: indices
                .iter()
                .map(|&index| rank_of.get(index as usize).copied().unwrap_or(MISSING_RANK))
                .collect(),
            has_missing: indices.contains(&MISSING_RANK),
        })
    }

    /// Ranks a column by sorting its values.
    fn by_sorting(column: &[f64]) -> Self {
        let mut values = Vec::new();
        let mut ranks = vec![0; column.len()];
        for run in sort_rows(column).chunk_by(|&a, &b| column[a as usize] == column[b as usize]) {
            for &row in run {
                ranks[row as usize] = values.len() as u32;
            }
            values.push(column[run[0] as usize]);
        }
        Self {
            values,
            ranks,
            has_missing: false,
        }
    }
}

/// The row indices of a column without NaN, sorted by ascending value.
///
/// Sorts integers that join the leading bits of a value to the index of its row; then sorts the few runs of equal
/// leading bits by the full values. Plain integers are sorted faster than pairs.
fn sort_rows(column: &[f64]) -> Vec<u32> {
    let row_mask = column.len().next_power_of_two() as u64 - 1;
    let key_of = |word: u64| sort_key(column[(word & row_mask) as usize]);
    let mut words: Vec<u64> = (0..)
        .zip(column)
        .map(|(row, &value)| sort_key(value) & !row_mask | row)
        .collect();
    words.sort_unstable();
    for run in words.chunk_by_mut(|a, b| a & !row_mask == b & !row_mask) {
        if run.iter().any(|&word| key_of(word) != key_of(run[0])) {
            run.sort_unstable_by_key(|&word| (key_of(word), word));
        }
    }
    words.iter().map(|&word| (word & row_mask) as u32).collect()
}

/// An integer with the same order as the number.
fn sort_key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

/// Hash table of up to [`FEW_VALUES`] distinct values, by open addressing.
struct ValueTable {
    /// Index in `values`, or [`Self::FREE`].
    slots: Vec<u32>,
    /// Distinct values in order of appearance.
    values: Vec<f64>,
}

impl ValueTable {
    const SLOTS: usize = 4 * FEW_VALUES;
    const FREE: u32 = u32::MAX;

    fn new() -> Self {
        Self {
            slots: vec![Self::FREE; Self::SLOTS],
            values: Vec::with_capacity(FEW_VALUES),
        }
    }

    /// Index of the value in `values`, where new values are appended; `None` if the table is full.
    fn index_of(&mut self, value: f64) -> Option<u32> {
        // Multiplicative hash: each bit depends on all lower bits. Its upper bits are used, because floats with integer
        // values differ in the upper bits only.
        let hash = value.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (hash >> 48) as usize % Self::SLOTS;
        loop {
            let index = self.slots[slot];
            if index == Self::FREE {
                if self.values.len() == FEW_VALUES {
                    return None;
                }
                self.slots[slot] = self.values.len() as u32;
                self.values.push(value);
                return Some(self.slots[slot]);
            }
            if self.values[index as usize].to_bits() == value.to_bits() {
                return Some(index);
            }
            slot = (slot + 1) % Self::SLOTS;
        }
    }
}

#[cfg(test)]
mod tests;
