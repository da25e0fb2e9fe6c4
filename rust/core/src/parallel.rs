//! The only place where threads are made.
//!
//! Every coarse call builds a private pool and drops it at the end. The global pool of rayon would outlive the
//! call, and a child process forked afterwards would wait for threads that it does not have.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// How long an interruption may go unnoticed beyond the end of the running chunks.
const POLL: Duration = Duration::from_millis(20);

/// How often a thread takes items, at least: at the end the others wait for one such turn.
const TURNS: usize = 32;

/// How a coarse loop is to be run.
#[derive(Clone, Copy)]
pub struct Jobs<'a> {
    /// Number of threads; 0 stands for as many as the machine offers.
    pub n_jobs: usize,
    /// Number of items that are worth a thread: a loop of no more items than that runs serially. The largest number
    /// that a thread takes at once.
    pub chunk: usize,
    /// Asked now and then, always on the calling thread, whether to give up.
    pub should_stop: &'a dyn Fn() -> bool,
}

/// Computes `f` for the items 0..`items`, in order in the result whatever the number of threads. `state` makes the
/// scratch memory that a thread hands to `f` again and again.
///
/// # Errors
/// The error of the first item that has one, or [`Error::Interrupted`] when `should_stop` says so.
pub fn run<S, T: Send>(
    jobs: Jobs<'_>,
    items: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let chunk = jobs.chunk.max(1);
    let threads = wanted_threads(jobs.n_jobs).min(items.div_ceil(chunk));
    if threads > 1 {
        // Where no thread can be made (some sandboxes and browsers), the serial loop computes the same.
        if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            return run_in(&pool, threads, jobs, items, state, f);
        }
    }
    let mut state = state();
    let mut results = Vec::with_capacity(items);
    let mut asked = Instant::now();
    for start in (0..items).step_by(chunk) {
        if asked.elapsed() >= POLL || start == 0 {
            if (jobs.should_stop)() {
                return Err(Error::Interrupted);
            }
            asked = Instant::now();
        }
        for item in start..items.min(start + chunk) {
            results.push(f(&mut state, item)?);
        }
    }
    Ok(results)
}

fn run_in<S, T: Send>(
    pool: &rayon::ThreadPool,
    threads: usize,
    jobs: Jobs<'_>,
    items: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let chunk = jobs.chunk.min(items / (threads * TURNS)).max(1);
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let mut interrupted = (jobs.should_stop)();
    if interrupted {
        return Err(Error::Interrupted);
    }
    let done: Mutex<Vec<(usize, Result<Vec<T>>)>> = Mutex::new(Vec::new());
    let (sender, receiver) = channel::<()>();
    // The closure runs on the calling thread, the only one on which a host language can be asked about signals.
    pool.in_place_scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, stop, done, state, f) = (&next, &stop, &done, &state, &f);
            scope.spawn(move |_| {
                // Dropped at the end of the task: when all are gone, the calling thread wakes up.
                let _sender = sender;
                let mut state = state();
                while !stop.load(Ordering::Relaxed) {
                    let start = next.fetch_add(chunk, Ordering::Relaxed);
                    if start >= items {
                        break;
                    }
                    let part: Result<Vec<T>> = (start..items.min(start + chunk))
                        .map(|item| f(&mut state, item))
                        .collect();
                    // Chunks are taken in order and finished once taken: the first error is always found.
                    if part.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((start, part));
                }
            });
        }
        drop(sender);
        while receiver.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if (jobs.should_stop)() {
                interrupted = true;
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
    if interrupted {
        return Err(Error::Interrupted);
    }
    let mut parts = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_unstable_by_key(|&(start, _)| start);
    let mut results = Vec::with_capacity(items);
    for (_, part) in parts {
        results.extend(part?);
    }
    Ok(results)
}

