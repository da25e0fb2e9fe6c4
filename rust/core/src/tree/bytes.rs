//! Saving a tree as bytes: magic, format version, body, checksum; all little-endian.

use crate::error::Result;
use crate::rankings::MAX_LABELS;
use crate::saved::{sign, Format};

use super::grow::{Grown, Subtree, LEAF};
use super::model::Tree;

const FORMAT: Format = Format {
    what: "tree",
    magic: *b"BRKTREE\n",
    newest: 1,
};
/// Bytes of a node in the body.
const NODE: usize = 4 + 8 + 8 + 4 + 4;

impl Tree {
    /// The tree as bytes that [`Tree::from_bytes`] reads back.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let nodes = self.preorder();
        let mut out = Vec::with_capacity(64 + NODE * nodes.len() + 4 * self.rows.len());
        out.extend(FORMAT.header(FORMAT.newest));
        for size in [
            self.features,
            self.labels,
            self.training_rows,
            nodes.len(),
            self.thresholds.len(),
            self.rows.len(),
        ] {
            out.extend_from_slice(&(size as u64).to_le_bytes());
        }
        for node in &nodes {
            out.extend_from_slice(&node.rows.to_le_bytes());
            out.extend_from_slice(&node.weight.to_le_bytes());
            out.extend_from_slice(&node.impurity.to_le_bytes());
            out.extend_from_slice(&node.feature.to_le_bytes());
            out.extend_from_slice(&node.thresholds.to_le_bytes());
        }
        for threshold in &self.thresholds {
            out.extend_from_slice(&threshold.to_le_bytes());
        }
        for row in &self.rows {
            out.extend_from_slice(&row.to_le_bytes());
        }
        sign(out)
    }

    /// Reads a tree from bytes, trusting none of them.
    ///
    /// # Errors
    /// [`crate::error::Error::SavedModelVersion`] for a newer format; [`crate::error::Error::SavedModel`] for anything else that
    /// [`Tree::to_bytes`] does not write: foreign, truncated or damaged bytes, or arrays that are no tree.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = FORMAT.open(bytes)?;
        let [features, labels, training_rows, nodes, thresholds, rows] = reader.sizes()?;
        let grown = Subtree {
            nodes: reader.many(nodes, Grown::read)?,
            thresholds: reader.many(thresholds, f64::from_le_bytes)?,
            rows: reader.many(rows, u32::from_le_bytes)?,
        };
        reader.end()?;
        if features == 0 || features >= LEAF as usize || !(2..=MAX_LABELS).contains(&labels) {
            return Err(FORMAT.problem("impossible numbers of features or labels"));
        }
        check(features, training_rows, &grown).map_err(|problem| FORMAT.problem(problem))?;
        Ok(Self::assemble(features, labels, training_rows, grown))
    }
}

impl Grown {
    fn read(bytes: [u8; NODE]) -> Self {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let real = |at: usize| f64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self {
            rows: word(0),
            weight: real(4),
            impurity: real(12),
            feature: word(20),
            thresholds: word(24),
        }
    }
}

/// Everything that the rest of the crate relies on.
fn check(
    features: usize,
    training_rows: usize,
    grown: &Subtree,
) -> std::result::Result<(), &'static str> {
    if u32::try_from(grown.nodes.len()).is_err() || u32::try_from(training_rows).is_err() {
        return Err("more nodes or rows than a tree can have");
    }
    let mut thresholds = grown.thresholds.as_slice();
    // Rows that the open nodes still expect, and children they still expect.
    let mut open: Vec<(u64, u64)> = vec![(grown.rows.len() as u64, 1)];
    for node in &grown.nodes {
        while open.last().is_some_and(|frame| *frame == (0, 0)) {
            open.pop();
        }
        let frame = open.last_mut().ok_or("there are nodes behind the tree")?;
        let rows = u64::from(node.rows);
        if rows == 0 || frame.0 < rows || frame.1 == 0 {
            return Err("the rows of a node do not add up");
        }
        frame.0 -= rows;
        frame.1 -= 1;
        if !(node.weight.is_finite() && node.weight > 0.0 && node.impurity.is_finite()) {
            return Err("a weight or an impurity is no number");
        }
        if node.feature == LEAF {
            if node.thresholds != 0 {
                return Err("a leaf has thresholds");
            }
            continue;
        }
        if node.feature as usize >= features {
            return Err("a node splits a feature that does not exist");
        }
        if node.thresholds == 0 {
            return Err("an inner node has no threshold");
        }
        let Some((own, rest)) = thresholds.split_at_checked(node.thresholds as usize) else {
            return Err("there are too few thresholds");
        };
        thresholds = rest;
        if !own.iter().all(|t| t.is_finite()) || !own.windows(2).all(|w| w[0] < w[1]) {
            return Err("the thresholds of a node are not ascending numbers");
        }
        open.push((rows, u64::from(node.thresholds) + 1));
    }
    if !thresholds.is_empty() || open.iter().any(|frame| *frame != (0, 0)) || grown.nodes.is_empty()
    {
        return Err("the tree is not complete");
    }
    // Sorting needs no memory in proportion to a number that may be damaged.
    let mut rows = grown.rows.clone();
    rows.sort_unstable();
    let distinct = rows.windows(2).all(|w| w[0] < w[1]);
    if !distinct
        || rows
            .last()
            .is_some_and(|&last| last as usize >= training_rows)
    {
        return Err("a row is listed twice or does not exist");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::TreeParams;
    use super::*;
    use crate::run::Interrupt;
    use crate::{features::Features, rankings::Rankings};
    use ndarray::Array2;

    fn tree() -> Tree {
        let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * (7 + j)) % 13) as f64);
        let y = Array2::from_shape_fn((30, 2), |(i, j)| (((i * i) % 2) ^ j) as i64 + 1);
        let features = Features::new(x.view(), &Interrupt::never()).unwrap();
        let rankings = Rankings::new(y.view(), None).unwrap();
        Tree::fit(
            &features,
            &rankings,
            &TreeParams::default(),
            None,
            &Interrupt::never(),
        )
        .unwrap()
    }

    /// Bytes with a checksum that fits, to get behind it.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        let body = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn saved_trees_come_back_equal() {
        let tree = tree();
        assert!(tree.leaves() > 3);
        assert_eq!(Tree::from_bytes(&tree.to_bytes()).unwrap(), tree);
    }

    #[test]
    fn truncated_and_damaged_bytes_are_refused() {
        let bytes = tree().to_bytes();
        for end in 0..bytes.len() {
            assert!(Tree::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Tree::from_bytes(&damaged).is_err(), "{at}");
        }
    }

    #[test]
    fn a_fitting_checksum_does_not_make_a_tree() {
        let tree = tree();
        let bytes = tree.to_bytes();
        for at in 12..bytes.len() - 4 {
            for flip in [0x01, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                // Some numbers may change without anyone noticing; walking must still be safe.
                let read = Tree::from_bytes(&signed(damaged));
                if let Some(read) = read.ok().filter(|read| read.features() < 1000) {
                    let zeros = Array2::zeros((3, read.features()));
                    assert_eq!(read.apply(zeros.view()).unwrap().len(), 3);
                }
            }
        }
    }

    #[test]
    fn newer_versions_are_named() {
        let mut bytes = tree().to_bytes();
        bytes[8] = 9;
        assert_eq!(
            Tree::from_bytes(&signed(bytes)).unwrap_err(),
            crate::error::Error::SavedModelVersion {
                what: "tree",
                found: 9,
                newest: 1
            }
        );
    }
}
