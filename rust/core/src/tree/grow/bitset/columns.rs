//! Pairs of labels as sets of rows, and tables that recognise equal ones.

use crate::simd::{dispatch, Kernel};

use crate::tree::grow::coded::block::PairCodes;
use crate::tree::grow::coded::node::row;

/// The rows of a node that order a pair one way or the other; all other rows that see the pair tie it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PairSets {
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// The rows that rank both labels: all rows of the node, for complete rankings.
    pub(crate) seen: u64,
    pub(crate) multiplicity: i64,
}

impl PairSets {
    /// The columns of a block; bit i stands for the i-th member.
    pub(crate) fn read(block: &PairCodes, members: &[u64]) -> Vec<Self> {
        dispatch(ReadColumns { block, members })
    }

    /// The column in a subset of the rows, in a form that equal divisions share, and whether it is not pure there.
    /// Without branches: which kinds are there is hard to predict.
    #[inline(always)]
    fn restrict(&self, rows: u64, complete: bool) -> (Self, bool) {
        let seen = if complete { rows } else { self.seen & rows };
        let (before, after) = (self.before & rows, self.after & rows);
        let tied = seen & !(before | after);
        let (more, less) = (before.max(after), before.min(after));
        // Entropy does not know which kind is which: they are named by their sets as numbers, and an empty one comes
        // last. Ties stay apart from what is not seen.
        let (before, after) = if complete {
            (more.max(tied), less.max(more.min(tied)))
        } else {
            (more, less)
        };
        // Pure: at most one of the three is not empty.
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

/// Each of at most 64 members once, with its bits: a member that stands there several times has as many.
#[inline(always)]
pub(crate) fn bits_of_rows(members: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut bit = 0;
    members.chunk_by(|a, b| a == b).map(move |same| {
        let bits = (u64::MAX >> (64 - same.len())) << bit;
        bit += same.len();
        (same[0], bits)
    })
}

struct ReadColumns<'a> {
    block: &'a PairCodes,
    members: &'a [u64],
}

impl Kernel for ReadColumns<'_> {
    type Output = Vec<PairSets>;

    #[inline(always)]
    fn run(self) -> Vec<PairSets> {
        let block = self.block;
        let columns = block.columns();
        let mut before = vec![0_u64; columns];
        let mut after = vec![0_u64; columns];
        let mut seen = vec![0_u64; columns];
        for (member, bits) in bits_of_rows(self.members) {
            let at = row(member) * block.stride..row(member) * block.stride + columns;
            let codes = &block.codes[at.clone()];
            for ((before, after), &code) in before.iter_mut().zip(&mut after).zip(codes) {
                *before |= u64::from(code & 1).wrapping_neg() & bits;
                *after |= u64::from(code >> 4).wrapping_neg() & bits;
            }
            if !block.seen.is_empty() {
                for (seen, &code) in seen.iter_mut().zip(&block.seen[at]) {
                    *seen |= u64::from(code).wrapping_neg() & bits;
                }
            }
        }
        (0..columns)
            .map(|k| PairSets {
                before: before[k],
                after: after[k],
                seen: seen[k],
                multiplicity: block.multiplicity[k],
            })
            .collect()
    }
}

/// A table of numbers that is cleared by advancing a stamp.
#[derive(Debug, Default)]
struct HashSlots {
    slots: Vec<(u32, u32)>,
    stamp: u32,
}