/// Computes `f` for the items 0..`items`, taken in this order by `n_jobs` threads, and hands every result to `each` on
/// the calling thread as soon as it is there. When `each` answers false, no more items are taken; those that are
/// running end and are handed over. `f` is told when to give up.
///
/// # Errors
/// [`Error::Interrupted`] when `should_stop` says so, [`Error::Threads`] when no thread can be started.
pub(crate) fn stream<T: Send>(
    jobs: Jobs<'_>,
    items: usize,
    f: impl Fn(usize, &(dyn Fn() -> bool + Sync)) -> T + Sync,
    each: &mut dyn FnMut(usize, T) -> bool,
) -> Result<()> {
    let threads = wanted_threads(jobs.n_jobs).min(items).max(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| Error::Threads { n_jobs: threads })?;
    let next = AtomicUsize::new(0);
    // Two wishes: to take no more items, and to leave the running ones too.
    let (enough, give_up) = (AtomicBool::new(false), AtomicBool::new(false));
    let (sender, receiver) = channel();
    pool.in_place_scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, enough, give_up, f) = (&next, &enough, &give_up, &f);
            scope.spawn(move |_| {
                while !enough.load(Ordering::Relaxed) {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= items {
                        break;
                    }
                    let result = f(item, &|| give_up.load(Ordering::Relaxed));
                    if sender.send((item, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut asked = Instant::now();
        loop {
            match receiver.recv_timeout(POLL) {
                Ok((item, result)) => {
                    // After an interruption results are those of jobs that were told to give up.
                    if !give_up.load(Ordering::Relaxed) && !each(item, result) {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if asked.elapsed() >= POLL {
                if (jobs.should_stop)() {
                    enough.store(true, Ordering::Relaxed);
                    give_up.store(true, Ordering::Relaxed);
                }
                asked = Instant::now();
            }
        }
    });
    if give_up.into_inner() {
        return Err(Error::Interrupted);
    }
    Ok(())
}

fn wanted_threads(n_jobs: usize) -> usize {
    match n_jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Runs `f` in a private pool of `n_jobs` threads, so that parallel iterators inside it use that pool; with one
/// job, on the calling thread and without any pool. A private pool ends with the call: a process that forks
/// afterwards does not inherit threads that are gone.
///
/// # Errors
/// [`Error::Threads`] when the system refuses to start the threads.
pub(crate) fn install<T: Send>(n_jobs: usize, f: impl FnOnce() -> T + Send) -> Result<T> {
    if n_jobs <= 1 {
        return Ok(f());
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(n_jobs)
        .build()
        .map_err(|_| Error::Threads { n_jobs })?;
    Ok(pool.install(f))
}

/// Computes `f` for the items 0..`items`, in order in the result. With `spread` the threads of the pool that the caller
/// runs in share the items; without it, or outside of any pool, nothing is started.
pub(crate) fn ordered<T: Send>(
    spread: bool,
    items: usize,
    f: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    if spread {
        (0..items).into_par_iter().map(&f).collect()
    } else {
        (0..items).map(f).collect()
    }
}

/// Calls `f` with the number of each chunk of `values` and the chunk, on the threads that [`ordered`] would use.
pub(crate) fn each_chunk<T: Send>(
    spread: bool,
    values: &mut [T],
    chunk: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    let chunk = chunk.max(1);
    if spread {
        let chunks = values.par_chunks_mut(chunk).enumerate();
        chunks.for_each(|(number, values)| f(number, values));
    } else {
        for (number, values) in values.chunks_mut(chunk).enumerate() {
            f(number, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_as_many_threads_as_asked_for() {
        assert_eq!(install(3, rayon::current_num_threads).unwrap(), 3);
        assert_eq!(install(1, || 7).unwrap(), 7);
    }

    #[test]
    fn items_and_chunks_keep_their_places() {
        for threads in [1, 3] {
            let spread = threads > 1;
            let result = install(threads, || {
                let squares = ordered(spread, 50, |i| i * i);
                let mut values = vec![0; 50];
                each_chunk(spread, &mut values, 8, |number, chunk| {
                    for (i, value) in chunk.iter_mut().enumerate() {
                        *value = (number * 8 + i).pow(2);
                    }
                });
                (squares, values)
            });
            let (squares, values) = result.unwrap();
            assert_eq!(squares, values);
            assert_eq!(squares[49], 49 * 49);
        }
    }

    fn jobs(n_jobs: usize, should_stop: &dyn Fn() -> bool) -> Jobs<'_> {
        Jobs {
            n_jobs,
            chunk: 3,
            should_stop,
        }
    }

    #[test]
    fn results_are_in_order_for_every_number_of_threads() {
        for n_jobs in 0..5 {
            let squares = run(jobs(n_jobs, &|| false), 100, || (), |(), i| Ok(i * i)).unwrap();
            assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        }
        let none = run(jobs(2, &|| false), 0, || (), |(), i| Ok(i)).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn the_first_error_wins() {
        let fail = |(): &mut (), found: usize| {
            if found % 10 == 7 {
                Err(Error::TooFewLabels { found })
            } else {
                Ok(())
            }
        };
        for n_jobs in 1..4 {
            let result = run(jobs(n_jobs, &|| false), 1000, || (), fail);
            assert_eq!(result, Err(Error::TooFewLabels { found: 7 }));
        }
    }

    #[test]
    fn a_stream_hands_everything_over_once() {
        for n_jobs in 0..4 {
            let mut seen = vec![0; 50];
            let pool = jobs(n_jobs, &|| false);
            stream(pool, 50, |item, _| item * 2, &mut |item, double| {
                assert_eq!(double, 2 * item);
                seen[item] += 1;
                true
            })
            .unwrap();
            assert_eq!(seen, [1; 50]);
        }
    }

    #[test]
    fn a_stream_ends_early_when_asked() {
        let mut handed = 0;
        stream(
            jobs(2, &|| false),
            100_000,
            |_, _| std::thread::sleep(Duration::from_millis(1)),
            &mut |_, ()| {
                handed += 1;
                handed < 10
            },
        )
        .unwrap();
        assert!((10..1000).contains(&handed), "{handed}");
        let forever = |_, stop: &(dyn Fn() -> bool + Sync)| {
            while !stop() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let asked = std::cell::Cell::new(0);
        let later = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        let result = stream(jobs(2, &later), 10, forever, &mut |_, ()| true);
        assert_eq!(result, Err(Error::Interrupted));
    }

    #[test]
    fn a_request_to_stop_is_heard() {
        let asked = std::cell::Cell::new(0);
        let later = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        for n_jobs in 1..3 {
            asked.set(0);
            let slow = |(): &mut (), _| {
                std::thread::sleep(Duration::from_millis(5));
                Ok(())
            };
            let result = run(jobs(n_jobs, &later), 10_000, || (), slow);
            assert_eq!(result, Err(Error::Interrupted));
        }
    }
}
