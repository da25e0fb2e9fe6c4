//! Saving a linear model as bytes: magic, format version, body, checksum; all little-endian.

use crate::error::Result;
use crate::rankings::MAX_LABELS;
use crate::saved::{sign, Format};

use super::model::LinearModel;
use super::standardise::Standardiser;

const FORMAT: Format = Format {
    what: "linear model",
    magic: *b"BRKLINE\n",
    newest: 1,
};

impl LinearModel {
    /// The model as bytes that [`LinearModel::from_bytes`] reads back.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = FORMAT.header(FORMAT.newest);
        for size in [
            self.features(),
            self.labels(),
            self.steps,
            usize::from(self.converged),
        ] {
            out.extend_from_slice(&(size as u64).to_le_bytes());
        }
        out.extend(self.compared.iter().map(|&compared| u8::from(compared)));
        let numbers = self.scale.means.iter().chain(&self.scale.deviations);
        let numbers = numbers.chain(&self.coefficients);
        out.extend(numbers.flat_map(|number| number.to_le_bytes()));
        sign(out)
    }

    /// Reads a model from bytes, trusting none of them.
    ///
    /// # Errors
    /// As [`crate::tree::Tree::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = FORMAT.open(bytes)?;
        let [features, labels, steps, converged] = reader.sizes()?;
        if features == 0 || !(2..=MAX_LABELS).contains(&labels) {
            return Err(FORMAT.problem("impossible numbers of features or labels"));
        }
        let count = (2 * labels)
            .checked_mul(features.saturating_add(1))
            .ok_or(FORMAT.problem("a size does not fit this machine"))?;
        let compared = reader.many(labels, |[byte]: [u8; 1]| byte == 1)?;
        let means = reader.many(features, f64::from_le_bytes)?;
        let deviations = reader.many(features, f64::from_le_bytes)?;
        let coefficients = reader.many(count, f64::from_le_bytes)?;
        reader.end()?;
        let mut numbers = means.iter().chain(&deviations).chain(&coefficients);
        if !numbers.all(|number| number.is_finite()) || deviations.iter().any(|&d| d < 0.0) {
            return Err(FORMAT.problem("a coefficient or a scale is no number"));
        }
        Ok(Self {
            scale: Standardiser { means, deviations },
            coefficients,
            compared,
            steps,
            converged: converged == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::LinearParams;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    #[test]
    fn saved_models_come_back_equal_and_damage_is_refused() {
        let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * (7 + j)) % 13) as f64);
        let y = Array2::from_shape_fn((30, 3), |(i, j)| ((i + j) % 3) as i64 + 1);
        let rankings = Rankings::new(y.view(), None).unwrap();
        let model = LinearModel::fit(
            x.view(),
            &rankings,
            &LinearParams::default(),
            &Interrupt::never(),
        );
        let model = model.unwrap();
        let bytes = model.to_bytes();
        assert_eq!(LinearModel::from_bytes(&bytes).unwrap(), model);
        for end in 0..bytes.len() {
            assert!(LinearModel::from_bytes(&bytes[..end]).is_err());
            let mut damaged = bytes.clone();
            damaged[end] ^= 0x20;
            assert!(LinearModel::from_bytes(&damaged).is_err());
        }
    }
}
