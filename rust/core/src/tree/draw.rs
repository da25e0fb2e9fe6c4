//! Random draws in the search for a node's split: the features that are searched and their thresholds.

use crate::random::{child_seed, Generator};

/// A candidate split replaces the best split only if its improvement, the decrease of impurity, is larger by more than
/// this, so that the choice does not depend on rounding.
pub(super) const TOLERANCE: f64 = 1e-12;

/// Keeps `max_features` of the features, drawn without replacement, in ascending order; `None` keeps all.
pub(super) fn draw_features(features: &mut Vec<u32>, max_features: Option<usize>, seed: u64) {
    let Some(count) = max_features.filter(|&count| count < features.len()) else {
        return;
    };
    let mut generator = Generator::new(seed);
    for i in 0..count {
        let other = i + generator.below(features.len() - i);
        features.swap(i, other);
    }
    features.truncate(count);
    features.sort_unstable();
}

/// Draws a threshold uniformly between the smallest and the largest value of a feature in a node. It depends only on
/// the node's seed and the feature. `low <= threshold < high` always holds.
pub(super) fn random_threshold(seed: u64, feature: u32, (low, high): (f64, f64)) -> f64 {
    // `!seed`, so that thresholds are independent of `draw_features`, which uses `seed`.
    let bits = child_seed(!seed, feature as usize);
    let fraction = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    // A weighted mean of the ends, because their difference could overflow.
    let threshold = low * (1.0 - fraction) + high * fraction;
    if threshold >= low && threshold < high {
        threshold
    } else {
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_distinct_sorted_and_reproducible() {
        let draw = |seed| {
            let mut features: Vec<u32> = (0..20).collect();
            draw_features(&mut features, Some(5), seed);
            features
        };
        let once = draw(1);
        assert_eq!(once.len(), 5);
        assert!(once.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(once, draw(1));
        assert!((2..50).any(|seed| draw(seed) != once));
    }

    #[test]
    fn features_are_drawn_uniformly() {
        let mut counts = [0_u32; 6];
        for seed in 0..6000 {
            let mut features: Vec<u32> = (0..6).collect();
            draw_features(&mut features, Some(2), seed);
            for feature in features {
                counts[feature as usize] += 1;
            }
        }
        assert!(
            counts.iter().all(|&c| (1850..2150).contains(&c)),
            "{counts:?}"
        );
    }

    #[test]
    fn random_thresholds_are_uniform_and_in_range() {
        let mut below = [0_u32; 4];
        for seed in 0..8000 {
            let threshold = random_threshold(seed, 3, (1.0, 5.0));
            assert!((1.0..5.0).contains(&threshold));
            below[threshold as usize - 1] += 1;
        }
        assert!(
            below.iter().all(|&c| (1850..2150).contains(&c)),
            "{below:?}"
        );
        let huge = random_threshold(1, 1, (-f64::MAX, f64::MAX));
        assert!(huge.is_finite());
        let next = 1.0_f64.next_up();
        assert_eq!(random_threshold(5, 0, (1.0, next)), 1.0);
    }
}
