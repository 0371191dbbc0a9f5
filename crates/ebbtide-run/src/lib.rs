//! Trainings on disk: what a training is asked for, where it stands, what came of it.
//!
//! [`ebbtide`] trains and knows no files; this crate keeps what it does. Nothing in here prints: whoever wants to
//! show how a run is going is an [`Observer`]. (What a density in [`python`] prints is passed on to standard error.)
//!
//! [`settings`] → [`run`] → [`trained`], [`draws`], [`reading`], [`calibration`], [`compare`], [`job`], [`sweep`], [`export`]
//!
//! with [`folder`], [`checkpoint`], [`journal`], [`durable`] and [`python`] underneath.

mod best;
pub mod calibration;
pub mod checkpoint;
pub mod compare;
mod digest;
pub mod draws;
pub mod durable;
mod environment;
pub mod estimate;
mod event;
pub mod export;
pub mod folder;
pub mod job;
pub mod journal;
mod log;
mod networks;
pub mod number;
mod outcome;
pub mod pool;
pub mod python;
pub mod reading;
mod record;
pub mod run;
pub mod settings;
mod stop;
pub mod sweep;
pub mod trained;
mod window;

pub use digest::Digest;
pub(crate) use environment::COMMIT;
pub use environment::Environment;
pub use event::{Event, Observer};
pub use outcome::{Outcome, RewardFigures, Status};
pub use record::{Figures, Record};
pub use stop::Stop;
