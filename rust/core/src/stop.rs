//! [`StopFlag`]: the request to give up long work, which another thread may make at any time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::error::{Error, Result};

/// A flag that all its clones share. Kernels look at it once in every few milliseconds of work.
///
/// # Examples
/// ```
/// use bucketrank_core::stop::StopFlag;
///
/// let stop = StopFlag::default();
/// let watched = stop.clone();
/// assert!(watched.check().is_ok());
/// stop.request();
/// assert!(watched.check().is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks those who watch the flag to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked to stop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// [`Error::Interrupted`] once somebody has asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }
}
