//! [`Shrinkage`]: pair shares of a node, pulled towards those of the nodes above it.

use crate::error::{Error, Result};
use crate::simd::{dispatch, Kernel};

/// How the shares of a node are smoothed. N is the weight of a node's rows that rank both labels of a pair.
///
/// References: A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, *Hierarchical shrinkage*, ICML 2022, for the sum
/// along the path; B. Cestnik, *Estimating probabilities*, ECAI 1990, for the m-estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shrinkage {
    /// The shares of the node's own rows; 0 where none of them ranks both labels.
    None,
    /// From the root's shares by the differences of neighbours on the path, the difference below a node divided by
    /// 1 + λ/N, with λ = `strength` · √(N of the root / weight of the root). A pair that no row ranks gets ⅓ each.
    Path {
        /// λ for a pair that every row ranks.
        strength: f64,
    },
    /// (weights of the node + `strength` · shares of its parent) / (N + `strength`); ⅓ each above the root.
    MEstimate {
        /// How many rows the parent's shares count for.
        strength: f64,
    },
}

impl Shrinkage {
    /// Checks the strength.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a strength that is negative, NaN or infinite, or 0 for the m-estimate, which would leave
    /// nothing where no row ranks a pair.
    pub fn check(self) -> Result<Self> {
        let (strength, possible) = match self {
            Self::None => return Ok(self),
            Self::Path { strength } => (strength, strength >= 0.0),
            Self::MEstimate { strength } => (strength, strength > 0.0),
        };
        if possible && strength.is_finite() {
            return Ok(self);
        }
        Err(Error::Parameter {
            name: "shrinkage_strength",
            found: strength,
            expected: "a finite number that is not negative, and above 0 for the m-estimate",
        })
    }
}

/// The statistics of a node that its children build on: weights and smoothed shares, in three planes each.
#[derive(Debug, Clone, Default)]
pub(super) struct Smoothed {
    /// Weights of before, tied and after of each pair.
    pub(super) counts: Vec<f64>,
    pub(super) shares: Vec<f64>,
}

impl Smoothed {
    /// Smooths the shares of the root. `lambda` is the strength for each pair.
    pub(super) fn fill_root(&mut self, shrinkage: Shrinkage, lambda: &[f64]) {
        let nothing = Self {
            counts: vec![0.0; self.counts.len()],
            shares: vec![1.0 / 3.0; self.counts.len()],
        };
        self.fill(shrinkage, &nothing, lambda);
    }

    /// Smooths the shares of a node whose counts are known.
    pub(super) fn fill(&mut self, shrinkage: Shrinkage, parent: &Self, lambda: &[f64]) {
        self.shares.resize(self.counts.len(), 0.0);
        dispatch(Fill {
            node: self,
            parent,
            lambda,
            shrinkage,
        });
    }
}

struct Fill<'a> {
    node: &'a mut Smoothed,
    parent: &'a Smoothed,
    lambda: &'a [f64],
    shrinkage: Shrinkage,
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.lambda.len();
        let [b, t, a] = planes(&self.node.counts, pairs);
        let [pb, pt, pa] = planes(&self.parent.counts, pairs);
        let [qb, qt, qa] = planes(&self.parent.shares, pairs);
        let (ob, rest) = self.node.shares.split_at_mut(pairs);
        let (ot, oa) = rest.split_at_mut(pairs);
        let oa = &mut oa[..pairs];
        let lambda = &self.lambda[..pairs];
        match self.shrinkage {
            Shrinkage::None => {
                for i in 0..pairs {
                    let seen = b[i] + t[i] + a[i];
                    let scale = if seen > 0.0 { seen } else { 1.0 };
                    ob[i] = b[i] / scale;
                    ot[i] = t[i] / scale;
                    oa[i] = a[i] / scale;
                }
            }
            Shrinkage::Path { .. } => {
                for i in 0..pairs {
                    let (seen, above) = (b[i] + t[i] + a[i], pb[i] + pt[i] + pa[i]);
                    // Below a node without the pair nobody ranks it either: the shares stay from there on.
                    let known = seen > 0.0;
                    let scale = if known { seen } else { 1.0 };
                    // The root has nothing above it, and takes its own shares as they are.
                    let inner = above > 0.0;
                    let above = if inner { above } else { 1.0 };
                    let weight = above / (above + lambda[i]);
                    let step = |own: f64, parent: f64, smoothed: f64| {
                        let moved = smoothed + (own / scale - parent / above) * weight;
                        let first = own / scale;
                        let value = if inner { moved } else { first };
                        if known {
                            value
                        } else {
                            smoothed
                        }
                    };
                    ob[i] = step(b[i], pb[i], qb[i]);
                    ot[i] = step(t[i], pt[i], qt[i]);
                    oa[i] = step(a[i], pa[i], qa[i]);
                }
            }
            Shrinkage::MEstimate { strength } => {
                for i in 0..pairs {
                    let total = b[i] + t[i] + a[i] + strength;
                    ob[i] = (b[i] + strength * qb[i]) / total;
                    ot[i] = (t[i] + strength * qt[i]) / total;
                    oa[i] = (a[i] + strength * qa[i]) / total;
                }
            }
        }
    }
}

#[inline(always)]
fn planes(values: &[f64], pairs: usize) -> [&[f64]; 3] {
    let (before, rest) = values.split_at(pairs);
    let (tied, after) = rest.split_at(pairs);
    [before, tied, &after[..pairs]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(counts: [f64; 3]) -> Smoothed {
        Smoothed {
            counts: counts.to_vec(),
            shares: Vec::new(),
        }
    }

    #[test]
    fn a_path_of_two_nodes_by_hand() {
        let path = Shrinkage::Path { strength: 2.0 };
        let mut root = node([2.0, 1.0, 1.0]);
        root.fill_root(path, &[2.0]);
        assert_eq!(root.shares, [0.5, 0.25, 0.25]);
        let mut child = node([1.0, 0.0, 0.0]);
        child.fill(path, &root, &[2.0]);
        // Half the difference remains and a third of it is taken back: 1 + 2/4 = 3/2.
        let weight = 2.0 / 3.0;
        for (found, expected) in child.shares.iter().zip([
            f64::midpoint(1.0, weight),
            0.25 - 0.25 * weight,
            0.25 - 0.25 * weight,
        ]) {
            assert!((found - expected).abs() < 1e-15);
        }
        let mut empty = node([0.0; 3]);
        empty.fill(path, &root, &[2.0]);
        assert_eq!(empty.shares, root.shares);
        let mut unseen = node([0.0; 3]);
        unseen.fill_root(path, &[0.0]);
        assert_eq!(unseen.shares, [1.0 / 3.0; 3]);
    }

    #[test]
    fn an_m_estimate_by_hand() {
        let estimate = Shrinkage::MEstimate { strength: 1.0 };
        let mut root = node([2.0, 0.0, 0.0]);
        root.fill_root(estimate, &[0.0]);
        assert!((root.shares[0] - (2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
        let mut child = node([0.0, 1.0, 0.0]);
        child.fill(estimate, &root, &[0.0]);
        assert!((child.shares[1] - f64::midpoint(1.0, root.shares[1])).abs() < 1e-15);
        assert!((child.shares.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn impossible_strengths_are_refused() {
        for strength in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Shrinkage::Path { strength }.check().is_err());
            assert!(Shrinkage::MEstimate { strength }.check().is_err());
        }
        assert!(Shrinkage::MEstimate { strength: 0.0 }.check().is_err());
        assert!(Shrinkage::Path { strength: 0.0 }.check().is_ok());
    }
}
