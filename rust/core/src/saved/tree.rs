//! Trees in a container (the file format of saved models), checked when they are read.

use super::rankings::{read_rankings, write_rankings};
use super::tree_arrays::{write_trees, TreeArrays};
use super::{SavedModel, Section, SectionWriter};
use crate::error::Result;
use crate::rankings::{Rankings, MAX_LABELS};
use crate::tree::{FittedTree, PreorderNode, SoftRouting, Subtree, Tree, LEAF};

impl SavedModel for FittedTree {
    const NAME: &'static str = "tree";

    fn write(&self, section: &mut SectionWriter<'_>) {
        section.number("features", self.tree().features() as u64);
        write_rankings(self.rankings(), &mut section.section("rankings"));
        write_trees([self.tree()].into_iter(), &mut section.section("trees"));
        if let Some(soft) = self.soft_routing() {
            let ends = soft.windows.iter().flatten().copied();
            section.array("soft_windows", &[soft.windows.len(), 2], ends);
        }
    }

    fn read(section: &mut Section<'_, '_>) -> Result<Self> {
        let features = section.number("features")?;
        let rankings = read_rankings(&mut section.section("rankings"))?;
        let trees = read_trees(&mut section.section("trees"), features, &rankings)?;
        let Ok([tree]) = <[Tree; 1]>::try_from(trees) else {
            return Err(section.problem("expected one tree"));
        };
        let soft = if section.has("soft_windows") {
            Some(read_windows(section, &tree)?)
        } else {
            None
        };
        let weights = rankings.weights();
        let positive = (0..rankings.len()).filter(|&row| weights.get(row) > 0.0);
        let in_leaves = tree.node_rows(0);
        let weighted = in_leaves.iter().all(|&row| weights.get(row as usize) > 0.0);
        if !weighted || positive.count() != in_leaves.len() {
            return Err(section.problem("the leaves do not hold the rows of positive weight"));
        }
        Ok(Self::from_parts(tree, rankings, soft))
    }
}

/// Reads the intervals of soft routing, one per node: a row inside the interval around a threshold follows both
/// children.
fn read_windows(section: &mut Section<'_, '_>, tree: &Tree) -> Result<SoftRouting> {
    let (shape, ends) = section.array::<f64>("soft_windows")?;
    if shape != [tree.nodes().len(), 2] {
        return Err(section.problem("expected one interval of soft routing per node"));
    }
    let windows: Vec<[f64; 2]> = ends.chunks_exact(2).map(|end| [end[0], end[1]]).collect();
    for (index, &[low, high]) in windows.iter().enumerate() {
        if let Some(split) = tree.split(index as u32) {
            if split.thresholds.iter().any(|t| t.is_infinite()) {
                // The node separates values from missing ones: no row is near the threshold.
                continue;
            }
            let contains = |&threshold: &f64| low <= threshold && threshold <= high;
            let is_interval = low.is_finite() && high.is_finite() && low < high;
            if split.thresholds.len() != 1 || !is_interval || !split.thresholds.iter().all(contains)
            {
                let text = "an interval of soft routing does not contain its threshold";
                return Err(section.problem(text));
            }
        }
    }
    Ok(SoftRouting { windows })
}

/// Reads trees on these rankings and checks each of them.
pub(super) fn read_trees(
    section: &mut Section<'_, '_>,
    features: usize,
    rankings: &Rankings,
) -> Result<Vec<Tree>> {
    let labels = rankings.labels();
    if features == 0 || features >= LEAF as usize || labels > MAX_LABELS {
        return Err(section.problem("the number of features or labels is out of range"));
    }
    let counts: Vec<usize> = section.unsigned("nodes_per_tree")?;
    let mut arrays = TreeArrays::read(section)?;
    let mut trees = Vec::new();
    for nodes in counts {
        let grown = arrays
            .next_tree(nodes)
            .ok_or_else(|| section.problem("the arrays of the trees are too short"))?;
        check(features, rankings.len(), &grown).map_err(|text| section.problem(text))?;
        trees.push(Tree::assemble(features, labels, rankings.len(), grown));
    }
    if arrays.is_empty() {
        Ok(trees)
    } else {
        Err(section.problem("there are nodes, thresholds or rows after the last tree"))
    }
}

