//! [`SmallScoreTables`]: entropy scores of splits of at most 64 rows. They are sums of `F[c] = c·log2 c`, scaled to
//! integers, over the counts c of the outcomes before, tied and after.

use std::sync::{Arc, OnceLock};

use crate::once::get_or_build;
use crate::simd::{dispatch, Kernel};

use super::pair_sets::PairSets;
use super::rounded_scores::{RoundedScores, RoundedTable, MAX_ROUNDED_ROWS};
use super::MAX_ROWS;
use crate::tree::grow::coded::score_tables::{RoundedEntropyTables, ScoreTables};
use crate::tree::split::entropy::IntegerEntropy;

/// Number of entries of the largest table of sums `F[i] + F[c - i]`: one per count c and part i of it. Both are below
/// [`MAX_ROWS`], because the counts of an impure pair (on which the rows disagree) are below the node's number of rows.
const SUM_TABLE_LEN: usize = MAX_ROWS * MAX_ROWS;

/// `F[c] = c·log2 c` as scaled integers, for nodes of up to `2^bits` rows.
struct SizeTable {
    /// Logarithm of the largest number of rows.
    bits: u32,
    /// Start, in [`SumTables::sums`], of the table of `F[i] + F[c - i]` for counts c split into i and c - i.
    sums: usize,
    /// `F[0]` to `F[2^bits]`.
    values: Vec<i64>,
}

/// Score tables of nodes of at most [`MAX_ROWS`] rows, for complete rankings.
#[derive(Default)]
struct SumTables {
    /// Indexed by the logarithm of the number of rows, rounded up.
    sizes: Vec<SizeTable>,
    /// The tables of sums of all sizes, padded so that [`SUM_TABLE_LEN`] entries can be read from the start of each.
    sums: Vec<i64>,
    /// Indexed by the number of rows, at most [`MAX_ROUNDED_ROWS`].
    rounded: Vec<RoundedTable>,
}

impl SumTables {
    fn new(entropy: &IntegerEntropy) -> Self {
        let (mut sizes, mut sums) = (Vec::new(), Vec::new());
        // The given `entropy` may have been built for fewer rows and then has no tables for larger nodes.
        let entropy = IntegerEntropy::new(entropy.pairs(), MAX_ROWS as u64);
        for (bits, table) in (0..).zip(entropy.tables()) {
            let size = 1 << bits;
            let values: Vec<i64> = (0..=size as u64).map(|count| table.get(count)).collect();
            let start = sums.len();
            for count in 0..size {
                sums.extend((0..=count).map(|part| values[part] + values[count - part]));
                sums.resize(start + (count + 1) * size, 0);
            }
            sizes.push(SizeTable {
                bits,
                sums: start,
                values,
            });
        }
        sums.resize(sums.len() + SUM_TABLE_LEN, 0);
        let rounded = (0..=MAX_ROUNDED_ROWS)
            .map(|rows| RoundedTable::new(&sizes[ceil_log2(rows)].values[..=rows]))
            .collect();
        Self {
            sizes,
            sums,
            rounded,
        }
    }

    /// The tables for these entropies, built once per process for up to `2^15` pairs of labels.
    fn shared(entropy: &IntegerEntropy) -> Arc<Self> {
        static TABLES: [OnceLock<Arc<SumTables>>; 16] = [const { OnceLock::new() }; 16];
        let build = || Arc::new(Self::new(entropy));
        match TABLES.get(entropy.pair_bits() as usize) {
            Some(tables) => Arc::clone(get_or_build(tables, build)),
            None => build(),
        }
    }
}

/// Score tables of small nodes, and the prepared columns of the current node. A column stands for one pair of labels,
/// or several equivalent ones; see [`PairSets`].
pub(crate) struct SmallScoreTables {
    /// Has no tables if labels are missing.
    tables: Arc<SumTables>,
    /// The columns of the current node: first the `two_outcomes` columns without ties, then the others.
    prepared: Vec<CountedPair>,
    two_outcomes: usize,
    /// Number of pairs of labels that the columns represent.
    pairs: i64,
}

/// A column: its sets of rows, and where its counts are in the table of sums.
#[derive(Clone, Copy, Default)]
pub(super) struct CountedPair {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) multiplicity: i64,
    /// Where, in the table of sums, the entries for its counts of before, after and tied start.
    pub(super) starts: [u16; 3],
}

