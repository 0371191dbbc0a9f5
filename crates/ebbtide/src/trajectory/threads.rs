//! The threads that serve lanes, started once and shared.

use std::sync::{Arc, Mutex, PoisonError};

use crate::numeric::aligned::LINE;
use crate::numeric::crew::Crew;

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
    crew: Arc<Crew>,
}

/// The machine gave no threads.
///
/// ```
/// use ebbtide::trajectory::{Threads, ThreadsError};
///
/// let error: ThreadsError = Threads::new(5000).err().expect("more than any machine has cores");
/// assert_eq!(error.to_string(), "could not start 5000 threads: there is no use for more than 1024");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("could not start {threads} threads: {reason}")]
pub struct ThreadsError {
    threads: usize,
    reason: String,
}

/// More than any machine has cores, and fewer than systems fall over.
const MOST_THREADS: usize = 1024;

impl Threads {
    /// Starts threads, the caller's counted among them; 0 means as many as the machine has cores.
    pub fn new(threads: usize) -> Result<Self, ThreadsError> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            _ => threads,
        };
        if threads > MOST_THREADS {
            let reason = format!("there is no use for more than {MOST_THREADS}");
            return Err(ThreadsError { threads, reason });
        }
        let crew = Crew::new(threads).map_err(|error| ThreadsError { threads, reason: error.to_string() })?;
        Ok(Self { crew: Arc::new(crew) })
    }

    /// As many as the machine has cores.
    pub fn all() -> Result<Self, ThreadsError> {
        Self::new(0)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.crew.len()
    }

    /// Whether so many numbers are too few to be shared out one piece at a time.
    pub(crate) fn are_few(&self, numbers: usize) -> bool {
        numbers < FEW
    }

    /// Calls `work` once with each item, on all threads. Where the items hold no more than a few numbers together, the caller goes
    /// through them alone: to hand them out, and to fetch them from another core's cache afterwards, takes longer.
    pub(crate) fn share<Item: Send>(
        &self,
        numbers: usize,
        items: impl Iterator<Item = Item>,
        work: impl Fn(Item) + Sync,
    ) {
        match self.are_few(numbers) {
            true => items.for_each(work),
            false => self.share_by_thread(items, |item, _| work(item)),
        }
    }

    /// Calls `work` once with each item on all threads, and the number of the thread it is on: never the same twice at once.
    ///
    /// A thread begins with its own part of the items, the same as last time, which its cache may still hold, and then helps with the others'.
    pub(crate) fn share_by_thread<Item: Send>(
        &self,
        items: impl Iterator<Item = Item>,
        work: impl Fn(Item, usize) + Sync,
    ) {
        let mut items = items.peekable();
        while items.peek().is_some() {
            let mut places: [Mutex<Option<Item>>; MOST] = [const { Mutex::new(None) }; MOST];
            let mut count = 0;
            for (place, item) in places.iter_mut().zip(items.by_ref().take(MOST)) {
                *place.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(item);
                count += 1;
            }
            let (places, threads) = (&places[..count], self.count());
            self.crew.run(count, &|_, thread| {
                let (before, own) = places.split_at(thread * count / threads);
                let take =
                    |place: &Mutex<Option<Item>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
                let item = own.iter().chain(before).find_map(take);
                work(item.expect("as many calls as items"), thread);
            });
        }
    }
}

/// Fewer numbers than this are not shared out.
const FEW: usize = 1 << 16;

/// The most items that are shared out at once.
const MOST: usize = 32;

/// The most pieces that many numbers are cut into.
pub(crate) const PIECES: usize = 8;

/// Numbers to a piece, where `length` numbers are worth cutting up. A function of the length alone, so that sums over
/// pieces do not depend on the number of threads.
pub(crate) fn piece(length: usize) -> usize {
    length.div_ceil(PIECES).next_multiple_of(LINE).max(1 << 13)
}
