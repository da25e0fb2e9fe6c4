//! [`TreeNode`]: a node of a tree, and [`NodeSplit`]: how it sends rows to its children.

use super::grow::LEAF;

/// One node of a [`Tree`](super::Tree).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeNode {
    /// Number of training rows.
    pub rows: u32,
    /// Sum of the weights of these rows.
    pub weight: f64,
    /// Impurity of the rows.
    pub impurity: f64,
    /// Distance from the root.
    pub depth: u32,
    /// Index of the parent; the root is its own parent.
    pub parent: u32,
    /// Index of the feature that the split compares; [`LEAF`] for a leaf.
    pub(super) feature: u32,
    /// Index of the first child; unused for a leaf.
    pub(super) first_child: u32,
    /// Start of the node's range in `Tree::thresholds`.
    pub(super) first_threshold: u32,
    /// Number of children; 0 for a leaf.
    pub(super) children: u32,
    /// Start of the node's range in `Tree::rows`.
    pub(super) first_row: u32,
}

/// How an inner node sends rows to its children: child i, with index `first_child + i`, takes the values above
/// `thresholds[i - 1]` and up to `thresholds[i]`. A threshold of +∞ separates the values from the missing ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSplit<'a> {
    /// Index of the feature.
    pub feature: u32,
    /// Thresholds, ascending; one fewer than children.
    pub thresholds: &'a [f64],
    /// Index of the first child.
    pub first_child: u32,
    /// Whether a missing value (NaN) goes to the first child; otherwise it goes to the last.
    pub missing_left: bool,
}

impl NodeSplit<'_> {
    /// Index of the child that takes rows with this value of the feature.
    #[must_use]
    pub fn child(&self, value: f64) -> u32 {
        let child = if value.is_nan() {
            if self.missing_left {
                0
            } else {
                self.thresholds.len()
            }
        } else {
            self.thresholds.partition_point(|&t| value > t)
        };
        self.first_child + child as u32
    }

    /// Index of the child that a row goes to.
    #[must_use]
    pub fn child_of(&self, row: &[f64]) -> u32 {
        self.child(row[self.feature as usize])
    }
}

impl TreeNode {
    /// Placeholder until the node is written.
    pub(super) const UNSET: Self = Self {
        rows: 0,
        weight: 0.0,
        impurity: 0.0,
        depth: 0,
        parent: 0,
        feature: LEAF,
        first_child: 0,
        first_threshold: 0,
        children: 0,
        first_row: 0,
    };

    /// Whether the node has no children.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }
}
