//! [`Budget`]: limits of an exact search.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::run::{Interrupt, WorkMeter};

/// Steps between two readings of the clock.
const CLOCK_INTERVAL: u64 = 1_000_000;

/// Limits of an exact search, each of which may be absent. A limit of steps keeps the result reproducible; a limit of
/// time does not.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in super::super) struct SearchLimits {
    /// Largest number of elementary steps.
    pub(in super::super) steps: Option<u64>,
    /// Longest time.
    pub(in super::super) time: Option<Duration>,
}

/// Remaining steps and time of an exact search.
pub(super) struct Budget {
    /// Steps that may still be done.
    steps: u64,
    /// Steps until the clock is read again.
    until_clock: u64,
    deadline: Option<Instant>,
    /// Whether a limit was reached.
    spent: bool,
    pub(super) meter: WorkMeter,
}

impl Budget {
    /// A full budget; the clock starts now.
    pub(super) fn new(limits: SearchLimits, interrupt: &Interrupt) -> Self {
        Self {
            steps: limits.steps.unwrap_or(u64::MAX),
            until_clock: CLOCK_INTERVAL,
            // A time beyond the range of the clock is no limit.
            deadline: limits
                .time
                .and_then(|time| Instant::now().checked_add(time)),
            spent: false,
            meter: WorkMeter::new(interrupt),
        }
    }

    /// Counts steps that are about to be done.
    ///
    /// # Errors
    /// [`crate::error::Error::Interrupted`].
    #[inline]
    pub(super) fn spend(&mut self, steps: u64) -> Result<()> {
        self.meter.add(steps)?;
        if self.steps < steps {
            self.spent = true;
        } else {
            self.steps -= steps;
        }
        if self.until_clock < steps {
            self.until_clock = CLOCK_INTERVAL;
            self.spent |= self.is_late();
        } else {
            self.until_clock -= steps;
        }
        Ok(())
    }

    /// Whether the time is over; reads the clock only if the time is limited.
    pub(super) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether a limit was reached.
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }
}
