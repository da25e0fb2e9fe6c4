//! Held-out evidence: the shares that components predict for the observed relations of rows they were not fitted on.

use ndarray::Array2;

use crate::error::Result;
use crate::latent::LatentRow;
use crate::pairs::{pair_count, pair_index, PairShares};
use crate::rankings::{Rankings, MISSING};
use crate::run::{self, require_memory, Jobs, Work};

use super::components::{Part, PartModel};

/// Estimated time for the shares of one pair.
const NANOSECONDS_PER_PAIR: usize = 8;

/// Memory of an observed pair and of its shares in all components.
const BYTES_PER_PAIR: usize = 160;

/// Shares of before, tied and after of one pair.
pub(super) type Shares = [f64; 3];

/// The pairs of labels that the evidence rows rank, row by row.
pub(super) struct ObservedPairs {
    labels: usize,
    /// Index of each pair among all pairs of labels.
    pairs: Vec<u32>,
    /// The observed relation of each pair: 0 is before, 1 is tied, 2 is after.
    relations: Vec<u8>,
    /// Per row: the number of its pairs.
    counts: Vec<usize>,
    /// Per row: its weight divided by the mean weight.
    row_weights: Vec<f64>,
}

impl ObservedPairs {
    /// The observed pairs of some rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::error::Error::Memory).
    pub(super) fn new(rankings: &Rankings, rows: &[usize]) -> Result<Self> {
        let labels = rankings.labels();
        require_memory::<u8>(
            "the held-out shares",
            &[rows.len(), pair_count(labels), BYTES_PER_PAIR],
        )?;
        let mut observed = Self {
            labels,
            pairs: Vec::new(),
            relations: Vec::new(),
            counts: Vec::with_capacity(rows.len()),
            row_weights: relative_weights(rankings, rows),
        };
        for &row in rows {
            let before = observed.pairs.len();
            observed.add_row(rankings.row(row));
            observed.counts.push(observed.pairs.len() - before);
        }
        Ok(observed)
    }

    fn add_row(&mut self, positions: &[u16]) {
        for (u, &own) in positions.iter().enumerate() {
            for (v, &other) in positions.iter().enumerate().skip(u + 1) {
                if own != MISSING && other != MISSING {
                    let relation = u8::from(own >= other) + u8::from(own > other);
                    self.pairs.push(pair_index(self.labels, u, v) as u32);
                    self.relations.push(relation);
                }
            }
        }
    }

    /// Number of observed pairs.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The observed relation of each pair: 0 is before, 1 is tied, 2 is after.
    pub(super) fn relations(&self) -> &[u8] {
        &self.relations
    }

    /// Per row: the number of its pairs.
    pub(super) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Per row: its weight divided by the mean weight.
    pub(super) fn row_weights(&self) -> &[f64] {
        &self.row_weights
    }

    /// Per pair: the share of its observed relation.
    pub(super) fn of_relations(&self, shares: &[Shares]) -> Vec<f64> {
        let each = shares.iter().zip(&self.relations);
        each.map(|(shares, &relation)| shares[usize::from(relation)])
            .collect()
    }

    /// Per row: its range of pairs.
    fn ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut end = 0;
        let range = |&count: &usize| {
            end += count;
            end - count..end
        };
        self.counts.iter().map(range).collect()
    }

    /// Shares of all observed pairs, from one table per row.
    pub(super) fn gather_all(&self, tables: &[PairShares]) -> Vec<Shares> {
        let rows = tables.iter().zip(self.ranges());
        rows.flat_map(|(table, range)| self.gather(range, table.planes()))
            .collect()
    }

    /// Shares of the observed pairs in a range, from the planes of all pairs of their row.
    fn gather(&self, range: std::ops::Range<usize>, planes: [&[f64]; 3]) -> Vec<Shares> {
        let pairs = self.pairs[range].iter();
        pairs
            .map(|&pair| planes.map(|plane| plane[pair as usize]))
            .collect()
    }
}

/// Weights of rows divided by their mean. Equal weights give exactly the result of no weights.
fn relative_weights(rankings: &Rankings, rows: &[usize]) -> Vec<f64> {
    let weights: Vec<f64> = rows.iter().map(|&r| rankings.weights().get(r)).collect();
    let is_constant = weights.iter().all(|&weight| weight == weights[0]);
    if is_constant {
        return vec![1.0; rows.len()];
    }
    let mean = weights.iter().sum::<f64>() / rows.len() as f64;
    weights.iter().map(|weight| weight / mean).collect()
}

/// Held-out scores of a latent component: each evidence row is evaluated by the model of its part.
pub(super) struct HeldOutScores<'a> {
    /// Per stage: one row per evidence row.
    stages: Vec<Array2<f64>>,
    /// Per evidence row: the labels that the training rows of its model compare.
    compared: Vec<&'a [bool]>,
}

