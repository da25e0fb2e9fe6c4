//! Rankings in a container (the file format of saved models): positions with 0 for a missing label, and weights unless
//! all are 1.

use ndarray::ArrayView2;

use super::{Section, SectionWriter};
use crate::error::Result;
use crate::rankings::Rankings;
use crate::run::Interrupt;
use crate::weights::Weights;

pub(super) fn write_rankings(rankings: &Rankings, section: &mut SectionWriter<'_>) {
    let shape = [rankings.len(), rankings.labels()];
    let positions = (0..rankings.len()).flat_map(|row| rankings.row(row).iter().copied());
    section.unsigned("positions", &shape, positions);
    if let Weights::Each(weights) = rankings.weights() {
        section.reals("weights", weights);
    }
}

pub(super) fn read_rankings(section: &mut Section<'_, '_>) -> Result<Rankings> {
    let (shape, positions) = section.unsigned_array::<u16>("positions")?;
    let weights = if section.has("weights") {
        Some(section.reals("weights")?)
    } else {
        None
    };
    let &[rows, labels] = shape.as_slice() else {
        return Err(section.problem("the positions are not a table"));
    };
    let positions = ArrayView2::from_shape((rows, labels), &positions)
        .map_err(|_| section.problem("the positions are not a table"))?;
    Rankings::new(positions, weights.as_deref(), &Interrupt::never())
        .map_err(|error| section.problem(&format!("the rankings are not valid: {error}")))
}