impl HashSlots {
    fn clear(&mut self, entries: usize) {
        let size = (2 * entries + 2).next_power_of_two();
        if self.slots.len() < size || self.stamp == u32::MAX {
            self.slots.clear();
            self.slots.resize(size.max(64), (0, 0));
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// The number stored under the hash that `same` accepts, or a free slot that takes `new`.
    fn find(&mut self, hash: u64, new: u32, same: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        // The top bits of a product depend on all bits.
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

/// Restricts columns to subsets of rows and puts equal ones together.
#[derive(Debug, Default)]
pub(crate) struct ColumnMerger {
    slots: HashSlots,
    /// The columns that are to be put together, and behind them what is left of earlier ones.
    buffer: Vec<PairSets>,
    impure: usize,
}

impl ColumnMerger {
    /// Appends the columns of `from`, restricted to `rows`, without pure ones.
    pub(crate) fn restrict(
        &mut self,
        from: &[PairSets],
        rows: u64,
        complete: bool,
        out: &mut Vec<PairSets>,
    ) {
        self.slots.clear(from.len());
        self.read(from, rows, complete);
        self.append(out);
    }

    /// The same for two rows of complete rankings: all pairs that divide them do it alike.
    pub(crate) fn restrict_to_two(columns: &mut Vec<PairSets>, from: usize, rows: u64) {
        let low = rows & rows.wrapping_neg();
        let divides = |set: u64| set & rows != 0 && set & rows != rows;
        let multiplicity = columns[from..].iter().map(|column| {
            column.multiplicity * i64::from(divides(column.before) | divides(column.after))
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

    /// The same for the columns from `from` on, appended behind them.
    pub(crate) fn restrict_in_place(
        &mut self,
        columns: &mut Vec<PairSets>,
        from: usize,
        rows: u64,
        complete: bool,
    ) {
        self.slots.clear(columns.len() - from);
        self.read(&columns[from..], rows, complete);
        self.append(columns);
    }

    /// Restricts columns and keeps those that are not pure.
    fn read(&mut self, from: &[PairSets], rows: u64, complete: bool) {
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

    fn append(&mut self, out: &mut Vec<PairSets>) {
        for column in &self.buffer[..self.impure] {
            let new = out.len();
            let same = |at: u32| {
                let other = &out[at as usize];
                (other.before, other.after, other.seen)
                    == (column.before, column.after, column.seen)
            };
            let at = self.slots.find(column.hash(), new as u32, same) as usize;
            if at == new {
                out.push(*column);
            } else {
                out[at].multiplicity += column.multiplicity;
            }
        }
    }
}

/// Numbers sets of rows in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct RowSetIndex {
    slots: HashSlots,
    sides: Vec<u64>,
}

impl RowSetIndex {
    pub(crate) fn clear(&mut self, entries: usize) {
        self.slots.clear(entries);
        self.sides.clear();
    }

    /// Numbers a set as a new one, whether it is or not.
    pub(crate) fn append(&mut self, side: u64) -> u32 {
        self.sides.push(side);
        self.sides.len() as u32 - 1
    }

    pub(crate) fn number(&mut self, side: u64) -> u32 {
        let hash = side.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let new = self.sides.len() as u32;
        let sides = &self.sides;
        let number = self.slots.find(hash, new, |at| sides[at as usize] == side);
        if number == new {
            self.sides.push(side);
        }
        number
    }

    /// The sets numbered since the table was cleared.
    pub(crate) fn sides(&self) -> &[u64] {
        &self.sides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_divide_alike_are_one_column() {
        let column = |before, after| PairSets {
            before,
            after,
            seen: 0,
            multiplicity: 2,
        };
        // Rows 0 and 1 against row 2, in four spellings; one pure pair.
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
    fn two_rows_are_divided_one_way() {
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
    fn with_missing_labels_ties_are_told_apart_from_unseen() {
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
    fn a_row_that_stands_twice_has_two_bits() {
        let found: Vec<_> = bits_of_rows(&[3, 7, 7, 9]).collect();
        assert_eq!(found, [(3, 0b0001), (7, 0b0110), (9, 0b1000)]);
        let same = [5; 64];
        assert_eq!(bits_of_rows(&same).collect::<Vec<_>>(), [(5, u64::MAX)]);
    }

    #[test]
    fn a_set_is_numbered_once() {
        let mut memo = RowSetIndex::default();
        for _ in 0..2 {
            memo.clear(3);
            assert_eq!([memo.number(5), memo.number(7), memo.number(5)], [0, 1, 0]);
            assert_eq!(memo.sides(), [5, 7]);
        }
    }
}
