use super::*;
use crate::comparisons::{ComparisonArrays, Comparisons, ContestSample, Effects, UnitKind};
use crate::run::Interrupt;
use ndarray::array;

#[test]
fn derivatives_match_finite_differences() {
    let z = array![[0.5], [1.0], [-0.3], [0.0], [2.0]];
    let comparisons = Comparisons::new(ComparisonArrays {
        labels: 3,
        first: &[0, 1, 2, 0, 1],
        second: &[1, 2, 0, 2, 0],
        outcomes: &[0, 1, 2, 0, 1],
        weights: None,
        groups: None,
        covariates: z.view(),
    })
    .unwrap();
    let effects = Effects {
        order: true,
        covariates: true,
    };
    let never = Interrupt::never();
    let sample =
        ContestSample::of_comparisons(&comparisons, effects, UnitKind::Row, &never).unwrap();
    let mut tallies = sample.tallies.clone();
    for (contest, tally) in tallies.iter_mut().enumerate() {
        tally[contest % OUTCOMES] += 1.5;
    }
    for (ties, shift) in [
        (TieRule::Modelled, 0.0),
        (TieRule::Half, 0.0),
        (TieRule::Half, 700.0),
        (TieRule::Modelled, 700.0),
    ] {
        let model = ContestModel::new(&sample.contests, &tallies, ties, 0.3);
        let mut scores: Vec<f64> = (0..model.size()).map(|i| (i as f64).sin()).collect();
        scores[0] += shift;
        let size = model.size();
        let hessian = model.hessian(&tallies, &scores);
        let gradient_at = |scores: &[f64]| {
            let mut gradient = vec![0.0; size];
            model.write_gradient(&tallies, scores, &mut gradient);
            gradient
        };
        let gradient = gradient_at(&scores);
        for i in 0..size {
            let moved = |offset: f64| {
                let mut moved = scores.clone();
                moved[i] += offset;
                moved
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            let slope = (model.objective(&tallies, &up) - model.objective(&tallies, &down)) / 2e-5;
            assert!(
                (gradient[i] - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "{ties:?} {i}"
            );
            let (up, down) = (gradient_at(&up), gradient_at(&down));
            for j in 0..size {
                let expected = (up[j] - down[j]) / 2e-5;
                assert!(
                    (hessian[i * size + j] - expected).abs() < 1e-5,
                    "{ties:?} {i} {j}"
                );
            }
        }
    }
}