impl SmallScoreTables {
    pub(crate) fn new(scores: &ScoreTables) -> Self {
        let tables = match scores {
            ScoreTables::Complete(entropy) => SumTables::shared(entropy),
            ScoreTables::Incomplete(_) => Arc::default(),
        };
        Self {
            tables,
            prepared: Vec::new(),
            two_outcomes: 0,
            pairs: 0,
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        !self.tables.sizes.is_empty()
    }

    /// Score of a node of `rows` rows, as computed by [`ScoreTables::score_sides`]. The node becomes the current node.
    pub(crate) fn score_node(
        &mut self,
        scores: &ScoreTables,
        rows: usize,
        columns: &[PairSets],
    ) -> i64 {
        dispatch(ScoreSmallNode {
            tables: self,
            scores,
            rows,
            columns,
        })
    }

    /// Improvement of each split of the current node into one of `left_sets` and the other rows. `node` holds the set
    /// of the node's rows and the node's score.
    pub(crate) fn improvements(
        &self,
        scores: &ScoreTables,
        node: (u64, i64),
        columns: &[PairSets],
        left_sets: &[u64],
        out: &mut Vec<f64>,
    ) {
        out.clear();
        dispatch(ScoreSplits {
            tables: self,
            scores,
            node,
            columns,
            left_sets,
            out,
        });
    }

    /// Prepares the columns of a node of `n` rows and returns its score.
    #[inline(always)]
    fn prepare_columns(&mut self, n: usize, columns: &[PairSets]) -> i64 {
        let SizeTable { bits, values, .. } = &self.tables.sizes[ceil_log2(n)];
        let f = |count: u32| values[count as usize];
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
            // Branch-free: each column is written to both ends, and only one end advances.
            self.prepared[front] = prepared;
            self.prepared[back - 1] = prepared;
            front += usize::from(tied == 0);
            back -= usize::from(tied != 0);
            sum += column.multiplicity * (all - f(before) - f(after) - f(tied));
            pairs += column.multiplicity;
        }
        self.two_outcomes = front;
        self.pairs = pairs;
        sum
    }

    /// Returns a function that computes the improvement of a split of the current node, of `n` rows and this score,
    /// from the number of rows on the left and the sum of `F` over the counts of all columns on both sides.
    #[inline(always)]
    fn improvement<'a>(
        &'a self,
        entropy: &IntegerEntropy,
        (n, node_score): (usize, i64),
    ) -> impl Fn(u32, i64) -> f64 + 'a {
        let values = &self.tables.sizes[ceil_log2(n)].values[..=n];
        let denominator = entropy.denominator(n as u64);
        move |left, total| {
            let whole = self.pairs * (values[left as usize] + values[n - left as usize]);
            (node_score + total - whole) as f64 / denominator
        }
    }

    /// Appends to `out` close upper bounds on the improvements that [`Self::improvements`] computes, for complete
    /// rankings. Returns false and appends nothing if the node has too many rows, the rankings have too many pairs, or
    /// the machine has no suitable instructions.
    pub(super) fn bound_improvements(
        &self,
        entropy: &IntegerEntropy,
        (rows, node_score): (u64, i64),
        left_sets: &[u64],
        (scores, out): (&mut RoundedScores, &mut Vec<f64>),
    ) -> bool {
        let n = rows.count_ones() as usize;
        let Some(table) = self.tables.rounded.get(n) else {
            return false;
        };
        let columns = (&self.prepared[..], self.pairs);
        let Some(totals) = scores.compute(rows, columns, table, left_sets) else {
            return false;
        };
        let improvement = self.improvement(entropy, (n, node_score));
        let left_rows = left_sets.iter().map(|set| set.count_ones());
        out.extend(
            left_rows
                .zip(totals)
                .map(|(left, total)| improvement(left, total)),
        );
        true
    }

    #[inline(always)]
    fn score_complete_splits(
        &self,
        entropy: &IntegerEntropy,
        (rows, node_score): (u64, i64),
        left_sets: &[u64],
        out: &mut Vec<f64>,
    ) {
        let n = rows.count_ones() as usize;
        let start = &self.tables.sizes[ceil_log2(n)].sums;
        let Some(sums) = self.tables.sums[*start..].first_chunk::<SUM_TABLE_LEN>() else {
            return;
        };
        // The remainder never changes the index; it avoids a bounds check.
        let f = |start: u16, part: u32| sums[(usize::from(start) + part as usize) % SUM_TABLE_LEN];
        let improvement = self.improvement(entropy, (n, node_score));
        let (two_outcomes, three_outcomes) = self.prepared.split_at(self.two_outcomes);
        let (chunks, last) = left_sets.as_chunks::<2>();
        for left_sets in chunks {
            let left = left_sets.map(u64::count_ones);
            let totals = sum_columns(two_outcomes, three_outcomes, (*left_sets, left), f);
            out.push(improvement(left[0], totals[0]));
            out.push(improvement(left[1], totals[1]));
        }
        for &left_set in last {
            let left = left_set.count_ones();
            let totals = sum_columns(two_outcomes, three_outcomes, ([left_set], [left]), f);
            out.push(improvement(left, totals[0]));
        }
    }
}

