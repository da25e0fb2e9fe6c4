//! The components of a mixture, fitted concurrently. An item of the scheduler is a tree, a booster, or the linear
//! models of all parts together.

use ndarray::{Array2, ArrayView2, Axis};

use crate::boost::{BoostOptions, BoostParams, Booster, Observer};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::forest::{Forest, ForestTree};
use crate::linear::{LinearModel, LinearOptions, LinearParams};
use crate::pairs::pair_count;
use crate::run::{self, Interrupt, Jobs, Work};
use crate::tree::SharedEncoding;

use super::params::MixtureParams;

/// Numbers of rounds that the fit chooses from, besides the number of rounds of the boosters.
const SNAPSHOTS: [usize; 5] = [10, 25, 50, 100, 150];

/// Estimated time of a round of boosting per row and label, and of a linear model per row and pair of labels.
const NANOSECONDS: usize = 50;

/// Without parts, the scores of this many rows must be finite.
const ROWS_TO_TRY: usize = 100;

/// The numbers of rounds that the fit chooses from, ascending.
pub(super) fn stages(rounds: usize) -> Vec<usize> {
    let earlier = SNAPSHOTS.into_iter().filter(|&stage| stage < rounds);
    earlier.chain([rounds]).collect()
}

/// The rows of one part.
pub(super) struct Part {
    /// Rows that the booster is fitted on.
    training: Vec<usize>,
    /// Rows that the linear model is fitted on; none without a linear model.
    linear: Vec<usize>,
    /// Held-out rows whose relations are evidence; without parts, rows whose scores must be finite.
    pub(super) held_out: Vec<usize>,
}

#[cfg(test)]
impl Part {
    /// A part without training rows.
    pub(super) fn of_held_out(held_out: Vec<usize>) -> Self {
        Self {
            training: Vec::new(),
            linear: Vec::new(),
            held_out,
        }
    }
}

/// The parts of a fit.
pub(super) fn parts(params: &MixtureParams, rows: usize) -> Vec<Part> {
    let Some(held_out) = &params.held_out else {
        return vec![Part {
            training: (0..rows).collect(),
            linear: Vec::new(),
            held_out: (0..rows.min(ROWS_TO_TRY)).collect(),
        }];
    };
    let part = |(part, linear): (usize, &Vec<usize>)| {
        // A single row cannot be held out.
        let others = (0..rows).filter(|&row| rows == 1 || held_out.part_of[row] != part);
        let own = |&row: &usize| held_out.part_of[row] == part;
        Part {
            training: others.collect(),
            linear: linear.clone(),
            held_out: held_out.evidence.iter().copied().filter(own).collect(),
        }
    };
    held_out.linear.iter().enumerate().map(part).collect()
}

/// A latent model of one part, and its scores of the held-out rows of the part: one table per stage.
pub(super) struct PartModel<M> {
    pub(super) model: M,
    pub(super) scores: Vec<Array2<f64>>,
}

/// The fitted components. A component that failed for a reason that concerns it alone is an error.
pub(super) struct Components {
    pub(super) forest: Result<Vec<ForestTree>>,
    pub(super) boosters: Result<Vec<PartModel<Booster>>>,
    pub(super) linears: Result<Vec<PartModel<LinearModel>>>,
}

/// The result of one item of the scheduler.
enum FittedItem {
    Booster(PartModel<Booster>),
    /// The linear models of all parts.
    Linears(Vec<PartModel<LinearModel>>),
    Tree(ForestTree),
}

/// Read-only inputs of all fits.
pub(super) struct ComponentFit<'a> {
    pub(super) values: ArrayView2<'a, f64>,
    /// The forest without trees, which owns the rankings.
    pub(super) forest: &'a Forest,
    pub(super) features: &'a Features,
    pub(super) params: &'a MixtureParams,
    pub(super) parts: &'a [Part],
}

