//! [`Evidence`]: the statistics of a set of rankings that aggregators read.

use super::row_shares::RowShares;
use crate::error::{Error, Result};
use crate::pairs::{PairCounts, PairOrderMatrix, MAX_PAIR_LABELS};
use crate::rankings::{Rankings, MISSING};
use crate::stop::StopFlag;
use crate::weights::Weights;

/// How much of the rankings a method needs. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needs {
    /// The pair order matrix C.
    PairOrder,
    /// Also the weights of before and tied for each pair.
    Counts,
    /// Also what depends on whole rows: [`RowShares`].
    Rankings,
}

/// Statistics of a set of rankings, in buffers that a new set overwrites.
#[derive(Debug, Clone)]
pub struct Evidence {
    pair_order: PairOrderMatrix,
    counts: Option<PairCounts>,
    shares: Option<RowShares>,
    few: FewRows,
    rows: Vec<usize>,
}

impl Evidence {
    /// Buffers for rankings of so many labels; before the first [`Self::fill`], evidence of no rankings.
    ///
    /// # Errors
    /// [`Error::TooFewLabels`] below two labels, [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`].
    pub fn new(labels: usize, needs: Needs) -> Result<Self> {
        if labels < 2 {
            return Err(Error::TooFewLabels { found: labels });
        }
        if labels > MAX_PAIR_LABELS {
            return Err(Error::TooManyLabels {
                found: labels,
                limit: MAX_PAIR_LABELS,
            });
        }
        let mut evidence = Self::from_pair_order(PairOrderMatrix::undecided(labels));
        if needs >= Needs::Counts {
            evidence.counts = Some(PairCounts::empty(labels)?);
        }
        if needs >= Needs::Rankings {
            evidence.shares = Some(RowShares::empty(labels));
        }
        Ok(evidence)
    }

    /// Evidence of all rows of the rankings.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`].
    pub fn from_rankings(rankings: &Rankings, needs: Needs) -> Result<Self> {
        Self::from_rankings_until(rankings, needs, &StopFlag::default())
    }

    /// As [`Self::from_rankings`], until somebody asks to stop.
    ///
    /// # Errors
    /// As [`Self::from_rankings`], and [`Error::Interrupted`].
    pub fn from_rankings_until(rankings: &Rankings, needs: Needs, stop: &StopFlag) -> Result<Self> {
        let counts = PairCounts::from_rankings_until(rankings, stop)?;
        let mut evidence = Self::from_pair_order(PairOrderMatrix::from_counts(&counts));
        if needs >= Needs::Counts {
            evidence.counts = Some(counts);
        }
        if needs >= Needs::Rankings {
            let mut shares = RowShares::empty(rankings.labels());
            shares.add_all(rankings, stop)?;
            evidence.shares = Some(shares);
        }
        Ok(evidence)
    }

    /// Evidence that consists of a pair order matrix only.
    #[must_use]
    pub fn from_pair_order(pair_order: PairOrderMatrix) -> Self {
        Self {
            pair_order,
            counts: None,
            shares: None,
            few: FewRows::default(),
            rows: Vec::new(),
        }
    }

    /// Forgets everything and reads the given rows of the rankings. O(n²) a row; a few rows of unit weight take
    /// a fraction of a nanosecond a pair.
    ///
    /// # Errors
    /// [`Error::LabelCount`] for rankings of another number of labels.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn fill(&mut self, rankings: &Rankings, rows: impl Iterator<Item = usize>) -> Result<()> {
        if rankings.labels() != self.labels() {
            return Err(Error::LabelCount {
                found: rankings.labels(),
                expected: self.labels(),
            });
        }
        self.rows.clear();
        self.rows.extend(rows);
        let weights = rankings.weights();
        if let Some(shares) = &mut self.shares {
            shares.clear();
            shares.add(rankings, self.rows.iter().copied());
        }
        let unit = matches!(weights, Weights::Unit(_));
        if let Some(counts) = &mut self.counts {
            counts.clear();
            for &row in &self.rows {
                counts.add(rankings.row(row), weights.get(row));
            }
            self.pair_order.fill_from(counts);
        } else if unit && self.rows.len() <= FewRows::LIMIT {
            self.few.write(rankings, &self.rows, &mut self.pair_order);
        } else {
            let mut counts = PairCounts::empty(rankings.labels())?;
            for &row in &self.rows {
                counts.add(rankings.row(row), weights.get(row));
            }
            self.pair_order.fill_from(&counts);
        }
        Ok(())
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.pair_order.labels()
    }

    /// What this evidence suffices for.
    #[must_use]
    pub fn suffices(&self) -> Needs {
        match (&self.counts, &self.shares) {
            (Some(_), Some(_)) => Needs::Rankings,
            (Some(_), None) => Needs::Counts,
            _ => Needs::PairOrder,
        }
    }

    /// The pair order matrix C.
    #[must_use]
    pub fn pair_order(&self) -> &PairOrderMatrix {
        &self.pair_order
    }

    /// The weights of before and tied, from [`Needs::Counts`] on.
    #[must_use]
    pub fn counts(&self) -> Option<&PairCounts> {
        self.counts.as_ref()
    }

    /// The statistic of whole rows, for [`Needs::Rankings`].
    #[must_use]
    pub fn row_shares(&self) -> Option<&RowShares> {
        self.shares.as_ref()
    }
}

