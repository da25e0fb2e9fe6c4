//! Derivatives of the latent model from pair counts, if all rankings of a set have the same scores (for each label a
//! utility, which orders the labels, and a tie term, its tendency to be tied).

use crate::pairs::PairCounts;

use super::row::{Derivatives, LatentRow};

impl LatentRow<'_> {
    /// Adds the derivatives of the log-likelihood of all counted pairs: O(n²), independent of the number of
    /// rankings.
    ///
    /// # Panics
    /// When counts or derivatives have a different number of labels.
    pub fn add_count_derivatives(&self, counts: &PairCounts, to: &mut Derivatives) {
        let n = self.labels();
        assert_eq!(counts.labels(), n, "expected counts of {n} labels");
        assert_eq!(
            to.gradient.len(),
            2 * n,
            "expected derivatives of {n} labels"
        );
        for u in 0..n {
            for v in u + 1..n {
                let (b, t, a) = (counts.before(u, v), counts.tied(u, v), counts.before(v, u));
                let seen = b + t + a;
                let [before, tied, after] = self.shares(u, v);
                let net = before - after;
                let slope = (b - a - seen * net) / 2.0;
                to.gradient[u] += slope;
                to.gradient[v] -= slope;
                let curvature = seen * (before + after - net * net).max(0.0) / 4.0;
                for label in [u, v] {
                    to.curvature[label] += curvature;
                    to.gradient[n + label] += t - seen * tied;
                    to.curvature[n + label] += seen * tied * (1.0 - tied);
                }
            }
        }
    }
}

/// Whether each label was compared with any other label.
#[must_use]
pub fn compared_labels(counts: &PairCounts) -> Vec<bool> {
    let n = counts.labels();
    let seen = |u, v| counts.before(u, v) + counts.before(v, u) + counts.tied(u, v) > 0.0;
    (0..n)
        .map(|u| (0..n).any(|v| v != u && seen(u, v)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::array;

    #[test]
    fn counts_have_the_derivatives_of_their_rows() {
        let y = array![
            [1.0, 2.0, 2.0, f64::NAN],
            [3.0, 1.0, 2.0, f64::NAN],
            [1.0, f64::NAN, 1.0, f64::NAN],
            [f64::NAN, f64::NAN, f64::NAN, 1.0]
        ];
        let weights = [1.0, 2.5, 0.5, 1.0];
        let rankings = Rankings::new(y.view(), Some(&weights), &Interrupt::never()).unwrap();
        let scores = [0.3, -1.0, 0.8, 0.1, 0.5, -0.2, 0.0, 0.4];
        let row = LatentRow::new(&scores);
        let (mut by_row, mut by_count) = (Derivatives::new(4), Derivatives::new(4));
        for (positions, weight) in rankings.rows().zip(weights) {
            row.add_derivatives(positions, weight, &mut by_row);
        }
        let counts = PairCounts::from_rankings(&rankings, &Interrupt::never()).unwrap();
        row.add_count_derivatives(&counts, &mut by_count);
        for (a, b) in [
            (&by_row.gradient, &by_count.gradient),
            (&by_row.curvature, &by_count.curvature),
        ] {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        assert_eq!(compared_labels(&counts), [true, true, true, false]);
    }
}
