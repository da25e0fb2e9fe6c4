//! Scores of divisions of at most 64 rows.

use crate::simd::{dispatch, Kernel};

use super::bits::Column;
use super::score::{Score, SeenTables};
use super::small::MAX_ROWS;

/// Counts of a pair that is not pure in a small node are below this.
const WIDTH: usize = MAX_ROWS;

/// `F[i] + F[c - i]` for a count c that is divided into i and c - i; then `F` itself, with one entry more.
struct Divided {
    /// As many as [`WIDTH`] squared.
    sums: Vec<i64>,
    plain: Vec<i64>,
}

/// Tables for the sizes of small nodes.
pub(super) struct SmallScore {
    /// By class, the logarithm of the size rounded up; empty for missing labels.
    classes: Vec<Divided>,
    columns: Vec<Prepared>,
}

/// A column with its counts in the node.
#[derive(Clone, Copy)]
struct Prepared {
    before: u64,
    after: u64,
    multiplicity: i64,
    /// Where the table's rows for the numbers of rows before, after and tied start.
    starts: [u16; 3],
}

impl SmallScore {
    pub(super) fn new(score: &Score) -> Self {
        let classes = match score {
            Score::Seen(_) => Vec::new(),
            Score::Exact(exact) => (0..=MAX_ROWS.ilog2())
                .zip(exact.classes())
                .map(|(j, class)| {
                    let plain: Vec<i64> = (0..=1 << j).map(|count| class.get(count)).collect();
                    let mut sums = vec![0; WIDTH * WIDTH];
                    for count in 0..(1 << j).min(WIDTH) {
                        for part in 0..=count {
                            sums[count * WIDTH + part] = plain[part] + plain[count - part];
                        }
                    }
                    Divided { sums, plain }
                })
                .collect(),
        };
        Self {
            classes,
            columns: Vec::new(),
        }
    }

    pub(super) fn complete(&self) -> bool {
        !self.classes.is_empty()
    }

    /// The sum of a node of `rows` rows over its columns, in the form of [`Score::sides`].
    pub(super) fn whole(&self, score: &Score, rows: usize, columns: &[Column]) -> i64 {
        let count = |set: u64| set.count_ones();
        match score {
            Score::Exact(_) => {
                let plain = &self.classes[ceil_log2(rows)].plain;
                let f = |count: u32| plain[count as usize];
                columns
                    .iter()
                    .map(|column| {
                        let (b, a) = (count(column.before), count(column.after));
                        let tied = rows as u32 - b - a;
                        column.multiplicity * (plain[rows] - f(b) - f(a) - f(tied))
                    })
                    .sum()
            }
            Score::Seen(tables) => columns
                .iter()
                .map(|column| {
                    let (b, a) = (count(column.before), count(column.after));
                    column.multiplicity * tables.entropy(b, a, count(column.seen))
                })
                .sum(),
        }
    }

    /// The improvement of each division of a node (its rows and its sum) into one of `sides` and the rest.
    pub(super) fn improvements(
        &mut self,
        score: &Score,
        node: (u64, i64),
        columns: &[Column],
        sides: &[u64],
        out: &mut Vec<f64>,
    ) {
        out.clear();
        dispatch(Improvements {
            tables: self,
            score,
            node,
            columns,
            sides,
            out,
        });
    }

    #[inline(always)]
    fn exact(
        &mut self,
        score: &Score,
        (rows, sum): (u64, i64),
        columns: &[Column],
        sides: &[u64],
        out: &mut Vec<f64>,
    ) {
        let n = rows.count_ones() as usize;
        self.columns.clear();
        self.columns.extend(columns.iter().map(|column| {
            let (before, after) = (column.before.count_ones(), column.after.count_ones());
            Prepared {
                before: column.before,
                after: column.after,
                multiplicity: column.multiplicity,
                starts: [before, after, n as u32 - before - after].map(|c| c as u16 * WIDTH as u16),
            }
        }));
        let pairs: i64 = columns.iter().map(|column| column.multiplicity).sum();
        let Divided { sums, plain } = &self.classes[ceil_log2(n)];
        let Some(sums) = sums.first_chunk::<{ WIDTH * WIDTH }>() else {
            return;
        };
        for &side in sides {
            let left = side.count_ones();
            let mut total = 0;
            for column in &self.columns {
                let before = (column.before & side).count_ones();
                let after = (column.after & side).count_ones();
                let tied = left - before - after;
                let [b, a, t] = column.starts;
                // The remainder never changes the index; it spares a check of the bounds.
                let f = |start: u16, part: u32| {
                    sums[(usize::from(start) + part as usize) % (WIDTH * WIDTH)]
                };
                total += column.multiplicity * (f(b, before) + f(a, after) + f(t, tied));
            }
            let whole = pairs * (plain[left as usize] + plain[n - left as usize]);
            out.push(score.improvement(n, sum, left as usize, (whole - total, 0)));
        }
    }
}

struct Improvements<'a> {
    tables: &'a mut SmallScore,
    score: &'a Score,
    node: (u64, i64),
    columns: &'a [Column],
    sides: &'a [u64],
    out: &'a mut Vec<f64>,
}

impl Kernel for Improvements<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.score {
            Score::Exact(_) => {
                self.tables
                    .exact(self.score, self.node, self.columns, self.sides, self.out);
            }
            Score::Seen(tables) => {
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
fn seen_sides(tables: &SeenTables, columns: &[Column], side: u64) -> (i64, i64) {
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
