//! [`MixtureParams`]: options of the components, and the rows that they are fitted and evaluated on.

use crate::boost::BoostParams;
use crate::error::{Error, Result};
use crate::forest::ForestOptions;
use crate::linear::{CategoricalFeature, LinearParams};

/// Options of the components of a mixture, and which rows they are fitted and evaluated on.
///
/// The fit overrides the numbers of threads of the components: it distributes all trees and models over the threads.
#[derive(Debug, Clone)]
pub struct MixtureParams {
    /// Options of the forest.
    pub forest: ForestOptions,
    /// Number of trees of the forest.
    pub trees: usize,
    /// Strength of the m-estimate of the forest's shares.
    pub shrinkage_strength: f64,
    /// Parameters of the boosters: one per part, all with the same number of rounds.
    pub boosters: Vec<BoostParams>,
    /// Parameters of the linear models.
    pub linear: LinearParams,
    /// The categorical features, ascending: the linear models have an input per category.
    pub categorical: Vec<CategoricalFeature>,
    /// Parts and evidence. `None` fits the forest and one booster on all rows and gives them equal weights.
    pub held_out: Option<HeldOutRows>,
}

/// Rows of a cross-fit. Rows are numbered among the rows of positive weight.
#[derive(Debug, Clone)]
pub struct HeldOutRows {
    /// Per row: the part, from 0, whose models hold it out. If the last part has no row, only its models predict.
    pub part_of: Vec<usize>,
    /// Rows whose observed relations decide rounds and weights, ascending.
    pub evidence: Vec<usize>,
    /// Per part: the rows that its linear model is fitted on, ascending.
    pub linear: Vec<Vec<usize>>,
}

impl HeldOutRows {
    /// Whether the last part holds out no row. Its models are fitted on all rows, and they alone predict; those of the
    /// other parts are evidence only.
    pub(super) fn has_refit(&self) -> bool {
        let last = self.linear.len().saturating_sub(1);
        self.linear.len() > 1 && !self.part_of.contains(&last)
    }
}

impl MixtureParams {
    /// Number of rounds of the boosters.
    pub(super) fn rounds(&self) -> usize {
        self.boosters
            .first()
            .map_or(0, |params| params.options().rounds)
    }

    /// Checks that the boosters and the held-out rows fit data of `rows` rows.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        let parts = self.boosters.len();
        let require = |holds: bool, name, found: usize, expected| {
            if holds {
                return Ok(());
            }
            Err(Error::Parameter {
                name,
                found: found as f64,
                expected,
            })
        };
        let Some(held_out) = &self.held_out else {
            return require(parts == 1, "boosters", parts, "1 without held-out rows");
        };
        require(parts > 0, "boosters", parts, "one booster per part")?;
        let HeldOutRows {
            part_of,
            evidence,
            linear,
        } = held_out;
        let found = part_of.len();
        require(found == rows, "part_of", found, "one part per row")?;
        let largest = part_of.iter().copied().max().unwrap_or(0);
        require(largest < parts, "part_of", largest, "an index of a booster")?;
        let found = linear.len();
        require(found == parts, "linear", found, "one list of rows per part")?;
        for (name, chosen) in std::iter::once(("evidence", evidence))
            .chain(linear.iter().map(|chosen| ("linear", chosen)))
        {
            let is_ascending = chosen.is_sorted_by(|a, b| a < b);
            require(is_ascending, name, chosen.len(), "rows in ascending order")?;
            let last = chosen.last().copied().unwrap_or(rows);
            require(last < rows, name, last, "an index of a row")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::ForestVariant;
    use crate::tree::TreeOptions;

    type RowChange = fn(&mut HeldOutRows);

    #[test]
    fn held_out_rows_must_fit_the_data() {
        let held_out = HeldOutRows {
            part_of: vec![0, 1, 0, 1],
            evidence: vec![0, 2],
            linear: vec![vec![1, 3], vec![0, 2]],
        };
        let params = |held_out, parts| MixtureParams {
            forest: ForestOptions {
                variant: ForestVariant::Mixed,
                tree: TreeOptions::default(),
                seed: 0,
            },
            trees: 2,
            shrinkage_strength: 0.5,
            boosters: vec![BoostParams::default(); parts],
            linear: LinearParams::default(),
            categorical: Vec::new(),
            held_out,
        };
        assert!(params(Some(held_out.clone()), 2).check(4).is_ok());
        assert!(params(None, 1).check(4).is_ok());
        assert!(params(None, 2).check(4).is_err());
        assert!(params(Some(held_out.clone()), 1).check(4).is_err());
        assert!(params(Some(held_out.clone()), 2).check(5).is_err());
        let changes: [(&str, RowChange); 5] = [
            ("part_of", |rows| rows.part_of[3] = 2),
            ("evidence", |rows| rows.evidence = vec![2, 0]),
            ("evidence", |rows| rows.evidence = vec![0, 4]),
            ("linear", |rows| rows.linear.truncate(1)),
            ("linear", |rows| rows.linear[1].clear()),
        ];
        for (expected, change) in changes {
            let mut held_out = held_out.clone();
            change(&mut held_out);
            match params(Some(held_out), 2).check(4) {
                Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }
}
