//! Pair statistics of a set of rankings: counts, shares and the pair order matrix C. The only module that counts pairs.

mod count;
mod order;
mod row_shares;
mod shares;
mod table;

pub use count::PairCounts;
pub(crate) use count::{ByteCounter, FewRows, RowCounter};
pub use order::PairOrderMatrix;
pub use row_shares::RowShares;
pub use shares::PairShares;
pub use table::{labels_of_pairs, pair_count, pair_index, PairTable};

use crate::error::{Error, Result};

/// The largest number of labels for pair statistics: a matrix of this size takes 512 MiB.
pub const MAX_PAIR_LABELS: usize = 8192;

fn check_label_count(labels: usize) -> Result<()> {
    if labels > MAX_PAIR_LABELS {
        return Err(Error::TooManyLabels {
            found: labels,
            limit: MAX_PAIR_LABELS,
        });
    }
    Ok(())
}

/// Number of rows that an O(n²)-per-row kernel adds between two interrupt checks: some milliseconds of work.
fn rows_between_checks(labels: usize) -> usize {
    const PAIRS: usize = 1 << 24;
    (PAIRS / labels.pow(2)).max(1)
}
