//! Pair shares of the leaves (per pair of labels the shares of the rows that rank the first label before, tied with or
//! after the second): shrinkage towards the ancestors, soft routing and consensus.

mod anchor_plan;
mod anchors;
mod leaf_tails;
mod node_shares;
mod predict;
mod share_formula;
mod shrinkage;
pub(crate) mod soft;
mod walk;

pub(crate) use anchor_plan::{AnchorPlan, MIN_ROWS_EXPONENTS};
pub(crate) use anchors::{
    anchor_stride, coarse_stride, AnchoredTree, ClimbEnd, ClimbedNode, LeafStart, ANCHOR_LANES,
    COARSE_LANES, COARSE_ONE, NEGLIGIBLE,
};
pub(crate) use leaf_tails::TAIL_ONE;
pub(crate) use walk::ShareWalk;

pub use predict::{Routing, TreePredictor};
pub use shrinkage::Shrinkage;
pub use soft::SoftRouting;
