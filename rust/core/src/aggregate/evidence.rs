//! [`Evidence`]: what aggregators read, statistics of a set of rankings or the rankings themselves.

use crate::error::{Error, Result};
use crate::pairs::{
    BytePairCounter, FewRows, PairCounts, PairOrderMatrix, PairShares, PlaceShares, RowShares,
    MAX_PAIR_LABELS,
};
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::weights::Weights;

use super::Aggregator;

/// Statistics that a method needs. Each level includes the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needs {
    /// The pair order matrix C: per ordered pair of labels the share of rankings that place the first before the
    /// second, ties counting half.
    PairOrder,
    /// Also the pair shares: for each pair of labels the shares of rankings that place the first before, tied with, or
    /// after the second.
    Shares,
    /// Also the counts: the weights of before, tied and after for each pair.
    Counts,
    /// Also statistics of whole rows: [`RowShares`] (for the Markov chain MC2) and [`PlaceShares`] (how often each
    /// label occupies each place).
    RowStatistics,
    /// Also the rankings themselves.
    Rankings,
}

/// Statistics of a set of rankings, in buffers that [`Self::fill`] reuses.
#[derive(Debug, Clone)]
pub struct Evidence {
    pair_order: PairOrderMatrix,
    pair_shares: Option<PairShares>,
    counts: Option<PairCounts>,
    row_shares: Option<RowShares>,
    place_shares: Option<PlaceShares>,
    /// Whether [`Self::fill`] keeps the rankings.
    keeps_rankings: bool,
    /// The rankings, if kept.
    rankings: Option<Rankings>,
    /// Buffers of [`Self::fill`].
    few_rows: FewRows,
    byte_counter: BytePairCounter,
    selected_rows: Vec<usize>,
}

impl Evidence {
    /// Buffers for `labels` labels, without evidence until [`Self::fill`] is called.
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
        evidence.keeps_rankings = needs >= Needs::Rankings;
        if needs >= Needs::RowStatistics {
            evidence.row_shares = Some(RowShares::empty(labels));
            evidence.place_shares = Some(PlaceShares::empty(labels));
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
        evidence.keeps_rankings = needs >= Needs::Rankings;
        if evidence.keeps_rankings {
            evidence.rankings = Some(rankings.clone());
        }
        if needs >= Needs::RowStatistics {
            let mut shares = RowShares::empty(rankings.labels());
            shares.add_all(rankings, interrupt)?;
            evidence.row_shares = Some(shares);
            evidence.place_shares = Some(Self::count_places(rankings, interrupt)?);
        }
        Ok(evidence)
    }

    /// Evidence of counted pairs. Statistics of whole rows are computed as if each row ranked two labels, so evidence
    /// for [`Needs::RowStatistics`] is correct for comparisons only.
    ///
    /// # Errors
    /// [`Error::TooFewLabels`] below two labels.
    pub fn from_counts(counts: PairCounts, needs: Needs) -> Result<Self> {
        let mut evidence = Self::from_pair_order(PairOrderMatrix::from_counts(&counts));
        if needs >= Needs::Shares {
            evidence.pair_shares = Some(PairShares::from_counts(&counts)?);
        }
        if needs >= Needs::RowStatistics {
            evidence.row_shares = Some(RowShares::of_comparisons(&counts));
            evidence.place_shares = Some(PlaceShares::of_comparisons(&counts));
        }
        if needs >= Needs::Counts {
            evidence.counts = Some(counts);
        }
        Ok(evidence)
    }

    fn count_places(rankings: &Rankings, interrupt: &Interrupt) -> Result<PlaceShares> {
        let mut places = PlaceShares::empty(rankings.labels());
        places.add_all(rankings, interrupt)?;
        Ok(places)
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
        if matches!(method, Aggregator::ReciprocalRankFusion(_)) {
            let mut evidence = Self::new(rankings.labels(), Needs::PairOrder)?;
            evidence.place_shares = Some(Self::count_places(rankings, interrupt)?);
            return Ok(evidence);
        }
        if !matches!(method, Aggregator::MarkovChain(_)) || needs < Needs::Counts {
            return Self::from_rankings(rankings, needs, interrupt);
        }
        // These chains read a single statistic, so the others are not computed.
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
            place_shares: None,
            keeps_rankings: false,
            rankings: None,
            few_rows: FewRows::default(),
            byte_counter: BytePairCounter::default(),
            selected_rows: Vec::new(),
        }
    }

    /// Evidence with pair shares only, such as the output of a model or smoothed shares.
    #[must_use]
    pub fn from_pair_shares(shares: PairShares) -> Self {
        let mut evidence = Self::from_pair_order(shares.pair_order());
        evidence.pair_shares = Some(shares);
        evidence
    }

    /// Replaces the evidence by the shares of a model; counts, row statistics and rankings become absent. The pair
    /// order matrix is updated only if the aggregator may read it.
    pub(crate) fn fill_from_shares(&mut self, shares: &PairShares, aggregator: &Aggregator) {
        self.counts = None;
        self.row_shares = None;
        self.place_shares = None;
        self.rankings = None;
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
    /// [`Error::LabelCount`] when the number of labels differs; [`Error::Interrupted`].
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn fill(
        &mut self,
        rankings: &Rankings,
        rows: impl Iterator<Item = usize>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        if rankings.labels() != self.labels() {
            return Err(Error::LabelCount {
                found: rankings.labels(),
                expected: self.labels(),
            });
        }
        self.selected_rows.clear();
        self.selected_rows.extend(rows);
        if let Some(shares) = &mut self.row_shares {
            shares.clear();
            shares.add_rows(rankings, &self.selected_rows, interrupt)?;
        }
        if let Some(places) = &mut self.place_shares {
            places.clear();
            places.add(rankings, self.selected_rows.iter().copied());
        }
        if self.keeps_rankings {
            self.rankings = Some(rankings.select(&self.selected_rows));
        }
        let unit = matches!(rankings.weights(), Weights::Unit(_));
        if self.counts.is_none() && unit && self.selected_rows.len() <= FewRows::MAX_ROWS {
            self.few_rows.write(
                rankings,
                &self.selected_rows,
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
        counts.fill(
            rankings,
            &self.selected_rows,
            &mut self.byte_counter,
            interrupt,
        )?;
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

    /// The pair shares; present for [`Needs::Shares`] and higher levels.
    #[must_use]
    pub fn pair_shares(&self) -> Option<&PairShares> {
        self.pair_shares.as_ref()
    }

    /// The weights of before, tied and after; present for [`Needs::Counts`] and higher levels.
    #[must_use]
    pub fn counts(&self) -> Option<&PairCounts> {
        self.counts.as_ref()
    }

    /// The rankings themselves, for [`Needs::Rankings`].
    #[must_use]
    pub fn rankings(&self) -> Option<&Rankings> {
        self.rankings.as_ref()
    }

    /// How often each label occupies each place, for [`Needs::RowStatistics`].
    #[must_use]
    pub fn place_shares(&self) -> Option<&PlaceShares> {
        self.place_shares.as_ref()
    }

    /// The transition weights of the Markov chain MC2, for [`Needs::RowStatistics`].
    #[must_use]
    pub fn row_shares(&self) -> Option<&RowShares> {
        self.row_shares.as_ref()
    }
}

#[cfg(test)]
mod tests;
