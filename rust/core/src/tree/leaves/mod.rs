//! Pair shares of the leaves: shrinkage towards the ancestors, soft routing and consensus.

mod node_shares;
mod predict;
mod share_formula;
mod shrinkage;
pub(crate) mod soft;
mod walk;

pub(crate) use predict::ShareConsensus;
pub(crate) use walk::LeafWalk;

pub use shrinkage::Shrinkage;
pub use soft::SoftRouting;
