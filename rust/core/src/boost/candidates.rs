//! [`CandidateFeatures`]: the sampled features of a node and the boundaries between their bins.

use crate::random::Generator;
use crate::simd::{dispatch, Kernel};

use std::ops::Range;

use super::bin_groups::{BinCounts, EdgeRule, RowCount};
use super::bins::BinCut;
use super::params::MAX_BINS;
use super::row_sample::RowSample;

/// Candidate features of one node, ascending. The vector is reused from node to node.
#[derive(Default)]
pub(super) struct CandidateFeatures(Vec<CandidateFeature>);

/// A feature and its candidate boundaries: the boundaries between bins that leave enough rows of the node on
/// both sides.
///
/// The bins are divided into groups, with an edge after each group but the last. If values are missing in the node,
/// they are the last group, and an edge can be a boundary twice: with missing values on the right side and on the left
/// side.
pub(super) struct CandidateFeature {
    pub(super) feature: usize,
    /// Number of groups.
    pub(super) groups: usize,
    /// Per bin that has rows: its group.
    pub(super) group_of: [u8; MAX_BINS],
    /// The edges that are boundaries with missing values on the right side.
    pub(super) missing_right: Range<usize>,
    /// The edges that are boundaries with missing values on the left side.
    pub(super) missing_left: Range<usize>,
    has_missing: bool,
}

/// A boundary of a node: its feature, its cut and, if values are missing in the node, whether they go left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Boundary {
    pub(super) feature: usize,
    pub(super) cut: BinCut,
    pub(super) missing_left: Option<bool>,
}

/// How the features of a node are sampled.
#[derive(Clone, Copy)]
pub(super) struct FeatureDraw {
    /// Number of features to draw.
    pub(super) features: usize,
    pub(super) edges: EdgeRule,
    pub(super) seed: u64,
}

impl CandidateFeatures {
    /// Draws features until enough of them are not constant in the node. `rows` are indices into the sample.
    pub(super) fn draw(&mut self, sample: &RowSample<'_>, rows: &[u32], draw: FeatureDraw) {
        let mut order: Vec<u32> = (0..sample.bins.features() as u32).collect();
        let mut generator = Generator::new(draw.seed);
        let mut next = 0;
        self.0.clear();
        while self.0.len() < draw.features && next < order.len() {
            let missing = draw.features - self.0.len();
            let end = order.len().min(next + missing);
            if draw.features < order.len() {
                for at in next..end {
                    let other = at + generator.below(order.len() - at);
                    order.swap(at, other);
                }
            }
            // Sorting indices is cheaper than sorting candidates, which is needed only after a second draw.
            order[next..end].sort_unstable();
            dispatch(AddFeatures {
                candidates: &mut self.0,
                sample,
                rows,
                features: &order[next..end],
                edges: draw.edges,
            });
            if next > 0 {
                self.0.sort_unstable_by_key(|candidate| candidate.feature);
            }
            next = end;
        }
    }

    /// The candidate features, ascending.
    pub(super) fn features(&self) -> &[CandidateFeature] {
        &self.0
    }

    /// Number of boundaries of all features together.
    pub(super) fn boundaries(&self) -> usize {
        self.0.iter().map(CandidateFeature::boundaries).sum()
    }

    /// The boundary with this number; `None` if there are not as many. Boundaries are numbered feature by feature;
    /// those of a feature with missing values on the right side come before those with missing values on the left side.
    pub(super) fn boundary(
        &self,
        sample: &RowSample<'_>,
        rows: &[u32],
        mut number: usize,
    ) -> Option<Boundary> {
        for candidate in &self.0 {
            if number < candidate.boundaries() {
                return Some(candidate.boundary(sample, rows, number));
            }
            number -= candidate.boundaries();
        }
        None
    }
}

/// Adds the features that are not constant in a node.
struct AddFeatures<'a> {
    candidates: &'a mut Vec<CandidateFeature>,
    sample: &'a RowSample<'a>,
    rows: &'a [u32],
    features: &'a [u32],
    edges: EdgeRule,
}

impl Kernel for AddFeatures<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if u8::try_from(self.rows.len()).is_ok() {
            self.add::<u8>();
        } else {
            self.add::<u32>();
        }
    }
}

impl AddFeatures<'_> {
    #[inline(always)]
    fn add<T: RowCount>(self) {
        for &feature in self.features {
            let feature = feature as usize;
            let Some(counts) = BinCounts::<T>::new(self.sample.column(feature), self.rows) else {
                continue;
            };
            // Filled in place, because the groups of all bins take 256 bytes.
            self.candidates
                .push(CandidateFeature::without_groups(feature));
            if let Some(candidate) = self.candidates.last_mut() {
                candidate.find_groups(self.sample, &counts, self.edges);
            }
        }
    }
}

impl CandidateFeature {
    #[inline(always)]
    fn without_groups(feature: usize) -> Self {
        Self {
            feature,
            groups: 0,
            group_of: [0; MAX_BINS],
            missing_right: 0..0,
            missing_left: 0..0,
            has_missing: false,
        }
    }

