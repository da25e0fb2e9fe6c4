//! Saving a forest: magic, format version, rankings, trees, checksum; all little-endian.

use crate::error::Result;
use crate::saved::{sign, Format};
use crate::tree::fitted_bytes::{read_rankings, write_rankings};
use crate::tree::Tree;

use super::{Forest, ForestTree, TreeKind};

const FORMAT: Format = Format {
    what: "forest",
    magic: *b"BRKFRST\n",
    newest: 1,
};

impl Forest {
    /// The forest and its rankings as bytes that [`Forest::from_bytes`] reads back.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = FORMAT.header(FORMAT.newest);
        for size in [self.features, self.members.len()] {
            out.extend_from_slice(&(size as u64).to_le_bytes());
        }
        write_rankings(&self.rankings, &mut out);
        for member in &self.members {
            let tree = member.tree.to_bytes();
            let kind = u64::from(member.kind == TreeKind::ExtraTrees);
            for number in [kind, member.seed, tree.len() as u64] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(&tree);
        }
        sign(out)
    }

    /// Reads a forest, trusting none of the bytes.
    ///
    /// # Errors
    /// As [`Tree::from_bytes`]; also rankings that are none, or trees that were not grown on them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = FORMAT.open(bytes)?;
        let [features, trees] = reader.sizes()?;
        let rankings = read_rankings(&mut reader)?;
        let mut forest = Self::new(rankings, features);
        for _ in 0..trees {
            let [kind, seed, length] = reader.sizes()?;
            let member = ForestTree {
                tree: Tree::from_bytes(reader.slice(length)?)
                    .map_err(|error| FORMAT.part(error))?,
                kind: match kind {
                    0 => TreeKind::Bootstrap,
                    1 => TreeKind::ExtraTrees,
                    _ => return Err(FORMAT.problem("a tree is of an unknown kind")),
                },
                seed: seed as u64,
            };
            forest.check(&member)?;
            forest.members.push(member);
        }
        reader.end()?;
        Ok(forest)
    }

    fn check(&self, member: &ForestTree) -> Result<()> {
        let tree = &member.tree;
        let fits = tree.labels() == self.rankings.labels()
            && tree.training_rows() == self.rankings.len()
            && tree.features() == self.features;
        if !fits {
            return Err(FORMAT.problem("the rankings do not belong to the tree"));
        }
        let weights = self.weights(member.kind, member.seed);
        let positive = (0..self.rankings.len()).filter(|&row| weights.get(row) > 0.0);
        let in_leaves = tree.node_rows(0);
        let weighted = in_leaves.iter().all(|&row| weights.get(row as usize) > 0.0);
        if !weighted || positive.count() != in_leaves.len() {
            return Err(FORMAT.problem("the leaves do not hold the rows that have weight"));
        }
        Ok(())
    }
}
