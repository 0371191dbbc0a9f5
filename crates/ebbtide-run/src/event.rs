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
