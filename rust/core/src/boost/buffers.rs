//! Buffers of the split search, reused by the tasks, nodes and rounds of a fit.

use std::sync::{Mutex, PoisonError};

use super::candidates::CandidateFeatures;
use super::gradient::{DerivativeLine, OUTPUTS};

/// Buffers that tasks take and give back: as many are allocated as are in use at the same time.
#[derive(Default)]
pub(super) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// A buffer with unspecified content.
    pub(super) fn take(&self) -> T {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.pop().unwrap_or_default()
    }

    /// Returns a buffer for further tasks.
    pub(super) fn give_back(&self, buffer: T) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(buffer);
    }
}

/// Buffers of the split search.
#[derive(Default)]
pub(super) struct SplitBuffers {
    /// Candidate features of a node.
    pub(super) candidates: BufferPool<CandidateFeatures>,
    /// Sums of derivatives per group of bins.
    pub(super) sums: BufferPool<Vec<DerivativeLine>>,
    /// Scores of the boundaries of a feature, per output of a group.
    pub(super) scores: BufferPool<Vec<[f32; OUTPUTS]>>,
    /// Scores of the boundaries of a node.
    pub(super) splits: BufferPool<Vec<f64>>,
}
