//! Laws of the scores of resampled comparisons: they do not depend on the number of threads, are centred per component
//! (labels that are connected by comparisons), and vary around the scores of the original data.

use bucketrank_core::aggregate::{Borda, Davidson, Scorer};
use bucketrank_core::comparisons::ContestSample;
use bucketrank_core::error::Error;
use bucketrank_core::leaderboard::{
    resample_scores, BoardData, BoardMethod, ResampleOptions, ScoreSample,
};
use bucketrank_core::pairs::PairCounts;
use bucketrank_core::run::Interrupt;

/// Labels 0 to 3 are compared with each other; labels 4 and 5 only with each other.
fn counts() -> PairCounts {
    let mut counts = PairCounts::empty(6).unwrap();
    for (u, v, won, tied, lost) in [
        (0, 1, 14.0, 3.0, 8.0),
        (0, 2, 20.0, 2.0, 5.0),
        (1, 2, 12.0, 6.0, 9.0),
        (1, 3, 11.0, 1.0, 4.0),
        (2, 3, 9.0, 5.0, 9.0),
        (4, 5, 16.0, 4.0, 7.0),
    ] {
        for (outcome, count) in [won, tied, lost].into_iter().enumerate() {
            counts.add_comparison(u, v, outcome as u8, count);
        }
    }
    counts
}

fn resample(method: BoardMethod, resamples: usize, n_jobs: usize) -> Result<ScoreSample, Error> {
    let sample = ContestSample::of_counts(counts())?;
    let options = ResampleOptions {
        resamples,
        seed: 7,
        n_jobs,
        interrupt: const { &Interrupt::never() },
    };
    resample_scores(
        BoardData::Comparisons(&sample),
        method,
        options,
        &mut |_| {},
    )
}

/// Davidson, whose scores are utilities, and Borda.
fn methods() -> [BoardMethod; 2] {
    [
        BoardMethod::Davidson(Davidson::default()),
        BoardMethod::Scorer(Scorer::Borda(Borda::default())),
    ]
}

#[test]
fn resamples_do_not_depend_on_threads_or_the_number_of_resamples() {
    for method in methods() {
        let many = resample(method, 200, 1).unwrap();
        assert_eq!(many, resample(method, 200, 3).unwrap());
        let few = resample(method, 2, 1).unwrap();
        assert_eq!(
            few.resampled,
            many.resampled.select(ndarray::Axis(0), &[0, 1])
        );
        assert!(matches!(
            resample(method, 1, 1),
            Err(Error::Parameter { .. })
        ));
    }
}

#[test]
fn resampled_scores_vary_around_the_scores() {
    for method in methods() {
        let found = resample(method, 400, 1).unwrap();
        assert_eq!(found.resampled.dim(), (400, 6));
        for (label, &score) in found.scores.iter().enumerate() {
            let column = found.resampled.column(label);
            let (mean, deviation) = (column.mean().unwrap(), column.std(1.0));
            assert!(deviation > 1e-3, "{label}");
            // The bias of an estimate is small against its deviation.
            assert!(
                (mean - score).abs() < 0.5 * deviation,
                "{label} {mean} {score}"
            );
        }
    }
}

#[test]
fn utilities_are_centred_in_each_component() {
    let found = resample(methods()[0], 50, 1).unwrap();
    let rows = found.resampled.rows().into_iter().map(|row| row.to_vec());
    for scores in rows.chain([found.scores.clone()]) {
        assert!(scores[..4].iter().sum::<f64>().abs() < 1e-6, "{scores:?}");
        assert!(scores[4..].iter().sum::<f64>().abs() < 1e-6, "{scores:?}");
    }
}

#[test]
fn two_comparisons_can_be_resampled_and_one_cannot() {
    for (comparisons, is_enough) in [(1.0, false), (2.0, true)] {
        let mut counts = PairCounts::empty(2).unwrap();
        counts.add_comparison(0, 1, 0, comparisons);
        let sample = ContestSample::of_counts(counts).unwrap();
        let options = ResampleOptions {
            resamples: 2,
            seed: 1,
            n_jobs: 1,
            interrupt: const { &Interrupt::never() },
        };
        let data = BoardData::Comparisons(&sample);
        let found = resample_scores(data, methods()[1], options, &mut |_| {});
        assert_eq!(found.is_ok(), is_enough, "{comparisons}");
    }
}

#[test]
fn more_resamples_than_fit_in_memory_are_refused() {
    for method in methods() {
        let error = resample(method, 1 << 44, 1).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
    }
}
