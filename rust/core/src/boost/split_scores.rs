//! What splits are worth: sums of derivatives over rows in the order of their bins, a few outputs at a time.
//!
//! A task is one node and some groups of [`OUTPUTS`] outputs. Its sums are made in the order of the rows, and the tasks'
//! results are added in their order: the result does not depend on who computes what.

use crate::simd::{dispatch, Kernel};

use super::candidates::Candidates;
use super::drawn::Drawn;
use super::gradient::{Line, Lines, OUTPUTS};
use super::params::MAX_BINS;

/// Groups of outputs that are scored together.
pub(super) const GROUPS: usize = 2;

/// Σ G²/(H + ridge) over some outputs: of the whole node, and of both sides of each boundary.
#[derive(Debug, Default)]
pub(super) struct Scores {
    pub(super) node: f64,
    pub(super) splits: Vec<f64>,
}

/// A node: its rows, as places among the drawn ones, and the splits that it considers.
#[derive(Clone, Copy)]
pub(super) struct Considered<'a> {
    pub(super) drawn: &'a Drawn<'a>,
    pub(super) rows: &'a [u32],
    pub(super) candidates: &'a Candidates,
}

/// Scores all candidates of a node by up to [`GROUPS`] groups of outputs, from this one on.
pub(super) fn score(node: Considered<'_>, lines: &Lines, first_group: usize, ridge: f32) -> Scores {
    if first_group + 1 == lines.groups() {
        return dispatch(Score::<1> {
            node,
            lines,
            first_group,
            ridge,
        });
    }
    dispatch(Score::<GROUPS> {
        node,
        lines,
        first_group,
        ridge,
    })
}

/// Adds the derivatives of a node's rows in double precision: gradients and curvatures in lines.
pub(super) fn totals(rows: &[u32], lines: &Lines) -> Vec<[f64; 2 * OUTPUTS]> {
    dispatch(Totals { rows, lines })
}

struct Score<'a, const N: usize> {
    node: Considered<'a>,
    lines: &'a Lines,
    first_group: usize,
    ridge: f32,
}

impl<const N: usize> Kernel for Score<'_, N> {
    type Output = Scores;

    #[inline(always)]
    fn run(self) -> Scores {
        let mut splits = vec![0.0; self.node.candidates.boundaries()];
        let mut unscored = &mut splits[..];
        // No feature has more boundaries.
        let mut between = Vec::with_capacity(MAX_BINS);
        let mut worths = Vec::with_capacity(MAX_BINS);
        let mut total = [Line::default(); N];
        for (number, candidate) in self.node.candidates.features().iter().enumerate() {
            between.clear();
            between.resize(candidate.boundaries + 1, [Line::default(); N]);
            let column = self.node.drawn.column(candidate.feature);
            for &row in self.node.rows {
                let bin = usize::from(column[row as usize]);
                let sums = &mut between[usize::from(candidate.boundaries_before[bin])];
                plus(sums, self.lines.some(row as usize, self.first_group, N));
            }
            // Every feature has every row on some side of its boundaries: any of them gives the sum of all.
            if number == 0 {
                for lines in &between {
                    plus(&mut total, lines);
                }
            }
            worths.clear();
            let mut left = [Line::default(); N];
            for lines in &between[..candidate.boundaries] {
                plus(&mut left, lines);
                worths.push(worth(&left, &total, self.ridge));
            }
            let scored;
            (scored, unscored) = unscored.split_at_mut(candidate.boundaries);
            for (split, worth) in scored.iter_mut().zip(&worths) {
                *split = sum(*worth);
            }
        }
        Scores {
            node: sum(worth(&total, &total, self.ridge)),
            splits,
        }
    }
}

#[inline(always)]
fn plus<const N: usize>(sum: &mut [Line; N], lines: &[Line]) {
    for (sum, line) in sum.iter_mut().zip(lines) {
        *sum = Line(std::array::from_fn(|i| sum.0[i] + line.0[i]));
    }
}

/// What both sides of a boundary are worth for each output, given the sums on the left and those of the node.
#[inline(always)]
fn worth<const N: usize>(left: &[Line; N], total: &[Line; N], ridge: f32) -> [f32; OUTPUTS] {
    let mut sum = group_worth(&left[0], &total[0], ridge);
    for (left, total) in left.iter().zip(total).skip(1) {
        sum = add(sum, group_worth(left, total, ridge));
    }
    std::array::from_fn(|i| sum.0[i] / sum.1[i])
}

/// Halves are added to halves: that is how vectors are added up, and the order is part of the result.
#[inline(always)]
fn sum(mut each: [f32; OUTPUTS]) -> f64 {
    let mut width = OUTPUTS / 2;
    while width > 0 {
        for i in 0..width {
            each[i] += each[i + width];
        }
        width /= 2;
    }
    f64::from(each[0])
}

