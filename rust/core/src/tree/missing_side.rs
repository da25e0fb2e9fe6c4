//! [`MissingSide`]: where nodes send rows whose value is missing.

use super::model::Tree;
use super::node::TreeNode;

/// Where an inner node sends rows whose value is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MissingSide {
    /// To the last child or, if that is lighter, to the first child. Used where the feature of the split had no missing
    /// value in the node.
    #[default]
    Heavier,
    /// To the first child.
    Left,
    /// To the last child.
    Right,
}

impl MissingSide {
    /// The side to which a node is known to send missing values.
    pub(crate) fn learnt(missing_left: bool) -> Self {
        if missing_left {
            Self::Left
        } else {
            Self::Right
        }
    }
}

impl Tree {
    /// Whether any node sends missing values to another side than the heavier one, which is the default. Only trees
    /// grown with missing values have such nodes. A learnt side that equals the default does not count.
    #[must_use]
    pub fn has_learnt_missing_sides(&self) -> bool {
        let sides = vec![MissingSide::Heavier; self.nodes.len()];
        self.missing_left != choose_missing_sides(&self.nodes, &sides)
    }
}

/// Per node: whether a missing value goes to the first child; true for leaves.
pub(super) fn choose_missing_sides(nodes: &[TreeNode], sides: &[MissingSide]) -> Vec<bool> {
    let goes_left = |(node, side): (&TreeNode, &MissingSide)| match side {
        _ if node.is_leaf() => true,
        MissingSide::Left => true,
        MissingSide::Right => false,
        MissingSide::Heavier => {
            let weight = |child: u32| nodes[child as usize].weight;
            weight(node.first_child) > weight(node.first_child + node.children - 1)
        }
    };
    nodes.iter().zip(sides).map(goes_left).collect()
}
