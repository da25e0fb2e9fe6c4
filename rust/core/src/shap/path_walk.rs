//! [`PathWalk`]: SHAP values of several rows in one walk through a tree.

use crate::simd::{dispatch, Kernel};

use super::path_tree::{LeafPath, PathTree, SplitTree};

/// Rows that are explained together, one per lane of the vector instructions.
pub(super) const LANES: usize = 8;

/// One number per row.
pub(super) type RowLanes = [f64; LANES];

/// Buffers of a walk, reused from tree to tree.
#[derive(Default)]
pub(super) struct PathBuffers {
    /// Per inner node and row: the child that the row goes to.
    taken: Vec<[u32; LANES]>,
    /// Per depth and quadrature point: the product of the factors of all features on the path.
    products: Vec<RowLanes>,
    /// Per depth: 1 if the row passes all splits of the step's feature up to it, else 0.
    passed: Vec<RowLanes>,
    /// Per depth: index of the step of the current path.
    path: Vec<usize>,
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
        self.passed.resize(tree.depth + 1, [1.0; LANES]);
        self.path.resize(tree.depth + 1, 0);
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
        for index in 0..self.tree.steps.len() {
            self.take_step(index);
            if let Some(leaf) = &self.tree.steps[index].leaf {
                let depth = self.tree.steps[index].depth as usize;
                self.add_leaf(leaf, depth);
            }
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
        // The entry of the root stays 1.
        let before = buffers.passed[previous];
        let taken = &buffers.taken[step.split as usize];
        let mut now = [0.0; LANES];
        for ((now, before), taken) in now.iter_mut().zip(&before).zip(taken) {
            *now = if *taken == step.node { *before } else { 0.0 };
        }
        buffers.passed[depth] = now;
        buffers.path[depth] = index;
        let factors = index * points..(index + 1) * points;
        let (passing, failing) = (&tree.passing[factors.clone()], &tree.failing[factors]);
        let (parents, own) = buffers.products.split_at_mut(depth * points);
        let parent = &parents[(depth - 1) * points..];
        let factors = passing.iter().zip(failing);
        for ((from, to), (passing, failing)) in parent.iter().zip(own).zip(factors) {
            let states = now.iter().zip(&before);
            for ((from, to), (now, before)) in from.iter().zip(to).zip(states) {
                let failed = if *before > 0.0 { *failing } else { step.share };
                let factor = if *now > 0.0 { *passing } else { failed };
                *to = from * factor;
            }
        }
    }

    /// Adds the values of a leaf, weighted for each feature on its path.
    #[inline(always)]
    fn add_leaf(&mut self, leaf: &LeafPath, depth: usize) {
        let (tree, buffers, points) = (self.tree, &*self.buffers, self.tree.points);
        let product = &buffers.products[depth * points..(depth + 1) * points];
        let failed = weigh(product, &tree.failed_weights);
        let labels = tree.labels;
        let values = &tree.values[leaf.number as usize * labels..][..labels];
        for element in &tree.elements[leaf.elements.clone()] {
            let depth = element.depth as usize;
            let first = buffers.path[depth] * points;
            let passed = weigh(product, &tree.passed_weights[first..first + points]);
            let mut weights = [0.0; LANES];
            let states = buffers.passed[depth].iter();
            let choices = passed.iter().zip(&failed);
            for ((weight, state), (passed, failed)) in weights.iter_mut().zip(states).zip(choices) {
                *weight = if *state > 0.0 { *passed } else { *failed };
            }
            let sums = &mut self.sums[element.feature as usize * labels..][..labels];
            for (sums, value) in sums.iter_mut().zip(values) {
                for (sum, weight) in sums.iter_mut().zip(&weights) {
                    *sum += weight * value;
                }
            }
        }
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
