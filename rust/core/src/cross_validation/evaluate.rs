//! [`Job`]: one split of a cross-validation. Grows one tree, applies every aggregator (a method that finds the
//! consensus of rankings) to its leaves and scores the predictions.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView2, Axis};

use super::folds::{fold_of_rows, Split};
use crate::aggregate::{Aggregator, Evidence, Needs, Workspace};
use crate::error::{Error, Result};
use crate::features::{check_values, Features};
use crate::metrics::tau_x_ranked;
use crate::missing::drop_labels;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::tree::{Tree, TreeOptions, TreeParams};
use crate::weights::Weights;

/// A dataset to cross-validate on, with the seed of all its random draws.
///
/// Invariants, checked by the constructor: features are finite or NaN, there is one ranking per row, and every weight
/// is positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    values: Array2<f64>,
    rankings: Rankings,
    seed: u64,
}

impl Problem {
    /// Checks and copies the data. Weights apply to growing, aggregating and scoring.
    ///
    /// # Errors
    /// Different numbers of rows, no features, an infinite feature, or a weight of 0.
    pub fn new(values: ArrayView2<'_, f64>, rankings: Rankings, seed: u64) -> Result<Self> {
        if values.nrows() != rankings.len() {
            return Err(Error::RowCounts {
                features: values.nrows(),
                rankings: rankings.len(),
            });
        }
        if values.ncols() == 0 {
            return Err(Error::NoFeatures);
        }
        if (0..rankings.len()).any(|row| rankings.weights().get(row) <= 0.0) {
            return Err(Error::Parameter {
                name: "weight",
                found: 0.0,
                expected: "a positive weight; leave out rows of weight 0",
            });
        }
        check_values(values)?;
        Ok(Self {
            values: values.as_standard_layout().into_owned(),
            rankings,
            seed,
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rankings.len()
    }

    /// Estimated nanoseconds to grow one tree.
    pub(super) fn cost(&self) -> usize {
        self.values.len() * self.rankings.labels().pow(2)
    }
}

/// The evaluation of all aggregators on one split of a problem.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The data.
    pub problem: &'a Problem,
    /// The held-out fold, and the share of labels dropped from the training rankings.
    pub split: Split,
    /// Number of folds per repeat.
    pub n_folds: u32,
    /// Parameters of the tree; the split replaces its seed.
    pub tree: &'a TreeParams,
    /// Aggregator for the split criteria that compare rows with their consensus.
    pub tree_aggregator: &'a Aggregator,
    /// Aggregators applied to the leaves.
    pub aggregators: &'a [Aggregator],
}

/// The result of a [`Job`].
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Number of leaves of the tree.
    pub leaves: usize,
    /// Depth of the tree.
    pub depth: usize,
    /// Time to grow the tree, including sorting the features.
    pub tree_time: Duration,
    /// Mean number of buckets of the held-out rankings.
    pub true_buckets: f64,
    /// One outcome per aggregator, in the same order.
    pub outcomes: Vec<Outcome>,
}

/// Score and time of one aggregator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Mean rank correlation τ_X between predictions and held-out rankings.
    pub tau_x: f64,
    /// Mean number of buckets of the predictions.
    pub predicted_buckets: f64,
    /// Time to aggregate all leaves, including their pair statistics.
    pub consensus_time: Duration,
}

impl Job<'_> {
    /// Runs the job on the calling thread. Except for the times, the result depends on the job alone.
    ///
    /// # Errors
    /// An invalid number of folds; errors of growing and aggregating; [`Error::NothingToCompare`] if no held-out row
    /// ranks two labels; [`Error::Interrupted`].
    pub fn evaluate(&self, interrupt: &Interrupt) -> Result<Evaluation> {
        let values = &self.problem.values;
        let (training, test) = self.split_rows()?;
        let rankings = self.training_rankings(&training)?;
        let training_values = values.select(Axis(0), &training);
        let params = TreeParams::new(TreeOptions {
            seed: self.split.learner_seed(self.problem.seed),
            n_jobs: 1,
            ..*self.tree.options()
        })?;
        let started = Instant::now();
        let features = Features::new(training_values.view(), interrupt)?;
        let tree = Tree::fit(
            &features,
            &rankings,
            &params,
            Some(self.tree_aggregator),
            interrupt,
        )?;
        let tree_time = started.elapsed();

        let truth = self.problem.rankings.select(&test);
        let leaf_of = tree.apply(values.select(Axis(0), &test).view(), interrupt)?;
        let leaves = LeafAggregation {
            tree: &tree,
            rankings: &rankings,
            interrupt,
        };
        let orders_by_aggregator = leaves.aggregate_all(self.aggregators)?;
        Ok(Evaluation {
            leaves: tree.leaves(),
            depth: tree.depth(),
            tree_time,
            true_buckets: mean_buckets(&truth),
            outcomes: score_all(&orders_by_aggregator, &leaf_of, &truth, interrupt)?,
        })
    }

    /// The rankings of the training rows, without the labels that the split drops.
    fn training_rankings(&self, training: &[usize]) -> Result<Rankings> {
        let rankings = self.problem.rankings.select(training);
        if self.split.missing > 0.0 {
            let seed = self.split.missing_seed(self.problem.seed);
            return drop_labels(&rankings, self.split.missing, seed);
        }
        Ok(rankings)
    }

    /// The training rows and the held-out rows, both ascending.
    fn split_rows(&self) -> Result<(Vec<usize>, Vec<usize>)> {
        let Split { repeat, fold, .. } = self.split;
        let fold_of = fold_of_rows(self.problem.rows(), self.n_folds, self.problem.seed, repeat)?;
        if fold >= self.n_folds {
            return Err(Error::Parameter {
                name: "fold",
                found: fold.into(),
                expected: "less than the number of folds",
            });
        }
        Ok((0..fold_of.len()).partition(|&row| fold_of[row] != fold))
    }
}

