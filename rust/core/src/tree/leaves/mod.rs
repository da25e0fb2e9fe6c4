//! Pair shares of the leaves: shrinkage towards the nodes above, soft routing and the consensus of the shares.

mod node_shares;
mod predict;
mod rules;
mod shrinkage;
pub(crate) mod soft;
mod walk;

pub(crate) use predict::ShareConsensus;
pub(crate) use walk::LeafWalk;

pub use shrinkage::Shrinkage;
pub use soft::SoftRouting;
