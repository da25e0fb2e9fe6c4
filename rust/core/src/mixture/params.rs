//! [`MixtureParams`]: options of the components, and the rows that they are fitted and evaluated on.

use crate::boost::BoostParams;
use crate::error::{Error, Result, RowListProblem};
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
    /// [`Error::Parameter`] and [`Error::RowList`].
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
            return require(
                parts == 1,
                "the number of boosters",
                parts,
                "1 without held-out rows",
            );
        };
        require(
            parts > 0,
            "the number of boosters",
            parts,
            "one booster per part",
        )?;
        let HeldOutRows {
            part_of,
            evidence,
            linear,
        } = held_out;
        let found = part_of.len();
        require(
            found == rows,
            "the length of part_of",
            found,
            "one part per row",
        )?;
        let largest = part_of.iter().copied().max().unwrap_or(0);
        require(largest < parts, "part_of", largest, "an index of a booster")?;
        let found = linear.len();
        require(
            found == parts,
            "the length of linear",
            found,
            "one list of rows per part",
        )?;
        check_rows("evidence", evidence, rows)?;
        for (part, chosen) in linear.iter().enumerate() {
            check_rows(&format!("linear, part {part}"), chosen, rows)?;
        }
        Ok(())
    }
}

/// Checks that a list names at least one row, in ascending order and each at most once.
///
/// # Errors
/// [`Error::RowList`].
fn check_rows(name: &str, chosen: &[usize], rows: usize) -> Result<()> {
    let problem = match chosen.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(index) => RowListProblem::NotAscending {
            index: index + 1,
            previous: chosen[index],
            found: chosen[index + 1],
        },
        None => match chosen.last() {
            None => RowListProblem::Empty,
            Some(&found) if found >= rows => RowListProblem::NoSuchRow {
                index: chosen.len() - 1,
                found,
                rows,
            },
            Some(_) => return Ok(()),
        },
    };
    Err(Error::RowList {
        name: name.into(),
        problem,
    })
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
        let changes: [(&str, RowChange); 7] = [
            ("part_of is 2; expected an index of a booster", |rows| {
                rows.part_of[3] = 2;
            }),
            (
                "evidence, entry 2: row 0 after row 2; expected rows in ascending order",
                |rows| rows.evidence = vec![1, 2, 0],
            ),
            ("evidence, entry 1: row 2 after row 2", |rows| {
                rows.evidence = vec![2, 2];
            }),
            (
                "evidence, entry 1: row 4; expected an index below the 4 rows",
                |rows| rows.evidence = vec![0, 4],
            ),
            (
                "the length of linear is 1; expected one list of rows per part",
                |rows| rows.linear.truncate(1),
            ),
            ("linear, part 1, entry 1: row 0 after row 2", |rows| {
                rows.linear[1].reverse();
            }),
            ("linear, part 1: no rows; expected at least one", |rows| {
                rows.linear[1].clear();
            }),
        ];
        for (expected, change) in changes {
            let mut held_out = held_out.clone();
            change(&mut held_out);
            let error = params(Some(held_out), 2).check(4).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
