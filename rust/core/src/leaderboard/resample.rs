//! [`resample_scores`]: scores of the labels from the data and from resamples of it, whose units (comparisons, groups
//! of them, or rankings) are drawn with replacement.

use ndarray::{Array2, ArrayView1};

use super::draw::UnitDraw;
use crate::aggregate::{Davidson, Evidence, Scorer, Workspace, UTILITY_TOLERANCE};
use crate::comparisons::{
    connected_components, distinct_rows, is_whole, ContestSample, Tallies, OUTCOMES,
};
use crate::error::{ComparisonError, Error, Result};
use crate::latent::{ContestModel, Posterior, WarmStart};
use crate::pairs::PairCounts;
use crate::random::{resample_seed, Generator};
use crate::rankings::Rankings;
use crate::run::{require_memory, stream, Interrupt, Jobs, Work};
use crate::weights::Weights;

/// Largest number of labels of a leaderboard, because all pairs of labels are compared in all resamples.
pub const MAX_BOARD_LABELS: usize = 2048;

/// Resamples between two reports of progress.
const PROGRESS_STEP: usize = 16;

/// The data of a leaderboard.
#[derive(Debug, Clone, Copy)]
pub enum BoardData<'a> {
    /// Comparisons or counts of them.
    Comparisons(&'a ContestSample),
    /// Rankings, and the sample of their pairs.
    Rankings(&'a Rankings, &'a ContestSample),
}

/// A method that gives each label a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoardMethod {
    /// Utilities of the labels in Davidson's model, fitted together with the effects of the sample (of being named
    /// first, and of covariates).
    Davidson(Davidson),
    /// Scores of another method.
    Scorer(Scorer),
}

/// Number of resamples, seed and threads.
#[derive(Clone, Copy)]
pub struct ResampleOptions<'a> {
    /// Number of resamples; at least 2.
    pub resamples: usize,
    /// Seed; resample b has the b-th seed derived from it, which no resample of a neighbouring seed has.
    pub seed: u64,
    /// Number of threads; 0 stands for all cores. The result does not depend on it.
    pub n_jobs: usize,
    /// Ends the work early.
    pub interrupt: &'a Interrupt,
}

/// Scores of the data and of its resamples.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreSample {
    /// Scores of the data, one per label.
    pub scores: Vec<f64>,
    /// Scores of each resample, one row per resample.
    pub resampled: Array2<f64>,
    /// Scores that differ by no more than this are equal up to rounding.
    pub tolerance: f64,
}

/// Computes the scores of the data and of resamples of its units, drawn with replacement. `progress` is called on the
/// calling thread with the number of finished resamples.
///
/// # Errors
/// [`Error::Parameter`] for fewer than 2 resamples, [`ComparisonError::TooFewUnits`], [`Error::TooManyLabels`] above
/// [`MAX_BOARD_LABELS`], [`Error::Memory`], the errors of the method, [`Error::Interrupted`].
pub fn resample_scores(
    data: BoardData<'_>,
    method: BoardMethod,
    options: ResampleOptions<'_>,
    progress: &mut dyn FnMut(usize),
) -> Result<ScoreSample> {
    let (BoardData::Comparisons(sample) | BoardData::Rankings(_, sample)) = data;
    check(sample, options)?;
    match (method, data) {
        (BoardMethod::Davidson(davidson), _) => {
            let (ties, ridge) = (davidson.ties(), davidson.ridge());
            let model = ContestModel::new(&sample.contests, &sample.tallies, ties, ridge);
            let Posterior { scores } =
                Posterior::fit_contests(&model, &sample.tallies, options.interrupt)?;
            let method = ModelScores {
                sample,
                draw: UnitDraw::new(sample.units.copies()),
                components: connected_components(&sample.counts),
                warm: WarmStart::new(&model, &sample.tallies, &scores)?,
                model,
                interrupt: options.interrupt,
            };
            let scores = scores[..model.labels()].to_vec();
            method.collect(scores, UTILITY_TOLERANCE, options, progress)
        }
        (BoardMethod::Scorer(scorer), BoardData::Comparisons(_)) => {
            let method = PairScores {
                sample,
                draw: UnitDraw::new(sample.units.copies()),
                scorer,
                interrupt: options.interrupt,
            };
            let data_scores = method.score(
                sample.counts.clone(),
                &mut Workspace::new(options.interrupt),
            )?;
            method.collect(data_scores, scorer.tie_tolerance(), options, progress)
        }
        (BoardMethod::Scorer(scorer), BoardData::Rankings(rankings, _)) => {
            let rows = distinct_rows(rankings);
            let copies: Vec<u64> = rows.iter().map(|&(_, copies)| copies).collect();
            let method = RankingScores {
                rankings,
                draw: UnitDraw::new(&copies),
                rows: rows.into_iter().map(|(row, _)| row).collect(),
                scorer,
                interrupt: options.interrupt,
            };
            let data_scores = method.score(rankings, &mut Workspace::new(options.interrupt))?;
            method.collect(data_scores, scorer.tie_tolerance(), options, progress)
        }
    }
}

