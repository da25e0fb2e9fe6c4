//! [`TreeSum`]: label scores that are sums over trees, and the loops over trees and rows that explain them.

use std::ops::Range;

use ndarray::{Array2, Array3, ArrayView2};

use crate::error::{Error, Result};
use crate::features::check_values;
use crate::run::{self, require_memory, Interrupt, Jobs, Pool};

use super::path_tree::{leaf_indices, node_covers, PathTree, SplitTree};
use super::path_walk::{PathBuffers, RowLanes, LANES};

/// Memory of the trees that are prepared at once: 16 MB, which the allocator reuses from group to group.
const BYTES_PER_GROUP: usize = 16 << 20;

/// Memory of the sums of a block: they stay in cache while all trees are added.
const BYTES_PER_BLOCK: usize = 256 << 10;

/// Largest number of walks, of [`LANES`] rows each, per block. The rows of a block share the memory traffic of each
/// tree.
const WALKS_PER_BLOCK: usize = 8;

/// Estimated time of a node, besides its label values, when a tree is prepared.
const NANOSECONDS_PER_NODE: usize = 200;

/// Estimated time per level of a tree when a row looks for its leaf.
const NANOSECONDS_PER_LEVEL: usize = 5;

/// Label scores: constants plus the values of one leaf per tree.
pub(super) trait TreeSum: Sync {
    /// The type of the trees.
    type Member: SplitTree;

    /// Number of features.
    fn features(&self) -> usize;

    /// Score of each label without any tree.
    fn constants(&self) -> Vec<f64>;

    /// Number of trees.
    fn tree_count(&self) -> usize;

    /// One tree.
    fn tree(&self, index: usize) -> &Self::Member;

    /// Values that the leaves of a tree add to the scores: leaf by leaf, in the order of the nodes.
    ///
    /// # Errors
    /// Too many labels for pair statistics; [`Error::Interrupted`].
    fn leaf_values(&self, index: usize, interrupt: &Interrupt) -> Result<Vec<f64>>;
}

/// Checks rows to explain and returns them in standard layout, row by row.
fn check_rows(features: usize, values: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
    if values.ncols() != features {
        return Err(Error::FeatureCount {
            found: values.ncols(),
            expected: features,
        });
    }
    require_memory::<f64>("the features", &[values.nrows(), values.ncols()])?;
    check_values(values)?;
    Ok(values.iter().copied().collect())
}

/// SHAP values of rows: rows × features × labels.
///
/// # Errors
/// A number of features that differs from the model's, an infinite value, errors of the trees, [`Error::Memory`],
/// [`Error::Interrupted`], or threads that cannot be started.
pub(super) fn shap_values(
    model: &impl TreeSum,
    values: ArrayView2<'_, f64>,
    jobs: Jobs<'_>,
) -> Result<Array3<f64>> {
    let (rows, features, labels) = (values.nrows(), model.features(), model.constants().len());
    let rows_in_order = check_rows(features, values)?;
    let length = require_memory::<f64>("the SHAP values", &[rows, features, labels])?;
    let mut out = vec![0.0; length];
    run::scope(jobs, estimate_time(model, rows) as u64, |pool| {
        for group in groups(model) {
            let trees = prepare(
                model,
                group.clone(),
                pool,
                |tree, leaves| PathTree::new(model.tree(tree), leaves, jobs.interrupt),
                jobs.interrupt,
            )?;
            let block = RowBlocks {
                model,
                trees: &trees,
                first: group.start,
                values: &rows_in_order,
            };
            block.add(&mut out, labels, pool, jobs.interrupt)?;
        }
        Ok(())
    })?;
    let shape = (rows, features, labels);
    Ok(Array3::from_shape_vec(shape, out).unwrap_or_default())
}

/// Label scores when no feature is known: the constants plus the mean values of each tree over its training rows.
///
/// # Errors
/// As [`shap_values`].
pub(super) fn base_values(model: &impl TreeSum, jobs: Jobs<'_>) -> Result<Vec<f64>> {
    let mut base = model.constants();
    let nanoseconds = estimate_time(model, 0) as u64;
    run::scope(jobs, nanoseconds, |pool| {
        let trees = 0..model.tree_count();
        let means = prepare(
            model,
            trees,
            pool,
            |index, leaves| {
                Ok(mean_of_leaves(
                    model.tree(index),
                    &leaves,
                    model.constants().len(),
                ))
            },
            jobs.interrupt,
        )?;
        for mean in means {
            for (base, mean) in base.iter_mut().zip(mean) {
                *base += mean;
            }
        }
        Ok(())
    })?;
    Ok(base)
}

