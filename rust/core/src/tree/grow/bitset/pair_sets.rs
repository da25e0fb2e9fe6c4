//! [`PairSets`]: pairs of labels as sets of rows (one bit per row), and hash tables that merge equal sets.

use crate::simd::{dispatch, Kernel};

use crate::tree::grow::coded::large_node::row;
use crate::tree::grow::coded::pair_codes::PairCodes;

/// A column of the bitset engine: for one pair of labels, or several equivalent ones, the rows with each outcome. Rows
/// of `seen` in neither `before` nor `after` tie the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PairSets {
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// The rows that rank both labels; for complete rankings all rows of the node.
    pub(crate) seen: u64,
    pub(crate) multiplicity: i64,
}

impl PairSets {
    /// Reads the columns of the pair codes; bit i is the i-th member.
    pub(crate) fn read(pair_codes: &PairCodes, members: &[u64]) -> Vec<Self> {
        dispatch(ReadPairSets {
            pair_codes,
            members,
        })
    }

    /// The column restricted to a subset of the rows, in a canonical form shared by equivalent columns, and whether it
    /// is impure (the rows disagree) there. Branch-free, because the branches would be hard to predict.
    #[inline(always)]
    fn restrict(&self, rows: u64, complete: bool) -> (Self, bool) {
        let seen = if complete { rows } else { self.seen & rows };
        let (before, after) = (self.before & rows, self.after & rows);
        let tied = seen & !(before | after);
        let (larger, smaller) = (before.max(after), before.min(after));
        // Entropy is symmetric in the outcomes, so they are sorted by their sets as integers, in descending order. With
        // missing labels `tied` keeps its role, to be distinguished from unseen rows.
        let (before, after) = if complete {
            (larger.max(tied), smaller.max(larger.min(tied)))
        } else {
            (larger, smaller)
        };
        // Impure: at least two outcomes are not empty.
        let impure = before != 0 && seen & !before != 0;
        let column = Self {
            before,
            after,
            seen,
            multiplicity: self.multiplicity,
        };
        (column, impure)
    }

    fn hash(&self) -> u64 {
        let mixed = self.before.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ self
                .after
                .wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
                .rotate_left(32)
            ^ self
                .seen
                .wrapping_mul(0x1656_67B1_9E37_79F9)
                .rotate_left(16);
        mixed ^ (mixed >> 29)
    }
}

/// Yields each distinct member, of at most 64 in total, with its bits: one per copy of the member.
#[inline(always)]
pub(crate) fn bits_of_rows(members: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut bit = 0;
    members.chunk_by(|a, b| a == b).map(move |same| {
        let bits = (u64::MAX >> (64 - same.len())) << bit;
        bit += same.len();
        (same[0], bits)
    })
}

struct ReadPairSets<'a> {
    pair_codes: &'a PairCodes,
    members: &'a [u64],
}

impl Kernel for ReadPairSets<'_> {
    type Output = Vec<PairSets>;

    #[inline(always)]
    fn run(self) -> Vec<PairSets> {
        let pair_codes = self.pair_codes;
        let columns = pair_codes.columns();
        let mut before = vec![0_u64; columns];
        let mut after = vec![0_u64; columns];
        let mut seen = vec![0_u64; columns];
        for (member, bits) in bits_of_rows(self.members) {
            let at = row(member) * pair_codes.stride..row(member) * pair_codes.stride + columns;
            let codes = &pair_codes.codes[at.clone()];
            for ((before, after), &code) in before.iter_mut().zip(&mut after).zip(codes) {
                *before |= u64::from(code & 1).wrapping_neg() & bits;
                *after |= u64::from(code >> 4).wrapping_neg() & bits;
            }
            if !pair_codes.seen.is_empty() {
                for (seen, &code) in seen.iter_mut().zip(&pair_codes.seen[at]) {
                    *seen |= u64::from(code).wrapping_neg() & bits;
                }
            }
        }
        (0..columns)
            .map(|k| PairSets {
                before: before[k],
                after: after[k],
                seen: seen[k],
                multiplicity: pair_codes.multiplicity[k],
            })
            .collect()
    }
}

/// A hash table of indices that is cleared in O(1) by incrementing a stamp.
#[derive(Debug, Default)]
struct StampedHashTable {
    /// (stamp, index); a slot with an older stamp is free.
    slots: Vec<(u32, u32)>,
    stamp: u32,
}

