//! Why a run cannot begin or go on.

use std::path::PathBuf;

use ebbtide::metric::EvaluationError;
use ebbtide::pilot::PilotError;
use ebbtide::target::TargetError;
use ebbtide::train::{ConfigError, RestoreError, TrainError};
use ebbtide::trajectory::{SamplerError, ThreadsError};

use crate::checkpoint::CheckpointError;
use crate::durable::FileError;
use crate::export::ExportError;
use crate::folder::FolderError;
use crate::journal::JournalError;
use crate::settings::{BringError, Difference, Problems};

/// Why a run cannot begin or go on. That it diverges is not among the reasons: see [`Status`](crate::Status).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The metrics cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The settings make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nor does the file that has them.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// No checkpoint can be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint belongs to another training.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The density was not found.
    #[error("{error}{hint}", error = .0, hint = what_to_say(.0))]
    Pilot(#[from] PilotError),
    /// It cannot be evaluated at all.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It is not the one that the run began with.
    #[error(transparent)]
    Bring(#[from] BringError),
    /// The sampler could not be evaluated.
    #[error("the evaluation after {iteration} iterations: {source}")]
    Evaluation {
        /// Iterations done.
        iteration: u64,
        /// Why.
        source: EvaluationError,
    },
    /// Weights do not make a sampler.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// The machine gave no threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Samples could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// There is nothing left to do.
    #[error("{} is finished: all {iterations} iterations are done; `--iterations` with a larger number goes on", path.display())]
    Finished {
        /// The run.
        path: PathBuf,
        /// How many there are.
        iterations: u64,
    },
    /// It would diverge again.
    #[error(
        "{} diverged at iteration {at}, and would again: the same seed gives the same bits. Begin a new run with another seed \
         or other settings (a lower learning rate, a smaller bound)",
        path.display()
    )]
    Diverged {
        /// The run.
        path: PathBuf,
        /// The iteration.
        at: u64,
    },
    /// Fewer iterations than are done.
    #[error("{} has done {done} iterations already; it cannot end at {asked}", path.display())]
    TooFew {
        /// The run.
        path: PathBuf,
        /// What is done.
        done: u64,
        /// What was asked for.
        asked: u64,
    },
    /// Something is a function of the number of iterations.
    #[error("{} cannot be extended: its destruction bound rises over the whole training, and would have to fall back", path.display())]
    Rising {
        /// The run.
        path: PathBuf,
    },
    /// Somebody changed what it is called.
    #[error("{}: its config.toml does not name the target, method, steps and seed of its result.json; it was changed after the run", path.display())]
    Relabelled {
        /// The run.
        path: PathBuf,
    },
    /// Somebody changed the settings.
    #[error(
        "{} was begun with {} = {}, says its checkpoint, and now its config.toml says {}. A run must stay the run that was begun: change it \
         back, or begin a new one with `ebbtide train --config`; a checkpoint that was copied there from another run must go",
        path.display(), difference.key, difference.theirs, difference.ours
    )]
    Changed {
        /// The run.
        path: PathBuf,
        /// The setting.
        difference: Difference,
    },
}

/// Where to say what a pilot needs to know.
fn what_to_say(error: &PilotError) -> &'static str {
    match error {
        PilotError::Nowhere(_) => {
            ": `placement.by = \"hand\"` with `placement.location` and `placement.scale`"
        }
        _ => "",
    }
}
