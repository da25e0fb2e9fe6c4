//! [`pair_agreements`]: how two rankings relate each pair of labels.

use std::cmp::Ordering;

use super::compare_rows;
use crate::error::Result;
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// Number of pairs of labels by how two rankings relate them; pairs with a label that is missing in either ranking are
/// left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairAgreement {
    /// Ordered in the same way.
    pub concordant: u64,
    /// Ordered in opposite ways.
    pub discordant: u64,
    /// Tied in the first ranking only.
    pub tied_in_first: u64,
    /// Tied in the second ranking only.
    pub tied_in_second: u64,
    /// Tied in both.
    pub tied_in_both: u64,
}

impl PairAgreement {
    /// Compares two rows of positions. O(n²).
    fn of(first: &[u16], second: &[u16]) -> Self {
        let mut found = Self::default();
        for u in 0..first.len() {
            if first[u] == MISSING || second[u] == MISSING {
                continue;
            }
            for v in u + 1..first.len() {
                if first[v] == MISSING || second[v] == MISSING {
                    continue;
                }
                let count = match (first[u].cmp(&first[v]), second[u].cmp(&second[v])) {
                    (Ordering::Equal, Ordering::Equal) => &mut found.tied_in_both,
                    (Ordering::Equal, _) => &mut found.tied_in_first,
                    (_, Ordering::Equal) => &mut found.tied_in_second,
                    (a, b) if a == b => &mut found.concordant,
                    _ => &mut found.discordant,
                };
                *count += 1;
            }
        }
        found
    }
}

/// The agreement of each pair of rows. O(n²) per row.
///
/// # Errors
/// [`crate::error::Error::Shapes`] or [`crate::error::Error::Interrupted`].
///
/// # Examples
/// ```
/// use bucketrank_core::{metrics::pair_agreements, rankings::Rankings, run::Interrupt};
/// use ndarray::array;
///
/// let first = Rankings::new(array![[1, 2, 3_i64]].view(), None, &Interrupt::never())?;
/// let second = Rankings::new(array![[2, 1, 2_i64]].view(), None, &Interrupt::never())?;
/// let found = pair_agreements(&first, &second, &Interrupt::never())?[0];
/// assert_eq!((found.concordant, found.discordant, found.tied_in_second), (1, 1, 1));
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
pub fn pair_agreements(
    first: &Rankings,
    second: &Rankings,
    interrupt: &Interrupt,
) -> Result<Vec<PairAgreement>> {
    compare_rows(first, second, interrupt, PairAgreement::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_common_labels_is_counted_once() {
        // Label 5 is missing in the first ranking, label 6 in the second.
        let first = [1, 2, 2, 3, 3, MISSING, 4];
        let second = [1, 2, 1, 3, 3, 2, MISSING];
        let found = PairAgreement::of(&first, &second);
        let expected = PairAgreement {
            concordant: 7,
            discordant: 0,
            tied_in_first: 1,
            tied_in_second: 1,
            tied_in_both: 1,
        };
        assert_eq!(found, expected);
        let found = PairAgreement::of(&[1, 2, 3], &[3, 2, 1]);
        assert_eq!((found.concordant, found.discordant), (0, 3));
    }
}