    /// Finds groups and boundaries.
    #[inline(always)]
    fn find_groups<T: RowCount>(
        &mut self,
        sample: &RowSample<'_>,
        counts: &BinCounts<T>,
        rule: EdgeRule,
    ) {
        let missing = sample.bins.missing(self.feature).map(usize::from);
        if let Some(missing) = missing.filter(|&bin| counts.rows[bin] > T::default()) {
            let counts = counts.rows.map(T::into);
            self.find_groups_with_missing(&counts[..=missing], rule);
        } else {
            let last = counts.assign_groups(rule, &mut self.group_of);
            self.groups = usize::from(last) + 1;
            self.missing_right = 0..last.into();
        }
    }

    /// Finds groups and boundaries of a feature with missing values, given the rows per bin; the last bin is that of
    /// missing values.
    fn find_groups_with_missing(&mut self, counts: &[u32], rule: EdgeRule) {
        let bins = counts.len() - 1;
        let missing = counts[bins] as usize;
        let present: usize = counts[..bins].iter().map(|&count| count as usize).sum();
        let enough = |left: usize, right: usize| left.min(right) >= rule.min_samples_leaf;
        let filled = counts[..bins].iter().filter(|&&count| count > 0).count();
        let bits = rule.thresholds.block_bits(filled as u32, present as u32);
        let is_right = |left: usize| enough(left, present + missing - left);
        let is_left = |left: usize| enough(left + missing, present - left);
        // Per edge: number of rows with a value before it.
        let mut edges = Vec::new();
        let (mut left, mut previous) = (0, 0);
        for (bin, &count) in counts.iter().enumerate() {
            let separates = left > 0 && count > 0;
            let starts_block = left >> bits != previous >> bits;
            if separates && (bin == bins || starts_block && (is_right(left) || is_left(left))) {
                edges.push(left);
            }
            self.group_of[bin] = edges.len() as u8;
            if count > 0 {
                previous = left;
            }
            left += count as usize;
        }
        // The edges with enough rows on both sides are consecutive.
        let range = |is_boundary: &dyn Fn(usize) -> bool| {
            let mut edges = edges.iter().map(|&left| is_boundary(left));
            let start = edges.position(|is_boundary| is_boundary);
            let more = edges.take_while(|&is_boundary| is_boundary).count();
            start.map_or(0..0, |start| start..start + 1 + more)
        };
        self.groups = edges.len() + 1;
        self.missing_right = range(&is_right);
        self.missing_left = range(&is_left);
        self.has_missing = true;
    }

    /// Number of boundaries.
    pub(super) fn boundaries(&self) -> usize {
        self.missing_right.len() + self.missing_left.len()
    }

    fn boundary(&self, sample: &RowSample<'_>, rows: &[u32], number: usize) -> Boundary {
        let is_left = number >= self.missing_right.len();
        let edge = if is_left {
            self.missing_left.start + number - self.missing_right.len()
        } else {
            self.missing_right.start + number
        };
        Boundary {
            feature: self.feature,
            cut: self.cut(sample, rows, edge),
            missing_left: self.has_missing.then_some(is_left),
        }
    }

    /// Cut at an edge.
    fn cut(&self, sample: &RowSample<'_>, rows: &[u32], edge: usize) -> BinCut {
        if self.has_missing && edge + 2 == self.groups {
            return sample.bins.missing_cut(self.feature);
        }
        let column = sample.column(self.feature);
        // The last bin before the edge and the first one after it, among those with rows.
        let (mut lower, mut upper) = (0, u8::MAX);
        for &row in rows {
            let bin = column[row as usize];
            let is_before = usize::from(self.group_of[usize::from(bin)]) <= edge;
            lower = lower.max(if is_before { bin } else { 0 });
            upper = upper.min(if is_before { u8::MAX } else { bin });
        }
        sample.bins.cut(self.feature, lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
    use super::super::params::Thresholds;
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
            edges: EdgeRule {
                min_samples_leaf,
                thresholds: Thresholds::All,
            },
            seed,
        }
    }

    fn candidates(sample: &RowSample<'_>, rows: &[u32], draw: FeatureDraw) -> CandidateFeatures {
        let mut candidates = CandidateFeatures::default();
        candidates.draw(sample, rows, draw);
        candidates
    }

