//! How fast a run goes, and how long it still takes.

use std::time::{Duration, Instant};

/// Seconds after which what was measured counts a third.
const MEMORY: f64 = 30.0;

/// Seconds in which the promised end follows a new estimate.
const SETTLING: f64 = 5.0;

/// An estimate that is off by more than this share is replaced at once.
const TOO_FAR: f64 = 0.25;

/// The recent rate of a run and the end that it promises.
///
/// The rate is a mean over all iterations since [`Pace::new`], those longer ago counting less. Time counts when an
/// iteration is done, so that a slow iteration does not look like one that becomes slower and slower.
#[derive(Clone, Debug)]
pub struct Pace {
    last: Instant,
    iteration: u64,
    steps: f64,
    seconds: f64,
    promise: Option<Promise>,
}

/// Seconds that were left at a moment.
#[derive(Clone, Copy, Debug)]
struct Promise {
    made: Instant,
    left: f64,
}

impl Pace {
    /// A run that begins now, after so many iterations.
    pub fn new(now: Instant, iteration: u64) -> Self {
        Self { last: now, iteration, steps: 0.0, seconds: 0.0, promise: None }
    }

    /// Takes note of where the run stands, out of `iterations`.
    pub fn advance(&mut self, now: Instant, iteration: u64, iterations: u64) {
        let done = iteration.saturating_sub(self.iteration);
        if done > 0 {
            let passed = now.saturating_duration_since(self.last).as_secs_f64();
            let kept = (-passed / MEMORY).exp();
            self.steps = self.steps * kept + done as f64;
            self.seconds = self.seconds * kept + passed;
            (self.last, self.iteration) = (now, iteration);
        }
        self.promise = self.estimate(now, iterations).map(|left| self.settle(now, left));
    }

    /// Iterations per second, once there were some.
    pub fn rate(&self) -> Option<f64> {
        (self.steps > 0.0 && self.seconds > 0.0).then(|| self.steps / self.seconds)
    }

    /// The time that is left as of the last [`Pace::advance`].
    pub fn left(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.promise?.left).ok()
    }

    /// Seconds that are left by the rate alone.
    fn estimate(&self, now: Instant, iterations: u64) -> Option<f64> {
        let rate = self.rate()?;
        // The iteration that is going on is done by its share, but not before it is done.
        let share = (rate * now.saturating_duration_since(self.last).as_secs_f64()).min(1.0);
        let remaining = iterations.saturating_sub(self.iteration) as f64;
        Some((remaining - share).max(0.0) / rate)
    }

    /// What was promised, less the time since, on its way to the new estimate.
    fn settle(&self, now: Instant, estimate: f64) -> Promise {
        let Some(promise) = self.promise else { return Promise { made: now, left: estimate } };
        let passed = now.saturating_duration_since(promise.made).as_secs_f64();
        let expected = promise.left - passed;
        let off = estimate - expected;
        let left = if off.abs() > TOO_FAR * estimate {
            estimate
        } else {
            expected + off * (1.0 - (-passed / SETTLING).exp())
        };
        Promise { made: now, left: left.max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(100);

    fn left(pace: &Pace) -> f64 {
        pace.left().expect("there were iterations").as_secs_f64()
    }

    #[test]
    fn a_steady_run_counts_down() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now, 0);
        assert!(pace.rate().is_none() && pace.left().is_none());
        for tick in 1..=500u64 {
            now += TICK;
            pace.advance(now, 10 * tick, 10_000);
            assert!((pace.rate().expect("a rate") - 100.0).abs() < 1e-6);
            assert!((left(&pace) - (100.0 - 0.1 * tick as f64)).abs() < 1e-6);
        }
    }

    #[test]
    fn a_resumed_run_is_measured_from_where_it_was_taken_up() {
        let now = Instant::now();
        let mut pace = Pace::new(now, 20_000);
        pace.advance(now + Duration::from_secs(1), 20_050, 25_000);
        assert!((pace.rate().expect("a rate") - 50.0).abs() < 1e-9);
        assert!((left(&pace) - 99.0).abs() < 1e-9);
    }

    #[test]
    fn uneven_iterations_do_not_make_it_jump() {
        // Two seconds of 300 iterations each, then an evaluation of half a second, again and again.
        let (mut now, mut iteration) = (Instant::now(), 0);
        let mut pace = Pace::new(now, 0);
        let mut before: Option<f64> = None;
        for tick in 0..3000 {
            now += TICK;
            iteration += if tick % 25 < 20 { 30 + 5 * (tick % 7) } else { 0 };
            pace.advance(now, iteration, 1_000_000);
            if tick > 300 {
                let change = left(&pace) - before.expect("a moment ago");
                let share = (change + 0.1).abs() / left(&pace);
                assert!(share < 0.002, "off by {share} in a tenth of a second");
            }
            before = pace.left().map(|left| left.as_secs_f64());
        }
        let rate = iteration as f64 / 300.0;
        let truth = (1_000_000 - iteration) as f64 / rate;
        assert!((left(&pace) / truth - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_change_of_speed_is_followed() {
        let (mut now, mut iteration) = (Instant::now(), 0);
        let mut pace = Pace::new(now, 0);
        for tick in 0..2400 {
            now += TICK;
            iteration += if tick < 600 { 100 } else { 10 };
            pace.advance(now, iteration, 1_000_000);
        }
        assert!((pace.rate().expect("a rate") - 100.0).abs() < 5.0);
    }

    #[test]
    fn a_slow_iteration_is_waited_for() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun, 0);
        pace.advance(begun + Duration::from_secs(20), 1, 3);
        assert!((left(&pace) - 40.0).abs() < 1e-9);
        for tenth in 1..=190 {
            pace.advance(begun + Duration::from_secs(20) + tenth * TICK, 1, 3);
        }
        assert!((pace.rate().expect("a rate") - 0.05).abs() < 1e-9);
        assert!((left(&pace) - 21.0).abs() < 1e-6);
        for tenth in 191..=900 {
            pace.advance(begun + Duration::from_secs(20) + tenth * TICK, 1, 3);
        }
        assert!(left(&pace) > 19.0, "the last iteration is still to come");
    }

    #[test]
    fn nothing_is_left_at_the_end() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun, 0);
        pace.advance(begun + TICK, 5, 5);
        assert_eq!(pace.left(), Some(Duration::ZERO));
        pace.advance(begun, 4, 5);
        pace.advance(begun + TICK, 7, 5);
        assert_eq!(pace.left(), Some(Duration::ZERO));
    }
}
