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
        edges: EdgeRule::all(min_samples_leaf),
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
        let own = all.filter(|found| found.feature == feature && found.missing_left != Some(true));
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
