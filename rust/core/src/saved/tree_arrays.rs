//! The arrays of trees in a container (the file format of saved models): the nodes of all trees in preorder, their
//! thresholds and the rows of their leaves.
//!
//! Numbers that follow from others are not written: rows and weights of inner nodes are sums over their children, and
//! the impurity of a pure leaf is 0.

use super::{Section, SectionWriter};
use crate::error::Result;
use crate::tree::{MissingSide, PreorderNode, Subtree, Tree, LEAF};

/// The numbers of an array that are not yet taken.
type Numbers<T> = std::vec::IntoIter<T>;

/// Writes trees on the same rankings.
pub(super) fn write_trees<'t>(
    trees: impl ExactSizeIterator<Item = &'t Tree> + Clone,
    section: &mut SectionWriter<'_>,
) {
    let nodes: Vec<PreorderNode> = trees.clone().flat_map(Tree::preorder).collect();
    let counts = trees.clone().map(|tree| tree.nodes().len() as u64);
    section.unsigned("nodes_per_tree", &[trees.len()], counts);
    // 0 means a leaf, so that the features fit into a narrow type.
    let features = nodes.iter().map(|node| node.feature.wrapping_add(1));
    section.unsigned("node_features", &[nodes.len()], features);
    let (leaves, inner): (Vec<PreorderNode>, Vec<PreorderNode>) =
        nodes.iter().partition(|node| node.feature == LEAF);
    let sizes = leaves.iter().map(|leaf| leaf.rows);
    section.unsigned("leaf_sizes", &[leaves.len()], sizes);
    write_weights(&nodes, &leaves, section);
    write_impurities(&inner, &leaves, section);
    if inner.iter().any(|node| node.thresholds != 1) {
        let counts = inner.iter().map(|node| node.thresholds);
        section.unsigned("inner_thresholds", &[inner.len()], counts);
    }
    let thresholds = trees.clone().flat_map(|tree| &tree.thresholds).copied();
    section.vector("thresholds", &thresholds.collect::<Vec<_>>());
    let rows = trees.clone().flat_map(|tree| &tree.rows).copied();
    section.unsigned("rows", &[rows.clone().count()], rows);
    // Trees that were grown without missing values do not need the sides of missing values.
    if trees.clone().any(Tree::has_learnt_missing_sides) {
        let is_left = |node: &PreorderNode| node.missing == MissingSide::Left;
        section.array(
            "node_missing_left",
            &[nodes.len()],
            nodes.iter().map(is_left),
        );
    }
}

/// Writes the impurities of the inner nodes and of the leaves that are not pure, with the indices of these leaves.
fn write_impurities(
    inner: &[PreorderNode],
    leaves: &[PreorderNode],
    section: &mut SectionWriter<'_>,
) {
    let impurities: Vec<f64> = inner.iter().map(|node| node.impurity).collect();
    section.vector("inner_impurities", &impurities);
    let is_impure = |leaf: &(u64, &PreorderNode)| leaf.1.impurity.to_bits() != 0;
    let impure = (0..).zip(leaves).filter(is_impure);
    let indices: Vec<u64> = impure.clone().map(|(index, _)| index).collect();
    section.unsigned("impure_leaves", &[indices.len()], indices.iter().copied());
    let impurities: Vec<f64> = impure.map(|(_, leaf)| leaf.impurity).collect();
    section.vector("leaf_impurities", &impurities);
}

/// Writes the weights that cannot be derived: none if each equals the node's number of rows, those of the leaves if
/// the others are sums over children, and all otherwise.
fn write_weights(nodes: &[PreorderNode], leaves: &[PreorderNode], section: &mut SectionWriter<'_>) {
    if nodes.iter().all(|node| node.weight == f64::from(node.rows)) {
        return;
    }
    let mut summed = nodes.to_vec();
    let are_sums = sum_children(&mut summed, |node| &mut node.weight).is_some()
        && summed.iter().zip(nodes).all(|(a, b)| a.weight == b.weight);
    let (name, written) = if are_sums {
        ("leaf_weights", leaves)
    } else {
        ("node_weights", nodes)
    };
    let weights: Vec<f64> = written.iter().map(|node| node.weight).collect();
    section.reals(name, &weights);
}

/// A number that can be summed.
trait Summand: Copy {
    /// The sum, unless it overflows.
    fn plus(self, other: Self) -> Option<Self>;
}

impl Summand for u32 {
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Summand for f64 {
    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }
}

/// Sets a number of each inner node to the sum over its children; `None` if the nodes are not whole trees in preorder,
/// or if a sum overflows.
fn sum_children<T: Summand>(
    nodes: &mut [PreorderNode],
    number: impl Fn(&mut PreorderNode) -> &mut T,
) -> Option<()> {
    // In reverse preorder, the last entries of the stack are the children of the current inner node, the first on top.
    let mut stack: Vec<T> = Vec::new();
    for node in nodes.iter_mut().rev() {
        if node.feature != LEAF {
            let mut sum = stack.pop()?;
            for _ in 0..node.thresholds {
                sum = sum.plus(stack.pop()?)?;
            }
            *number(node) = sum;
        }
        stack.push(*number(node));
    }
    Some(())
}

