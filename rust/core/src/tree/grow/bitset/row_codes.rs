//! [`RowCodes`]: columns (pairs of labels) as one byte per row and outcome, for counting with vector instructions.

use super::MAX_ROWS;
use crate::simd::VECTOR_BYTES;

/// Columns per block: the codes of a row in a block are one vector of bytes per outcome.
pub(super) const BLOCK: usize = VECTOR_BYTES;

/// One byte per column of a block, for the outcomes before and after.
pub(super) type OutcomeBytes = [[u8; BLOCK]; 2];

/// Codes of up to [`BLOCK`] columns.
pub(super) struct RowCodes {
    /// Per row, outcome and column 1 if the row has the outcome, else 0; stale for rows outside the node.
    codes: [OutcomeBytes; MAX_ROWS],
}

impl Default for RowCodes {
    fn default() -> Self {
        Self {
            codes: [[[0; BLOCK]; 2]; MAX_ROWS],
        }
    }
}

impl RowCodes {
    /// Sets the codes of the node's rows, given per column the sets of rows with outcome before and after.
    #[inline(always)]
    pub(super) fn read(&mut self, rows: u64, columns: impl Iterator<Item = [u64; 2]>) {
        let mut sets = [[0_u64; BLOCK]; 2];
        for (lane, [before, after]) in columns.enumerate().take(BLOCK) {
            sets[0][lane] = before;
            sets[1][lane] = after;
        }
        for byte in 0..MAX_ROWS / 8 {
            let mut members = (rows >> (8 * byte)) as u8;
            if members == 0 {
                continue;
            }
            let bytes = sets.map(|sets| sets.map(|set| (set >> (8 * byte)) as u8));
            while members != 0 {
                let bit = members & members.wrapping_neg();
                let codes = &mut self.codes[8 * byte + bit.trailing_zeros() as usize];
                for outcome in 0..2 {
                    for lane in 0..BLOCK {
                        codes[outcome][lane] = u8::from(bytes[outcome][lane] & bit != 0);
                    }
                }
                members &= members - 1;
            }
        }
    }

    /// The codes of the first row of a set that is not empty.
    #[inline(always)]
    pub(super) fn first(&self, rows: u64) -> &OutcomeBytes {
        &self.codes[rows.trailing_zeros() as usize % MAX_ROWS]
    }
}
