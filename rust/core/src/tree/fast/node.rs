//! [`Node`]: the rows of a large node, sorted by every feature, and how it is divided.

use std::sync::Arc;

use crate::features::Features;
use crate::rankings::Rankings;

use super::super::draw::child_seed;
use super::best::Candidate;
use super::block::Block;
use super::count::Counts;

/// A node that waits to be grown.
pub(super) struct Node {
    pub(super) block: Arc<Block>,
    /// Rows of the block, ascending.
    pub(super) members: Vec<u64>,
    /// The features that are not constant, ascending.
    pub(super) features: Vec<u32>,
    /// For each of those features all members in its order, as value rank (high half) and row (low half).
    pub(super) order: Vec<u64>,
    pub(super) depth: usize,
    pub(super) seed: u64,
}

pub(super) fn rank(entry: u64) -> u32 {
    (entry >> 32) as u32
}

pub(super) fn row(entry: u64) -> usize {
    entry as u32 as usize
}

impl Node {
    /// The node of all the given rows, ascending, with repetitions.
    pub(super) fn root(
        features: &Features,
        rankings: &Rankings,
        rows: Vec<u32>,
        seed: u64,
    ) -> Self {
        let mut all = Half::new(rows.len(), features.columns(), &mut Spare::default());
        for feature in 0..features.columns() {
            let end = all.end();
            let order = &mut all.order[end..end + rows.len()];
            sort_by_rank(features.ranks(feature), &rows, order);
            all.keep(feature as u32);
        }
        all.finish();
        Self {
            members: (0..rows.len() as u64).collect(),
            block: Arc::new(Block::new(rankings, rows)),
            features: all.features,
            order: all.order,
            depth: 0,
            seed,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The members in the order of one of the node's features.
    pub(super) fn sorted(&self, feature: usize) -> &[u64] {
        &self.order[feature * self.len()..(feature + 1) * self.len()]
    }

    /// Moves the node to a block of its own, with only the given columns.
    pub(super) fn repack(&mut self, kept: &[u32]) {
        let members: Vec<u32> = self.members.iter().map(|&entry| entry as u32).collect();
        let mut renumbered = vec![0_u32; self.block.rows.len()];
        for (new, &old) in members.iter().enumerate() {
            renumbered[old as usize] = new as u32;
        }
        for entry in &mut self.order {
            *entry = (*entry >> 32 << 32) | u64::from(renumbered[row(*entry)]);
        }
        self.block = Arc::new(self.block.pack(&members, kept));
        self.members = (0..members.len() as u64).collect();
    }

    /// Divides the node; features that are constant in a child are left out there. The orders are written into spare
    /// memory, and the node's own becomes spare.
    pub(super) fn divide(self, split: &Candidate, spare: &mut Spare) -> [Self; 2] {
        let at = self.features.partition_point(|&f| f < split.feature);
        let sorted = self.sorted(at);
        let left_rows = sorted.partition_point(|&entry| rank(entry) <= split.ranks.0);
        let mut goes_left = vec![false; self.block.rows.len()];
        for &entry in &sorted[..left_rows] {
            goes_left[row(entry)] = true;
        }
        let mut left = Half::new(left_rows, self.features.len(), spare);
        let mut right = Half::new(self.len() - left_rows, self.features.len(), spare);
        for feature in 0..self.features.len() {
            let (mut to_left, mut to_right) = (left.end(), right.end());
            // Both sides are written and one of them advances: no branch that is hard to predict.
            for &entry in self.sorted(feature) {
                let side = usize::from(goes_left[row(entry)]);
                left.order[to_left] = entry;
                right.order[to_right] = entry;
                to_left += side;
                to_right += 1 - side;
            }
            left.keep(self.features[feature]);
            right.keep(self.features[feature]);
        }
        let (to_left, to_right) = self
            .members
            .iter()
            .partition(|&&entry| goes_left[row(entry)]);
        spare.give(self.order);
        let (block, depth, seed) = (self.block, self.depth + 1, self.seed);
        let child = |half: Half, members, child| Self {
            block: Arc::clone(&block),
            members,
            features: half.features,
            order: half.order,
            depth,
            seed: child_seed(seed, child),
        };
        left.finish();
        right.finish();
        [child(left, to_left, 0), child(right, to_right, 1)]
    }

    /// Counts of all members.
    pub(super) fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        totals.reset(&self.block);
        totals.add_all(&self.block, &self.members);
        totals
    }
}

/// Memory of orders that are not needed any more: clearing new memory takes longer than writing most orders.
#[derive(Default)]
pub(super) struct Spare(Vec<Vec<u64>>);

impl Spare {
    /// More would not be asked for again soon.
    const MOST: usize = 4;

