//! [`SortedRows`]: the rows of a node in the order of a feature, for the general engine.

use crate::tree::missing_side::MissingSide;

/// The rows of a node, sorted by a feature.
pub(super) struct SortedRows<'a> {
    pub(super) feature: usize,
    /// Rows with a missing value come last, or first if `missing_left`.
    pub(super) rows: &'a [u32],
    /// Number of rows with a missing value.
    pub(super) missing: usize,
    pub(super) missing_left: bool,
}

/// A candidate split: the positions at which sorted rows are cut into children, with the thresholds.
pub(super) type Cuts = Vec<(usize, f64)>;

impl SortedRows<'_> {
    /// The rows whose value is present.
    pub(super) fn present(&self) -> &[u32] {
        if self.missing_left {
            &self.rows[self.missing..]
        } else {
            &self.rows[..self.rows.len() - self.missing]
        }
    }

    /// Converts positions among the rows with a value to positions among all rows.
    pub(super) fn shift(&self, mut cuts: Cuts) -> Cuts {
        let offset = if self.missing_left { self.missing } else { 0 };
        for cut in &mut cuts {
            cut.0 += offset;
        }
        cuts
    }

    pub(super) fn missing_side(&self) -> MissingSide {
        if self.missing == 0 {
            MissingSide::Heavier
        } else {
            MissingSide::learnt(self.missing_left)
        }
    }
}
