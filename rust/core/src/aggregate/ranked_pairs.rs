//! [`RankedPairs`]: locks majorities from the strongest to the weakest, unless they form a cycle.

use super::schulze::order_by_wins;
use super::threshold::{exceeds, TOLERANCE};
use super::{Aggregate, Details, Evidence, Explanation, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairOrderMatrix;
use crate::run::{Interrupt, WorkMeter};

/// Tideman's ranked pairs on the pair order matrix C, with margins.
///
/// C(u,v) is the share of rankings that place u before v, ties counting half. Majorities C(u,v) − C(v,u) > 0 are locked
/// (accepted for the result) in the order of their strength; one that would close a cycle with the locked ones is
/// discarded. Majorities of equal strength are treated together: those that would be part of a cycle if the whole group
/// were locked are discarded, the others are locked, so the result does not depend on the order of the labels. Label u
/// wins against v if a path of locked majorities leads from u to v. Labels are ordered by wins minus losses, so a label
/// is placed before all labels that it wins against; equal differences are tied. O(n³) steps of ⌈n/64⌉ words each.
///
/// Reference: T. N. Tideman, *Independence of clones as a criterion for voting rules*, Social Choice and Welfare 4,
/// 1987.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RankedPairs;

/// A majority: its strength, the winner and the loser.
type Majority = (f64, usize, usize);

/// Labels that can be reached from each label along locked majorities, as bit sets of 64 labels per word.
#[derive(Clone)]
struct Reachability {
    n: usize,
    /// Words per label.
    words: usize,
    sets: Vec<u64>,
}

impl Reachability {
    fn new(n: usize) -> Self {
        let words = n.div_ceil(64);
        Self {
            n,
            words,
            sets: vec![0; n * words],
        }
    }

    fn contains(&self, from: usize, to: usize) -> bool {
        self.sets[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds the majority of u over v and all paths that it completes.
    fn add(&mut self, u: usize, v: usize, meter: &mut WorkMeter) -> Result<()> {
        if self.contains(u, v) {
            return Ok(());
        }
        meter.add((self.n * self.words) as u64)?;
        let mut behind = self.sets[v * self.words..(v + 1) * self.words].to_vec();
        behind[v / 64] |= 1 << (v % 64);
        for from in 0..self.n {
            if from == u || self.contains(from, u) {
                let own = &mut self.sets[from * self.words..(from + 1) * self.words];
                for (word, behind) in own.iter_mut().zip(&behind) {
                    *word |= behind;
                }
            }
        }
        Ok(())
    }
}

impl RankedPairs {
    /// All majorities, strongest first.
    fn majorities(pair_order: &PairOrderMatrix) -> Vec<Majority> {
        let n = pair_order.labels();
        let pairs = (0..n).flat_map(|u| (0..n).map(move |v| (u, v)));
        let mut all: Vec<Majority> = pairs
            .map(|(u, v)| (pair_order.get(u, v) - pair_order.get(v, u), u, v))
            .filter(|&(margin, ..)| exceeds(margin, 0.0))
            .collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        all
    }

    /// Locks majorities; returns the reachability along them, and the discarded pairs of winner and loser.
    fn lock(
        pair_order: &PairOrderMatrix,
        interrupt: &Interrupt,
    ) -> Result<(Reachability, Vec<(usize, usize)>)> {
        let mut meter = WorkMeter::new(interrupt);
        let mut locked = Reachability::new(pair_order.labels());
        let mut discarded = Vec::new();
        let majorities = Self::majorities(pair_order);
        for group in majorities.chunk_by(|a, b| a.0 - b.0 <= TOLERANCE) {
            meter.add(group.len() as u64)?;
            // The reachability if the whole group were locked.
            let mut together = None;
            if group.len() > 1 {
                let mut all = locked.clone();
                for &(_, u, v) in group {
                    all.add(u, v, &mut meter)?;
                }
                together = Some(all);
            }
            let mut kept = Vec::new();
            for &(_, u, v) in group {
                if together.as_ref().unwrap_or(&locked).contains(v, u) {
                    discarded.push((u, v));
                } else {
                    kept.push((u, v));
                }
            }
            for (u, v) in kept {
                locked.add(u, v, &mut meter)?;
            }
        }
        Ok((locked, discarded))
    }
}

impl Aggregate for RankedPairs {
    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.explain(evidence, workspace).map(|found| found.order)
    }

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        let (locked, discarded) = Self::lock(evidence.pair_order(), &workspace.interrupt)?;
        let found = order_by_wins(evidence.labels(), |u, v| locked.contains(u, v));
        let details = match found.details {
            Details::Scores { scores } => Details::RankedPairs { scores, discarded },
            other => other,
        };
        Ok(Explanation { details, ..found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn explain(c: ndarray::Array2<f64>) -> (Vec<u16>, Vec<(usize, usize)>) {
        let evidence = Evidence::from_pair_order(PairOrderMatrix::new(c.view()).unwrap());
        let found = RankedPairs
            .explain(&evidence, &mut Workspace::default())
            .unwrap();
        let Details::RankedPairs { discarded, .. } = found.details else {
            panic!("details of another method");
        };
        (found.order.positions().to_vec(), discarded)
    }

    #[test]
    fn the_weakest_majority_of_a_cycle_is_discarded() {
        let c = array![[0.5, 0.8, 0.4], [0.2, 0.5, 0.7], [0.6, 0.3, 0.5]];
        assert_eq!(explain(c), (vec![1, 2, 3], vec![(2, 0)]));
    }

    #[test]
    fn equally_strong_majorities_of_a_cycle_are_all_discarded() {
        let two_thirds = 2.0 / 3.0;
        let one_third = 1.0 - two_thirds;
        let c = array![
            [0.5, two_thirds, one_third],
            [one_third, 0.5, two_thirds],
            [two_thirds, one_third, 0.5]
        ];
        assert_eq!(explain(c), (vec![1, 1, 1], vec![(0, 1), (1, 2), (2, 0)]));
        // The majorities over label 3 are as strong as those of the cycle, but not part of it: they are locked.
        let c = array![
            [0.5, two_thirds, one_third, two_thirds],
            [one_third, 0.5, two_thirds, two_thirds],
            [two_thirds, one_third, 0.5, two_thirds],
            [one_third, one_third, one_third, 0.5]
        ];
        assert_eq!(explain(c).0, [1, 1, 1, 2]);
    }

    #[test]
    fn labels_beyond_the_first_word_are_reached() {
        let n = 70;
        let c = ndarray::Array2::from_shape_fn((n, n), |(u, v)| match u.cmp(&v) {
            std::cmp::Ordering::Less => 0.6 + (v - u) as f64 / 1000.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.4 - (u - v) as f64 / 1000.0,
        });
        let expected: Vec<u16> = (1..=n as u16).collect();
        assert_eq!(explain(c), (expected, Vec::new()));
    }
}
