//! The node table of a tree, by column.

use bucketrank_core::tree::Tree;

/// The integer columns; `feature` and `missing_left` are -1 in a leaf.
pub(super) fn integer_columns(tree: &Tree) -> [(&'static str, Vec<i64>); 7] {
    let indices = 0..tree.nodes().len() as u32;
    let column = |of: &dyn Fn(u32) -> i64| indices.clone().map(of).collect();
    let feature = |i| tree.split(i).map_or(-1, |split| split.feature.into());
    let missing_left = |i| tree.split(i).map_or(-1, |split| split.missing_left.into());
    [
        ("parent", column(&|i| tree.node(i).parent.into())),
        ("depth", column(&|i| tree.node(i).depth.into())),
        ("feature", column(&feature)),
        ("first_child", column(&|i| tree.children(i).start.into())),
        ("children", column(&|i| tree.children(i).len() as i64)),
        ("rows", column(&|i| tree.node(i).rows.into())),
        ("missing_left", column(&missing_left)),
    ]
}

/// The thresholds of each node; empty for a leaf.
pub(super) fn thresholds(tree: &Tree) -> Vec<Vec<f64>> {
    let splits = (0..tree.nodes().len() as u32).map(|node| tree.split(node));
    splits
        .map(|split| split.map_or(vec![], |split| split.thresholds.to_vec()))
        .collect()
}
