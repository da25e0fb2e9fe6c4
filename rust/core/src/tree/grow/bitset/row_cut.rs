//! [`RowCut`]: a candidate split of a small node.

use crate::features::MISSING_RANK;

/// A candidate split (a cut) between two consecutive values of a feature.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCut {
    /// The set of rows of the node on the left side, one bit per row.
    pub(super) left: u64,
    pub(super) feature_side: FeatureSide,
    /// Rank of the largest value on the left side; [`MISSING_RANK`] if it has no value.
    pub(super) lower: u32,
    /// Rank of the smallest value on the right side; [`MISSING_RANK`] if it has no value.
    pub(super) upper: u32,
}

/// A feature and the side of its missing values. A feature without missing values has only the right side. The cuts of
/// the two sides of a feature are adjacent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FeatureSide(u32);

impl FeatureSide {
    /// A value that differs from all features and sides.
    const NONE: Self = Self(u32::MAX);

    pub(super) fn new(feature: u32, missing_left: bool) -> Self {
        Self(feature << 1 | u32::from(missing_left))
    }

    pub(super) fn feature(self) -> u32 {
        self.0 >> 1
    }

    pub(super) fn missing_left(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Writes the cuts of a child with these rows, given those of its parent, to `child_cuts` and returns their number.
///
/// With missing values on the left, the first cut of a feature separates them from all other values. If no value of the
/// feature is missing in the child, only the cuts with missing values on the right are kept. With `FIRST_ONLY`, only
/// the first cut is written.
#[inline(always)]
pub(super) fn restrict_cuts<const HAS_MISSING: bool, const FIRST_ONLY: bool>(
    parent_cuts: &[RowCut],
    rows: u64,
    child_cuts: &mut [RowCut],
) -> usize {
    let mut found = 0;
    let mut is_redundant = false;
    let mut last = RowCut {
        feature_side: FeatureSide::NONE,
        ..RowCut::default()
    };
    for cut in parent_cuts {
        let left = cut.left & rows;
        let mut separates = left != 0 && left != rows;
        if HAS_MISSING {
            let is_start = cut.lower == MISSING_RANK;
            is_redundant =
                cut.feature_side.missing_left() & if is_start { left == 0 } else { is_redundant };
            separates &= !is_redundant;
        }
        // Several cuts of the parent can partition the child in the same way: they become one cut with a wider gap.
        let same = left == last.left && cut.feature_side == last.feature_side;
        if FIRST_ONLY && found > 0 && !same {
            break;
        }
        let next = RowCut {
            left,
            lower: if same { last.lower } else { cut.lower },
            ..*cut
        };
        // Branch-free: every cut is written, and overwritten by the next unless it separates the child's rows.
        found -= usize::from(same);
        child_cuts[found] = next;
        found += usize::from(separates);
        last = if separates { next } else { last };
    }
    found
}
