//! Scores of divisions of at most 64 rows.

use crate::simd::{dispatch, Kernel};

use super::columns::PairSets;
use super::MAX_ROWS;
use crate::tree::grow::coded::score::{ScoreTables, SeenTables};
use crate::tree::split::entropy::Exact;

/// Sums of all divisions of counts below the largest size of a node, squared. Counts of a pair that is not pure are
/// below the node's size.
const SUMS: usize = MAX_ROWS * MAX_ROWS;

/// Where a class of sizes finds its numbers.
struct SizeClass {
    /// Counts of the class have less bits than this.
    bits: u32,
    /// Where `F[i] + F[c - i]`, for a count c that is divided into i and c - i, starts.
    sums: usize,
    /// `F` itself, with one entry more.
    plain: Vec<i64>,
}

/// Tables for the sizes of small nodes.
pub(crate) struct SmallScoreTables {
    /// By class, the logarithm of the size rounded up; empty for missing labels.
    classes: Vec<SizeClass>,
    /// The sums of all classes; behind the last there are [`SUMS`] more, so that each can be read as [`SUMS`] entries.
    sums: Vec<i64>,
    /// The columns of the node at work: first those of two kinds, as many as `two_kinds` says, then those of three.
    prepared: Vec<CountedPair>,
    two_kinds: usize,
    /// Pairs of labels that they stand for.
    pairs: i64,
}

/// A column with its counts in the node.
#[derive(Clone, Copy, Default)]
struct CountedPair {
    before: u64,
    after: u64,
    multiplicity: i64,
    /// Where the table's rows for the numbers of rows before, after and tied start.
    starts: [u16; 3],
}

impl SmallScoreTables {
    pub(crate) fn new(score: &ScoreTables) -> Self {
        let mut sums: Vec<i64> = Vec::new();
        let mut classes = Vec::new();
        if let ScoreTables::Exact(exact) = score {
            for (bits, class) in (0..=MAX_ROWS.ilog2()).zip(exact.classes()) {
                let size = 1 << bits;
                let plain: Vec<i64> = (0..=size as u64).map(|count| class.get(count)).collect();
                let start = sums.len();
                for count in 0..size {
                    sums.extend((0..=count).map(|part| plain[part] + plain[count - part]));
                    sums.resize(start + (count + 1) * size, 0);
                }
                classes.push(SizeClass {
                    bits,
                    sums: start,
                    plain,
                });
            }
        }
        sums.resize(sums.len() + SUMS, 0);
        Self {
            classes,
            sums,
            prepared: Vec::new(),
            two_kinds: 0,
            pairs: 0,
        }
    }

    pub(crate) fn complete(&self) -> bool {
        !self.classes.is_empty()
    }

    /// The sum of a node of `rows` rows over its columns, in the form of [`ScoreTables::sides`]. The node becomes the one at
    /// work.
    pub(crate) fn whole(&mut self, score: &ScoreTables, rows: usize, columns: &[PairSets]) -> i64 {
        dispatch(ScoreNode {
            tables: self,
            score,
            rows,
            columns,
        })
    }

    /// The improvement of each division of the node at work (its rows and its sum) into one of `sides` and the rest.
    pub(crate) fn improvements(
        &self,
        score: &ScoreTables,
        node: (u64, i64),
        columns: &[PairSets],
        sides: &[u64],
        out: &mut Vec<f64>,
    ) {
        out.clear();
        dispatch(ScoreSplits {
            tables: self,
            score,
            node,
            columns,
            sides,
            out,
        });
    }

    /// Prepares the columns of a node of `n` rows and returns its sum.
    #[inline(always)]
    fn prepare(&mut self, n: usize, columns: &[PairSets]) -> i64 {
        let SizeClass { bits, plain, .. } = &self.classes[ceil_log2(n)];
        let f = |count: u32| plain[count as usize];
        let all = f(n as u32);
        self.prepared.resize(columns.len(), CountedPair::default());
        let (mut front, mut back) = (0, columns.len());
        let (mut sum, mut pairs) = (0, 0);
        for column in columns {
            let (before, after) = (column.before.count_ones(), column.after.count_ones());
            let tied = n as u32 - before - after;
            let prepared = CountedPair {
                before: column.before,
                after: column.after,
                multiplicity: column.multiplicity,
                starts: [before, after, tied].map(|count| (count << bits) as u16),
            };
            // Written to both ends, one of which advances: no branch that is hard to predict.
            self.prepared[front] = prepared;
            self.prepared[back - 1] = prepared;
            front += usize::from(tied == 0);
            back -= usize::from(tied != 0);
            sum += column.multiplicity * (all - f(before) - f(after) - f(tied));
            pairs += column.multiplicity;
        }
        self.two_kinds = front;
        self.pairs = pairs;
        sum
    }