fn check(sample: &ContestSample, options: ResampleOptions<'_>) -> Result<()> {
    let labels = sample.counts.labels();
    if labels > MAX_BOARD_LABELS {
        return Err(Error::TooManyLabels {
            found: labels,
            limit: MAX_BOARD_LABELS,
        });
    }
    if options.resamples < 2 {
        return Err(Error::Parameter {
            name: "n_resamples",
            found: options.resamples as f64,
            expected: "a whole number of at least 2",
        });
    }
    let found = sample.units.total();
    if found < 2 {
        return Err(Error::Comparison(ComparisonError::TooFewUnits {
            found,
            noun: "comparisons, rankings or groups to resample",
        }));
    }
    Ok(())
}

/// A method that draws resamples and computes their scores.
trait ResampledScores: Sync {
    /// Buffers of one thread.
    type Buffers;

    fn buffers(&self) -> Result<Self::Buffers>;

    /// Estimated time of a resample in nanoseconds.
    fn nanoseconds(&self) -> usize;

    /// Draws a resample and returns its scores, one per label.
    fn draw(&self, generator: &mut Generator, buffers: &mut Self::Buffers) -> Result<Vec<f64>>;

    /// The `scores` of the data with the scores of all resamples, which are computed on several threads.
    fn collect(
        &self,
        scores: Vec<f64>,
        tolerance: f64,
        options: ResampleOptions<'_>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<ScoreSample> {
        let jobs = Jobs {
            n_jobs: options.n_jobs,
            interrupt: options.interrupt,
        };
        // The table, and the copy of it that `Separation::new` makes.
        let size = [options.resamples, scores.len(), 2];
        require_memory::<f64>("the scores of the resamples", &size)?;
        let mut resampled = Array2::zeros((options.resamples, scores.len()));
        let draw = |buffers: &mut Result<Self::Buffers>, resample: usize| {
            let buffers = buffers.as_mut().map_err(|error| error.clone())?;
            let mut generator = Generator::new(resample_seed(options.seed, resample));
            self.draw(&mut generator, buffers)
        };
        // The failure with the smallest index, so that the error is the same for every number of threads.
        let mut failure: Option<(usize, Error)> = None;
        let mut finished = 0;
        let work = Work::new(options.resamples, self.nanoseconds());
        stream(
            jobs,
            work,
            || self.buffers(),
            draw,
            |resample, result| {
                match result {
                    Ok(row) => resampled.row_mut(resample).assign(&ArrayView1::from(&row)),
                    Err(error) => {
                        if failure.as_ref().is_none_or(|&(first, _)| resample < first) {
                            failure = Some((resample, error));
                        }
                    }
                }
                finished += 1;
                if finished % PROGRESS_STEP == 0 || finished == options.resamples {
                    progress(finished);
                }
                failure.is_none()
            },
        )?;
        match failure {
            Some((_, error)) => Err(error),
            None => Ok(ScoreSample {
                scores,
                resampled,
                tolerance,
            }),
        }
    }
}

/// Utilities of a fitted model. The centre of the prior of the utilities is resampled, too: a score that is determined
/// by the prior alone varies as much as the prior, so a label that won every comparison has a wide interval.
struct ModelScores<'a> {
    sample: &'a ContestSample,
    draw: UnitDraw,
    /// Connected component of each label in the graph of compared labels.
    components: Vec<usize>,
    model: ContestModel<'a>,
    warm: WarmStart,
    interrupt: &'a Interrupt,
}

impl ModelScores<'_> {
    /// Draws a new centre of the prior from the prior itself. Only differences of utilities have a meaning, so the
    /// drawn utilities of each component are shifted to mean 0.
    fn draw_centre(&self, generator: &mut Generator) -> Vec<f64> {
        let deviation = self.model.prior_deviation();
        let mut centre: Vec<f64> = (0..self.model.size())
            .map(|_| deviation * normal(generator))
            .collect();
        let mut sums = vec![(0.0, 0.0); self.components.len()];
        for (&component, value) in self.components.iter().zip(&centre) {
            sums[component].0 += value;
            sums[component].1 += 1.0;
        }
        for (&component, value) in self.components.iter().zip(&mut centre) {
            *value -= sums[component].0 / sums[component].1;
        }
        centre
    }
}

