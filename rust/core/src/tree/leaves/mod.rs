//! Pair shares of the leaves: shrinkage towards the ancestors, soft routing and consensus.

mod anchors;
mod node_shares;
mod predict;
mod share_formula;
mod shrinkage;
pub(crate) mod soft;
mod walk;

pub(crate) use anchors::{
    anchor_stride, step_up, AnchorPlan, AnchoredTree, ClimbEnd, ClimbedNode, ANCHOR_LANES,
    LEAST_EXPONENTS, NEGLIGIBLE,
};
pub(crate) use walk::ShareWalk;

pub use predict::{Routing, TreePredictor};
pub use shrinkage::Shrinkage;
pub use soft::SoftRouting;
