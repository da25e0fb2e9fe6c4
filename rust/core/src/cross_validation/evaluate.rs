//! One job of a cross-validation: grow one tree, ask every aggregator for its leaves, compare with the truth.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView2, Axis};

use super::folds::{fold_of_rows, Split};
use crate::aggregate::{Aggregator, Evidence, Needs, Workspace};
use crate::error::{Error, Result};
use crate::features::{check_finite, Features};
use crate::metrics::tau_x_ranked;
use crate::missing::drop_labels;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::tree::{Tree, TreeOptions, TreeParams};
use crate::weights::Weights;

/// Data to cross-validate on, and the seed of everything that is drawn for it.
///
/// Proven by the constructor: features are finite, there is one ranking per row, and every weight is positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    values: Array2<f64>,
    rankings: Rankings,
    seed: u64,
}

impl Problem {
    /// Takes features and rankings. Weights count in growing, aggregating and comparing alike.
    ///
    /// # Errors
    /// Different numbers of rows, a feature that is NaN or infinite, or a weight of 0.
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
                expected: "positive weights: leave rows without weight out",
            });
        }
        check_finite(values)?;
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

    /// A rough number of elementary steps for one tree.
    pub(super) fn steps(&self) -> usize {
        self.values.len() * self.rankings.labels().pow(2)
    }
}

/// What is to be done on one split of a problem.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The data.
    pub problem: &'a Problem,
    /// The part that is held out, and the share of labels that the rest loses.
    pub split: Split,
    /// Number of folds of a repeat.
    pub n_folds: u32,
    /// How the tree is grown; its seed is replaced by one of the split's own.
    pub tree: &'a TreeParams,
    /// Aggregator of the criteria that compare rows with a consensus.
    pub tree_aggregator: &'a Aggregator,
    /// Aggregators applied to the leaves.
    pub aggregators: &'a [Aggregator],
}

/// The result of a [`Job`].
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Leaves of the tree.
    pub leaves: usize,
    /// Depth of the tree.
    pub depth: usize,
    /// Time to grow the tree, features presorted included.
    pub tree_time: Duration,
    /// Mean number of buckets of the rankings held out.
    pub true_buckets: f64,
    /// One for each aggregator, in their order.
    pub outcomes: Vec<Outcome>,
}

/// How one aggregator did on the leaves of the tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Mean τ_X of the predictions with the rankings held out.
    pub tau_x: f64,
    /// Mean number of buckets of the predictions.
    pub predicted_buckets: f64,
    /// Time for the consensus of all leaves, pair statistics included.
    pub consensus_time: Duration,
}

