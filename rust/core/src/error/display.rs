//! Numbers, counts and hints in the messages of [`Error`](super::Error).

/// Formats a number, in scientific notation if it would have very many digits.
pub(super) fn format_number(number: f64) -> String {
    let size = number.abs();
    if size.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

/// Formats a number with its noun in singular or plural.
pub(crate) fn pluralize(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Says that all of these weights are zero.
pub(super) fn describe_zero_weights(number: usize) -> String {
    match number {
        1 => "the only weight is zero".into(),
        _ => format!("all {number} weights are zero"),
    }
}

/// States the rule that an invalid position violates, and what to do.
pub(super) fn describe_position(found: f64) -> &'static str {
    if found == 0.0 {
        "positions start at 1: use NaN for a label that is not ranked, or add 1 to positions that start at 0"
    } else {
        "positions start at 1: use NaN for a label that is not ranked; to_dense_ranks ranks arbitrary numbers"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, WeightProblem};

    #[test]
    fn messages_name_row_label_and_value() {
        let error = Error::Position {
            row: 7,
            label: 2,
            found: 0.0,
        };
        assert_eq!(
            error.to_string(),
            "row 7, label 2: position 0; positions start at 1: use NaN for a label that is not ranked, or add 1 to \
             positions that start at 0"
        );
        for (found, expected) in [
            (1e300, "1e300"),
            (-1e-300, "-1e-300"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(format_number(found), expected);
        }
        let error = Error::Weight {
            row: 3,
            found: -1.5,
            problem: WeightProblem::Negative,
        };
        assert_eq!(
            error.to_string(),
            "row 3: weight -1.5; expected a finite number that is not negative"
        );
    }

    #[test]
    fn nouns_agree_with_their_numbers() {
        for (error, start) in [
            (Error::TooFewLabels { found: 0 }, "found 0 labels;"),
            (Error::TooFewLabels { found: 1 }, "found 1 label;"),
            (
                Error::WeightCount { found: 1, rows: 2 },
                "found 1 weight for 2 rows;",
            ),
            (
                Error::WeightCount { found: 2, rows: 1 },
                "found 2 weights for 1 row;",
            ),
            (Error::NoWeight { rows: 1 }, "the only weight is zero;"),
            (Error::NoWeight { rows: 2 }, "all 2 weights are zero;"),
            (Error::NothingToCompare { rows: 1 }, "none of 1 row has"),
            (
                Error::RowCounts {
                    features: 1,
                    rankings: 2,
                },
                "X has 1 row but y has 2;",
            ),
            (
                Error::Folds { found: 1, rows: 1 },
                "found 1 fold for 1 row;",
            ),
            (Error::Threads { n_jobs: 1 }, "cannot start 1 thread"),
        ] {
            let message = error.to_string();
            assert!(message.starts_with(start), "{message}");
        }
    }
}