/// Numerators and denominators: a division takes as long as ten products, and so all fractions are brought to one
/// denominator first. [`super::scale`] sees to it that the products stay within single precision.
type Fractions = ([f32; OUTPUTS], [f32; OUTPUTS]);

#[inline(always)]
fn add(a: Fractions, b: Fractions) -> Fractions {
    (
        std::array::from_fn(|i| a.0[i] * b.1[i] + b.0[i] * a.1[i]),
        std::array::from_fn(|i| a.1[i] * b.1[i]),
    )
}

/// What both sides are worth for each output of a group.
#[inline(always)]
fn group_worth(left: &Line, total: &Line, ridge: f32) -> Fractions {
    let right = Line(std::array::from_fn(|i| total.0[i] - left.0[i]));
    add(side_worth(left, ridge), side_worth(&right, ridge))
}

#[inline(always)]
fn side_worth(Line(line): &Line, ridge: f32) -> Fractions {
    // A difference of sums may miss 0 by a rounding.
    let curvature = |i: usize| {
        let curvature = line[i + OUTPUTS];
        if curvature > 0.0 {
            curvature
        } else {
            0.0
        }
    };
    (
        std::array::from_fn(|i| line[i] * line[i]),
        std::array::from_fn(|i| curvature(i) + ridge),
    )
}

struct Totals<'a> {
    rows: &'a [u32],
    lines: &'a Lines,
}

impl Kernel for Totals<'_> {
    type Output = Vec<[f64; 2 * OUTPUTS]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut totals = vec![[0.0; 2 * OUTPUTS]; self.lines.groups()];
        for &row in self.rows {
            for (total, line) in totals.iter_mut().zip(self.lines.row(row as usize)) {
                *total = std::array::from_fn(|i| total[i] + f64::from(line.0[i]));
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
    use super::super::candidates::Draw;
    use super::*;
    use crate::features::Features;
    use crate::run::Interrupt;
    use ndarray::Array2;

    /// Scores of some rows for so many labels against sums of both sides in double precision.
    fn check(labels: usize) {
        let rows = 40;
        let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (3 + j)) % 11) as f64);
        let bins = Bins::new(&Features::new(x.view(), &Interrupt::never()).unwrap(), 256);
        let kept: Vec<u32> = (0..rows as u32).filter(|r| r % 4 != 0).collect();
        let drawn = Drawn::new(&bins, &kept, false);
        let mut lines = Lines::default();
        for (place, line) in lines.prepare(kept.len(), labels).iter_mut().enumerate() {
            *line = Line(std::array::from_fn(|i| {
                let value = ((place * 17 + i * 5) % 23) as f32 / 8.0;
                value - if i < OUTPUTS { 1.4 } else { 0.0 }
            }));
        }
        let node: Vec<u32> = (0..kept.len() as u32).filter(|p| p % 7 != 2).collect();
        let draw = Draw {
            features: 2,
            min_samples_leaf: 3,
            seed: 0,
        };
        let candidates = Candidates::draw(&drawn, &node, draw);
        assert!(candidates.boundaries() > 8);
        let considered = Considered {
            drawn: &drawn,
            rows: &node,
            candidates: &candidates,
        };
        let groups = (0..lines.groups()).step_by(GROUPS);
        let scores: Vec<Scores> = groups
            .map(|group| score(considered, &lines, group, 2.0))
            .collect();
        let expected = |keep: &dyn Fn(u32) -> bool| -> f64 {
            let side: Vec<u32> = node.iter().copied().filter(|&place| keep(place)).collect();
            let sums = totals(&side, &lines);
            let each = sums.iter().flat_map(|sums| {
                (0..OUTPUTS).map(|i| sums[i] * sums[i] / (sums[i + OUTPUTS] + 2.0))
            });
            each.sum()
        };
        let whole: f64 = scores.iter().map(|group| group.node).sum();
        assert!((whole / expected(&|_| true) - 1.0).abs() < 1e-5);
        for boundary in 0..candidates.boundaries() {
            let (feature, cut) = candidates.cut(&drawn, &node, boundary).unwrap();
            let row = |place: u32| kept[place as usize] as usize;
            let left = |place: u32| x[[row(place), feature]] <= cut.threshold;
            let wanted = expected(&left) + expected(&|place| !left(place));
            let found: f64 = scores.iter().map(|group| group.splits[boundary]).sum();
            assert!((found / wanted - 1.0).abs() < 1e-5, "{found} {wanted}");
        }
    }

    #[test]
    fn scores_are_those_of_the_two_sides() {
        // One group of outputs, two that are scored together, two and one.
        for labels in [4, 7, 9] {
            check(labels);
        }
    }
}
