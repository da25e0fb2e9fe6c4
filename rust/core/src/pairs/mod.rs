//! Pair statistics of a set of rankings: counts, pair shares (for each pair of labels the shares of rankings that place
//! the first before, tied with, or after the second) and the pair order matrix C (the share before plus half of the
//! share tied). No other module counts pairs.

mod codes;
mod count;
mod order;
mod place_shares;
mod ranking_sums;
mod relations;
mod row_shares;
mod shares;
mod table;

pub(crate) use codes::PackedPairCodes;
pub use count::PairCounts;
pub(crate) use count::{BytePairCounter, FewRows, RowPairCounter};
pub use order::PairOrderMatrix;
pub use place_shares::PlaceShares;
pub(crate) use ranking_sums::{CompactRankings, RankingSums};
pub(crate) use relations::{label_relations, label_relations_of};
pub use row_shares::RowShares;
pub(crate) use shares::normalise;
pub use shares::PairShares;
pub use table::{labels_of_pairs, pair_count, pair_index, PairTable};

use std::ops::Range;

use crate::error::{Error, Result};
use crate::rankings::Rankings;
use crate::run::{require_memory, Interrupt};

/// The largest number of labels for pair statistics: a matrix of this size takes 512 MiB.
pub const MAX_PAIR_LABELS: usize = 8192;

/// Upper estimate of the memory per ordered pair of labels of pair statistics and of the methods that use them.
const BYTES_PER_PAIR: usize = 48;

/// Checks that there are not too many labels for pair statistics, and that their memory can be allocated.
pub(crate) fn check_label_count(labels: usize) -> Result<()> {
    if labels > MAX_PAIR_LABELS {
        return Err(Error::TooManyLabels {
            found: labels,
            limit: MAX_PAIR_LABELS,
        });
    }
    require_memory::<u8>("the statistics of pairs", &[labels, labels, BYTES_PER_PAIR])?;
    Ok(())
}

/// Calls `add` with ranges of rows that an O(n²)-per-row kernel adds in a few milliseconds, and checks the interrupt
/// before each. The first check does not poll the host, because it would take longer than counting a few rows.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn for_each_range(
    rankings: &Rankings,
    interrupt: &Interrupt,
    mut add: impl FnMut(Range<usize>),
) -> Result<()> {
    const PAIRS: usize = 1 << 24;
    let part = (PAIRS / rankings.labels().pow(2)).max(1);
    for start in (0..rankings.len()).step_by(part) {
        if start == 0 {
            interrupt.check_request()?;
        } else {
            interrupt.check()?;
        }
        add(start..rankings.len().min(start + part));
    }
    Ok(())
}

/// Calls `add` with parts of `rows` that an O(n²)-per-row kernel adds in about 0.1 s, and checks the interrupt between
/// them. Few rows are one part and need no check; with smaller parts, the counters of one byte per pair would be added
/// to the totals too often.
///
/// # Errors
/// [`Error::Interrupted`].
fn for_each_part<T>(
    rows: &[T],
    labels: usize,
    interrupt: &Interrupt,
    mut add: impl FnMut(&[T]),
) -> Result<()> {
    const PAIRS: usize = 1 << 27;
    for (index, part) in rows.chunks((PAIRS / labels.pow(2)).max(1)).enumerate() {
        if index > 0 {
            interrupt.check()?;
        }
        add(part);
    }
    Ok(())
}
