//! [`fit_mixture`]: fits the components of a mixture and chooses their weights.

use ndarray::{ArrayView2, Axis};

use crate::boost::Booster;
use crate::error::{Error, Result};
use crate::features::{check_values, Features};
use crate::forest::Forest;
use crate::linear::LinearModel;
use crate::rankings::Rankings;
use crate::run::Jobs;

use super::choice::HeldOutEvidence;
use super::components::{parts, stages, ComponentFit, Components, Part, PartModel};
use super::evidence::{HeldOutScores, ObservedPairs};
use super::log_linear::LogLinearPool;
use super::out_of_bag::ForestEvidence;
use super::params::{HeldOutRows, MixtureParams};
use super::{ComponentKind, COMPONENTS};

const KINDS: [ComponentKind; COMPONENTS] = [
    ComponentKind::Forest,
    ComponentKind::Booster,
    ComponentKind::Linear,
];

/// The fitted components of a mixture with their weights.
#[derive(Debug)]
pub struct FittedMixture {
    /// The forest, unless it failed.
    pub forest: Option<Forest>,
    /// One booster per part, or the one that is fitted on all rows; none if one of them failed.
    pub boosters: Vec<Booster>,
    /// One linear model per part, or the one that is fitted on all rows; none if one of them failed.
    pub linears: Vec<LinearModel>,
    /// Weights of forest, boosters and linear models, with sum 1; all 0 if every component failed.
    pub weights: [f64; COMPONENTS],
    /// The log-linear pool; `None` without parts.
    pub pool: Option<LogLinearPool>,
    /// Number of boosting rounds for predictions.
    pub rounds: usize,
    /// The components that have weight 0 because they failed.
    pub failed: Vec<FailedComponent>,
}

/// A component that has weight 0 because it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedComponent {
    /// The component.
    pub component: ComponentKind,
    /// Why it could not be fitted; `None` if its shares are not finite.
    pub error: Option<Error>,
}

/// Fits a mixture. Rows of weight 0 are left out. The result does not depend on the number of threads.
///
/// A component whose fit fails for a reason that concerns it alone ([`Error::Unsolved`]), or whose held-out shares are
/// not finite, has weight 0 and is reported in [`FittedMixture::failed`].
///
/// # Errors
/// Infinite features, different numbers of rows in features and rankings, parameters that do not fit the data, too many
/// labels, [`Error::Interrupted`], [`Error::Memory`], or threads that cannot be started.
pub fn fit_mixture(
    values: ArrayView2<'_, f64>,
    rankings: Rankings,
    params: &MixtureParams,
    jobs: Jobs<'_>,
) -> Result<FittedMixture> {
    if values.nrows() != rankings.len() {
        return Err(Error::RowCounts {
            features: values.nrows(),
            rankings: rankings.len(),
        });
    }
    check_values(values)?;
    let (values, rankings) = without_weight_0(values, rankings);
    let values = values.view();
    params.check(rankings.len())?;
    let features = Features::new(values, jobs.interrupt)?;
    let parts = parts(params, rankings.len());
    let mut forest = Forest::new(rankings, features.columns());
    let fit = ComponentFit {
        values,
        forest: &forest,
        features: &features,
        params,
        parts: &parts,
    };
    let Components {
        forest: trees,
        boosters,
        linears,
    } = fit.run(jobs)?;
    let trees = trees.map(|trees| forest.add_trees(trees));
    let held_out = params.held_out.as_ref();
    let rows = held_out.map_or(&[][..], |r| &r.evidence);
    let has_refit = held_out.is_some_and(HeldOutRows::has_refit);
    let observed = ObservedPairs::new(forest.rankings(), rows)?;
    let evidence = HeldOutEvidence {
        forest: match trees {
            Ok(()) => Some(ForestEvidence::new(
                &forest,
                values,
                rows,
                params.shrinkage_strength,
                &observed,
                jobs,
            )?),
            Err(_) => None,
        },
        booster: held_out_scores(&parts, &boosters, Booster::compared_labels),
        linear: held_out_scores(&parts, &linears, LinearModel::compared_labels),
        observed,
        has_refit,
    };
    let choice = match params.held_out {
        Some(_) => evidence.choose(jobs)?,
        None => evidence.weigh_equally(),
    };
    let errors = [
        trees.as_ref().err(),
        boosters.as_ref().err(),
        linears.as_ref().err(),
    ];
    let failed = failed_components(errors, &evidence);
    let stages = stages(params.rounds());
    Ok(FittedMixture {
        weights: choice.weights,
        pool: choice.pool,
        rounds: stages[choice.stage.unwrap_or(stages.len() - 1)],
        failed,
        forest: trees.ok().map(|()| forest),
        boosters: predicting_models(boosters, has_refit),
        linears: predicting_models(linears, has_refit),
    })
}

