//! The scheduler: the only place that starts threads.
//!
//! Every call that uses several threads builds a private pool and drops it at the end. The global pool of rayon would
//! outlive the call, and a child process forked afterwards would wait for threads that it does not have.
//!
//! [`map`] and [`stream`] run one loop, [`scope`] a computation with several loops inside. All of them follow one rule:
//! one thread per [`NANOSECONDS_PER_THREAD`] of estimated work, but at most `n_jobs`. Results never depend on the
//! number of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::{require_memory, Interrupt};
use crate::error::{Error, Result};

/// Least estimated work per thread. Starting a pool of two threads and waiting for it takes 60 to 120 µs, so threads
/// pay off from about half a millisecond of work each. In unit tests even the smallest loops use threads.
pub const NANOSECONDS_PER_THREAD: u64 = if cfg!(test) { 1 } else { 500_000 };

/// Estimated time of a chunk, the work that a thread fetches at once. The interrupt is checked between chunks.
const NANOSECONDS_PER_CHUNK: u64 = 1_000_000;

/// Least number of chunks per thread, if there are enough items. At the end of a loop, threads without work wait for
/// the last chunk; with many chunks it is a small part of the loop.
const CHUNKS_PER_THREAD: usize = 32;

/// Interval at which the calling thread checks the interrupt while other threads work.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The largest number of threads of a call, and its interrupt.
#[derive(Clone, Copy)]
pub struct Jobs<'a> {
    /// Number of threads; 0 means all cores.
    pub n_jobs: usize,
    /// Ends the work early.
    pub interrupt: &'a Interrupt,
}

/// The size of a loop: number of items and rough estimate of the time per item.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Number of items.
    pub items: usize,
    /// Estimated time of one item in nanoseconds, on one thread; an error of a small factor does no harm.
    pub nanoseconds: u64,
}

impl Work {
    /// A loop over `items` items that take about `nanoseconds` each.
    #[must_use]
    pub fn new(items: usize, nanoseconds: usize) -> Self {
        Self {
            items,
            nanoseconds: (nanoseconds as u64).max(1),
        }
    }

    /// Estimated time of the loop in nanoseconds, on one thread.
    fn total(self) -> u64 {
        self.nanoseconds.saturating_mul(self.items as u64)
    }

    /// Number of items in a chunk.
    fn chunk(self, threads: usize) -> usize {
        let by_time = NANOSECONDS_PER_CHUNK / self.nanoseconds;
        let mut chunk = usize::try_from(by_time).unwrap_or(usize::MAX);
        if threads > 1 {
            chunk = chunk.min(self.items / (threads * CHUNKS_PER_THREAD));
        }
        chunk.clamp(1, self.items.max(1))
    }
}

impl Jobs<'static> {
    /// The calling thread only, without interrupt.
    #[must_use]
    pub const fn serial() -> Self {
        Self {
            n_jobs: 1,
            interrupt: const { &Interrupt::never() },
        }
    }
}

impl Jobs<'_> {
    /// Number of threads for work that takes about `nanoseconds` on one thread.
    fn threads(self, nanoseconds: u64) -> usize {
        let worthwhile =
            usize::try_from(nanoseconds / NANOSECONDS_PER_THREAD).unwrap_or(usize::MAX);
        let wanted = match self.n_jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        wanted.min(worthwhile).max(1)
    }
}

/// Computes `f` for each item; results are in the order of the items. `state` creates the scratch buffers of a thread.
///
/// # Errors
/// The error of the first item that fails; [`Error::Interrupted`]; [`Error::Threads`] when no thread can be started;
/// [`Error::Memory`].
pub fn map<S, T: Send>(
    jobs: Jobs<'_>,
    work: Work,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let chunk = work.chunk(jobs.threads(work.total()).min(work.items));
    let chunks = Work {
        items: work.items.div_ceil(chunk),
        nanoseconds: work.nanoseconds.saturating_mul(chunk as u64),
    };
    require_memory::<T>("the results", &[work.items, 2])?;
    let mut parts: Vec<(usize, Result<Vec<T>>)> = Vec::with_capacity(chunks.items);
    let compute = |state: &mut S, index: usize| {
        let items = index * chunk..work.items.min((index + 1) * chunk);
        items.map(|item| f(state, item)).collect::<Result<Vec<T>>>()
    };
    stream(jobs, chunks, state, compute, |index, part| {
        let succeeded = part.is_ok();
        parts.push((index, part));
        succeeded
    })?;
    // Chunks are started in order and all started chunks end, so the parts contain the first failed item.
    parts.sort_unstable_by_key(|&(index, _)| index);
    let mut results = Vec::with_capacity(work.items);
    for (_, part) in parts {
        results.extend(part?);
    }
    Ok(results)
}

