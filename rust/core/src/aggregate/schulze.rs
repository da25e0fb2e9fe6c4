//! [`Schulze`]: orders labels by the strongest paths of majorities.

use super::threshold::exceeds;
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairOrderMatrix;
use crate::run::{Interrupt, WorkMeter};

/// Schulze's method on the pair order matrix C, with margins.
///
/// C(u,v) is the share of rankings that place u before v, ties counting half. The majority for u over v is
/// C(u,v) − C(v,u), if that is above 0. A path is as strong as its weakest majority; u wins against v if the strongest
/// path from u to v is stronger than any from v to u. Wins are transitive. Labels are ordered by wins minus losses, so
/// a label is placed before all labels that it wins against; equal differences are tied. O(n³).
///
/// Reference: M. Schulze, *A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent
/// single-winner election method*, Social Choice and Welfare 36, 2011.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schulze;

impl Schulze {
    /// Strength of the strongest path from u to v, at `u * n + v`.
    fn strongest_paths(pair_order: &PairOrderMatrix, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let n = pair_order.labels();
        let mut meter = WorkMeter::new(interrupt);
        let mut strengths = vec![0.0; n * n];
        for u in 0..n {
            for v in 0..n {
                let margin = pair_order.get(u, v) - pair_order.get(v, u);
                strengths[u * n + v] = if exceeds(margin, 0.0) { margin } else { 0.0 };
            }
        }
        for through in 0..n {
            let middle = strengths[through * n..(through + 1) * n].to_vec();
            for row in strengths.chunks_exact_mut(n) {
                meter.add(n as u64)?;
                let first = row[through];
                for (strength, &second) in row.iter_mut().zip(&middle) {
                    *strength = strength.max(first.min(second));
                }
            }
        }
        Ok(strengths)
    }
}

/// Wins minus losses of each label, and the bucket order by them.
pub(super) fn order_by_wins(n: usize, wins: impl Fn(usize, usize) -> bool) -> Explanation {
    let mut scores = vec![0.0; n];
    for u in 0..n {
        for v in (0..n).filter(|&v| v != u && wins(u, v)) {
            scores[u] += 1.0;
            scores[v] -= 1.0;
        }
    }
    Explanation {
        order: BucketOrder::from_scores(&scores, |drop| drop < 0.5),
        details: Details::Scores { scores },
    }
}

impl Aggregate for Schulze {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.explain(evidence, workspace).map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let n = evidence.labels();
        let paths = Self::strongest_paths(evidence.pair_order(), &workspace.interrupt)?;
        Ok(order_by_wins(n, |u, v| {
            exceeds(paths[u * n + v], paths[v * n + u])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Needs;
    use crate::rankings::Rankings;
    use ndarray::array;

    #[test]
    fn the_example_of_45_voters_gives_its_published_order() {
        // Schulze (2011), example with five candidates: E > A > C > B > D.
        let y = array![
            [1, 3, 2, 5, 4_i64],
            [1, 5, 4, 2, 3],
            [4, 1, 5, 3, 2],
            [2, 3, 1, 5, 4],
            [2, 4, 1, 5, 3],
            [3, 2, 1, 4, 5],
            [5, 4, 2, 1, 3],
            [3, 2, 5, 4, 1]
        ];
        let weights = [5.0, 5.0, 8.0, 3.0, 7.0, 2.0, 7.0, 8.0];
        let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        let evidence =
            Evidence::from_rankings(&rankings, Needs::PairOrder, &Interrupt::never()).unwrap();
        let order = Schulze
            .aggregate(&evidence, &mut Workspace::default())
            .unwrap();
        assert_eq!(order.positions(), [2, 4, 3, 5, 1]);
    }
}
