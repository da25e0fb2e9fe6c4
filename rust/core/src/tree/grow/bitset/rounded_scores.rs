//! Upper bounds on the scores of the partitions of a node of at most 32 rows into left and right rows, for complete
//! rankings. A column is a pair of labels, or several equivalent ones.
//!
//! The improvement of a partition grows with the sum of `F[c] = c·log2 c` over the counts c of the three outcomes of
//! all columns on both sides. In a node of n rows, the six terms of a column sum to n·log2 n minus the six entropy
//! terms c·log2(n/c), which are small. Here these are rounded down to whole units that fit in a byte, so that 32
//! columns are one vector: per column, the bounds take less than half the time of [`super::partition_bounds`], which
//! serves larger nodes (profile of trees on the letter dataset: 0.3 to 0.5 against 0.8 to 1.1 ns per partition).

use super::row_codes::{RowCodes, BLOCK};
use super::small_score_tables::CountedPair;
use crate::simd::{dispatch_bytes, ByteKernel, ByteVectors};

/// Rows of the largest node whose counts are rounded.
pub(super) const MAX_ROUNDED_ROWS: usize = 32;

/// Rows of the largest node that needs only the first 16 table entries, because the counts of an impure column are
/// below the number of rows.
const MAX_SHORT_ROWS: usize = 16;

/// Largest sum of multiplicities (numbers of pairs that the columns represent): each multiplicity fits in 16 bits, and
/// the sums of all columns fit in 32 bits.
const MAX_PAIRS: i64 = i16::MAX as i64;

/// Sums of one partition, in the lanes of a vector.
type LaneSums = [i32; 8];

/// Number of entropy terms per column: three outcomes on two sides.
const TERMS: f64 = 6.0;

/// Entropy terms in whole units, rounded down, for nodes of a given number of rows.
#[derive(Clone)]
pub(super) struct RoundedTable {
    /// `F` of the node's number of rows: the sum of `F` over the counts of a column whose entropy terms are all 0.
    all_rows: i64,
    /// The unit of the terms, as a multiple of the unit of the exact table of `F`.
    unit: i64,
    /// Entropy terms of counts below [`MAX_ROUNDED_ROWS`].
    entries: [u8; MAX_ROUNDED_ROWS],
}

impl RoundedTable {
    /// Rounds the terms, given the values of `F` from 0 to the node's number of rows. The largest entropy, that of
    /// equal counts, is at most 255 units, so that the terms of a column sum to at most 255.
    pub(super) fn new(values: &[i64]) -> Self {
        let rows = values.len() - 1;
        let all_rows = values[rows];
        let largest_share = (TERMS.ln() / (rows as f64).ln()).min(1.0);
        let unit = ((all_rows as f64 * largest_share) / 254.0).ceil().max(1.0) as i64;
        let mut entries = [0; MAX_ROUNDED_ROWS];
        for (count, (entry, value)) in entries.iter_mut().zip(values).enumerate() {
            let term = (i128::from(all_rows) * count as i128 / rows.max(1) as i128) as i64 - value;
            *entry = (term.max(0) / unit) as u8;
        }
        Self {
            all_rows,
            unit,
            entries,
        }
    }
}

/// Computes upper bounds on sums of `F`.
#[derive(Debug, Default)]
pub(super) struct RoundedScores {
    sums: Vec<LaneSums>,
}

impl RoundedScores {
    /// Upper bound, for each partition of `rows` into one of `left_sets` and the other rows, on the sum of `F` over the
    /// counts on both sides, in units of the exact table; `None` if the machine has no suitable instructions or the
    /// sums may overflow.
    pub(super) fn compute(
        &mut self,
        rows: u64,
        (columns, pairs): (&[CountedPair], i64),
        table: &RoundedTable,
        left_sets: &[u64],
    ) -> Option<impl Iterator<Item = i64> + '_> {
        if pairs > MAX_PAIRS {
            return None;
        }
        self.sums.clear();
        self.sums.resize(left_sets.len(), [0; 8]);
        dispatch_bytes(AddRoundedEntropies {
            rows,
            columns,
            left_sets,
            entries: &table.entries,
            sums: &mut self.sums,
        })?;
        let (all_rows, unit) = (pairs * table.all_rows, table.unit);
        let entropies = self.sums.iter().map(|sums| sums.iter().sum::<i32>());
        Some(entropies.map(move |entropy| all_rows - unit * i64::from(entropy)))
    }
}

struct AddRoundedEntropies<'a> {
    rows: u64,
    columns: &'a [CountedPair],
    left_sets: &'a [u64],
    entries: &'a [u8; MAX_ROUNDED_ROWS],
    sums: &'a mut [LaneSums],
}

