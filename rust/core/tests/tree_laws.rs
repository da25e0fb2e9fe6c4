//! Properties of trees on random data: integer weights equal repeated rows, and trees depend neither on the order of
//! the rows nor on the number of threads. Trees are grown by the coded engine for unit or small integer weights, and by
//! the weighted engine for other weights; both equal a slow reference.

use bucketrank_core::aggregate::{Aggregator, Borda};
use bucketrank_core::error::Error;
use bucketrank_core::features::Features;
use bucketrank_core::missing::to_dense_ranks;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use bucketrank_core::saved::SavedModel as _;
use bucketrank_core::tree::{FittedTree, Tree, TreeOptions, TreeParams};
use ndarray::{Array2, Axis};
use proptest::prelude::*;

/// Features and raw positions (NaN where missing), which are converted to dense ranks.
#[derive(Debug, Clone)]
struct Dataset {
    x: Array2<f64>,
    y: Array2<f64>,
}

impl Dataset {
    fn features(&self) -> Features {
        Features::new(self.x.view(), &Interrupt::never()).unwrap()
    }

    fn rankings(&self, weights: Option<&[f64]>) -> Rankings {
        let dense = to_dense_ranks(self.y.view(), &Interrupt::never()).unwrap();
        let positions =
            Array2::from_shape_fn(self.y.dim(), |(row, label)| match dense.row(row)[label] {
                0 => f64::NAN,
                position => f64::from(position),
            });
        Rankings::new(positions.view(), weights, &Interrupt::never()).unwrap()
    }

    fn select(&self, rows: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), rows),
            y: self.y.select(Axis(0), rows),
        }
    }

    fn fit(&self, options: TreeOptions, weights: Option<&[f64]>) -> Tree {
        let params = TreeParams::new(options).unwrap();
        let rankings = self.rankings(weights);
        Tree::fit(
            &self.features(),
            &rankings,
            &params,
            None,
            &Interrupt::never(),
        )
        .unwrap()
    }
}

/// Random data: features with few or many distinct values, ties, and optionally missing labels and missing values.
fn data(max_rows: usize) -> impl Strategy<Value = Dataset> {
    let shape = (1..=max_rows, 1_usize..5, 2_usize..6);
    (shape, any::<u64>(), 0_u32..3, 0_u32..4, 1_u32..7).prop_map(
        |((rows, columns, labels), seed, missing_labels, missing_features, levels)| {
            let mut state = seed | 1;
            let mut random = move |below: u32| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                ((state >> 33) as u32) % below
            };
            let x = Array2::from_shape_fn((rows, columns), |(_, column)| {
                let distinct = [2, 5, 40, 1_000_000][column % 4];
                let value = f64::from(random(distinct)) / 7.0 - 1.0;
                // Some columns are complete even if other columns have missing values.
                if column as u32 != missing_features && random(10) < 2 * missing_features {
                    f64::NAN
                } else {
                    value
                }
            });
            let y = Array2::from_shape_fn((rows, labels), |_| {
                let position = random(levels);
                if random(10) < 3 * missing_labels {
                    f64::NAN
                } else {
                    f64::from(position)
                }
            });
            Dataset { x, y }
        },
    )
}

/// Mean over the pairs of labels of the entropy of before, tied and after, computed from its definition.
fn entropy(data: &Dataset, rows: &[usize], weights: &[f64]) -> f64 {
    let labels = data.y.ncols();
    let mut sum = 0.0;
    for u in 0..labels {
        for v in u + 1..labels {
            let mut counts = [0.0; 3];
            for &row in rows {
                let (p, q) = (data.y[[row, u]], data.y[[row, v]]);
                if let Some(order) = p.partial_cmp(&q) {
                    counts[(order as i8 + 1) as usize] += weights[row];
                }
            }
            let total: f64 = counts.iter().sum();
            for count in counts {
                if count > 0.0 {
                    sum -= count / total * (count / total).log2();
                }
            }
        }
    }
    sum / (labels * (labels - 1) / 2) as f64
}

/// A split of the slow reference: feature, threshold, and whether missing values go left.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ReferenceSplit {
    feature: usize,
    threshold: f64,
    missing_left: bool,
}

impl ReferenceSplit {
    fn goes_left(&self, data: &Dataset, row: usize) -> bool {
        let value = data.x[[row, self.feature]];
        if value.is_nan() {
            self.missing_left
        } else {
            value <= self.threshold
        }
    }

