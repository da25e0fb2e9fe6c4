//! The only place where threads are made.
//!
//! Every coarse call builds a private pool and drops it at the end. The global pool of rayon would outlive the
//! call, and a child process forked afterwards would wait for threads that it does not have.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::run::Interrupt;

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
    /// Ends the loop early.
    pub interrupt: &'a Interrupt,
}

/// Computes `f` for the items 0..`items`, in order in the result whatever the number of threads. `state` makes the
/// scratch memory that a thread hands to `f` again and again.
///
/// # Errors
/// The error of the first item that has one, or [`Error::Interrupted`].
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
    for start in (0..items).step_by(chunk) {
        jobs.interrupt.check()?;
        for item in start..items.min(start + chunk) {
            results.push(f(&mut state, item)?);
        }
    }
    Ok(results)
}

/// The first item of a chunk, and its results up to the first error.
type Chunk<T> = (usize, Result<Vec<T>>);

fn run_in<S, T: Send>(
    pool: &rayon::ThreadPool,
    threads: usize,
    jobs: Jobs<'_>,
    items: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let chunk = jobs.chunk.min(items / (threads * TURNS)).max(1);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let take_chunks = |done: &Sender<Vec<Chunk<T>>>| {
        let mut state = state();
        let mut parts = Vec::new();
        while !failed.load(Ordering::Relaxed) && jobs.interrupt.check().is_ok() {
            let start = next.fetch_add(chunk, Ordering::Relaxed);
            if start >= items {
                break;
            }
            let part: Result<Vec<T>> = (start..items.min(start + chunk))
                .map(|item| f(&mut state, item))
                .collect();
            // Chunks are taken in order and finished once taken: the first error is always found.
            if part.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            parts.push((start, part));
        }
        // The receiver outlives the threads.
        let _ = done.send(parts);
    };
    let mut parts = Vec::new();
    drive(pool, threads, jobs.interrupt, take_chunks, |part| {
        parts.extend(part);
    })?;
    parts.sort_unstable_by_key(|&(start, _)| start);
    let mut results = Vec::with_capacity(items);
    for (_, part) in parts {
        results.extend(part?);
    }
    Ok(results)
}

