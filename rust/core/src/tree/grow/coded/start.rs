//! [`Start`]: what every tree on the same rankings starts from.

use std::sync::{Arc, OnceLock};

use crate::rankings::Rankings;

use super::block::Block;
use super::score::Score;

/// The codes of all rows and the tables of scores, made when the first tree asks for them. They do not depend on
/// weights, so the trees of a forest share them.
#[derive(Default)]
pub(crate) struct Start(OnceLock<Made>);

pub(crate) struct Made {
    pub(crate) block: Arc<Block>,
    /// For nodes of as many rows as there are rankings.
    pub(crate) score: Score,
}

impl Start {
    /// For these rankings, whatever their weights: always the same ones.
    pub(crate) fn get(&self, rankings: &Rankings) -> &Made {
        self.0.get_or_init(|| Made {
            block: Arc::new(Block::new(rankings)),
            score: Score::new(rankings, rankings.len()),
        })
    }
}
