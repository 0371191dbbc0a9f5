//! When a number deserves a second look.

use std::time::{Duration, Instant};

use ebbtide_run::Figures;

/// So many recent losses are remembered.
const REMEMBERED: usize = 256;

/// With fewer, a median says little.
const ENOUGH: usize = 10;

/// A loss that is so many times the recent median has grown.
const GROWTH: f64 = 100.0;

/// How long an alarm stands: a spike is over before anyone has seen it.
const STANDING: Duration = Duration::from_secs(10);

/// An effective sample size below this share is next to nothing.
const LOW_ESS: f64 = 0.01;

/// An ELBO this far below its best has dropped, unless its error explains it.
const DROP: f64 = 1.0;

/// Errors of a difference that chance does not explain.
const ERRORS: f64 = 5.0;

/// Watches a loss: whether it has grown to a hundred times the median of recent ones.
#[derive(Clone, Debug, Default)]
pub struct LossAlarm {
    recent: Vec<f64>,
    next: usize,
    raised: Option<Instant>,
}

impl LossAlarm {
    /// Takes note of a loss. Losses may be negative; what counts is their size.
    pub fn observe(&mut self, loss: f64, now: Instant) {
        let grown = self.recent.len() >= ENOUGH && loss > 0.0 && loss > GROWTH * self.median();
        if grown || !loss.is_finite() {
            self.raised = Some(now);
        }
        if !loss.is_finite() {
            return;
        }
        if self.recent.len() < REMEMBERED {
            self.recent.push(loss.abs());
        } else {
            self.recent[self.next] = loss.abs();
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// Whether it grew a moment ago.
    pub fn stands(&self, now: Instant) -> bool {
        self.raised.is_some_and(|raised| now.saturating_duration_since(raised) < STANDING)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.recent.clone();
        let middle = sorted.len() / 2;
        *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// Watches evaluations: whether the last one is clearly worse than those before.
#[derive(Clone, Debug, Default)]
pub struct FiguresAlarm {
    best: Option<(f64, f64)>,
    was_useful: bool,
    /// The ELBO is clearly below its best.
    pub elbo: bool,
    /// The effective sample size was above one per cent, and is not any more.
    pub ess: bool,
}

impl FiguresAlarm {
    /// Takes note of an evaluation.
    pub fn observe(&mut self, figures: &Figures) {
        let (elbo, error) = (figures.elbo, figures.elbo_error);
        self.elbo = !elbo.is_finite()
            || self.best.is_some_and(|(best, best_error)| {
                // An error that is not a number excuses nothing.
                best - elbo > (ERRORS * error.hypot(best_error)).max(DROP)
            });
        if elbo.is_finite() && self.best.is_none_or(|(best, _)| elbo > best) {
            self.best = Some((elbo, error));
        }
        let useful = figures.ess >= LOW_ESS;
        self.ess = !useful && (self.was_useful || figures.ess.is_nan());
        self.was_useful |= useful;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(elbo: f64, elbo_error: f64, ess: f64) -> Figures {
        Figures {
            elbo,
            elbo_error,
            eubo: None,
            eubo_error: None,
            log_z: 0.0,
            log_z_error: 0.0,
            ess,
            pareto_k: None,
        }
    }

    fn used_to(losses: impl IntoIterator<Item = f64>, now: Instant) -> LossAlarm {
        let mut alarm = LossAlarm::default();
        losses.into_iter().for_each(|loss| alarm.observe(loss, now));
        alarm
    }

    #[test]
    fn a_loss_may_vary_but_not_explode() {
        let now = Instant::now();
        let usual = || (0..50).map(|index| 0.5 + 0.1 * f64::from(index % 5));
        for (loss, grown) in
            [(0.1, false), (60.0, false), (80.0, true), (f64::NAN, true), (f64::INFINITY, true)]
        {
            let mut alarm = used_to(usual(), now);
            assert!(!alarm.stands(now));
            alarm.observe(loss, now);
            assert_eq!(alarm.stands(now), grown, "{loss}");
        }
    }

    #[test]
    fn first_losses_and_falling_losses_are_no_alarm() {
        let now = Instant::now();
        assert!(!used_to([0.001, 1e6, 1e4, 3.0], now).stands(now));
        assert!(!used_to((0..600).map(|index| 1e9 * 0.9f64.powi(index)), now).stands(now));
    }

    #[test]
    fn negative_losses_count_by_their_size() {
        let now = Instant::now();
        let mut alarm = used_to([-4.0; 40], now);
        alarm.observe(3.0, now);
        alarm.observe(-4000.0, now);
        assert!(!alarm.stands(now), "a likelihood that rises is good news");
        alarm.observe(4000.0, now);
        assert!(alarm.stands(now));
    }

    #[test]
    fn an_alarm_stands_for_a_while() {
        let now = Instant::now();
        let mut alarm = used_to([1.0; 40], now);
        alarm.observe(1000.0, now);
        alarm.observe(1.0, now + Duration::from_secs(1));
        assert!(alarm.stands(now + Duration::from_secs(9)));
        assert!(!alarm.stands(now + Duration::from_secs(11)));
    }

    #[test]
    fn an_elbo_drops_when_chance_does_not_explain_it() {
        let mut alarm = FiguresAlarm::default();
        for (elbo, error, dropped) in [
            (-50.0, 1.0, false),
            (-2.0, 0.05, false),
            (-2.9, 0.05, false),
            (-3.1, 0.05, true),
            (-5.0, 1.0, false),
            (-1.9, f64::NAN, false),
            (-3.0, f64::NAN, true),
            (f64::NEG_INFINITY, 0.0, true),
            (-1.9, 0.05, false),
        ] {
            alarm.observe(&figures(elbo, error, 0.5));
            assert_eq!(alarm.elbo, dropped, "{elbo} ± {error}");
        }
    }

    #[test]
    fn an_ess_is_low_when_it_was_higher() {
        let mut alarm = FiguresAlarm::default();
        for (ess, low) in [(0.001, false), (0.009, false), (0.2, false), (0.009, true), (0.01, false)] {
            alarm.observe(&figures(0.0, 0.1, ess));
            assert_eq!(alarm.ess, low, "{ess}");
        }
        alarm.observe(&figures(0.0, 0.1, f64::NAN));
        assert!(alarm.ess);
    }
}
