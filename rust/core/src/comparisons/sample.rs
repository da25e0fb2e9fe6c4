//! [`ContestSample`]: comparisons, rankings or pair counts, prepared for fitting a model and for resampling.

use super::contests::{ContestRows, Contests, Tallies};
use super::identification::check_effects;
use super::units::{is_whole, Units};
use super::{Comparisons, OUTCOMES};
use crate::error::{ComparisonError, Error, Result};
use crate::pairs::PairCounts;
use crate::rankings::Rankings;
use crate::run::Interrupt;

/// Kind of the units of resampling, each of which is drawn as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnitKind {
    /// Single comparisons or rankings.
    #[default]
    Row,
    /// Groups of comparisons.
    Group,
}

/// Which effects distinguish contests (what is compared) of the same two labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// The effect of the order: the advantage or disadvantage of the label named first.
    pub order: bool,
    /// The covariates of the comparisons.
    pub covariates: bool,
}

/// Contests (the distinct compared pairs of labels with their effects), their tallies, and the units of resampling.
#[derive(Debug, Clone, PartialEq)]
pub struct ContestSample {
    /// Counts of pairs, without effects.
    pub counts: PairCounts,
    /// Distinct contests.
    pub contests: Contests,
    /// Weights of the outcomes of each contest.
    pub tallies: Tallies,
    /// Units of resampling.
    pub units: Units,
}

impl ContestSample {
    /// The sample of counted comparisons; each comparison is a unit.
    ///
    /// # Errors
    /// [`ComparisonError::NotWhole`].
    pub fn of_counts(counts: PairCounts) -> Result<Self> {
        let (contests, tallies) = Contests::of_counts(&counts);
        let units = Units::of_tallies(&contests, &tallies)?;
        Ok(Self {
            counts,
            contests,
            tallies,
            units,
        })
    }

    /// The sample of comparisons. Without effects and groups, and with whole-number weights, the cost of a resample
    /// does not depend on the number of comparisons.
    ///
    /// # Errors
    /// [`ComparisonError::NoGroups`], [`ComparisonError::Collinear`] or [`ComparisonError::UnidentifiedOrder`] for
    /// effects that the comparisons do not identify, [`Error::Unsolved`], and those of [`Comparisons::count`].
    pub fn of_comparisons(
        comparisons: &Comparisons<'_>,
        effects: Effects,
        unit: UnitKind,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let counts = comparisons.count(interrupt)?;
        let weights = comparisons.weights();
        if effects == Effects::default() && unit == UnitKind::Row && is_whole(weights) {
            return Self::of_counts(counts);
        }
        let ContestRows { contests, cells } =
            Contests::of_comparisons(comparisons, effects, interrupt)?;
        let mut tallies = vec![[0.0; OUTCOMES]; contests.len()];
        for (row, &cell) in cells.iter().enumerate() {
            let cell = cell as usize;
            tallies[cell / OUTCOMES][cell % OUTCOMES] += weights.get(row);
        }
        check_effects(&contests, &tallies, effects)?;
        interrupt.check()?;
        let units = match (unit, comparisons.groups()) {
            (UnitKind::Row, _) => Units::of_rows(&cells, weights),
            (UnitKind::Group, Some(groups)) => Units::of_groups(&cells, weights, groups),
            (UnitKind::Group, None) => return Err(Error::Comparison(ComparisonError::NoGroups)),
        };
        Ok(Self {
            counts,
            contests,
            tallies,
            units,
        })
    }

    /// The sample of rankings; each ranking is a unit.
    ///
    /// # Errors
    /// As [`PairCounts::from_rankings`] and [`Units::of_rankings`].
    pub fn of_rankings(rankings: &Rankings, interrupt: &Interrupt) -> Result<Self> {
        let counts = PairCounts::from_rankings(rankings, interrupt)?;
        let (contests, tallies) = Contests::of_counts(&counts);
        let units = Units::of_rankings(rankings, &contests, interrupt)?;
        Ok(Self {
            counts,
            contests,
            tallies,
            units,
        })
    }
}
