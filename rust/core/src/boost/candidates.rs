//! [`CandidateFeatures`]: the sampled features of a node and the boundaries between their bins.

use crate::random::Generator;

use super::bins::BinCut;
use super::params::MAX_BINS;
use super::row_sample::RowSample;

/// Candidate features of one node, ascending.
pub(super) struct CandidateFeatures(Vec<CandidateFeature>);

/// A feature and its candidate boundaries: the boundaries between bins that leave enough rows of the node on
/// both sides.
pub(super) struct CandidateFeature {
    pub(super) feature: usize,
    /// Number of boundaries.
    pub(super) boundaries: usize,
    /// Per bin: number of boundaries before it.
    pub(super) boundaries_before: [u8; MAX_BINS],
}

/// How the features of a node are sampled.
#[derive(Clone, Copy)]
pub(super) struct FeatureDraw {
    /// Number of features to draw.
    pub(super) features: usize,
    pub(super) min_samples_leaf: usize,
    pub(super) seed: u64,
}

impl CandidateFeatures {
    /// Draws features until enough of them are not constant in the node. `rows` are indices into the sample.
    pub(super) fn draw(sample: &RowSample<'_>, rows: &[u32], draw: FeatureDraw) -> Self {
        let mut order: Vec<u32> = (0..sample.bins.features() as u32).collect();
        let mut generator = Generator::new(draw.seed);
        let mut found = Vec::with_capacity(draw.features);
        for next in 0..order.len() {
            if found.len() == draw.features {
                break;
            }
            if draw.features < order.len() {
                let other = next + generator.below(order.len() - next);
                order.swap(next, other);
            }
            let feature = order[next] as usize;
            found.extend(CandidateFeature::new(
                sample,
                rows,
                feature,
                draw.min_samples_leaf,
            ));
        }
        found.sort_unstable_by_key(|candidate| candidate.feature);
        Self(found)
    }

    /// The candidate features, ascending.
    pub(super) fn features(&self) -> &[CandidateFeature] {
        &self.0
    }

    /// Number of boundaries of all features together.
    pub(super) fn boundaries(&self) -> usize {
        self.0.iter().map(|candidate| candidate.boundaries).sum()
    }

    /// Feature and cut of a boundary. Boundaries are numbered feature by feature.
    pub(super) fn cut(
        &self,
        sample: &RowSample<'_>,
        rows: &[u32],
        mut boundary: usize,
    ) -> Option<(usize, BinCut)> {
        for candidate in &self.0 {
            if boundary < candidate.boundaries {
                return Some((candidate.feature, candidate.cut(sample, rows, boundary)));
            }
            boundary -= candidate.boundaries;
        }
        None
    }
}

impl CandidateFeature {
    /// Finds the boundaries of a feature; `None` if it is constant in the node.
    fn new(
        sample: &RowSample<'_>,
        rows: &[u32],
        feature: usize,
        min_samples_leaf: usize,
    ) -> Option<Self> {
        let column = sample.column(feature);
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
        let bins = sample.bins.count(feature);
        for (before, &count) in boundaries_before.iter_mut().zip(&counts).take(bins) {
            // There are at most 256 bins and no boundary before the first, so u8 suffices. Branch-free, because
            // branches would be unpredictable.
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

    /// Cut of a boundary.
    fn cut(&self, sample: &RowSample<'_>, rows: &[u32], boundary: usize) -> BinCut {
        // The first bin after the boundary has rows; the last bin before it may be empty.
        let before = self.boundaries_before.iter();
        let upper = before.take_while(|&&b| usize::from(b) <= boundary).count() as u8;
        let column = sample.column(self.feature);
        let bins = rows.iter().map(|&row| column[row as usize]);
        let lower = bins.fold(0, |lower, bin| lower.max(if bin < upper { bin } else { 0 }));
        sample.bins.cut(self.feature, lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
    use super::*;
    use crate::features::Features;
    use crate::run::{Interrupt, Pool};
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

    fn draw(features: usize, min_samples_leaf: usize, seed: u64) -> FeatureDraw {
        FeatureDraw {
            features,
            min_samples_leaf,
            seed,
        }
    }

    #[test]
    fn constant_features_are_skipped() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        for seed in 0..50 {
            let two = CandidateFeatures::draw(&sample, &rows, draw(2, 1, seed));
            assert_eq!(two.features().len(), 2);
            assert!(two.features().iter().all(|c| c.feature != 1));
        }
        let all = CandidateFeatures::draw(&sample, &rows, draw(4, 1, 0));
        let features: Vec<usize> = all.features().iter().map(|c| c.feature).collect();
        assert_eq!(features, [0, 2, 3]);
        assert_eq!(all.boundaries(), 9 + 4 + 1);
        assert_eq!(
            CandidateFeatures::draw(&sample, &[3], draw(4, 1, 0)).boundaries(),
            0
        );
    }

    #[test]
    fn boundaries_leave_min_samples_leaf_rows() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        let all = CandidateFeatures::draw(&sample, &rows, draw(4, 6, 0));
        // Two, four and ten rows per value.
        let before = |c: usize, bins: usize| all.features()[c].boundaries_before[..bins].to_vec();
        assert_eq!(before(0, 10), [0, 0, 0, 1, 2, 3, 4, 5, 5, 5]);
        assert_eq!(before(1, 5), [0, 0, 1, 2, 2]);
        assert_eq!(before(2, 2), [0, 1]);
        let counts: Vec<usize> = all.features().iter().map(|c| c.boundaries).collect();
        assert_eq!(counts, [5, 2, 1]);
        let none = CandidateFeatures::draw(&sample, &rows, draw(4, 11, 0));
        assert_eq!(none.boundaries(), 0);
    }

    #[test]
    fn cuts_lie_between_bins_that_have_rows() {
        let rows: Vec<u32> = (0..20).filter(|row| row % 10 != 5).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        // Values 0, 4 and 9 of the first feature, by their index in the sample.
        let node = [0, 4, 8];
        let candidates = CandidateFeatures::draw(&sample, &node, draw(4, 1, 0));
        let cuts = [0, 1].map(|boundary| candidates.cut(&sample, &node, boundary));
        let thresholds = cuts.map(|cut| cut.map(|(feature, cut)| (feature, cut.threshold)));
        assert_eq!(thresholds, [Some((0, 2.0)), Some((0, 6.5))]);
        let (feature, _) = candidates.cut(&sample, &node, 2).unwrap();
        assert_eq!(feature, 2);
        assert!(candidates
            .cut(&sample, &node, candidates.boundaries())
            .is_none());
    }

    #[test]
    fn every_bin_can_have_a_boundary() {
        let x = Array2::from_shape_fn((MAX_BINS, 1), |(i, _)| i as f64);
        let bins = Bins::new(
            &Features::new(x.view(), &Interrupt::never()).unwrap(),
            MAX_BINS,
        );
        let rows: Vec<u32> = (0..MAX_BINS as u32).collect();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        let candidates = CandidateFeatures::draw(&sample, &rows, draw(1, 1, 0));
        assert_eq!(candidates.boundaries(), MAX_BINS - 1);
        let (_, cut) = candidates.cut(&sample, &rows, MAX_BINS - 2).unwrap();
        assert_eq!((cut.last_left, cut.threshold), (254, 254.5));
    }
}
