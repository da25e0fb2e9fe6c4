//! [`Units`]: the units of resampling, each of which is drawn as a whole.

use super::contests::{Contests, Tallies};
use super::OUTCOMES;
use crate::error::{ComparisonError, Error, Result};
use crate::pairs::{pair_count, pair_index};
use crate::rankings::{Rankings, MISSING};
use crate::run::{require_memory, Interrupt, WorkMeter};
use crate::weights::Weights;

/// Sums of whole numbers are exact up to this number: 2⁵³.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Bytes of an entry of a unit: a cell and its weight.
const BYTES_PER_ENTRY: usize = size_of::<u32>() + size_of::<f64>();

/// Units of resampling: comparisons, rankings or groups of comparisons. Each has a number of equal copies and entries,
/// which give weights to cells. A cell is a contest (a compared pair of labels) with one of its three outcomes.
///
/// If all weights are whole numbers, a row of weight w stands for w copies of the row; otherwise each row is one unit
/// that carries its weight. A group is always one unit, with the weights of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// Start of the entries of each unit, and the end of the last.
    starts: Vec<usize>,
    cells: Vec<u32>,
    weights: Vec<f64>,
    copies: Vec<u64>,
    /// See [`Self::has_weights`].
    has_weights: bool,
    /// See [`Self::largest`].
    largest: usize,
}

impl Units {
    fn empty(has_weights: bool) -> Self {
        Self {
            starts: vec![0],
            cells: Vec::new(),
            weights: Vec::new(),
            copies: Vec::new(),
            has_weights,
            largest: 2,
        }
    }

    /// Ends the unit whose entries were pushed last; a unit without entries is left out.
    fn close(&mut self, copies: u64) {
        if self.cells.len() > self.starts.last().copied().unwrap_or(0) {
            self.starts.push(self.cells.len());
            self.copies.push(copies);
        }
    }

    fn push(&mut self, cell: u32, weight: f64) {
        self.cells.push(cell);
        self.weights.push(weight);
    }

    /// One unit per comparison, from whole-number tallies (per contest the number of comparisons with each outcome).
    ///
    /// # Errors
    /// [`ComparisonError::NotWhole`].
    pub fn of_tallies(contests: &Contests, tallies: &Tallies) -> Result<Self> {
        let mut units = Self::empty(false);
        let mut total = 0.0;
        for (contest, tally) in tallies.iter().enumerate() {
            for (outcome, &count) in tally.iter().enumerate() {
                total += count;
                if count.fract() != 0.0 || total > MAX_WHOLE {
                    let [first, second] = contests.pairs()[contest].map(|label| label as usize);
                    return Err(Error::Comparison(ComparisonError::NotWhole {
                        first,
                        second,
                        found: count,
                    }));
                }
                if count > 0.0 {
                    units.push((OUTCOMES * contest + outcome) as u32, 1.0);
                    units.close(count as u64);
                }
            }
        }
        Ok(units)
    }

    /// One unit per row of comparisons; `cells` holds the cell of each row.
    #[must_use]
    pub fn of_rows(cells: &[u32], weights: &Weights) -> Self {
        let whole = is_whole(weights);
        let mut rows: Vec<u32> = (0..cells.len() as u32)
            .filter(|&row| weights.get(row as usize) > 0.0)
            .collect();
        let weight = |row: u32| {
            if whole {
                1.0
            } else {
                weights.get(row as usize)
            }
        };
        let cell = |row: u32| cells[row as usize];
        rows.sort_unstable_by(|&a, &b| cell(a).cmp(&cell(b)).then(weight(a).total_cmp(&weight(b))));
        let mut units = Self::empty(!whole);
        let equal = |a: &u32, b: &u32| cell(*a) == cell(*b) && weight(*a) == weight(*b);
        for run in rows.chunk_by(equal) {
            let copies = run
                .iter()
                .map(|&row| copies_of(weights, row as usize, whole));
            units.push(cell(run[0]), weight(run[0]));
            units.close(copies.sum());
        }
        units
    }

    /// One unit per group of rows; `cells` and `groups` hold the cell and the group of each row.
    #[must_use]
    pub fn of_groups(cells: &[u32], weights: &Weights, groups: &[u32]) -> Self {
        let mut rows: Vec<u32> = (0..cells.len() as u32)
            .filter(|&row| weights.get(row as usize) > 0.0)
            .collect();
        let group = |row: u32| groups[row as usize];
        let cell = |row: u32| cells[row as usize];
        rows.sort_unstable_by_key(|&row| (group(row), cell(row), row));
        let mut units = Self::empty(true);
        for members in rows.chunk_by(|&a, &b| group(a) == group(b)) {
            for equal in members.chunk_by(|&a, &b| cell(a) == cell(b)) {
                let sum = equal.iter().map(|&row| weights.get(row as usize)).sum();
                units.push(cell(equal[0]), sum);
            }
            units.close(1);
        }
        units
    }

