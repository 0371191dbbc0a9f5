//! Trainings on disk: what a training is asked for, where it stands, what came of it.
//!
//! [`ebbtide`] trains and knows no files; this crate keeps what it does. Nothing in here prints: whoever wants to
//! show how a run is going is an [`Observer`].

pub mod durable;
mod event;
pub mod export;
mod outcome;
mod record;

pub use event::{Event, Observer};
pub use outcome::{Outcome, Status};
pub use record::{Figures, Record};
