//! Fit of a booster: constant scores, then one tree per round.

use ndarray::{ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::features::{check_values, Features};
use crate::latent::{compared_labels, Derivatives, LatentRow};
use crate::pairs::{pair_count, PairCounts};
use crate::random::{child_seed, Generator};
use crate::rankings::{Rankings, MISSING};
use crate::run::{self, require_memory, Interrupt, Jobs, Pool};

use super::bins::Bins;
use super::booster::Booster;
use super::buffers::SplitBuffers;
use super::coded_scores::CodedCache;
use super::gradient::{group_count, DerivativeLines, RowDerivatives, ROWS};
use super::grow::{GrownTree, TreeGrower};
use super::params::{BoostOptions, BoostParams};
use super::row_sample::RowSample;

/// Estimated time for the derivatives of one pair of a row.
const NANOSECONDS_PER_PAIR: usize = 4;
/// Estimated time for adding the values of a tree to the scores of a row; also the time per row and label for
/// growing it.
const NANOSECONDS_PER_ROW: usize = 50;
/// Newton steps of the constant scores before the first tree.
const CONSTANT_STEPS: usize = 3;
/// Fraction of the Newton step that is taken for the constant scores.
const CONSTANT_RATE: f64 = 0.7;
/// Largest change of a constant score in one step.
const CONSTANT_CLIP: f64 = 2.0;

/// Progress callback and interrupt of a fit.
pub struct Observer<'a> {
    /// Checked before each round and before each level of a tree.
    pub interrupt: &'a Interrupt,
    /// Called after each round with its number, from 1, and the mean log-likelihood per validation pair.
    pub on_round: &'a (dyn Fn(usize, Option<f64>) + Sync),
}

impl Observer<'_> {
    /// No progress callback and no interrupt.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            interrupt: const { &Interrupt::never() },
            on_round: &|_, _| (),
        }
    }
}

impl Booster {
    /// Fits a booster. Rows of weight 0 are left out. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// Infinite features, different numbers of rows in features and rankings, too many labels for counting pairs,
    /// [`Error::NoPairs`] with early stopping when the validation rows or the training rows rank no pair,
    /// [`Error::Interrupted`], [`Error::Memory`], or threads that cannot be started.
    pub fn fit(
        values: ArrayView2<'_, f64>,
        rankings: &Rankings,
        params: &BoostParams,
        observer: &Observer<'_>,
    ) -> Result<Self> {
        if values.nrows() != rankings.len() {
            return Err(Error::RowCounts {
                features: values.nrows(),
                rankings: rankings.len(),
            });
        }
        let weights = rankings.weights();
        let positive: Vec<usize> = (0..rankings.len())
            .filter(|&row| weights.get(row) > 0.0)
            .collect();
        if positive.len() == rankings.len() {
            return fit_weighted(values, rankings, params, observer);
        }
        check_values(values)?;
        let kept = rankings.select(&positive);
        let values = values.select(Axis(0), &positive);
        fit_weighted(values.view(), &kept, params, observer)
    }
}

fn fit_weighted(
    values: ArrayView2<'_, f64>,
    rankings: &Rankings,
    params: &BoostParams,
    observer: &Observer<'_>,
) -> Result<Booster> {
    check_memory(rankings, params.options())?;
    let features = Features::new(values, observer.interrupt)?;
    let bins = Bins::new(&features, params.options().max_bins);
    drop(features);
    let rounds = params.options().rounds;
    let nanoseconds = rankings
        .len()
        .saturating_mul(NANOSECONDS_PER_ROW * rankings.labels());
    let jobs = Jobs {
        n_jobs: params.options().n_jobs,
        interrupt: observer.interrupt,
    };
    run::scope(jobs, nanoseconds.saturating_mul(rounds) as u64, |pool| {
        BoostingRun::new(&bins, rankings, params, pool, observer.interrupt)?.run(observer)
    })
}

/// Refuses a fit whose scores, derivatives or trees cannot be allocated. With early stopping the number of trees is
/// not known in advance, so their memory is not checked.
fn check_memory(rankings: &Rankings, options: &BoostOptions) -> Result<()> {
    const BYTES_PER_OUTPUT: usize = 32;
    const BYTES_PER_TREE: usize = 64;
    let outputs = 2 * rankings.labels();
    let rows = [rankings.len(), outputs, BYTES_PER_OUTPUT];
    require_memory::<u8>("the derivatives of the rows", &rows)?;
    if options.early_stopping.is_none() {
        let tree = BYTES_PER_TREE + size_of::<f32>() * outputs;
        require_memory::<u8>("the trees", &[options.rounds, tree])?;
    }
    Ok(())
}

