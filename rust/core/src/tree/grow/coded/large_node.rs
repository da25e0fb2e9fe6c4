//! [`LargeNode`]: a node that is not yet split, with its rows sorted by every feature.

use std::sync::Arc;

use crate::features::{Features, MISSING_RANK};

use super::column_counts::ColumnCounts;
use super::pair_codes::PairCodes;
use crate::random::child_seed;
use crate::tree::draw::draw_features;
use crate::tree::grow::bitset;
use crate::tree::missing_side::MissingSide;
use crate::tree::split::best_split::SplitCandidate;

/// A node that is not yet split, with its rows in the sorted order of every feature.
pub(crate) struct LargeNode {
    pub(crate) pair_codes: Arc<PairCodes>,
    /// Indices in `pair_codes` of the rows of the node, ascending. The coded engine repeats each by its integer weight.
    pub(crate) members: Vec<u64>,
    /// Indices of the features that are not constant in the node, ascending.
    pub(crate) features: Vec<u32>,
    /// Per feature all members in sorted order. The high half of an entry is the rank of the value, the low half
    /// the row.
    pub(crate) order: Vec<u64>,
    /// Per column of the pair codes the counts of all members; unused, and often empty, for a node that the bitset
    /// engine grows (one of at most 64 rows).
    pub(crate) totals: ColumnCounts,
    pub(crate) depth: usize,
    pub(crate) seed: u64,
}

