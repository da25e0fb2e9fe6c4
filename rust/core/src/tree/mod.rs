//! Trees for partial label ranking.
//!
//! A node's statistic is, for each pair of labels, the weight of the rows that place one before the other, tie
//! them, or place it after. Nothing is aggregated while an entropy tree grows: every leaf keeps its rows, and any
//! aggregator can be asked later.
//!
//! # Examples
//! ```
//! use bucketrank_core::{features::Features, rankings::Rankings, tree::{Tree, TreeParams}};
//! use bucketrank_core::run::Interrupt;
//! use ndarray::array;
//!
//! let x = array![[0.0], [1.0], [2.0], [3.0]];
//! let y = array![[1, 2], [1, 2], [2, 1], [1, 1_i64]];
//! let features = Features::new(x.view(), &Interrupt::never())?;
//! let rankings = Rankings::new(y.view(), None)?;
//! let tree = Tree::fit(&features, &rankings, &TreeParams::default(), None, &Interrupt::never())?;
//! assert_eq!(tree.leaves(), 3);
//! let leaves = tree.apply(x.view())?;
//! assert_eq!(tree.node_rows(leaves[0]), [0, 1]);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod apply;
mod bytes;
mod draw;
mod fitted;
pub(crate) mod fitted_bytes;
mod grow;
mod leaves;
mod model;
mod params;
mod split;

pub(crate) use grow::SharedEncoding;
pub(crate) use leaves::{LeafWalk, ShareConsensus};

pub use fitted::FittedTree;
pub use leaves::{Shrinkage, SoftRouting};
pub use model::{Node, NodeSplit, Tree};
pub use params::{Criterion, Splitter, TreeOptions, TreeParams};
pub use split::{Consensus, Sample};
