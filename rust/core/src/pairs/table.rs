//! [`PairTable`]: one value per pair of labels for each of "before", "tied" and "after".

/// Number of unordered pairs of `labels` labels.
#[must_use]
pub fn pair_count(labels: usize) -> usize {
    labels * labels.saturating_sub(1) / 2
}

/// Index of the pair u < v among the pairs of `labels` labels.
#[must_use]
pub fn pair_index(labels: usize, u: usize, v: usize) -> usize {
    u * (2 * labels - u - 1) / 2 + v - u - 1
}

/// Number of labels that have `pairs` pairs; `None` if no number of labels does.
#[must_use]
pub fn labels_of_pairs(pairs: usize) -> Option<usize> {
    let labels = pairs.checked_mul(8)?.checked_add(1)?.isqrt().div_ceil(2);
    (labels >= 2 && pair_count(labels) == pairs).then_some(labels)
}

/// For each pair of labels u < v one value for "u before v", one for "tied" and one for "u after v".
///
/// Stored as three planes of n(n−1)/2 values each: before, tied, after. Pairs are ordered (0,1), (0,2), …, (1,2), …, as
/// numbered by [`pair_index`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairTable<T> {
    labels: usize,
    /// Distance between the starts of two planes: the number of pairs plus the padding.
    stride: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> PairTable<T> {
    /// A table of zeros.
    #[must_use]
    pub fn new(labels: usize) -> Self {
        Self::with_padding(labels, 0)
    }

    /// A table of zeros with `padding` values after each plane, which kernels may overwrite.
    pub(super) fn with_padding(labels: usize, padding: usize) -> Self {
        let stride = pair_count(labels) + padding;
        Self {
            labels,
            stride,
            values: vec![T::default(); 3 * stride],
        }
    }

    /// Sets all values to zero.
    pub fn clear(&mut self) {
        self.values.fill(T::default());
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        pair_count(self.labels)
    }

    /// The planes before, tied and after.
    #[inline(always)]
    #[must_use]
    pub fn planes(&self) -> [&[T]; 3] {
        let pairs = self.pairs();
        let (before, rest) = self.values.split_at(self.stride);
        let (tied, after) = rest.split_at(self.stride);
        [&before[..pairs], &tied[..pairs], &after[..pairs]]
    }

    /// The planes before, tied and after, mutable.
    #[inline(always)]
    pub fn planes_mut(&mut self) -> [&mut [T]; 3] {
        let pairs = self.pairs();
        self.padded_planes_mut().map(|plane| &mut plane[..pairs])
    }

    /// The planes before, tied and after, each followed by its padding.
    #[inline(always)]
    pub(super) fn padded_planes_mut(&mut self) -> [&mut [T]; 3] {
        let (before, rest) = self.values.split_at_mut(self.stride);
        let (tied, after) = rest.split_at_mut(self.stride);
        [before, tied, after]
    }

    /// The values before, tied and after of each pair, in the order of [`pair_index`].
    #[inline(always)]
    pub fn triples(&self) -> impl Iterator<Item = [T; 3]> + '_ {
        let [before, tied, after] = self.planes();
        let pairs = before.iter().zip(tied).zip(after);
        pairs.map(|((&before, &tied), &after)| [before, tied, after])
    }

    /// The values for "u before v", "tied" and "u after v", for u ≠ v in any order.
    ///
    /// # Panics
    /// When a label is out of range or u = v.
    #[inline]
    #[must_use]
    pub fn get(&self, u: usize, v: usize) -> [T; 3] {
        assert!(u != v && u.max(v) < self.labels, "no such pair of labels");
        let pair = pair_index(self.labels, u.min(v), u.max(v));
        let [before, tied, after] = self.planes().map(|plane| plane[pair]);
        if u < v {
            [before, tied, after]
        } else {
            [after, tied, before]
        }
    }

    /// All values: the three planes one after the other, each with its padding.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    /// As [`Self::values`], mutable.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered_without_gaps() {
        for labels in 2..9 {
            let pairs = (0..labels).flat_map(|u| (u + 1..labels).map(move |v| (u, v)));
            for (expected, (u, v)) in pairs.enumerate() {
                assert_eq!(pair_index(labels, u, v), expected);
            }
            assert_eq!(labels_of_pairs(pair_count(labels)), Some(labels));
        }
        for pairs in [0, 2, 4, 5, 7, 324] {
            assert_eq!(labels_of_pairs(pairs), None);
        }
    }

    #[test]
    fn padding_is_not_part_of_the_planes() {
        for padding in [0, 5] {
            let mut table = PairTable::with_padding(3, padding);
            for (plane, values) in table.padded_planes_mut().into_iter().enumerate() {
                assert_eq!(values.len(), 3 + padding);
                values.fill(9);
                values[..3].fill(plane as u8);
            }
            assert_eq!(table.planes(), [[0; 3], [1; 3], [2; 3]]);
            assert_eq!(table.get(2, 1), [2, 1, 0]);
            assert_eq!(table.triples().collect::<Vec<_>>(), [[0, 1, 2]; 3]);
        }
    }
}
