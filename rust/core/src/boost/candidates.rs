//! The splits that a node considers: some features, drawn, and for each the bins that its rows fall into.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::bins::{Bins, Cut};
use super::params::MAX_BINS;

/// The candidates of one node.
pub(super) struct Candidates {
    features: Vec<Candidate>,
    /// For each row of the node and each feature the number of its bin among all bins of all features.
    slots: Vec<u32>,
    slot_count: usize,
}

/// One feature of a node.
pub(super) struct Candidate {
    pub(super) feature: usize,
    /// Slot of the first bin.
    first_slot: usize,
    /// The bins that have rows, ascending.
    bins: Vec<u8>,
    /// Boundary b lies behind bin b of `bins`; these leave enough rows on both sides.
    pub(super) boundaries: std::ops::Range<usize>,
}

/// How features are drawn.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    pub(super) features: usize,
    pub(super) min_samples_leaf: usize,
    pub(super) seed: u64,
}

impl Candidates {
    /// Draws features that are not constant in the node until there are enough, and orders them by index.
    pub(super) fn draw(bins: &Bins, rows: &[u32], draw: Draw) -> Self {
        let mut order: Vec<u32> = (0..bins.features() as u32).collect();
        let mut rng = Pcg64::seed_from_u64(draw.seed);
        let mut found: Vec<(usize, [u32; MAX_BINS])> = Vec::with_capacity(draw.features);
        for next in 0..order.len() {
            if found.len() == draw.features {
                break;
            }
            if draw.features < order.len() {
                let left = (order.len() - next) as u64;
                let offset = (u64::from(rng.next_u32()) * left) >> 32;
                order.swap(next, next + offset as usize);
            }
            let feature = order[next] as usize;
            let column = bins.column(feature);
            let mut counts = [0_u32; MAX_BINS];
            for &row in rows {
                counts[usize::from(column[row as usize])] += 1;
            }
            if counts.iter().filter(|&&count| count > 0).count() > 1 {
                found.push((feature, counts));
            }
        }
        found.sort_unstable_by_key(|&(feature, _)| feature);
        Self::number(bins, rows, &found, draw.min_samples_leaf)
    }

    fn number(
        bins: &Bins,
        rows: &[u32],
        found: &[(usize, [u32; MAX_BINS])],
        min_samples_leaf: usize,
    ) -> Self {
        let mut features = Vec::with_capacity(found.len());
        let mut slots = vec![0; rows.len() * found.len()];
        let mut slot_count = 0;
        for (place, (feature, counts)) in found.iter().enumerate() {
            let first_slot = slot_count;
            let mut slot_of = [0_u32; MAX_BINS];
            let mut present = Vec::new();
            for (bin, _) in counts.iter().enumerate().filter(|(_, &count)| count > 0) {
                slot_of[bin] = slot_count as u32;
                slot_count += 1;
                present.push(bin as u8);
            }
            let column = bins.column(*feature);
            for (row, slots) in rows.iter().zip(slots.chunks_exact_mut(found.len())) {
                slots[place] = slot_of[usize::from(column[*row as usize])];
            }
            features.push(Candidate {
                feature: *feature,
                first_slot,
                boundaries: boundaries(&present, counts, rows.len(), min_samples_leaf),
                bins: present,
            });
        }
        Self {
            features,
            slots,
            slot_count,
        }
    }

    /// The features, ascending.
    pub(super) fn features(&self) -> &[Candidate] {
        &self.features
    }

    /// Number of bins of all features together.
    pub(super) fn slot_count(&self) -> usize {
        self.slot_count
    }

    /// The slots of each row in turn; empty without features.
    pub(super) fn slots(&self) -> std::slice::ChunksExact<'_, u32> {
        self.slots.chunks_exact(self.features.len().max(1))
    }

    /// Whether there is anything to choose from.
    pub(super) fn is_empty(&self) -> bool {
        self.boundaries().next().is_none()
    }

    /// All boundaries, feature by feature.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = (&Candidate, usize)> {
        let each = |candidate: &Candidate| candidate.boundaries.clone();
        let features = self.features.iter();
        features.flat_map(move |candidate| each(candidate).map(move |b| (candidate, b)))
    }
}

impl Candidate {
    /// The slots of its bins.
    pub(super) fn slots(&self) -> std::ops::Range<usize> {
        self.first_slot..self.first_slot + self.bins.len()
    }

    /// Where a boundary separates the values.
    pub(super) fn cut(&self, bins: &Bins, boundary: usize) -> Cut {
        bins.cut(self.feature, self.bins[boundary], self.bins[boundary + 1])
    }
}

/// The boundaries with enough rows on both sides.
fn boundaries(
    present: &[u8],
    counts: &[u32; MAX_BINS],
    rows: usize,
    min_samples_leaf: usize,
) -> std::ops::Range<usize> {
    let mut left = 0;
    let mut allowed = present.len()..present.len();
    for (boundary, &bin) in present[..present.len() - 1].iter().enumerate() {
        left += counts[usize::from(bin)] as usize;
        if left >= min_samples_leaf && boundary < allowed.start {
            allowed.start = boundary;
        }
        if rows - left < min_samples_leaf {
            allowed.end = boundary;
            break;
        }
        allowed.end = boundary + 1;
    }
    allowed.start = allowed.start.min(allowed.end);
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use ndarray::Array2;

    fn bins() -> Bins {
        // Feature 1 is constant, the others have 10, 5 and 2 values.
        let x = Array2::from_shape_fn((20, 4), |(i, j)| match j {
            0 => (i % 10) as f64,
            1 => 3.0,
            2 => (i % 5) as f64,
            _ => (i % 2) as f64,
        });
        Bins::new(&Features::new(x.view()).unwrap(), 256)
    }

    fn draw(features: usize, min_samples_leaf: usize, seed: u64) -> Draw {
        Draw {
            features,
            min_samples_leaf,
            seed,
        }
    }

    #[test]
    fn constant_features_are_not_drawn() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        for seed in 0..50 {
            let two = Candidates::draw(&bins, &rows, draw(2, 1, seed));
            assert_eq!(two.features().len(), 2);
            assert!(two.features().iter().all(|c| c.feature != 1));
        }
        let all = Candidates::draw(&bins, &rows, draw(4, 1, 0));
        let features: Vec<usize> = all.features().iter().map(|c| c.feature).collect();
        assert_eq!(features, [0, 2, 3]);
        assert_eq!(
            (all.slot_count(), all.boundaries().count()),
            (17, 9 + 4 + 1)
        );
        assert!(Candidates::draw(&bins, &[3], draw(4, 1, 0)).is_empty());
    }

    #[test]
    fn boundaries_leave_enough_rows() {
        let rows: Vec<u32> = (0..20).collect();
        let all = Candidates::draw(&bins(), &rows, draw(4, 6, 0));
        let ranges: Vec<_> = all
            .features()
            .iter()
            .map(|c| c.boundaries.clone())
            .collect();
        // Two rows a value, four rows a value, ten rows a value.
        assert_eq!(ranges, [2..7, 1..3, 0..1]);
        let none = Candidates::draw(&bins(), &rows, draw(4, 11, 0));
        assert!(none.is_empty());
    }

    #[test]
    fn bins_without_rows_have_no_slot() {
        let candidates = Candidates::draw(&bins(), &[0, 4, 9], draw(4, 1, 0));
        let first = &candidates.features()[0];
        assert_eq!(first.bins, [0, 4, 9]);
        assert_eq!(first.cut(&bins(), 0).threshold, 2.0);
        let slots: Vec<&[u32]> = candidates.slots().collect();
        assert_eq!(slots[1][0], 1);
    }
}