impl ComponentFit<'_> {
    /// Fits all components on `jobs.n_jobs` threads. Long fits start first, so that all threads end at about the same
    /// time.
    ///
    /// # Errors
    /// Every error but those that concern one component alone.
    pub(super) fn run(&self, jobs: Jobs<'_>) -> Result<Components> {
        self.forest.check_growth(self.features, self.params.trees)?;
        // One item fits the linear models of all parts.
        let linears = usize::from(self.parts.iter().any(|part| !part.linear.is_empty()));
        let items = self.parts.len() + linears + self.params.trees;
        let encoding = SharedEncoding::default();
        let mut fitted: Vec<Option<Result<FittedItem>>> = Vec::new();
        fitted.resize_with(items, || None);
        let mut failed = false;
        run::stream(
            jobs,
            Work::new(items, self.nanoseconds() / items),
            || (),
            |(), item| match item.checked_sub(self.parts.len()) {
                None => self
                    .fit_booster(item, jobs.interrupt)
                    .map(FittedItem::Booster),
                Some(other) if other < linears => {
                    self.fit_linears(jobs.interrupt).map(FittedItem::Linears)
                }
                Some(other) => self.grow_tree(&encoding, other - linears, jobs.interrupt),
            },
            |item, result| {
                failed |= result.as_ref().is_err_and(|e| !concerns_component(e));
                fitted[item] = Some(result);
                !failed
            },
        )?;
        Components::collect(fitted.into_iter().flatten(), self.parts.len(), linears)
    }

    /// Estimated time of all fits on one thread.
    fn nanoseconds(&self) -> usize {
        let rankings = self.forest.rankings();
        let (rows, labels) = (rankings.len(), rankings.labels());
        let booster = rows * labels * NANOSECONDS * self.params.rounds();
        let linear = rows * pair_count(labels) * NANOSECONDS;
        self.params.trees * self.forest.nanoseconds_per_tree()
            + self.parts.len() * booster.saturating_add(linear)
    }

    fn fit_booster(&self, part: usize, interrupt: &Interrupt) -> Result<PartModel<Booster>> {
        let rows = &self.parts[part];
        let params = BoostParams::new(BoostOptions {
            n_jobs: 1,
            ..*self.params.boosters[part].options()
        })?;
        let observer = Observer {
            interrupt,
            ..Observer::silent()
        };
        let rankings = self.forest.rankings().select(&rows.training);
        let values = self.values.select(Axis(0), &rows.training);
        let model = Booster::fit(values.view(), &rankings, &params, &observer)?;
        let held_out = self.values.select(Axis(0), &rows.held_out);
        let jobs = Jobs {
            n_jobs: 1,
            interrupt,
        };
        let staged = model.staged_scores(held_out.view(), &stages(self.params.rounds()), jobs)?;
        let scores = staged.iter().map(|table| table.mapv(f64::from)).collect();
        Ok(PartModel { model, scores })
    }

    /// Fits the linear models one after another. Each fit starts at the result of the one before, whose rows are mostly
    /// the same, and ends after a few steps.
    fn fit_linears(&self, interrupt: &Interrupt) -> Result<Vec<PartModel<LinearModel>>> {
        let params = LinearParams::new(LinearOptions {
            n_jobs: 1,
            ..*self.params.linear.options()
        })?;
        let mut start = None;
        let mut models = Vec::with_capacity(self.parts.len());
        for rows in self.parts.iter().filter(|part| !part.linear.is_empty()) {
            let rankings = self.forest.rankings().select(&rows.linear);
            let values = self.values.select(Axis(0), &rows.linear);
            let data = (values.view(), &self.params.categorical[..]);
            let (model, next) = LinearModel::fit_from(data, &rankings, &params, start, interrupt)?;
            start = Some(next);
            let held_out = self.values.select(Axis(0), &rows.held_out);
            let scores = vec![model.scores(held_out.view(), interrupt)?];
            models.push(PartModel { model, scores });
        }
        Ok(models)
    }

    fn grow_tree(
        &self,
        encoding: &SharedEncoding,
        index: usize,
        interrupt: &Interrupt,
    ) -> Result<FittedItem> {
        let options = &self.params.forest;
        let tree = self
            .forest
            .grow_tree(encoding, self.features, options, index, interrupt)?;
        Ok(FittedItem::Tree(tree))
    }
}

