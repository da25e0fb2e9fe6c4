//! SHAP values of linear models: the utility of a label (the score that orders the labels) is a sum of one term per
//! feature.

use ndarray::{Array2, Array3, ArrayView2, Axis, Slice};

use crate::error::{Error, Result};
use crate::features::check_values;
use crate::linear::LinearModel;
use crate::run::{require_memory, Interrupt, WorkMeter};

/// The terms of the utilities. A term is 0 at the mean of its feature, and constant where the standardised feature is
/// clipped. Shapley values of a sum of one-feature terms are the terms themselves. The terms of the indicators of
/// missing values and of categories belong to their features.
pub(super) fn shap_values(
    model: &LinearModel,
    values: ArrayView2<'_, f64>,
    interrupt: &Interrupt,
) -> Result<Array3<f64>> {
    let (rows, features, labels) = (values.nrows(), model.features(), model.labels());
    if values.ncols() != features {
        return Err(Error::FeatureCount {
            found: values.ncols(),
            expected: features,
        });
    }
    check_values(values)?;
    // The terms and the standardised features.
    require_memory::<f64>("the SHAP values", &[rows, model.inputs() + 1, labels + 1])?;
    let inputs = model.scale.apply(values);
    let owners = model.scale.owners();
    let mut terms = Array3::zeros((rows, features, labels));
    let mut meter = WorkMeter::new(interrupt);
    for (inputs, mut terms) in inputs.rows().into_iter().zip(terms.outer_iter_mut()) {
        meter.add((owners.len() * labels) as u64)?;
        let coefficients = model.coefficients.chunks_exact(2 * labels);
        for ((input, coefficients), &feature) in inputs.iter().zip(coefficients).zip(&owners) {
            for (term, coefficient) in terms.row_mut(feature).iter_mut().zip(coefficients) {
                *term += input * coefficient;
            }
        }
    }
    Ok(terms)
}

/// Intercepts of the utilities.
pub(super) fn base_values(model: &LinearModel) -> Vec<f64> {
    let labels = model.labels();
    model.coefficients[model.inputs() * 2 * labels..][..labels].to_vec()
}

/// Utilities without clipping.
pub(super) fn label_scores(
    model: &LinearModel,
    values: ArrayView2<'_, f64>,
    interrupt: &Interrupt,
) -> Result<Array2<f64>> {
    let scores = model.raw_scores(values, interrupt)?;
    let utilities = Slice::from(..model.labels());
    Ok(scores.slice_axis(Axis(1), utilities).to_owned())
}
