//! [`SharedEncoding`]: pair codes and score tables shared by all trees on the same rankings.

use std::sync::{Arc, OnceLock};

use crate::rankings::Rankings;

use super::pair_codes::PairCodes;
use super::score_tables::ScoreTables;

/// Pair codes and score tables of all rows, built on first use. They do not depend on weights, so all trees of a forest
/// share them.
#[derive(Default)]
pub(crate) struct SharedEncoding(OnceLock<EncodedRankings>);

/// Rankings as pair codes, with score tables.
pub(crate) struct EncodedRankings {
    pub(crate) pair_codes: Arc<PairCodes>,
    /// Tables for nodes of up to `rankings.len()` rows.
    pub(crate) scores: ScoreTables,
}

impl SharedEncoding {
    /// The encoding of `rankings`. All calls must pass the same rankings; their weights may differ.
    pub(crate) fn get(&self, rankings: &Rankings) -> &EncodedRankings {
        self.0.get_or_init(|| EncodedRankings {
            pair_codes: Arc::new(PairCodes::new(rankings)),
            scores: ScoreTables::new(rankings, rankings.len()),
        })
    }
}