/// Applies aggregators to the leaves of a tree.
struct LeafAggregation<'a> {
    tree: &'a Tree,
    rankings: &'a Rankings,
    interrupt: &'a Interrupt,
}

/// The bucket order of every leaf, by one aggregator.
struct LeafOrders {
    labels: usize,
    /// Positions per node and label; unused for inner nodes.
    positions: Vec<u16>,
    time: Duration,
}

impl LeafAggregation<'_> {
    /// Applies all aggregators to all leaves. Aggregators that need the same pair statistics share them, but the time
    /// of each aggregator includes their computation.
    fn aggregate_all(&self, aggregators: &[Aggregator]) -> Result<Vec<LeafOrders>> {
        let labels = self.rankings.labels();
        let size = self.tree.nodes().len() * labels;
        let mut orders_by_aggregator: Vec<LeafOrders> = aggregators
            .iter()
            .map(|_| LeafOrders {
                labels,
                positions: vec![0; size],
                time: Duration::ZERO,
            })
            .collect();
        let mut workspace = Workspace::new(self.interrupt);
        let distinct_needs: BTreeSet<Needs> = aggregators.iter().map(Aggregator::needs).collect();
        for needs in distinct_needs {
            let mut group: Vec<(&Aggregator, &mut LeafOrders)> = aggregators
                .iter()
                .zip(&mut orders_by_aggregator)
                .filter(|(aggregator, _)| aggregator.needs() == needs)
                .collect();
            // Aggregators that differ only in a threshold take the same time, so they are timed together: reading the
            // clock for each would take longer than aggregating.
            let same_method = group
                .iter()
                .all(|one| differ_only_in_threshold(one.0, group[0].0));
            let mut evidence = Evidence::new(labels, needs)?;
            for leaf in self.tree.leaf_indices() {
                self.interrupt.check()?;
                let mut timer = Instant::now();
                let rows = self.tree.node_rows(leaf).iter().map(|&row| row as usize);
                evidence.fill(self.rankings, rows, self.interrupt)?;
                let statistics = restart_timer(&mut timer);
                for (aggregator, leaf_orders) in &mut group {
                    let order = aggregator.aggregate(&evidence, &mut workspace)?;
                    let start = leaf as usize * labels;
                    leaf_orders.positions[start..start + labels].copy_from_slice(order.positions());
                    if !same_method {
                        leaf_orders.time += statistics + restart_timer(&mut timer);
                    }
                }
                if same_method {
                    let mean_time = restart_timer(&mut timer) / group.len() as u32;
                    for (_, leaf_orders) in &mut group {
                        leaf_orders.time += statistics + mean_time;
                    }
                }
            }
        }
        Ok(orders_by_aggregator)
    }
}

/// The outcome of each aggregator, from its orders of all leaves.
fn score_all(
    orders_by_aggregator: &[LeafOrders],
    leaf_of: &[u32],
    truth: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(orders_by_aggregator.len());
    for (index, leaf_orders) in orders_by_aggregator.iter().enumerate() {
        // Aggregators with similar thresholds often give the same bucket orders, which are scored once.
        let outcome = match outcomes.last() {
            Some(last) if orders_by_aggregator[index - 1].positions == leaf_orders.positions => {
                Outcome {
                    consensus_time: leaf_orders.time,
                    ..*last
                }
            }
            _ => leaf_orders.score(leaf_of, truth, interrupt)?,
        };
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

impl LeafOrders {
    fn score(&self, leaf_of: &[u32], truth: &Rankings, interrupt: &Interrupt) -> Result<Outcome> {
        let mut predicted = Vec::with_capacity(leaf_of.len() * self.labels);
        for &leaf in leaf_of {
            let start = leaf as usize * self.labels;
            predicted.extend_from_slice(&self.positions[start..start + self.labels]);
        }
        let predicted = Rankings::from_dense(self.labels, predicted, Weights::Unit(leaf_of.len()));
        Ok(Outcome {
            tau_x: tau_x_ranked(truth, &predicted, interrupt)?,
            predicted_buckets: mean_buckets(&predicted),
            consensus_time: self.time,
        })
    }
}

fn differ_only_in_threshold(one: &Aggregator, other: &Aggregator) -> bool {
    matches!(
        (one, other),
        (Aggregator::Borda(_), Aggregator::Borda(_))
            | (Aggregator::Copeland(_), Aggregator::Copeland(_))
            | (Aggregator::BucketPivot(_), Aggregator::BucketPivot(_))
    )
}

/// Returns the time elapsed since `since` and sets `since` to now.
fn restart_timer(since: &mut Instant) -> Duration {
    let now = Instant::now();
    let passed = now - *since;
    *since = now;
    passed
}

fn mean_buckets(rankings: &Rankings) -> f64 {
    let sum: usize = (0..rankings.len()).map(|row| rankings.buckets(row)).sum();
    sum as f64 / rankings.len() as f64
}
