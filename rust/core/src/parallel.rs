//! The only place where threads are started.

use crate::error::{Error, Result};

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

#[cfg(test)]
mod tests {
    #[test]
    fn a_pool_has_as_many_threads_as_asked_for() {
        assert_eq!(super::install(3, rayon::current_num_threads).unwrap(), 3);
        assert_eq!(super::install(1, || 7).unwrap(), 7);
    }
}
