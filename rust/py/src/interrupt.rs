//! Ctrl-C during long work: the calling thread asks the interpreter now and then whether a signal has arrived.

use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bucketrank_core::error::Result;
use bucketrank_core::parallel::Jobs;
use bucketrank_core::stop::StopFlag;
use pyo3::prelude::*;

use crate::border::errors;

/// How often the interpreter is asked.
const POLL: Duration = Duration::from_millis(20);

/// What a signal handler raised, kept until the work has stopped.
#[derive(Default)]
pub struct Signals {
    raised: Mutex<Option<PyErr>>,
}

impl Signals {
    /// Whether the work should stop. Call it on the thread that called from Python.
    pub fn pending(&self) -> bool {
        // The method itself, which clippy suggests, is not general enough in its lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.keep(error);
        }
        self.raised.lock().is_ok_and(|raised| raised.is_some())
    }

    /// Keeps an exception that must end the work; the first one wins.
    pub fn keep(&self, error: PyErr) {
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
    }

    /// Raises what a handler raised while the work was going on.
    pub fn raise(&self) -> PyResult<()> {
        match self.raised.lock().map(|mut raised| raised.take()) {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Does work that several threads share, detached from the interpreter; this thread listens for signals meanwhile.
pub fn spread<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(Jobs<'_>) -> Result<T> + Send,
) -> errors::Result<T> {
    let signals = Signals::default();
    let result = py.detach(|| {
        work(Jobs {
            n_jobs,
            chunk: 1,
            should_stop: &|| signals.pending(),
        })
    });
    signals.raise()?;
    Ok(result?)
}

/// Elementary steps of work that ends before anybody could interrupt it: a thread of its own would take longer.
const SHORT: usize = 1 << 21;

/// Does work of about so many elementary steps, detached from the interpreter. Work that is worth it is done on
/// another thread, while this one listens for signals and raises the flag.
pub fn stoppable<T: Send>(
    py: Python<'_>,
    steps: usize,
    work: impl FnOnce(&StopFlag) -> Result<T> + Send,
) -> errors::Result<T> {
    if steps <= SHORT {
        return Ok(py.detach(|| work(&StopFlag::default()))?);
    }
    watched(py, |stop, _| work(stop))
}

/// Does long work on another thread while this one, detached from the interpreter, listens for signals. The work
/// is handed a question that it may ask as often as it likes, on any thread: should it stop?
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T> + Send,
) -> errors::Result<T> {
    watched(py, |_, should_stop| work(should_stop))
}

/// As [`interruptible`], with a flag beside the question: kernels watch the flag. Where no thread can be made, only
/// the question hears signals.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&StopFlag, &(dyn Fn() -> bool + Sync)) -> Result<T> + Send,
) -> errors::Result<T> {
    let signals = Signals::default();
    let result = py.detach(|| listen(&signals, work));
    signals.raise()?;
    Ok(result?)
}

fn listen<T: Send>(
    signals: &Signals,
    work: impl FnOnce(&StopFlag, &(dyn Fn() -> bool + Sync)) -> T + Send,
) -> T {
    let stop = StopFlag::default();
    // Taken by whoever does the work: the new thread, or this one where no thread can be made.
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let done = thread::scope(|scope| {
        let (sender, receiver) = channel::<()>();
        let (stop, take) = (&stop, &take);
        let task = move || {
            // Dropped at the end of the work, whatever its end: the calling thread then wakes up.
            let _sender = sender;
            take().map(|work| work(stop, &|| stop.is_requested()))
        };
        let worker = thread::Builder::new().spawn_scoped(scope, task).ok()?;
        while receiver.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if signals.pending() {
                stop.request();
            }
        }
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    match (done, take()) {
        (Some(result), _) => result,
        (None, Some(work)) => work(&stop, &|| {
            let pending = signals.pending();
            if pending {
                stop.request();
            }
            pending
        }),
        (None, None) => unreachable!("the work is done by exactly one thread"),
    }
}
