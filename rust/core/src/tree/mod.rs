//! Trees for partial label ranking.
//!
//! A node's statistic is, for each pair of labels, the weight of the rows that place one before the other, tie
//! them, or place it after. Nothing is aggregated while an entropy tree grows: every leaf keeps its rows, and any
//! aggregator can be asked later.
//!
//! # Examples
//! ```
//! use bucketrank_core::{features::Features, rankings::Rankings, tree::{Tree, TreeParams}};
//! use ndarray::array;
//!
//! let x = array![[0.0], [1.0], [2.0], [3.0]];
//! let y = array![[1, 2], [1, 2], [2, 1], [1, 1_i64]];
//! let features = Features::new(x.view())?;
//! let rankings = Rankings::new(y.view(), None)?;
//! let tree = Tree::fit(&features, &rankings, &TreeParams::default(), None, &|| false)?;
//! assert_eq!(tree.leaves(), 3);
//! let leaves = tree.apply(x.view())?;
//! assert_eq!(tree.node_rows(leaves[0]), [0, 1]);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod apply;
mod bytes;
mod criterion;
mod draw;
mod entropy;
mod fast;
mod fitted;
pub(crate) mod fitted_bytes;
mod general;
mod grow;
mod leaf_shares;
mod model;
mod params;
mod row_counter;
mod rules;
mod shrinkage;
mod smoothed;
mod smoothing;
mod soft;

pub(crate) use draw::child_seed;
pub(crate) use fast::Start;
pub(crate) use leaf_shares::LeafShares;
pub(crate) use smoothed::Consensus as ShareConsensus;

pub use criterion::{Consensus, Sample};
pub use fitted::FittedTree;
pub use model::{Node, Split, Tree};
pub use params::{Criterion, Splitter, TreeOptions, TreeParams};
pub use shrinkage::Shrinkage;
pub use soft::SoftRouting;
