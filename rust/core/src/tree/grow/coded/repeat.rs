//! Whole-number weights as repeated rows.

use crate::weights::Weights;

use crate::tree::grow::{GrowTask, Subtree, LEAF};

/// Weights are spelled out as long as the rows become at most this many times more.
const MAX_GROWTH: usize = 4;

/// The rows to grow from, ascending, each as often as its weight says; `None` when weights cannot be spelled out.
///
/// The limits on the number of rows count rows, not weights: they must not limit anything, as with unit weights.
pub(crate) fn repeated_rows(task: &GrowTask<'_>) -> Option<Vec<u32>> {
    let rows = task.rankings.len();
    let weights = match task.rankings.weights() {
        Weights::Unit(_) => return Some((0..rows as u32).collect()),
        Weights::Each(weights) => weights,
    };
    let unlimited = task.options.min_samples_split == 2 && task.options.min_samples_leaf == 1;
    let whole = weights.iter().all(|weight| weight.fract() == 0.0);
    let few = task.rankings.weights().total() <= (MAX_GROWTH * rows) as f64;
    (unlimited && whole && few).then(|| {
        let repeat =
            |(row, &weight): (usize, &f64)| std::iter::repeat_n(row as u32, weight as usize);
        weights.iter().enumerate().flat_map(repeat).collect()
    })
}

/// Lists every row once and counts the rows of the nodes anew; their weights stay.
pub(crate) fn list_once(tree: &mut Subtree) {
    let mut rows = Vec::with_capacity(tree.rows.len());
    let mut from = 0;
    for node in tree.nodes.iter_mut().filter(|node| node.feature == LEAF) {
        let start = rows.len();
        rows.extend_from_slice(&tree.rows[from..from + node.rows as usize]);
        from += node.rows as usize;
        // Equal rows stand together: they are in the same leaf, whose rows are ascending.
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
    // From the last node to the first, the subtrees of a node's children are the last ones finished.
    let mut finished: Vec<u32> = Vec::new();
    for node in tree.nodes.iter_mut().rev() {
        if node.feature != LEAF {
            let children = finished.len() - (node.thresholds as usize + 1);
            node.rows = finished.drain(children..).sum();
        }
        finished.push(node.rows);
    }
}
