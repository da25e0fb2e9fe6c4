//! [`SoftRouting`]: a row near a threshold follows both branches with weights.

use ndarray::{ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::features::{check_values, Features, MISSING_RANK};

use crate::tree::model::Tree;

/// Branches that receive at most this share of a row are left out.
const MIN_SHARE: f64 = 0.005;

/// Per inner node the interval around its threshold in which rows follow both branches.
///
/// Let c be the number of training rows of the smaller child, and let the values of each child be sorted. The lower
/// end is the value ⌈c/2⌉ positions before the largest value of the left child (at least its smallest value); the upper
/// end is the value ⌈c/2⌉ positions after the smallest value of the right child (at most its largest value). Rows with
/// a missing value are not counted; they follow one branch, as in hard routing.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftRouting {
    /// Lower and upper end per node; both 0 for a leaf and for a node that separates values from missing ones.
    pub(crate) windows: Vec<[f64; 2]>,
}

impl SoftRouting {
    /// Computes the intervals from the training features.
    ///
    /// # Errors
    /// [`Error::RowCounts`] if `features` and the training data differ in their numbers of rows;
    /// [`Error::SoftMultiway`] for a node with more than two children.
    pub fn new(tree: &Tree, features: &Features) -> Result<Self> {
        if features.len() != tree.training_rows() {
            return Err(Error::RowCounts {
                features: features.len(),
                rankings: tree.training_rows(),
            });
        }
        let mut windows = vec![[0.0; 2]; tree.nodes().len()];
        let mut ranks_of_child = Vec::new();
        for index in 0..tree.nodes().len() as u32 {
            let Some(split) = tree.split(index) else {
                continue;
            };
            if split.thresholds.len() > 1 {
                return Err(Error::SoftMultiway);
            }
            let feature = split.feature as usize;
            let (ranks, distinct) = (features.ranks(feature), features.distinct(feature));
            if split.thresholds[0].is_infinite() {
                continue;
            }
            let [left, right] = [split.first_child, split.first_child + 1];
            let present_ranks = |child: u32| {
                let rows = tree.node_rows(child).iter();
                rows.map(|&row| ranks[row as usize])
                    .filter(|&rank| rank != MISSING_RANK)
            };
            let offset = present_ranks(left)
                .count()
                .min(present_ranks(right).count())
                .div_ceil(2);
            let mut value_at_offset = |child: u32, from_smallest: bool| {
                ranks_of_child.clear();
                ranks_of_child.extend(present_ranks(child));
                let last = ranks_of_child.len() - 1;
                let position = if from_smallest {
                    offset.min(last)
                } else {
                    last.saturating_sub(offset)
                };
                let (_, &mut rank, _) = ranks_of_child.select_nth_unstable(position);
                distinct[rank as usize]
            };
            windows[index as usize] = [value_at_offset(left, false), value_at_offset(right, true)];
        }
        Ok(Self { windows })
    }

    /// Calls `visit(row, leaf, share)` for each row and each leaf that it reaches, where `share` is the part of the row
    /// that reaches the leaf. The shares of a row sum to 1 minus those of the branches that are left out.
    ///
    /// # Errors
    /// The errors of [`Tree::apply`].
    pub fn route(
        &self,
        tree: &Tree,
        values: ArrayView2<'_, f64>,
        mut visit: impl FnMut(usize, u32, f64),
    ) -> Result<()> {
        if values.ncols() != tree.features() {
            return Err(Error::FeatureCount {
                found: values.ncols(),
                expected: tree.features(),
            });
        }
        check_values(values)?;
        let mut stack = Vec::new();
        for (row, values) in values.rows().into_iter().enumerate() {
            stack.push((0, 1.0));
            while let Some((node, share)) = stack.pop() {
                let Some((left, left_share)) = self.left_share(tree, node, values) else {
                    visit(row, node, share);
                    continue;
                };
                for (child, part) in [(left + 1, 1.0 - left_share), (left, left_share)] {
                    if share * part > MIN_SHARE {
                        stack.push((child, share * part));
                    }
                }
            }
        }
        Ok(())
    }

    /// The left child of a node and the share of a row that it receives; `None` for a leaf.
    fn left_share(&self, tree: &Tree, node: u32, row: ArrayView1<'_, f64>) -> Option<(u32, f64)> {
        let split = tree.split(node)?;
        let (value, threshold) = (row[split.feature as usize], split.thresholds[0]);
        let [low, high] = self.windows[node as usize];
        let share = if value.is_nan() || threshold.is_infinite() {
            f64::from(split.child(value) == split.first_child)
        } else if value <= low {
            1.0
        } else if value >= high {
            0.0
        } else if value <= threshold {
            // Halved before subtracting: the width of the interval could overflow.
            0.5 + 0.5 * ((threshold / 2.0 - value / 2.0) / (threshold / 2.0 - low / 2.0))
        } else {
            0.5 * ((high / 2.0 - value / 2.0) / (high / 2.0 - threshold / 2.0))
        };
        Some((split.first_child, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use crate::tree::TreeParams;
    use ndarray::array;

    #[test]
    fn shares_decrease_linearly_around_the_threshold() {
        let x = array![[0.0], [1.0], [2.0], [3.0], [5.0], [6.0]];
        let y = array![[1, 2], [1, 2], [1, 2], [1, 2], [2, 1], [2, 1_i64]];
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let tree = Tree::fit(
            &features,
            &rankings,
            &TreeParams::default(),
            None,
            &Interrupt::never(),
        );
        let tree = tree.unwrap();
        let soft = SoftRouting::new(&tree, &features).unwrap();
        // The threshold is 4; the smaller child has 2 rows, so the ends are one position from 3 and 5: 2 and 6.
        assert_eq!(soft.windows[0], [2.0, 6.0]);
        let left_share = |value: f64| {
            let mut share = 0.0;
            let one = array![[value]];
            soft.route(&tree, one.view(), |_, leaf, part| {
                if leaf == 1 {
                    share += part;
                }
            })
            .unwrap();
            share
        };
        for (value, expected) in [
            (-9.0, 1.0),
            (2.0, 1.0),
            (3.0, 0.75),
            (4.0, 0.5),
            (5.0, 0.25),
            (6.0, 0.0),
            (5.999, 0.0),
        ] {
            assert!((left_share(value) - expected).abs() < 1e-12, "{value}");
        }
        assert!(soft
            .route(&tree, array![[1.0, 2.0]].view(), |_, _, _| ())
            .is_err());
    }
}
