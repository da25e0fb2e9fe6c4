//! Bucket orders (rankings with ties) from the pair shares that any model predicts: for each pair of labels how often
//! the first is before, tied with, or after the second.

use ndarray::ArrayView2;

use crate::aggregate::{Aggregator, Evidence, Needs, Workspace};
use crate::bucket_order::BucketOrder;
use crate::error::Result;
use crate::pairs::PairShares;
use crate::run::{Interrupt, Jobs};

use super::{map_shares, PairModel};

/// Consensus of the shares that a model predicts for each row.
///
/// # Errors
/// As [`map_shares`] and [`Aggregator::aggregate`], which rejects methods that need rankings.
pub fn consensus(
    model: &dyn PairModel,
    aggregator: &Aggregator,
    values: ArrayView2<'_, f64>,
    jobs: Jobs<'_>,
) -> Result<Vec<BucketOrder>> {
    map_shares(
        model,
        values,
        jobs,
        || ShareConsensus::new(jobs.interrupt),
        |consensus, shares| consensus.aggregate(aggregator, shares),
    )
}

/// Aggregates pair shares into bucket orders, reusing buffers between calls.
#[derive(Default)]
pub struct ShareConsensus {
    /// The pair statistics that the aggregator reads; allocated by the first call.
    evidence: Option<Evidence>,
    workspace: Workspace,
}

impl ShareConsensus {
    /// Creates it without buffers, which the first call allocates; `interrupt` ends a long consensus.
    #[must_use]
    pub fn new(interrupt: &Interrupt) -> Self {
        Self {
            evidence: None,
            workspace: Workspace::new(interrupt),
        }
    }

    /// Aggregates the shares into a bucket order.
    ///
    /// # Errors
    /// As [`Aggregator::aggregate`].
    pub fn aggregate(
        &mut self,
        aggregator: &Aggregator,
        shares: &PairShares,
    ) -> Result<BucketOrder> {
        let evidence = match &mut self.evidence {
            Some(evidence) => evidence,
            none => none.insert(Evidence::new(shares.labels(), Needs::Shares)?),
        };
        evidence.fill_from_shares(shares, aggregator);
        aggregator.aggregate(evidence, &mut self.workspace)
    }
}
