//! The objective of a log-linear pool: the penalised likelihood of held-out relations, and its derivatives.

use std::array::from_fn;

use crate::latent::logarithms;
use crate::run::Pool;
use crate::simd::{dispatch, Kernel};

use super::evidence::Shares;
use super::log_linear::{log_ratios, pooled_shares, PairLanes, LANES};
use super::out_of_bag::LogNoise;
use super::COMPONENTS;

/// Number of unknowns: α and β of each component, and γ.
pub(super) const SIZE: usize = 2 * COMPONENTS + 1;

/// A point (α, β, γ).
pub(super) type Point = [f64; SIZE];

/// Curvature of the penalty on the distance from the start.
const RIDGE: f64 = 3.0;

/// Vectors of pairs that one thread adds at once.
const VECTORS_PER_TASK: usize = 512;

/// Estimated time to add the value and the derivatives of one vector of pairs.
const NANOSECONDS_PER_VECTOR: usize = 200;

/// Held-out evidence of a pool.
pub(super) struct PoolEvidence<'a> {
    /// Per component: the shares of each observed pair; `None` for a component that is not pooled.
    pub(super) shares: [Option<&'a [Shares]>; COMPONENTS],
    /// Excess noise of the log ratios of the first component, per observed pair; empty without noise.
    pub(super) forest_noise: &'a [LogNoise],
    /// The observed relation of each pair: 0 is before, 1 is tied, 2 is after.
    pub(super) relations: &'a [u8],
    /// The weight of each pair.
    pub(super) weights: &'a [f64],
}

/// Value and derivatives of the objective at a point.
#[derive(Default)]
pub(super) struct PoolValue {
    pub(super) value: f64,
    pub(super) gradient: Point,
    /// Second derivatives; only the lower triangle is set.
    pub(super) curvature: [Point; SIZE],
    /// Expected second derivatives of the likelihood that come from the noise of the first component: in α₁, in α₁ and
    /// β₁, and in β₁.
    pub(super) noise: LogNoise,
}

impl PoolValue {
    fn add(&mut self, other: &Self) {
        self.value += other.value;
        for i in 0..SIZE {
            self.gradient[i] += other.gradient[i];
            for j in 0..=i {
                self.curvature[i][j] += other.curvature[i][j];
            }
        }
        for (sum, noise) in self.noise.iter_mut().zip(other.noise) {
            *sum += noise;
        }
    }
}

/// The observed pairs, packed into vectors.
pub(super) struct PoolObjective {
    prior: Point,
    /// A linear term, which is subtracted.
    tilt: Point,
    pairs: Vec<PackedPairs>,
}

/// A vector of observed pairs; the last one is padded with weight 0.
#[derive(Clone, Copy)]
struct PackedPairs {
    weight: PairLanes,
    /// 1 for before, −1 for after, 0 for tied.
    net: PairLanes,
    /// 1 for tied.
    tied: PairLanes,
    /// x of each component, then y of each component; 0 for a component that is not pooled.
    ratios: [PairLanes; 2 * COMPONENTS],
    noise: [PairLanes; 3],
}

impl PoolObjective {
    /// The objective with this prior mean.
    pub(super) fn new(evidence: &PoolEvidence<'_>, prior: Point) -> Self {
        let chunks = evidence.relations.chunks(LANES);
        let chunks = chunks.zip(evidence.weights.chunks(LANES));
        let pack = |(relations, weights): (&[u8], &[f64])| {
            let mut pairs = PackedPairs {
                weight: [0.0; LANES],
                net: [0.0; LANES],
                tied: [0.0; LANES],
                ratios: [[0.0; LANES]; 2 * COMPONENTS],
                noise: [[0.0; LANES]; 3],
            };
            for (l, (&relation, &weight)) in relations.iter().zip(weights).enumerate() {
                pairs.weight[l] = weight;
                pairs.net[l] = 1.0 - f64::from(relation);
                pairs.tied[l] = f64::from(relation == 1);
            }
            pairs
        };
        let mut pairs: Vec<PackedPairs> = chunks.map(pack).collect();
        for (component, shares) in evidence.shares.iter().enumerate() {
            if let Some(shares) = shares {
                dispatch(PackRatios {
                    shares,
                    component,
                    pairs: &mut pairs,
                });
            }
        }
        if evidence.shares[0].is_some() {
            for (pairs, noise) in pairs.iter_mut().zip(evidence.forest_noise.chunks(LANES)) {
                for (l, noise) in noise.iter().enumerate() {
                    for (lanes, noise) in pairs.noise.iter_mut().zip(noise) {
                        lanes[l] = *noise;
                    }
                }
            }
        }
        Self {
            prior,
            tilt: [0.0; SIZE],
            pairs,
        }
    }