/// The rows of positive weight.
fn without_weight_0(
    values: ArrayView2<'_, f64>,
    rankings: Rankings,
) -> (ndarray::CowArray<'_, f64, ndarray::Ix2>, Rankings) {
    let has_weight = |&row: &usize| rankings.weights().get(row) > 0.0;
    let kept: Vec<usize> = (0..rankings.len()).filter(has_weight).collect();
    if kept.len() == rankings.len() {
        return (values.into(), rankings);
    }
    (values.select(Axis(0), &kept).into(), rankings.select(&kept))
}

/// The models that predict: those of all parts, or the last one if it is fitted on all rows.
fn predicting_models<M>(models: Result<Vec<PartModel<M>>>, has_refit: bool) -> Vec<M> {
    let models = models.unwrap_or_default();
    let unused = if has_refit {
        models.len().saturating_sub(1)
    } else {
        0
    };
    let models = models.into_iter().skip(unused);
    models.map(|part| part.model).collect()
}

/// The scores that the models of a component predict for the held-out rows of their parts; `None` without models.
fn held_out_scores<'a, M>(
    parts: &[Part],
    models: &'a Result<Vec<PartModel<M>>>,
    compared: impl Fn(&'a M) -> &'a [bool],
) -> Option<HeldOutScores<'a>> {
    let models = models.as_ref().ok().filter(|models| !models.is_empty())?;
    let mut rows: Vec<usize> = parts
        .iter()
        .flat_map(|part| part.held_out.iter().copied())
        .collect();
    rows.sort_unstable();
    Some(HeldOutScores::new(&rows, parts, models, compared))
}

