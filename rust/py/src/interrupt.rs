//! Ctrl-C during long work: the calling thread asks the interpreter now and then whether a signal has arrived.

use std::sync::Mutex;

use pyo3::prelude::*;

/// What a signal handler raised, kept until the work has stopped.
#[derive(Default)]
pub struct Signals {
    raised: Mutex<Option<PyErr>>,
}

impl Signals {
    /// Whether the work should stop. Call it on the thread that called from Python.
    pub fn pending(&self) -> bool {
        #[allow(clippy::redundant_closure_for_method_calls)]
        // the method alone fixes a lifetime too early
        let Err(error) = Python::attach(|py| py.check_signals()) else {
            return false;
        };
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
        true
    }

    /// Raises what a handler raised while the work was going on.
    pub fn raise(&self) -> PyResult<()> {
        match self.raised.lock().map(|mut raised| raised.take()) {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}
