//! How a training is going: a live line on a terminal, plain lines elsewhere. All on standard error.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ebbtide::metric::Bounds;
use ebbtide::train::Report;
use indicatif::{ProgressBar, ProgressStyle};

/// How often a pipe gets a line.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells a person how far a training is.
pub struct Progress {
    iterations: u64,
    begun: Instant,
    display: Display,
    bounds: String,
}

enum Display {
    Live(ProgressBar),
    Lines { last: Instant },
    Silent,
}

impl Progress {
    /// Begins to tell, unless `quiet`.
    pub fn begin(iterations: u64, quiet: bool) -> Self {
        let display = if quiet {
            Display::Silent
        } else if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{bar:16} {pos}/{len}  left {eta}  {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            Display::Live(ProgressBar::new(iterations).with_style(style))
        } else {
            Display::Lines { last: Instant::now() }
        };
        Self { iterations, begun: Instant::now(), display, bounds: String::new() }
    }

    /// Takes note of an evaluation.
    pub fn evaluated(&mut self, bounds: &Bounds) {
        self.bounds = format!("ELBO {:.3}", bounds.elbo.value);
        if let Some(eubo) = bounds.eubo {
            self.bounds += &format!("  EUBO {:.3}", eubo.value);
        }
        self.bounds += &format!("  ESS {:.1} %", 100.0 * bounds.importance.effective);
    }

    /// Takes note of an iteration.
    pub fn stepped(&mut self, report: &Report) {
        let done = report.iteration;
        let rate = done as f64 / self.begun.elapsed().as_secs_f64();
        let message = |bounds: &str| {
            let mut text = format!("{rate:.1} it/s  loss");
            if let Some(loss) = report.generation_loss {
                text += &format!(" {loss:.3}");
            }
            if let Some(loss) = report.destruction_loss {
                text += &format!(" / {loss:.3}");
            }
            format!("{text}  log Ẑ {:.3}  {bounds}", report.log_z)
        };
        match &mut self.display {
            Display::Live(bar) => {
                bar.set_position(done);
                if done.is_multiple_of(10) {
                    bar.set_message(message(&self.bounds));
                }
            }
            Display::Lines { last } => {
                if last.elapsed() >= LINE_EVERY || done == self.iterations {
                    *last = Instant::now();
                    let left = (self.iterations - done) as f64 / rate;
                    let share = format!("{done}/{}", self.iterations);
                    eprintln!("{share}  left {left:.0} s  {}", message(&self.bounds));
                }
            }
            Display::Silent => {}
        }
    }

    /// Says what happens after the last iteration.
    pub fn finish(&self, what: &str) {
        match &self.display {
            Display::Live(bar) => {
                bar.finish_and_clear();
                eprintln!("{what}");
            }
            Display::Lines { .. } => eprintln!("{what}"),
            Display::Silent => {}
        }
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