impl Components {
    /// Sorts results, in the order of the items, into components.
    ///
    /// # Errors
    /// The first error that does not concern one component alone.
    fn collect(
        results: impl Iterator<Item = Result<FittedItem>>,
        boosters: usize,
        linears: usize,
    ) -> Result<Self> {
        let mut components = Self {
            forest: Ok(Vec::new()),
            boosters: Ok(Vec::new()),
            linears: Ok(Vec::new()),
        };
        for (item, result) in results.enumerate() {
            match result {
                Ok(FittedItem::Booster(model)) => push(&mut components.boosters, model),
                Ok(FittedItem::Linears(models)) => components.linears = Ok(models),
                Ok(FittedItem::Tree(tree)) => push(&mut components.forest, tree),
                Err(error) if !concerns_component(&error) => return Err(error),
                Err(error) if item < boosters => fail(&mut components.boosters, error),
                Err(error) if item < boosters + linears => fail(&mut components.linears, error),
                Err(error) => fail(&mut components.forest, error),
            }
        }
        Ok(components)
    }
}

/// Whether an error concerns one component only, so that the mixture can leave this component out. All other errors
/// are errors of the data, the parameters or the machine.
fn concerns_component(error: &Error) -> bool {
    matches!(error, Error::Unsolved { .. })
}

fn push<T>(component: &mut Result<Vec<T>>, model: T) {
    if let Ok(models) = component {
        models.push(model);
    }
}

/// Keeps the first error of a component.
fn fail<T>(component: &mut Result<Vec<T>>, error: Error) {
    if component.is_ok() {
        *component = Err(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::{ForestOptions, ForestVariant};
    use crate::tree::TreeOptions;

    fn unsolved(why: &str) -> Error {
        Error::Unsolved {
            what: "linear model",
            why: why.into(),
        }
    }

    fn linear() -> Result<FittedItem> {
        let x = Array2::from_shape_fn((4, 1), |(row, _)| row as f64);
        let y = Array2::from_shape_fn((4, 2), |(row, label)| 1 + i64::from(row % 2 == label));
        let rankings = crate::rankings::Rankings::new(y.view(), None, &Interrupt::never())?;
        let params = LinearParams::default();
        let model = LinearModel::fit(x.view(), &[], &rankings, &params, &Interrupt::never())?;
        let scores = Vec::new();
        Ok(FittedItem::Linears(vec![PartModel { model, scores }]))
    }

    #[test]
    fn a_component_fails_alone() {
        let results = [Err(unsolved("first")), Err(unsolved("second")), linear()];
        let components = Components::collect(results.into_iter(), 2, 1).unwrap();
        assert_eq!(components.boosters.err(), Some(unsolved("first")));
        assert_eq!(components.linears.unwrap().len(), 1);
        assert!(components.forest.unwrap().is_empty());
        let results = [Err(unsolved("one model is enough"))];
        let components = Components::collect(results.into_iter(), 0, 1).unwrap();
        assert!(components.linears.is_err());
        let results = [Err(unsolved("a tree"))];
        let components = Components::collect(results.into_iter(), 0, 0).unwrap();
        assert!(components.forest.is_err());
    }

    #[test]
    fn other_errors_end_the_fit() {
        for error in [Error::Interrupted, Error::NoFeatures] {
            let results = [Err(unsolved("alone")), linear(), Err(error.clone())];
            let found = Components::collect(results.into_iter(), 1, 1);
            assert_eq!(found.err(), Some(error));
        }
    }

    #[test]
    fn snapshots_end_with_all_rounds() {
        assert_eq!(stages(200), [10, 25, 50, 100, 150, 200]);
        assert_eq!(stages(25), [10, 25]);
        assert_eq!(stages(3), [3]);
    }

    #[test]
    fn the_estimated_time_is_proportional_to_the_rows() {
        let estimate = |rows: usize| {
            let y = Array2::<i64>::ones((rows, 5));
            let rankings =
                crate::rankings::Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
            let x = Array2::from_shape_fn((rows, 2), |(row, column)| (row + column) as f64);
            let fit = ComponentFit {
                values: x.view(),
                forest: &Forest::new(rankings, 2),
                features: &Features::new(x.view(), &Interrupt::never()).unwrap(),
                params: &MixtureParams {
                    forest: ForestOptions {
                        variant: ForestVariant::Mixed,
                        tree: TreeOptions::default(),
                        seed: 0,
                    },
                    trees: 3,
                    shrinkage_strength: 0.5,
                    boosters: vec![BoostParams::default()],
                    linear: LinearParams::default(),
                    categorical: Vec::new(),
                    held_out: None,
                },
                parts: &[Part::of_held_out(vec![0])],
            };
            fit.nanoseconds()
        };
        assert_eq!(estimate(700), 7 * estimate(100));
        assert!(estimate(100) > 100 * NANOSECONDS);
    }
}
