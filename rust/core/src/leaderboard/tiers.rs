//! Ranks, rank intervals and tiers of labels, from the scores and the matrix `ahead`: `ahead[[i, j]]` says whether the
//! score of label i is higher than that of j beyond their uncertainty. Labels are ranked within their component
//! (connected component of the graph of compared labels).

use ndarray::ArrayView2;

/// Possible ranks of a label within its component of n labels: from 1 + the number of labels ahead of it, to n − the
/// number of labels it is ahead of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankInterval {
    /// Best rank.
    pub low: usize,
    /// Worst rank.
    pub high: usize,
}

impl RankInterval {
    /// The interval of each label, within its component.
    #[must_use]
    pub fn of_all(ahead: ArrayView2<'_, bool>, components: &[usize]) -> Vec<Self> {
        let size = |component: usize| components.iter().filter(|&&c| c == component).count();
        (0..components.len())
            .map(|i| Self {
                low: 1 + ahead.column(i).iter().filter(|&&is_ahead| is_ahead).count(),
                high: size(components[i])
                    - ahead.row(i).iter().filter(|&&is_ahead| is_ahead).count(),
            })
            .collect()
    }
}

/// Rank of each label: 1 + the number of labels of its component whose score is higher by more than `tolerance`.
#[must_use]
pub fn rank_by_score(scores: &[f64], components: &[usize], tolerance: f64) -> Vec<usize> {
    let is_higher =
        |j: usize, i: usize| components[j] == components[i] && scores[j] > scores[i] + tolerance;
    (0..scores.len())
        .map(|i| 1 + (0..scores.len()).filter(|&j| is_higher(j, i)).count())
        .collect()
}

/// Tier of each label within its component, from 1.
///
/// Labels are visited by descending score; equal scores by the number of labels they are ahead of, then by index. The
/// first label opens tier 1. Each further label joins the current tier, unless the label that opened the tier is ahead
/// of it: then it opens the next tier. So the opener of a tier is ahead of no label of its own tier, and ahead of the
/// opener of the next tier.
#[must_use]
pub fn tiers(scores: &[f64], ahead: ArrayView2<'_, bool>, components: &[usize]) -> Vec<usize> {
    let beaten = |i: usize| ahead.row(i).iter().filter(|&&is_ahead| is_ahead).count();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&i, &j| {
        let by_score = components[i]
            .cmp(&components[j])
            .then(scores[j].total_cmp(&scores[i]));
        by_score.then_with(|| beaten(j).cmp(&beaten(i)))
    });
    let mut result = vec![0; scores.len()];
    let mut opener: Option<usize> = None;
    let mut tier = 0;
    for &label in &order {
        match opener {
            Some(first) if components[first] == components[label] => {
                if ahead[[first, label]] {
                    tier += 1;
                    opener = Some(label);
                }
            }
            _ => {
                tier = 1;
                opener = Some(label);
            }
        }
        result[label] = tier;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, Array2};

    #[test]
    fn labels_are_compared_with_the_opener_of_the_tier_only() {
        // 0 is ahead of 2 and 3, and 1 is ahead of 3; neither of 1 and 2 is ahead of the other, nor of 2 and 3.
        let ahead = array![
            [false, false, true, true],
            [false, false, false, true],
            [false, false, false, false],
            [false, false, false, false]
        ];
        let scores = [4.0, 3.0, 2.0, 1.0];
        assert_eq!(tiers(&scores, ahead.view(), &[0; 4]), [1, 1, 2, 2]);
        let intervals = RankInterval::of_all(ahead.view(), &[0; 4]);
        let bounds: Vec<_> = intervals.iter().map(|i| (i.low, i.high)).collect();
        assert_eq!(bounds, [(1, 2), (1, 3), (2, 4), (3, 4)]);
        assert_eq!(
            rank_by_score(&[4.0, 3.0, 3.0, 1.0], &[0; 4], 1e-9),
            [1, 2, 2, 4]
        );
    }

    #[test]
    fn components_are_ranked_on_their_own() {
        let ahead = Array2::from_shape_fn((4, 4), |(i, j)| (i, j) == (2, 0));
        let components = [0, 1, 0, 1];
        assert_eq!(
            tiers(&[1.0, 9.0, 2.0, 8.0], ahead.view(), &components),
            [2, 1, 1, 1]
        );
        assert_eq!(
            rank_by_score(&[1.0, 9.0, 2.0, 8.0], &components, 0.0),
            [2, 1, 1, 2]
        );
        let intervals = RankInterval::of_all(ahead.view(), &components);
        assert_eq!(intervals[1], RankInterval { low: 1, high: 2 });
        assert_eq!(intervals[0], RankInterval { low: 2, high: 2 });
    }
}