/// The components that could not be fitted or predict shares that are not finite.
fn failed_components(
    errors: [Option<&Error>; COMPONENTS],
    evidence: &HeldOutEvidence<'_>,
) -> Vec<FailedComponent> {
    let unsound = evidence.unsound();
    let failed = |kind: usize| {
        let failed = errors[kind].is_some() || unsound[kind];
        failed.then(|| FailedComponent {
            component: KINDS[kind],
            error: errors[kind].cloned(),
        })
    };
    (0..COMPONENTS).filter_map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boost::{BoostOptions, BoostParams};
    use crate::forest::{ForestOptions, ForestVariant};
    use crate::linear::LinearParams;
    use crate::run::Interrupt;
    use crate::tree::TreeOptions;
    use ndarray::Array2;

    const ROWS: usize = 60;

    fn data() -> (Array2<f64>, Array2<i64>) {
        let x = Array2::from_shape_fn((ROWS, 3), |(row, column)| {
            ((row * (7 + column) + row * row / 5) % 17) as f64
        });
        let y = Array2::from_shape_fn((ROWS, 4), |(row, label)| {
            1 + ((x[[row, 0]] as usize * (label + 1) + row % 3) % 4) as i64
        });
        (x, y)
    }

    fn params(held_out: Option<HeldOutRows>) -> MixtureParams {
        let parts = held_out.as_ref().map_or(1, |rows| rows.linear.len());
        let booster = |seed| BoostOptions {
            rounds: 12,
            min_samples_leaf: 3,
            seed,
            ..BoostOptions::default()
        };
        MixtureParams {
            forest: ForestOptions {
                variant: ForestVariant::Mixed,
                tree: TreeOptions::default(),
                seed: 3,
            },
            trees: 8,
            shrinkage_strength: 0.5,
            boosters: (0..parts as u64)
                .map(|seed| BoostParams::new(booster(seed)).unwrap())
                .collect(),
            linear: LinearParams::default(),
            categorical: Vec::new(),
            held_out,
        }
    }

    fn three_parts(rows: usize) -> HeldOutRows {
        let part_of: Vec<usize> = (0..rows).map(|row| row % 3).collect();
        let others = |part| (0..rows).filter(|row| row % 3 != part).collect();
        HeldOutRows {
            evidence: (0..rows).collect(),
            linear: (0..3).map(others).collect(),
            part_of,
        }
    }

    fn fit(
        params: &MixtureParams,
        weights: Option<&[f64]>,
        n_jobs: usize,
    ) -> Result<FittedMixture> {
        let (x, y) = data();
        let rankings = Rankings::new(y.view(), weights, &Interrupt::never()).unwrap();
        let interrupt = Interrupt::never();
        let jobs = Jobs {
            n_jobs,
            interrupt: &interrupt,
        };
        fit_mixture(x.view(), rankings, params, jobs)
    }

    #[test]
    fn the_fit_does_not_depend_on_threads() {
        let params = params(Some(three_parts(ROWS)));
        let one = fit(&params, None, 1).unwrap();
        assert!((one.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(one.rounds == 10 || one.rounds == 12);
        assert!(one.failed.is_empty());
        for n_jobs in [2, 5] {
            let many = fit(&params, None, n_jobs).unwrap();
            assert_eq!((many.weights, &many.pool), (one.weights, &one.pool));
            assert_eq!(many.forest, one.forest);
            assert_eq!(many.boosters, one.boosters);
            assert_eq!(many.linears, one.linears);
        }
    }

    #[test]
    fn components_equal_models_fitted_alone() {
        let params = params(Some(three_parts(ROWS)));
        let mixture = fit(&params, None, 2).unwrap();
        let (x, y) = data();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let mut forest = Forest::new(rankings.clone(), 3);
        forest
            .grow(&features, &params.forest, 8, Jobs::serial())
            .unwrap();
        assert_eq!(mixture.forest, Some(forest));
        let rows = &params.held_out.as_ref().unwrap().linear[1];
        let (x, rankings) = (x.select(Axis(0), rows), rankings.select(rows));
        let silent = crate::boost::Observer::silent();
        let booster = Booster::fit(x.view(), &rankings, &params.boosters[1], &silent).unwrap();
        assert_eq!(mixture.boosters[1], booster);
        // The fit of the second part starts at the first model, so it ends at another point near the optimum.
        let never = Interrupt::never();
        let linear = LinearModel::fit(x.view(), &[], &rankings, &params.linear, &never).unwrap();
        let warm = &mixture.linears[1];
        assert!(warm.has_converged());
        let (warm, alone) = (warm.coefficients(), linear.coefficients());
        assert!((warm.0 - alone.0).iter().all(|gap| gap.abs() < 1e-2));
    }

    #[test]
    fn models_of_a_last_part_without_rows_predict_alone() {
        let mut held_out = three_parts(ROWS);
        assert!(!held_out.has_refit());
        held_out.linear.push((0..ROWS).collect());
        assert!(held_out.has_refit());
        let params = params(Some(held_out));
        let mixture = fit(&params, None, 2).unwrap();
        assert_eq!((mixture.boosters.len(), mixture.linears.len()), (1, 1));
        let (x, y) = data();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let silent = crate::boost::Observer::silent();
        let booster = Booster::fit(x.view(), &rankings, &params.boosters[3], &silent).unwrap();
        assert_eq!(mixture.boosters[0], booster);
    }

    #[test]
    fn rows_of_weight_0_are_left_out() {
        let weights: Vec<f64> = (0..ROWS).map(|row| (row % 2) as f64).collect();
        let half = params(Some(three_parts(ROWS / 2)));
        let mixture = fit(&half, Some(&weights), 1).unwrap();
        assert_eq!(mixture.forest.unwrap().rankings().len(), ROWS / 2);
        let all = params(Some(three_parts(ROWS)));
        assert!(matches!(
            fit(&all, Some(&weights), 1),
            Err(Error::Parameter { .. })
        ));
    }

    #[test]
    fn without_parts_forest_and_booster_have_equal_weights() {
        let mixture = fit(&params(None), None, 2).unwrap();
        assert_eq!(mixture.weights, [0.5, 0.5, 0.0]);
        assert_eq!((mixture.rounds, mixture.boosters.len()), (12, 1));
        assert!(mixture.linears.is_empty() && mixture.failed.is_empty());
    }

    #[test]
    fn interrupted_fits_end() {
        let (x, y) = data();
        let interrupt = Interrupt::new();
        interrupt.request();
        for n_jobs in [1, 2] {
            let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            let jobs = Jobs {
                n_jobs,
                interrupt: &interrupt,
            };
            let found = fit_mixture(x.view(), rankings, &params(None), jobs);
            assert_eq!(found.err(), Some(Error::Interrupted));
        }
    }

    #[test]
    fn components_that_fail_are_reported() {
        let y = data().1;
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let evidence = HeldOutEvidence {
            observed: ObservedPairs::new(&rankings, &[]).unwrap(),
            forest: Some(ForestEvidence::without_noise(vec![[f64::NAN; 3]])),
            booster: None,
            linear: None,
            has_refit: false,
        };
        let error = Error::Unsolved {
            what: "linear model",
            why: "a test".into(),
        };
        let failed = failed_components([None, None, Some(&error)], &evidence);
        let expected = [
            (ComponentKind::Forest, None),
            (ComponentKind::Linear, Some(error)),
        ];
        let found = failed.into_iter().map(|f| (f.component, f.error));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
