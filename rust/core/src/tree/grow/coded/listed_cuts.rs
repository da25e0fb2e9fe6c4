//! The search of a feature with few cuts (candidate thresholds): the improvements of all are bounded, then the most
//! promising cuts are scored.

use super::cut_splits::CutSplits;
use super::search_buffers::{BoundedSplit, SearchBuffers};
use crate::error::Result;
use crate::run::WorkMeter;
use crate::tree::split::best_split::{BestSplit, MARGIN};

/// Largest number of cuts of a feature searched in this way, for nodes with this many columns (pairs of labels). More
/// cuts are searched by bisection (`SplitSearch`), which evaluates few of them. With fewer columns a score is cheaper,
/// and a bound saves less.
pub(super) fn max_cuts(columns: usize) -> usize {
    if columns < 12 {
        16
    } else {
        64
    }
}

impl<const SIDES: usize> CutSplits<'_, SIDES> {
    /// Bounds the splits at all cuts, then scores them by descending bound until the bound is below the best
    /// improvement.
    #[inline(always)]
    pub(super) fn search_all(
        &mut self,
        buffers: &mut SearchBuffers,
        best: &mut BestSplit,
        meter: &mut WorkMeter,
    ) -> Result<()> {
        self.count_cuts(buffers, meter)?;
        self.prepare_bounds();
        if SIDES == 2 && self.bound_missing_split() >= best.improvement() - MARGIN {
            self.score_missing_split(best);
        }
        let SearchBuffers {
            cuts,
            counts,
            bounded,
            ..
        } = buffers;
        // The first and the last entry of `cuts` are the ends of the sorted rows.
        let inner = cuts.iter().zip(counts.iter()).enumerate();
        bounded.clear();
        for (at, (&cut, left)) in inner.take(cuts.len() - 1).skip(1) {
            let bounds = self.bound_cut(cut as usize, left);
            for (side, bound) in (0..).zip(bounds) {
                if bound >= best.improvement() - MARGIN {
                    bounded.push(BoundedSplit {
                        bound,
                        cut: at as u32,
                        side,
                    });
                }
            }
        }
        bounded.sort_unstable_by(|a, b| b.bound.total_cmp(&a.bound));
        for split in bounded.iter() {
            if split.bound < best.improvement() - MARGIN {
                break;
            }
            let cut = split.cut as usize;
            self.score_side(
                (cuts[cut] as usize, &counts[cut]),
                split.side as usize,
                best,
            );
        }
        Ok(())
    }
}