/// State of a fit.
struct BoostingRun<'a> {
    bins: &'a Bins,
    rankings: &'a Rankings,
    options: &'a BoostOptions,
    features_per_node: usize,
    pool: Pool,
    derivatives: RowDerivatives<'a>,
    training: Vec<u32>,
    validation: Vec<u32>,
    /// Scores of all rows: n utilities, then n tie terms per row.
    scores: Vec<f32>,
    booster: Booster,
}

impl<'a> BoostingRun<'a> {
    fn new(
        bins: &'a Bins,
        rankings: &'a Rankings,
        params: &'a BoostParams,
        pool: Pool,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let options = params.options();
        let (training, validation) = split_validation(rankings, options)?;
        let mut counts = PairCounts::empty(rankings.labels())?;
        if validation.is_empty() {
            counts = PairCounts::from_rankings(rankings, interrupt)?;
        } else {
            for &row in &training {
                let weight = rankings.weights().get(row as usize);
                counts.add(rankings.row(row as usize), weight);
            }
        }
        let start = fit_constant_scores(&counts, options.ridge);
        Ok(Self {
            bins,
            rankings,
            options,
            features_per_node: params.features_per_node(bins.features()),
            pool,
            derivatives: RowDerivatives::new(rankings, options.ridge),
            training,
            validation,
            scores: start.repeat(rankings.len()),
            booster: Booster {
                features: bins.features(),
                start,
                trees: Vec::new(),
                compared: compared_labels(&counts),
                gains: vec![0.0; bins.features()],
                validation: Vec::new(),
                coded: CodedCache::default(),
            },
        })
    }

    fn run(mut self, observer: &Observer<'_>) -> Result<Booster> {
        let mut best = (0, f64::NEG_INFINITY);
        let mut gains = Vec::new();
        let mut lines = DerivativeLines::default();
        let buffers = SplitBuffers::default();
        for round in 0..self.options.rounds {
            observer.interrupt.check()?;
            let grown = self.grow_tree(round, (&mut lines, &buffers), observer.interrupt)?;
            self.add_tree(&grown);
            self.booster.trees.push(grown.tree);
            gains.push(grown.gains);
            let score = self.validation_score();
            (observer.on_round)(round + 1, score);
            if let Some(score) = score {
                self.booster.validation.push(score);
                if score > best.1 {
                    best = (round + 1, score);
                }
                let patience = self.options.early_stopping.map_or(0, |s| s.patience);
                if round + 1 - best.0 >= patience {
                    break;
                }
            }
        }
        if !self.validation.is_empty() {
            self.booster.trees.truncate(best.0);
        }
        for &(feature, gain) in gains[..self.booster.trees.len()].iter().flatten() {
            self.booster.gains[feature as usize] += gain;
        }
        Ok(self.booster)
    }

    /// Samples rows and grows a tree on their derivatives.
    fn grow_tree(
        &self,
        round: usize,
        (lines, buffers): (&mut DerivativeLines, &SplitBuffers),
        interrupt: &Interrupt,
    ) -> Result<GrownTree> {
        let seed = child_seed(self.options.seed, round);
        let rows = sample_rows(&self.training, self.options.row_share, seed);
        let labels = self.rankings.labels();
        let blocks = lines.resize(rows.len(), labels);
        self.pool.for_each_chunk(
            rows.len() * pair_count(labels) * NANOSECONDS_PER_PAIR,
            blocks,
            ROWS * group_count(labels),
            |block, lines| {
                let first = block * ROWS;
                let rows = &rows[first..rows.len().min(first + ROWS)];
                self.derivatives.write(rows, &self.scores, lines);
            },
        );
        let grower = TreeGrower {
            sample: &RowSample::new(self.bins, &rows, self.pool),
            weights: self.rankings.weights(),
            lines,
            scale: self.derivatives.scale(),
            options: self.options,
            buffers,
            features_per_node: self.features_per_node,
            outputs: self.booster.start.len(),
            seed: child_seed(seed, 0),
        };
        grower.grow(self.pool, interrupt)
    }

