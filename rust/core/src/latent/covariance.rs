//! Covariance of the scores of a fitted [`ContestModel`]: the inverse information, or an estimate that is robust to
//! dependence within units (comparisons, rankings or groups of comparisons).

use ndarray::Array2;

use crate::comparisons::{Tallies, Units};
use crate::error::{ComparisonError, Error, Result};
use crate::run::Interrupt;

use super::contest_model::ContestModel;
use super::posterior::factorise;

/// How the covariance is estimated.
#[derive(Debug, Clone, Copy)]
pub enum CovarianceMethod<'a> {
    /// The inverse of the second derivatives H: valid if all comparisons are independent and the model holds.
    Information,
    /// The sandwich H⁻¹ M H⁻¹ with M = G/(G − 1) Σ s sᵀ + ridge, where s is the gradient of the log-likelihood of one
    /// of the G units: valid even if the comparisons within a unit depend on each other. The ridge in M keeps the error
    /// large for a label that won all its comparisons, whose entries of s are almost 0.
    Units(&'a Units),
}

/// Covariance matrix of all scores (utilities, tie terms, and effects of order and covariates) at the mode, the most
/// probable scores. Utilities are taken relative to the mean of the compared labels: the likelihood does not depend on a
/// common shift, whose prior variance would dominate. O(size³).
///
/// # Errors
/// [`ComparisonError::TooFewUnits`] for fewer than two units; [`Error::Unsolved`] when the second derivatives have no
/// inverse; [`Error::Interrupted`].
pub fn covariance(
    model: &ContestModel<'_>,
    tallies: &Tallies,
    scores: &[f64],
    compared: &[bool],
    method: CovarianceMethod<'_>,
    interrupt: &Interrupt,
) -> Result<Array2<f64>> {
    let size = model.size();
    let labels: Vec<usize> = (0..compared.len()).filter(|&u| compared[u]).collect();
    let mut matrix = model.hessian(tallies, scores);
    // The common shift is an eigenvector whose eigenvalue is the ridge. To avoid cancellation, this eigenvalue is
    // raised to the size of the others before the inversion, and `centre` removes the shift from the result.
    let count = labels.len() as f64;
    let stiffness = labels.iter().map(|u| matrix[u * size + u]).sum::<f64>() / count;
    for u in &labels {
        for v in &labels {
            matrix[u * size + v] += stiffness / count;
        }
    }
    let factor = factorise(matrix, size)?;
    let solve_rows = |rows: &mut Array2<f64>| -> Result<()> {
        for mut row in rows.rows_mut() {
            interrupt.check()?;
            if let Some(row) = row.as_slice_mut() {
                factor.solve(row);
            }
        }
        Ok(())
    };
    let mut result = match method {
        CovarianceMethod::Information => Array2::eye(size),
        CovarianceMethod::Units(units) => outer_products(model, units, scores, interrupt)?,
    };
    solve_rows(&mut result)?;
    if matches!(method, CovarianceMethod::Units(_)) {
        result = result.t().as_standard_layout().into_owned();
        solve_rows(&mut result)?;
    }
    centre(&mut result, &labels);
    // Symmetric up to rounding: make it exact. Extreme weights count relative to the largest weight, `weight_unit`, which
    // is 1 for other weights. The covariance is that of the weights divided by it.
    let symmetric = (&result + &result.t()) * (model.weight_unit() / 2.0);
    Ok(symmetric)
}

/// The matrix M of [`CovarianceMethod::Units`].
fn outer_products(
    model: &ContestModel<'_>,
    units: &Units,
    scores: &[f64],
    interrupt: &Interrupt,
) -> Result<Array2<f64>> {
    let total = units.total();
    if total < 2 {
        return Err(Error::Comparison(ComparisonError::TooFewUnits {
            found: total,
            noun: "units to estimate robust errors from",
        }));
    }
    let mut correction = total as f64 / (total as f64 - 1.0);
    if units.has_weights() {
        // `covariance` multiplies M by `weight_unit`. That is right for copies of a row, whose number is proportional to
        // the weight. If a unit carries its weight, M contains the square of the weight.
        correction /= model.weight_unit();
    }
    let mut sum = Array2::<f64>::zeros((model.size(), model.size()));
    let mut touched: Vec<usize> = Vec::new();
    model.for_each_unit(units, scores, |copies, slopes| {
        touched.clear();
        if interrupt.check().is_err() {
            return;
        }
        touched.extend((0..slopes.len()).filter(|&i| slopes[i] != 0.0));
        let factor = correction * copies as f64;
        for &i in &touched {
            for &j in &touched {
                sum[[i, j]] += factor * slopes[i] * slopes[j];
            }
        }
    });
    interrupt.check()?;
    for entry in sum.diag_mut() {
        *entry += model.ridge();
    }
    Ok(sum)
}

/// Takes the utilities of the given labels relative to their mean, in the rows and columns of a covariance matrix.
fn centre(matrix: &mut Array2<f64>, labels: &[usize]) {
    let count = labels.len() as f64;
    for transposed in [false, true] {
        let mut view = if transposed {
            matrix.view_mut().reversed_axes()
        } else {
            matrix.view_mut()
        };
        for mut column in view.columns_mut() {
            let mean = labels.iter().map(|&u| column[u]).sum::<f64>() / count;
            for &u in labels {
                column[u] -= mean;
            }
        }
    }
}
