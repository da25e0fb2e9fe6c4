//! [`Evidence`]: the statistics of a set of rankings that aggregators read.

use crate::error::{Error, Result};
use crate::pairs::{
    ByteCounter, FewRows, PairCounts, PairOrderMatrix, PairShares, RowShares, MAX_PAIR_LABELS,
};
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::weights::Weights;

use super::Aggregator;

/// Statistics that a method needs. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needs {
    /// The pair order matrix C.
    PairOrder,
    /// And the shares of before, tied and after of each pair.
    Shares,
    /// And the weights of before and tied for each pair.
    Counts,
    /// And a statistic of whole rows: [`RowShares`].
    Rankings,
}

/// Statistics of a set of rankings, in buffers that [`Self::fill`] reuses.
#[derive(Debug, Clone)]
pub struct Evidence {
    pair_order: PairOrderMatrix,
    pair_shares: Option<PairShares>,
    counts: Option<PairCounts>,
    row_shares: Option<RowShares>,
    /// Buffers of [`Self::fill`].
    few_rows: FewRows,
    byte_counter: ByteCounter,
    rows: Vec<usize>,
}

impl Evidence {
    /// Buffers for `labels` labels; evidence of no rankings until [`Self::fill`] is called.
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
        if needs >= Needs::Shares {
            evidence.pair_shares = Some(PairShares::unknown(labels)?);
        }
        if needs >= Needs::Counts {
            evidence.counts = Some(PairCounts::empty(labels)?);
        }
        if needs >= Needs::Rankings {
            evidence.row_shares = Some(RowShares::empty(labels));
        }
        Ok(evidence)
    }

    /// Evidence of all rows of the rankings.
    ///
    /// # Errors
    /// [`Error::TooManyLabels`] above [`MAX_PAIR_LABELS`]; [`Error::Interrupted`].
    pub fn from_rankings(rankings: &Rankings, needs: Needs, interrupt: &Interrupt) -> Result<Self> {
        let counts = PairCounts::from_rankings(rankings, interrupt)?;
        let mut evidence = Self::from_pair_order(PairOrderMatrix::from_counts(&counts));
        if needs >= Needs::Shares {
            evidence.pair_shares = Some(PairShares::from_counts(&counts)?);
        }
        if needs >= Needs::Counts {
            evidence.counts = Some(counts);
        }
        if needs >= Needs::Rankings {
            let mut shares = RowShares::empty(rankings.labels());
            shares.add_all(rankings, interrupt)?;
            evidence.row_shares = Some(shares);
        }
        Ok(evidence)
    }

    /// As [`Self::from_rankings`], for one method: statistics that it does not read may be absent.
    ///
    /// # Errors
    /// As [`Self::from_rankings`].
    pub(super) fn for_method(
        rankings: &Rankings,
        method: &Aggregator,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let needs = method.needs();
        if !matches!(method, Aggregator::MarkovChain(_)) || needs < Needs::Counts {
            return Self::from_rankings(rankings, needs, interrupt);
        }
        // These chains read a single statistic; the others would be unused.
        let mut evidence = Self::new(rankings.labels(), Needs::PairOrder)?;
        if needs == Needs::Counts {
            evidence.counts = Some(PairCounts::from_rankings(rankings, interrupt)?);
        } else {
            let mut shares = RowShares::empty(rankings.labels());
            shares.add_all(rankings, interrupt)?;
            evidence.row_shares = Some(shares);
        }
        Ok(evidence)
    }

    /// Evidence with a pair order matrix only.
    #[must_use]
    pub fn from_pair_order(pair_order: PairOrderMatrix) -> Self {
        Self {
            pair_order,
            pair_shares: None,
            counts: None,
            row_shares: None,
            few_rows: FewRows::default(),
            byte_counter: ByteCounter::default(),
            rows: Vec::new(),
        }
    }

    /// Evidence with pair shares only, such as those of a model or smoothed ones.
    #[must_use]
    pub fn from_pair_shares(shares: PairShares) -> Self {
        let mut evidence = Self::from_pair_order(shares.pair_order());
        evidence.pair_shares = Some(shares);
        evidence
    }

    /// Replaces the evidence by the shares of a model; counts and row shares become absent. The pair order matrix is
    /// updated only if the aggregator reads it.
    pub(crate) fn fill_from_shares(&mut self, shares: &PairShares, aggregator: &Aggregator) {
        self.counts = None;
        self.row_shares = None;
        match &mut self.pair_shares {
            Some(own) if own.labels() == shares.labels() => {
                own.as_mut_slice().copy_from_slice(shares.as_slice());
            }
            own => *own = Some(shares.clone()),
        }
        if aggregator.reads_pair_order() {
            shares.write_pair_order(&mut self.pair_order);
        }
    }

    /// Replaces the evidence by that of the given rows. O(n²) per row; a few rows of unit weight take less than a
    /// nanosecond per pair.
    ///
    /// # Errors
    /// [`Error::LabelCount`] when the number of labels differs.
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn fill(&mut self, rankings: &Rankings, rows: impl Iterator<Item = usize>) -> Result<()> {
        if rankings.labels() != self.labels() {
            return Err(Error::LabelCount {
                found: rankings.labels(),
                expected: self.labels(),
            });
        }
        self.rows.clear();
        self.rows.extend(rows);
        if let Some(shares) = &mut self.row_shares {
            shares.clear();
            shares.add(rankings, self.rows.iter().copied());
        }
        let unit = matches!(rankings.weights(), Weights::Unit(_));
        if self.counts.is_none() && unit && self.rows.len() <= FewRows::MAX_ROWS {
            self.few_rows.write(
                rankings,
                &self.rows,
                &mut self.byte_counter,
                &mut self.pair_order,
                self.pair_shares.as_mut(),
            );
            return Ok(());
        }
        let mut fresh = None;
        let counts = match &mut self.counts {
            Some(counts) => counts,
            None => fresh.insert(PairCounts::empty(rankings.labels())?),
        };
        counts.fill(rankings, &self.rows, &mut self.byte_counter);
        self.pair_order.fill_from(counts.table());
        if let Some(shares) = &mut self.pair_shares {
            shares.fill_from(counts.table());
        }
        Ok(())
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.pair_order.labels()
    }

    /// The highest level of [`Needs`] that this evidence satisfies.
    #[must_use]
    pub fn satisfied_needs(&self) -> Needs {
        match (&self.pair_shares, &self.counts, &self.row_shares) {
            (Some(_), Some(_), Some(_)) => Needs::Rankings,
            (Some(_), Some(_), None) => Needs::Counts,
            (Some(_), None, _) => Needs::Shares,
            _ => Needs::PairOrder,
        }
    }

    /// The pair order matrix C.
    #[must_use]
    pub fn pair_order(&self) -> &PairOrderMatrix {
        &self.pair_order
    }

    /// Description of the available statistics, for messages.
    pub(super) fn describe(&self) -> &'static str {
        if self.pair_shares.is_some() {
            "the share of before, tied and after of each pair"
        } else {
            "the pair order matrix"
        }
    }

    /// The shares of before, tied and after, from [`Needs::Shares`] on.
    #[must_use]
    pub fn pair_shares(&self) -> Option<&PairShares> {
        self.pair_shares.as_ref()
    }

    /// The weights of before and tied, from [`Needs::Counts`] on.
    #[must_use]
    pub fn counts(&self) -> Option<&PairCounts> {
        self.counts.as_ref()
    }

    /// The statistic of whole rows, for [`Needs::Rankings`].
    #[must_use]
    pub fn row_shares(&self) -> Option<&RowShares> {
        self.row_shares.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::MarkovChain;
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
    fn few_many_and_all_rows_give_equal_evidence() {
        for weights in [None, Some([1.0, 2.0, 0.0, 0.5, 1.0, 1.0].as_slice())] {
            let y = rankings(weights);
            let all = Evidence::from_rankings(&y, Needs::Rankings, &Interrupt::never()).unwrap();
            for needs in [
                Needs::PairOrder,
                Needs::Shares,
                Needs::Counts,
                Needs::Rankings,
            ] {
                let mut filled = Evidence::new(4, needs).unwrap();
                filled.fill(&y, [3, 3, 3].into_iter()).unwrap();
                filled.fill(&y, 0..6).unwrap();
                assert_eq!(filled.pair_order(), all.pair_order());
                for row in 0..6 {
                    let mut counted = Evidence::new(4, Needs::Counts).unwrap();
                    counted.fill(&y, row..=row).unwrap();
                    filled.fill(&y, row..=row).unwrap();
                    assert_eq!(filled.pair_order(), counted.pair_order());
                    if needs >= Needs::Shares {
                        assert_eq!(filled.pair_shares(), counted.pair_shares());
                    }
                }
                assert_eq!(filled.satisfied_needs(), needs);
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
            let mut few = Evidence::new(4, Needs::Shares).unwrap();
            let mut counted = Evidence::new(4, Needs::Counts).unwrap();
            few.fill(&y, rows.clone()).unwrap();
            counted.fill(&y, rows).unwrap();
            assert_eq!(few.pair_order(), counted.pair_order());
            assert_eq!(few.pair_shares(), counted.pair_shares());
        }
    }

    #[test]
    fn evidence_for_one_method_suffices_for_it() {
        let (y, interrupt) = (rankings(None), Interrupt::new());
        for variant in 1..=4 {
            let chain = Aggregator::MarkovChain(MarkovChain::new(variant).unwrap());
            let all = Evidence::from_rankings(&y, Needs::Rankings, &Interrupt::never()).unwrap();
            let own = Evidence::for_method(&y, &chain, &interrupt).unwrap();
            assert_eq!(chain.explain(&own).unwrap(), chain.explain(&all).unwrap());
        }
    }

    #[test]
    fn no_rows_give_an_undecided_matrix() {
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
    fn mismatched_labels_are_rejected() {
        let mut evidence = Evidence::new(5, Needs::PairOrder).unwrap();
        assert!(evidence.fill(&rankings(None), 0..1).is_err());
        assert!(Evidence::new(1, Needs::PairOrder).is_err());
    }
}
