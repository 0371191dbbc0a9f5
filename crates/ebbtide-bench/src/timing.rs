//! The clock: how long a piece of work takes at its best.

use std::time::{Duration, Instant};

use crate::Failure;
use crate::work::Work;

/// A measurement is cut into about so many chunks; the best of them counts, since what disturbs a chunk only ever
/// makes it longer.
const CHUNKS: f64 = 5.0;

/// Until caches, frequencies and branch predictors have settled.
const WARM_UP: Duration = Duration::from_millis(200);

/// Runs the work for a moment, unmeasured.
pub fn warm_up(work: &mut dyn Work) -> Result<(), Failure> {
    let begun = Instant::now();
    work.call()?;
    while begun.elapsed() < WARM_UP {
        work.call()?;
    }
    Ok(())
}

/// Milliseconds per call: the best mean over a chunk of calls, looked for during about `seconds`.
pub fn best(work: &mut dyn Work, seconds: f64) -> Result<f64, Failure> {
    let begun = Instant::now();
    let unit = work.unit();
    let first = mean(work, unit)?;
    let units = (seconds / CHUNKS / (first * unit as f64)).round().max(1.0) as usize;
    // A chunk of one unit has just been measured; one of many needs a measurement of its own.
    let mut best = if units == 1 { first } else { mean(work, units * unit)? };
    while begun.elapsed().as_secs_f64() < seconds {
        best = best.min(mean(work, units * unit)?);
    }
    Ok(1e3 * best)
}

/// Seconds per call, over so many of them.
fn mean(work: &mut dyn Work, calls: usize) -> Result<f64, Failure> {
    let begun = Instant::now();
    for _ in 0..calls {
        work.call()?;
    }
    Ok(begun.elapsed().as_secs_f64() / calls as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a millisecond, and counts.
    struct Sleep {
        calls: usize,
        unit: usize,
    }

    impl Work for Sleep {
        fn call(&mut self) -> Result<(), Failure> {
            std::thread::sleep(Duration::from_millis(1));
            self.calls += 1;
            Ok(())
        }

        fn unit(&self) -> usize {
            self.unit
        }
    }

    #[test]
    fn a_sleep_of_a_millisecond_takes_that() {
        let mut work = Sleep { calls: 0, unit: 1 };
        let ms = best(&mut work, 0.05).expect("sleep does not fail");
        assert!((1.0..20.0).contains(&ms), "{ms}");
        assert!(work.calls > 3, "{}", work.calls);
    }

    #[test]
    fn units_are_whole() {
        let mut work = Sleep { calls: 0, unit: 10 };
        best(&mut work, 0.001).expect("sleep does not fail");
        assert_eq!(work.calls, 10);
    }
}
