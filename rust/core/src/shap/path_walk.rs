//! [`PathWalk`]: SHAP values of several rows in one walk through a tree.

use crate::simd::{dispatch, Kernel};

use super::path_tree::{LeafChunk, PathElement, PathTree, SplitTree};

/// Rows that are explained together, one per lane of the vector instructions.
pub(super) const LANES: usize = 8;

/// One number per row.
pub(super) type RowLanes = [f64; LANES];

/// One condition per row: all bits set if it holds, else 0. Selecting by bits needs no branches, and the vector
/// instructions of all machines have it.
type Masks = [u64; LANES];

/// The first number where the mask is set, the second elsewhere.
#[inline(always)]
fn select(mask: u64, set: f64, unset: f64) -> f64 {
    f64::from_bits((mask & set.to_bits()) | (!mask & unset.to_bits()))
}

/// Buffers of a walk, reused from tree to tree.
#[derive(Default)]
pub(super) struct PathBuffers {
    /// Per inner node and row: the child that the row goes to.
    taken: Vec<[u32; LANES]>,
    /// Per depth of the current path and quadrature point: the product of the factors of all features up to this depth.
    products: Vec<RowLanes>,
    /// Per depth of the current path: whether each row passes all splits of the feature of the step at this depth, up
    /// to this step.
    passed: Vec<Masks>,
    /// Per depth of the current path: index of its step.
    path: Vec<usize>,
    /// Per slot of the current chunk: the Shapley weight of a feature for a leaf.
    weights: Vec<RowLanes>,
}

impl PathBuffers {
    /// Adds the SHAP values of a tree for [`LANES`] rows to `sums`, which holds one entry per feature and label.
    pub(super) fn add_tree(
        &mut self,
        source: &impl SplitTree,
        tree: &PathTree,
        rows: [&[f64]; LANES],
        sums: &mut [RowLanes],
    ) {
        self.taken.clear();
        self.taken.extend(tree.splits.iter().map(|&node| {
            let node = node as usize;
            rows.map(|row| source.child_of(node, row) as u32)
        }));
        self.products
            .resize((tree.depth + 1) * tree.points, [1.0; LANES]);
        self.products[..tree.points].fill([1.0; LANES]);
        self.passed.resize(tree.depth + 1, [u64::MAX; LANES]);
        self.path.resize(tree.depth + 1, 0);
        let slots = tree.chunks.iter().map(|chunk| chunk.elements.len());
        let slots = slots.max().unwrap_or(0).max(self.weights.len());
        self.weights.resize(slots, [0.0; LANES]);
        dispatch(PathWalk {
            tree,
            buffers: self,
            sums,
        });
    }
}

/// The walk through one tree.
struct PathWalk<'a> {
    tree: &'a PathTree,
    buffers: &'a mut PathBuffers,
    sums: &'a mut [RowLanes],
}

impl Kernel for PathWalk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        for chunk in &self.tree.chunks {
            for index in chunk.steps.clone() {
                self.take_step(index);
                if let Some(leaf) = &self.tree.steps[index].leaf {
                    let depth = self.tree.steps[index].depth as usize;
                    self.weigh_features(&self.tree.elements[leaf.elements.clone()], depth);
                }
            }
            self.add_chunk(chunk);
        }
    }
}

