//! [`SharedEncoding`]: pair codes and score tables shared by all trees on the same rankings.

use std::sync::{Arc, OnceLock};

use crate::rankings::Rankings;

use super::block::PairCodes;
use super::score::ScoreTables;

/// Pair codes of all rows and score tables, built on first use. They do not depend on weights, so the trees of a
/// forest share them.
#[derive(Default)]
pub(crate) struct SharedEncoding(OnceLock<EncodedRankings>);

pub(crate) struct EncodedRankings {
    pub(crate) block: Arc<PairCodes>,
    /// For nodes of as many rows as there are rankings.
    pub(crate) score: ScoreTables,
}

impl SharedEncoding {
    /// For these rankings, whatever their weights: always the same ones.
    pub(crate) fn get(&self, rankings: &Rankings) -> &EncodedRankings {
        self.0.get_or_init(|| EncodedRankings {
            block: Arc::new(PairCodes::new(rankings)),
            score: ScoreTables::new(rankings, rankings.len()),
        })
    }
}
