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

    /// Calls `work` once with each item, on all threads. Where the items hold no more than a few numbers together, the caller goes
    /// through them alone: to hand them out, and to fetch them from another core's cache afterwards, takes longer.
    pub(crate) fn share<Item: Send>(
        &self,
        numbers: usize,
        items: impl Iterator<Item = Item>,
        work: impl Fn(Item) + Sync,
    ) {
        match are_few(numbers) {
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
            for (place, item) in places.iter_mut().zip(items.by_ref()) {
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

/// Whether so many numbers are too few to be shared out piece by piece.
pub(crate) fn are_few(numbers: usize) -> bool {
    numbers < 1 << 16
}

/// The most items that are shared out at once.
const MOST: usize = 64;

/// The most pieces that many numbers are cut into.
pub(crate) const PIECES: usize = 8;

/// Numbers to a piece, where `length` numbers are worth cutting up. A function of the length alone, so that sums over
/// pieces do not depend on the number of threads.
pub(crate) fn piece(length: usize) -> usize {
    length.div_ceil(PIECES).next_multiple_of(LINE).max(1 << 13)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_item_is_done_once_however_many_there_are() {
        for threads in [1, 2, 3, 5] {
            let threads = Threads::new(threads).expect("threads");
            for count in [0, 1, 2, MOST - 1, MOST, MOST + 1, 2 * MOST + 7] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                threads.share_by_thread(done.iter(), |done, thread| {
                    assert!(thread < threads.count());
                    done.fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1), "{count} items");
            }
        }
    }

    #[test]
    fn work_inside_work_and_a_panic_leave_nothing_undone() {
        let threads = Threads::new(3).expect("threads");
        let count = AtomicUsize::new(0);
        threads.share_by_thread(0..4, |_, _| {
            threads.share_by_thread(0..5, |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            threads.share_by_thread(0..6, |item, _| assert!(item != 2, "item {item}"));
        }));
        assert!(panicked.is_err());
        threads.share_by_thread(0..3, |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 23);
    }

    /// Few numbers stay with the caller, many are handed out: either way each item is done.
    #[test]
    fn few_numbers_are_not_handed_out() {
        let (threads, caller) = (Threads::new(2).expect("threads"), std::thread::current().id());
        let count = AtomicUsize::new(0);
        threads.share(100, 0..9, |_| {
            assert_eq!(std::thread::current().id(), caller);
            count.fetch_add(1, Ordering::Relaxed);
        });
        threads.share(1 << 20, 0..9, |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 18);
    }
}
