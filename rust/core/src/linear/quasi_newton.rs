//! Minimising a smooth convex function by limited-memory BFGS (Nocedal, "Updating quasi-Newton matrices with limited
//! storage", Mathematics of Computation 35, 1980), started from an estimate of the second derivatives.

use crate::error::{Error, Result};
use crate::run::Interrupt;

use super::curvature::Curvature;
use super::objective::Evaluation;

/// Steps that are remembered.
const MEMORY: usize = 12;
/// A step must make at least this share of the decrease that its slope promises.
const SUFFICIENT: f64 = 1e-4;
/// Halvings of a step before the search gives up: the numbers then have no more digits to offer.
const HALVINGS: usize = 40;

/// When to end.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// No derivative may be larger.
    pub(super) gradient: f64,
    pub(super) max_steps: usize,
}

/// Where the search ended.
pub(super) struct Minimum {
    pub(super) point: Vec<f64>,
    pub(super) steps: usize,
    /// The largest derivative there.
    pub(super) gradient: f64,
}

/// A step that was made, and what it changed in the gradient.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// 1 / (step · change).
    scale: f64,
}

/// What is minimised: a smooth convex function, `None` where it is not defined.
pub(super) trait Function {
    /// Value and gradient.
    fn evaluate(&self, point: &[f64]) -> Option<Evaluation>;
    /// A quick estimate of the second derivatives.
    fn rough_curvature(&self, point: &[f64]) -> Option<Curvature>;
    /// A good estimate of the second derivatives.
    fn curvature(&self, point: &[f64]) -> Option<Curvature>;
    /// Number of steps that are worth a good estimate; the next is made after twice as many, and so on.
    fn steps_per_estimate(&self) -> usize;
}

/// Minimises from a point where the function is defined.
pub(super) fn minimise(
    mut point: Vec<f64>,
    goal: Goal,
    function: &impl Function,
    interrupt: &Interrupt,
) -> Result<Minimum> {
    let undefined = || Error::Unsolved {
        what: "linear model",
        why: "the log-likelihood is not finite at the start".into(),
    };
    let mut here = function.evaluate(&point).ok_or_else(undefined)?;
    let mut curvature = function.rough_curvature(&point).ok_or_else(undefined)?;
    let mut memory: Vec<Pair> = Vec::new();
    let mut steps = 0;
    let mut next_estimate = function.steps_per_estimate();
    while steps < goal.max_steps && largest(&here.gradient) > goal.gradient {
        interrupt.check()?;
        let direction = direction(&memory, &curvature, &here.gradient);
        let Some((next, there)) = search(&point, &here, &direction, function) else {
            if memory.is_empty() {
                break;
            }
            // What is remembered may be misleading after a jump: try again without it.
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
            memory.push(Pair {
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
        steps,
        gradient: largest(&here.gradient),
    })
}

/// The direction of descent: the two-loop recursion around the estimate.
fn direction(memory: &[Pair], curvature: &Curvature, gradient: &[f64]) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut factors = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let factor = pair.scale * dot(&pair.step, &direction);
        add(&mut direction, -factor, &pair.change);
        factors.push(factor);
    }
    curvature.divide(&mut direction);
    for (pair, factor) in memory.iter().zip(factors.into_iter().rev()) {
        let correction = factor - pair.scale * dot(&pair.change, &direction);
        add(&mut direction, correction, &pair.step);
    }
    direction
}

/// Halves the step until it makes progress.
fn search(
    point: &[f64],
    here: &Evaluation,
    direction: &[f64],
    function: &impl Function,
) -> Option<(Vec<f64>, Evaluation)> {
    let slope = dot(direction, &here.gradient);
    if slope.is_nan() || slope >= 0.0 {
        return None;
    }
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let mut next = point.to_vec();
        add(&mut next, length, direction);
        if let Some(there) = function.evaluate(&next) {
            let decrease = here.value - there.value;
            // Close to the minimum the decrease drowns in rounding; a smaller gradient is progress then.
            let level = decrease.abs() <= 1e-14 * here.value.abs();
            let flatter = level && largest(&there.gradient) < largest(&here.gradient);
            if decrease >= -SUFFICIENT * length * slope || flatter {
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

fn add(to: &mut [f64], factor: f64, values: &[f64]) {
    for (to, value) in to.iter_mut().zip(values) {
        *to += factor * value;
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, value| m.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A badly scaled, smooth, convex function of which the minimum is known.
    struct Cosh;

    impl Function for Cosh {
        fn evaluate(&self, x: &[f64]) -> Option<Evaluation> {
            let mut value = 0.0;
            let mut gradient = vec![0.0; x.len()];
            for (i, &x) in x.iter().enumerate() {
                let (scale, middle) = (10_f64.powi(i as i32), i as f64 - 2.0);
                let away = x - middle;
                value += scale * (away.cosh() - 1.0);
                gradient[i] = scale * away.sinh();
            }
            value.is_finite().then_some(Evaluation { value, gradient })
        }

        fn rough_curvature(&self, x: &[f64]) -> Option<Curvature> {
            self.curvature(x)
        }

        fn curvature(&self, x: &[f64]) -> Option<Curvature> {
            Some(Curvature::Diagonal(vec![1.0; x.len()]))
        }

        fn steps_per_estimate(&self) -> usize {
            1
        }
    }

    struct Nowhere;

    impl Function for Nowhere {
        fn evaluate(&self, _: &[f64]) -> Option<Evaluation> {
            None
        }

        fn rough_curvature(&self, _: &[f64]) -> Option<Curvature> {
            None
        }

        fn curvature(&self, _: &[f64]) -> Option<Curvature> {
            None
        }

        fn steps_per_estimate(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_known_minimum_is_found() {
        let goal = Goal {
            gradient: 1e-8,
            max_steps: 200,
        };
        let found = minimise(vec![5.0; 5], goal, &Cosh, &Interrupt::never()).unwrap();
        assert!(found.gradient <= 1e-8 && found.steps < 200);
        for (i, x) in found.point.iter().enumerate() {
            assert!((x - (i as f64 - 2.0)).abs() < 1e-7);
        }
    }

    #[test]
    fn stops_are_heard_and_steps_are_counted() {
        let goal = Goal {
            gradient: 1e-8,
            max_steps: 2,
        };
        let start = vec![5.0; 5];
        let few = minimise(start.clone(), goal, &Cosh, &Interrupt::never()).unwrap();
        assert_eq!(few.steps, 2);
        let interrupt = Interrupt::new();
        interrupt.request();
        let stopped = minimise(start.clone(), goal, &Cosh, &interrupt);
        assert_eq!(stopped.err(), Some(Error::Interrupted));
        let nowhere = minimise(start, goal, &Nowhere, &Interrupt::never());
        assert!(matches!(nowhere.err(), Some(Error::Unsolved { .. })));
    }
}