/// Rank of the value of an entry.
pub(crate) fn rank(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Row of an entry.
pub(crate) fn row(entry: u64) -> usize {
    entry as u32 as usize
}

impl LargeNode {
    /// The root with the given rows, ascending, possibly repeated.
    pub(crate) fn root(
        features: &Features,
        pair_codes: Arc<PairCodes>,
        rows: &[u32],
        seed: u64,
    ) -> Self {
        let size = rows.len() * features.columns();
        let mut all = SortedOrders::new(rows.len(), features.columns(), vec![0; size]);
        for feature in 0..features.columns() {
            let end = all.end();
            let order = &mut all.order[end..end + rows.len()];
            sort_by_rank(features, feature, rows, order);
            all.keep_if_varying(feature as u32);
        }
        all.finish();
        let members: Vec<u64> = rows.iter().map(|&row| u64::from(row)).collect();
        Self {
            totals: count_if_large(&pair_codes, &members),
            pair_codes,
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

    /// The members in the sorted order of one of the node's features.
    pub(crate) fn sorted(&self, feature: usize) -> &[u64] {
        &self.order[feature * self.len()..(feature + 1) * self.len()]
    }

    /// Draws `max_features` of the node's features; returns their indices in [`Self::features`].
    pub(crate) fn draw_features(&self, max_features: Option<usize>) -> Vec<usize> {
        let mut drawn = self.features.clone();
        draw_features(&mut drawn, max_features, self.seed);
        (0..self.features.len())
            .filter(|&index| drawn.binary_search(&self.features[index]).is_ok())
            .collect()
    }

    /// Copies the node's rows into new pair codes with the `kept` columns only, merging equal columns.
    pub(crate) fn repack(&mut self, kept: &[u32]) {
        let mut rows: Vec<u32> = self.members.iter().map(|&entry| entry as u32).collect();
        rows.dedup();
        let mut renumbered = vec![0_u32; self.pair_codes.rows.len()];
        for (new, &old) in rows.iter().enumerate() {
            renumbered[old as usize] = new as u32;
        }
        for entry in self.order.iter_mut().chain(&mut self.members) {
            *entry = (*entry >> 32 << 32) | u64::from(renumbered[row(*entry)]);
        }
        let groups = self.pair_codes.group_equal_columns(&rows, kept);
        self.pair_codes = Arc::new(self.pair_codes.pack(&rows, &groups));
        self.totals = self.totals.select(&groups, &self.pair_codes);
    }

    /// Splits the node into its left and right child, dropping the features that are constant in a child. The larger
    /// child reuses the node's buffer of orders, the smaller child takes a spare buffer.
    pub(crate) fn split(self, split: &SplitCandidate, spare: &mut SpareBuffers) -> [Self; 2] {
        let feature_index = self.features.partition_point(|&f| f < split.feature);
        let rows = self.len();
        let sorted = self.sorted(feature_index);
        let left_values = sorted.partition_point(|&entry| rank(entry) <= split.ranks.0);
        // Missing values are last.
        let left_missing = match split.missing {
            MissingSide::Left => sorted.partition_point(|&entry| rank(entry) != MISSING_RANK),
            MissingSide::Right | MissingSide::Heavier => rows,
        };
        let left_rows = left_values + rows - left_missing;
        let left_is_larger = 2 * left_rows >= rows;
        let mut in_larger = std::mem::take(&mut spare.in_larger);
        // A power of two: masked indices are always in bounds and need no check.
        let min_len = self.pair_codes.rows.len().next_power_of_two();
        in_larger.resize(min_len.max(in_larger.len()), false);
        let mask = in_larger.len() - 1;
        for (at, &entry) in sorted.iter().enumerate() {
            let is_left = at < left_values || at >= left_missing;
            in_larger[row(entry)] = is_left == left_is_larger;
        }
        let larger_rows = left_rows.max(rows - left_rows);
        let mut larger = SortedOrders::new(larger_rows, self.features.len(), self.order);
        let mut smaller = SortedOrders::new(
            rows - larger_rows,
            self.features.len(),
            // One more entry: the loop below writes each entry to both children and advances only one.
            spare.take((rows - larger_rows) * self.features.len() + 1),
        );
        for (feature, &feature_id) in self.features.iter().enumerate() {
            let (mut to_larger, mut to_smaller) = (larger.end(), smaller.end());
            let (in_larger, order) = (
                &in_larger[..=mask],
                &mut larger.order[..(feature + 1) * rows],
            );
            // Branch-free: each entry is written to both children, and only one position advances. Writes never
            // overtake reads.
            for from in feature * rows..order.len() {
                let entry = order[from];
                let side = usize::from(in_larger[row(entry) & mask]);
                order[to_larger] = entry;
                smaller.order[to_smaller] = entry;
                to_larger += side;
                to_smaller += 1 - side;
            }
            larger.keep_if_varying(feature_id);
            smaller.keep_if_varying(feature_id);
        }
        larger.finish();
        smaller.finish();
        let (mut larger_members, mut smaller_members) = (
            Vec::with_capacity(larger_rows),
            Vec::with_capacity(rows - larger_rows),
        );
        for &entry in &self.members {
            if in_larger[row(entry)] {
                larger_members.push(entry);
            } else {
                smaller_members.push(entry);
            }
        }
        spare.in_larger = in_larger;
        let (larger_totals, smaller_totals) =
            split_totals(&self.pair_codes, self.totals, larger_rows, &smaller_members);
        let (pair_codes, depth, seed) = (self.pair_codes, self.depth + 1, self.seed);
        let child = |orders: SortedOrders, members, totals, child| Self {
            pair_codes: Arc::clone(&pair_codes),
            members,
            totals,
            features: orders.features,
            order: orders.order,
            depth,
            seed: child_seed(seed, child),
        };
        let (larger_child, smaller_child) = if left_is_larger { (0, 1) } else { (1, 0) };
        let larger = child(larger, larger_members, larger_totals, larger_child);
        let smaller = child(smaller, smaller_members, smaller_totals, smaller_child);
        if left_is_larger {
            [larger, smaller]
        } else {
            [smaller, larger]
        }
    }
}

/// Counts the members, unless the bitset engine grows the node.
fn count_if_large(pair_codes: &PairCodes, members: &[u64]) -> ColumnCounts {
    if members.len() <= bitset::MAX_ROWS {
        ColumnCounts::default()
    } else {
        ColumnCounts::count(pair_codes, members)
    }
}

/// Splits the totals of a node into those of its larger child, of `larger_rows` rows, and those of its smaller child.
///
/// Only the rows of the smaller child are counted; the larger child gets the difference. Both totals are empty if the
/// bitset engine grows both children.
fn split_totals(
    pair_codes: &PairCodes,
    totals: ColumnCounts,
    larger_rows: usize,
    smaller_members: &[u64],
) -> (ColumnCounts, ColumnCounts) {
    if larger_rows <= bitset::MAX_ROWS {
        return Default::default();
    }
    let smaller = ColumnCounts::count(pair_codes, smaller_members);
    let mut larger = totals;
    larger.subtract(&smaller);
    (larger, smaller)
}

/// Buffers of nodes that are finished, for reuse: zeroing a new allocation takes longer than filling it.
#[derive(Default)]
pub(crate) struct SpareBuffers {
    orders: Vec<Vec<u64>>,
    /// Per row of the pair codes whether it belongs to the larger child of the node that was split last; stale for rows
    /// of other nodes.
    in_larger: Vec<bool>,
}

impl SpareBuffers {
    /// Number of buffers kept; more would rarely be reused.
    const MAX_BUFFERS: usize = 4;

    /// A buffer of `size` entries with any content. Buffers more than four times as large are kept for larger nodes.
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

    /// Keeps a buffer for reuse.
    pub(crate) fn put_back(&mut self, memory: Vec<u64>) {
        if self.orders.len() == Self::MAX_BUFFERS {
            self.orders.remove(0);
        }
        self.orders.push(memory);
    }
}

/// Sorted orders of a node's features, built feature by feature.
struct SortedOrders {
    rows: usize,
    features: Vec<u32>,
    order: Vec<u64>,
}

impl SortedOrders {
    fn new(rows: usize, features: usize, order: Vec<u64>) -> Self {
        Self {
            rows,
            features: Vec::with_capacity(features),
            order,
        }
    }

    /// End of the orders kept so far, where the next feature's order starts.
    fn end(&self) -> usize {
        self.rows * self.features.len()
    }

    /// Keeps the order that was just written, unless the feature is constant.
    fn keep_if_varying(&mut self, feature: u32) {
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

/// Sorts the rows by the rank of a feature (counting sort).
fn sort_by_rank(features: &Features, feature: usize, rows: &[u32], order: &mut [u64]) {
    let ranks = features.ranks(feature);
    let distinct = features.distinct(feature).len();
    // Missing values come after all values.
    let index = |rank: u32| (rank as usize).min(distinct);
    let mut next = vec![0_u32; distinct + 2];
    for &row in rows {
        next[index(ranks[row as usize]) + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    for &row in rows {
        let rank = ranks[row as usize];
        let at = &mut next[index(rank)];
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
    fn children_keep_the_sorted_orders_of_varying_features() {
        let x = array![
            [0.0, 9.0, 1.0],
            [3.0, 8.0, 1.0],
            [1.0, 7.0, 1.0],
            [2.0, 7.0, 1.0]
        ];
        let y = array![[1, 2], [2, 1], [1, 2], [1, 1_i64]];
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let pair_codes = Arc::new(PairCodes::new(&rankings));
        let root = LargeNode::root(&features, pair_codes, &[0, 1, 2, 3], 0);
        assert_eq!(root.features, [0, 1]);
        let split = SplitCandidate {
            feature: 0,
            ranks: (1, 2),
            missing: MissingSide::Heavier,
            improvement: 0.0,
        };
        let [left, mut right] = root.split(&split, &mut SpareBuffers::default());
        let rows = |node: &LargeNode, feature| -> Vec<u32> {
            let entries = node.sorted(feature).iter();
            entries
                .map(|&entry| node.pair_codes.rows[row(entry)])
                .collect()
        };
        assert_eq!(rows(&left, 0), [0, 2]);
        assert_eq!(rows(&left, 1), [2, 0]);
        right.repack(&[0]);
        assert_eq!(rows(&right, 0), [3, 1]);
        assert_eq!(rows(&right, 1), [3, 1]);
        assert_eq!(right.pair_codes.rows, [1, 3]);
    }

    #[test]
    fn orders_release_an_allocation_that_is_much_too_large() {
        for (kept, is_released) in [(1, true), (4, false)] {
            let mut orders = SortedOrders::new(10, 8, vec![0; 80]);
            orders.features.extend(0..kept);
            orders.finish();
            assert_eq!(orders.order.len(), 10 * kept as usize);
            assert_eq!(orders.order.capacity() < 80, is_released, "{kept}");
        }
    }
}
