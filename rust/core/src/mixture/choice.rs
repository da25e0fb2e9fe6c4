//! Choice of the boosting rounds and of the weights of both pools, by the likelihood of held-out relations.

use crate::error::Result;
use crate::run::{self, Jobs};

use super::evidence::{are_finite, HeldOutScores, ObservedPairs, Shares};
use super::log_linear::LogLinearPool;
use super::out_of_bag::ForestEvidence;
use super::pool_fit::fit_pool;
use super::pool_objective::PoolEvidence;
use super::weights::{mixture_weights, pair_weights, total_evidence};
use super::COMPONENTS;

/// Weights of forest, booster and linear model with which the boosting rounds are chosen.
const ROUNDS_WEIGHTS: [f64; COMPONENTS] = [0.4, 0.4, 0.2];

/// Without a refit: the initial weights, which act as a prior.
const START: [f64; COMPONENTS] = [0.25, 0.25, 0.5];

/// With a refit: the initial weight of the linear model with many comparisons, and with none.
const LINEAR_START: [f64; 2] = [0.4, 0.8];

/// With a refit: the number of comparisons with which the initial weight is halfway between the two.
const HALFWAY: f64 = 40.0;

/// With a refit: the forest's part of the initial weight that the linear model leaves to forest and booster.
const FOREST_START: f64 = 0.7;

/// Smallest share of an observed relation, which keeps the likelihood positive.
const FLOOR: f64 = 0.001;

/// Estimated time to fit the log-linear pool, per observed pair.
const NANOSECONDS_PER_PAIR: usize = 200;

/// Held-out predictions of the components that could be fitted.
pub(super) struct HeldOutEvidence<'a> {
    pub(super) observed: ObservedPairs,
    pub(super) forest: Option<ForestEvidence>,
    pub(super) booster: Option<HeldOutScores<'a>>,
    pub(super) linear: Option<HeldOutScores<'a>>,
    /// Whether one booster and one linear model, fitted on all rows, predict in place of the models of the parts.
    pub(super) has_refit: bool,
}

/// Boosting rounds, weights and pool chosen from the evidence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoundsAndWeights {
    /// Index of the chosen number of rounds among the stages of the boosters; `None` without boosters or observed
    /// pairs.
    pub(super) stage: Option<usize>,
    /// Weights of the components, with sum 1; 0 for a component that is missing or whose predictions are not finite. If
    /// this is true of all components, the sum is 0.
    pub(super) weights: [f64; COMPONENTS],
    /// The log-linear pool, with numbers for all components; `None` if the fit has no parts.
    pub(super) pool: Option<LogLinearPool>,
}

