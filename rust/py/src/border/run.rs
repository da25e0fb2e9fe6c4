//! [`run`]: long work, detached from the interpreter, that Ctrl-C can interrupt.

use std::sync::{Mutex, PoisonError};

use bucketrank_core::error::Result;
use bucketrank_core::run::{Host, HostToken, Interrupt, Jobs};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use super::errors;

/// The first exception of a signal handler or of a callback, which is raised when the work has ended.
#[derive(Default)]
pub struct FirstException(Mutex<Option<PyErr>>);

// A `Host` is polled by the core during long work.
impl Host for FirstException {
    /// Runs the signal handlers of Python and keeps their exception.
    fn poll(&self) -> bool {
        // The path of the method, which clippy suggests, does not compile: its lifetime is not general enough.
        #[allow(clippy::redundant_closure_for_method_calls)]
        let signals = Python::attach(|py| py.check_signals());
        signals.map_err(|error| self.keep(error)).is_err()
    }
}

impl FirstException {
    /// Calls back into Python; an exception interrupts the work.
    pub fn call<A>(&self, interrupt: &Interrupt, callback: &Py<PyAny>, arguments: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let called = Python::attach(|py| callback.call1(py, arguments).map(drop));
        if let Err(error) = called {
            self.keep(error);
            interrupt.request();
        }
    }

    /// As [`FirstException::call`], for an optional callback.
    pub fn report<A>(&self, interrupt: &Interrupt, callback: Option<&Py<PyAny>>, arguments: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if let Some(callback) = callback {
            self.call(interrupt, callback, arguments);
        }
    }

    fn keep(&self, error: PyErr) {
        let mut raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs `work` detached from the interpreter. Its interrupt polls the signals of Python on this thread.
pub fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> errors::Result<T> {
    run_with_callbacks(py, |interrupt, _| work(interrupt))
}

/// As [`run`], for a loop on `n_jobs` threads.
pub fn run_jobs<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(Jobs<'_>) -> Result<T> + Send,
) -> errors::Result<T> {
    run(py, |interrupt| work(Jobs { n_jobs, interrupt }))
}

/// As [`run`], for work that calls back into Python through [`FirstException::call`].
pub fn run_with_callbacks<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt, &FirstException) -> Result<T> + Send,
) -> errors::Result<T> {
    let token = HostToken::new(FirstException::default());
    let (interrupt, raised) = (token.interrupt(), token.host());
    let result = py.detach(|| work(&interrupt, raised));
    match raised.take() {
        Some(error) => Err(error.into()),
        None => Ok(result?),
    }
}
