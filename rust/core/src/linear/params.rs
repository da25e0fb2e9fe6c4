//! Parameters of a linear model: [`LinearOptions`], checked into [`LinearParams`].

use crate::error::{Error, Result};

/// Options of a linear model, not checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearOptions {
    /// The penalty is `ridge` / 2 times the sum of squared coefficients.
    pub ridge: f64,
    /// As `ridge`, for the intercepts.
    pub intercept_ridge: f64,
    /// The fit ends when all derivatives of the penalised log-likelihood, divided by the total weight, are at
    /// most this in absolute value.
    pub tolerance: f64,
    /// Largest number of steps.
    pub max_steps: usize,
    /// Number of threads. The model does not depend on it.
    pub n_jobs: usize,
}

impl Default for LinearOptions {
    fn default() -> Self {
        Self {
            ridge: 0.1,
            intercept_ridge: 0.001,
            tolerance: 1e-5,
            max_steps: 1000,
            n_jobs: 1,
        }
    }
}

/// Checked options of a linear model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearParams(LinearOptions);

impl LinearParams {
    /// Checks options.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of the first invalid option.
    pub fn new(options: LinearOptions) -> Result<Self> {
        for (name, found) in [
            ("ridge", options.ridge),
            ("intercept_ridge", options.intercept_ridge),
        ] {
            if !(found > 0.0 && found <= 1e12) {
                return Err(Error::Parameter {
                    name,
                    found,
                    expected: "a number above 0 and up to 1e12",
                });
            }
        }
        if !(options.tolerance > 0.0 && options.tolerance < 1.0) {
            return Err(Error::Parameter {
                name: "tolerance",
                found: options.tolerance,
                expected: "a number above 0 and below 1",
            });
        }
        if options.max_steps == 0 {
            return Err(Error::Parameter {
                name: "max_steps",
                found: 0.0,
                expected: "a whole number of at least 1",
            });
        }
        Ok(Self(options))
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &LinearOptions {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_options_are_rejected_by_name() {
        let good = LinearOptions::default();
        let bad = [
            ("ridge", LinearOptions { ridge: 0.0, ..good }),
            (
                "ridge",
                LinearOptions {
                    ridge: f64::NAN,
                    ..good
                },
            ),
            (
                "intercept_ridge",
                LinearOptions {
                    intercept_ridge: -1.0,
                    ..good
                },
            ),
            (
                "tolerance",
                LinearOptions {
                    tolerance: 1.0,
                    ..good
                },
            ),
            (
                "max_steps",
                LinearOptions {
                    max_steps: 0,
                    ..good
                },
            ),
        ];
        for (expected, options) in bad {
            match LinearParams::new(options) {
                Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert!(LinearParams::new(good).is_ok());
    }
}
