//! [`LargeNode`]: the rows of a large node, sorted by every feature, and how it is divided.

use std::sync::Arc;

use crate::features::Features;

use super::block::PairCodes;
use super::count::Counts;
use crate::random::child_seed;
use crate::tree::grow::bitset;
use crate::tree::split::candidate::SplitCandidate;

/// A node that is not grown yet.
pub(crate) struct LargeNode {
    pub(crate) block: Arc<PairCodes>,
    /// Rows of the block, ascending; a row that counts several times stands there as often.
    pub(crate) members: Vec<u64>,
    /// The features that are not constant, ascending.
    pub(crate) features: Vec<u32>,
    /// For each of those features all members in its order, as value rank (high half) and row (low half).
    pub(crate) order: Vec<u64>,
    /// Counts of all members; none for a node that is small.
    pub(crate) totals: Counts,
    pub(crate) depth: usize,
    pub(crate) seed: u64,
}

pub(crate) fn rank(entry: u64) -> u32 {
    (entry >> 32) as u32
}

pub(crate) fn row(entry: u64) -> usize {
    entry as u32 as usize
}

impl LargeNode {
    /// The node of the given rows of a block of all rows, ascending, with repetitions.
    pub(crate) fn root(
        features: &Features,
        block: Arc<PairCodes>,
        rows: &[u32],
        seed: u64,
    ) -> Self {
        let size = rows.len() * features.columns();
        let mut all = ChildOrders::new(rows.len(), features.columns(), vec![0; size]);
        for feature in 0..features.columns() {
            let end = all.end();
            let order = &mut all.order[end..end + rows.len()];
            sort_by_rank(features, feature, rows, order);
            all.keep(feature as u32);
        }
        all.finish();
        let members: Vec<u64> = rows.iter().map(|&row| u64::from(row)).collect();
        Self {
            totals: count_large(&block, &members),
            block,
            members,
            features: all.features,
            order: all.order,
            depth: 0,
            seed,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The members in the order of one of the node's features.
    pub(crate) fn sorted(&self, feature: usize) -> &[u64] {
        &self.order[feature * self.len()..(feature + 1) * self.len()]
    }

    /// Moves the node to a block of its own, with only the given columns.
    pub(crate) fn repack(&mut self, kept: &[u32]) {
        let mut rows: Vec<u32> = self.members.iter().map(|&entry| entry as u32).collect();
        rows.dedup();
        let mut renumbered = vec![0_u32; self.block.rows.len()];
        for (new, &old) in rows.iter().enumerate() {
            renumbered[old as usize] = new as u32;
        }
        for entry in self.order.iter_mut().chain(&mut self.members) {
            *entry = (*entry >> 32 << 32) | u64::from(renumbered[row(*entry)]);
        }
        let groups = self.block.equal_columns(&rows, kept);
        self.block = Arc::new(self.block.pack(&rows, &groups));
        self.totals = self.totals.select(&groups, &self.block);
    }

    /// Divides the node; features that are constant in a child are left out there. The larger child takes over the
    /// memory of the orders, the other one gets spare memory.
    pub(crate) fn divide(self, split: &SplitCandidate, spare: &mut SpareBuffers) -> [Self; 2] {
        let at = self.features.partition_point(|&f| f < split.feature);
        let rows = self.len();
        let sorted = self.sorted(at);
        let left_rows = sorted.partition_point(|&entry| rank(entry) <= split.ranks.0);
        let left_stays = 2 * left_rows >= rows;
        let mut stays = std::mem::take(&mut spare.sides);
        // Of a size for which a mask keeps every index within it: no entry's need be checked.
        let enough = self.block.rows.len().next_power_of_two();
        stays.resize(enough.max(stays.len()), false);
        let mask = stays.len() - 1;
        for (at, &entry) in sorted.iter().enumerate() {
            stays[row(entry)] = (at < left_rows) == left_stays;
        }
        let staying = left_rows.max(rows - left_rows);
        let mut larger = ChildOrders::new(staying, self.features.len(), self.order);
        let mut smaller = ChildOrders::new(
            rows - staying,
            self.features.len(),
            // One more, because an entry is written to both sides before it is known where it belongs.
            spare.take((rows - staying) * self.features.len() + 1),
        );
        for (feature, &name) in self.features.iter().enumerate() {
            let (mut to_larger, mut to_smaller) = (larger.end(), smaller.end());
            let (stays, order) = (&stays[..=mask], &mut larger.order[..(feature + 1) * rows]);
            // Both sides are written and one of them advances: no branch that is hard to predict. What is written
            // stays behind what is read.
            for from in feature * rows..order.len() {
                let entry = order[from];
                let side = usize::from(stays[row(entry) & mask]);
                order[to_larger] = entry;
                smaller.order[to_smaller] = entry;
                to_larger += side;
                to_smaller += 1 - side;
            }
            larger.keep(name);
            smaller.keep(name);
        }
        larger.finish();
        smaller.finish();
        let (mut larger_members, mut smaller_members) = (
            Vec::with_capacity(staying),
            Vec::with_capacity(rows - staying),
        );
        for &entry in &self.members {
            if stays[row(entry)] {
                larger_members.push(entry);
            } else {
                smaller_members.push(entry);
            }
        }
        spare.sides = stays;
        let (larger_totals, smaller_totals) =
            divide_totals(&self.block, self.totals, staying, &smaller_members);
        let (block, depth, seed) = (self.block, self.depth + 1, self.seed);
        let child = |half: ChildOrders, members, totals, child| Self {
            block: Arc::clone(&block),
            members,
            totals,
            features: half.features,
            order: half.order,
            depth,
            seed: child_seed(seed, child),
        };
        let (larger_child, smaller_child) = if left_stays { (0, 1) } else { (1, 0) };
        let larger = child(larger, larger_members, larger_totals, larger_child);
        let smaller = child(smaller, smaller_members, smaller_totals, smaller_child);
        if left_stays {
            [larger, smaller]
        } else {
            [smaller, larger]
        }
    }
}

/// Counts of the members of a node, unless it is small.
fn count_large(block: &PairCodes, members: &[u64]) -> Counts {
    if members.len() <= bitset::MAX_ROWS {
        Counts::default()
    } else {
        Counts::of(block, members)
    }
}

/// Counts of the members of the larger child of `larger_rows` rows and of the smaller child of a node with these totals:
/// only the smaller one is counted.
fn divide_totals(
    block: &PairCodes,
    totals: Counts,
    larger_rows: usize,
    smaller_members: &[u64],
) -> (Counts, Counts) {
    if larger_rows <= bitset::MAX_ROWS {
        return Default::default();
    }
    let smaller = Counts::of(block, smaller_members);
    let mut larger = totals;
    larger.subtract(&smaller);
    (larger, smaller)
}

/// Memory that is not needed any more: clearing new memory takes longer than writing most of what comes into it.
#[derive(Default)]
pub(crate) struct SpareBuffers {
    orders: Vec<Vec<u64>>,
    /// For each row of a block whether it goes left, or what was there earlier.
    sides: Vec<bool>,
}

impl SpareBuffers {
    /// More would not be asked for again soon.
    const MOST: usize = 4;

    /// As many numbers, whatever they are. What is much larger stays for a larger node.
    fn take(&mut self, size: usize) -> Vec<u64> {
        let fits = |kept: &Vec<u64>| (size..=4 * size).contains(&kept.len());
        match self.orders.iter().position(fits) {
            Some(at) => {
                let mut memory = self.orders.swap_remove(at);
                memory.truncate(size);
                memory
            }
            None => vec![0; size],
        }
    }

    pub(crate) fn give(&mut self, memory: Vec<u64>) {
        if self.orders.len() == Self::MOST {
            self.orders.remove(0);
        }
        self.orders.push(memory);
    }
}

/// The orders of a node while they are written.
struct ChildOrders {
    rows: usize,
    features: Vec<u32>,
    order: Vec<u64>,
}

impl ChildOrders {
    fn new(rows: usize, features: usize, order: Vec<u64>) -> Self {
        Self {
            rows,
            features: Vec::with_capacity(features),
            order,
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

    /// Truncates after the last order, and releases the allocation when it is more than 4× too large.
    fn finish(&mut self) {
        self.order.truncate(self.end());
        if self.order.capacity() > 4 * self.order.len() {
            self.order.shrink_to_fit();
        }
    }
}

/// Counting sort of the rows by the rank of a feature.
fn sort_by_rank(features: &Features, feature: usize, rows: &[u32], order: &mut [u64]) {
    let ranks = features.ranks(feature);
    let mut next = vec![0_u32; features.distinct(feature).len() + 1];
    for &row in rows {
        next[ranks[row as usize] as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    for &row in rows {
        let rank = ranks[row as usize];
        let at = &mut next[rank as usize];
        order[*at as usize] = u64::from(rank) << 32 | u64::from(row);
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
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
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None).unwrap();
        let block = Arc::new(PairCodes::new(&rankings));
        let root = LargeNode::root(&features, block, &[0, 1, 2, 3], 0);
        assert_eq!(root.features, [0, 1]);
        let split = SplitCandidate {
            feature: 0,
            ranks: (1, 2),
            improvement: 0.0,
        };
        let [left, mut right] = root.divide(&split, &mut SpareBuffers::default());
        let rows = |node: &LargeNode, feature| -> Vec<u32> {
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