    fn partition(&self, data: &Dataset, rows: &[usize]) -> (Vec<usize>, Vec<usize>) {
        rows.iter().partition(|&&row| self.goes_left(data, row))
    }
}

/// A node of the slow reference: rows, impurity and split.
type ReferenceNode = (Vec<usize>, f64, Option<ReferenceSplit>);

/// Grows a tree by evaluating every threshold of every feature with fresh counts; returns the nodes in preorder.
fn grow_reference(data: &Dataset, weights: &[f64], options: &TreeOptions) -> Vec<ReferenceNode> {
    let rows = (0..weights.len())
        .filter(|&row| weights[row] > 0.0)
        .collect();
    let mut nodes = Vec::new();
    let mut stack: Vec<(Vec<usize>, usize)> = vec![(rows, 0)];
    while let Some((rows, depth)) = stack.pop() {
        let impurity = entropy(data, &rows, weights);
        let is_leaf = options.max_depth.is_some_and(|max| depth >= max)
            || rows.len() < options.min_samples_split
            || impurity == 0.0;
        let split = if is_leaf {
            None
        } else {
            find_reference_split(data, weights, options, &rows, impurity)
        };
        if let Some(split) = split {
            let (left, right) = split.partition(data, &rows);
            stack.push((right, depth + 1));
            stack.push((left, depth + 1));
        }
        nodes.push((rows, impurity, split));
    }
    nodes
}

/// The best split of the slow reference; `None` if no split leaves enough rows on both sides.
fn find_reference_split(
    data: &Dataset,
    weights: &[f64],
    options: &TreeOptions,
    rows: &[usize],
    impurity: f64,
) -> Option<ReferenceSplit> {
    let weight = |rows: &[usize]| rows.iter().map(|&row| weights[row]).sum::<f64>();
    let mut best: Option<(f64, ReferenceSplit)> = None;
    for feature in 0..data.x.ncols() {
        for mut split in list_reference_splits(data, rows, feature) {
            let (left, right) = split.partition(data, rows);
            if left.len().min(right.len()) < options.min_samples_leaf {
                continue;
            }
            let below = weight(&left) * entropy(data, &left, weights)
                + weight(&right) * entropy(data, &right, weights);
            let improvement = impurity - below / weight(rows);
            if best.is_none_or(|(best, _)| improvement > best + 1e-12) {
                if rows.iter().all(|&row| !data.x[[row, feature]].is_nan()) {
                    split.missing_left = weight(&left) > weight(&right);
                }
                best = Some((improvement, split));
            }
        }
    }
    best.map(|(_, split)| split)
}

/// Candidate splits of a feature: missing values on the right, then on the left, by ascending threshold. An infinite
/// threshold separates values from missing ones.
fn list_reference_splits(data: &Dataset, rows: &[usize], feature: usize) -> Vec<ReferenceSplit> {
    let present = |row: &usize| Some(data.x[[*row, feature]]).filter(|value| !value.is_nan());
    let mut values: Vec<f64> = rows.iter().filter_map(present).collect();
    let has_missing = values.len() < rows.len();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let between = values.windows(2).map(|w| f64::midpoint(w[0], w[1]));
    let mut candidates: Vec<(f64, bool)> = between.clone().map(|t| (t, false)).collect();
    if has_missing && !values.is_empty() {
        candidates.push((f64::INFINITY, false));
        candidates.extend(between.map(|t| (t, true)));
    }
    let split = |(threshold, missing_left)| ReferenceSplit {
        feature,
        threshold,
        missing_left,
    };
    candidates.into_iter().map(split).collect()
}

/// Asserts that a tree equals the reference, node by node.
fn assert_equals_reference(
    tree: &Tree,
    nodes: &[ReferenceNode],
) -> std::result::Result<(), TestCaseError> {
    prop_assert_eq!(tree.nodes().len(), nodes.len());
    let mut stack = vec![0];
    for (rows, impurity, split) in nodes {
        let index = stack.pop().unwrap();
        let mut found: Vec<usize> = tree.node_rows(index).iter().map(|&r| r as usize).collect();
        found.sort_unstable();
        prop_assert_eq!(&found, rows);
        prop_assert!((tree.node(index).impurity - impurity).abs() < 1e-9);
        let own = tree.split(index).map(|s| ReferenceSplit {
            feature: s.feature as usize,
            threshold: s.thresholds[0],
            missing_left: s.missing_left,
        });
        prop_assert_eq!(own, *split);
        stack.extend(tree.children(index).rev());
    }
    Ok(())
}

