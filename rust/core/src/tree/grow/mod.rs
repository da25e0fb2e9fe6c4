//! Growing trees: stopping rules, the order of nodes, and the choice of the engine (one of several implementations of
//! tree growing that give the same tree).

mod bitset;
mod coded;
mod general;
mod sorted_rows;
mod weighted;

use crate::error::{Error, Result};
use crate::features::{Features, MISSING_RANK};
use crate::pairs::check_label_count;
use crate::rankings::Rankings;
use crate::run::{Interrupt, WorkMeter};

pub(crate) use self::coded::SharedEncoding;
use crate::random::child_seed;
use crate::tree::split::criterion::Consensus;

use self::general::{GeneralSearch, MultiwaySplit};
use crate::tree::missing_side::MissingSide;
use crate::tree::params::{TreeOptions, TreeParams};

/// The feature of a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// A node of a tree in preorder: its children follow it, each with its whole subtree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PreorderNode {
    /// Number of training rows in the node.
    pub(crate) rows: u32,
    pub(crate) weight: f64,
    pub(crate) impurity: f64,
    /// [`LEAF`] for a leaf.
    pub(crate) feature: u32,
    /// Number of thresholds: one fewer than children; 0 for a leaf.
    pub(crate) thresholds: u32,
    /// Side to which rows with a missing value go; unused for a leaf.
    pub(crate) missing: MissingSide,
}

/// A subtree in preorder: its nodes, the thresholds of its inner nodes and the rows of its leaves, each in the order of
/// the nodes. Subtrees are joined by concatenation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Subtree {
    pub(crate) nodes: Vec<PreorderNode>,
    pub(crate) thresholds: Vec<f64>,
    pub(crate) rows: Vec<u32>,
}

/// Input of every engine.
#[derive(Clone, Copy)]
pub(crate) struct GrowTask<'a> {
    pub(crate) encoding: &'a SharedEncoding,
    pub(crate) features: &'a Features,
    pub(crate) rankings: &'a Rankings,
    pub(crate) options: &'a TreeOptions,
    pub(crate) interrupt: &'a Interrupt,
}

/// Grows the tree with the fastest engine that supports the options.
pub(crate) fn grow(
    features: &Features,
    rankings: &Rankings,
    params: &TreeParams,
    consensus: Option<&dyn Consensus>,
    encoding: &SharedEncoding,
    interrupt: &Interrupt,
) -> Result<Subtree> {
    if features.len() != rankings.len() {
        return Err(Error::RowCounts {
            features: features.len(),
            rankings: rankings.len(),
        });
    }
    check_label_count(rankings.labels())?;
    let task = GrowTask {
        encoding,
        features,
        rankings,
        options: params.options(),
        interrupt,
    };
    match coded::grow(&task).or_else(|| weighted::grow(&task)) {
        Some(grown) => grown,
        None => grow_general(&task, consensus),
    }
}

/// A node that is not yet split.
struct PendingNode {
    rows: Vec<u32>,
    depth: usize,
    seed: u64,
}

/// Grows a tree with the general engine.
pub(crate) fn grow_general(
    task: &GrowTask<'_>,
    consensus: Option<&dyn Consensus>,
) -> Result<Subtree> {
    let options = task.options;
    let mut meter = WorkMeter::new(task.interrupt);
    let mut search = GeneralSearch::new(task.features, task.rankings, options, consensus)?;
    let mut grown = Subtree::default();
    let rows = (0..task.rankings.len() as u32)
        .filter(|&row| task.rankings.weights().get(row as usize) > 0.0)
        .collect();
    let mut stack = vec![PendingNode {
        rows,
        depth: 0,
        seed: options.seed,
    }];
    while let Some(node) = stack.pop() {
        meter.add(1000)?;
        let stats = search.count_node(&node.rows)?;
        let is_leaf = options.max_depth.is_some_and(|max| node.depth >= max)
            || node.rows.len() < options.min_samples_split
            || stats.is_pure;
        let split = if is_leaf {
            None
        } else {
            search.find_best_split(&node.rows, &stats, node.seed, &mut meter)?
        };
        grown.nodes.push(PreorderNode {
            rows: node.rows.len() as u32,
            weight: stats.weight,
            impurity: search.impurity(&stats),
            feature: split.as_ref().map_or(LEAF, |split| split.feature as u32),
            thresholds: split
                .as_ref()
                .map_or(0, |split| split.thresholds.len() as u32),
            missing: split
                .as_ref()
                .map_or_else(MissingSide::default, |split| split.missing),
        });
        match split {
            None => grown.rows.extend_from_slice(&node.rows),
            Some(split) => {
                grown.thresholds.extend_from_slice(&split.thresholds);
                let children = partition(task.features, &node.rows, &split);
                // Push in reverse, because preorder continues with the leftmost child.
                for (child, rows) in children.into_iter().enumerate().rev() {
                    stack.push(PendingNode {
                        rows,
                        depth: node.depth + 1,
                        seed: child_seed(node.seed, child),
                    });
                }
            }
        }
    }
    Ok(grown)
}

