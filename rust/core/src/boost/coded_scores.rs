//! Scores of rows without missing values: the features of each row are coded once, and the values of several trees are
//! added together. Used for fewer than [`FEW_ROWS`] or at least `MANY_ROWS` rows; in between, coding does not pay.

use std::sync::OnceLock;

use ndarray::ArrayView2;

use crate::once::get_or_build;
use crate::simd::{dispatch, Kernel};
use crate::tree::walker::{FlatTree, TREES_TOGETHER};
use crate::tree::{ColumnCodes, ShallowTrees};

use super::model::{add_leaves_to_row, ScoreTree, FEW_ROWS};

/// Number of trees whose leaf values are added together: each score is read and written once for all of them, and
/// their values fit in the first-level cache.
const TREES_AT_ONCE: usize = 4;

/// The coded trees of a booster: each threshold is replaced by its rank among the thresholds of its feature. Coded when
/// first needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodedCache(OnceLock<Option<ShallowTrees>>);

impl CodedCache {
    /// The coded trees; `None` if [`ShallowTrees::new`] cannot code them.
    pub(super) fn get(&self, features: usize, trees: &[ScoreTree]) -> Option<&ShallowTrees> {
        let code = || {
            let nodes: Vec<_> = trees.iter().map(FlatTree::flat_nodes).collect();
            ShallowTrees::new(features, &nodes)
        };
        get_or_build(&self.0, code).as_ref()
    }
}

/// Boosters are compared without their caches.
impl PartialEq for CodedCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The coded rows of a prediction, block by block; each block is coded when it is first needed.
pub(super) struct CodedBlocks<'a> {
    trees: Option<&'a ShallowTrees>,
    codes: Vec<OnceLock<ColumnCodes>>,
}

impl<'a> CodedBlocks<'a> {
    /// Blocks that are not coded yet; without coded trees they are never coded.
    pub(super) fn new(trees: Option<&'a ShallowTrees>, blocks: usize) -> Self {
        let codes = (0..blocks).map(|_| OnceLock::new()).collect();
        Self { trees, codes }
    }

    /// Adds consecutive trees to the scores of a block, given the feature values of its rows. `first` is the index of
    /// the first of these trees in the booster. Without coded trees, adds nothing and returns false.
    pub(super) fn add_trees(
        &self,
        (trees, first): (&[ScoreTree], usize),
        (block, values): (usize, ArrayView2<'_, f64>),
        outputs: usize,
        scores: &mut [f32],
    ) -> bool {
        let Some(shallow) = self.trees else {
            return false;
        };
        if values.nrows() >= FEW_ROWS {
            let codes = self.codes(shallow, block, values);
            add_coded_trees((trees, first), (shallow, codes), outputs, scores);
            return true;
        }
        let values = values.as_standard_layout();
        for (row, scores) in values
            .rows()
            .into_iter()
            .zip(scores.chunks_exact_mut(outputs))
        {
            let row = row.to_slice().unwrap_or_default();
            add_coded_trees_to_row((trees, first), shallow, row, scores);
        }
        true
    }

    /// The codes of a block, given its values.
    fn codes(
        &self,
        shallow: &ShallowTrees,
        block: usize,
        values: ArrayView2<'_, f64>,
    ) -> &ColumnCodes {
        self.codes[block].get_or_init(|| {
            let values = values.as_standard_layout();
            shallow.code_rows(values.as_slice().unwrap_or_default())
        })
    }
}

/// Adds consecutive trees to the scores of coded rows. `first` is the index of the first of these trees in the booster.
/// The result is bit-identical to adding the trees one after the other.
pub(super) fn add_coded_trees(
    (trees, first): (&[ScoreTree], usize),
    (shallow, codes): (&ShallowTrees, &ColumnCodes),
    outputs: usize,
    scores: &mut [f32],
) {
    let rows = scores.len() / outputs.max(1);
    let mut leaves = vec![0; rows * TREES_AT_ONCE];
    for (trees, first) in trees
        .chunks(TREES_AT_ONCE)
        .zip((first..).step_by(TREES_AT_ONCE))
    {
        for (index, leaves) in (first..)
            .zip(leaves.chunks_exact_mut(rows))
            .take(trees.len())
        {
            shallow.write_leaves(index, codes, leaves);
        }
        dispatch(AddTrees {
            trees,
            leaves: &leaves,
            outputs,
            scores,
        });
    }
}

/// As [`add_coded_trees`], for one row of values without missing ones.
pub(super) fn add_coded_trees_to_row(
    (trees, first): (&[ScoreTree], usize),
    shallow: &ShallowTrees,
    row: &[f64],
    scores: &mut [f32],
) {
    let outputs = scores.len();
    let mut leaves = vec![0; trees.len()];
    shallow.write_leaves_of_row(first, &shallow.code_row(row), &mut leaves);
    for (trees, leaves) in trees
        .chunks(TREES_TOGETHER)
        .zip(leaves.chunks(TREES_TOGETHER))
    {
        add_leaves_to_row(trees, leaves, outputs, scores);
    }
}

/// Adds the values of the leaves of each row to its scores.
struct AddTrees<'a> {
    trees: &'a [ScoreTree],
    /// Tree by tree: per row the number of its leaf.
    leaves: &'a [u32],
    outputs: usize,
    scores: &'a mut [f32],
}

