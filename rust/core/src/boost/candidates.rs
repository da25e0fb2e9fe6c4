//! The splits that a node considers: some features, drawn, and for each the boundaries between its bins.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::bins::Cut;
use super::drawn::Drawn;
use super::params::MAX_BINS;

/// The candidates of one node: features in ascending order.
pub(super) struct Candidates(Vec<Candidate>);

/// One feature of a node. Its boundaries are those between bins of the node's rows that leave enough rows on both sides.
pub(super) struct Candidate {
    pub(super) feature: usize,
    /// Number of boundaries.
    pub(super) boundaries: usize,
    /// For each bin the number of boundaries in front of it.
    pub(super) boundaries_before: [u8; MAX_BINS],
}

/// How features are drawn.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    pub(super) features: usize,
    pub(super) min_samples_leaf: usize,
    pub(super) seed: u64,
}

impl Candidates {
    /// Draws features that are not constant in the node until there are enough. Rows are places among the drawn ones.
    pub(super) fn draw(drawn: &Drawn<'_>, rows: &[u32], draw: Draw) -> Self {
        let mut order: Vec<u32> = (0..drawn.bins.features() as u32).collect();
        let mut rng = Pcg64::seed_from_u64(draw.seed);
        let mut found = Vec::with_capacity(draw.features);
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
            found.extend(Candidate::new(drawn, rows, feature, draw.min_samples_leaf));
        }
        found.sort_unstable_by_key(|candidate| candidate.feature);
        Self(found)
    }

    /// The features, ascending.
    pub(super) fn features(&self) -> &[Candidate] {
        &self.0
    }

    /// Number of boundaries of all features together.
    pub(super) fn boundaries(&self) -> usize {
        self.0.iter().map(|candidate| candidate.boundaries).sum()
    }

    /// The feature of a boundary, and where it separates the values; boundaries are numbered feature by feature.
    pub(super) fn cut(
        &self,
        drawn: &Drawn<'_>,
        rows: &[u32],
        mut boundary: usize,
    ) -> Option<(usize, Cut)> {
        for candidate in &self.0 {
            if boundary < candidate.boundaries {
                return Some((candidate.feature, candidate.cut(drawn, rows, boundary)));
            }
            boundary -= candidate.boundaries;
        }
        None
    }
}

impl Candidate {
    /// Finds the boundaries of a feature, unless it is constant.
    fn new(
        drawn: &Drawn<'_>,
        rows: &[u32],
        feature: usize,
        min_samples_leaf: usize,
    ) -> Option<Self> {
        let column = drawn.column(feature);
        let mut counts = [0_u32; MAX_BINS];
        for &row in rows {
            counts[usize::from(column[row as usize])] += 1;
        }
        let first = usize::from(column[*rows.first()? as usize]);
        if counts[first] as usize == rows.len() {
            return None;
        }
        let mut boundaries_before = [0; MAX_BINS];
        let (mut boundaries, mut left) = (0, 0);
        let bins = drawn.bins.count(feature);
        for (before, &count) in boundaries_before.iter_mut().zip(&counts).take(bins) {
            // Bins are fewer than 257, and no boundary is in front of the first. No branches: nobody could guess them.
            let enough_left = u8::from(left >= min_samples_leaf);
            let enough_right = u8::from(rows.len() - left >= min_samples_leaf);
            boundaries += enough_left & enough_right & u8::from(count > 0);
            *before = boundaries;
            left += count as usize;
        }
        Some(Self {
            feature,
            boundaries: boundaries.into(),
            boundaries_before,
        })
    }

