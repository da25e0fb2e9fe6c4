//! Minimisation of a smooth convex function by limited-memory BFGS (Nocedal, "Updating quasi-Newton matrices with
//! limited storage", Mathematics of Computation 35, 1980), started from an estimate of the second derivatives.

use crate::error::{Error, Result};
use crate::run::Interrupt;

use super::curvature::Curvature;
use super::objective::ObjectiveValue;

/// Largest number of correction pairs (past steps with their changes of the gradient) that are kept.
const MEMORY: usize = 12;
/// A step must achieve at least this fraction of the decrease predicted by the slope (Armijo).
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Largest number of halvings in a line search; shorter steps change the value by less than rounding.
const MAX_HALVINGS: usize = 40;

/// When the minimiser stops.
#[derive(Clone, Copy)]
pub(super) struct StoppingCriterion {
    /// Stop when all derivatives are at most this.
    pub(super) gradient: f64,
    pub(super) max_steps: usize,
}

/// Where the minimiser starts.
pub(super) struct StartingPoint {
    pub(super) point: Vec<f64>,
    /// Second derivatives of a similar function near the point; `None` to estimate them roughly at the point.
    pub(super) curvature: Option<Curvature>,
}

impl StartingPoint {
    /// A point without second derivatives.
    pub(super) fn at(point: Vec<f64>) -> Self {
        Self {
            point,
            curvature: None,
        }
    }
}

/// Result of the minimiser.
pub(super) struct Minimum {
    pub(super) point: Vec<f64>,
    /// The last estimate of the second derivatives.
    pub(super) curvature: Curvature,
    pub(super) steps: usize,
    /// Largest absolute derivative at `point`.
    pub(super) gradient: f64,
}

/// A past step and the change of the gradient along it.
struct CorrectionPair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// 1 / (step · change).
    scale: f64,
}

/// A smooth convex function. Methods return `None` where it is not defined.
pub(super) trait ConvexFunction {
    /// Value and gradient.
    fn evaluate(&self, point: &[f64]) -> Option<ObjectiveValue>;
    /// Cheap estimate of the second derivatives.
    fn rough_curvature(&self, point: &[f64]) -> Option<Curvature>;
    /// Precise estimate of the second derivatives.
    fn curvature(&self, point: &[f64]) -> Option<Curvature>;
    /// Number of steps after which the first precise estimate is made; another one is made whenever the
    /// number of steps has doubled.
    fn first_estimate_step(&self) -> usize;
}

/// Minimises the function from a starting point at which it is defined.
///
/// # Errors
/// [`Error::Unsolved`] if the function is not defined at the start, [`Error::Interrupted`].
pub(super) fn minimise(
    start: StartingPoint,
    goal: StoppingCriterion,
    function: &impl ConvexFunction,
    interrupt: &Interrupt,
) -> Result<Minimum> {
    // Only linear models are minimised, except in tests.
    let undefined = || Error::Unsolved {
        what: "linear model",
        why: "the log-likelihood is not finite at the start".into(),
    };
    let mut point = start.point;
    let evaluated = function.evaluate(&point);
    interrupt.check()?;
    let mut here = evaluated.ok_or_else(undefined)?;
    let estimated = start.curvature.or_else(|| function.rough_curvature(&point));
    interrupt.check()?;
    let mut curvature = estimated.ok_or_else(undefined)?;
    let mut memory: Vec<CorrectionPair> = Vec::new();
    let mut steps = 0;
    let mut next_estimate = function.first_estimate_step();
    while steps < goal.max_steps && largest_magnitude(&here.gradient) > goal.gradient {
        interrupt.check()?;
        let direction = descent_direction(&memory, &curvature, &here.gradient);
        let found = search_line(&point, &here, &direction, function);
        // An interrupted evaluation looks like a point where the function is not defined.
        interrupt.check()?;
        let Some((next, there)) = found else {
            if memory.is_empty() {
                break;
            }
            // Old correction pairs can mislead after a long step: retry without them.
            memory.clear();
            continue;
        };
        let step: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
        let gradients = there.gradient.iter().zip(&here.gradient);
        let change: Vec<f64> = gradients.map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push(CorrectionPair {
                step,
                change,
                scale: 1.0 / product,
            });
        }
        point = next;
        here = there;
        steps += 1;
        if steps == next_estimate {
            curvature = function.curvature(&point).unwrap_or(curvature);
            next_estimate *= 2;
        }
    }
    Ok(Minimum {
        point,
        curvature,
        steps,
        gradient: largest_magnitude(&here.gradient),
    })
}

