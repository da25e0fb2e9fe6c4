//! What splits are worth: histograms of derivatives over bins, a few outputs at a time.
//!
//! A task is one node and one group of [`OUTPUTS`] outputs. Its histogram is small enough for the fastest cache, its
//! sums are made in the order of the rows, and the groups are added in their order: the result does not depend on who
//! computes what.

use crate::simd::{dispatch, Kernel};

use super::candidates::Candidates;
use super::gradient::{Line, Lines, OUTPUTS};

/// Σ G²/(H + ridge) over a group of outputs: of the whole node, and of both sides of each boundary.
#[derive(Debug, Default)]
pub(super) struct Scores {
    pub(super) node: f64,
    pub(super) splits: Vec<f64>,
}

/// Scores all candidates of a node (rows as places among the drawn ones) by one group of outputs.
pub(super) fn score(
    candidates: &Candidates,
    rows: &[u32],
    lines: &Lines,
    group: usize,
    ridge: f32,
) -> Scores {
    dispatch(Score {
        candidates,
        rows,
        lines,
        group,
        ridge,
    })
}

/// Adds the derivatives of a node's rows in double precision: gradients and curvatures in lines.
pub(super) fn totals(rows: &[u32], lines: &Lines) -> Vec<[f64; 2 * OUTPUTS]> {
    dispatch(Totals { rows, lines })
}

struct Score<'a> {
    candidates: &'a Candidates,
    rows: &'a [u32],
    lines: &'a Lines,
    group: usize,
    ridge: f32,
}

impl Kernel for Score<'_> {
    type Output = Scores;

    #[inline(always)]
    fn run(self) -> Scores {
        let mut histogram = vec![Line::default(); self.candidates.slot_count()];
        for (&row, slots) in self.rows.iter().zip(self.candidates.slots()) {
            let line = self.lines.get(row as usize, self.group);
            for &slot in slots {
                add(&mut histogram[slot as usize], line);
            }
        }
        // Every feature has every row in one of its bins: any of them gives the sum of all.
        let mut total = Line::default();
        if let Some(candidate) = self.candidates.features().first() {
            for bin in &histogram[candidate.slots()] {
                add(&mut total, bin);
            }
        }
        let mut splits = Vec::with_capacity(self.candidates.boundaries().count());
        for candidate in self.candidates.features() {
            let mut left = Line::default();
            let histogram = &histogram[candidate.slots()];
            for bin in &histogram[..candidate.boundaries.start] {
                add(&mut left, bin);
            }
            for bin in &histogram[candidate.boundaries.clone()] {
                add(&mut left, bin);
                let right: Line = std::array::from_fn(|i| total[i] - left[i]);
                splits.push(both_worth(&left, &right, self.ridge));
            }
        }
        Scores {
            node: both_worth(&total, &Line::default(), self.ridge),
            splits,
        }
    }
}

#[inline(always)]
fn add(sum: &mut Line, line: &Line) {
    *sum = std::array::from_fn(|i| sum[i] + line[i]);
}

/// What two sides are worth together.
#[inline(always)]
fn both_worth(left: &Line, right: &Line, ridge: f32) -> f64 {
    let [left, right] = [worth(left, ridge), worth(right, ridge)];
    let mut each: [f32; OUTPUTS] = std::array::from_fn(|i| left[i] + right[i]);
    // Halves are added to halves: that is how vectors are added up, and the order is part of the result.
    let mut width = OUTPUTS / 2;
    while width > 0 {
        for i in 0..width {
            each[i] += each[i + width];
        }
        width /= 2;
    }
    f64::from(each[0])
}

/// What each output of a side is worth.
#[inline(always)]
fn worth(line: &Line, ridge: f32) -> [f32; OUTPUTS] {
    std::array::from_fn(|i| {
        // A difference of sums may miss 0 by a rounding.
        let curvature = line[i + OUTPUTS];
        let curvature = if curvature > 0.0 { curvature } else { 0.0 };
        line[i] * line[i] / (curvature + ridge)
    })
}

struct Totals<'a> {
    rows: &'a [u32],
    lines: &'a Lines,
}

impl Kernel for Totals<'_> {
    type Output = Vec<[f64; 2 * OUTPUTS]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let total = |group: usize| {
            let mut total = [0.0; 2 * OUTPUTS];
            for &row in self.rows {
                let line = self.lines.get(row as usize, group);
                total = std::array::from_fn(|i| total[i] + f64::from(line[i]));
            }
            total
        };
        (0..self.lines.groups()).map(total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
    use super::super::candidates::Draw;
    use super::*;
    use crate::features::Features;
    use ndarray::Array2;

    #[test]
    fn scores_are_those_of_the_two_sides() {
        let rows = 40;
        let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (3 + j)) % 11) as f64);
        let bins = Bins::new(&Features::new(x.view()).unwrap(), 256);
        let mut lines = Lines::default();
        for (row, line) in lines.prepare(rows, 4)[..rows].iter_mut().enumerate() {
            *line = std::array::from_fn(|i| {
                let value = ((row * 17 + i * 5) % 23) as f32 / 8.0;
                value - if i < OUTPUTS { 1.4 } else { 0.0 }
            });
        }
        let drawn: Vec<u32> = (0..rows as u32).filter(|r| r % 4 != 0).collect();
        let draw = Draw {
            features: 2,
            min_samples_leaf: 3,
            seed: 0,
        };
        let candidates = Candidates::draw(&bins, &drawn, draw);
        let scores = score(&candidates, &drawn, &lines, 0, 2.0);
        assert_eq!(scores.splits.len(), candidates.boundaries().count());
        assert!(scores.splits.len() > 8);
        let expected = |keep: &dyn Fn(u32) -> bool| -> f64 {
            let kept: Vec<u32> = drawn.iter().copied().filter(|&row| keep(row)).collect();
            let sums = totals(&kept, &lines)[0];
            (0..OUTPUTS)
                .map(|i| sums[i] * sums[i] / (sums[i + OUTPUTS] + 2.0))
                .sum()
        };
        assert!((scores.node - expected(&|_| true)).abs() < 1e-3);
        for ((candidate, boundary), found) in candidates.boundaries().zip(scores.splits) {
            let threshold = candidate.cut(&bins, boundary).threshold;
            let left = |row: u32| x[[row as usize, candidate.feature]] <= threshold;
            let wanted = expected(&left) + expected(&|row| !left(row));
            assert!((found - wanted).abs() < 1e-3, "{found} {wanted}");
        }
    }
}