/// Computes `f` for each item and passes every result to `each` on the calling thread as soon as it is available. After
/// `each` returns false no more items are started, but the results of running items are still passed to it.
///
/// # Errors
/// [`Error::Interrupted`]; [`Error::Threads`] when no thread can be started.
pub fn stream<S, T: Send>(
    jobs: Jobs<'_>,
    work: Work,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> T + Sync,
    mut each: impl FnMut(usize, T) -> bool,
) -> Result<()> {
    let threads = jobs.threads(work.total()).min(work.items);
    if threads <= 1 {
        let mut state = state();
        for item in 0..work.items {
            jobs.interrupt.check()?;
            let result = f(&mut state, item);
            // An interrupted item may have ended early.
            jobs.interrupt.check()?;
            if !each(item, result) {
                break;
            }
        }
        return Ok(());
    }
    let (next, has_enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    let take_items = |results: &Sender<(usize, T)>| {
        let mut state = state();
        while !has_enough.load(Ordering::Relaxed) && jobs.interrupt.check().is_ok() {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= work.items || results.send((item, f(&mut state, item))).is_err() {
                break;
            }
        }
    };
    drive(
        threads,
        threads,
        jobs.interrupt,
        take_items,
        |(item, result)| {
            if jobs.interrupt.check().is_ok() && !each(item, result) {
                has_enough.store(true, Ordering::Relaxed);
            }
        },
    )
}

/// Runs `f`, which takes about `nanoseconds` on one thread, with a pool for the loops inside it.
///
/// # Errors
/// Any error of `f`; [`Error::Interrupted`]; [`Error::Threads`] when no thread can be started.
pub fn scope<T: Send>(
    jobs: Jobs<'_>,
    nanoseconds: u64,
    f: impl FnOnce(Pool) -> Result<T> + Send,
) -> Result<T> {
    let threads = jobs.threads(nanoseconds);
    if threads == 1 {
        return f(Pool { threads });
    }
    let f = Mutex::new(Some(f));
    let take = || f.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut result = Err(Error::Interrupted);
    let call = |results: &Sender<Result<T>>| {
        let _ = take().map(|f| results.send(f(Pool { threads })));
    };
    drive(threads, 1, jobs.interrupt, call, |value| result = value)?;
    result
}

/// The threads that a computation in [`scope`] runs on. Each of its loops uses all of them, or only the thread that
/// starts the loop, if the loop has too little work for two threads.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    threads: usize,
}

impl Pool {
    /// The calling thread only.
    #[cfg(test)]
    pub(crate) const SERIAL: Self = Self { threads: 1 };

    /// Number of threads.
    #[must_use]
    pub fn threads(self) -> usize {
        self.threads
    }

    /// Computes `f` for each of the items, which take about `nanoseconds` in total; results are in the order of the
    /// items.
    pub fn map<A: Send, T: Send, I>(
        self,
        nanoseconds: usize,
        items: I,
        f: impl Fn(A) -> T + Sync,
    ) -> Vec<T>
    where
        I: IntoIterator<Item = A> + IntoParallelIterator<Item = A, Iter: IndexedParallelIterator>,
    {
        if self.is_worthwhile(nanoseconds) {
            items.into_par_iter().map(&f).collect()
        } else {
            items.into_iter().map(f).collect()
        }
    }

    /// Calls `f` with the index of each chunk of `values` and the chunk; all calls together take about `nanoseconds`.
    pub fn for_each_chunk<T: Send>(
        self,
        nanoseconds: usize,
        values: &mut [T],
        chunk: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let chunk = chunk.max(1);
        if self.is_worthwhile(nanoseconds) {
            let chunks = values.par_chunks_mut(chunk).enumerate();
            chunks.for_each(|(index, values)| f(index, values));
        } else {
            let chunks = values.chunks_mut(chunk).enumerate();
            chunks.for_each(|(index, values)| f(index, values));
        }
    }

    fn is_worthwhile(self, nanoseconds: usize) -> bool {
        self.threads > 1 && nanoseconds as u64 / NANOSECONDS_PER_THREAD >= 2
    }
}

/// Runs `work` on `workers` threads of a new pool of `threads` threads and passes the messages that they send to
/// `receive` on the calling thread. The calling thread also checks the interrupt, because the host program, such as
/// Python, can be polled for signals only there.
///
/// # Errors
/// [`Error::Interrupted`], after all threads have ended; [`Error::Threads`].
fn drive<T: Send>(
    threads: usize,
    workers: usize,
    interrupt: &Interrupt,
    work: impl Fn(&Sender<T>) + Sync,
    mut receive: impl FnMut(T),
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|_| Error::Threads { n_jobs: threads })?;
    let (sender, receiver) = channel();
    pool.in_place_scope(|scope| {
        for _ in 0..workers {
            let (sender, work) = (sender.clone(), &work);
            // A worker drops its sender when it ends; the loop below ends after the last one.
            scope.spawn(move |_| work(&sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(message) => receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Polls the host. The result is not needed here: interrupted workers end by their own checks.
            let _ = interrupt.check();
        }
    });
    interrupt.check()
}

#[cfg(test)]
mod tests;
