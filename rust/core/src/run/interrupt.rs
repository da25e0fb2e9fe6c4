//! [`Interrupt`]: the request to end long work early, and [`WorkMeter`], which limits how often it is checked.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Shortest time between two polls of the [`Host`], in nanoseconds.
const POLL_INTERVAL: u64 = Duration::from_millis(20).as_nanos() as u64;

/// A token that long work checks every few milliseconds. All clones share one state.
///
/// Any thread may [request](Self::request) the interruption. A [`Host`] that must be polled for signals, such as
/// Python, creates the token with [`HostToken`]: [`check`](Self::check) polls the host at most every 20 ms, and only on
/// the thread that created the token. While other threads work, the scheduler checks the token on that thread.
///
/// # Examples
/// ```
/// use bucketrank_core::run::Interrupt;
///
/// let interrupt = Interrupt::new();
/// let shared = interrupt.clone();
/// assert!(shared.check().is_ok());
/// interrupt.request();
/// assert!(shared.check().is_err());
/// ```
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<State<dyn Host>>>);

/// The program that calls this crate, such as Python, which may want to end the work early.
pub trait Host: Send + Sync + 'static {
    /// Whether the work is to be interrupted.
    fn poll(&self) -> bool;
}

impl<F: Fn() -> bool + Send + Sync + 'static> Host for F {
    fn poll(&self) -> bool {
        self()
    }
}

/// A token with its host. Both share one allocation to save time: small calls take only about a microsecond.
pub struct HostToken<H>(Arc<State<H>>);

impl<H: Host> HostToken<H> {
    /// A token that polls `host` on the current thread.
    pub fn new(host: H) -> Self {
        Self(Arc::new(State {
            requested: AtomicBool::new(false),
            owner: thread::current().id(),
            started: OnceLock::new(),
            next_poll: AtomicU64::new(POLL_INTERVAL),
            host,
        }))
    }

    /// The token.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        Interrupt(Some(Arc::<State<H>>::clone(&self.0)))
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &H {
        &self.0.host
    }
}

/// The shared state of a token.
struct State<H: ?Sized> {
    requested: AtomicBool,
    /// The thread that may poll the host.
    owner: ThreadId,
    /// Time of the first check.
    started: OnceLock<Instant>,
    /// Time of the next poll, in nanoseconds after `started`.
    next_poll: AtomicU64,
    host: H,
}

impl Interrupt {
    /// A token that is interrupted by [`Self::request`] only.
    #[must_use]
    pub fn new() -> Self {
        HostToken::new(|| false).interrupt()
    }

    /// A token for work that cannot be interrupted: requests have no effect, and checks cost nothing.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// Interrupts the work.
    pub fn request(&self) {
        if let Some(state) = &self.0 {
            state.requested.store(true, Ordering::Relaxed);
        }
    }

    /// Returns an error if interruption was requested. Polls the host first, if the current thread created the token
    /// and the last poll was at least 20 ms ago.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once interruption has been requested.
    pub fn check(&self) -> Result<()> {
        let Some(state) = &self.0 else {
            return Ok(());
        };
        if state.owner == thread::current().id() && state.is_poll_due() && state.host.poll() {
            self.request();
        }
        self.check_request()
    }

    /// As [`Self::check`], without polling the host. Polling reads the clock, which would slow down a call that takes
    /// only a microsecond.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once interruption has been requested.
    pub(crate) fn check_request(&self) -> Result<()> {
        match &self.0 {
            Some(state) if state.requested.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl<H: ?Sized> State<H> {
    /// Whether the next poll is due; if so, schedules the one after it.
    fn is_poll_due(&self) -> bool {
        let Some(started) = self.started.get() else {
            // The first check starts the interval and reads the clock only once.
            self.started.get_or_init(Instant::now);
            return false;
        };
        let now = started.elapsed().as_nanos() as u64;
        if now < self.next_poll.load(Ordering::Relaxed) {
            return false;
        }
        self.next_poll.store(now + POLL_INTERVAL, Ordering::Relaxed);
        true
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requested = self
            .0
            .as_ref()
            .is_some_and(|state| state.requested.load(Ordering::Relaxed));
        f.debug_struct("Interrupt")
            .field("requested", &requested)
            .finish_non_exhaustive()
    }
}

/// Checks an [`Interrupt`] every few milliseconds in inner loops, where checking at every step would cost too much.
#[derive(Debug, Default)]
pub struct WorkMeter {
    interrupt: Interrupt,
    /// Units of work until the next check.
    left: u64,
}

impl WorkMeter {
    /// Units of work between two checks: about 4 ms, as a unit is about a nanosecond.
    const INTERVAL: u64 = 4_000_000;

    /// A meter that checks the token at the first call of [`Self::add`].
    #[must_use]
    pub fn new(interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            left: 0,
        }
    }

    /// The token that is checked.
    #[must_use]
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Counts `units` of work that is about to be done, of about a nanosecond each.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when a check was due and interruption has been requested.
    #[inline]
    pub fn add(&mut self, units: u64) -> Result<()> {
        if self.left >= units {
            self.left -= units;
            return Ok(());
        }
        self.interrupt.check()?;
        self.left = Self::INTERVAL;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn requests_reach_all_clones_except_of_never() {
        let interrupt = Interrupt::new();
        let clone = interrupt.clone();
        assert_eq!(clone.check(), Ok(()));
        interrupt.request();
        assert_eq!(clone.check(), Err(Error::Interrupted));
        let never = Interrupt::never();
        never.request();
        assert_eq!(never.check(), Ok(()));
    }

    #[test]
    fn the_host_is_polled_on_its_own_thread_and_not_too_often() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let host = HostToken::new(move || counted.fetch_add(1, Ordering::Relaxed) == 1);
        let interrupt = host.interrupt();
        for _ in 0..1000 {
            interrupt.check().unwrap();
        }
        assert_eq!(polls.load(Ordering::Relaxed), 0);
        thread::sleep(Duration::from_millis(25));
        thread::scope(|scope| {
            scope.spawn(|| interrupt.check().unwrap());
        });
        assert_eq!(polls.load(Ordering::Relaxed), 0);
        interrupt.check().unwrap();
        interrupt.check().unwrap();
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        thread::sleep(Duration::from_millis(25));
        assert_eq!(interrupt.check(), Err(Error::Interrupted));
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(interrupt.check(), Err(Error::Interrupted)));
        });
    }

    #[test]
    fn a_meter_checks_at_once_and_then_once_per_interval() {
        let interrupt = Interrupt::new();
        let mut meter = WorkMeter::new(&interrupt);
        assert_eq!(meter.add(1), Ok(()));
        interrupt.request();
        assert_eq!(meter.add(WorkMeter::INTERVAL), Ok(()));
        assert_eq!(meter.add(1), Err(Error::Interrupted));
        assert_eq!(meter.add(1), Err(Error::Interrupted));
        assert_eq!(WorkMeter::default().add(u64::MAX), Ok(()));
    }
}
