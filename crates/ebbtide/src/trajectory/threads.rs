//! The threads that serve lanes, started once and shared.

use std::sync::Arc;

/// A handle to a number of threads. Clones share them; how many there are never changes a result.
///
/// ```
/// use ebbtide::trajectory::Threads;
///
/// assert_eq!(Threads::new(3)?.count(), 3);
/// # Ok::<(), ebbtide::trajectory::ThreadsError>(())
/// ```
#[derive(Clone)]
pub struct Threads {
    pool: Arc<rayon::ThreadPool>,
}

/// The machine gave no threads.
#[derive(Debug, thiserror::Error)]
#[error("could not start {threads} threads: {reason}")]
pub struct ThreadsError {
    threads: usize,
    reason: String,
}

impl Threads {
    /// Starts threads; 0 means as many as the machine has cores.
    pub fn new(threads: usize) -> Result<Self, ThreadsError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("ebbtide-{i}"))
            .build()
            .map_err(|error| ThreadsError { threads, reason: error.to_string() })?;
        Ok(Self { pool: Arc::new(pool) })
    }

    /// As many as the machine has cores.
    pub fn all() -> Result<Self, ThreadsError> {
        Self::new(0)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    pub(super) fn install(&self, work: impl FnOnce() + Send) {
        self.pool.install(work);
    }
}
