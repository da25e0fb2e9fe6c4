//! [`SymmetricGame`]: the majority game, whose optimal strategies are the maximal lotteries (distributions over the
//! labels that no other distribution beats).

use crate::error::Result;
use crate::pairs::PairOrderMatrix;
use crate::run::{Interrupt, WorkMeter};

/// Time to read a pair of a large matrix, whose columns are not in the cache.
const NANOSECONDS_PER_PAIR: u64 = 10;

/// Margins up to this are rounding errors of an even pair.
const EVEN_TOLERANCE: f64 = super::threshold::TOLERANCE;

/// A symmetric zero-sum game: two players pick a label each, and the payoff is the majority margin
/// A(u,v) = C(u,v) − C(v,u) of the pair order matrix C. The value of the game is 0, and its optimal strategies are the
/// maximal lotteries.
#[derive(Debug, Default)]
pub(super) struct SymmetricGame {
    labels: usize,
    /// Row-major and antisymmetric.
    payoff: Vec<f64>,
}

impl SymmetricGame {
    /// Replaces the payoffs by the margins of a pair order matrix.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn fill(
        &mut self,
        pair_order: &PairOrderMatrix,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let n = pair_order.labels();
        self.labels = n;
        self.payoff.clear();
        self.payoff.resize(n * n, 0.0);
        let mut meter = WorkMeter::new(interrupt);
        for u in 0..n {
            meter.add(NANOSECONDS_PER_PAIR * (n - u) as u64)?;
            for v in u + 1..n {
                let margin = pair_order.get(u, v) - pair_order.get(v, u);
                if margin.abs() > EVEN_TOLERANCE {
                    self.payoff[u * n + v] = margin;
                    self.payoff[v * n + u] = -margin;
                }
            }
        }
        Ok(())
    }

    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    /// A(u,·).
    pub(super) fn row(&self, u: usize) -> &[f64] {
        &self.payoff[u * self.labels..(u + 1) * self.labels]
    }

    /// The label with the largest worst margin against other labels, and that margin.
    pub(super) fn safest_label(&self) -> (usize, f64) {
        let mut safest = (0, f64::NEG_INFINITY);
        for u in 0..self.labels {
            let row = self.row(u);
            let least = |part: &[f64]| {
                part.iter()
                    .fold(f64::INFINITY, |a, &b| if b < a { b } else { a })
            };
            let worst = least(&row[..u]).min(least(&row[u + 1..]));
            if worst > safest.1 {
                safest = (u, worst);
            }
        }
        safest
    }

    /// The smallest expected margin of a lottery against a label.
    pub(super) fn worst_margin(&self, lottery: &[f64]) -> f64 {
        let mut expected = vec![0.0; self.labels];
        for (u, &p) in lottery.iter().enumerate() {
            if p != 0.0 {
                for (e, a) in expected.iter_mut().zip(self.row(u)) {
                    *e += p * a;
                }
            }
        }
        expected.into_iter().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn margins_of_a_cycle_with_a_loser() {
        let c = array![
            [0.5, 0.8, 0.2, 1.0],
            [0.2, 0.5, 0.8, 1.0],
            [0.8, 0.2, 0.5, 1.0],
            [0.0, 0.0, 0.0, 0.5]
        ];
        let mut game = SymmetricGame::default();
        let matrix = PairOrderMatrix::new(c.view()).unwrap();
        game.fill(&matrix, &Interrupt::never()).unwrap();
        assert!((game.safest_label().1 + 0.6).abs() < 1e-12);
        let third = 1.0 / 3.0;
        assert!(game.worst_margin(&[third, third, third, 0.0]).abs() < 1e-15);
        assert!((game.worst_margin(&[0.0, 0.0, 0.0, 1.0]) + 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_first_of_equally_safe_labels_is_chosen() {
        let c = array![[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]];
        let mut game = SymmetricGame::default();
        let matrix = PairOrderMatrix::new(c.view()).unwrap();
        game.fill(&matrix, &Interrupt::never()).unwrap();
        assert_eq!(game.safest_label().0, 0);
    }
}
