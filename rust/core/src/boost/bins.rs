//! [`Bins`]: features as bytes, with one bin per distinct value or bins of about equal size.

use crate::features::{midpoint, Features, MISSING_RANK};

use super::params::MAX_BINS;

/// Binned features. Bins are in the order of the values, and none is empty. Missing values have a bin of their own
/// after the bins of the values.
pub(super) struct Bins {
    columns: Vec<BinnedColumn>,
}

struct BinnedColumn {
    /// The bin of each row.
    bins: Vec<u8>,
    /// Smallest and largest value of each bin.
    ranges: Vec<(f64, f64)>,
    has_missing: bool,
}

/// Boundary of a split, in bins and in values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BinCut {
    /// The last bin that goes left.
    pub(super) last_left: u8,
    /// Values up to this one go left. Agrees with `last_left` for every value in every bin. Infinite if values are
    /// separated from missing ones.
    pub(super) threshold: f64,
}

/// The bins that go left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LeftBins {
    last: u8,
    /// The bin of missing values if it goes left; otherwise 0, which goes left anyway.
    missing: u8,
}

impl LeftBins {
    #[inline(always)]
    pub(super) fn contains(self, bin: u8) -> bool {
        bin <= self.last || bin == self.missing
    }
}

impl Bins {
    /// Assigns the values of each feature to at most `max_bins` ≤ 256 bins; with missing values to at most 255.
    pub(super) fn new(features: &Features, max_bins: usize) -> Self {
        let column = |feature| {
            let (values, ranks) = (features.distinct(feature), features.ranks(feature));
            let has_missing = features.has_missing(feature);
            let max_bins = max_bins.min(MAX_BINS - usize::from(has_missing));
            let bin_of_value = if values.len() <= max_bins {
                (0..values.len()).map(|rank| rank as u8).collect()
            } else {
                assign_equal_frequency(ranks, values.len(), max_bins)
            };
            let mut ranges: Vec<(f64, f64)> = Vec::new();
            for (&bin, &value) in bin_of_value.iter().zip(values) {
                match ranges.get_mut(usize::from(bin)) {
                    Some(range) => range.1 = value,
                    None => ranges.push((value, value)),
                }
            }
            BinnedColumn {
                bins: ranks
                    .iter()
                    .map(|&rank| match rank {
                        MISSING_RANK => ranges.len() as u8,
                        rank => bin_of_value[rank as usize],
                    })
                    .collect(),
                ranges,
                has_missing,
            }
        };
        Self {
            columns: (0..features.columns()).map(column).collect(),
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.bins.len())
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.columns.len()
    }

    /// Number of bins of a feature, without the bin of missing values.
    pub(super) fn count(&self, feature: usize) -> usize {
        self.columns[feature].ranges.len()
    }

    /// The bin of each row.
    pub(super) fn column(&self, feature: usize) -> &[u8] {
        &self.columns[feature].bins
    }

    /// The bin of missing values, which is larger than all others; `None` if no value is missing.
    pub(super) fn missing(&self, feature: usize) -> Option<u8> {
        let column = &self.columns[feature];
        column.has_missing.then_some(column.ranges.len() as u8)
    }

    /// The bins that go left at a cut.
    pub(super) fn left_bins(&self, feature: usize, cut: BinCut, missing_left: bool) -> LeftBins {
        LeftBins {
            last: cut.last_left,
            missing: self.missing(feature).filter(|_| missing_left).unwrap_or(0),
        }
    }

    /// The cut between all values and the missing ones.
    pub(super) fn missing_cut(&self, feature: usize) -> BinCut {
        BinCut {
            last_left: (self.count(feature) - 1) as u8,
            threshold: f64::INFINITY,
        }
    }

    /// The cut between two bins, if the node has no rows in the bins between them: the midpoint of the largest value of
    /// `lower` and the smallest value of `upper`. If the midpoint falls into a bin, the cut moves to the gap before
    /// that bin, so that bins and values agree.
    pub(super) fn cut(&self, feature: usize, lower: u8, upper: u8) -> BinCut {
        let ranges = &self.columns[feature].ranges;
        let (from, to) = (usize::from(lower), usize::from(upper));
        let middle = midpoint(ranges[from].1, ranges[to].0);
        let after = from + ranges[from..=to].partition_point(|range| range.1 <= middle);
        let last_left = after.min(to) - 1;
        let next = ranges[last_left + 1].0;
        BinCut {
            last_left: last_left as u8,
            threshold: if next > middle {
                middle
            } else {
                midpoint(ranges[last_left].1, next)
            },
        }
    }
}

/// The bin of each distinct value, for bins with about the same number of rows.
fn assign_equal_frequency(ranks: &[u32], distinct: usize, max_bins: usize) -> Vec<u8> {
    let mut counts = vec![0_usize; distinct];
    let mut rows = 0;
    for &rank in ranks.iter().filter(|&&rank| rank != MISSING_RANK) {
        counts[rank as usize] += 1;
        rows += 1;
    }
    let (mut seen, mut previous, mut bins) = (0, 0, 0);
    counts
        .into_iter()
        .enumerate()
        .map(|(value, count)| {
            let target = seen * max_bins / rows;
            seen += count;
            if value > 0 && target > previous {
                bins += 1;
            }
            previous = target;
            bins as u8
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Interrupt;
    use ndarray::Array2;

    fn bins(values: Vec<f64>, max_bins: usize) -> Bins {
        let x = Array2::from_shape_vec((values.len(), 1), values).unwrap();
        Bins::new(
            &Features::new(x.view(), &Interrupt::never()).unwrap(),
            max_bins,
        )
    }

    #[test]
    fn few_values_get_one_bin_each() {
        let bins = bins(vec![5.0, 1.0, 3.0, 1.0, 9.0], 4);
        assert_eq!(bins.column(0), [2, 0, 1, 0, 3]);
        let cut = bins.cut(0, 0, 1);
        assert_eq!((cut.last_left, cut.threshold), (0, 2.0));
        // 5 is the midpoint of 1 and 9: it goes left, and so does its bin.
        let cut = bins.cut(0, 0, 3);
        assert_eq!((cut.last_left, cut.threshold), (2, 5.0));
    }

    #[test]
    fn many_values_get_bins_of_equal_size() {
        let bins = bins((0..1000).map(|i| f64::from(i).powi(3)).collect(), 10);
        let column = bins.column(0);
        let sizes: Vec<usize> = column.chunk_by(|a, b| a == b).map(<[u8]>::len).collect();
        assert_eq!(sizes, [100; 10]);
        assert!(column.is_sorted());
    }

    #[test]
    fn a_frequent_value_leaves_no_empty_bins() {
        let values = (0..2000).map(|i| if i < 1500 { 0.0 } else { f64::from(i) });
        let bins = bins(values.collect(), 8);
        let largest = bins.column(0).iter().copied().max().unwrap();
        assert_eq!(bins.columns[0].ranges.len(), usize::from(largest) + 1);
        assert!(largest >= 2);
    }

    #[test]
    fn bins_and_values_agree_on_every_cut() {
        let values: Vec<f64> = (0..500).map(|i| f64::from((i * i) % 7919)).collect();
        let bins = bins(values.clone(), 16);
        let column = bins.column(0);
        let last = column.iter().copied().max().unwrap();
        for lower in 0..last {
            for upper in lower + 1..=last {
                let cut = bins.cut(0, lower, upper);
                assert!((lower..upper).contains(&cut.last_left));
                for (&value, &bin) in values.iter().zip(column) {
                    assert_eq!(value <= cut.threshold, bin <= cut.last_left);
                }
            }
        }
    }
}
