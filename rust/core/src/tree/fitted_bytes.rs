//! Saving a tree with its rankings: magic, format version, rankings, the tree's own bytes, checksum.

use ndarray::ArrayView2;

use crate::error::Result;
use crate::rankings::Rankings;
use crate::saved::{sign, Format, Reader};
use crate::weights::Weights;

use super::fitted::FittedTree;
use super::leaves::soft::SoftRouting;
use super::model::Tree;

/// Version 2 adds the intervals of soft routing; trees without them are written as version 1, which older releases
/// read too.
pub(super) const FORMAT: Format = Format {
    what: "tree",
    magic: *b"BRKFITT\n",
    newest: 2,
};

impl FittedTree {
    /// The tree and its rankings as bytes that [`FittedTree::from_bytes`] reads back.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let tree = self.tree().to_bytes();
        let mut out = FORMAT.header(1 + u32::from(self.soft_routing().is_some()));
        let sizes = rankings_sizes(self.rankings());
        for size in sizes.into_iter().chain([tree.len()]) {
            out.extend_from_slice(&(size as u64).to_le_bytes());
        }
        write_numbers(self.rankings(), &mut out);
        out.extend_from_slice(&tree);
        if let Some(soft) = self.soft_routing() {
            for end in soft.windows.iter().flatten() {
                out.extend_from_slice(&end.to_le_bytes());
            }
        }
        sign(out)
    }

    /// Reads a tree with its rankings, trusting none of the bytes.
    ///
    /// # Errors
    /// As [`Tree::from_bytes`]; also rankings that are none, or that the tree was not grown on.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = FORMAT.open(bytes)?;
        let has_windows = bytes
            .get(FORMAT.magic.len())
            .is_some_and(|&version| version == 2);
        let [rows, labels, weights, tree] = reader.sizes()?;
        let rankings = read_numbers(&mut reader, [rows, labels, weights])?;
        let tree = Tree::from_bytes(reader.slice(tree)?)?;
        let soft = if has_windows {
            Some(read_windows(&mut reader, &tree)?)
        } else {
            None
        };
        reader.end()?;
        Self::new(tree, rankings, soft)
    }
}

fn read_windows(reader: &mut Reader<'_>, tree: &Tree) -> Result<SoftRouting> {
    let ends = reader.many(2 * tree.nodes().len(), f64::from_le_bytes)?;
    let windows: Vec<[f64; 2]> = ends.chunks_exact(2).map(|end| [end[0], end[1]]).collect();
    for (index, &[low, high]) in windows.iter().enumerate() {
        if let Some(split) = tree.split(index as u32) {
            let around = |&threshold: &f64| low <= threshold && threshold <= high;
            let possible = low.is_finite() && high.is_finite() && low < high;
            if split.thresholds.len() != 1 || !possible || !split.thresholds.iter().all(around) {
                return Err(
                    reader.problem("an interval of soft routing is not around its threshold")
                );
            }
        }
    }
    Ok(SoftRouting { windows })
}

/// Writes rankings with their sizes.
pub(crate) fn write_rankings(rankings: &Rankings, out: &mut Vec<u8>) {
    for size in rankings_sizes(rankings) {
        out.extend_from_slice(&(size as u64).to_le_bytes());
    }
    write_numbers(rankings, out);
}

/// Reads what [`write_rankings`] wrote.
pub(crate) fn read_rankings(reader: &mut Reader<'_>) -> Result<Rankings> {
    let sizes = reader.sizes()?;
    read_numbers(reader, sizes)
}

/// Numbers of rows, of labels, and of weights: none where all are 1.
fn rankings_sizes(rankings: &Rankings) -> [usize; 3] {
    let weights = match rankings.weights() {
        Weights::Unit(_) => 0,
        Weights::Each(weights) => weights.len(),
    };
    [rankings.len(), rankings.labels(), weights]
}

fn write_numbers(rankings: &Rankings, out: &mut Vec<u8>) {
    for position in rankings.rows().flatten() {
        out.extend_from_slice(&position.to_le_bytes());
    }
    if let Weights::Each(weights) = rankings.weights() {
        for weight in weights {
            out.extend_from_slice(&weight.to_le_bytes());
        }
    }
}