impl PathWalk<'_> {
    /// Multiplies the product of the parent by the factor of a step.
    #[inline(always)]
    fn take_step(&mut self, index: usize) {
        let (tree, buffers) = (self.tree, &mut *self.buffers);
        let (step, points) = (&tree.steps[index], tree.points);
        let (depth, previous) = (step.depth as usize, step.previous as usize);
        // At depth 0, the root, all rows pass: this mask stays set.
        let passed_before = buffers.passed[previous];
        let taken = buffers.taken[step.split as usize];
        let mut passed_now = [0; LANES];
        for lane in 0..LANES {
            let is_taken = u64::from(taken[lane] == step.node);
            passed_now[lane] = passed_before[lane] & is_taken.wrapping_neg();
        }
        buffers.passed[depth] = passed_now;
        buffers.path[depth] = index;
        let factors = index * points..(index + 1) * points;
        let (passing, failing) = (&tree.passing[factors.clone()], &tree.failing[factors]);
        let (parents, own) = buffers.products.split_at_mut(depth * points);
        let parent = &parents[(depth - 1) * points..];
        let factors = passing.iter().zip(failing);
        for ((from, to), (passing, failing)) in parent.iter().zip(own).zip(factors) {
            let mut product = *from;
            // A row that failed the feature at an earlier step multiplies by the share of the cover only.
            for lane in 0..LANES {
                let failed = select(passed_before[lane], *failing, step.share);
                product[lane] *= select(passed_now[lane], *passing, failed);
            }
            *to = product;
        }
    }

    /// Computes the Shapley weights of the features on the path to a leaf.
    #[inline(always)]
    fn weigh_features(&mut self, elements: &[PathElement], depth: usize) {
        let (tree, buffers, points) = (self.tree, &mut *self.buffers, self.tree.points);
        let product = &buffers.products[depth * points..(depth + 1) * points];
        let failed = weigh(product, &tree.failed_weights);
        for element in elements {
            let depth = element.depth as usize;
            let first = buffers.path[depth] * points;
            let mut weights = weigh(product, &tree.passed_weights[first..first + points]);
            let passed = buffers.passed[depth];
            for lane in 0..LANES {
                weights[lane] = select(passed[lane], weights[lane], failed[lane]);
            }
            buffers.weights[element.slot as usize] = weights;
        }
    }

    /// Adds the values of the leaves of a chunk, weighted for each feature on their paths.
    #[inline(always)]
    fn add_chunk(&mut self, chunk: &LeafChunk) {
        let (tree, labels) = (self.tree, self.tree.labels);
        let leaves = &tree.slot_leaves[chunk.elements.clone()];
        for group in &tree.groups[chunk.groups.clone()] {
            let slots = group.slots.start as usize..group.slots.end as usize;
            let weighted = WeightedLeaves {
                tree,
                weights: &self.buffers.weights[slots.clone()],
                leaves: &leaves[slots],
            };
            let sums = &mut self.sums[group.feature as usize * labels..][..labels];
            let (blocks, rest) = sums.as_chunks_mut();
            for (block, sums) in blocks.iter_mut().enumerate() {
                weighted.add::<LABELS_PER_BLOCK>(block * LABELS_PER_BLOCK, sums);
            }
            let done = blocks.len() * LABELS_PER_BLOCK;
            for (label, sums) in rest.iter_mut().enumerate() {
                weighted.add(done + label, std::array::from_mut(sums));
            }
        }
    }
}

/// Labels whose sums are in registers at the same time.
const LABELS_PER_BLOCK: usize = 4;

/// The weights of one feature for some leaves.
struct WeightedLeaves<'a> {
    tree: &'a PathTree,
    weights: &'a [RowLanes],
    /// Indices of the leaves.
    leaves: &'a [u32],
}

impl WeightedLeaves<'_> {
    /// Adds weight times value of all leaves to the sums of the labels from `first` on.
    #[inline(always)]
    fn add<const LABELS: usize>(&self, first: usize, sums: &mut [RowLanes; LABELS]) {
        let mut new = *sums;
        for (weights, &leaf) in self.weights.iter().zip(self.leaves) {
            let values = &self.tree.values[leaf as usize * self.tree.labels + first..][..LABELS];
            for (sum, value) in new.iter_mut().zip(values) {
                for lane in 0..LANES {
                    sum[lane] += weights[lane] * value;
                }
            }
        }
        *sums = new;
    }
}

/// The weighted sum over the quadrature points.
#[inline(always)]
fn weigh(product: &[RowLanes], weights: &[f64]) -> RowLanes {
    let mut sums = [0.0; LANES];
    for (product, weight) in product.iter().zip(weights) {
        for (sum, product) in sums.iter_mut().zip(product) {
            *sum += product * weight;
        }
    }
    sums
}