/// The arrays of [`write_trees`], from which the trees are taken one after the other.
pub(super) struct TreeArrays {
    features: Numbers<u32>,
    leaf_sizes: Numbers<u32>,
    weights: NodeWeights,
    inner_impurities: Numbers<f64>,
    /// Indices among all leaves of those that are not pure, and their impurities.
    impure_leaves: std::iter::Peekable<std::iter::Zip<Numbers<u64>, Numbers<f64>>>,
    /// Number of leaves taken so far.
    leaves: u64,
    /// `None` if each inner node has one threshold.
    threshold_counts: Option<Numbers<u32>>,
    thresholds: Numbers<f64>,
    rows: Numbers<u32>,
    /// Per node the child that missing values go to; empty if it is always the heavier child.
    sides: Numbers<MissingSide>,
}

/// How the weights of the nodes are stored.
enum NodeWeights {
    /// Not at all: every row has weight 1.
    Rows,
    /// One weight per leaf.
    Leaves(Numbers<f64>),
    /// One weight per node.
    Nodes(Numbers<f64>),
}

impl TreeArrays {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Result<Self> {
        let weights = if section.has("leaf_weights") {
            NodeWeights::Leaves(section.reals("leaf_weights")?.into_iter())
        } else if section.has("node_weights") {
            NodeWeights::Nodes(section.reals("node_weights")?.into_iter())
        } else {
            NodeWeights::Rows
        };
        let impure: Vec<u64> = section.unsigned("impure_leaves")?;
        let impurities: Vec<f64> = section.vector("leaf_impurities")?;
        if impure.len() != impurities.len() {
            return Err(section.problem("expected one impurity per leaf that is not pure"));
        }
        let threshold_counts = if section.has("inner_thresholds") {
            Some(section.unsigned("inner_thresholds")?.into_iter())
        } else {
            None
        };
        let features: Vec<u32> = section.unsigned("node_features")?;
        let has_sides = section.has("node_missing_left");
        let sides = read_sides(section)?;
        if has_sides && sides.len() != features.len() {
            return Err(section.problem("the arrays of the nodes have different lengths"));
        }
        Ok(Self {
            features: features.into_iter(),
            leaf_sizes: section.unsigned("leaf_sizes")?.into_iter(),
            weights,
            inner_impurities: section.vector("inner_impurities")?.into_iter(),
            impure_leaves: impure.into_iter().zip(impurities).peekable(),
            leaves: 0,
            threshold_counts,
            thresholds: section.vector("thresholds")?.into_iter(),
            rows: section.unsigned("rows")?.into_iter(),
            sides: sides.into_iter(),
        })
    }

    /// The next node; numbers that follow from its children are 0.
    fn next_node(&mut self) -> Option<PreorderNode> {
        let feature = self.features.next()?.wrapping_sub(1);
        let is_leaf = feature == LEAF;
        let rows = if is_leaf { self.leaf_sizes.next()? } else { 0 };
        let impurity = if is_leaf {
            let index = self.leaves;
            self.leaves += 1;
            let found = self.impure_leaves.next_if(|&(leaf, _)| leaf == index);
            found.map_or(0.0, |(_, impurity)| impurity)
        } else {
            self.inner_impurities.next()?
        };
        Some(PreorderNode {
            rows,
            weight: match &mut self.weights {
                NodeWeights::Rows => f64::from(rows),
                NodeWeights::Leaves(weights) if is_leaf => weights.next()?,
                NodeWeights::Leaves(_) => 0.0,
                NodeWeights::Nodes(weights) => weights.next()?,
            },
            impurity,
            feature,
            thresholds: match &mut self.threshold_counts {
                _ if is_leaf => 0,
                None => 1,
                Some(counts) => counts.next()?,
            },
            missing: self.sides.next().unwrap_or_default(),
        })
    }

    /// The next tree; `None` when the arrays are too short or do not describe a tree.
    pub(super) fn next_tree(&mut self, nodes: usize) -> Option<Subtree> {
        if nodes > self.features.len() {
            return None;
        }
        let read = (0..nodes).map(|_| self.next_node());
        let mut nodes: Vec<PreorderNode> = read.collect::<Option<_>>()?;
        sum_children(&mut nodes, |node| &mut node.rows)?;
        if !matches!(self.weights, NodeWeights::Nodes(_)) {
            sum_children(&mut nodes, |node| &mut node.weight)?;
        }
        let thresholds = nodes.iter().map(|node| u64::from(node.thresholds)).sum();
        let rows = u64::from(nodes.first()?.rows);
        Some(Subtree {
            thresholds: take(&mut self.thresholds, thresholds)?,
            rows: take(&mut self.rows, rows)?,
            nodes,
        })
    }

    /// Whether all arrays were taken.
    pub(super) fn is_empty(&self) -> bool {
        let weights = match &self.weights {
            NodeWeights::Rows => 0,
            NodeWeights::Leaves(weights) | NodeWeights::Nodes(weights) => weights.len(),
        };
        let left = [
            self.features.len(),
            self.leaf_sizes.len(),
            weights,
            self.inner_impurities.len(),
            self.impure_leaves.len(),
            self.threshold_counts
                .as_ref()
                .map_or(0, ExactSizeIterator::len),
            self.thresholds.len(),
            self.rows.len(),
        ];
        left.iter().all(|&length| length == 0)
    }
}

fn take<T>(values: &mut Numbers<T>, count: u64) -> Option<Vec<T>> {
    let count = usize::try_from(count).ok()?;
    (count <= values.len()).then(|| values.by_ref().take(count).collect())
}

/// Per node the side (child) of missing values; empty if it is always the heavier child.
fn read_sides(section: &mut Section<'_, '_>) -> Result<Vec<MissingSide>> {
    if !section.has("node_missing_left") {
        return Ok(Vec::new());
    }
    let sides: Vec<bool> = section.vector("node_missing_left")?;
    Ok(sides.into_iter().map(MissingSide::learnt).collect())
}