/// Feature of the split and whether missing values go left, thresholds, number of rows and impurity of a node.
type NodeShape = (Option<(u32, bool)>, Vec<f64>, u32, f64);

fn shape(tree: &Tree) -> Vec<NodeShape> {
    (0..tree.nodes().len() as u32)
        .map(|index| {
            let split = tree.split(index);
            let node = tree.node(index);
            (
                split.map(|split| (split.feature, split.missing_left)),
                split.map_or(Vec::new(), |split| split.thresholds.to_vec()),
                node.rows,
                node.impurity,
            )
        })
        .collect()
}

fn options(min_samples_split: usize, min_samples_leaf: usize) -> TreeOptions {
    TreeOptions {
        min_samples_split,
        min_samples_leaf,
        ..TreeOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn coded_engine_equals_the_reference(data in data(130), split in 2_usize..9, leaf in 1_usize..4) {
        let options = options(split, leaf);
        let weights = vec![1.0; data.x.nrows()];
        assert_equals_reference(&data.fit(options, None), &grow_reference(&data, &weights, &options))?;
    }

    #[test]
    fn weighted_trees_equal_the_reference(
        data in data(40),
        seed in any::<u64>(),
        fractional in any::<bool>(),
        split in 2_usize..5,
    ) {
        let draw = |row: usize| (seed.rotate_left(row as u32 * 7) % 4) as f64;
        let scale = if fractional { 0.3 } else { 1.0 };
        let mut weights: Vec<f64> = (0..data.x.nrows()).map(|row| draw(row) * scale).collect();
        weights[0] = 2.0 * scale;
        let options = TreeOptions { max_depth: Some(5), ..options(split, 1) };
        assert_equals_reference(&data.fit(options, Some(&weights)), &grow_reference(&data, &weights, &options))?;
    }

    #[test]
    fn integer_weights_equal_repetitions(data in data(60), seed in any::<u64>()) {
        let draw = |row: usize| (seed.rotate_left(row as u32 * 5) % 3) as usize;
        let mut counts: Vec<usize> = (0..data.x.nrows()).map(draw).collect();
        counts[0] = 2;
        let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let repeated: Vec<usize> = (0..counts.len())
            .flat_map(|row| std::iter::repeat_n(row, counts[row]))
            .collect();
        let weighted = data.fit(options(2, 1), Some(&weights));
        let unweighted = data.select(&repeated).fit(options(2, 1), None);
        let without_rows = |tree: &Tree| -> Vec<_> {
            let nodes = shape(tree).into_iter().zip(tree.nodes());
            nodes.map(|((feature, thresholds, _, impurity), node)| (feature, thresholds, impurity, node.weight)).collect()
        };
        prop_assert_eq!(without_rows(&weighted), without_rows(&unweighted));
    }

    #[test]
    fn trees_do_not_depend_on_the_order_of_rows(data in data(150), seed in any::<u64>()) {
        let mut rows: Vec<usize> = (0..data.x.nrows()).collect();
        rows.sort_by_key(|&row| (row as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
        let tree = data.fit(options(2, 1), None);
        let permuted = data.select(&rows).fit(options(2, 1), None);
        prop_assert_eq!(shape(&tree), shape(&permuted));
    }

    #[test]
    fn saved_trees_round_trip_and_damage_is_detected(data in data(40), at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
        let tree = data.fit(options(2, 1), None);
        let borda = Aggregator::Borda(Borda::default());
        let params = TreeParams::new(options(2, 1)).unwrap();
        let fitted = FittedTree::fit(&data.features(), data.rankings(None), &params, &borda, &Interrupt::never()).unwrap();
        prop_assert_eq!(fitted.tree(), &tree);
        let mut bytes = fitted.to_bytes();
        prop_assert_eq!(&FittedTree::from_bytes(&bytes).unwrap(), &fitted);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(FittedTree::from_bytes(&bytes).is_err());
        prop_assert!(FittedTree::from_bytes(&bytes[..at]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn trees_do_not_depend_on_the_number_of_threads(data in data(130), max_features in prop::option::of(1_usize..4)) {
        // Enough rows for the parallel path, and enough distinct values for a deep tree.
        let rows: Vec<usize> = (0..3000).map(|i| (i * 31) % data.x.nrows()).collect();
        let mut data = data.select(&rows);
        for (row, mut values) in data.x.rows_mut().into_iter().enumerate() {
            values[0] += ((row * 37) % 101) as f64 / 50.0;
        }
        let fit = |n_jobs| data.fit(TreeOptions { n_jobs, max_features, seed: 5, ..options(2, 1) }, None);
        let one = fit(1);
        prop_assert_eq!(&fit(2), &one);
        prop_assert_eq!(&fit(3), &one);
    }
}

#[test]
fn growing_stops_when_interrupted() {
    let x = Array2::from_shape_fn((500, 3), |(i, j)| ((i * (31 + j)) % 97) as f64);
    let y = Array2::from_shape_fn((500, 4), |(i, j)| ((i * (j + 3)) % 5) as f64);
    let data = Dataset { x, y };
    let weights = vec![2.0; 500];
    for (n_jobs, weights) in [(1, None), (1, Some(weights.as_slice())), (2, None)] {
        let params = TreeParams::new(TreeOptions {
            n_jobs,
            ..TreeOptions::default()
        })
        .unwrap();
        let rankings = data.rankings(weights);
        let interrupt = Interrupt::new();
        interrupt.request();
        let interrupted = Tree::fit(&data.features(), &rankings, &params, None, &interrupt);
        assert_eq!(interrupted.unwrap_err(), Error::Interrupted);
    }
}

/// Large nodes whose features do not predict the rankings, so that the coded engine's bounds prune no split.
#[test]
fn engines_agree_on_features_with_many_values() {
    let mut state = 7_u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 33) as u32) % below
    };
    for missing in [0, 30] {
        let x = Array2::from_shape_fn((3000, 3), |(_, column)| {
            f64::from(random([1 << 30, 700, 150][column]))
        });
        let y = Array2::from_shape_fn((3000, 6), |_| {
            let position = f64::from(random(5));
            if random(100) < missing {
                f64::NAN
            } else {
                position
            }
        });
        let data = Dataset { x, y };
        let fit = |n_jobs, weights| {
            let limits = TreeOptions {
                n_jobs,
                max_depth: Some(6),
                ..TreeOptions::default()
            };
            data.fit(limits, weights)
        };
        // Weights too large to expand into repeated rows select the weighted engine.
        let weights = vec![8.0; 3000];
        let weighted = fit(1, Some(&weights));
        let coded = fit(1, None);
        assert_eq!(fit(2, None), coded);
        assert!(shape(&coded).len() > 30);
        assert_same_shape(&coded, &weighted);
    }
}

/// Asserts that both trees have the same splits and node sizes; impurities may differ by rounding.
fn assert_same_shape(coded: &Tree, weighted: &Tree) {
    let (coded, weighted) = (shape(coded), shape(weighted));
    assert_eq!(coded.len(), weighted.len());
    for (coded, weighted) in coded.iter().zip(&weighted) {
        assert_eq!(
            (coded.0, &coded.1, coded.2),
            (weighted.0, &weighted.1, weighted.2)
        );
        assert!((coded.3 - weighted.3).abs() < 1e-9);
    }
}

/// With more than 128 pairs, the rows of pair codes (one byte per pair of labels) are padded to a larger multiple.
#[test]
fn engines_agree_on_many_labels() {
    for (labels, missing) in [(17, 0), (20, 0), (20, 9)] {
        let x = Array2::from_shape_fn((300, 2), |(row, column)| ((row * (7 + column)) % 61) as f64);
        let y = Array2::from_shape_fn((300, labels), |(row, label)| {
            let code = (row % 61) / 20 * 11 + label * (3 + (row % 61) / 30) + row * label / 50;
            if missing > 0 && (row + label) % missing == 0 {
                f64::NAN
            } else {
                (1 + code % labels) as f64
            }
        });
        let data = Dataset { x, y };
        let coded = data.fit(TreeOptions::default(), None);
        // Weights too large to expand into repeated rows select the weighted engine.
        let weighted = data.fit(TreeOptions::default(), Some(&[8.0; 300]));
        assert!(coded.leaves() > 3);
        assert_same_shape(&coded, &weighted);
    }
}