impl StampedHashTable {
    /// Removes all indices and makes room for this many.
    fn clear(&mut self, entries: usize) {
        let size = (2 * entries + 2).next_power_of_two();
        if self.slots.len() < size || self.stamp == u32::MAX {
            self.slots.clear();
            self.slots.resize(size.max(64), (0, 0));
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// The stored index that `same` accepts; if there is none, stores and returns `new`.
    fn find(&mut self, hash: u64, new: u32, same: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        // The high bits of a product depend on all bits of its factors.
        let mut at = hash.rotate_left(24) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.0 != self.stamp {
                *slot = (self.stamp, new);
                return new;
            }
            if same(slot.1) {
                return slot.1;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Restricts columns to subsets of rows and merges equal ones.
#[derive(Debug, Default)]
pub(crate) struct ColumnMerger {
    table: StampedHashTable,
    /// Restricted columns: the first `impure` are to be merged, the others are stale.
    buffer: Vec<PairSets>,
    /// Number of impure columns in the buffer.
    impure: usize,
}

impl ColumnMerger {
    /// Appends the impure columns of `from`, restricted to `rows` and merged, to `out`.
    pub(crate) fn restrict(
        &mut self,
        from: &[PairSets],
        rows: u64,
        complete: bool,
        out: &mut Vec<PairSets>,
    ) {
        self.table.clear(from.len());
        self.restrict_into_buffer(from, rows, complete);
        self.merge_into(out);
    }

    /// Does [`Self::restrict_in_place`] for two rows of complete rankings: all impure columns are equal there.
    pub(crate) fn restrict_to_two(columns: &mut Vec<PairSets>, from: usize, rows: u64) {
        let low = rows & rows.wrapping_neg();
        let separates = |set: u64| set & rows != 0 && set & rows != rows;
        let multiplicity = columns[from..].iter().map(|column| {
            column.multiplicity * i64::from(separates(column.before) | separates(column.after))
        });
        let multiplicity = multiplicity.sum();
        if multiplicity > 0 {
            columns.push(PairSets {
                before: rows & !low,
                after: low,
                seen: rows,
                multiplicity,
            });
        }
    }

    /// Does [`Self::restrict`] for the columns starting at index `from`; appends the result to the same vector.
    pub(crate) fn restrict_in_place(
        &mut self,
        columns: &mut Vec<PairSets>,
        from: usize,
        rows: u64,
        complete: bool,
    ) {
        self.table.clear(columns.len() - from);
        self.restrict_into_buffer(&columns[from..], rows, complete);
        self.merge_into(columns);
    }

    /// Restricts columns and keeps the impure ones in the buffer.
    fn restrict_into_buffer(&mut self, from: &[PairSets], rows: u64, complete: bool) {
        if self.buffer.len() <= from.len() {
            self.buffer.resize(from.len() + 1, PairSets::default());
        }
        let buffer = &mut self.buffer[..];
        let mut found = 0;
        for column in from {
            let (column, impure) = column.restrict(rows, complete);
            buffer[found] = column;
            found += usize::from(impure);
        }
        self.impure = found;
    }

    /// Appends the buffered columns to `out`, adding up the multiplicities of equal ones.
    fn merge_into(&mut self, out: &mut Vec<PairSets>) {
        for column in &self.buffer[..self.impure] {
            let new = out.len();
            let same = |at: u32| {
                let other = &out[at as usize];
                (other.before, other.after, other.seen)
                    == (column.before, column.after, column.seen)
            };
            let at = self.table.find(column.hash(), new as u32, same) as usize;
            if at == new {
                out.push(*column);
            } else {
                out[at].multiplicity += column.multiplicity;
            }
        }
    }
}

/// Assigns consecutive indices to distinct sets of rows.
#[derive(Debug, Default)]
pub(crate) struct RowSetIndex {
    table: StampedHashTable,
    sets: Vec<u64>,
}

impl RowSetIndex {
    /// Removes all sets and makes room for this many.
    pub(crate) fn clear(&mut self, entries: usize) {
        self.table.clear(entries);
        self.sets.clear();
    }

    /// Replaces all sets without looking for equal ones.
    pub(crate) fn set_all(&mut self, sets: impl Iterator<Item = u64>) {
        self.sets.clear();
        self.sets.extend(sets);
    }

    /// The index of a set, new if there is no equal set yet.
    pub(crate) fn insert(&mut self, set: u64) -> u32 {
        let hash = set.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let new = self.sets.len() as u32;
        let sets = &self.sets;
        let index = self.table.find(hash, new, |at| sets[at as usize] == set);
        if index == new {
            self.sets.push(set);
        }
        index
    }

    /// All sets since the last clear, by index.
    pub(crate) fn sets(&self) -> &[u64] {
        &self.sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_pairs_are_merged() {
        let column = |before, after| PairSets {
            before,
            after,
            seen: 0,
            multiplicity: 2,
        };
        // Four equivalent columns that separate rows 0 and 1 from row 2, and a pure column.
        let from = [
            column(0b011, 0b100),
            column(0b100, 0b011),
            column(0b011, 0),
            column(0, 0b100),
            column(0b111, 0),
        ];
        let mut out = Vec::new();
        ColumnMerger::default().restrict(&from, 0b111, true, &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].multiplicity, 8);
    }

    #[test]
    fn restricting_to_two_rows_equals_the_general_case() {
        let column = |before, after| PairSets {
            before,
            after,
            seen: 0,
            multiplicity: 3,
        };
        let from = vec![
            column(0b0100, 0b0001),
            column(0b0101, 0b0010),
            column(0b0010, 0b0001),
            column(0b0001, 0b1100),
            column(0b1010, 0b0000),
            column(0b0100, 0b1010),
        ];
        for (rows, number) in [(0b0101, 4), (0b0110, 6), (0b1010, 3), (0b0011, 6)] {
            let mut two = from.clone();
            ColumnMerger::restrict_to_two(&mut two, 0, rows);
            let mut several = from.clone();
            ColumnMerger::default().restrict_in_place(&mut several, 0, rows, true);
            assert_eq!(two, several);
            assert_eq!(two[6].multiplicity, 3 * number, "{rows:b}");
        }
        let mut none = vec![column(0b0101, 0b1010)];
        ColumnMerger::restrict_to_two(&mut none, 0, 0b0101);
        assert_eq!(none.len(), 1);
    }

    #[test]
    fn with_missing_labels_ties_are_distinct_from_unseen() {
        let column = |before, after, seen| PairSets {
            before,
            after,
            seen,
            multiplicity: 1,
        };
        let from = [
            column(0b001, 0b010, 0b011),
            column(0b010, 0b001, 0b011),
            column(0b001, 0b010, 0b111),
            column(0b001, 0, 0b001),
        ];
        let mut out = Vec::new();
        ColumnMerger::default().restrict(&from, 0b111, false, &mut out);
        let sizes: Vec<i64> = out.iter().map(|column| column.multiplicity).collect();
        assert_eq!(sizes, [2, 1]);
    }

    #[test]
    fn a_row_repeated_twice_has_two_bits() {
        let found: Vec<_> = bits_of_rows(&[3, 7, 7, 9]).collect();
        assert_eq!(found, [(3, 0b0001), (7, 0b0110), (9, 0b1000)]);
        let same = [5; 64];
        assert_eq!(bits_of_rows(&same).collect::<Vec<_>>(), [(5, u64::MAX)]);
    }

    #[test]
    fn equal_sets_have_one_index() {
        let mut index = RowSetIndex::default();
        for _ in 0..2 {
            index.clear(3);
            assert_eq!(
                [index.insert(5), index.insert(7), index.insert(5)],
                [0, 1, 0]
            );
            assert_eq!(index.sets(), [5, 7]);
        }
    }

    #[test]
    fn a_cleared_table_is_empty_also_when_its_stamps_run_out() {
        let mut table = StampedHashTable::default();
        table.clear(5);
        for stamp in [1, 2, u32::MAX - 1, u32::MAX, 1] {
            table.stamp = table.stamp.max(stamp);
            for new in 0..5 {
                let hash = u64::from(new).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert_eq!(table.find(hash, new, |_| false), new);
                assert_eq!(table.find(hash, 9, |at| at == new), new);
            }
            table.clear(5);
            assert_eq!(table.find(0, 7, |_| true), 7);
            table.clear(5);
        }
    }
}
