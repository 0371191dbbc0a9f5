//! What a run tells while it goes on.

use std::path::Path;

use ebbtide::train::Report;

use crate::{Outcome, Record};

/// Something happened to a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It begins, or is taken up after `iteration` iterations.
    Begun {
        /// Where it is kept.
        folder: &'a Path,
        /// Iterations done before.
        iteration: u64,
        /// Iterations there will be.
        iterations: u64,
        /// Seconds of training before.
        seconds: f64,
    },
    /// An iteration is done.
    Stepped(&'a Report),
    /// A line was added to the metrics; it has figures if there was an evaluation.
    Recorded(&'a Record),
    /// A checkpoint was written.
    Saved {
        /// After so many iterations.
        iteration: u64,
        /// Where.
        path: &'a Path,
    },
    /// The final evaluation begins, which takes a moment.
    Evaluating,
    /// Something that a person should know.
    Remarked(&'a str),
    /// It is over.
    Ended(&'a Outcome),
}

/// Somebody who wants to know how a run is going.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide_run::{Event, Observer, Status, Stop, run::Run, settings::Preset};
///
/// /// Asks to stop after so many iterations.
/// struct Patience(u64, Stop);
///
/// impl Observer for Patience {
///     fn notice(&mut self, event: Event) {
///         if let Event::Stepped(report) = event
///             && report.iteration == self.0
///         {
///             self.1.ask();
///         }
///     }
/// }
///
/// let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// (settings.config.batch, settings.keeping.samples) = (16, 64);
/// let (runs, stop) = (tempfile::tempdir()?, Stop::new());
/// let run = Run::begin(runs.path(), settings, &Threads::new(1)?)?;
/// let outcome = run.go(&stop, &mut Patience(3, stop.clone()))?;
/// assert_eq!((outcome.status, outcome.iterations), (Status::Interrupted, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send {
    /// Called for each event, on the thread that trains: be quick.
    fn notice(&mut self, event: Event);
}

/// Nobody.
impl Observer for () {
    fn notice(&mut self, _: Event) {}
}

impl Observer for Box<dyn Observer> {
    fn notice(&mut self, event: Event) {
        (**self).notice(event);
    }
}