fn read_numbers(reader: &mut Reader<'_>, [rows, labels, weights]: [usize; 3]) -> Result<Rankings> {
    let count = rows
        .checked_mul(labels)
        .ok_or(reader.problem("a size does not fit this machine"))?;
    let positions = reader.many(count, u16::from_le_bytes)?;
    let weights = reader.many(weights, f64::from_le_bytes)?;
    let positions = ArrayView2::from_shape((rows, labels), &positions)
        .map_err(|_| reader.problem("the positions are no table"))?;
    let weights = (!weights.is_empty()).then_some(weights.as_slice());
    Rankings::new(positions, weights).map_err(|_| reader.problem("the rankings are not valid"))
}

#[cfg(test)]
mod tests {
    use super::super::TreeParams;
    use super::*;
    use crate::aggregate::{Aggregator, Borda};
    use crate::run::Interrupt;
    use crate::{error::Error, features::Features};
    use ndarray::Array2;

    fn fitted(weights: Option<&[f64]>) -> FittedTree {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * (7 + j)) % 13) as f64);
        let y = Array2::from_shape_fn((12, 3), |(i, j)| match (i + j) % 5 {
            0 => f64::NAN,
            _ => 1.0,
        });
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let mut y = y;
        y.row_mut(3).assign(&ndarray::arr1(&[2.0, 1.0, f64::NAN]));
        let rankings = Rankings::new(y.view(), weights).unwrap();
        let borda = Aggregator::Borda(Borda::default());
        FittedTree::fit(
            &features,
            rankings,
            &TreeParams::default(),
            &borda,
            &Interrupt::never(),
        )
        .unwrap()
        .with_soft_routing(&features)
        .unwrap()
    }

    /// The tree without soft routing, as the first version saved it.
    fn hard(mut bytes: Vec<u8>, nodes: usize) -> Vec<u8> {
        bytes.truncate(bytes.len() - 4 - 16 * nodes);
        bytes[8] = 1;
        sign(bytes)
    }

    /// Bytes with checksums that fit, to get behind them.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - 4);
        sign(bytes)
    }

    #[test]
    fn saved_trees_come_back_equal() {
        let weights: Vec<f64> = (0..12).map(|i| f64::from(i % 3)).collect();
        for tree in [fitted(None), fitted(Some(&weights))] {
            let bytes = tree.to_bytes();
            assert_eq!(FittedTree::from_bytes(&bytes).unwrap(), tree);
            let first = hard(bytes, tree.tree().nodes().len());
            let read = FittedTree::from_bytes(&first).unwrap();
            assert!(read.soft_routing().is_none());
            assert_eq!((read.to_bytes(), read.tree()), (first, tree.tree()));
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = fitted(None).to_bytes();
        for at in 0..bytes.len() {
            assert!(FittedTree::from_bytes(&bytes[..at]).is_err(), "{at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x04;
            assert!(FittedTree::from_bytes(&damaged).is_err(), "{at}");
        }
    }

    #[test]
    fn a_fitting_checksum_does_not_make_a_tree() {
        let tree = fitted(None);
        let bytes = tree.to_bytes();
        let borda = Aggregator::Borda(Borda::default());
        for at in 12..bytes.len() - 4 {
            for flip in [0x01, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                // A position may become another valid one; asking the leaves must still be safe.
                if let Ok(read) = FittedTree::from_bytes(&signed(damaged)) {
                    let leaves: Vec<u32> = read.tree().leaf_indices().collect();
                    let orders = read
                        .consensus(&borda, &leaves, 1, &Interrupt::never())
                        .unwrap();
                    assert_eq!(orders.len(), leaves.len());
                }
            }
        }
    }

    #[test]
    fn newer_versions_are_named() {
        let mut bytes = fitted(None).to_bytes();
        bytes[8] = 7;
        assert_eq!(
            FittedTree::from_bytes(&bytes).unwrap_err(),
            Error::SavedModelVersion {
                what: "tree",
                found: 7,
                newest: 2
            }
        );
    }
}