impl HeldOutEvidence<'_> {
    /// Which components predict finite shares.
    fn sound(&self) -> [bool; COMPONENTS] {
        let [forest, booster, linear] = self.unsound();
        [
            self.forest.is_some() && !forest,
            self.booster.is_some() && !booster,
            self.linear.is_some() && !linear,
        ]
    }

    /// Which components predict shares that are not finite.
    pub(super) fn unsound(&self) -> [bool; COMPONENTS] {
        let latent = |scores: &Option<HeldOutScores<'_>>| {
            scores.as_ref().is_some_and(|scores| !scores.are_finite())
        };
        [
            self.forest
                .as_ref()
                .is_some_and(|forest| !are_finite(&forest.shares)),
            latent(&self.booster),
            latent(&self.linear),
        ]
    }

    /// All rounds, and equal weights of the sound components.
    pub(super) fn weigh_equally(&self) -> RoundsAndWeights {
        let sound = self.sound();
        let count = sound.iter().filter(|&&sound| sound).count();
        let weight = |sound| if sound { 1.0 / count as f64 } else { 0.0 };
        RoundsAndWeights {
            stage: None,
            weights: sound.map(weight),
            pool: None,
        }
    }

    /// Chooses rounds and weights.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted), or threads that cannot be started.
    pub(super) fn choose(&self, jobs: Jobs<'_>) -> Result<RoundsAndWeights> {
        let sound = self.sound();
        let linear = match self.linear.as_ref().filter(|_| sound[2]) {
            Some(scores) => Some(scores.shares(0, &self.observed, jobs)?),
            None => None,
        };
        let forest = self.forest.as_ref().filter(|_| sound[0]);
        let mut shares = [
            forest.map(|forest| &forest.shares[..]),
            None,
            linear.as_deref(),
        ];
        let (mut stage, booster) = match self.booster.as_ref().filter(|_| sound[1]) {
            Some(scores) => {
                let (stage, shares) = self.best_stage(scores, &shares, sound, jobs)?;
                (Some(stage), Some(shares))
            }
            None => (None, None),
        };
        shares[1] = booster.as_deref();
        if self.observed.len() == 0 {
            stage = None;
        }
        let (counts, row_weights) = (self.observed.counts(), self.observed.row_weights());
        let start = if self.has_refit {
            refit_start(total_evidence(counts, row_weights))
        } else {
            START
        };
        let weights = self.weights(&shares, &normalise_sound(start, sound));
        Ok(RoundsAndWeights {
            stage,
            pool: Some(self.pool(&shares, &weights, jobs)?),
            weights,
        })
    }

    /// Weights of the linear pool.
    ///
    /// A component predicts better than its evidence says if a prediction averages more models than were evaluated on a
    /// held-out row. The forest always averages more models; boosters and linear models do so only without a refit.
    /// With a refit, the evidence therefore underrates only the forest, and its shares are corrected.
    fn weights(
        &self,
        shares: &[Option<&[Shares]>; COMPONENTS],
        start: &[f64; COMPONENTS],
    ) -> [f64; COMPONENTS] {
        let kept: Vec<usize> = (0..COMPONENTS).filter(|&k| shares[k].is_some()).collect();
        let mut observed: Vec<Vec<f64>> =
            shares.iter().flatten().map(|s| self.floored(s)).collect();
        let forest = self.forest.as_ref().filter(|_| shares[0].is_some());
        if let (Some(forest), Some(shares), true) = (forest, observed.first_mut(), self.has_refit) {
            forest.correct_noise(self.observed.relations(), shares);
        }
        let start: Vec<f64> = kept.iter().map(|&kind| start[kind]).collect();
        let (counts, row_weights) = (self.observed.counts(), self.observed.row_weights());
        let found = mixture_weights(&observed, counts, row_weights, &start);
        let mut weights = [0.0; COMPONENTS];
        for (kind, weight) in kept.into_iter().zip(found) {
            weights[kind] = weight;
        }
        weights
    }

    /// The log-linear pool, which starts at the weights of the linear pool.
    fn pool(
        &self,
        shares: &[Option<&[Shares]>; COMPONENTS],
        weights: &[f64; COMPONENTS],
        jobs: Jobs<'_>,
    ) -> Result<LogLinearPool> {
        let pairs = pair_weights(self.observed.counts(), self.observed.row_weights());
        let evidence = PoolEvidence {
            shares: *shares,
            forest_noise: self.forest.as_ref().map_or(&[], |forest| &forest.noise),
            relations: self.observed.relations(),
            weights: &pairs.collect::<Vec<_>>(),
        };
        let nanoseconds = evidence.relations.len() * NANOSECONDS_PER_PAIR;
        run::scope(jobs, nanoseconds as u64, |pool| {
            fit_pool(&evidence, weights, (pool, jobs.interrupt))
        })
    }

    /// Shares of the observed relations, at least [`FLOOR`].
    fn floored(&self, shares: &[Shares]) -> Vec<f64> {
        let mut observed = self.observed.of_relations(shares);
        for share in &mut observed {
            *share = share.max(FLOOR);
        }
        observed
    }

    /// The first stage with the largest log-likelihood of the mixture with [`ROUNDS_WEIGHTS`], and the booster's shares
    /// at this stage; `shares` are those of the other components.
    fn best_stage(
        &self,
        scores: &HeldOutScores<'_>,
        shares: &[Option<&[Shares]>; COMPONENTS],
        sound: [bool; COMPONENTS],
        jobs: Jobs<'_>,
    ) -> Result<(usize, Vec<Shares>)> {
        let weights = normalise_sound(ROUNDS_WEIGHTS, sound);
        let mut others = vec![0.0; self.observed.len()];
        for (shares, weight) in shares.iter().zip(weights) {
            let observed = shares.map(|shares| self.floored(shares));
            for (sum, share) in others.iter_mut().zip(observed.into_iter().flatten()) {
                *sum += weight * share;
            }
        }
        let mut best = (0, Vec::new(), f64::NEG_INFINITY);
        for stage in 0..scores.stages() {
            let shares = scores.shares(stage, &self.observed, jobs)?;
            let likelihood = self.log_likelihood(&self.floored(&shares), weights[1], &others);
            if likelihood > best.2 {
                best = (stage, shares, likelihood);
            }
        }
        Ok((best.0, best.1))
    }

    /// Sum over the observed pairs of row weight · ln(weight · share + other).
    fn log_likelihood(&self, shares: &[f64], weight: f64, others: &[f64]) -> f64 {
        let mut pairs = shares.iter().zip(others);
        let (counts, row_weights) = (self.observed.counts(), self.observed.row_weights());
        let row = |(&count, row_weight): (&usize, &f64)| {
            let pairs = pairs.by_ref().take(count);
            let logs = pairs.map(|(share, other)| (weight * share + other).ln());
            row_weight * logs.sum::<f64>()
        };
        counts.iter().zip(row_weights).map(row).sum()
    }
}

