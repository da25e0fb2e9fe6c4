//! Compares trees, node by node, with golden files, the stored trees of the reference implementation. Skipped, with a
//! message, if these files are absent.

use std::path::PathBuf;

use bucketrank_core::features::Features;
use bucketrank_core::missing::to_dense_ranks;
use bucketrank_core::run::Interrupt;
use bucketrank_core::tree::{Tree, TreeOptions, TreeParams};
use ndarray::Array2;
use serde_json::Value;

/// The folder with golden files and data, given by `BUCKETRANK_SHARED`; without this variable, `shared` next to the
/// workspace.
fn shared() -> PathBuf {
    std::env::var_os("BUCKETRANK_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    )
}

/// Reads a data file: the features in the columns whose names start with A, and the positions in the other columns.
fn read_dataset(dataset: &str) -> (Array2<f64>, Array2<f64>) {
    let text = std::fs::read_to_string(shared().join(format!("data/{dataset}.csv"))).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let features = header.iter().filter(|name| name.starts_with('A')).count();
    let values: Vec<f64> = lines
        .flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap()))
        .collect();
    let all = Array2::from_shape_vec((values.len() / header.len(), header.len()), values).unwrap();
    let (x, y) = all.view().split_at(ndarray::Axis(1), features);
    (x.to_owned(), y.to_owned())
}

#[test]
fn trees_equal_the_reference() {
    let Ok(text) = std::fs::read_to_string(shared().join("golden/trees.json")) else {
        println!("SKIPPED: no golden trees in {}", shared().display());
        return;
    };
    let golden: Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for case in golden["trees"].as_array().unwrap() {
        let (x, mut y) = read_dataset(case["dataset"].as_str().unwrap());
        // Per row a string with one character per label, which is 1 if the label is missing.
        if let Some(dropped) = case["dropped"].as_array() {
            for (mut row, dropped) in y.rows_mut().into_iter().zip(dropped) {
                for (position, flag) in row.iter_mut().zip(dropped.as_str().unwrap().chars()) {
                    if flag == '1' {
                        *position = f64::NAN;
                    }
                }
            }
        }
        let rankings = to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
        let params = TreeParams::new(TreeOptions {
            min_samples_split: case["min_samples_split"].as_u64().unwrap() as usize,
            ..TreeOptions::default()
        })
        .unwrap();
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let tree = Tree::fit(&features, &rankings, &params, None, &Interrupt::never()).unwrap();
        compared += compare(&tree, case["nodes_preorder"].as_array().unwrap());
    }
    println!("{compared} nodes compared");
    assert!(compared > 100);
}

/// Compares the tree with the golden nodes in preorder; returns their number.
fn compare(tree: &Tree, golden: &[Value]) -> usize {
    assert_eq!(tree.nodes().len(), golden.len());
    let mut stack = vec![0];
    for (at, expected) in golden.iter().enumerate() {
        let index = stack.pop().unwrap();
        let node = tree.node(index);
        assert_eq!(
            u64::from(node.rows),
            expected["n"].as_u64().unwrap(),
            "node {at}"
        );
        assert_eq!(
            u64::from(node.depth),
            expected["depth"].as_u64().unwrap(),
            "node {at}"
        );
        let impurity = expected["impurity"].as_f64().unwrap();
        assert!((node.impurity - impurity).abs() < 1e-9, "node {at}");
        let split = tree.split(index);
        assert_eq!(
            split.map(|split| u64::from(split.feature)),
            expected["feature"].as_u64(),
            "node {at}"
        );
        if let Some(split) = split {
            let threshold = expected["threshold"].as_f64().unwrap();
            assert!((split.thresholds[0] - threshold).abs() < 1e-9, "node {at}");
        }
        stack.extend(tree.children(index).rev());
    }
    golden.len()
}
