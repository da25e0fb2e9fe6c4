//! Conversion of comparisons, rankings and counts from Python, for fits of Davidson's model and for leaderboards.

use bucketrank_core::comparisons::{
    ComparisonArrays, Comparisons, ContestSample, Effects, UnitKind,
};
use bucketrank_core::error;
use bucketrank_core::leaderboard::BoardData;
use bucketrank_core::pairs::PairCounts;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::ArrayView2;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::arrays::{Matrix, MaybeWeights, Positions, View};
use super::errors::Result;

/// Arrays of comparisons of two labels, one entry per comparison, all contiguous.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ComparisonInput<'py> {
    labels: usize,
    first: PyReadonlyArray1<'py, u32>,
    second: PyReadonlyArray1<'py, u32>,
    outcomes: PyReadonlyArray1<'py, u8>,
    weights: MaybeWeights<'py>,
    groups: Option<PyReadonlyArray1<'py, u32>>,
    covariates: Matrix<'py>,
}

impl ComparisonInput<'_> {
    /// The arrays, which other threads may read.
    pub fn arrays(&self) -> Result<ComparisonArrays<'_>> {
        Ok(ComparisonArrays {
            labels: self.labels,
            first: slice(&self.first)?,
            second: slice(&self.second)?,
            outcomes: slice(&self.outcomes)?,
            weights: self.weights.as_ref().map(slice).transpose()?,
            groups: self.groups.as_ref().map(slice).transpose()?,
            covariates: self.covariates.as_array(),
        })
    }
}

fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> Result<&'a [T]> {
    let values = array.as_slice();
    Ok(values.map_err(PyErr::from)?)
}

/// Counts of pairs: a table with one row per pair of labels and the columns before, tied and after (the weight of the
/// rows that place the first label before, tied with, or after the second); and per label the weight of the rows that
/// rank it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CountInput<'py> {
    table: PyReadonlyArray2<'py, f64>,
    ranked: PyReadonlyArray1<'py, f64>,
}

impl CountInput<'_> {
    /// The counts.
    pub fn counts(&self) -> Result<PairCounts> {
        Ok(PairCounts::from_table(
            self.table.as_array(),
            slice(&self.ranked)?,
        )?)
    }
}

/// Rankings with weights.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RankingInput<'py> {
    positions: Positions<'py>,
    weights: MaybeWeights<'py>,
}

/// The data of a fit of Davidson's model or of a leaderboard.
#[derive(FromPyObject)]
pub enum BoardInput<'py> {
    /// Comparisons.
    Comparisons(ComparisonInput<'py>),
    /// Counts of comparisons.
    Counts(CountInput<'py>),
    /// Rankings.
    Rankings(RankingInput<'py>),
}

/// Views of [`BoardInput`] that other threads may read.
pub enum BoardViews<'a> {
    /// Comparisons.
    Comparisons(ComparisonArrays<'a>),
    /// Counts of comparisons.
    Counts(ArrayView2<'a, f64>, &'a [f64]),
    /// Rankings.
    Rankings(View<'a>, Option<&'a [f64]>),
}

/// A sample (the distinct comparisons, and the units that are resampled together), with the rankings that it comes
/// from.
pub struct ReadSample {
    /// The sample.
    pub sample: ContestSample,
    /// `None` if the data were comparisons or counts.
    pub rankings: Option<Rankings>,
}

impl From<ContestSample> for ReadSample {
    fn from(sample: ContestSample) -> Self {
        let rankings = None;
        Self { sample, rankings }
    }
}

impl ReadSample {
    fn of(rankings: Rankings, interrupt: &Interrupt) -> error::Result<Self> {
        Ok(Self {
            sample: ContestSample::of_rankings(&rankings, interrupt)?,
            rankings: Some(rankings),
        })
    }

    /// The data of a leaderboard.
    pub fn board_data(&self) -> BoardData<'_> {
        match &self.rankings {
            Some(rankings) => BoardData::Rankings(rankings, &self.sample),
            None => BoardData::Comparisons(&self.sample),
        }
    }
}

/// The unit of resampling and of robust errors: groups of comparisons, or single rows.
pub fn unit_kind(by_group: bool) -> UnitKind {
    if by_group {
        UnitKind::Group
    } else {
        UnitKind::Row
    }
}

impl BoardInput<'_> {
    /// The views.
    pub fn views(&self) -> Result<BoardViews<'_>> {
        Ok(match self {
            Self::Comparisons(input) => BoardViews::Comparisons(input.arrays()?),
            Self::Counts(input) => {
                BoardViews::Counts(input.table.as_array(), slice(&input.ranked)?)
            }
            Self::Rankings(input) => BoardViews::Rankings(
                input.positions.view(),
                input.weights.as_ref().map(slice).transpose()?,
            ),
        })
    }
}

impl BoardViews<'_> {
    /// Reads the sample. `effects` and `unit` apply to comparisons only.
    pub fn read(
        &self,
        effects: Effects,
        unit: UnitKind,
        interrupt: &Interrupt,
    ) -> error::Result<ReadSample> {
        let sample = match self {
            Self::Comparisons(arrays) => {
                let comparisons = Comparisons::new(*arrays)?;
                ContestSample::of_comparisons(&comparisons, effects, unit, interrupt)?
            }
            Self::Counts(table, ranked) => {
                ContestSample::of_counts(PairCounts::from_table(*table, ranked)?)?
            }
            Self::Rankings(view, weights) => {
                return ReadSample::of(view.read(*weights, interrupt)?, interrupt)
            }
        };
        Ok(sample.into())
    }
}
