//! Integer weights as repeated rows.
//!
//! An entry (`u64`) is a row in its low half, and in a list sorted by a feature the rank of the row's value in its high
//! half. Repetitions of a row are equal entries.

use crate::weights::Weights;

use crate::tree::grow::{GrowTask, Subtree, LEAF};

/// Largest factor by which repeated rows may multiply the number of rows.
const MAX_EXPANSION: usize = 4;

/// Lists the rows, ascending, each repeated by its weight; `None` if the weights are not small integers.
///
/// `min_samples_split` and `min_samples_leaf` count rows, not weights: see [`count_distinct`] and [`cut_range`].
pub(crate) fn expand_weights(task: &GrowTask<'_>) -> Option<Vec<u32>> {
    let rows = task.rankings.len();
    let weights = match task.rankings.weights() {
        Weights::Unit(_) => return Some((0..rows as u32).collect()),
        Weights::Each(weights) => weights,
    };
    let integer = weights.iter().all(|weight| weight.fract() == 0.0);
    let few = task.rankings.weights().total() <= (MAX_EXPANSION * rows) as f64;
    (integer && few).then(|| {
        let repeat =
            |(row, &weight): (usize, &f64)| std::iter::repeat_n(row as u32, weight as usize);
        weights.iter().enumerate().flat_map(repeat).collect()
    })
}

/// Number of distinct rows; repetitions must be adjacent.
pub(crate) fn count_distinct(entries: &[u64]) -> usize {
    entries.chunk_by(|a, b| a == b).count()
}

/// The first and the last cut (position in `entries`) that leave at least `min_rows` distinct rows on both sides; the
/// first exceeds the last if there is none. Repetitions must be adjacent in `entries`.
pub(crate) fn cut_range(entries: &[u64], min_rows: usize) -> (usize, usize) {
    if min_rows == 1 {
        return (1, entries.len() - 1);
    }
    let length_of = |runs: &mut dyn Iterator<Item = &[u64]>| -> Option<usize> {
        let lengths: Vec<usize> = runs.take(min_rows).map(<[u64]>::len).collect();
        (lengths.len() == min_rows).then(|| lengths.iter().sum())
    };
    let left = length_of(&mut entries.chunk_by(|a, b| a == b));
    let right = length_of(&mut entries.chunk_by(|a, b| a == b).rev());
    match left.zip(right) {
        Some((left, right)) => (left, entries.len() - right),
        None => (entries.len(), 0),
    }
}

/// Removes the repetitions from the rows of the tree and updates the row counts of its nodes, but not their weights.
pub(crate) fn remove_repetitions(tree: &mut Subtree) {
    let mut rows = Vec::with_capacity(tree.rows.len());
    let mut from = 0;
    for node in tree.nodes.iter_mut().filter(|node| node.feature == LEAF) {
        let start = rows.len();
        rows.extend_from_slice(&tree.rows[from..from + node.rows as usize]);
        from += node.rows as usize;
        // Repetitions are adjacent: they are in the same leaf, whose rows are ascending.
        let mut kept = start;
        for at in start..rows.len() {
            if kept == start || rows[kept - 1] != rows[at] {
                rows[kept] = rows[at];
                kept += 1;
            }
        }
        rows.truncate(kept);
        node.rows = (kept - start) as u32;
    }
    tree.rows = rows;
    // In reverse preorder, the last row counts are those of the children of the current inner node, which has one child
    // more than it has thresholds.
    let mut row_counts: Vec<u32> = Vec::new();
    for node in tree.nodes.iter_mut().rev() {
        if node.feature != LEAF {
            let children = row_counts.len() - (node.thresholds as usize + 1);
            node.rows = row_counts.drain(children..).sum();
        }
        row_counts.push(node.rows);
    }
}
