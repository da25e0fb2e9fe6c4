//! Which rows are tested together, and the seeds of everything that is drawn.

use crate::error::{Error, Result};
use crate::random::Generator;

/// What a seed is for. Each purpose has a stream of its own, so that the draws of one never show in another.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Folds = 1,
    MissingLabels = 2,
    Tree = 3,
}

/// One part of a cross-validation: a repeat of the shuffled folds, one of its folds held out, and the share of labels
/// that the other folds lose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Probability with which each label of a training ranking is dropped.
    pub missing: f64,
    /// Which shuffle of the rows.
    pub repeat: u32,
    /// Which fold is held out.
    pub fold: u32,
}

impl Split {
    /// The seed of the labels that are dropped from the training rankings.
    #[must_use]
    pub fn missing_seed(&self, seed: u64) -> u64 {
        self.derived(seed, Purpose::MissingLabels)
    }

    /// The seed of whatever a learner draws on this split.
    #[must_use]
    pub fn learner_seed(&self, seed: u64) -> u64 {
        self.derived(seed, Purpose::Tree)
    }

    fn derived(&self, seed: u64, purpose: Purpose) -> u64 {
        let parts = [self.missing.to_bits(), self.repeat.into(), self.fold.into()];
        derived_seed(seed, purpose, &parts)
    }
}

/// The fold of each row in one repeat: the rows are shuffled and dealt into `n_folds` runs whose lengths differ by at
/// most one, the longer ones first. The folds depend on seed and repeat only, so every share of missing labels is
/// measured on the same ones.
///
/// # Errors
/// [`Error::Folds`] for fewer than two folds or more folds than rows.
///
/// # Examples
/// ```
/// use bucketrank_core::cross_validation::fold_of_rows;
///
/// let folds = fold_of_rows(10, 3, 7, 0)?;
/// let sizes = [0, 1, 2].map(|fold| folds.iter().filter(|&&f| f == fold).count());
/// assert_eq!(sizes, [4, 3, 3]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn fold_of_rows(rows: usize, n_folds: u32, seed: u64, repeat: u32) -> Result<Vec<u32>> {
    let count = n_folds as usize;
    if count < 2 || count > rows {
        return Err(Error::Folds { found: count, rows });
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let seed = derived_seed(seed, Purpose::Folds, &[repeat.into()]);
    Generator::new(seed).shuffle(&mut order);
    let (size, longer) = (rows / count, rows % count);
    let mut fold_of = vec![0; rows];
    let mut start = 0;
    for fold in 0..n_folds {
        let end = start + size + usize::from((fold as usize) < longer);
        for &row in &order[start..end] {
            fold_of[row as usize] = fold;
        }
        start = end;
    }
    Ok(fold_of)
}

/// A seed for each purpose and each tuple of parts: every part passes through the generator once, so that neighbouring
/// parts give unrelated seeds.
fn derived_seed(seed: u64, purpose: Purpose, parts: &[u64]) -> u64 {
    let of_purpose = next(next(seed) ^ purpose as u64);
    parts
        .iter()
        .fold(of_purpose, |seed, &part| next(seed ^ part))
}

fn next(seed: u64) -> u64 {
    Generator::new(seed).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn folds_differ_between_repeats_and_seeds_only() {
        let folds = fold_of_rows(50, 5, 3, 0).unwrap();
        assert_eq!(folds, fold_of_rows(50, 5, 3, 0).unwrap());
        assert_ne!(folds, fold_of_rows(50, 5, 3, 1).unwrap());
        assert_ne!(folds, fold_of_rows(50, 5, 4, 0).unwrap());
    }

    #[test]
    fn impossible_numbers_of_folds_are_refused() {
        for n_folds in [0, 1, 6] {
            assert!(fold_of_rows(5, n_folds, 0, 0).is_err(), "{n_folds}");
        }
        let each_row = fold_of_rows(5, 5, 0, 0).unwrap();
        assert_eq!(each_row.iter().collect::<HashSet<_>>().len(), 5);
    }

    #[test]
    fn every_split_has_seeds_of_its_own() {
        let mut seeds = HashSet::new();
        let mut count = 0;
        for seed in 0..3 {
            for missing in [0.0, 0.3, 0.6] {
                for repeat in 0..5 {
                    for fold in 0..10 {
                        let split = Split {
                            missing,
                            repeat,
                            fold,
                        };
                        seeds.insert(split.missing_seed(seed));
                        seeds.insert(split.learner_seed(seed));
                        count += 2;
                    }
                }
            }
        }
        assert_eq!(seeds.len(), count);
    }
}