    /// Adds a tree to the scores of all rows.
    fn add_tree(&mut self, grown: &GrownTree) {
        let outputs = self.booster.start.len();
        let nanoseconds = self.rankings.len() * NANOSECONDS_PER_ROW;
        let chunk = ROWS * outputs;
        let scores = &mut self.scores;
        self.pool
            .for_each_chunk(nanoseconds, scores, chunk, |block, scores| {
                let leaves = &grown.leaves[block * ROWS..];
                for (scores, &leaf) in scores.chunks_exact_mut(outputs).zip(leaves) {
                    let values = grown.tree.leaf_values(leaf as usize, outputs);
                    for (score, value) in scores.iter_mut().zip(values) {
                        *score += value;
                    }
                }
            });
    }

    /// Mean log-likelihood per validation pair; `None` without validation rows.
    fn validation_score(&self) -> Option<f64> {
        let outputs = self.booster.start.len();
        let (mut sum, mut pairs) = (0.0, 0.0);
        for &row in &self.validation {
            let row = row as usize;
            let scores = &self.scores[row * outputs..(row + 1) * outputs];
            let scores: Vec<f64> = scores.iter().map(|&score| score.into()).collect();
            let positions = self.rankings.row(row);
            let weight = self.rankings.weights().get(row);
            sum += weight * LatentRow::new(&scores).log_likelihood(positions);
            pairs += weight * ranked_pairs(positions);
        }
        (pairs > 0.0).then(|| sum / pairs)
    }
}

/// Scores shared by all rows, by Newton steps on the pair counts.
fn fit_constant_scores(counts: &PairCounts, ridge: f64) -> Vec<f32> {
    let mut scores = vec![0.0; 2 * counts.labels()];
    for _ in 0..CONSTANT_STEPS {
        let mut derivatives = Derivatives::new(counts.labels());
        LatentRow::new(&scores).add_count_derivatives(counts, &mut derivatives);
        let Derivatives {
            gradient,
            curvature,
        } = derivatives;
        for ((score, gradient), curvature) in scores.iter_mut().zip(gradient).zip(curvature) {
            let step = CONSTANT_RATE * gradient / (curvature + ridge);
            *score += step.clamp(-CONSTANT_CLIP, CONSTANT_CLIP);
        }
    }
    scores.into_iter().map(|score| score as f32).collect()
}

/// Training rows and validation rows, both ascending.
fn split_validation(rankings: &Rankings, options: &BoostOptions) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut rows: Vec<u32> = (0..rankings.len() as u32).collect();
    let Some(stopping) = options.early_stopping else {
        return Ok((rows, Vec::new()));
    };
    let mut generator = Generator::new(!options.seed);
    let count = (stopping.validation_share * rows.len() as f64).ceil() as usize;
    for i in 0..count {
        let other = generator.in_range(i..rows.len());
        rows.swap(i, other);
    }
    let mut training = rows.split_off(count);
    rows.sort_unstable();
    training.sort_unstable();
    for (part, rows) in [("validation", &rows), ("training", &training)] {
        let has_pairs = |&row: &u32| ranked_pairs(rankings.row(row as usize)) > 0.0;
        if !rows.iter().any(has_pairs) {
            return Err(Error::NoPairs {
                part,
                rows: rows.len(),
            });
        }
    }
    Ok((training, rows))
}

/// Number of pairs of labels that a row ranks.
fn ranked_pairs(positions: &[u16]) -> f64 {
    let ranked = positions.iter().filter(|&&p| p != MISSING).count();
    (ranked * ranked.saturating_sub(1) / 2) as f64
}

/// Keeps each row with probability `share`.
fn sample_rows(rows: &[u32], share: f64, seed: u64) -> Vec<u32> {
    if share >= 1.0 {
        return rows.to_vec();
    }
    let mut generator = Generator::new(seed);
    let mut drawn = vec![0; rows.len()];
    let mut count = 0;
    for &row in rows {
        // Branch-free: each row is written, and overwritten by the next one unless it is kept.
        drawn[count] = row;
        count += usize::from(generator.unit() < share);
    }
    drawn.truncate(count);
    drawn
}
