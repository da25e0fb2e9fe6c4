//! Forests in a container (the file format of saved models): rankings, trees, and the kind and seed of each tree.

use super::rankings::{read_rankings, write_rankings};
use super::tree::read_trees;
use super::tree_arrays::write_trees;
use super::{SavedModel, Section, SectionWriter};
use crate::error::Result;
use crate::forest::{bootstrap_draws, Forest, ForestTree, TreeKind};
use crate::tree::Tree;

impl SavedModel for Forest {
    const NAME: &'static str = "forest";

    fn write(&self, section: &mut SectionWriter<'_>) {
        section.number("features", self.features() as u64);
        write_rankings(self.rankings(), &mut section.section("rankings"));
        let shape = [self.members.len()];
        let kinds = self.members.iter().map(|m| m.kind == TreeKind::ExtraTrees);
        section.array("is_extra_trees", &shape, kinds);
        section.array("seeds", &shape, self.members.iter().map(|m| m.seed));
        let trees = self.members.iter().map(|member| &member.tree);
        write_trees(trees, &mut section.section("trees"));
    }

    fn read(section: &mut Section<'_, '_>) -> Result<Self> {
        let features = section.number("features")?;
        let rankings = read_rankings(&mut section.section("rankings"))?;
        let kinds: Vec<bool> = section.vector("is_extra_trees")?;
        let seeds: Vec<u64> = section.vector("seeds")?;
        let trees = read_trees(&mut section.section("trees"), features, &rankings)?;
        if kinds.len() != trees.len() || seeds.len() != trees.len() {
            return Err(section.problem("expected one kind and one seed per tree"));
        }
        let mut forest = Self::new(rankings, features);
        let mut check = RowCheck::new(&forest);
        for ((tree, is_extra), seed) in trees.into_iter().zip(kinds).zip(seeds) {
            let kind = if is_extra {
                TreeKind::ExtraTrees
            } else {
                TreeKind::Bootstrap
            };
            if !check.accepts(&tree, kind, seed) {
                return Err(section.problem("the leaves do not hold the rows of positive weight"));
            }
            forest.members.push(ForestTree { tree, kind, seed });
        }
        Ok(forest)
    }
}

/// Above this many rows, a bootstrap sample contains at least a quarter of them: the expected share is 63 %, with a
/// standard deviation below 2 %.
const MANY_ROWS: usize = 1000;

/// Checks that the leaves of a tree hold exactly the rows that it was grown on.
///
/// The time per tree is proportional to the number of rows listed in it, so that a crafted file cannot cause long work.
struct RowCheck {
    /// Rows of positive weight, ascending.
    positive: Vec<u32>,
    /// Whether the bootstrap sample of the current tree contains each row of `positive`.
    drawn: Vec<bool>,
}

impl RowCheck {
    fn new(forest: &Forest) -> Self {
        let weights = forest.rankings().weights();
        let rows = 0..forest.rankings().len();
        let positive = rows.filter(|&row| weights.get(row) > 0.0);
        let positive: Vec<u32> = positive.map(|row| row as u32).collect();
        Self {
            drawn: vec![false; positive.len()],
            positive,
        }
    }

    fn accepts(&mut self, tree: &Tree, kind: TreeKind, seed: u64) -> bool {
        let rows = tree.node_rows(0);
        let indices = rows.iter().map(|row| self.positive.binary_search(row));
        let Ok(indices) = indices.collect::<std::result::Result<Vec<usize>, usize>>() else {
            return false;
        };
        let count = self.positive.len();
        if kind == TreeKind::ExtraTrees {
            return rows.len() == count;
        }
        if count > MANY_ROWS && rows.len() < count / 4 {
            return false;
        }
        self.drawn.fill(false);
        for index in bootstrap_draws(seed, count) {
            self.drawn[index] = true;
        }
        let distinct = self.drawn.iter().filter(|&&drawn| drawn).count();
        distinct == rows.len() && indices.iter().all(|&index| self.drawn[index])
    }
}
