//! [`PathTree`]: a tree prepared for path-dependent SHAP values.
//!
//! The cover of a node is the weight of its training rows.

use std::ops::Range;

use crate::error::Result;
use crate::run::Interrupt;

use super::quadrature::GaussLegendre;

/// A tree with splits on single features. Children have larger indices than their parent; the root is node 0.
pub(super) trait SplitTree: Sync {
    /// Number of nodes.
    fn node_count(&self) -> usize;

    /// Indices of the children of a node; empty for a leaf.
    fn children(&self, node: usize) -> Range<usize>;

    /// Index of the feature that an inner node splits.
    fn feature(&self, node: usize) -> usize;

    /// Index of the child of an inner node that a row goes to.
    fn child_of(&self, node: usize, row: &[f64]) -> usize;

    /// Cover of a leaf.
    fn cover(&self, leaf: usize) -> f64;
}

/// Covers of all nodes: the cover of an inner node is the sum of those of its children.
pub(super) fn node_covers(tree: &impl SplitTree) -> Vec<f64> {
    let mut covers = vec![0.0; tree.node_count()];
    for node in (0..tree.node_count()).rev() {
        let children = tree.children(node);
        covers[node] = if children.is_empty() {
            tree.cover(node)
        } else {
            covers[children].iter().sum()
        };
    }
    covers
}

/// A node other than the root, with the edge that leads to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathStep {
    /// Number of edges from the root.
    pub(super) depth: u32,
    /// Depth of the last step before this one that splits the same feature; 0 if there is none.
    pub(super) previous: u32,
    /// Index of the parent in [`PathTree::splits`].
    pub(super) split: u32,
    /// Index of the node in the original tree.
    pub(super) node: u32,
    /// Share of the parent's cover that reaches this node.
    pub(super) share: f64,
    /// Features on the path to a leaf; `None` for an inner node.
    pub(super) leaf: Option<LeafPath>,
}

/// The distinct features on the path to a leaf.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeafPath {
    /// Index of the leaf among all leaves, in the order of the original nodes.
    pub(super) index: u32,
    /// Range in [`PathTree::elements`].
    pub(super) elements: Range<usize>,
}

/// A feature on the path to a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PathElement {
    pub(super) feature: u32,
    /// Depth of the last step that splits the feature.
    pub(super) depth: u32,
    /// Index of its Shapley weight among those of the [`LeafChunk`], which are sorted by feature.
    pub(super) slot: u32,
}

/// Consecutive leaves of the walk. The Shapley weights of all features on their paths are computed first and then
/// multiplied by the values of the leaves, feature by feature, so that the sums of a feature stay in registers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeafChunk {
    /// The steps after the last leaf of the previous chunk, up to the last leaf of this one.
    pub(super) steps: Range<usize>,
    /// Range in [`PathTree::elements`] and in [`PathTree::slot_leaves`].
    pub(super) elements: Range<usize>,
    /// Range in [`PathTree::groups`].
    pub(super) groups: Range<usize>,
}

/// The Shapley weights of one feature in a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FeatureSlots {
    pub(super) feature: u32,
    /// Indices of its weights among those of the chunk.
    pub(super) slots: Range<u32>,
}

/// Largest number of weights per chunk, unless a single leaf has more: 32 KB for eight rows.
const SLOTS_PER_CHUNK: usize = 512;

/// A tree in the order of a depth-first walk, with all numbers that do not depend on the explained row.
///
/// Let z be the share of the cover that reaches a leaf by the splits of one feature, and o be 1 if the row passes all
/// of them and 0 otherwise. The Shapley value of feature i for the game that is 1 at this leaf is
///
/// (oᵢ − zᵢ) ∫₀¹ Π_{j ≠ i} (t·oⱼ + (1 − t)·zⱼ) dt,
///
/// because ∫ tˢ(1 − t)ᵈ⁻¹⁻ˢ dt is the Shapley weight of a coalition of s among d features. The integrand is a
/// polynomial of degree d − 1, so ⌈d/2⌉ quadrature points give the exact value. All terms are positive: no
/// cancellation, however deep the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathTree {
    pub(super) labels: usize,
    /// Number of quadrature points.
    pub(super) points: usize,
    /// Largest depth of a leaf.
    pub(super) depth: usize,
    /// All nodes except the root, in the order of the walk.
    pub(super) steps: Vec<PathStep>,
    /// Inner nodes, as indices of the original tree.
    pub(super) splits: Vec<u32>,
    /// The features on the path to each leaf, leaf by leaf.
    pub(super) elements: Vec<PathElement>,
    pub(super) chunks: Vec<LeafChunk>,
    /// The features of each chunk, chunk by chunk.
    pub(super) groups: Vec<FeatureSlots>,
    /// Per slot (see [`PathElement::slot`]), chunk by chunk: index of the leaf.
    pub(super) slot_leaves: Vec<u32>,
    /// Per step and quadrature point: the factor of the product in the integral while the row passes all splits of the
    /// feature.
    pub(super) passing: Vec<f64>,
    /// Per step and quadrature point: the factor when the row fails the feature for the first time.
    pub(super) failing: Vec<f64>,
    /// Per step and quadrature point: turns the product into the Shapley weight of a feature that the row passes.
    pub(super) passed_weights: Vec<f64>,
    /// Per quadrature point: turns the product into the Shapley weight of every feature that the row fails.
    pub(super) failed_weights: Vec<f64>,
    /// Leaf by leaf: one value per label.
    pub(super) values: Vec<f64>,
}

