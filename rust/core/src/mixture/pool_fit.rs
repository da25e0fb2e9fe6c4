//! Fit of a [`LogLinearPool`] to held-out relations, by Newton steps within the bounds.

use crate::cholesky::Cholesky;
use crate::error::Result;
use crate::run::{Interrupt, Pool};

use super::log_linear::LogLinearPool;
use super::pool_objective::{Point, PoolEvidence, PoolObjective, PoolValue, SIZE};
use super::COMPONENTS;

/// Largest number of Newton steps; a few suffice.
const MAX_STEPS: usize = 60;

/// Number of times that the noise of the forest is corrected, each time at the minimum found before.
const CORRECTIONS: usize = 2;

/// Share of the pool in the mixed shares; the rest is the linear pool.
const POOL_SHARE: f64 = 0.75;

/// Largest number of halvings of a step.
const HALVINGS: usize = 20;

/// The fit ends when the next step is expected to decrease the objective by less than this, relative to its value;
/// smaller decreases are lost in rounding.
const TOLERANCE: f64 = 1e-13;

/// A step must achieve at least this fraction of the decrease predicted by the slope.
const SUFFICIENT: f64 = 1e-4;

/// Minimises Σ weight · −ln(pooled share of the observed relation) + ½ · 3 · ‖(α, β, γ) − (start, start, 0)‖² over
/// α, β ≥ 0 and γ, and corrects the minimum for the noise of the forest. The objective is convex, so the minimum is
/// unique.
///
/// # Errors
/// [`Error::Interrupted`](crate::error::Error::Interrupted).
pub(super) fn fit_pool(
    evidence: &PoolEvidence<'_>,
    start: &[f64; COMPONENTS],
    (pool, interrupt): (Pool, &Interrupt),
) -> Result<LogLinearPool> {
    let prior = prior_mean(start);
    let mut objective = PoolObjective::new(evidence, prior);
    let (mut point, mut here) = minimise(&objective, prior, (pool, interrupt))?;
    for _ in 0..CORRECTIONS {
        objective.correct_noise(&point, &here);
        (point, here) = minimise(&objective, point, (pool, interrupt))?;
    }
    Ok(LogLinearPool {
        order: point[..COMPONENTS].to_vec(),
        tie: point[COMPONENTS..2 * COMPONENTS].to_vec(),
        tie_offset: point[2 * COMPONENTS],
        share: POOL_SHARE,
    })
}

/// The minimum of the objective, found from `point`.
fn minimise(
    objective: &PoolObjective,
    mut point: Point,
    (pool, interrupt): (Pool, &Interrupt),
) -> Result<(Point, PoolValue)> {
    let mut here = objective.evaluate(&point, pool);
    for _ in 0..MAX_STEPS {
        interrupt.check()?;
        let free = free_coordinates(&point, &here.gradient);
        let Some(direction) = newton_direction(&here, &free) else {
            break;
        };
        let decrease = -0.5 * slope(&direction, &here.gradient);
        if decrease <= TOLERANCE * (1.0 + here.value.abs()) {
            break;
        }
        let Some((next, there)) = search_line(objective, (&point, &here), &direction, pool) else {
            break;
        };
        (point, here) = (next, there);
    }
    Ok((point, here))
}

/// α = β = the weights of the linear pool, γ = 0.
fn prior_mean(start: &[f64; COMPONENTS]) -> Point {
    let mut prior = [0.0; SIZE];
    prior[..COMPONENTS].copy_from_slice(start);
    prior[COMPONENTS..2 * COMPONENTS].copy_from_slice(start);
    prior
}

/// Coordinates that may move: all but those at their bound 0 whose derivative is not negative. γ has no bound.
fn free_coordinates(point: &Point, gradient: &Point) -> Vec<usize> {
    let is_free = |&i: &usize| i >= 2 * COMPONENTS || point[i] > 0.0 || gradient[i] < 0.0;
    (0..SIZE).filter(is_free).collect()
}

/// The Newton step of the free coordinates, 0 for the others; `None` if the curvature is not positive definite.
fn newton_direction(here: &PoolValue, free: &[usize]) -> Option<Point> {
    let each = free.iter().flat_map(|&i| free.iter().map(move |&j| (i, j)));
    let matrix = each.map(|(i, j)| here.curvature[i.max(j)][i.min(j)]);
    let factor = Cholesky::new(matrix.collect(), free.len())?;
    let mut step: Vec<f64> = free.iter().map(|&i| -here.gradient[i]).collect();
    factor.solve(&mut step);
    let mut direction = [0.0; SIZE];
    for (&i, step) in free.iter().zip(step) {
        direction[i] = step;
    }
    Some(direction)
}

