//! The engine for trees with binary splits, the entropy criterion and any weights.
//!
//! Nodes are split on the matrix of pair codes (one byte per row and pair of labels), as in the coded engine (for unit
//! and small integer weights), but sums of weights take the place of counts. Weights are added in the same order as in
//! the general engine (for all options), and candidates that are equally good up to the rounding of logarithms are
//! scored exactly, so the tree equals that of the general engine. All nodes are [`LargeNode`]s: only the coded engine
//! passes small nodes on to another engine.

mod search;
mod sums;

use std::sync::Arc;

use crate::error::Result;
use crate::run::WorkMeter;
use crate::simd::{dispatch, Kernel};
use crate::weights::Weights;

use self::search::{estimate_error, WeightedBuffers, WeightedSearch};
use self::sums::WeightedSums;
use crate::pairs::pair_count;
use crate::tree::grow::coded::large_node::{row, LargeNode, SpareBuffers};
use crate::tree::grow::coded::{is_supported, threshold_of};
use crate::tree::grow::{GrowTask, PreorderNode, Subtree, LEAF};
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::SplitCandidate;
use crate::tree::split::criterion::EntropyScore;

/// Grows the tree on one thread; `None` if this engine does not support the options or the size of the data.
pub(crate) fn grow(task: &GrowTask<'_>) -> Option<Result<Subtree>> {
    let Weights::Each(weights) = task.rankings.weights() else {
        return None;
    };
    if !is_supported(task) {
        return None;
    }
    let rows: Vec<u32> = (0..task.rankings.len() as u32)
        .filter(|&row| weights[row as usize] > 0.0)
        .collect();
    let root = LargeNode::root(
        task.features,
        Arc::clone(&task.encoding.get(task.rankings).pair_codes),
        &rows,
        task.options.seed,
    );
    let logarithms = rows.iter().map(|&row| weights[row as usize].log2().abs());
    let total = task.rankings.weights().total().log2().abs();
    let grower = WeightedGrower {
        task,
        weights,
        error: estimate_error(logarithms.fold(total, f64::max)),
        entropy: EntropyScore::new(task.rankings),
    };
    Some(grower.grow(root))
}

struct WeightedGrower<'a> {
    task: &'a GrowTask<'a>,
    weights: &'a [f64],
    /// Bound on the error of estimated improvements.
    error: f64,
    entropy: EntropyScore,
}

impl WeightedGrower<'_> {
    fn grow(&self, root: LargeNode) -> Result<Subtree> {
        let mut out = Subtree::default();
        let mut meter = WorkMeter::new(self.task.interrupt);
        let mut buffers = WeightedBuffers::default();
        let mut sums = WeightedSums::default();
        let mut spare = SpareBuffers::default();
        let mut stack = vec![root];
        while let Some(mut node) = stack.pop() {
            meter.add(1000)?;
            let is_pure = self.count_node(&mut node, &mut sums);
            if let Some(split) =
                self.split_node(&node, &sums, is_pure, (&mut buffers, &mut meter), &mut out)?
            {
                let [left, right] = node.split(&split, &mut spare);
                stack.push(right);
                stack.push(left);
            } else {
                spare.put_back(node.order);
            }
        }
        Ok(out)
    }

    /// Adds up the weights of the node's rows, drops the pure columns (pairs of labels on which all rows agree) if
    /// there are many, and returns whether all columns are pure.
    fn count_node(&self, node: &mut LargeNode, sums: &mut WeightedSums) -> bool {
        let add = |node: &LargeNode, sums: &mut WeightedSums| {
            dispatch(AddMembers {
                node,
                weights: self.weights,
                sums,
            });
        };
        add(node, sums);
        let columns = node.pair_codes.columns() as u32;
        let impure: Vec<u32> = (0..columns)
            .filter(|&column| sums.is_impure(column as usize))
            .collect();
        if !impure.is_empty() && 4 * impure.len() <= 3 * columns as usize {
            node.repack(&impure);
            add(node, sums);
        }
        impure.is_empty()
    }

    /// Appends a node to `out` and returns its split; `None` for a leaf.
    fn split_node(
        &self,
        node: &LargeNode,
        sums: &WeightedSums,
        is_pure: bool,
        (buffers, meter): (&mut WeightedBuffers, &mut WorkMeter),
        out: &mut Subtree,
    ) -> Result<Option<SplitCandidate>> {
        let options = self.task.options;
        // Per column, the number of pairs of labels that it stands for, and the weights before, tied and after.
        let multiplicities = node.pair_codes.multiplicity.iter().copied();
        let columns = multiplicities.zip(sums.triples());
        let node_score = self.entropy.score(sums.weight, sums.weight, columns);
        let impurity = self.entropy.impurity(sums.weight, node_score);
        let is_leaf = options.max_depth.is_some_and(|max| node.depth >= max)
            || node.len() < options.min_samples_split
            || is_pure;
        let split = if is_leaf {
            None
        } else {
            let search = WeightedSearch {
                task: self.task,
                node,
                weights: self.weights,
                entropy: &self.entropy,
                error: self.error,
                pairs: pair_count(self.task.rankings.labels()) as f64,
                weight: sums.weight,
                node_score,
                impurity,
            };
            search.find_best_split(buffers, meter)?
        };
        out.nodes.push(PreorderNode {
            rows: node.len() as u32,
            weight: sums.weight,
            impurity,
            feature: split.map_or(LEAF, |split| split.feature),
            thresholds: u32::from(split.is_some()),
            missing: split.map_or(MissingSide::Heavier, |split| split.missing),
        });
        if let Some(split) = &split {
            out.thresholds.push(threshold_of(self.task, node, split));
        } else {
            // A member is an entry whose row is an index in the pair codes.
            let rows = node.members.iter();
            out.rows
                .extend(rows.map(|&entry| node.pair_codes.rows[row(entry)]));
        }
        Ok(split)
    }
}

/// Kernel that adds up the members of a node, in ascending order.
struct AddMembers<'a> {
    node: &'a LargeNode,
    weights: &'a [f64],
    sums: &'a mut WeightedSums,
}

impl Kernel for AddMembers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pair_codes = &*self.node.pair_codes;
        self.sums.reset(pair_codes.columns());
        for &entry in &self.node.members {
            self.sums.add(pair_codes, self.weights, entry);
        }
    }
}
