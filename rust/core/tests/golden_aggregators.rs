//! Compares aggregators with golden files, the stored results of the reference implementation. Skipped, with a message,
//! if these files are absent.

use std::path::PathBuf;

use bucketrank_core::aggregate::{
    Aggregator, Borda, BucketPivot, Copeland, Evidence, MarkovChain, MaximalLottery, Needs,
    Workspace,
};
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::Array2;
use serde_json::Value;

/// Path of a golden file, in the folder `golden` of the folder given by `BUCKETRANK_SHARED`; without this variable, of
/// the folder `shared` next to the workspace.
fn golden_file(name: &str) -> PathBuf {
    let shared = std::env::var_os("BUCKETRANK_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    shared.join("golden").join(name)
}

/// The aggregator with this name, such as `mc1` or `borda_0.9`, where the number is the threshold β.
fn parse_aggregator(name: &str) -> Aggregator {
    match name {
        "maximal_lottery" => return Aggregator::MaximalLottery(MaximalLottery),
        "mc1" | "mc2" | "mc3" | "mc4" => {
            let variant = name[2..].parse().unwrap();
            return Aggregator::MarkovChain(MarkovChain::new(variant).unwrap());
        }
        _ => {}
    }
    let (method, beta) = name.rsplit_once('_').unwrap();
    let beta = beta.parse().unwrap();
    match method {
        "borda" => Aggregator::Borda(Borda::new(beta).unwrap()),
        "copeland" => Aggregator::Copeland(Copeland::new(beta).unwrap()),
        "bucket_pivot" => Aggregator::BucketPivot(BucketPivot::new(beta).unwrap()),
        _ => panic!("unknown configuration {name}"),
    }
}

/// Parses a list of numbers; null becomes NaN.
fn parse_numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

fn parse_matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = value
        .as_array()
        .unwrap()
        .iter()
        .map(parse_numbers)
        .collect();
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

fn parse_rankings(case: &Value) -> Rankings {
    let weights = case["weights"]
        .is_array()
        .then(|| parse_numbers(&case["weights"]));
    Rankings::new(
        parse_matrix(&case["Y"]).view(),
        weights.as_deref(),
        &Interrupt::never(),
    )
    .unwrap()
}

#[test]
fn results_equal_the_reference() {
    let path = golden_file("aggregators.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("SKIPPED: no golden data at {}", path.display());
        return;
    };
    let golden: Value = serde_json::from_str(&text).unwrap();
    let mut workspace = Workspace::default();
    let mut compared = 0;
    let mut differences = Vec::new();
    for case in golden["cases"].as_array().unwrap() {
        let rankings = parse_rankings(case);
        let evidence =
            Evidence::from_rankings(&rankings, Needs::RowStatistics, &Interrupt::never()).unwrap();
        let mut refilled = Evidence::new(rankings.labels(), Needs::RowStatistics).unwrap();
        refilled
            .fill(&rankings, 0..rankings.len(), &Interrupt::never())
            .unwrap();
        // The pair order matrix: per pair of labels the share of rankings with the first before the second, where ties
        // count half.
        let c = parse_matrix(&case["C"]);
        for (found, expected) in evidence.pair_order().as_slice().iter().zip(&c) {
            assert!((found - expected).abs() < 1e-11, "C of case {}", case["id"]);
        }
        for (name, expected) in case["consensus"].as_object().unwrap() {
            // The reference result depends on rounding or on an arbitrary choice, or is wrong.
            if case["fragile"].get(name).is_some() {
                continue;
            }
            let expected = parse_numbers(expected);
            for evidence in [&evidence, &refilled] {
                let order = parse_aggregator(name)
                    .aggregate(evidence, &mut workspace)
                    .unwrap();
                let found: Vec<f64> = order.positions().iter().map(|&p| p.into()).collect();
                if found != expected {
                    differences.push(format!(
                        "case {} {name}: {found:?} for {expected:?}",
                        case["id"]
                    ));
                }
            }
            compared += 1;
        }
    }
    println!("compared {compared} results with the reference implementation");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > 2000, "only {compared} comparisons");
}
