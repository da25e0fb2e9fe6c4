//! Parameters from Python: limits, defaults, and tree sizes resolved for the training data.

use bucketrank_core::boost::{BoostOptions, MAX_DEPTH};
use bucketrank_core::linear::LinearOptions;
use bucketrank_core::pairs::MAX_PAIR_LABELS;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use super::errors::{BindingError, Result};

/// Largest value of the parameter `max_splits`, the largest number of children of a node.
const MAX_SPLITS: usize = 1000;

/// Largest count: no dataset has more rows, so larger counts have the same effect. Fits in a 32-bit `usize`.
const MAX_COUNT: usize = 1 << 31;

/// Smallest number of parts of the training rows of a ranker: each part is held out by the models that are fitted on
/// the others.
const MIN_PARTS: usize = 2;

const FRACTION: &str = "a fraction above 0 and up to 1";

/// Largest values of parameters.
#[derive(IntoPyObject)]
pub struct Limits {
    /// Largest count.
    count: usize,
    /// Largest number of labels for pair statistics.
    pair_labels: usize,
}

/// The limits, as exported to Python.
pub const LIMITS: Limits = Limits {
    count: MAX_COUNT,
    pair_labels: MAX_PAIR_LABELS,
};

/// Default values of parameters.
#[derive(IntoPyObject)]
pub struct Defaults {
    booster: BoosterDefaults,
    linear: LinearDefaults,
    /// Strength of each kind of shrinkage.
    shrinkage: ShrinkageDefaults,
}

#[derive(IntoPyObject)]
struct BoosterDefaults {
    rounds: usize,
    learning_rate: f64,
    max_depth: usize,
    min_samples_leaf: usize,
    ridge: f64,
    row_share: f64,
    max_bins: usize,
}

#[derive(IntoPyObject)]
struct LinearDefaults {
    ridge: f64,
    intercept_ridge: f64,
    tolerance: f64,
    max_steps: usize,
}

#[derive(IntoPyObject)]
struct ShrinkageDefaults {
    path: f64,
    #[pyo3(item("m-estimate"))]
    m_estimate: f64,
}

/// The defaults, as exported to Python.
pub fn defaults() -> Defaults {
    Defaults {
        booster: BoostOptions::default().into(),
        linear: LinearOptions::default().into(),
        shrinkage: ShrinkageDefaults {
            path: 32.0,
            m_estimate: 8.0,
        },
    }
}

impl From<BoostOptions> for BoosterDefaults {
    fn from(options: BoostOptions) -> Self {
        Self {
            rounds: options.rounds,
            learning_rate: options.learning_rate,
            max_depth: options.max_depth,
            min_samples_leaf: options.min_samples_leaf,
            ridge: options.ridge,
            row_share: options.row_share,
            max_bins: options.max_bins,
        }
    }
}

impl From<LinearOptions> for LinearDefaults {
    fn from(options: LinearOptions) -> Self {
        Self {
            ridge: options.ridge,
            intercept_ridge: options.intercept_ridge,
            tolerance: options.tolerance,
            max_steps: options.max_steps,
        }
    }
}

/// Sizes of a tree as users pass them: counts, fractions and names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TreeSizes<'py> {
    max_splits: Bound<'py, PyAny>,
    max_depth: Bound<'py, PyAny>,
    min_samples_split: Bound<'py, PyAny>,
    min_samples_leaf: Bound<'py, PyAny>,
    max_features: Bound<'py, PyAny>,
}

/// Sizes of a tree as counts.
#[derive(IntoPyObject)]
pub struct ResolvedSizes {
    max_splits: usize,
    max_depth: Option<usize>,
    min_samples_split: usize,
    min_samples_leaf: usize,
    max_features: Option<usize>,
}

/// Checks the sizes of a tree and resolves fractions and names for training data of this shape.
#[pyfunction]
pub fn resolve_tree_sizes(
    sizes: TreeSizes<'_>,
    n_samples: usize,
    n_features: usize,
    n_labels: usize,
) -> Result<ResolvedSizes> {
    let parameter = Parameter::new;
    let split = parameter("min_samples_split", sizes.min_samples_split);
    Ok(ResolvedSizes {
        max_splits: parameter("max_splits", sizes.max_splits).max_splits()?,
        max_depth: parameter("max_depth", sizes.max_depth).max_depth()?,
        min_samples_split: split.min_samples_split(n_samples, n_labels)?,
        min_samples_leaf: parameter("min_samples_leaf", sizes.min_samples_leaf)
            .min_samples_leaf(n_samples)?,
        max_features: parameter("max_features", sizes.max_features).max_features(n_features)?,
    })
}

/// Checks a whole number of at least `least`; numbers above [`MAX_COUNT`] are clipped to it.
pub fn count(name: &'static str, value: &Bound<'_, PyAny>, least: usize) -> Result<usize> {
    Parameter::new(name, value.clone()).count(least, "")
}

/// Checks a whole number from 1 to [`MAX_COUNT`], for counts whose effect clipping would change.
#[pyfunction]
pub fn check_bounded_count(name: &str, value: Bound<'_, PyAny>) -> Result<usize> {
    let parameter = Parameter::new(name, value);
    let count = parameter.count(1, "")?;
    if parameter.value.gt(MAX_COUNT)? {
        return Err(parameter.value_error(&format!("at most {MAX_COUNT}")));
    }
    Ok(count)
}

