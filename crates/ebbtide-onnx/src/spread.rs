//! Blocks of rows, shared out among threads.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::OnnxError;

/// What comes of each block of rows, in their order. Blocks are the same for any number of threads, and so is what comes of them.
pub(crate) fn spread<T: Send>(
    rows: usize,
    block: usize,
    threads: usize,
    work: impl Fn(Range<usize>) -> Result<T, OnnxError> + Sync,
) -> Result<Vec<T>, OnnxError> {
    let blocks = rows.div_ceil(block);
    let part = |index: usize| index * block..rows.min((index + 1) * block);
    let threads = threads.min(blocks);
    if threads <= 1 {
        return (0..blocks).map(|index| work(part(index))).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new((0..blocks).map(|_| None).collect::<Vec<Option<Result<T, OnnxError>>>>());
    let labour = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= blocks {
                return;
            }
            let came = work(part(index));
            if came.is_err() {
                // Nobody needs the rest.
                next.store(blocks, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(came);
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(labour)));
        labour();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A block that nobody came to comes after one that failed.
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn blocks_come_back_in_order_whoever_did_them() {
        for threads in [1, 2, 5, 50] {
            let ranges = spread(70, 16, threads, Ok).expect("no block fails");
            assert_eq!(ranges, [0..16, 16..32, 32..48, 48..64, 64..70], "{threads} threads");
        }
        assert!(spread(0, 16, 4, Ok).expect("nothing to do").is_empty());
    }

    #[test]
    fn a_block_that_fails_is_told_of() {
        let file = PathBuf::from("a.onnx");
        for threads in [1, 3] {
            let failed = spread(100, 1, threads, |range| match range.start {
                17 => Err(OnnxError::Condition { file: file.clone(), reason: "of its own".to_owned() }),
                _ => Ok(()),
            });
            assert!(failed.is_err_and(|error| error.to_string() == "a.onnx: of its own"));
        }
    }
}