    /// One unit per ranking, with the contests of its pairs, all of which must be among `contests`. O(n²) memory per
    /// distinct ranking.
    ///
    /// # Errors
    /// [`Error::Memory`] and [`Error::Interrupted`].
    pub fn of_rankings(
        rankings: &Rankings,
        contests: &Contests,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let weights = rankings.weights();
        let whole = is_whole(weights);
        let cells = PairCells::new(contests);
        let rows = distinct_rows(rankings);
        let ranked = |row: usize| rankings.row(row).iter().filter(|&&p| p != MISSING).count();
        let entries = rows.iter().map(|&(row, _)| pair_count(ranked(row))).sum();
        require_memory::<u8>("the pairs of the rankings", &[entries, BYTES_PER_ENTRY])?;
        let mut units = Self::empty(!whole);
        units.cells.reserve_exact(entries);
        units.weights.reserve_exact(entries);
        let mut meter = WorkMeter::new(interrupt);
        for (row, copies) in rows {
            let labels = ranked(row);
            meter.add(pair_count(labels) as u64)?;
            let weight = if whole { 1.0 } else { weights.get(row) };
            units.largest = units.largest.max(labels);
            cells.for_each(rankings.row(row), |cell| units.push(cell, weight));
            units.close(copies);
        }
        Ok(units)
    }

    /// Whether units carry the weights of their rows. Otherwise all entries have the weight 1, and rows of larger weight
    /// are copies.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        self.has_weights
    }

    /// Number of distinct units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there are no units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Number of copies of each distinct unit.
    #[must_use]
    pub fn copies(&self) -> &[u64] {
        &self.copies
    }

    /// Number of units, all copies counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.copies.iter().sum()
    }

    /// Largest number of labels that a ranking ranks; 2 for comparisons and for groups of comparisons.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.largest
    }

    /// Cells and weights of one unit.
    pub fn entries(&self, unit: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[unit]..self.starts[unit + 1];
        let cells = self.cells[range.clone()].iter();
        cells
            .zip(&self.weights[range])
            .map(|(&cell, &weight)| (cell as usize, weight))
    }

    /// Adds `times` copies of one unit to the tallies.
    #[inline]
    pub fn add(&self, unit: usize, times: f64, tallies: &mut Tallies) {
        for (cell, weight) in self.entries(unit) {
            tallies[cell / OUTCOMES][cell % OUTCOMES] += times * weight;
        }
    }
}

/// Whether all weights are whole numbers with an exact sum.
pub(crate) fn is_whole(weights: &Weights) -> bool {
    match weights {
        Weights::Unit(_) => true,
        Weights::Each(each) => {
            weights.total() <= MAX_WHOLE && each.iter().all(|weight| weight.fract() == 0.0)
        }
    }
}

/// Number of copies that a row stands for: its weight if all weights are `whole` numbers, else 1.
fn copies_of(weights: &Weights, row: usize, whole: bool) -> u64 {
    if whole {
        weights.get(row) as u64
    } else {
        1
    }
}

/// Index of each distinct row of positive weight, and its number of copies, in a canonical order. Unless all weights
/// are whole numbers, rows are copies only if their weights are equal, too.
pub(crate) fn distinct_rows(rankings: &Rankings) -> Vec<(usize, u64)> {
    let weights = rankings.weights();
    let whole = is_whole(weights);
    let mut rows: Vec<usize> = (0..rankings.len())
        .filter(|&row| weights.get(row) > 0.0)
        .collect();
    let weight = |row: usize| if whole { 1.0 } else { weights.get(row) };
    let compare = |&a: &usize, &b: &usize| {
        let rows = rankings.row(a).cmp(rankings.row(b));
        rows.then(weight(a).total_cmp(&weight(b)))
    };
    rows.sort_unstable_by(compare);
    let runs = rows.chunk_by(|a, b| compare(a, b).is_eq());
    let copies = |run: &[usize]| run.iter().map(|&row| copies_of(weights, row, whole)).sum();
    runs.map(|run| (run[0], copies(run))).collect()
}

/// Looks up the cells of the pairs of labels that a ranking ranks.
struct PairCells {
    labels: usize,
    /// Index of the contest of each pair of labels.
    contests: Vec<u32>,
}

impl PairCells {
    fn new(contests: &Contests) -> Self {
        let labels = contests.labels();
        let mut of_pairs = vec![u32::MAX; pair_count(labels)];
        for (contest, &[u, v]) in contests.pairs().iter().enumerate() {
            of_pairs[pair_index(labels, u as usize, v as usize)] = contest as u32;
        }
        Self {
            labels,
            contests: of_pairs,
        }
    }

    /// Calls `each` with the cell of each pair that the row of positions ranks.
    fn for_each(&self, positions: &[u16], mut each: impl FnMut(u32)) {
        for (u, &pu) in positions.iter().enumerate() {
            if pu == MISSING {
                continue;
            }
            for (v, &pv) in positions.iter().enumerate().skip(u + 1) {
                if pv == MISSING {
                    continue;
                }
                let outcome = match pu.cmp(&pv) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                };
                let contest = self.contests[pair_index(self.labels, u, v)];
                each(OUTCOMES as u32 * contest + outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests;
