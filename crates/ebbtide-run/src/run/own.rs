//! The checkpoints of a run, and not of another.

use std::path::Path;

use super::{RunError, settings_of};
use crate::checkpoint::{Stored, best, newest_before};
use crate::folder::Files;
use crate::settings::{Difference, Settings};

/// Settings that do not touch the training itself, and may change when a run is resumed.
pub(crate) const MAY_CHANGE: &[&str] = &[
    "iterations",
    "evaluation.every",
    "evaluation.samples",
    "evaluation.explosion",
    "metrics.every",
    "checkpoint.seconds",
];

/// The newest checkpoint that is this run's, with the settings that it was made with. Those of other runs that somebody put there are passed over with
/// a remark, as damaged ones are; if there are no others, the settings of the run have been changed, for all that anybody can tell.
pub(crate) fn own_checkpoint(
    path: &Path,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<Option<(Stored, Settings)>, RunError> {
    let (mut end, mut refused) = (u64::MAX, None);
    loop {
        let stored = match newest_before(&Files(path).checkpoints(), end, remarks) {
            Ok(Some(stored)) => stored,
            Ok(None) => return refused.map_or(Ok(None), Err),
            Err(error) => return Err(refused.unwrap_or(error.into())),
        };
        let error = match settings_if_own(path, &stored, settings) {
            Ok(begun) => return Ok(Some((stored, begun))),
            Err(error) => error,
        };
        let why = match &error {
            RunError::Changed { difference: Difference { key, ours, theirs }, .. } => {
                format!("with {key} = {theirs} and not {ours}")
            }
            other => format!("whose settings cannot be read ({other})"),
        };
        remarks
            .push(format!("{} is of another run, {why}; the one before is taken", stored.path().display()));
        end = stored.iteration();
        refused.get_or_insert(error);
    }
}

/// The weights of this run's best evaluation, with the settings that they were made with.
pub(crate) fn own_best(path: &Path, settings: &Settings) -> Result<(Stored, Settings), RunError> {
    let stored = best(&Files(path).checkpoints())?;
    let begun = settings_if_own(path, &stored, settings)?;
    Ok((stored, begun))
}

/// The settings that a checkpoint was made with, if they are those of the run.
fn settings_if_own(path: &Path, stored: &Stored, settings: &Settings) -> Result<Settings, RunError> {
    let begun = settings_of(stored.settings()?, "the settings in the checkpoint")?;
    match settings.difference(&begun, MAY_CHANGE) {
        None => Ok(begun),
        Some(difference) => Err(RunError::Changed { path: path.to_owned(), difference }),
    }
}