    /// Removes the attenuation by the noise of the first component, to first order at a point whose value is `here`.
    ///
    /// Noise with covariance C in the log ratios (x, y) of a component increases the expected negative log-likelihood
    /// of a pair by ½ θᵀ (C ∘ H) θ, where θ = (α₁, β₁) and H is the second derivative in (α₁ x, β₁ y): it pulls θ
    /// towards 0. The gradient of this term at the point is subtracted, as a constant, so that the objective stays
    /// convex.
    pub(super) fn correct_noise(&mut self, point: &Point, here: &PoolValue) {
        let [order, both, tie] = here.noise;
        let (alpha, beta) = (point[0], point[COMPONENTS]);
        self.tilt[0] = order * alpha + both * beta;
        self.tilt[COMPONENTS] = both * alpha + tie * beta;
    }

    /// Value and derivatives at a point.
    pub(super) fn evaluate(&self, point: &Point, pool: Pool) -> PoolValue {
        let nanoseconds = self.pairs.len() * NANOSECONDS_PER_VECTOR;
        let chunks: Vec<_> = self.pairs.chunks(VECTORS_PER_TASK).collect();
        let sums = pool.map(nanoseconds, chunks, |pairs| {
            dispatch(SumPairs { pairs, point })
        });
        // Added in order, so that the result does not depend on the number of threads.
        let mut found = PoolValue::default();
        for sum in &sums {
            found.add(sum);
        }
        for (i, (x, prior)) in point.iter().zip(&self.prior).enumerate() {
            let distance = x - prior;
            found.value += RIDGE / 2.0 * distance * distance - self.tilt[i] * x;
            found.gradient[i] += RIDGE * distance - self.tilt[i];
            found.curvature[i][i] += RIDGE;
        }
        found
    }
}

/// Writes the log ratios of one component.
struct PackRatios<'a> {
    shares: &'a [Shares],
    component: usize,
    pairs: &'a mut [PackedPairs],
}

impl Kernel for PackRatios<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (pairs, shares) in self.pairs.iter_mut().zip(self.shares.chunks(LANES)) {
            let mut planes = [[1.0; LANES]; 3];
            for (l, shares) in shares.iter().enumerate() {
                for (plane, share) in planes.iter_mut().zip(shares) {
                    plane[l] = *share;
                }
            }
            let [x, y] = log_ratios(planes);
            pairs.ratios[self.component] = x;
            pairs.ratios[COMPONENTS + self.component] = y;
        }
    }
}

/// Sums value and derivatives over the pairs, without the penalty.
struct SumPairs<'a> {
    pairs: &'a [PackedPairs],
    point: &'a Point,
}

