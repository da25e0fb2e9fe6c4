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
        let shift = rule.thresholds.block_bits(filled as u32, present as u32);
        let is_right = |left: usize| enough(left, present + missing - left);
        let is_left = |left: usize| enough(left + missing, present - left);
        // Per edge: number of rows with a value before it.
        let mut edges = Vec::new();
        let (mut left, mut previous) = (0, 0);
        for (bin, &count) in counts.iter().enumerate() {
            let separates = left > 0 && count > 0;
            let starts_block = left >> shift != previous >> shift;
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
mod tests;