/// Counts of a ranker (the estimator that mixes a forest, boosters and linear models) as users pass them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RankerCounts<'py> {
    n_estimators: Bound<'py, PyAny>,
    rounds: Bound<'py, PyAny>,
    max_depth: Bound<'py, PyAny>,
    n_parts: Bound<'py, PyAny>,
}

/// Checks the counts of a ranker.
#[pyfunction]
pub fn check_ranker_counts(counts: RankerCounts<'_>) -> Result<()> {
    check_bounded_count("n_estimators", counts.n_estimators)?;
    check_bounded_count("rounds", counts.rounds)?;
    Parameter::new("max_depth", counts.max_depth).booster_depth()?;
    Parameter::new("n_parts", counts.n_parts).count(MIN_PARTS, "")?;
    Ok(())
}

/// A parameter from Python; errors name it, the value found and the value expected.
struct Parameter<'a, 'py> {
    name: &'a str,
    value: Bound<'py, PyAny>,
}

impl<'a, 'py> Parameter<'a, 'py> {
    fn new(name: &'a str, value: Bound<'py, PyAny>) -> Self {
        Self { name, value }
    }

    fn max_splits(&self) -> Result<usize> {
        match self.count(2, "")? {
            count if count <= MAX_SPLITS => Ok(count),
            _ => Err(self.value_error(&format!("at most {MAX_SPLITS}"))),
        }
    }

    fn max_depth(&self) -> Result<Option<usize>> {
        if self.value.is_none() {
            return Ok(None);
        }
        self.count(1, " or None").map(Some)
    }

    /// The depth of the trees of a booster.
    fn booster_depth(&self) -> Result<usize> {
        match self.count(1, "")? {
            depth if depth <= MAX_DEPTH => Ok(depth),
            _ => Err(self.value_error(&format!("at most {MAX_DEPTH}"))),
        }
    }

    fn min_samples_split(&self, n_samples: usize, n_labels: usize) -> Result<usize> {
        let expected = "'paper', a whole number of rows or a fraction";
        match self.text() {
            Some("paper") => Ok(2 * n_labels),
            Some(_) => Err(self.value_error(expected)),
            None if self.is_whole() => self.count(2, &format!(", or {FRACTION}, or 'paper'")),
            None => Ok(round_up(self.fraction(expected)?, n_samples).max(2)),
        }
    }

    fn min_samples_leaf(&self, n_samples: usize) -> Result<usize> {
        if self.is_whole() {
            return self.count(1, &format!(", or {FRACTION}"));
        }
        let fraction = self.fraction("a whole number of rows or a fraction")?;
        Ok(round_up(fraction, n_samples))
    }

    fn max_features(&self, n_features: usize) -> Result<Option<usize>> {
        let expected = "'sqrt', 'log2', a whole number of features, a fraction or None";
        let features = n_features as f64;
        let count = match self.text() {
            _ if self.value.is_none() => return Ok(None),
            Some("sqrt") => n_features.isqrt(),
            Some("log2") => features.log2() as usize,
            Some(_) => return Err(self.value_error(expected)),
            None if self.is_whole() => self.feature_count(n_features)?,
            None => (self.fraction(expected)? * features) as usize,
        };
        Ok(Some(count.max(1)))
    }

    fn feature_count(&self, n_features: usize) -> Result<usize> {
        match self.count(1, &format!(", or {FRACTION}, or 'sqrt', 'log2' or None"))? {
            count if count <= n_features => Ok(count),
            _ => Err(self.value_error(&format!(
                "at most {n_features}, the number of features of X"
            ))),
        }
    }

    /// A whole number of at least `least`, clipped to [`MAX_COUNT`]; `others` names valid values of other types.
    fn count(&self, least: usize, others: &str) -> Result<usize> {
        if !self.is_whole() {
            return Err(self.type_error(&format!("a whole number{others}")));
        }
        if self.value.lt(least)? {
            return Err(self.value_error(&format!("a whole number of at least {least}{others}")));
        }
        // Python integers are unbounded.
        Ok(self.value.extract().unwrap_or(MAX_COUNT).min(MAX_COUNT))
    }

    fn fraction(&self, expected: &str) -> Result<f64> {
        let Ok(fraction) = self.value.cast_exact::<PyFloat>() else {
            return Err(self.type_error(expected));
        };
        let fraction = fraction.value();
        if fraction > 0.0 && fraction <= 1.0 {
            return Ok(fraction);
        }
        Err(self.value_error(FRACTION))
    }

    fn text(&self) -> Option<&str> {
        self.value.cast::<PyString>().ok()?.to_str().ok()
    }

    /// Whether the value is a whole number; `bool`, a subclass of `int`, is not.
    fn is_whole(&self) -> bool {
        self.value.is_exact_instance_of::<PyInt>()
    }

    fn value_error(&self, expected: &str) -> BindingError {
        BindingError::value(self.message(expected))
    }

    fn type_error(&self, expected: &str) -> BindingError {
        PyTypeError::new_err(self.message(expected)).into()
    }

    fn message(&self, expected: &str) -> String {
        format!("{} is {:?}; expected {expected}", self.name, self.value)
    }
}

/// The number of rows for a fraction, rounded up as in scikit-learn.
fn round_up(fraction: f64, n_samples: usize) -> usize {
    (fraction * n_samples as f64).ceil() as usize
}