/// Checks everything about a tree that the rest of the crate relies on.
fn check(
    features: usize,
    training_rows: usize,
    grown: &Subtree,
) -> std::result::Result<(), &'static str> {
    if u32::try_from(grown.nodes.len()).is_err() || u32::try_from(training_rows).is_err() {
        return Err("more nodes or rows than a tree can have");
    }
    let mut thresholds = grown.thresholds.as_slice();
    // Per open node (an inner node whose children have not all been checked): the rows and children still expected.
    let mut open: Vec<(u64, u64)> = vec![(grown.rows.len() as u64, 1)];
    for node in &grown.nodes {
        while open.last().is_some_and(|frame| *frame == (0, 0)) {
            open.pop();
        }
        let frame = open.last_mut().ok_or("there are nodes after the tree")?;
        let rows = u64::from(node.rows);
        if rows == 0 || frame.0 < rows || frame.1 == 0 {
            return Err("the rows of a node do not add up");
        }
        frame.0 -= rows;
        frame.1 -= 1;
        check_node(node, features, &mut thresholds)?;
        if node.feature != LEAF {
            open.push((rows, u64::from(node.thresholds) + 1));
        }
    }
    if !thresholds.is_empty() || open.iter().any(|frame| *frame != (0, 0)) {
        return Err("the tree is not complete");
    }
    check_rows(&grown.rows, training_rows)
}

/// Checks one node and takes its thresholds.
fn check_node(
    node: &PreorderNode,
    features: usize,
    thresholds: &mut &[f64],
) -> std::result::Result<(), &'static str> {
    if !(node.weight.is_finite() && node.weight > 0.0 && node.impurity.is_finite()) {
        return Err("a weight is not positive and finite, or an impurity not finite");
    }
    if node.feature == LEAF {
        let has_none = node.thresholds == 0;
        return has_none.then_some(()).ok_or("a leaf has thresholds");
    }
    if node.feature as usize >= features {
        return Err("a node splits a feature that does not exist");
    }
    if node.thresholds == 0 {
        return Err("an inner node has no threshold");
    }
    let own = thresholds
        .split_off(..node.thresholds as usize)
        .ok_or("there are too few thresholds")?;
    // An infinite threshold separates values from missing ones, and is the only one of its node.
    let is_valid = |t: &f64| t.is_finite() || (t.is_infinite() && own.len() == 1);
    if !own.iter().all(is_valid) || !own.windows(2).all(|w| w[0] < w[1]) {
        return Err("the thresholds of a node are not finite and ascending");
    }
    Ok(())
}

/// Checks that rows are distinct and exist. Sorts them, so that memory is proportional to the rows read, not to the
/// training rows.
fn check_rows(rows: &[u32], training_rows: usize) -> std::result::Result<(), &'static str> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    let distinct = rows.windows(2).all(|w| w[0] < w[1]);
    let exist = rows
        .last()
        .is_none_or(|&last| (last as usize) < training_rows);
    if distinct && exist {
        Ok(())
    } else {
        Err("a row is listed twice or does not exist")
    }
}

#[cfg(test)]
mod tests {
    use super::super::damage::{check_refusals, check_repaired};
    use super::*;
    use crate::aggregate::{Aggregator, Borda};
    use crate::features::Features;
    use crate::run::Interrupt;
    use crate::tree::{MissingSide, TreeParams};
    use ndarray::{arr1, Array2};

    const BORDA: fn() -> Aggregator = || Aggregator::Borda(Borda::default());