impl ByteKernel for AddRoundedEntropies<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, vectors: impl ByteVectors) {
        let (low, high) = self.entries.split_at(16);
        let both_halves = |half: &[u8]| std::array::from_fn(|lane| half[lane % 16]);
        let tables = [
            vectors.load(&both_halves(low)),
            vectors.load(&both_halves(high)),
        ];
        let is_short = self.rows.count_ones() as usize <= MAX_SHORT_ROWS;
        let mut codes = RowCodes::default();
        for columns in self.columns.chunks(BLOCK) {
            codes.read(
                self.rows,
                columns.iter().map(|column| [column.before, column.after]),
            );
            let block = RoundedColumnBlock::new(vectors, (&codes, tables), self.rows, columns);
            let has_ties = columns
                .iter()
                .any(|column| column.before | column.after != self.rows);
            match (is_short, has_ties) {
                (true, false) => block.add_entropies::<true, false>(self.left_sets, self.sums),
                (true, true) => block.add_entropies::<true, true>(self.left_sets, self.sums),
                (false, false) => block.add_entropies::<false, false>(self.left_sets, self.sums),
                (false, true) => block.add_entropies::<false, true>(self.left_sets, self.sums),
            }
        }
    }
}

/// Up to [`BLOCK`] columns. Lanes after the last column have weight 0.
struct RoundedColumnBlock<'a, V: ByteVectors> {
    vectors: V,
    codes: &'a RowCodes,
    /// The two halves of the table of entropy terms, each as a vector for look-ups.
    tables: [V::Bytes; 2],
    /// Numbers of rows before, after and tied.
    totals: [V::Bytes; 3],
    /// Multiplicities of the columns, in the order of `ByteVectors::add_products`.
    weights: [[i16; BLOCK / 2]; 2],
}

