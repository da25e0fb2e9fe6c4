//! [`BucketOrder`]: an order of all labels with ties.

/// A bucket order (an order of buckets of tied labels) in canonical form: dense positions 1..k, one per label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BucketOrder {
    positions: Vec<u16>,
}

impl BucketOrder {
    /// All labels in one bucket.
    #[must_use]
    pub fn all_tied(labels: usize) -> Self {
        Self {
            positions: vec![1; labels],
        }
    }

    /// Orders labels by score, best (largest) first. A label joins the bucket of the label before it if the drop from
    /// that label's score satisfies `joins`. Ties cascade: the drop from the first to the last label of a bucket may be
    /// too large for `joins`. Labels with equal scores are sorted by index.
    ///
    /// Scores must not be NaN; the order of NaN among numbers is that of [`f64::total_cmp`].
    #[must_use]
    pub fn from_scores(scores: &[f64], joins: impl Fn(f64) -> bool) -> Self {
        Self::from_scores_with_buffer(scores, joins, &mut Vec::new())
    }

    /// As [`Self::from_scores`]; `order` is a scratch buffer for the sort.
    pub(crate) fn from_scores_with_buffer(
        scores: &[f64],
        joins: impl Fn(f64) -> bool,
        order: &mut Vec<usize>,
    ) -> Self {
        order.clear();
        order.extend(0..scores.len());
        order.sort_unstable_by(|&u, &v| scores[v].total_cmp(&scores[u]).then(u.cmp(&v)));
        let mut positions = vec![0; scores.len()];
        let mut position = 0;
        let mut previous = None;
        for &label in order.iter() {
            let tied = previous.is_some_and(|p: usize| joins(scores[p] - scores[label]));
            if !tied {
                position += 1;
            }
            positions[label] = position;
            previous = Some(label);
        }
        Self { positions }
    }

    /// Orders labels by integer scores (`levels`, from 0 to `limit`), best (largest) first; equal scores are tied.
    /// `present` is a scratch buffer: first whether each level occurs, then its position. O(n + limit).
    pub(crate) fn from_levels(levels: &[u32], limit: usize, present: &mut Vec<u16>) -> Self {
        present.clear();
        present.resize(limit + 1, 0);
        for &level in levels {
            present[level as usize] = 1;
        }
        let mut position = 0;
        for slot in present.iter_mut().rev() {
            position += *slot;
            *slot = position;
        }
        Self {
            positions: levels
                .iter()
                .map(|&level| present[level as usize])
                .collect(),
        }
    }

    /// Wraps positions that are already dense.
    pub(crate) fn from_dense(positions: Vec<u16>) -> Self {
        Self { positions }
    }

    /// Position of each label; 1 is best.
    #[must_use]
    pub fn positions(&self) -> &[u16] {
        &self.positions
    }

    /// Number of buckets.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.positions.iter().copied().max().unwrap_or(0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_cascade_between_neighbours() {
        let order = BucketOrder::from_scores(&[3.0, 2.5, 2.0, 0.0], |drop| drop <= 0.5);
        assert_eq!(order.positions(), [1, 1, 1, 2]);
        assert_eq!(order.buckets(), 2);
    }
}