    /// A tree on rankings with missing labels.
    fn fit(weights: Option<&[f64]>) -> (FittedTree, Features) {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * (7 + j)) % 13) as f64);
        let mut y = Array2::from_shape_fn((12, 3), |(i, j)| match (i + j) % 5 {
            0 => f64::NAN,
            _ => 1.0,
        });
        y.row_mut(3).assign(&arr1(&[2.0, 1.0, f64::NAN]));
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), weights, &Interrupt::never()).unwrap();
        let params = TreeParams::default();
        let tree =
            FittedTree::fit(&features, rankings, &params, &BORDA(), &Interrupt::never()).unwrap();
        (tree, features)
    }

    #[test]
    fn damaged_trees_are_refused() {
        let weights: Vec<f64> = (0..12).map(|i| f64::from(i % 3)).collect();
        for weights in [None, Some(weights.as_slice())] {
            let (tree, features) = fit(weights);
            check_refusals(&tree);
            check_refusals(&tree.with_soft_routing(&features).unwrap());
        }
    }

    #[test]
    fn trees_with_a_repaired_checksum_are_safe() {
        let (tree, features) = fit(None);
        let read = check_repaired(&tree.with_soft_routing(&features).unwrap(), |tree| {
            let leaves: Vec<u32> = tree.tree().leaf_indices().collect();
            let orders = tree
                .consensus(&BORDA(), &leaves, 1, &Interrupt::never())
                .unwrap();
            assert_eq!(orders.len(), leaves.len());
            if tree.tree().features() < 1000 {
                let zeros = Array2::zeros((3, tree.tree().features()));
                let leaves = tree.tree().apply(zeros.view(), &Interrupt::never());
                assert_eq!(leaves.unwrap().len(), 3);
            }
        });
        assert!(read > 0);
    }

    #[test]
    fn trees_that_do_not_end_with_their_arrays_are_refused() {
        let node = |rows, feature, thresholds| PreorderNode {
            rows,
            weight: f64::from(rows),
            impurity: 0.0,
            feature,
            thresholds,
            missing: MissingSide::Heavier,
        };
        let grown = Subtree {
            nodes: vec![node(2, 0, 1), node(1, LEAF, 0), node(1, LEAF, 0)],
            thresholds: vec![0.5],
            rows: vec![0, 1],
        };
        assert_eq!(check(1, 2, &grown), Ok(()));
        let mut longer = grown.clone();
        longer.thresholds.push(1.0);
        assert_eq!(check(1, 2, &longer), Err("the tree is not complete"));
        let mut shorter = grown.clone();
        shorter.nodes.pop();
        assert_eq!(check(1, 2, &shorter), Err("the tree is not complete"));
        let mut more = grown;
        more.nodes.push(node(1, LEAF, 0));
        assert_eq!(check(1, 2, &more), Err("there are nodes after the tree"));
    }

    fn read_again(tree: &FittedTree) -> Result<FittedTree> {
        FittedTree::from_bytes(&tree.to_bytes())
    }

    #[test]
    fn leaves_must_hold_the_rows_of_positive_weight() {
        let weights = |zero: usize| -> Vec<f64> {
            (0..12)
                .map(|row| f64::from(u8::from(row != zero)))
                .collect()
        };
        let (tree, _) = fit(Some(&weights(3)));
        assert!(read_again(&tree).is_ok());
        // The same number of rows, but another row has weight zero.
        let (other, _) = fit(Some(&weights(4)));
        let mixed = FittedTree::from_parts(tree.tree().clone(), other.rankings().clone(), None);
        assert!(read_again(&mixed).is_err());
    }

    #[test]
    fn soft_windows_must_be_finite_intervals_around_their_thresholds() {
        let (tree, features) = fit(None);
        let tree = tree.with_soft_routing(&features).unwrap();
        let windows = &tree.soft_routing().unwrap().windows;
        let threshold = tree.tree().split(0).unwrap().thresholds[0];
        let infinite = f64::INFINITY;
        let with_window = |window: [f64; 2]| {
            let mut windows = windows.clone();
            windows[0] = window;
            let parts = (tree.tree().clone(), tree.rankings().clone());
            FittedTree::from_parts(parts.0, parts.1, Some(SoftRouting { windows }))
        };
        for window in [
            [threshold - 1.0, threshold],
            [threshold, threshold + 1.0],
            [threshold - 1.0, threshold + 2.0],
        ] {
            assert!(read_again(&with_window(window)).is_ok(), "{window:?}");
        }
        for window in [
            [threshold, threshold],
            [threshold + 1.0, threshold - 1.0],
            [threshold + 1.0, threshold + 2.0],
            [threshold - 2.0, threshold - 1.0],
            [-infinite, threshold + 1.0],
            [threshold - 1.0, infinite],
            [f64::NAN, threshold],
            [threshold, f64::NAN],
        ] {
            assert!(read_again(&with_window(window)).is_err(), "{window:?}");
        }
    }
}
