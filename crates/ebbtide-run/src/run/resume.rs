//! Taking a run up where its last checkpoint left it.

use std::path::Path;

use ebbtide::train::{BoundSchedule, Trainer};
use ebbtide::trajectory::Threads;

use super::{Run, RunError, read_outcome, read_settings, settings_of};
use crate::checkpoint::{self, Progress, Stored};
use crate::folder::Folder;
use crate::settings::Settings;
use crate::{Environment, Outcome, Status, durable};

/// Settings that do not touch the training itself, and may change when a run is resumed.
pub const MAY_CHANGE: &[&str] = &[
    "iterations",
    "evaluation.every",
    "evaluation.samples",
    "evaluation.explosion",
    "metrics.every",
    "checkpoint.seconds",
];

impl Run {
    /// Takes a run up where its last checkpoint left it, to a result that is bitwise that of a run that was never stopped.
    /// `iterations` is its new length.
    pub fn resume(path: &Path, iterations: Option<u64>, threads: &Threads) -> Result<Self, RunError> {
        let folder = Folder::open(path)?;
        let written = read_settings(path)?;
        let mut settings = written.clone();
        settings.config.iterations = iterations.unwrap_or(written.config.iterations);
        let valid = settings.validate()?;
        let mut remarks = Vec::new();
        let found = checkpoint::newest(&folder.files().checkpoints(), &mut remarks)?;
        // What the run was begun with, as far as anything is left of it.
        let begun = match &found {
            Some(stored) => settings_of(stored.settings()?, "the settings in the checkpoint")?,
            None => written.clone(),
        };
        if let Some(difference) = settings.difference(&begun, MAY_CHANGE) {
            return Err(RunError::Changed { path: path.to_owned(), difference });
        }
        let done = found.as_ref().map_or(0, Stored::iteration);
        let outcome = read_outcome(path).unwrap_or_else(|error| {
            remarks.push(format!("{error}; it is left aside"));
            None
        });
        is_something_left(path, &settings, &begun, done, outcome)?;
        let (trainer, progress) = match found {
            Some(stored) => {
                let progress = stored.progress()?;
                (Trainer::restore(valid.clone(), threads, stored.state(&valid.model().layout)?)?, progress)
            }
            None => {
                remarks.push("there is no checkpoint yet: it begins anew".to_owned());
                (Trainer::new(valid, threads), Progress::default())
            }
        };
        let (length, before) = (settings.config.iterations, begun.config.iterations);
        if length != before {
            remarks.push(format!("its length is {length} iterations now; it was {before}"));
        }
        if settings != written {
            durable::replace_with(&folder.files().config(), settings.to_toml().as_bytes())?;
        }
        let environment = Environment::now(threads.count());
        Self::assemble(folder, settings, trainer, progress, environment, remarks)
    }
}

/// Refuses a run that is over, or that cannot become what is asked for.
fn is_something_left(
    path: &Path,
    settings: &Settings,
    begun: &Settings,
    done: u64,
    outcome: Option<Outcome>,
) -> Result<(), RunError> {
    let (path, asked) = (path.to_owned(), settings.config.iterations);
    if asked < done {
        return Err(RunError::TooFew { path, done, asked });
    }
    let is_rising = begun.config.destruction_bound == BoundSchedule::Rising;
    if is_rising && asked != begun.config.iterations {
        return Err(RunError::Rising { path });
    }
    match outcome {
        // A bound that was let through now may have been what ended it.
        Some(outcome) if settings.keeping.explosion == begun.keeping.explosion => match outcome.status {
            Status::Diverged { at, .. } => Err(RunError::Diverged { path, at }),
            Status::Finished if outcome.iterations == asked => {
                Err(RunError::Finished { path, iterations: done })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