impl Kernel for AddTrees<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.scores.len() / self.outputs;
        let mut leaf_values: [&[f32]; TREES_AT_ONCE] = [&[]; TREES_AT_ONCE];
        let leaf_values = &mut leaf_values[..self.trees.len()];
        for (row, scores) in self.scores.chunks_exact_mut(self.outputs).enumerate() {
            let leaves = self.leaves.iter().skip(row).step_by(rows);
            for ((values, tree), &leaf) in leaf_values.iter_mut().zip(self.trees).zip(leaves) {
                *values = tree.leaf_values(leaf as usize, self.outputs);
            }
            let (wide, rest) = scores.as_chunks_mut::<32>();
            for (chunk, scores) in wide.iter_mut().enumerate() {
                add_values(scores, leaf_values, chunk * 32);
            }
            let mut first = wide.len() * 32;
            let (middle, rest) = rest.as_chunks_mut::<16>();
            for scores in middle {
                add_values(scores, leaf_values, first);
                first += 16;
            }
            let (narrow, rest) = rest.as_chunks_mut::<4>();
            for scores in narrow {
                add_values(scores, leaf_values, first);
                first += 4;
            }
            for scores in rest.as_chunks_mut::<1>().0 {
                add_values(scores, leaf_values, first);
                first += 1;
            }
        }
    }
}

/// Adds `WIDTH` values of one leaf per tree, from output `first` on, to scores that stay in registers meanwhile.
#[inline(always)]
fn add_values<const WIDTH: usize>(scores: &mut [f32; WIDTH], leaf_values: &[&[f32]], first: usize) {
    let mut lanes = *scores;
    for values in leaf_values {
        let Some(values) = values[first..].first_chunk::<WIDTH>() else {
            continue;
        };
        for lane in 0..WIDTH {
            lanes[lane] += values[lane];
        }
    }
    *scores = lanes;
}

#[cfg(test)]
mod tests {
    use super::super::model::add_trees;
    use super::*;
    use crate::tree::walker::FlatNode;
    use ndarray::Array2;

    #[test]
    fn coded_trees_add_the_same_scores() {
        let (rows, outputs) = (130, 39);
        let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (7 + j)) % 23) as f64 / 2.0);
        let tree = |seed: usize| {
            let root = FlatNode {
                threshold: (seed % 9) as f64,
                feature: (seed % 2) as u32,
                child: 1,
            };
            let inner = FlatNode {
                threshold: (seed % 5) as f64 + 0.5,
                feature: 1,
                child: 3,
            };
            let nodes = vec![root, FlatNode::leaf(1), inner];
            let nodes = [nodes, vec![FlatNode::leaf(3), FlatNode::leaf(4)]].concat();
            let values = (0..3 * outputs).map(|i| ((i * 31 + seed * 7) % 101) as f32 / 7.0);
            ScoreTree::new(nodes, vec![true; 5], values.collect(), vec![1.0; 3])
        };
        let trees: Vec<ScoreTree> = (0..11).map(tree).collect();
        let cache = CodedCache::default();
        let shallow = cache.get(2, &trees).unwrap();
        let coded = (shallow, &shallow.code_rows(x.as_slice().unwrap()));
        let [mut found, mut expected] = [vec![0.5; rows * outputs], vec![0.5; rows * outputs]];
        // Two stages: the first ends within a group of trees.
        add_coded_trees((&trees[..3], 0), coded, outputs, &mut found);
        add_coded_trees((&trees[3..], 3), coded, outputs, &mut found);
        add_trees(&trees, (x.view(), false), outputs, &mut expected);
        assert_eq!(found, expected);
        let rows = x.rows().into_iter().zip(expected.chunks_exact(outputs));
        for (row, expected) in rows {
            let mut found = vec![0.5; outputs];
            let row = row.to_vec();
            add_coded_trees_to_row((&trees[..3], 0), coded.0, &row, &mut found);
            add_coded_trees_to_row((&trees[3..], 3), coded.0, &row, &mut found);
            assert_eq!(found, expected);
        }
    }
}
