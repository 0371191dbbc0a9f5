//! A crew of threads that share out numbered pieces of work.
//!
//! Training hands out work thousands of times a second, in pieces of a fraction of a millisecond. So the crew waits for the next
//! piece awake for a moment before it sleeps, and handing out allocates nothing.

use std::any::Any;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// How often a thread looks again before it goes to sleep: 0.2 ms on the machine it was measured on, by how long a processor pauses between two looks, and
/// longer than what the caller does by itself between two pieces of an update.
const LOOKS: usize = 10_000;

/// Threads that wait for work. The caller works too, so a crew of one is the caller alone.
pub struct Crew {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by whoever has the crew at work.
    turn: Mutex<()>,
}

struct Shared {
    board: Mutex<Board>,
    /// Rung when there is work, or no more ever.
    bell: Condvar,
    /// Rung when the last worker leaves a job.
    left: Condvar,
    /// Counts the jobs.
    jobs: Apart<AtomicU64>,
    /// The next piece to be taken.
    next: Apart<AtomicUsize>,
    /// Workers inside the job.
    inside: Apart<AtomicUsize>,
}

/// Something in cache lines of its own: whoever waits for it does not slow down those who change its neighbours.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

struct Board {
    job: Option<Job>,
    panic: Option<Box<dyn Any + Send>>,
    asleep: usize,
    over: bool,
}

#[derive(Clone, Copy)]
struct Job {
    work: &'static (dyn Fn(usize, usize) + Sync),
    pieces: usize,
}

impl Crew {
    /// Starts a crew of `threads`, the caller included.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            board: Mutex::new(Board { job: None, panic: None, asleep: 0, over: false }),
            bell: Condvar::new(),
            left: Condvar::new(),
            jobs: Apart(AtomicU64::new(0)),
            next: Apart(AtomicUsize::new(0)),
            inside: Apart(AtomicUsize::new(0)),
        });
        let mut crew = Self { shared, workers: Vec::new(), turn: Mutex::new(()) };
        for index in 1..threads {
            let shared = Arc::clone(&crew.shared);
            let thread = std::thread::Builder::new().name(format!("ebbtide-{index}"));
            crew.workers.push(thread.spawn(move || shared.serve(index))?);
        }
        Ok(crew)
    }

    /// How many threads there are, the caller included.
    pub fn len(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `work` once with each number below `pieces`, and the number of the thread that does it (below
    /// [`Crew::len`], no two at once with the same), on all threads, and returns when all calls have. A panic in one
    /// is passed on. If the crew is at work already (for another thread, or further up this one), the caller works
    /// alone.
    pub fn run(&self, pieces: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if turn.is_none() || pieces < 2 || self.workers.is_empty() {
            return (0..pieces).for_each(|piece| work(piece, 0));
        }
        // SAFETY: the reference is called only by workers inside the job. They enter while the board shows it, and this
        // function takes it off the board and waits for the last of them to leave before it returns, also when `work` panics.
        #[allow(unsafe_code)]
        let work = unsafe {
            std::mem::transmute::<&(dyn Fn(usize, usize) + Sync), &'static (dyn Fn(usize, usize) + Sync)>(
                work,
            )
        };
        let job = Job { work, pieces };
        self.shared.post(job);
        let own = catch_unwind(AssertUnwindSafe(|| self.shared.take_pieces(job, 0)));
        let theirs = self.shared.finish();
        drop(turn);
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.board().over = true;
        self.shared.jobs.fetch_add(1, Ordering::Release);
        self.shared.bell.notify_all();
        for worker in self.workers.drain(..) {
            // A worker passes its panics on; there is nothing to be told here.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// The board, whatever became of those who held it: every change of it is a single assignment.
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, job: Job) {
        let mut board = self.board();
        self.next.store(0, Ordering::Relaxed);
        board.job = Some(job);
        self.jobs.fetch_add(1, Ordering::Release);
        if board.asleep > 0 {
            self.bell.notify_all();
        }
    }

    fn take_pieces(&self, job: Job, number: usize) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= job.pieces {
                return;
            }
            (job.work)(piece, number);
        }
    }

    /// Closes the job, waits for the workers inside, and answers with a panic of theirs.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        self.board().job = None;
        for _ in 0..LOOKS {
            if self.inside.load(Ordering::Acquire) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut board = self.board();
        while self.inside.load(Ordering::Acquire) > 0 {
            board = self.left.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        board.panic.take()
    }

    /// A worker's life.
    fn serve(&self, number: usize) {
        let mut seen = 0;
        while let Some(job) = self.next_job(&mut seen) {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.take_pieces(job, number)));
            if let Err(panic) = outcome {
                self.board().panic = Some(panic);
            }
            if self.inside.fetch_sub(1, Ordering::Release) == 1 {
                // Under the lock, so that it does not fall between the caller's look and its sleep.
                let _board = self.board();
                self.left.notify_all();
            }
        }
    }

    /// Waits for a job not seen yet and enters it; none when the crew is dismissed.
    fn next_job(&self, seen: &mut u64) -> Option<Job> {
        loop {
            for _ in 0..LOOKS {
                if self.jobs.load(Ordering::Acquire) != *seen {
                    break;
                }
                std::hint::spin_loop();
            }
            let mut board = self.board();
            while self.jobs.load(Ordering::Acquire) == *seen {
                board.asleep += 1;
                board = self.bell.wait(board).unwrap_or_else(PoisonError::into_inner);
                board.asleep -= 1;
            }
            *seen = self.jobs.load(Ordering::Acquire);
            if board.over {
                return None;
            }
            // The job may be closed already; then the next one is waited for.
            if let Some(job) = board.job {
                self.inside.fetch_add(1, Ordering::Relaxed);
                return Some(job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        for threads in [1, 2, 5] {
            let crew = Crew::new(threads).expect("threads");
            assert_eq!(crew.len(), threads);
            for pieces in [0, 1, 2, 7, 100] {
                for _ in 0..if cfg!(miri) { 2 } else { 200 } {
                    let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                    crew.run(pieces, &|piece, _| {
                        done[piece].fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
                }
            }
        }
    }

    #[test]
    fn work_inside_work_is_done() {
        let crew = Crew::new(3).expect("threads");
        let count = AtomicUsize::new(0);
        crew.run(4, &|_, _| {
            crew.run(5, &|_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 20);
    }

    #[test]
    fn several_callers_may_share_a_crew() {
        let crew = Crew::new(2).expect("threads");
        let (count, rounds) = (AtomicUsize::new(0), if cfg!(miri) { 3 } else { 100 });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        crew.run(3, &|_, _| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * rounds * 3);
    }

    #[test]
    fn a_panic_is_passed_on_and_the_crew_survives() {
        let crew = Crew::new(3).expect("threads");
        for culprit in 0..6 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                crew.run(6, &|piece, _| assert!(piece != culprit, "piece {piece}"));
            }));
            assert!(outcome.is_err());
        }
        let count = AtomicUsize::new(0);
        crew.run(6, &|_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 6);
    }

    #[test]
    fn a_crew_that_slept_wakes() {
        let crew = Crew::new(2).expect("threads");
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let count = AtomicUsize::new(0);
            crew.run(8, &|_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 8);
        }
    }
}
