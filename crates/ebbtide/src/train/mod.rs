//! Training: gradients, optimisers, buffers, and the iteration that puts them to work.
//!
//! A [`Trainer`] turns a [`State`] into the next one and says what it did in a [`Report`]. Nothing in here
//! prints, reads a clock or touches a file.

mod adam;
mod archive;
mod arrays;
mod check;
mod config;
mod exploration;
mod gradient;
#[cfg(test)]
mod instruction_sets;
mod learner;
mod local_search;
mod memory;
mod replay;
mod report;
mod room;
mod state;
mod sum_tree;
mod trainer;
mod usual;

pub use adam::Adam;
pub use archive::{Archive, Keep, Recall};
pub use arrays::{Array, ArrayRef, StateError};
pub use check::ConfigError;
pub use config::{BoundSchedule, Config, LikelihoodSource, NetworkOptions, Schedule, ValidConfig};
pub use exploration::{Exploration, ExplorationForm};
pub use gradient::{Batch, Differentiator, Losses, Objectives, Weights};
pub use learner::{Arrangement, Copies, Learner, Norms, Optimisation};
pub use local_search::{Chains, Finds, LocalSearch};
pub use replay::{CorrectionReference, Drawn, Replay, ReplayOptions};
pub use report::{Report, RestoreError, TrainError};
pub use state::State;
pub use sum_tree::SumTree;
pub use trainer::Trainer;