/// Change of the objective along a move, to first order.
fn slope(moves: &Point, gradient: &Point) -> f64 {
    moves.iter().zip(gradient).map(|(m, g)| m * g).sum()
}

/// Halves the step until the objective decreases enough; coordinates are clipped at their bounds.
fn search_line(
    objective: &PoolObjective,
    (point, here): (&Point, &PoolValue),
    direction: &Point,
    pool: Pool,
) -> Option<(Point, PoolValue)> {
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let next: Point = std::array::from_fn(|i| {
            let moved = point[i] + length * direction[i];
            if i < 2 * COMPONENTS {
                moved.max(0.0)
            } else {
                moved
            }
        });
        let moves = std::array::from_fn(|i| next[i] - point[i]);
        let slope = slope(&moves, &here.gradient);
        let there = objective.evaluate(&next, pool);
        if slope < 0.0 && there.value <= here.value + SUFFICIENT * slope {
            return Some((next, there));
        }
        length /= 2.0;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Shares;
    use super::super::out_of_bag::LogNoise;
    use super::super::pool_objective::tests::evidence;
    use super::*;

    const SERIAL: (Pool, &Interrupt) = (Pool::SERIAL, const { &Interrupt::never() });

    #[test]
    fn the_minimum_satisfies_the_conditions_of_the_bounds() {
        for pairs in [0, 3, 45, 2000] {
            let (shares, relations, weights) = evidence(pairs);
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
            let start = [0.5, 0.3, 0.2];
            let pool = fit_pool(&evidence, &start, SERIAL).unwrap();
            let prior = prior_mean(&start);
            let objective = PoolObjective::new(&evidence, prior);
            let mut point = [pool.tie_offset; SIZE];
            point[..COMPONENTS].copy_from_slice(&pool.order);
            point[COMPONENTS..2 * COMPONENTS].copy_from_slice(&pool.tie);
            let gradient = objective.evaluate(&point, Pool::SERIAL).gradient;
            for (i, (x, slope)) in point.iter().zip(gradient).enumerate() {
                let is_bound = i < 6 && *x == 0.0;
                let limit = 1e-5 * (1.0 + weights.iter().sum::<f64>());
                assert!(*x >= 0.0 || i == 6);
                assert!(
                    slope > -limit && (is_bound || slope < limit),
                    "{pairs} {i} {slope}"
                );
            }
            if pairs == 0 {
                assert_eq!(point, prior);
            }
            if pairs == 2000 {
                // The relations are those of the first component.
                assert!(pool.order[0] > 0.8 && pool.order[1] < 0.2, "{pool:?}");
            }
        }
    }

    #[test]
    fn noise_of_the_forest_does_not_reduce_its_weight() {
        let (shares, relations, weights) = evidence(2000);
        let fit = |forest: &[Shares], noise: &[LogNoise]| {
            let evidence = PoolEvidence {
                shares: [Some(forest), Some(&shares[1]), Some(&shares[2])],
                forest_noise: noise,
                relations: &relations,
                weights: &weights,
            };
            let pool = fit_pool(&evidence, &[0.4, 0.4, 0.2], SERIAL);
            pool.unwrap().order[0]
        };
        // Adds ± spread to x = ln before − ln after, and keeps y = ln tied − ½ (ln before + ln after).
        let spread = 1.0_f64;
        let noisy = |(i, &[b, t, a]): (usize, &Shares)| {
            let factor = (if i % 2 == 0 { spread } else { -spread } / 2.0).exp();
            let sum = b * factor + t + a / factor;
            [b * factor / sum, t / sum, a / factor / sum]
        };
        let noisy: Vec<Shares> = shares[0].iter().enumerate().map(noisy).collect();
        let exact = fit(&shares[0], &[]);
        let attenuated = fit(&noisy, &[]);
        let corrected = fit(&noisy, &vec![[spread * spread, 0.0, 0.0]; relations.len()]);
        assert!(attenuated < 0.8 * exact, "{attenuated} {exact}");
        let gap = (corrected - exact).abs();
        assert!(
            gap < 0.5 * (exact - attenuated),
            "{attenuated} {corrected} {exact}"
        );
    }

    #[test]
    fn interrupted_fits_end() {
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
        let interrupt = Interrupt::new();
        interrupt.request();
        assert!(fit_pool(&evidence, &[0.5, 0.3, 0.2], (Pool::SERIAL, &interrupt)).is_err());
    }
}
