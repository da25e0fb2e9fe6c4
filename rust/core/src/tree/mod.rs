//! Trees for partial label ranking: predicting a ranking of labels with ties from features.
//!
//! The statistics of a node are, per pair of labels, the weights of the rows that rank the first label before, tied
//! with or after the second. Growing an entropy tree needs no aggregator (a method that combines rankings into one):
//! every leaf keeps the indices of its rows, and any aggregator can be applied to them later.
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
//! let rankings = Rankings::new(y.view(), None, &Interrupt::never())?;
//! let tree = Tree::fit(&features, &rankings, &TreeParams::default(), None, &Interrupt::never())?;
//! assert_eq!(tree.leaves(), 3);
//! let leaves = tree.apply(x.view(), &Interrupt::never())?;
//! assert_eq!(tree.node_rows(leaves[0]), [0, 1]);
//! # Ok::<(), bucketrank_core::error::Error>(())
//! ```

mod apply;
mod coded_walker;
mod draw;
mod fitted;
mod grow;
mod leaves;
mod missing_side;
mod model;
mod node;
mod params;
mod shallow_trees;
mod split;
mod threshold_ranks;
pub(crate) mod walker;

pub(crate) use coded_walker::{CodedTrees, RowRanks};
pub(crate) use grow::{PreorderNode, SharedEncoding, Subtree, LEAF};
// For forests, which store the smoothed pair shares of some nodes, the anchors.
pub(crate) use leaves::{
    anchor_stride, coarse_stride, AnchorPlan, AnchoredTree, ClimbEnd, ClimbedNode, LeafStart,
    ShareWalk, ANCHOR_LANES, COARSE_LANES, COARSE_ONE, MIN_ROWS_EXPONENTS, NEGLIGIBLE, TAIL_ONE,
};
pub(crate) use missing_side::MissingSide;
pub(crate) use shallow_trees::{ColumnCodes, ShallowTrees};

pub use fitted::FittedTree;
pub use leaves::{Routing, Shrinkage, SoftRouting, TreePredictor};
pub use model::Tree;
pub use node::{NodeSplit, TreeNode};
pub use params::{Criterion, Splitter, TreeOptions, TreeParams};
pub use split::{Consensus, Sample};