/// A step of the path to the current node.
struct PathFeature {
    feature: u32,
    /// As [`PathStep::previous`].
    previous: u32,
}

/// A node that the walk has not reached yet.
struct PendingStep {
    node: usize,
    depth: usize,
    split: usize,
    feature: usize,
    share: f64,
}

impl PathTree {
    /// Prepares a tree whose leaves, in the order of the nodes, have these values: one per label.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn new(
        tree: &impl SplitTree,
        values: Vec<f64>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        interrupt.check()?;
        let leaves = (0..tree.node_count()).filter(|&node| tree.children(node).is_empty());
        let mut path_tree = Self {
            labels: values.len() / leaves.count().max(1),
            points: 1,
            depth: 0,
            steps: Vec::with_capacity(tree.node_count()),
            splits: Vec::new(),
            elements: Vec::new(),
            chunks: Vec::new(),
            groups: Vec::new(),
            slot_leaves: Vec::new(),
            passing: Vec::new(),
            failing: Vec::new(),
            passed_weights: Vec::new(),
            failed_weights: Vec::new(),
            values,
        };
        path_tree.add_steps(tree);
        path_tree.add_chunks();
        interrupt.check()?;
        path_tree.add_factors();
        Ok(path_tree)
    }

    /// Estimated time to explain one row, in nanoseconds.
    pub(super) fn nanoseconds_per_row(&self) -> usize {
        let per_element = self.points + self.labels;
        // Measured: a row takes about 1/6 ns per product.
        (self.steps.len() * self.points + self.elements.len() * per_element) / 6
    }

    fn add_steps(&mut self, tree: &impl SplitTree) {
        let covers = node_covers(tree);
        let leaf_indices = leaf_indices(tree);
        // The steps on the path to the current node.
        let mut path: Vec<PathFeature> = Vec::new();
        let mut is_repeated = Vec::new();
        let mut stack = Vec::new();
        self.push_children(tree, &covers, 0, 0, &mut stack);
        while let Some(pending) = stack.pop() {
            path.truncate(pending.depth - 1);
            let feature = pending.feature as u32;
            let previous = path.iter().rposition(|step| step.feature == feature);
            let previous = previous.map_or(0, |index| index as u32 + 1);
            path.push(PathFeature { feature, previous });
            let is_leaf = tree.children(pending.node).is_empty();
            let leaf = is_leaf.then(|| LeafPath {
                index: leaf_indices[pending.node],
                elements: self.add_elements(&path, &mut is_repeated),
            });
            self.depth = self.depth.max(pending.depth);
            self.steps.push(PathStep {
                depth: pending.depth as u32,
                previous,
                split: pending.split as u32,
                node: pending.node as u32,
                share: pending.share,
                leaf,
            });
            self.push_children(tree, &covers, pending.node, pending.depth, &mut stack);
        }
    }

    fn push_children(
        &mut self,
        tree: &impl SplitTree,
        covers: &[f64],
        node: usize,
        depth: usize,
        stack: &mut Vec<PendingStep>,
    ) {
        let children = tree.children(node);
        if children.is_empty() {
            return;
        }
        let (split, count) = (self.splits.len(), children.len());
        self.splits.push(node as u32);
        stack.extend(children.rev().map(|child| PendingStep {
            node: child,
            depth: depth + 1,
            split,
            feature: tree.feature(node),
            // Without training rows in the node, its children have equal shares.
            share: if covers[node] > 0.0 {
                covers[child] / covers[node]
            } else {
                1.0 / count as f64
            },
        }));
    }

    /// Adds the distinct features of a path, each with the depth of its last step.
    fn add_elements(&mut self, path: &[PathFeature], is_repeated: &mut Vec<bool>) -> Range<usize> {
        let start = self.elements.len();
        is_repeated.clear();
        is_repeated.resize(path.len() + 1, false);
        for step in path {
            is_repeated[step.previous as usize] = true;
        }
        for (index, step) in path.iter().enumerate() {
            if !is_repeated[index + 1] {
                self.elements.push(PathElement {
                    feature: step.feature,
                    depth: index as u32 + 1,
                    slot: 0,
                });
            }
        }
        start..self.elements.len()
    }

    /// Divides the leaves into chunks.
    fn add_chunks(&mut self) {
        self.slot_leaves.resize(self.elements.len(), 0);
        let features = self.elements.iter().map(|element| element.feature);
        let mut next_slots = vec![0; features.max().map_or(0, |feature| feature as usize + 1)];
        let (mut first_step, mut first_element) = (0, 0);
        for index in 0..self.steps.len() {
            let Some(leaf) = &self.steps[index].leaf else {
                continue;
            };
            let elements = first_element..leaf.elements.end;
            let is_last = index + 1 == self.steps.len();
            if is_last || elements.len() + leaf.elements.len() > SLOTS_PER_CHUNK {
                first_element = elements.end;
                self.add_chunk(first_step..index + 1, elements, &mut next_slots);
                first_step = index + 1;
            }
        }
    }

    /// Adds a chunk and sorts its elements by feature. `next_slots` is a scratch buffer of one number per
    /// feature: first its number of elements, then its next free slot.
    fn add_chunk(&mut self, steps: Range<usize>, elements: Range<usize>, next_slots: &mut [u32]) {
        next_slots.fill(0);
        for element in &self.elements[elements.clone()] {
            next_slots[element.feature as usize] += 1;
        }
        let first_group = self.groups.len();
        let mut start = 0;
        for (feature, next) in next_slots
            .iter_mut()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let slots = start..start + *next;
            *next = start;
            start = slots.end;
            let feature = feature as u32;
            self.groups.push(FeatureSlots { feature, slots });
        }
        let leaves = self.steps[steps.clone()].iter();
        for leaf in leaves.filter_map(|step| step.leaf.as_ref()) {
            for element in &mut self.elements[leaf.elements.clone()] {
                let next = &mut next_slots[element.feature as usize];
                element.slot = *next;
                self.slot_leaves[elements.start + *next as usize] = leaf.index;
                *next += 1;
            }
        }
        let groups = first_group..self.groups.len();
        self.chunks.push(LeafChunk {
            steps,
            elements,
            groups,
        });
    }

    fn add_factors(&mut self) {
        let lengths = self.steps.iter().filter_map(|step| step.leaf.as_ref());
        let longest = lengths.map(|leaf| leaf.elements.len()).max();
        let GaussLegendre { points, weights } =
            GaussLegendre::new(longest.unwrap_or(0).div_ceil(2));
        self.points = points.len();
        let failed = points.iter().zip(&weights);
        self.failed_weights = failed.map(|(t, weight)| -weight / (1.0 - t)).collect();
        let count = points.len();
        for factors in [
            &mut self.passing,
            &mut self.failing,
            &mut self.passed_weights,
        ] {
            factors.resize(self.steps.len() * count, 0.0);
        }
        // Per depth of the current path: share of the cover that passes all splits of the step's feature up to this
        // step, and per quadrature point 1 / (t + (1 − t) · share).
        let mut reached = vec![1.0; self.depth + 1];
        let mut inverses = vec![1.0; (self.depth + 1) * count];
        for (index, step) in self.steps.iter().enumerate() {
            let (depth, previous) = (step.depth as usize, step.previous as usize);
            let share = reached[previous] * step.share;
            reached[depth] = share;
            let own = index * count..(index + 1) * count;
            let passing = &mut self.passing[own.clone()];
            let failing = &mut self.failing[own.clone()];
            let passed_weights = &mut self.passed_weights[own];
            for (point, (t, weight)) in points.iter().zip(&weights).enumerate() {
                let mixed = t + (1.0 - t) * share;
                let inverse = 1.0 / mixed;
                // Cancels the factor of the earlier splits of the feature; 1 if there are none.
                let before = inverses[previous * count + point];
                passing[point] = mixed * before;
                failing[point] = (1.0 - t) * share * before;
                passed_weights[point] = weight * (1.0 - share) * inverse;
                inverses[depth * count + point] = inverse;
            }
        }
    }
}

/// Per node: its index among the leaves; unused for inner nodes.
pub(super) fn leaf_indices(tree: &impl SplitTree) -> Vec<u32> {
    let mut leaves = 0;
    let leaf_index = |node: usize| {
        let index = leaves;
        leaves += u32::from(tree.children(node).is_empty());
        index
    };
    (0..tree.node_count()).map(leaf_index).collect()
}