impl<'a, V: ByteVectors> RoundedColumnBlock<'a, V> {
    #[inline(always)]
    fn new(
        vectors: V,
        (codes, tables): (&'a RowCodes, [V::Bytes; 2]),
        rows: u64,
        columns: &[CountedPair],
    ) -> Self {
        let [mut before, mut after, mut tied] = [[0_u8; BLOCK]; 3];
        let mut weights = [[0_i16; BLOCK / 2]; 2];
        for (lane, column) in columns.iter().enumerate().take(BLOCK) {
            before[lane] = column.before.count_ones() as u8;
            after[lane] = column.after.count_ones() as u8;
            tied[lane] = rows.count_ones() as u8 - before[lane] - after[lane];
            // `weights[0]` has the weights of lanes 0 to 7 and 16 to 23, `weights[1]` those of the others.
            let at = lane % 8 + lane / 16 * 8;
            weights[lane / 8 % 2][at] = column.multiplicity as i16;
        }
        Self {
            vectors,
            codes,
            tables,
            totals: [
                vectors.load(&before),
                vectors.load(&after),
                vectors.load(&tied),
            ],
            weights,
        }
    }

    /// Adds the entropies of all columns, keeping the counts of the previous left side in registers. `SHORT` if the
    /// first half of the table contains all entries, `TIES` if a column has ties.
    #[inline(always)]
    fn add_entropies<const SHORT: bool, const TIES: bool>(
        &self,
        left_sets: &[u64],
        sums: &mut [LaneSums],
    ) {
        let vectors = self.vectors;
        let [all_before, all_after, all_tied] = self.totals;
        let zero = vectors.splat(0);
        let (mut before, mut after) = (zero, zero);
        let mut counted = 0_u64;
        for (&left_set, sums) in left_sets.iter().zip(sums) {
            if (left_set ^ counted).count_ones() > left_set.count_ones() {
                (before, after, counted) = (zero, zero, 0);
            }
            let (mut added, mut removed) = (left_set & !counted, counted & !left_set);
            while added != 0 {
                let codes = self.codes.first(added);
                before = vectors.add(before, vectors.load(&codes[0]));
                after = vectors.add(after, vectors.load(&codes[1]));
                added &= added - 1;
            }
            while removed != 0 {
                let codes = self.codes.first(removed);
                before = vectors.subtract(before, vectors.load(&codes[0]));
                after = vectors.subtract(after, vectors.load(&codes[1]));
                removed &= removed - 1;
            }
            counted = left_set;
            let of_before = self.terms_of_sides::<SHORT>(before, all_before);
            let of_after = self.terms_of_sides::<SHORT>(after, all_after);
            let mut terms = vectors.add(of_before, of_after);
            if TIES {
                let rows = vectors.splat(left_set.count_ones() as u8);
                let tied = vectors.subtract(vectors.subtract(rows, before), after);
                terms = vectors.add(terms, self.terms_of_sides::<SHORT>(tied, all_tied));
            }
            let added = vectors.add_products(vectors.load_sums(sums), terms, &self.weights);
            vectors.store_sums(added, sums);
        }
    }

    /// Sum of the entropy terms of one outcome on both sides, given its counts on the left side and in all rows.
    #[inline(always)]
    fn terms_of_sides<const SHORT: bool>(&self, left: V::Bytes, all: V::Bytes) -> V::Bytes {
        let vectors = self.vectors;
        let right = vectors.subtract(all, left);
        if SHORT {
            let table = self.tables[0];
            vectors.add(vectors.look_up(table, left), vectors.look_up(table, right))
        } else {
            let tables = self.tables;
            let left = vectors.look_up_long(tables, left);
            vectors.add(left, vectors.look_up_long(tables, right))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use crate::tree::split::entropy::IntegerEntropy;

    /// `F` for nodes of `rows` rows, in units of the exact table.
    fn values(rows: usize) -> Vec<i64> {
        let entropy = IntegerEntropy::new(300, rows as u64);
        let table = entropy.table_for(rows as u64);
        (0..=rows as u64).map(|count| table.get(count)).collect()
    }

    #[test]
    fn terms_of_a_column_fit_in_a_byte() {
        for rows in 2..=MAX_ROUNDED_ROWS {
            let values = values(rows);
            let RoundedTable {
                all_rows,
                unit,
                entries,
            } = RoundedTable::new(&values);
            // The largest sum of terms, by number of terms and sum of counts.
            let mut largest = vec![[0_u32; 7]; rows + 1];
            for terms in 1..=6 {
                for sum in 0..=rows {
                    largest[sum][terms] = (0..=sum.min(rows - 1))
                        .map(|count| u32::from(entries[count]) + largest[sum - count][terms - 1])
                        .max()
                        .unwrap_or_default();
                }
            }
            assert!(largest[rows][6] <= 255, "{rows} rows: {}", largest[rows][6]);
            for (count, &value) in values.iter().enumerate().take(rows) {
                let term = all_rows as f64 * count as f64 / rows as f64 - value as f64;
                let entry = f64::from(entries[count]) * unit as f64;
                assert!(entry <= term + 1.0 && term < entry + unit as f64 + 1.0);
            }
        }
    }

    /// Columns of random sets; every third has two outcomes, the others have three.
    fn random_columns(rows: u64, count: usize, generator: &mut Generator) -> Vec<CountedPair> {
        let mut set = || (0..64).fold(0, |set, _| set << 1 | generator.below(2) as u64);
        let lowest = rows & rows.wrapping_neg();
        (0..count)
            .map(|at| {
                // At least one row before and one row not before.
                let before = (set() & rows & !lowest) | (1 << rows.ilog2());
                let others = rows & !before;
                CountedPair {
                    before,
                    after: if at % 3 == 0 { others } else { set() & others },
                    multiplicity: 1 + at as i64 % 5,
                    starts: [0; 3],
                }
            })
            .collect()
    }

    #[test]
    fn bounds_are_valid_and_close() {
        let mut generator = Generator::new(3);
        for rows in 2..=MAX_ROUNDED_ROWS {
            // The node's rows need not be the first bits.
            let rows_set = (u64::MAX >> (64 - rows)) << (rows % 7);
            let columns = random_columns(rows_set, 5 * rows, &mut generator);
            let left_sets: Vec<u64> = (0..30)
                .map(|_| rows_set & (0..64).fold(0, |set, _| set << 1 | generator.below(2) as u64))
                .filter(|&left| left != 0 && left != rows_set)
                .collect();
            let values = values(rows);
            let mut scores = RoundedScores::default();
            let table = RoundedTable::new(&values);
            let pairs = columns.iter().map(|column| column.multiplicity).sum();
            let Some(bounds) = scores.compute(rows_set, (&columns, pairs), &table, &left_sets)
            else {
                return; // This machine has no vectors of bytes.
            };
            for (bound, &left) in bounds.zip(&left_sets) {
                let exact: i64 = columns
                    .iter()
                    .map(|column| {
                        let tied = rows_set & !(column.before | column.after);
                        let sides = [left, rows_set & !left];
                        let f = |set: u64| values[set.count_ones() as usize];
                        let terms = [column.before, column.after, tied];
                        let terms = terms.map(|set| sides.map(|side| f(set & side)));
                        column.multiplicity * terms.concat().iter().sum::<i64>()
                    })
                    .sum();
                assert!(bound >= exact, "{rows} rows: {bound} < {exact}");
                let excess = 6 * pairs * table.unit;
                assert!(bound - exact < excess, "{rows} rows: {bound} of {exact}");
            }
        }
    }
}