/// Pair order matrices of a few rows of unit weight in small integers: most leaves of a tree are like that.
#[derive(Debug, Clone, Default)]
struct FewRows {
    /// `2 · before + tied`.
    doubled: Vec<u16>,
    /// Rows that rank both labels; all rows when none has a missing label.
    seen: Vec<u16>,
    /// C for each number of rows seen and each `2 · before + tied`.
    table: Vec<f64>,
    /// Positions of a single row, NaN where a label is missing.
    single: Vec<f64>,
}

impl FewRows {
    /// The largest number of rows: a table of all values of C stays in the first-level cache.
    const LIMIT: usize = 24;
    const STRIDE: usize = 2 * Self::LIMIT + 1;

    fn write(&mut self, rankings: &Rankings, rows: &[usize], pair_order: &mut PairOrderMatrix) {
        if let &[row] = rows {
            self.write_single(rankings.row(row), pair_order);
            return;
        }
        self.prepare(rankings.labels());
        if rankings.is_complete() {
            for &row in rows {
                self.count_complete(rankings.row(row));
            }
            let values = &self.table[rows.len() * Self::STRIDE..][..Self::STRIDE];
            for (share, &doubled) in pair_order.shares_mut().iter_mut().zip(&self.doubled) {
                *share = values[usize::from(doubled)];
            }
        } else {
            for &row in rows {
                self.count(rankings.row(row));
            }
            let counted = self.doubled.iter().zip(&self.seen);
            for (share, (&doubled, &seen)) in pair_order.shares_mut().iter_mut().zip(counted) {
                *share = self.table[usize::from(seen) * Self::STRIDE + usize::from(doubled)];
            }
        }
    }

    fn write_single(&mut self, positions: &[u16], pair_order: &mut PairOrderMatrix) {
        self.single.clear();
        self.single.extend(positions.iter().map(|&p| match p {
            MISSING => f64::NAN,
            p => f64::from(p),
        }));
        let single = &self.single;
        let shares = pair_order.shares_mut().chunks_exact_mut(single.len());
        for (shares, &pu) in shares.zip(single) {
            for (share, &pv) in shares.iter_mut().zip(single) {
                // NaN is neither smaller nor larger: a missing label is undecided.
                let before = if pu < pv { 0.5 } else { 0.0 };
                let after = if pu > pv { 0.5 } else { 0.0 };
                *share = 0.5 + before - after;
            }
        }
    }

    fn prepare(&mut self, labels: usize) {
        if self.table.is_empty() {
            self.table = vec![0.5; (Self::LIMIT + 1) * Self::STRIDE];
            for seen in 1..=Self::LIMIT {
                for doubled in 0..=2 * seen {
                    self.table[seen * Self::STRIDE + doubled] = doubled as f64 / (2 * seen) as f64;
                }
            }
        }
        for counts in [&mut self.doubled, &mut self.seen] {
            counts.clear();
            counts.resize(labels * labels, 0);
        }
    }

    fn count_complete(&mut self, positions: &[u16]) {
        let doubled = self.doubled.chunks_exact_mut(positions.len());
        for (doubled, &pu) in doubled.zip(positions) {
            for (doubled, &pv) in doubled.iter_mut().zip(positions) {
                *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
            }
        }
    }