/// A standard normal number, by the method of Box and Muller.
fn normal(generator: &mut Generator) -> f64 {
    // 1 − u is never 0.
    let radius = (-2.0 * (1.0 - generator.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * generator.unit()).cos()
}

impl ResampledScores for ModelScores<'_> {
    type Buffers = Tallies;

    fn nanoseconds(&self) -> usize {
        // A draw per contest and outcome, a few gradients and solutions of linear equations.
        30 * self.sample.contests.len() + 10 * self.model.size().pow(2)
    }

    fn buffers(&self) -> Result<Tallies> {
        Ok(vec![[0.0; OUTCOMES]; self.sample.contests.len()])
    }

    fn draw(&self, generator: &mut Generator, tallies: &mut Tallies) -> Result<Vec<f64>> {
        let units = &self.sample.units;
        self.draw.draw_tallies(units, generator, tallies);
        let centre = self.draw_centre(generator);
        let model = self.model.with_centre(&centre);
        let mut scores = self.warm.refit(&model, tallies, self.interrupt)?;
        scores.truncate(self.model.labels());
        Ok(scores)
    }
}

/// Scores of another method, from resampled comparisons.
struct PairScores<'a> {
    sample: &'a ContestSample,
    draw: UnitDraw,
    scorer: Scorer,
    interrupt: &'a Interrupt,
}

impl PairScores<'_> {
    fn score(&self, counts: PairCounts, workspace: &mut Workspace) -> Result<Vec<f64>> {
        let evidence = Evidence::from_counts(counts, self.scorer.needs())?;
        self.scorer.scores(&evidence, workspace)
    }
}

impl ResampledScores for PairScores<'_> {
    type Buffers = (Tallies, Workspace);

    fn nanoseconds(&self) -> usize {
        30 * self.sample.contests.len() + 10 * self.sample.counts.labels().pow(2)
    }

    fn buffers(&self) -> Result<Self::Buffers> {
        let tallies = vec![[0.0; OUTCOMES]; self.sample.contests.len()];
        Ok((tallies, Workspace::new(self.interrupt)))
    }

    fn draw(
        &self,
        generator: &mut Generator,
        (tallies, workspace): &mut Self::Buffers,
    ) -> Result<Vec<f64>> {
        let units = &self.sample.units;
        self.draw.draw_tallies(units, generator, tallies);
        let mut counts = PairCounts::empty(self.sample.counts.labels())?;
        self.sample.contests.add_to(tallies, &mut counts);
        self.score(counts, workspace)
    }
}

/// Scores of another method, from resampled rankings.
struct RankingScores<'a> {
    rankings: &'a Rankings,
    draw: UnitDraw,
    /// Index of each distinct row.
    rows: Vec<usize>,
    scorer: Scorer,
    interrupt: &'a Interrupt,
}

impl RankingScores<'_> {
    fn score(&self, rankings: &Rankings, workspace: &mut Workspace) -> Result<Vec<f64>> {
        // Some Markov chains depend on the number of labels per row, so the evidence is computed from whole rows.
        let evidence = Evidence::from_rankings(rankings, self.scorer.needs(), self.interrupt)?;
        self.scorer.scores(&evidence, workspace)
    }
}

impl ResampledScores for RankingScores<'_> {
    type Buffers = Workspace;

    fn nanoseconds(&self) -> usize {
        self.rows.len() * self.rankings.labels().pow(2)
    }

    fn buffers(&self) -> Result<Self::Buffers> {
        Ok(Workspace::new(self.interrupt))
    }

    fn draw(&self, generator: &mut Generator, workspace: &mut Workspace) -> Result<Vec<f64>> {
        let mut times = vec![0_u64; self.rows.len()];
        self.draw
            .draw(generator, |unit, drawn| times[unit] += drawn);
        let drawn: Vec<usize> = (0..times.len()).filter(|&unit| times[unit] > 0).collect();
        let rows: Vec<usize> = drawn.iter().map(|&unit| self.rows[unit]).collect();
        let whole = is_whole(self.rankings.weights());
        let weights = drawn.iter().map(|&unit| {
            let own = self.rankings.weights().get(self.rows[unit]);
            times[unit] as f64 * if whole { 1.0 } else { own }
        });
        let weights = Weights::Each(weights.collect());
        let resample = self.rankings.select(&rows).with_weights(weights);
        self.score(&resample, workspace)
    }
}