/// Initial weights with a refit, given the number of comparisons. With next to no evidence the linear model is the
/// safest of the three, and the booster is rarely the best.
fn refit_start(comparisons: f64) -> [f64; COMPONENTS] {
    let [many, none] = LINEAR_START;
    let linear = many + (none - many) * HALFWAY / (HALFWAY + comparisons);
    let others = 1.0 - linear;
    [FOREST_START * others, (1.0 - FOREST_START) * others, linear]
}

/// Sets the weights of unsound components to 0 and divides the others by their sum.
fn normalise_sound(weights: [f64; COMPONENTS], sound: [bool; COMPONENTS]) -> [f64; COMPONENTS] {
    let kept: [f64; COMPONENTS] =
        std::array::from_fn(|kind| if sound[kind] { weights[kind] } else { 0.0 });
    let total: f64 = kept.iter().sum();
    kept.map(|weight| if total > 0.0 { weight / total } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::components::{Part, PartModel};
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    const COMPARED: [bool; 2] = [true; 2];

    /// Scores of two labels whose share of "before" is near `share`, with next to no ties.
    fn scores(shares: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((shares.len(), 4), |(row, column)| match column {
            0 => (shares[row] / (1.0 - shares[row])).ln(),
            1 => 0.0,
            _ => -20.0,
        })
    }

    fn held_out(stages: &[&[f64]]) -> HeldOutScores<'static> {
        let rows: Vec<usize> = (0..stages[0].len()).collect();
        let model = Box::leak(Box::new([PartModel {
            model: (),
            scores: stages.iter().map(|shares| scores(shares)).collect(),
        }]));
        let parts = [Part::of_held_out(rows.clone())];
        HeldOutScores::new(&rows, &parts, model, |()| &COMPARED[..])
    }

    fn forest(shares: &[f64]) -> ForestEvidence {
        ForestEvidence::without_noise(shares.iter().map(|&b| [b, 0.0, 1.0 - b]).collect())
    }

    fn observed(rows: usize, weights: Option<&[f64]>) -> ObservedPairs {
        let y = Array2::from_shape_fn((rows, 2), |(_, label)| 1 + label as i64);
        let rankings = Rankings::new(y.view(), weights, &Interrupt::never()).unwrap();
        ObservedPairs::new(&rankings, &(0..rows).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_most_likely_stage_is_chosen_and_broken_components_have_no_weight() {
        let evidence = |linear| HeldOutEvidence {
            observed: observed(2, None),
            forest: Some(forest(&[0.5, 0.5])),
            booster: Some(held_out(&[&[0.4, 0.4], &[0.9, 0.8], &[0.95, 0.1]])),
            linear,
            has_refit: false,
        };
        let choice = evidence(None).choose(Jobs::serial()).unwrap();
        assert_eq!(choice.stage, Some(1));
        let [of_forest, of_booster, of_linear] = choice.weights;
        assert!(of_booster > of_forest && of_forest > 0.0 && of_linear == 0.0);
        assert!((of_forest + of_booster - 1.0).abs() < 1e-12);
        let pool = choice.pool.clone().unwrap();
        assert!(pool.order[1] > 0.0 && pool.order[2] == 0.0 && pool.tie[2] == 0.0);
        let broken = held_out(&[&[0.3, f64::NAN]]);
        assert!(!broken.are_finite());
        assert_eq!(
            evidence(Some(broken)).choose(Jobs::serial()).unwrap(),
            choice
        );
        let nothing = HeldOutEvidence {
            observed: observed(2, None),
            forest: Some(forest(&[f64::NAN, 0.5])),
            booster: None,
            linear: None,
            has_refit: false,
        };
        let choice = nothing.choose(Jobs::serial()).unwrap();
        assert_eq!(choice.weights, [0.0; COMPONENTS]);
    }

    #[test]
    fn row_weights_affect_rounds_and_weights() {
        let rows = 40;
        let by_row = |early: f64, late: f64| -> Vec<f64> {
            (0..rows)
                .map(|row| if row < rows / 2 { early } else { late })
                .collect()
        };
        let choose = |weights: Option<&[f64]>| {
            let (first, last) = (by_row(0.9, 0.2), by_row(0.3, 0.8));
            let evidence = HeldOutEvidence {
                observed: observed(rows, weights),
                forest: Some(forest(&by_row(0.3, 0.9))),
                booster: Some(held_out(&[&first, &last])),
                linear: Some(held_out(&[&by_row(0.95, 0.1)])),
                has_refit: false,
            };
            evidence.choose(Jobs::serial()).unwrap()
        };
        let alike = choose(None);
        let early = choose(Some(&by_row(5.0, 0.5)));
        let late = choose(Some(&by_row(0.5, 5.0)));
        assert_eq!((early.stage, late.stage), (Some(0), Some(1)));
        assert!(early.weights[2] > alike.weights[2] && alike.weights[2] > late.weights[2]);
        assert!(early.weights[0] < alike.weights[0] && alike.weights[0] < late.weights[0]);
        assert_eq!(choose(Some(&by_row(0.1, 0.1))), alike);
        let scaled = choose(Some(&by_row(5e120, 0.5e120)));
        for (a, b) in scaled.weights.iter().zip(early.weights) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn noise_of_the_forest_is_corrected_with_a_refit() {
        let rows = 30;
        let shares = vec![0.6; rows];
        let choose = |noise: f64, has_refit| {
            let mut forest = forest(&shares);
            forest.noise = vec![[noise, 0.0, 0.0]; rows];
            let evidence = HeldOutEvidence {
                observed: observed(rows, None),
                forest: Some(forest),
                booster: Some(held_out(&[&shares])),
                linear: Some(held_out(&[&shares])),
                has_refit,
            };
            evidence.choose(Jobs::serial()).unwrap().weights[0]
        };
        assert_eq!(choose(0.5, false), choose(0.0, false));
        // Equal components keep their initial weights: with 30 comparisons the linear model starts at 22 / 35.
        assert!((choose(0.0, false) - 0.25).abs() < 1e-6);
        assert!((choose(0.0, true) - 0.26).abs() < 1e-6);
        assert!(choose(0.5, true) > 0.265);
    }

    #[test]
    fn without_pairs_the_start_is_kept() {
        let y = ndarray::array![[1.0, f64::NAN], [1.0, f64::NAN]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let evidence = HeldOutEvidence {
            observed: ObservedPairs::new(&rankings, &[0, 1]).unwrap(),
            forest: Some(forest(&[])),
            booster: Some(held_out(&[&[0.4, 0.4]])),
            linear: Some(held_out(&[&[0.4, 0.4]])),
            has_refit: true,
        };
        let choice = evidence.choose(Jobs::serial()).unwrap();
        assert_eq!(choice.stage, None);
        let pool = choice.pool.unwrap();
        assert_eq!(
            (pool.order, pool.tie),
            (choice.weights.to_vec(), choice.weights.to_vec())
        );
        assert_eq!(pool.tie_offset, 0.0);
        for (weight, start) in choice.weights.iter().zip([0.14, 0.06, 0.8]) {
            assert!((weight - start).abs() < 1e-15);
        }
    }
}