    #[inline(always)]
    fn exact(&self, exact: &Exact, (rows, sum): (u64, i64), sides: &[u64], out: &mut Vec<f64>) {
        let n = rows.count_ones() as usize;
        let SizeClass {
            sums: start, plain, ..
        } = &self.classes[ceil_log2(n)];
        let Some(sums) = self.sums[*start..].first_chunk::<SUMS>() else {
            return;
        };
        // The remainder never changes the index; it spares a check of the bounds.
        let f = |start: u16, part: u32| sums[(usize::from(start) + part as usize) % SUMS];
        let unit = exact.unit(n as u64);
        let improvement = |left: u32, total: i64| {
            let whole = self.pairs * (plain[left as usize] + plain[n - left as usize]);
            (sum + total - whole) as f64 / unit
        };
        let (two_kinds, three_kinds) = self.prepared.split_at(self.two_kinds);
        let (couples, last) = sides.as_chunks::<2>();
        for sides in couples {
            let left = sides.map(u64::count_ones);
            let totals = total(two_kinds, three_kinds, (*sides, left), f);
            out.push(improvement(left[0], totals[0]));
            out.push(improvement(left[1], totals[1]));
        }
        for &side in last {
            let left = side.count_ones();
            let totals = total(two_kinds, three_kinds, ([side], [left]), f);
            out.push(improvement(left, totals[0]));
        }
    }
}

/// Sums over the columns for some sides with their numbers of rows: what is read of a column serves all of them.
#[inline(always)]
fn total<const N: usize>(
    two_kinds: &[CountedPair],
    three_kinds: &[CountedPair],
    (sides, left): ([u64; N], [u32; N]),
    f: impl Fn(u16, u32) -> i64,
) -> [i64; N] {
    let mut totals = [0; N];
    for column in two_kinds {
        let [b, a, _] = column.starts;
        for i in 0..N {
            let before = (column.before & sides[i]).count_ones();
            totals[i] += column.multiplicity * (f(b, before) + f(a, left[i] - before));
        }
    }
    for column in three_kinds {
        let [b, a, t] = column.starts;
        for i in 0..N {
            let before = (column.before & sides[i]).count_ones();
            let after = (column.after & sides[i]).count_ones();
            let tied = left[i] - before - after;
            totals[i] += column.multiplicity * (f(b, before) + f(a, after) + f(t, tied));
        }
    }
    totals
}

struct ScoreNode<'a> {
    tables: &'a mut SmallScoreTables,
    score: &'a ScoreTables,
    rows: usize,
    columns: &'a [PairSets],
}

impl Kernel for ScoreNode<'_> {
    type Output = i64;

    #[inline(always)]
    fn run(self) -> i64 {
        let count = |set: u64| set.count_ones();
        match self.score {
            ScoreTables::Exact(_) => self.tables.prepare(self.rows, self.columns),
            ScoreTables::Seen(tables) => self
                .columns
                .iter()
                .map(|column| {
                    let (b, a) = (count(column.before), count(column.after));
                    column.multiplicity * tables.entropy(b, a, count(column.seen))
                })
                .sum(),
        }
    }
}

struct ScoreSplits<'a> {
    tables: &'a SmallScoreTables,
    score: &'a ScoreTables,
    node: (u64, i64),
    columns: &'a [PairSets],
    sides: &'a [u64],
    out: &'a mut Vec<f64>,
}

impl Kernel for ScoreSplits<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.score {
            ScoreTables::Exact(exact) => {
                self.tables.exact(exact, self.node, self.sides, self.out);
            }
            ScoreTables::Seen(tables) => {
                let (rows, sum) = self.node;
                let n = rows.count_ones() as usize;
                for &side in self.sides {
                    let sums = seen_sides(tables, self.columns, side);
                    let left = side.count_ones() as usize;
                    self.out.push(self.score.improvement(n, sum, left, sums));
                }
            }
        }
    }
}

/// Smallest j with `2^j >= rows`.
fn ceil_log2(rows: usize) -> usize {
    rows.next_power_of_two().trailing_zeros() as usize
}

#[inline(always)]
fn seen_sides(tables: &SeenTables, columns: &[PairSets], side: u64) -> (i64, i64) {
    let mut sums = (0, 0);
    for column in columns {
        let part = |set: u64| (set & side).count_ones();
        let rest = |set: u64| (set & !side).count_ones();
        let left = tables.entropy(part(column.before), part(column.after), part(column.seen));
        let right = tables.entropy(rest(column.before), rest(column.after), rest(column.seen));
        sums.0 += column.multiplicity * left;
        sums.1 += column.multiplicity * right;
    }
    sums
}