/// Distributes the rows of a node over its children.
fn partition(features: &Features, rows: &[u32], split: &MultiwaySplit) -> Vec<Vec<u32>> {
    let ranks = features.ranks(split.feature);
    let mut children = vec![Vec::new(); split.last_ranks.len() + 1];
    for &row in rows {
        let rank = ranks[row as usize];
        let child = if rank == MISSING_RANK && split.missing == MissingSide::Left {
            0
        } else {
            split.last_ranks.partition_point(|&last| last < rank)
        };
        children[child].push(row);
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use crate::tree::params::Splitter;
    use ndarray::Array2;

    fn data(generator: &mut Generator, rows: usize, missing: usize) -> (Features, Array2<f64>) {
        let x = Array2::from_shape_fn((rows, 3), |_| generator.below(20) as f64);
        let y = Array2::from_shape_fn((rows, 4), |(row, label)| {
            if generator.below(100) < missing {
                return f64::NAN;
            }
            let signal = x[[row, label % 3]] > 9.0;
            (1 + usize::from(signal) + generator.below(2)) as f64
        });
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        (features, y)
    }

    /// Grows a tree with an engine and with the general one, and compares the two.
    fn assert_agrees_with_general(
        grow: fn(&GrowTask<'_>) -> Option<Result<Subtree>>,
        features: &Features,
        rankings: &Rankings,
        options: &TreeOptions,
    ) {
        let task = GrowTask {
            encoding: &SharedEncoding::default(),
            features,
            rankings,
            options,
            interrupt: &Interrupt::never(),
        };
        let general = grow_general(&task, None).unwrap();
        assert!(general.nodes.len() > 1, "{options:?}");
        assert_eq!(grow(&task), Some(Ok(general)), "{options:?}");
    }

    /// Row counts, not weights, are compared with `min_samples_split` and `min_samples_leaf`.
    #[test]
    fn engines_agree_on_integer_weights_with_limits() {
        let mut generator = Generator::new(3);
        for case in 0..120 {
            let rows = if case % 2 == 0 { 50 } else { 300 };
            let (features, y) = data(&mut generator, rows, 30 * (case % 3));
            let weights: Vec<f64> = (0..rows).map(|_| generator.below(4) as f64).collect();
            let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
            let options = TreeOptions {
                min_samples_split: 2 + generator.below(20),
                min_samples_leaf: 1 + generator.below(5),
                max_features: (case % 4 < 2).then_some(2),
                splitter: [Splitter::BestBinary, Splitter::RandomBinary][case % 5 / 3],
                seed: case as u64,
                ..TreeOptions::default()
            };
            assert_agrees_with_general(coded::grow, &features, &rankings, &options);
        }
    }

    /// Fractional weights, equal fractions whose sums are rounded, and integer weights with a large sum.
    #[test]
    fn engines_agree_on_any_weights() {
        let mut generator = Generator::new(4);
        for case in 0..180 {
            let rows = [20, 90, 400][case % 3];
            let x = Array2::from_shape_fn((rows, 4), |_| {
                if case % 4 == 3 && generator.below(10) < 3 {
                    return f64::NAN;
                }
                generator.below([3, 20, 1000][case % 5 % 3]) as f64
            });
            let y = Array2::from_shape_fn((rows, 5), |(row, label)| {
                if generator.below(100) < 30 * (case / 3 % 3) {
                    return f64::NAN;
                }
                let signal = x[[row, label % 4]] > 9.0;
                (1 + usize::from(signal) + generator.below(2)) as f64
            });
            let features = Features::new(x.view(), &Interrupt::never()).unwrap();
            let kind = generator.below(4);
            let mut weight = || match kind {
                0 => 0.1 + generator.below(1 << 30) as f64 / 1e9,
                1 => [0.0, 0.3, 1.7, 0.9][generator.below(4)],
                2 => 0.1 * generator.below(3) as f64,
                _ => generator.below(1000) as f64,
            };
            let weights: Vec<f64> = (0..rows).map(|_| weight()).collect();
            let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
            let options = TreeOptions {
                min_samples_split: 2 + generator.below(5),
                min_samples_leaf: 1 + generator.below(3),
                max_features: (case % 7 < 2).then_some(2),
                splitter: [Splitter::BestBinary, Splitter::RandomBinary][case % 5 / 3],
                seed: case as u64,
                ..TreeOptions::default()
            };
            assert_agrees_with_general(weighted::grow, &features, &rankings, &options);
        }
    }

    /// Small nodes with many pairs of labels and many cuts, in which bounds decide what is scored.
    #[test]
    fn engines_agree_on_many_pairs_and_missing_features() {
        let mut generator = Generator::new(5);
        for case in 0..60 {
            let (rows, labels, features) = ([30, 64, 200][case % 3], 7 + case % 8, 6);
            let missing = [0, 30, 60][case / 3 % 3];
            let x = Array2::from_shape_fn((rows, features), |_| {
                if generator.below(100) < missing {
                    return f64::NAN;
                }
                generator.below([2, 8, 1000][case / 9 % 3]) as f64
            });
            let y = Array2::from_shape_fn((rows, labels), |(row, label)| {
                let signal = x[[row, label % features]] > 3.0;
                (1 + usize::from(signal) + generator.below(1 + label)) as f64
            });
            let features = Features::new(x.view(), &Interrupt::never()).unwrap();
            let rankings = crate::missing::to_dense_ranks(y.view(), &Interrupt::never()).unwrap();
            let options = TreeOptions {
                min_samples_leaf: 1 + case % 2 * generator.below(4),
                max_features: (case % 7 < 2).then_some(3),
                seed: case as u64,
                ..TreeOptions::default()
            };
            assert_agrees_with_general(coded::grow, &features, &rankings, &options);
        }
    }
}