impl<'a> HeldOutScores<'a> {
    /// Brings the scores of all parts into the order of the evidence rows. `compared` returns the compared labels of a
    /// model.
    pub(super) fn new<M>(
        rows: &[usize],
        parts: &[Part],
        models: &'a [PartModel<M>],
        compared: impl Fn(&'a M) -> &'a [bool],
    ) -> Self {
        let tables = models.first().map_or(&[][..], |model| &model.scores);
        let empty = |table: &Array2<f64>| Array2::zeros((rows.len(), table.ncols()));
        let mut all = Self {
            stages: tables.iter().map(empty).collect(),
            compared: vec![&[]; rows.len()],
        };
        for (part, model) in parts.iter().zip(models) {
            for (index, row) in part.held_out.iter().enumerate() {
                let Ok(place) = rows.binary_search(row) else {
                    continue;
                };
                all.compared[place] = compared(&model.model);
                for (to, from) in all.stages.iter_mut().zip(&model.scores) {
                    to.row_mut(place).assign(&from.row(index));
                }
            }
        }
        all
    }

    /// Number of stages.
    pub(super) fn stages(&self) -> usize {
        self.stages.len()
    }

    /// Whether all scores, and therefore all shares, are finite.
    pub(super) fn are_finite(&self) -> bool {
        let mut stages = self.stages.iter();
        stages.all(|scores| scores.iter().all(|score| score.is_finite()))
    }

    /// Shares of the observed pairs at one stage.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted), or threads that cannot be started.
    pub(super) fn shares(
        &self,
        stage: usize,
        observed: &ObservedPairs,
        jobs: Jobs<'_>,
    ) -> Result<Vec<Shares>> {
        let pairs = pair_count(observed.labels);
        let ranges = observed.ranges();
        let scores = &self.stages[stage];
        let rows = run::map(
            jobs,
            Work::new(ranges.len(), pairs * NANOSECONDS_PER_PAIR),
            || vec![0.0; 3 * pairs],
            |planes, row| {
                let (before, rest) = planes.split_at_mut(pairs);
                let (tied, after) = rest.split_at_mut(pairs);
                LatentRow::new(&scores.row(row).to_vec())
                    .write_known_shares(self.compared[row], [before, tied, after]);
                Ok(observed.gather(ranges[row].clone(), [before, tied, after]))
            },
        )?;
        Ok(rows.concat())
    }
}

/// Whether all shares are finite.
pub(super) fn are_finite(shares: &[Shares]) -> bool {
    shares.iter().flatten().all(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Interrupt;
    use ndarray::array;

    fn observed(weights: Option<&[f64]>, rows: &[usize]) -> ObservedPairs {
        let y = array![
            [1.0, 2.0, 1.0],
            [f64::NAN, 2.0, 1.0],
            [f64::NAN, f64::NAN, 1.0]
        ];
        let rankings = Rankings::new(y.view(), weights, &Interrupt::never()).unwrap();
        ObservedPairs::new(&rankings, rows).unwrap()
    }

    #[test]
    fn relations_of_ranked_pairs_are_observed() {
        let all = observed(None, &[0, 1, 2]);
        // Row 0: before, tied, after; row 1: only the last pair, after.
        assert_eq!(all.relations, [0, 1, 2, 2]);
        assert_eq!(all.pairs, [0, 1, 2, 2]);
        assert_eq!(all.counts(), [3, 1, 0]);
        assert_eq!(all.len(), 4);
        let shares = [
            [0.1, 0.2, 0.7],
            [0.3, 0.4, 0.3],
            [0.5, 0.1, 0.4],
            [0.0, 0.1, 0.9],
        ];
        assert_eq!(all.of_relations(&shares), [0.1, 0.4, 0.4, 0.9]);
        let planes: [&[f64]; 3] = [&[0.1, 0.2, 0.3], &[0.4, 0.5, 0.6], &[0.5, 0.3, 0.1]];
        assert_eq!(all.gather(3..4, planes), [[0.3, 0.6, 0.1]]);
    }

    #[test]
    fn row_weights_are_relative_to_their_mean() {
        assert_eq!(observed(None, &[0, 1]).row_weights(), [1.0, 1.0]);
        let heavy = [3.0, 1.0, 1.0];
        assert_eq!(observed(Some(&heavy), &[0, 1]).row_weights(), [1.5, 0.5]);
        // Equal weights among the evidence rows.
        assert_eq!(observed(Some(&heavy), &[1, 2]).row_weights(), [1.0, 1.0]);
        assert!(observed(Some(&heavy), &[]).row_weights().is_empty());
    }

    #[test]
    fn scores_are_those_of_the_model_of_the_part() {
        let rows = [1, 4, 7];
        let part = |held_out: &[usize]| Part::of_held_out(held_out.to_vec());
        let parts = [part(&[4]), part(&[1, 7])];
        let models =
            [([true, false], 5.0), ([true, true], 0.0)].map(|(compared, first)| PartModel {
                model: compared,
                scores: vec![
                    Array2::from_elem((2, 4), first),
                    Array2::from_shape_fn((2, 4), |(row, column)| {
                        first + row as f64 * f64::from(column == 0)
                    }),
                ],
            });
        let all = HeldOutScores::new(&rows, &parts, &models, |compared| &compared[..]);
        assert_eq!(all.stages(), 2);
        assert!(all.are_finite());
        let y = array![
            [1_i64, 2],
            [1, 2],
            [2, 1],
            [1, 2],
            [1, 1],
            [1, 2],
            [1, 2],
            [1, 2]
        ];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let observed = ObservedPairs::new(&rankings, &rows).unwrap();
        let jobs = Jobs {
            n_jobs: 2,
            interrupt: &Interrupt::never(),
        };
        let first = all.shares(0, &observed, jobs).unwrap();
        let near = |found: Shares, expected: Shares| {
            let errors = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
            assert!(errors.fold(0.0, f64::max) < 1e-12, "{found:?} {expected:?}");
        };
        // Row 1 by the second model, row 4 by the first, which compares one label only.
        near(first[0], [1.0 / 3.0; 3]);
        near(first[1], [1.0 / 3.0; 3]);
        let second = all.shares(1, &observed, jobs).unwrap();
        near(second[2], crate::latent::pair_shares([1.0, 0.0], [0.0; 2]));
        let mut broken = all;
        broken.stages[1][[2, 0]] = f64::NAN;
        assert!(!broken.are_finite());
    }
}