    #[test]
    fn constant_features_are_skipped() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        for seed in 0..50 {
            let two = candidates(&sample, &rows, draw(2, 1, seed));
            assert_eq!(two.features().len(), 2);
            assert!(two.features().iter().all(|c| c.feature != 1));
        }
        let all = candidates(&sample, &rows, draw(4, 1, 0));
        let features: Vec<usize> = all.features().iter().map(|c| c.feature).collect();
        assert_eq!(features, [0, 2, 3]);
        assert_eq!(all.boundaries(), 9 + 4 + 1);
        assert_eq!(candidates(&sample, &[3], draw(4, 1, 0)).boundaries(), 0);
    }

    #[test]
    fn boundaries_leave_min_samples_leaf_rows() {
        let rows: Vec<u32> = (0..20).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        let all = candidates(&sample, &rows, draw(4, 6, 0));
        // Two, four and ten rows per value.
        let groups = |c: usize, bins: usize| all.features()[c].group_of[..bins].to_vec();
        assert_eq!(groups(0, 10), [0, 0, 0, 1, 2, 3, 4, 5, 5, 5]);
        assert_eq!(groups(1, 5), [0, 0, 1, 2, 2]);
        assert_eq!(groups(2, 2), [0, 1]);
        let counts: Vec<usize> = all
            .features()
            .iter()
            .map(CandidateFeature::boundaries)
            .collect();
        assert_eq!(counts, [5, 2, 1]);
        let none = candidates(&sample, &rows, draw(4, 11, 0));
        assert_eq!(none.boundaries(), 0);
    }

    #[test]
    fn cuts_lie_between_bins_that_have_rows() {
        let rows: Vec<u32> = (0..20).filter(|row| row % 10 != 5).collect();
        let bins = bins();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        // Rows with the values 0, 4 and 9 of the first feature, as indices into the sample.
        let node = [0, 4, 8];
        let candidates = candidates(&sample, &node, draw(4, 1, 0));
        let found = [0, 1].map(|number| candidates.boundary(&sample, &node, number));
        let thresholds = found.map(|found| found.map(|b| (b.feature, b.cut.threshold)));
        assert_eq!(thresholds, [Some((0, 2.0)), Some((0, 6.5))]);
        let third = candidates.boundary(&sample, &node, 2).unwrap();
        assert_eq!((third.feature, third.missing_left), (2, None));
        assert!(candidates
            .boundary(&sample, &node, candidates.boundaries())
            .is_none());
    }

    #[test]
    fn spaced_boundaries_are_in_different_blocks_of_rows() {
        // 100 rows have 16 blocks of 4 rows and more; the last two rows have no value.
        let x = Array2::from_shape_fn((100, 2), |(i, j)| match (i, j) {
            (98.., 1) => f64::NAN,
            _ => i as f64,
        });
        let bins = Bins::new(&Features::new(x.view(), &Interrupt::never()).unwrap(), 256);
        let rows: Vec<u32> = (0..100).collect();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        let thresholds = |rows: &[u32], feature| {
            let mut spaced = draw(2, 5, 0);
            spaced.edges.thresholds = Thresholds::Spaced;
            let candidates = candidates(&sample, rows, spaced);
            let boundary = |number| candidates.boundary(&sample, rows, number);
            let all = (0..candidates.boundaries()).filter_map(boundary);
            let own =
                all.filter(|found| found.feature == feature && found.missing_left != Some(true));
            own.map(|found| found.cut.threshold).collect::<Vec<_>>()
        };
        let every_fourth: Vec<f64> = (2..24).map(|i| f64::from(i) * 4.0 - 0.5).collect();
        assert_eq!(thresholds(&rows, 0), every_fourth);
        assert_eq!(thresholds(&rows, 1), every_fourth);
        // With at most 16 bins every threshold is a candidate.
        let few: Vec<f64> = (5..12).map(|i| f64::from(i) - 0.5).collect();
        assert_eq!(thresholds(&rows[..16], 0), few);
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
        let candidates = candidates(&sample, &rows, draw(1, 1, 0));
        assert_eq!(candidates.boundaries(), MAX_BINS - 1);
        let Boundary { cut, .. } = candidates.boundary(&sample, &rows, MAX_BINS - 2).unwrap();
        assert_eq!((cut.last_left, cut.threshold), (254, 254.5));
    }

    #[test]
    fn missing_values_are_tried_on_both_sides() {
        // Values 0, 1 and 2 in three rows each, missing in two rows.
        let x = Array2::from_shape_fn(
            (11, 1),
            |(i, _)| {
                if i < 9 {
                    (i % 3) as f64
                } else {
                    f64::NAN
                }
            },
        );
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let bins = Bins::new(&features, 256);
        let rows: Vec<u32> = (0..11).collect();
        let sample = RowSample::new(&bins, &rows, Pool::SERIAL);
        let boundaries = |min_samples_leaf| {
            let candidates = candidates(&sample, &rows, draw(1, min_samples_leaf, 0));
            let boundary = |number| candidates.boundary(&sample, &rows, number);
            let all = (0..candidates.boundaries()).filter_map(boundary);
            all.map(|b| (b.cut.threshold, b.missing_left.unwrap()))
                .collect::<Vec<_>>()
        };
        let infinity = f64::INFINITY;
        let right = [(0.5, false), (1.5, false), (infinity, false)];
        let left = [(0.5, true), (1.5, true)];
        assert_eq!(boundaries(1), [&right[..], &left].concat());
        assert_eq!(boundaries(3), [&right[..2], &left].concat());
        assert_eq!(boundaries(4), [(1.5, false), (0.5, true)]);
        assert!(boundaries(6).is_empty());
    }
}
