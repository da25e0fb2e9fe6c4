//! [`label_relations`]: per label of a ranking, the number of labels after it minus the number before it, and the
//! number tied with it.

use std::ops::Range;

use crate::rankings::{Rankings, MISSING};
use crate::simd::{dispatch, Kernel};

/// For each row, per label: the number of labels after it minus the number of labels before it; then, per label, the
/// number of labels tied with it. Missing labels count as after all others; their own entries are 0.
pub(crate) fn label_relations<T: From<i16> + Copy>(rankings: &Rankings) -> Vec<T> {
    label_relations_of(rankings, 0..rankings.len())
}

/// As [`label_relations`], for a range of rows.
pub(crate) fn label_relations_of<T: From<i16> + Copy>(
    rankings: &Rankings,
    rows: Range<usize>,
) -> Vec<T> {
    dispatch(RelationsKernel {
        rankings,
        rows,
        zero: T::from(0),
    })
}

struct RelationsKernel<'a, T> {
    rankings: &'a Rankings,
    rows: Range<usize>,
    zero: T,
}

impl<T: From<i16> + Copy> Kernel for RelationsKernel<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn run(self) -> Vec<T> {
        let n = self.rankings.labels();
        let rows = self.rankings.block(self.rows.start, self.rows.len());
        let mut out = vec![self.zero; 2 * rows.len()];
        for (positions, out) in rows.chunks_exact(n).zip(out.chunks_exact_mut(2 * n)) {
            let (net, tied) = out.split_at_mut(n);
            for ((net, tied), &own) in net.iter_mut().zip(tied).zip(positions) {
                if own == MISSING {
                    continue;
                }
                // `tied_count` starts at −1, because the loop also compares the label with itself.
                let (mut net_count, mut tied_count) = (0_i16, -1_i16);
                for &other in positions {
                    let after = i16::from(other > own) + i16::from(other == MISSING);
                    net_count += after - i16::from(other < own && other != MISSING);
                    tied_count += i16::from(other == own);
                }
                *net = T::from(net_count);
                *tied = T::from(tied_count);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn counts_labels_after_minus_before_and_tied() {
        let y = array![[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 2.0, f64::NAN]];
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let second = [0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let relations: Vec<f64> = label_relations(&rankings);
        assert_eq!(relations[..8], [3.0, 1.0, -1.0, -3.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(relations[8..], second);
        let relations: Vec<f64> = label_relations_of(&rankings, 1..2);
        assert_eq!(relations, second);
    }
}
