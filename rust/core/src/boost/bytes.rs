//! Saving a booster as bytes: magic, format version, body, checksum; all little-endian.

use crate::error::Result;
use crate::rankings::MAX_LABELS;
use crate::saved::{sign, Format, Reader};

use super::booster::Booster;
use super::model::{ScoreNode, ScoreTree, LEAF};

const FORMAT: Format = Format {
    what: "booster",
    magic: *b"BRKBOST\n",
    newest: 1,
};
/// Bytes of a node.
const NODE: usize = 8 + 4 + 4;

impl Booster {
    /// The booster as bytes that [`Booster::from_bytes`] reads back.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = FORMAT.header(FORMAT.newest);
        for size in [
            self.features,
            self.labels(),
            self.trees.len(),
            self.validation.len(),
        ] {
            out.extend_from_slice(&(size as u64).to_le_bytes());
        }
        out.extend(self.compared.iter().map(|&compared| u8::from(compared)));
        out.extend(self.start.iter().flat_map(|value| value.to_le_bytes()));
        out.extend(self.gains.iter().flat_map(|gain| gain.to_le_bytes()));
        out.extend(self.validation.iter().flat_map(|score| score.to_le_bytes()));
        for tree in &self.trees {
            for size in [tree.nodes.len(), tree.values.len()] {
                out.extend_from_slice(&(size as u64).to_le_bytes());
            }
            for node in &tree.nodes {
                out.extend_from_slice(&node.threshold.to_le_bytes());
                out.extend_from_slice(&node.feature.to_le_bytes());
                out.extend_from_slice(&node.child.to_le_bytes());
            }
            out.extend(tree.values.iter().flat_map(|value| value.to_le_bytes()));
        }
        sign(out)
    }

    /// Reads a booster from bytes, trusting none of them.
    ///
    /// # Errors
    /// As [`crate::tree::Tree::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = FORMAT.open(bytes)?;
        let [features, labels, trees, validation] = reader.sizes()?;
        if features == 0 || features >= LEAF as usize || !(2..=MAX_LABELS).contains(&labels) {
            return Err(FORMAT.problem("impossible numbers of features or labels"));
        }
        let compared = reader.many(labels, |[byte]: [u8; 1]| byte == 1)?;
        let start = reader.many(2 * labels, f32::from_le_bytes)?;
        let gains = reader.many(features, f64::from_le_bytes)?;
        let validation = reader.many(validation, f64::from_le_bytes)?;
        let finite = start.iter().all(|value| value.is_finite())
            && gains.iter().all(|gain| gain.is_finite());
        if !finite {
            return Err(FORMAT.problem("a score is no number"));
        }
        // Not reserved by the number read: it may be damaged.
        let mut read = Vec::new();
        for _ in 0..trees {
            read.push(read_tree(&mut reader, features, 2 * labels)?);
        }
        reader.end()?;
        Ok(Self {
            features,
            start,
            trees: read,
            compared,
            gains,
            validation,
        })
    }
}

fn read_tree(reader: &mut Reader<'_>, features: usize, outputs: usize) -> Result<ScoreTree> {
    let [nodes, values] = reader.sizes()?;
    let nodes = reader.many(nodes, |bytes: [u8; NODE]| {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        ScoreNode {
            threshold: f64::from_le_bytes(std::array::from_fn(|i| bytes[i])),
            feature: word(8),
            child: word(12),
        }
    })?;
    let values = reader.many(values, f32::from_le_bytes)?;
    let tree = ScoreTree { nodes, values };
    check(&tree, features, outputs).map_err(|problem| FORMAT.problem(problem))?;
    Ok(tree)
}

/// Everything that walking and adding rely on: walks end, leaves have values, values are numbers.
fn check(
    tree: &ScoreTree,
    features: usize,
    outputs: usize,
) -> std::result::Result<(), &'static str> {
    let leaves = tree.values.len() / outputs;
    if tree.nodes.is_empty() || leaves * outputs != tree.values.len() {
        return Err("the tree is not complete");
    }
    if !tree.values.iter().all(|value| value.is_finite()) {
        return Err("a leaf has a value that is no number");
    }
    for (index, node) in tree.nodes.iter().enumerate() {
        let child = node.child as usize;
        if node.feature == LEAF {
            if child >= leaves {
                return Err("a leaf has no values");
            }
            continue;
        }
        if node.feature as usize >= features || !node.threshold.is_finite() {
            return Err("a node splits a feature that does not exist, or at no number");
        }
        if child <= index || child + 1 >= tree.nodes.len() {
            return Err("a node has children that do not exist");
        }
    }
    Ok(())
}