    /// As many numbers, whatever they are. What is much larger stays for a larger node.
    fn take(&mut self, size: usize) -> Vec<u64> {
        let fits = |kept: &Vec<u64>| (size..=4 * size).contains(&kept.len());
        match self.0.iter().position(fits) {
            Some(at) => {
                let mut memory = self.0.swap_remove(at);
                memory.truncate(size);
                memory
            }
            None => vec![0; size],
        }
    }

    pub(super) fn give(&mut self, memory: Vec<u64>) {
        if self.0.len() == Self::MOST {
            self.0.remove(0);
        }
        self.0.push(memory);
    }
}

/// The orders of a node while they are written.
struct Half {
    rows: usize,
    features: Vec<u32>,
    order: Vec<u64>,
}

impl Half {
    fn new(rows: usize, features: usize, spare: &mut Spare) -> Self {
        Self {
            rows,
            features: Vec::with_capacity(features),
            // One more, because an entry is written to both sides before it is known where it belongs.
            order: spare.take(rows * features + 1),
        }
    }

    /// Where the next feature's order starts.
    fn end(&self) -> usize {
        self.rows * self.features.len()
    }

    /// Keeps the order just written, unless the feature is constant.
    fn keep(&mut self, feature: u32) {
        let end = self.end();
        let varies = rank(self.order[end]) < rank(self.order[end + self.rows - 1]);
        if varies {
            self.features.push(feature);
        }
    }

    fn finish(&mut self) {
        self.order.truncate(self.end());
    }
}

/// Counting sort of the rows by rank; the entries number them by their place in the list.
fn sort_by_rank(ranks: &[u32], rows: &[u32], order: &mut [u64]) {
    let distinct = ranks.iter().max().map_or(0, |&max| max as usize + 1);
    let mut next = vec![0_u32; distinct + 1];
    for &row in rows {
        next[ranks[row as usize] as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    for (index, &row) in rows.iter().enumerate() {
        let rank = ranks[row as usize];
        let at = &mut next[rank as usize];
        order[*at as usize] = u64::from(rank) << 32 | index as u64;
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn children_keep_the_order_of_every_varying_feature() {
        let x = array![
            [0.0, 9.0, 1.0],
            [3.0, 8.0, 1.0],
            [1.0, 7.0, 1.0],
            [2.0, 7.0, 1.0]
        ];
        let y = array![[1, 2], [2, 1], [1, 2], [1, 1_i64]];
        let features = Features::new(x.view()).unwrap();
        let rankings = Rankings::new(y.view(), None).unwrap();
        let root = Node::root(&features, &rankings, vec![0, 1, 2, 3], 0);
        assert_eq!(root.features, [0, 1]);
        let split = Candidate {
            feature: 0,
            ranks: (1, 2),
            improvement: 0.0,
        };
        let [left, mut right] = root.divide(&split, &mut Spare::default());
        let rows = |node: &Node, feature| -> Vec<u32> {
            let entries = node.sorted(feature).iter();
            entries.map(|&entry| node.block.rows[row(entry)]).collect()
        };
        assert_eq!(rows(&left, 0), [0, 2]);
        assert_eq!(rows(&left, 1), [2, 0]);
        right.repack(&[0]);
        assert_eq!(rows(&right, 0), [3, 1]);
        assert_eq!(rows(&right, 1), [3, 1]);
        assert_eq!(right.block.rows, [1, 3]);
    }
}