impl Job<'_> {
    /// Does the job on the calling thread. The result, times apart, depends on the job alone.
    ///
    /// # Errors
    /// An impossible number of folds; what growing and aggregating may say; [`Error::NothingToCompare`] when no row
    /// held out ranks two labels; [`Error::Interrupted`].
    pub fn evaluate(&self, interrupt: &Interrupt) -> Result<Evaluation> {
        let Problem { values, seed, .. } = self.problem;
        let (training, test) = self.rows()?;
        let rankings = self.problem.rankings.select(&training);
        let rankings = if self.split.missing > 0.0 {
            drop_labels(
                &rankings,
                self.split.missing,
                self.split.missing_seed(*seed),
            )?
        } else {
            rankings
        };
        let training_values = values.select(Axis(0), &training);
        let params = TreeParams::new(TreeOptions {
            seed: self.split.learner_seed(*seed),
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
        let leaf_of = tree.apply(values.select(Axis(0), &test).view())?;
        let leaves = Leaves {
            tree: &tree,
            rankings: &rankings,
            interrupt,
        };
        let tables = leaves.consensus_of_all(self.aggregators)?;
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(tables.len());
        for (index, table) in tables.iter().enumerate() {
            // Thresholds next to each other often make the same bucket orders.
            let outcome = match outcomes.last() {
                Some(last) if tables[index - 1].positions == table.positions => Outcome {
                    consensus_time: table.time,
                    ..*last
                },
                _ => table.compare(&leaf_of, &truth)?,
            };
            outcomes.push(outcome);
        }
        Ok(Evaluation {
            leaves: tree.leaves(),
            depth: tree.depth(),
            tree_time,
            true_buckets: mean_buckets(&truth),
            outcomes,
        })
    }

    /// The rows to learn from and the rows held out, both in order.
    fn rows(&self) -> Result<(Vec<usize>, Vec<usize>)> {
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

/// A tree's leaves and the rankings in them.
struct Leaves<'a> {
    tree: &'a Tree,
    rankings: &'a Rankings,
    interrupt: &'a Interrupt,
}

/// The bucket order of every leaf by one aggregator.
struct Table {
    labels: usize,
    /// Positions by node; those of inner nodes are never read.
    positions: Vec<u16>,
    time: Duration,
}

impl Leaves<'_> {
    /// Aggregators that read the same statistics share them, leaf by leaf; each is charged for computing them, as if
    /// it had been alone.
    fn consensus_of_all(&self, aggregators: &[Aggregator]) -> Result<Vec<Table>> {
        let labels = self.rankings.labels();
        let size = self.tree.nodes().len() * labels;
        let mut tables: Vec<Table> = aggregators
            .iter()
            .map(|_| Table {
                labels,
                positions: vec![0; size],
                time: Duration::ZERO,
            })
            .collect();
        let mut workspace = Workspace::new();
        let levels: BTreeSet<Needs> = aggregators.iter().map(Aggregator::needs).collect();
        for needs in levels {
            let mut group: Vec<(&Aggregator, &mut Table)> = aggregators
                .iter()
                .zip(&mut tables)
                .filter(|(aggregator, _)| aggregator.needs() == needs)
                .collect();
            // What differs in a threshold only takes the same time: reading the clock would take most of it.
            let one_kind = group
                .iter()
                .all(|one| differ_in_threshold(one.0, group[0].0));
            let mut evidence = Evidence::new(labels, needs)?;
            for leaf in self.tree.leaf_indices() {
                self.interrupt.check()?;
                let mut before = Instant::now();
                let rows = self.tree.node_rows(leaf).iter().map(|&row| row as usize);
                evidence.fill(self.rankings, rows)?;
                let statistics = lap(&mut before);
                for (aggregator, table) in &mut group {
                    let order = aggregator.aggregate(&evidence, &mut workspace)?;
                    let start = leaf as usize * labels;
                    table.positions[start..start + labels].copy_from_slice(order.positions());
                    if !one_kind {
                        table.time += statistics + lap(&mut before);
                    }
                }
                if one_kind {
                    let each = lap(&mut before) / group.len() as u32;
                    for (_, table) in &mut group {
                        table.time += statistics + each;
                    }
                }
            }
        }
        Ok(tables)
    }
}

impl Table {
    fn compare(&self, leaf_of: &[u32], truth: &Rankings) -> Result<Outcome> {
        let mut predicted = Vec::with_capacity(leaf_of.len() * self.labels);
        for &leaf in leaf_of {
            let start = leaf as usize * self.labels;
            predicted.extend_from_slice(&self.positions[start..start + self.labels]);
        }
        let predicted = Rankings::from_dense(self.labels, predicted, Weights::Unit(leaf_of.len()));
        Ok(Outcome {
            tau_x: tau_x_ranked(truth, &predicted)?,
            predicted_buckets: mean_buckets(&predicted),
            consensus_time: self.time,
        })
    }
}

fn differ_in_threshold(one: &Aggregator, other: &Aggregator) -> bool {
    matches!(
        (one, other),
        (Aggregator::Borda(_), Aggregator::Borda(_))
            | (Aggregator::Copeland(_), Aggregator::Copeland(_))
            | (Aggregator::BucketPivot(_), Aggregator::BucketPivot(_))
    )
}

/// The time since `since`, which becomes now.
fn lap(since: &mut Instant) -> Duration {
    let now = Instant::now();
    let passed = now - *since;
    *since = now;
    passed
}

fn mean_buckets(rankings: &Rankings) -> f64 {
    let sum: usize = (0..rankings.len()).map(|row| rankings.buckets(row)).sum();
    sum as f64 / rankings.len() as f64
}