impl Kernel for SumPairs<'_> {
    type Output = PoolValue;

    #[inline(always)]
    fn run(self) -> PoolValue {
        let mut value = [0.0; LANES];
        let mut gradient = [[0.0; LANES]; SIZE];
        let mut curvature = [[[0.0; LANES]; SIZE]; SIZE];
        let mut noise = [[0.0; LANES]; 3];
        for pairs in self.pairs {
            let mut half = [0.0; LANES];
            let mut tie = [self.point[2 * COMPONENTS]; LANES];
            let (x, y) = pairs.ratios.split_at(COMPONENTS);
            let (order, tie_weights) = self.point.split_at(COMPONENTS);
            for (weight, x) in order.iter().zip(x) {
                half = from_fn(|l| half[l] + 0.5 * weight * x[l]);
            }
            for (weight, y) in tie_weights.iter().zip(y) {
                tie = from_fn(|l| tie[l] + weight * y[l]);
            }
            let ([before, tied, after], sum) = pooled_shares(half, tie);
            let log_sum = logarithms(sum);
            // Logarithm of the weight of the observed relation; all weights are multiplied by that of before.
            let observed: PairLanes =
                from_fn(|l| half[l] * (1.0 + pairs.net[l]) + pairs.tied[l] * tie[l]);
            let weight = &pairs.weight;
            value = from_fn(|l| value[l] + weight[l] * (log_sum[l] - observed[l]));
            let net: PairLanes = from_fn(|l| before[l] - after[l]);
            // Derivatives in Σ αₖ xₖ and in Σ βₖ yₖ + γ.
            let first: [PairLanes; 2] = [
                from_fn(|l| weight[l] * 0.5 * (net[l] - pairs.net[l])),
                from_fn(|l| weight[l] * (tied[l] - pairs.tied[l])),
            ];
            let second: [PairLanes; 3] = [
                from_fn(|l| weight[l] * 0.25 * (before[l] + after[l] - net[l] * net[l])),
                from_fn(|l| weight[l] * -0.5 * net[l] * tied[l]),
                from_fn(|l| weight[l] * tied[l] * (1.0 - tied[l])),
            ];
            for ((sum, second), own) in noise.iter_mut().zip(&second).zip(&pairs.noise) {
                *sum = from_fn(|l| sum[l] + second[l] * own[l]);
            }
            let mut inputs = [[1.0; LANES]; SIZE];
            inputs[..2 * COMPONENTS].copy_from_slice(&pairs.ratios);
            let sums = gradient.iter_mut().zip(&mut curvature);
            for (i, (own, (gradient, curvature))) in inputs.iter().zip(sums).enumerate() {
                let kind = usize::from(i >= COMPONENTS);
                *gradient = from_fn(|l| gradient[l] + first[kind][l] * own[l]);
                let by_kind: [PairLanes; 2] =
                    from_fn(|other| from_fn(|l| second[kind + other][l] * own[l]));
                for (j, (sums, other)) in curvature.iter_mut().zip(&inputs[..=i]).enumerate() {
                    let factors = &by_kind[usize::from(j >= COMPONENTS)];
                    *sums = from_fn(|l| sums[l] + factors[l] * other[l]);
                }
            }
        }
        let sum = |lanes: &PairLanes| lanes.iter().sum::<f64>();
        PoolValue {
            value: sum(&value),
            gradient: from_fn(|i| sum(&gradient[i])),
            curvature: from_fn(|i| from_fn(|j| sum(&curvature[i][j]))),
            noise: from_fn(|i| sum(&noise[i])),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Shares of three components, relations drawn from the first of them, and weights, all by fixed formulas.
    pub(in crate::mixture) fn evidence(pairs: usize) -> (Vec<Vec<Shares>>, Vec<u8>, Vec<f64>) {
        let shares = |k: usize| -> Vec<Shares> {
            let raw = |i: usize| {
                [
                    1 + (i * (7 + k)) % 9,
                    1 + (i * i + k) % 4,
                    1 + (i * (3 + k)) % 7,
                ]
            };
            let normalise =
                |raw: [usize; 3]| raw.map(|n| n as f64 / raw.iter().sum::<usize>() as f64);
            (0..pairs).map(|i| normalise(raw(i))).collect()
        };
        let all = vec![shares(0), shares(1), shares(2)];
        let draw = |i: usize| {
            let u = (i * 37 % 101) as f64 / 101.0;
            let [b, t, _] = all[0][i];
            u8::from(u > b) + u8::from(u > b + t)
        };
        let relations = (0..pairs).map(draw).collect();
        let weights = (0..pairs).map(|i| 0.2 + (i % 3) as f64).collect();
        (all, relations, weights)
    }

    #[test]
    fn derivatives_match_finite_differences() {
        let (shares, relations, weights) = evidence(45);
        let shares = [
            Some(&shares[0][..]),
            Some(&shares[1][..]),
            Some(&shares[2][..]),
        ];
        let evidence = PoolEvidence {
            shares,
            forest_noise: &[],
            relations: &relations,
            weights: &weights,
        };
        let prior = [0.5, 0.3, 0.2, 0.5, 0.3, 0.2, 0.0];
        let objective = PoolObjective::new(&evidence, prior);
        let point = [0.9, 0.1, 0.4, 0.2, 0.8, 0.3, -0.3];
        let here = objective.evaluate(&point, Pool::SERIAL);
        let step = 1e-5;
        for i in 0..7 {
            let at = |sign: f64| {
                let mut moved = point;
                moved[i] += sign * step;
                objective.evaluate(&moved, Pool::SERIAL)
            };
            let (above, below) = (at(1.0), at(-1.0));
            let slope = (above.value - below.value) / (2.0 * step);
            assert!((slope - here.gradient[i]).abs() < 1e-6, "{i}");
            for j in 0..7 {
                let slope = (above.gradient[j] - below.gradient[j]) / (2.0 * step);
                let curvature = here.curvature[i.max(j)][i.min(j)];
                assert!((slope - curvature).abs() < 1e-6, "{i} {j}");
            }
        }
    }
}