/// Label scores of rows: the numbers that the SHAP values add up to, together with the base values.
///
/// # Errors
/// As [`shap_values`].
pub(super) fn label_scores(
    model: &impl TreeSum,
    values: ArrayView2<'_, f64>,
    jobs: Jobs<'_>,
) -> Result<Array2<f64>> {
    let (rows, constants) = (values.nrows(), model.constants());
    let labels = constants.len();
    let rows_in_order = check_rows(model.features(), values)?;
    require_memory::<f64>("the label scores", &[rows, labels])?;
    let mut out = constants.repeat(rows);
    run::scope(jobs, estimate_time(model, 0) as u64, |pool| {
        for group in groups(model) {
            let keep = |_, leaves| Ok(leaves);
            let leaves = prepare(model, group.clone(), pool, keep, jobs.interrupt)?;
            let nanoseconds = rows * group.len() * (8 * NANOSECONDS_PER_LEVEL + labels);
            for (tree, leaves) in group.zip(&leaves) {
                jobs.interrupt.check()?;
                let tree = model.tree(tree);
                let leaf_indices = leaf_indices(tree);
                pool.for_each_chunk(nanoseconds, &mut out, LANES * labels, |block, out| {
                    let rows = rows_in_order.chunks_exact(model.features().max(1));
                    for (row, scores) in rows.skip(block * LANES).zip(out.chunks_exact_mut(labels))
                    {
                        let leaf = leaf_indices[find_leaf(tree, row)] as usize;
                        for (score, value) in scores.iter_mut().zip(&leaves[leaf * labels..]) {
                            *score += value;
                        }
                    }
                });
            }
        }
        Ok(())
    })?;
    Ok(Array2::from_shape_vec((rows, labels), out).unwrap_or_default())
}

fn find_leaf(tree: &impl SplitTree, row: &[f64]) -> usize {
    let mut node = 0;
    while !tree.children(node).is_empty() {
        node = tree.child_of(node, row);
    }
    node
}

/// Means of the values of the leaves, weighted by their covers (the weights of their training rows).
fn mean_of_leaves(tree: &impl SplitTree, values: &[f64], labels: usize) -> Vec<f64> {
    let total = node_covers(tree)[0];
    let mut means = vec![0.0; labels];
    let leaves = (0..tree.node_count()).filter(|&node| tree.children(node).is_empty());
    let count = values.len() / labels;
    for (leaf, values) in leaves.zip(values.chunks_exact(labels)) {
        let share = if total > 0.0 {
            tree.cover(leaf) / total
        } else {
            1.0 / count as f64
        };
        for (mean, value) in means.iter_mut().zip(values) {
            *mean += share * value;
        }
    }
    means
}

/// Ranges of trees that are prepared at once.
fn groups(model: &impl TreeSum) -> Vec<Range<usize>> {
    let labels = model.constants().len();
    let bytes_per_node = 128 + 16 * model.features().min(64) + 8 * labels;
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for tree in 0..model.tree_count() {
        bytes += model.tree(tree).node_count() * bytes_per_node;
        match groups.last_mut() {
            Some(group) if bytes <= BYTES_PER_GROUP => group.end = tree + 1,
            _ => {
                bytes = model.tree(tree).node_count() * bytes_per_node;
                groups.push(tree..tree + 1);
            }
        }
    }
    groups
}

fn estimate_time(model: &impl TreeSum, rows: usize) -> usize {
    let nodes: usize = (0..model.tree_count())
        .map(|tree| model.tree(tree).node_count())
        .sum();
    let labels = model.constants().len();
    nodes.saturating_mul(NANOSECONDS_PER_NODE + labels + rows.saturating_mul(4 + labels))
}

/// Computes `f` from the index and the leaf values of each tree, in parallel.
fn prepare<M: TreeSum, T: Send>(
    model: &M,
    trees: Range<usize>,
    pool: Pool,
    f: impl Fn(usize, Vec<f64>) -> Result<T> + Sync,
    interrupt: &Interrupt,
) -> Result<Vec<T>> {
    let nodes = trees.clone().map(|tree| model.tree(tree).node_count());
    let nanoseconds = nodes.sum::<usize>() * NANOSECONDS_PER_NODE;
    let prepared = pool.map(nanoseconds, trees, |tree| {
        interrupt.check()?;
        f(tree, model.leaf_values(tree, interrupt)?)
    });
    prepared.into_iter().collect()
}