/// Descent direction by the two-loop recursion, with `curvature` as the initial matrix.
fn descent_direction(
    memory: &[CorrectionPair],
    curvature: &Curvature,
    gradient: &[f64],
) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut factors = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let factor = pair.scale * dot(&pair.step, &direction);
        add_scaled(&mut direction, -factor, &pair.change);
        factors.push(factor);
    }
    curvature.divide(&mut direction);
    for (pair, factor) in memory.iter().zip(factors.into_iter().rev()) {
        let correction = factor - pair.scale * dot(&pair.change, &direction);
        add_scaled(&mut direction, correction, &pair.step);
    }
    direction
}

/// Backtracking line search: halves the step until it makes progress.
fn search_line(
    point: &[f64],
    here: &ObjectiveValue,
    direction: &[f64],
    function: &impl ConvexFunction,
) -> Option<(Vec<f64>, ObjectiveValue)> {
    let slope = dot(direction, &here.gradient);
    if slope.is_nan() || slope >= 0.0 {
        return None;
    }
    let mut length = 1.0;
    for _ in 0..MAX_HALVINGS {
        let mut next = point.to_vec();
        add_scaled(&mut next, length, direction);
        if let Some(there) = function.evaluate(&next) {
            let decrease = here.value - there.value;
            // Near the minimum, where rounding hides the decrease, a smaller gradient counts as progress.
            let is_level = decrease.abs() <= 1e-14 * here.value.abs();
            let is_flatter =
                is_level && largest_magnitude(&there.gradient) < largest_magnitude(&here.gradient);
            if decrease >= -SUFFICIENT_DECREASE * length * slope || is_flatter {
                return Some((next, there));
            }
        }
        length /= 2.0;
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(to: &mut [f64], factor: f64, values: &[f64]) {
    for (to, value) in to.iter_mut().zip(values) {
        *to += factor * value;
    }
}

fn largest_magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, value| m.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A badly scaled smooth convex function with a known minimum.
    struct Cosh;

    impl ConvexFunction for Cosh {
        fn evaluate(&self, x: &[f64]) -> Option<ObjectiveValue> {
            let mut value = 0.0;
            let mut gradient = vec![0.0; x.len()];
            for (i, &x) in x.iter().enumerate() {
                let (scale, middle) = (10_f64.powi(i as i32), i as f64 - 2.0);
                let away = x - middle;
                value += scale * (away.cosh() - 1.0);
                gradient[i] = scale * away.sinh();
            }
            value
                .is_finite()
                .then_some(ObjectiveValue { value, gradient })
        }

        fn rough_curvature(&self, x: &[f64]) -> Option<Curvature> {
            self.curvature(x)
        }

        fn curvature(&self, x: &[f64]) -> Option<Curvature> {
            Some(Curvature::Diagonal(vec![1.0; x.len()]))
        }

        fn first_estimate_step(&self) -> usize {
            1
        }
    }

    struct Undefined;

    impl ConvexFunction for Undefined {
        fn evaluate(&self, _: &[f64]) -> Option<ObjectiveValue> {
            None
        }

        fn rough_curvature(&self, _: &[f64]) -> Option<Curvature> {
            None
        }

        fn curvature(&self, _: &[f64]) -> Option<Curvature> {
            None
        }

        fn first_estimate_step(&self) -> usize {
            1
        }
    }

    #[test]
    fn finds_a_known_minimum() {
        let goal = StoppingCriterion {
            gradient: 1e-8,
            max_steps: 200,
        };
        let found = minimise(
            StartingPoint::at(vec![5.0; 5]),
            goal,
            &Cosh,
            &Interrupt::never(),
        )
        .unwrap();
        assert!(found.gradient <= 1e-8 && found.steps < 200);
        for (i, x) in found.point.iter().enumerate() {
            assert!((x - (i as f64 - 2.0)).abs() < 1e-7);
        }
    }

    #[test]
    fn step_limit_interrupt_and_undefined_start() {
        let goal = StoppingCriterion {
            gradient: 1e-8,
            max_steps: 2,
        };
        let start = vec![5.0; 5];
        let few = minimise(
            StartingPoint::at(start.clone()),
            goal,
            &Cosh,
            &Interrupt::never(),
        )
        .unwrap();
        assert_eq!(few.steps, 2);
        let interrupt = Interrupt::new();
        interrupt.request();
        let stopped = minimise(StartingPoint::at(start.clone()), goal, &Cosh, &interrupt);
        assert_eq!(stopped.err(), Some(Error::Interrupted));
        let undefined = minimise(
            StartingPoint::at(start),
            goal,
            &Undefined,
            &Interrupt::never(),
        );
        assert!(matches!(undefined.err(), Some(Error::Unsolved { .. })));
    }
}