/// For each of N left sides with these numbers of rows, the sum of `F` over the counts of all columns on both sides.
/// Each column is read once for all N.
#[inline(always)]
fn sum_columns<const N: usize>(
    two_outcomes: &[CountedPair],
    three_outcomes: &[CountedPair],
    (left_sets, left): ([u64; N], [u32; N]),
    f: impl Fn(u16, u32) -> i64,
) -> [i64; N] {
    let mut totals = [0; N];
    for column in two_outcomes {
        let [b, a, _] = column.starts;
        for i in 0..N {
            let before = (column.before & left_sets[i]).count_ones();
            totals[i] += column.multiplicity * (f(b, before) + f(a, left[i] - before));
        }
    }
    for column in three_outcomes {
        let [b, a, t] = column.starts;
        for i in 0..N {
            let before = (column.before & left_sets[i]).count_ones();
            let after = (column.after & left_sets[i]).count_ones();
            let tied = left[i] - before - after;
            totals[i] += column.multiplicity * (f(b, before) + f(a, after) + f(t, tied));
        }
    }
    totals
}

struct ScoreSmallNode<'a> {
    tables: &'a mut SmallScoreTables,
    scores: &'a ScoreTables,
    rows: usize,
    columns: &'a [PairSets],
}

impl Kernel for ScoreSmallNode<'_> {
    type Output = i64;

    #[inline(always)]
    fn run(self) -> i64 {
        let count = |set: u64| set.count_ones();
        match self.scores {
            ScoreTables::Complete(_) => self.tables.prepare_columns(self.rows, self.columns),
            ScoreTables::Incomplete(tables) => self
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
    scores: &'a ScoreTables,
    node: (u64, i64),
    columns: &'a [PairSets],
    left_sets: &'a [u64],
    out: &'a mut Vec<f64>,
}

impl Kernel for ScoreSplits<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.scores {
            ScoreTables::Complete(entropy) => {
                self.tables
                    .score_complete_splits(entropy, self.node, self.left_sets, self.out);
            }
            ScoreTables::Incomplete(tables) => {
                let (rows, node_score) = self.node;
                let n = rows.count_ones() as usize;
                for &left_set in self.left_sets {
                    let sums = score_incomplete_sides(tables, self.columns, left_set);
                    let left = left_set.count_ones() as usize;
                    self.out
                        .push(self.scores.improvement(n, node_score, left, sums));
                }
            }
        }
    }
}

/// Smallest j with `2^j >= rows`.
fn ceil_log2(rows: usize) -> usize {
    rows.next_power_of_two().trailing_zeros() as usize
}

/// Scores of both sides of a split with missing labels.
#[inline(always)]
fn score_incomplete_sides(
    tables: &RoundedEntropyTables,
    columns: &[PairSets],
    left_set: u64,
) -> (i64, i64) {
    let mut sums = (0, 0);
    for column in columns {
        let part = |set: u64| (set & left_set).count_ones();
        let rest = |set: u64| (set & !left_set).count_ones();
        let left = tables.entropy(part(column.before), part(column.after), part(column.seen));
        let right = tables.entropy(rest(column.before), rest(column.after), rest(column.seen));
        sums.0 += column.multiplicity * left;
        sums.1 += column.multiplicity * right;
    }
    sums
}
