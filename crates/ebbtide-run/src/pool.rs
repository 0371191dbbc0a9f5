//! Several runs at once.
//!
//! ```
//! use ebbtide_run::pool::{cores, work};
//!
//! let squares = work(vec![1, 2, 3], cores(), |seed| seed * seed);
//! assert_eq!(squares, [1, 4, 9], "in the order of the jobs, whichever was done first");
//! ```

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// As many as the machine has cores, as far as this process may use them.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does all jobs, `workers` at a time and in order, and answers with what each came to.
pub fn work<Job: Send, Done: Send>(
    jobs: Vec<Job>,
    workers: usize,
    each: impl Fn(Job) -> Done + Sync,
) -> Vec<Done> {
    let count = jobs.len();
    let waiting: Mutex<VecDeque<(usize, Job)>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let done = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<Done>>>());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            scope.spawn(|| {
                while let Some((place, job)) = next() {
                    let result = each(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|result| result.expect("every job was taken and done")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_jobs() {
        for workers in [0, 1, 3, 50] {
            let squares = work((0..20).collect(), workers, |n: u64| n * n);
            assert_eq!(squares, (0..20).map(|n| n * n).collect::<Vec<_>>());
        }
        assert!(work(Vec::<u64>::new(), 2, |n| n).is_empty());
    }
}