    fn count(&mut self, positions: &[u16]) {
        let n = positions.len();
        let counts = self
            .doubled
            .chunks_exact_mut(n)
            .zip(self.seen.chunks_exact_mut(n));
        for ((doubled, seen), &pu) in counts.zip(positions) {
            if pu == MISSING {
                continue;
            }
            for ((doubled, seen), &pv) in doubled.iter_mut().zip(seen).zip(positions) {
                // MISSING is below every position, so neither comparison holds for it.
                *doubled += u16::from(pu < pv) + u16::from(pu <= pv);
                *seen += u16::from(pv != MISSING);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    const NAN: f64 = f64::NAN;

    fn rankings(weights: Option<&[f64]>) -> Rankings {
        let y = array![
            [1.0, 2.0, 2.0, NAN],
            [NAN, 2.0, 1.0, NAN],
            [1.0, 1.0, NAN, NAN],
            [4.0, 3.0, 1.0, 2.0],
            [NAN, NAN, NAN, NAN],
            [NAN, NAN, 1.0, NAN]
        ];
        Rankings::new(y.view(), weights).unwrap()
    }

    #[test]
    fn few_rows_many_rows_and_all_rows_agree() {
        for weights in [None, Some([1.0, 2.0, 0.0, 0.5, 1.0, 1.0].as_slice())] {
            let y = rankings(weights);
            let all = Evidence::from_rankings(&y, Needs::Rankings).unwrap();
            for needs in [Needs::PairOrder, Needs::Counts, Needs::Rankings] {
                let mut filled = Evidence::new(4, needs).unwrap();
                filled.fill(&y, [3, 3, 3].into_iter()).unwrap();
                filled.fill(&y, 0..6).unwrap();
                assert_eq!(filled.pair_order(), all.pair_order());
                for row in 0..6 {
                    let mut counted = Evidence::new(4, Needs::Counts).unwrap();
                    counted.fill(&y, row..=row).unwrap();
                    filled.fill(&y, row..=row).unwrap();
                    assert_eq!(filled.pair_order(), counted.pair_order());
                }
                assert_eq!(filled.suffices(), needs);
                filled.fill(&y, (0..6).cycle().take(60)).unwrap();
                for (a, b) in [(0, 1), (1, 2), (0, 3)] {
                    let (found, expected) =
                        (filled.pair_order().get(a, b), all.pair_order().get(a, b));
                    assert!((found - expected).abs() < 1e-15);
                }
            }
        }
    }

    #[test]
    fn a_few_complete_rows_equal_their_counts() {
        let y = array![[1, 2, 3, 3_i64], [2, 1, 1, 3], [4, 3, 2, 1]];
        let y = Rankings::new(y.view(), None).unwrap();
        for rows in [0..1, 0..2, 0..3, 1..3, 2..3] {
            let mut few = Evidence::new(4, Needs::PairOrder).unwrap();
            let mut counted = Evidence::new(4, Needs::Counts).unwrap();
            few.fill(&y, rows.clone()).unwrap();
            counted.fill(&y, rows).unwrap();
            assert_eq!(few.pair_order(), counted.pair_order());
        }
    }

    #[test]
    fn no_rows_are_no_evidence() {
        let mut evidence = Evidence::new(4, Needs::PairOrder).unwrap();
        evidence.fill(&rankings(None), 3..4).unwrap();
        evidence.fill(&rankings(None), 0..0).unwrap();
        assert_eq!(evidence.pair_order(), &PairOrderMatrix::undecided(4));
    }

    #[test]
    fn row_shares_count_labels_at_least_as_high() {
        let y = rankings(None);
        let mut evidence = Evidence::new(4, Needs::Rankings).unwrap();
        evidence.fill(&y, 0..2).unwrap();
        let shares = evidence.row_shares().unwrap();
        assert_eq!(shares.ranked(1), 2.0);
        // Row 0 ranks 3 labels at least as high as label 1, row 1 ranks 2.
        assert!((shares.sum(1, 2) - (1.0 / 3.0 + 0.5)).abs() < 1e-15);
        assert!((shares.sum(1, 0) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!((shares.sum(0, 0), shares.sum(0, 1)), (1.0, 0.0));
        assert_eq!((shares.ranked(3), shares.sum(1, 3)), (0.0, 0.0));
    }

    #[test]
    fn other_labels_are_refused() {
        let mut evidence = Evidence::new(5, Needs::PairOrder).unwrap();
        assert!(evidence.fill(&rankings(None), 0..1).is_err());
        assert!(Evidence::new(1, Needs::PairOrder).is_err());
    }
}
