//! [`get_or_build`]: fills a cell on first use without holding its lock meanwhile.

use std::sync::OnceLock;

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

#[cfg(test)]
mod tests {
    use super::*;

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
