//! Folds of a cross-validation, and the seeds of all its random draws.

use crate::error::{Error, Result};
use crate::random::Generator;

/// Purpose of a derived seed. Each purpose has its own stream, so that draws for one do not affect another.
#[derive(Debug, Clone, Copy)]
enum SeedPurpose {
    Folds = 1,
    MissingLabels = 2,
    Learner = 3,
}

/// One split of a repeated cross-validation: the repeat, the held-out fold, and the share of labels dropped from the
/// training rankings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Probability of dropping each label of a training ranking.
    pub missing: f64,
    /// Index of the repeat, which determines the shuffle of the rows.
    pub repeat: u32,
    /// Index of the held-out fold.
    pub fold: u32,
}

impl Split {
    /// Seed for dropping labels from the training rankings.
    #[must_use]
    pub fn missing_seed(&self, seed: u64) -> u64 {
        self.derive(seed, SeedPurpose::MissingLabels)
    }

    /// Seed for the random draws of a learner on this split.
    #[must_use]
    pub fn learner_seed(&self, seed: u64) -> u64 {
        self.derive(seed, SeedPurpose::Learner)
    }

    fn derive(&self, seed: u64, purpose: SeedPurpose) -> u64 {
        let parts = [self.missing.to_bits(), self.repeat.into(), self.fold.into()];
        derive_seed(seed, purpose, &parts)
    }
}

/// The fold of each row in one repeat. The rows are shuffled and cut into `n_folds` consecutive parts whose sizes
/// differ by at most one, the larger ones first. Folds depend on seed and repeat only, so they are the same for every
/// share of missing labels.
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
    let seed = derive_seed(seed, SeedPurpose::Folds, &[repeat.into()]);
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

/// Derives a seed from a purpose and a tuple of numbers. Each number passes through the generator, so that neighbouring
/// numbers give unrelated seeds.
fn derive_seed(seed: u64, purpose: SeedPurpose, parts: &[u64]) -> u64 {
    let purpose_seed = advance(advance(seed) ^ purpose as u64);
    parts
        .iter()
        .fold(purpose_seed, |seed, &part| advance(seed ^ part))
}

fn advance(seed: u64) -> u64 {
    Generator::new(seed).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn folds_depend_on_repeat_and_seed_only() {
        let folds = fold_of_rows(50, 5, 3, 0).unwrap();
        assert_eq!(folds, fold_of_rows(50, 5, 3, 0).unwrap());
        assert_ne!(folds, fold_of_rows(50, 5, 3, 1).unwrap());
        assert_ne!(folds, fold_of_rows(50, 5, 4, 0).unwrap());
    }

    #[test]
    fn invalid_numbers_of_folds_are_rejected() {
        for n_folds in [0, 1, 6] {
            assert!(fold_of_rows(5, n_folds, 0, 0).is_err(), "{n_folds}");
        }
        let each_row = fold_of_rows(5, 5, 0, 0).unwrap();
        assert_eq!(each_row.iter().collect::<HashSet<_>>().len(), 5);
    }

    #[test]
    fn every_split_has_its_own_seeds() {
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
