//! Linear models in a container (the file format of saved models): standardisation, coefficients, number of steps and
//! convergence.

use super::{SavedModel, Section, SectionWriter};
use crate::error::Result;
use crate::linear::{CategoricalFeature, LinearModel, Standardiser};
use crate::rankings::MAX_LABELS;

impl SavedModel for LinearModel {
    const NAME: &'static str = "linear model";

    fn write(&self, section: &mut SectionWriter<'_>) {
        section.vector("compared", &self.compared);
        section.vector("means", &self.scale.means);
        section.vector("deviations", &self.scale.deviations);
        if !self.indicators().is_empty() {
            let indicators = self.indicators().iter().copied();
            section.unsigned("indicators", &[self.indicators().len()], indicators);
        }
        if !self.categorical().is_empty() {
            let each = self.categorical().iter();
            let numbers = each.flat_map(|own| [own.feature, own.categories]);
            section.unsigned("categorical", &[2 * self.categorical().len()], numbers);
        }
        let shape = [self.inputs() + 1, 2 * self.labels()];
        section.array("coefficients", &shape, self.coefficients.iter().copied());
        section.number("steps", self.steps as u64);
        section.number("converged", u64::from(self.converged));
    }

    fn read(section: &mut Section<'_, '_>) -> Result<Self> {
        let compared: Vec<bool> = section.vector("compared")?;
        let means: Vec<f64> = section.vector("means")?;
        let deviations: Vec<f64> = section.vector("deviations")?;
        let (shape, coefficients) = section.array::<f64>("coefficients")?;
        let indicators: Vec<u32> = if section.has("indicators") {
            section.unsigned("indicators")?
        } else {
            Vec::new()
        };
        let categorical = read_categorical(section)?;
        let categories: usize = categorical.iter().map(|own| own.categories as usize).sum();
        let (inputs, labels) = (means.len(), compared.len());
        let features = inputs.saturating_sub(indicators.len().saturating_add(categories));
        let are_features = indicators.windows(2).all(|w| w[0] < w[1])
            && indicators
                .last()
                .is_none_or(|&last| (last as usize) < features);
        let is_possible = features > 0
            && are_features
            && CategoricalFeature::check(&categorical, features).is_ok()
            && (2..=MAX_LABELS).contains(&labels)
            && deviations.len() == inputs
            && shape == [inputs + 1, 2 * labels];
        if !is_possible {
            return Err(section.problem("the numbers of features or labels do not agree"));
        }
        let mut numbers = means.iter().chain(&deviations).chain(&coefficients);
        if !numbers.all(|number| number.is_finite()) || deviations.iter().any(|&d| d < 0.0) {
            return Err(section.problem("a number is not finite, or a deviation is negative"));
        }
        Ok(Self {
            scale: Standardiser {
                means,
                deviations,
                indicators,
                categorical,
            },
            coefficients,
            compared,
            steps: section.number("steps")?,
            converged: section.number("converged")? == 1,
        })
    }
}

fn read_categorical(section: &mut Section<'_, '_>) -> Result<Vec<CategoricalFeature>> {
    if !section.has("categorical") {
        return Ok(Vec::new());
    }
    let numbers: Vec<u32> = section.unsigned("categorical")?;
    let (pairs, []) = numbers.as_chunks() else {
        return Err(section.problem("a categorical feature has no number of categories"));
    };
    let categorical = pairs
        .iter()
        .map(|&[feature, categories]| CategoricalFeature {
            feature,
            categories,
        });
    Ok(categorical.collect())
}

#[cfg(test)]
mod tests {
    use super::super::damage::{check_refusals, check_repaired};
    use super::*;
    use crate::linear::LinearParams;
    use crate::rankings::Rankings;
    use crate::run::Interrupt;
    use ndarray::Array2;

    #[test]
    fn damaged_models_are_refused_and_repaired_ones_are_safe() {
        let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * (7 + j)) % 13) as f64);
        let y = Array2::from_shape_fn((30, 3), |(i, j)| ((i + j) % 3) as i64 + 1);
        let rankings = Rankings::new(y.view(), None, &Interrupt::never()).unwrap();
        let categorical = [CategoricalFeature {
            feature: 1,
            categories: 13,
        }];
        for categorical in [&[][..], &categorical] {
            let model = LinearModel::fit(
                x.view(),
                categorical,
                &rankings,
                &LinearParams::default(),
                &Interrupt::never(),
            );
            check_model(&model.unwrap());
        }
    }

    fn check_model(model: &LinearModel) {
        check_refusals(model);
        let read = check_repaired(model, |model| {
            let zeros = Array2::zeros((3, model.features()));
            assert_eq!(
                model
                    .scores(zeros.view(), &Interrupt::never())
                    .unwrap()
                    .nrows(),
                3
            );
        });
        assert!(read > 0);
    }
}