/// A group of prepared trees, and the rows to explain.
struct RowBlocks<'a, M> {
    model: &'a M,
    trees: &'a [PathTree],
    /// Index of the first tree.
    first: usize,
    /// Features of all rows, row by row.
    values: &'a [f64],
}

impl<M: TreeSum> RowBlocks<'_, M> {
    /// Adds the SHAP values of the trees to those of all rows.
    fn add(&self, out: &mut [f64], labels: usize, pool: Pool, interrupt: &Interrupt) -> Result<()> {
        let features = self.model.features();
        let values_per_row = features * labels;
        let walks = (BYTES_PER_BLOCK / (values_per_row * size_of::<RowLanes>()).max(1))
            .clamp(1, WALKS_PER_BLOCK);
        let per_row: usize = self.trees.iter().map(PathTree::nanoseconds_per_row).sum();
        let rows = self.values.len() / features.max(1);
        let chunk = walks * LANES * values_per_row;
        pool.for_each_chunk(rows * per_row, out, chunk, |block, out| {
            let first = block * walks * LANES;
            let rows = self.values[first * features..].chunks_exact(features);
            let rows: Vec<&[f64]> = rows.take(out.len() / values_per_row).collect();
            self.add_block(&rows, labels, out, interrupt);
        });
        interrupt.check()
    }

    /// Adds the SHAP values of one block of rows; ends early when interrupted.
    fn add_block(&self, rows: &[&[f64]], labels: usize, out: &mut [f64], interrupt: &Interrupt) {
        let values_per_row = self.model.features() * labels;
        let mut sums = vec![[0.0; LANES]; rows.len().div_ceil(LANES) * values_per_row];
        let mut buffers = PathBuffers::default();
        for (index, tree) in self.trees.iter().enumerate() {
            let source = self.model.tree(self.first + index);
            for (rows, sums) in rows
                .chunks(LANES)
                .zip(sums.chunks_exact_mut(values_per_row))
            {
                if interrupt.check().is_err() {
                    return;
                }
                // Unused lanes repeat the last row.
                let rows = std::array::from_fn(|lane| rows[lane.min(rows.len() - 1)]);
                buffers.add_tree(source, tree, rows, sums);
            }
        }
        for (row, out) in out.chunks_exact_mut(values_per_row).enumerate() {
            let sums = &sums[row / LANES * values_per_row..][..values_per_row];
            for (out, sums) in out.iter_mut().zip(sums) {
                *out += sums[row % LANES];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trees with the given numbers of nodes.
    struct Sizes {
        trees: Vec<Nodes>,
        labels: usize,
    }

    struct Nodes(usize);

    impl SplitTree for Nodes {
        fn node_count(&self) -> usize {
            self.0
        }

        fn children(&self, _: usize) -> Range<usize> {
            0..0
        }

        fn feature(&self, _: usize) -> usize {
            0
        }

        fn child_of(&self, node: usize, _: &[f64]) -> usize {
            node
        }

        fn cover(&self, _: usize) -> f64 {
            1.0
        }
    }

    impl TreeSum for Sizes {
        type Member = Nodes;

        fn features(&self) -> usize {
            4
        }

        fn constants(&self) -> Vec<f64> {
            vec![0.0; self.labels]
        }

        fn tree_count(&self) -> usize {
            self.trees.len()
        }

        fn tree(&self, index: usize) -> &Nodes {
            &self.trees[index]
        }

        fn leaf_values(&self, _: usize, _: &Interrupt) -> Result<Vec<f64>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn groups_hold_all_trees_in_order_and_limited_memory() {
        let labels = 8;
        // Tens to thousands of kilobytes per tree, and two trees that exceed the limit alone.
        let mut nodes: Vec<usize> = (0..200).map(|i| 100 + i * i % 10_000).collect();
        nodes[50] = 200_000;
        nodes[199] = 200_000;
        let trees = nodes.iter().map(|&nodes| Nodes(nodes)).collect();
        let groups = groups(&Sizes { trees, labels });
        let listed: Vec<usize> = groups.iter().cloned().flatten().collect();
        assert_eq!(listed, (0..200).collect::<Vec<_>>());
        let bytes =
            |group: Range<usize>| nodes[group].iter().sum::<usize>() * (128 + 16 * 4 + 8 * labels);
        for (group, next) in groups.iter().zip(&groups[1..]) {
            assert!(group.len() == 1 || bytes(group.clone()) <= BYTES_PER_GROUP);
            // The next tree did not fit.
            assert!(bytes(group.start..next.start + 1) > BYTES_PER_GROUP);
        }
        assert!(groups.len() > 5);
    }
}