/// Runs `work` on each of `threads` threads of the pool and hands what they send to `receive` on the calling thread,
/// which checks the interrupt meanwhile: only there a host language can be asked about signals.
///
/// # Errors
/// [`Error::Interrupted`], after all threads have ended.
fn drive<T: Send>(
    pool: &rayon::ThreadPool,
    threads: usize,
    interrupt: &Interrupt,
    work: impl Fn(&Sender<T>) + Sync,
    mut receive: impl FnMut(T),
) -> Result<()> {
    let (sender, receiver) = channel();
    pool.in_place_scope(|scope| {
        for _ in 0..threads {
            let (sender, work) = (sender.clone(), &work);
            // The sender is dropped with the task: when all are gone, the loop below ends.
            scope.spawn(move |_| work(&sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(message) => receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // The threads see a request themselves.
            let _ = interrupt.check();
        }
    });
    interrupt.check()
}

/// Computes `f` for the items 0..`items`, taken in this order by `n_jobs` threads, and hands every result to `each` on
/// the calling thread as soon as it is there. When `each` answers false, no more items are taken; those that are
/// running end and are handed over.
///
/// # Errors
/// [`Error::Interrupted`]; [`Error::Threads`] when no thread can be started.
pub(crate) fn stream<T: Send>(
    jobs: Jobs<'_>,
    items: usize,
    f: impl Fn(usize) -> T + Sync,
    each: &mut dyn FnMut(usize, T) -> bool,
) -> Result<()> {
    let threads = wanted_threads(jobs.n_jobs).min(items).max(1);
    let pool = build(threads)?;
    let (next, enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    let take_items = |done: &Sender<(usize, T)>| {
        while !enough.load(Ordering::Relaxed) && jobs.interrupt.check().is_ok() {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= items || done.send((item, f(item))).is_err() {
                break;
            }
        }
    };
    drive(
        &pool,
        threads,
        jobs.interrupt,
        take_items,
        |(item, result)| {
            // After an interruption results are those of items that ended early.
            if jobs.interrupt.check().is_ok() && !each(item, result) {
                enough.store(true, Ordering::Relaxed);
            }
        },
    )
}

fn build(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| Error::Threads { n_jobs: threads })
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
/// What `f` reports; [`Error::Interrupted`]; [`Error::Threads`] when the system refuses to start the threads.
pub(crate) fn install<T: Send>(
    n_jobs: usize,
    interrupt: &Interrupt,
    f: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if n_jobs <= 1 {
        return f();
    }
    let f = Mutex::new(Some(f));
    let take = || f.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut result = Err(Error::Interrupted);
    drive(
        &build(n_jobs)?,
        1,
        interrupt,
        |done| {
            let _ = take().map(|f| done.send(f()));
        },
        |value| result = value,
    )?;
    result
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
        assert_eq!(
            install(3, &NEVER, || Ok(rayon::current_num_threads())).unwrap(),
            3
        );
        assert_eq!(install(1, &NEVER, || Ok(7)).unwrap(), 7);
    }

    #[test]
    fn items_and_chunks_keep_their_places() {
        for threads in [1, 3] {
            let spread = threads > 1;
            let result = install(threads, &NEVER, || {
                let squares = ordered(spread, 50, |i| i * i);
                let mut values = vec![0; 50];
                each_chunk(spread, &mut values, 8, |number, chunk| {
                    for (i, value) in chunk.iter_mut().enumerate() {
                        *value = (number * 8 + i).pow(2);
                    }
                });
                Ok((squares, values))
            });
            let (squares, values) = result.unwrap();
            assert_eq!(squares, values);
            assert_eq!(squares[49], 49 * 49);
        }
    }

    static NEVER: Interrupt = Interrupt::never();

    fn jobs(n_jobs: usize, interrupt: &Interrupt) -> Jobs<'_> {
        Jobs {
            n_jobs,
            chunk: 3,
            interrupt,
        }
    }

    /// A host that interrupts at the third poll.
    fn later() -> Interrupt {
        let polls = AtomicUsize::new(0);
        Interrupt::polling(move || polls.fetch_add(1, Ordering::Relaxed) == 2)
    }

    #[test]
    fn results_are_in_order_for_every_number_of_threads() {
        for n_jobs in 0..5 {
            let squares = run(jobs(n_jobs, &NEVER), 100, || (), |(), i| Ok(i * i)).unwrap();
            assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        }
        let none = run(jobs(2, &NEVER), 0, || (), |(), i| Ok(i)).unwrap();
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
            let result = run(jobs(n_jobs, &NEVER), 1000, || (), fail);
            assert_eq!(result, Err(Error::TooFewLabels { found: 7 }));
        }
    }

    #[test]
    fn a_stream_hands_everything_over_once() {
        for n_jobs in 0..4 {
            let mut seen = vec![0; 50];
            let pool = jobs(n_jobs, &NEVER);
            stream(pool, 50, |item| item * 2, &mut |item, double| {
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
            jobs(2, &NEVER),
            100_000,
            |_| std::thread::sleep(Duration::from_millis(1)),
            &mut |_, ()| {
                handed += 1;
                handed < 10
            },
        )
        .unwrap();
        assert!((10..1000).contains(&handed), "{handed}");
        let interrupt = later();
        let forever = |_| {
            while interrupt.check().is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let result = stream(jobs(2, &interrupt), 10, forever, &mut |_, ()| true);
        assert_eq!(result, Err(Error::Interrupted));
    }

    #[test]
    fn an_interruption_ends_every_kind_of_loop() {
        for n_jobs in 1..3 {
            let slow = |(): &mut (), _| {
                std::thread::sleep(Duration::from_millis(5));
                Ok(())
            };
            let result = run(jobs(n_jobs, &later()), 10_000, || (), slow);
            assert_eq!(result, Err(Error::Interrupted));
            let interrupt = later();
            let result = install(n_jobs, &interrupt, || loop {
                interrupt.check()?;
                std::thread::sleep(Duration::from_millis(1));
            });
            assert_eq!(result, Err::<(), _>(Error::Interrupted));
        }
    }
}
