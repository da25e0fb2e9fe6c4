//! Soft routing: a row near a threshold goes both ways.

use ndarray::{ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::features::{check_finite, Features};

use crate::tree::model::Tree;

/// Branches that a smaller share of the row takes are left out.
const SMALLEST: f64 = 0.005;

/// For each inner node the interval around its threshold in which rows go both ways.
///
/// At a node whose smaller child has c rows, it reaches from the value ⌈c/2⌉ places to the left of the largest value of
/// the left child, but not beyond its smallest, to the mirrored value on the right.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftRouting {
    /// Ends of the interval; both are the threshold in a leaf.
    pub(crate) windows: Vec<[f64; 2]>,
}

impl SoftRouting {
    /// Measures the intervals on the training data.
    ///
    /// # Errors
    /// [`Error::RowCounts`] for features of other rows, [`Error::SoftMultiway`] for a node with more than two children.
    pub fn new(tree: &Tree, features: &Features) -> Result<Self> {
        if features.len() != tree.training_rows() {
            return Err(Error::RowCounts {
                features: features.len(),
                rankings: tree.training_rows(),
            });
        }
        let mut windows = vec![[0.0; 2]; tree.nodes().len()];
        let mut values = Vec::new();
        for index in 0..tree.nodes().len() as u32 {
            let Some(split) = tree.split(index) else {
                continue;
            };
            if split.thresholds.len() > 1 {
                return Err(Error::SoftMultiway);
            }
            let feature = split.feature as usize;
            let (ranks, distinct) = (features.ranks(feature), features.distinct(feature));
            let [left, right] = [split.first_child, split.first_child + 1];
            let places = tree.node(left).rows.min(tree.node(right).rows).div_ceil(2) as usize;
            let mut nth = |child: u32, from_left: bool| {
                values.clear();
                values.extend(tree.node_rows(child).iter().map(|&row| ranks[row as usize]));
                let last = values.len() - 1;
                let place = if from_left {
                    places.min(last)
                } else {
                    last.saturating_sub(places)
                };
                let (_, &mut rank, _) = values.select_nth_unstable(place);
                distinct[rank as usize]
            };
            windows[index as usize] = [nth(left, false), nth(right, true)];
        }
        Ok(Self { windows })
    }

    /// Calls `visit` with each row, each leaf that it reaches, and the share of it that arrives there. The shares of a
    /// row add up to 1 but for the branches that were left out.
    ///
    /// # Errors
    /// As [`Tree::apply`].
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
        check_finite(values)?;
        let mut stack = Vec::new();
        for (row, values) in values.rows().into_iter().enumerate() {
            stack.push((0, 1.0));
            while let Some((node, share)) = stack.pop() {
                let Some((left, goes_left)) = self.goes_left(tree, node, values) else {
                    visit(row, node, share);
                    continue;
                };
                for (child, part) in [(left + 1, 1.0 - goes_left), (left, goes_left)] {
                    if share * part > SMALLEST {
                        stack.push((child, share * part));
                    }
                }
            }
        }
        Ok(())
    }

    /// The left child of a node and the share of a row that goes there; `None` for a leaf.
    fn goes_left(&self, tree: &Tree, node: u32, row: ArrayView1<'_, f64>) -> Option<(u32, f64)> {
        let split = tree.split(node)?;
        let (value, threshold) = (row[split.feature as usize], split.thresholds[0]);
        let [low, high] = self.windows[node as usize];
        let share = if value <= low {
            1.0
        } else if value >= high {
            0.0
        } else if value <= threshold {
            // Halves first: the width of the interval could overflow.
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
    fn shares_fall_linearly_on_both_sides_of_the_threshold() {
        let x = array![[0.0], [1.0], [2.0], [3.0], [5.0], [6.0]];
        let y = array![[1, 2], [1, 2], [1, 2], [1, 2], [2, 1], [2, 1_i64]];
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None).unwrap();
        let tree = Tree::fit(
            &features,
            &rankings,
            &TreeParams::default(),
            None,
            &Interrupt::never(),
        );
        let tree = tree.unwrap();
        let soft = SoftRouting::new(&tree, &features).unwrap();
        // The threshold is 4; the smaller child has 2 rows, so the interval goes one place further: 2 to 6.
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