    /// Where a boundary separates the values.
    fn cut(&self, drawn: &Drawn<'_>, rows: &[u32], boundary: usize) -> Cut {
        // The first bin behind the boundary has rows, the last bin in front of it need not.
        let before = self.boundaries_before.iter();
        let upper = before.take_while(|&&b| usize::from(b) <= boundary).count() as u8;
        let column = drawn.column(self.feature);
        let bins = rows.iter().map(|&row| column[row as usize]);
        let lower = bins.fold(0, |lower, bin| lower.max(if bin < upper { bin } else { 0 }));
        drawn.bins.cut(self.feature, lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
    use super::*;
    use crate::features::Features;
    use crate::run::Interrupt;
    use ndarray::Array2;

    fn bins() -> Bins {
        // Feature 1 is constant, the others have 10, 5 and 2 values.
        let x = Array2::from_shape_fn((20, 4), |(i, j)| match j {
            0 => (i % 10) as f64,
            1 => 3.0,
            2 => (i % 5) as f64,
            _ => (i % 2) as f64,
        });
        Bins::new(&Features::new(x.view(), &Interrupt::never()).unwrap(), 256)
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
        let drawn = Drawn::new(&bins, &rows, false);
        for seed in 0..50 {
            let two = Candidates::draw(&drawn, &rows, draw(2, 1, seed));
            assert_eq!(two.features().len(), 2);
            assert!(two.features().iter().all(|c| c.feature != 1));
        }
        let all = Candidates::draw(&drawn, &rows, draw(4, 1, 0));
        let features: Vec<usize> = all.features().iter().map(|c| c.feature).collect();
        assert_eq!(features, [0, 2, 3]);
        assert_eq!(all.boundaries(), 9 + 4 + 1);
        assert_eq!(
            Candidates::draw(&drawn, &[3], draw(4, 1, 0)).boundaries(),
            0
        );
    }

    #[test]
    fn boundaries_leave_enough_rows() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        let drawn = Drawn::new(&bins, &rows, false);
        let all = Candidates::draw(&drawn, &rows, draw(4, 6, 0));
        // Two rows a value, four rows a value, ten rows a value.
        let before = |c: usize, bins: usize| all.features()[c].boundaries_before[..bins].to_vec();
        assert_eq!(before(0, 10), [0, 0, 0, 1, 2, 3, 4, 5, 5, 5]);
        assert_eq!(before(1, 5), [0, 0, 1, 2, 2]);
        assert_eq!(before(2, 2), [0, 1]);
        let counts: Vec<usize> = all.features().iter().map(|c| c.boundaries).collect();
        assert_eq!(counts, [5, 2, 1]);
        let none = Candidates::draw(&drawn, &rows, draw(4, 11, 0));
        assert_eq!(none.boundaries(), 0);
    }

    #[test]
    fn cuts_are_between_bins_that_have_rows() {
        let rows: Vec<u32> = (0..20).filter(|row| row % 10 != 5).collect();
        let bins = bins();
        let drawn = Drawn::new(&bins, &rows, false);
        // Values 0, 4 and 9 of the first feature, by their places among the drawn rows.
        let node = [0, 4, 8];
        let candidates = Candidates::draw(&drawn, &node, draw(4, 1, 0));
        let cuts = [0, 1].map(|boundary| candidates.cut(&drawn, &node, boundary));
        let thresholds = cuts.map(|cut| cut.map(|(feature, cut)| (feature, cut.threshold)));
        assert_eq!(thresholds, [Some((0, 2.0)), Some((0, 6.5))]);
        let (feature, _) = candidates.cut(&drawn, &node, 2).unwrap();
        assert_eq!(feature, 2);
        assert!(candidates
            .cut(&drawn, &node, candidates.boundaries())
            .is_none());
    }

    #[test]
    fn all_bins_may_have_boundaries() {
        let x = Array2::from_shape_fn((MAX_BINS, 1), |(i, _)| i as f64);
        let bins = Bins::new(
            &Features::new(x.view(), &Interrupt::never()).unwrap(),
            MAX_BINS,
        );
        let rows: Vec<u32> = (0..MAX_BINS as u32).collect();
        let drawn = Drawn::new(&bins, &rows, false);
        let candidates = Candidates::draw(&drawn, &rows, draw(1, 1, 0));
        assert_eq!(candidates.boundaries(), MAX_BINS - 1);
        let (_, cut) = candidates.cut(&drawn, &rows, MAX_BINS - 2).unwrap();
        assert_eq!((cut.last_left, cut.threshold), (254, 254.5));
    }
}
