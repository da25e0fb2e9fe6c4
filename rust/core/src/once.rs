//! Values that are built on first use without a lock that a forked child would wait for: [`get_or_build`], and
//! [`build_once`] and [`BuildTurn`] for large values, which one thread builds.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::Duration;

/// The value of a cell, built by the first call.
///
/// Unlike in [`OnceLock::get_or_init`], the value is built outside the lock. Otherwise a child process forked during
/// the build would wait for ever, because a fork copies the lock but not the thread that holds it. Threads that call
/// this at the same time may all build the value; one of the results is kept.
pub(crate) fn get_or_build<T>(cell: &OnceLock<T>, build: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let value = build();
    cell.get_or_init(|| value)
}

/// As [`get_or_build`], but only one thread of the process builds the value while the others wait: for values that
/// take much memory. `builder` is passed to [`BuildTurn::take`].
pub(crate) fn build_once<'a, T>(
    cell: &'a OnceLock<T>,
    builder: &AtomicU32,
    build: impl FnOnce() -> T,
) -> &'a T {
    let _turn = loop {
        if let Some(value) = cell.get() {
            return value;
        }
        if let Some(turn) = BuildTurn::take(builder) {
            break turn;
        }
        std::thread::sleep(Duration::from_micros(100));
    };
    get_or_build(cell, build)
}

/// The turn of one thread to build a value; dropping it ends the turn.
pub(crate) struct BuildTurn<'a>(&'a AtomicU32);

impl<'a> BuildTurn<'a> {
    /// Takes the turn, unless a thread of this process has it. `builder` holds the id of the process that has the turn,
    /// or 0.
    ///
    /// The id of another process is ignored: it was copied by a fork during a build, and the thread that builds exists
    /// only in that other process.
    pub(crate) fn take(builder: &'a AtomicU32) -> Option<Self> {
        let process = std::process::id();
        let found = builder.load(Ordering::Relaxed);
        if found == process {
            return None;
        }
        let exchanged =
            builder.compare_exchange(found, process, Ordering::Acquire, Ordering::Relaxed);
        exchanged.is_ok().then(|| Self(builder))
    }
}

impl Drop for BuildTurn<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_of_a_process_has_the_turn() {
        let builder = AtomicU32::new(0);
        let turn = BuildTurn::take(&builder);
        assert!(turn.is_some() && BuildTurn::take(&builder).is_none());
        drop(turn);
        assert!(BuildTurn::take(&builder).is_some());
        // In a forked child the builder is a thread of the parent.
        builder.store(std::process::id() + 1, Ordering::Relaxed);
        assert!(BuildTurn::take(&builder).is_some());
    }

    #[test]
    fn threads_wait_for_the_thread_that_builds() {
        let (cell, builder, calls) = (OnceLock::new(), AtomicU32::new(0), AtomicU32::new(0));
        let build = || {
            std::thread::sleep(Duration::from_millis(20));
            calls.fetch_add(1, Ordering::Relaxed)
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*build_once(&cell, &builder, build), 0));
            }
        });
        assert_eq!(calls.into_inner(), 1);
        assert!(BuildTurn::take(&builder).is_some());
    }

    #[test]
    fn a_value_is_built_without_the_lock_and_kept() {
        let cell = OnceLock::new();
        // The inner call would wait for the outer one for ever if that held the lock.
        let value = get_or_build(&cell, || {
            assert_eq!(*get_or_build(&cell, || 1), 1);
            2
        });
        assert_eq!(*value, 1);
        assert_eq!(*get_or_build(&cell, || 3), 1);
    }
}
