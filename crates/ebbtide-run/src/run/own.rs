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
    let (mut end, mut refused): (u64, Option<Difference>) = (u64::MAX, None);
    loop {
        let stored = match newest_before(&Files(path).checkpoints(), end, remarks) {
            Ok(Some(stored)) => stored,
            Ok(None) if refused.is_none() => return Ok(None),
            Err(error) if refused.is_none() => return Err(error.into()),
            _ => break,
        };
        let begun = begun(&stored)?;
        let Some(difference) = settings.difference(&begun, MAY_CHANGE) else {
            return Ok(Some((stored, begun)));
        };
        let (Difference { key, ours, theirs }, file) = (&difference, stored.path().display());
        remarks.push(format!(
            "{file} is of another run, with {key} = {theirs} and not {ours}; the one before is taken"
        ));
        end = stored.iteration();
        refused.get_or_insert(difference);
    }
    let difference = refused.expect("one was refused");
    Err(RunError::Changed { path: path.to_owned(), difference })
}

/// The weights of this run's best evaluation, with the settings that they were made with.
pub(crate) fn own_best(path: &Path, settings: &Settings) -> Result<(Stored, Settings), RunError> {
    let stored = best(&Files(path).checkpoints())?;
    let begun = begun(&stored)?;
    match settings.difference(&begun, MAY_CHANGE) {
        None => Ok((stored, begun)),
        Some(difference) => Err(RunError::Changed { path: path.to_owned(), difference }),
    }
}

/// The settings that a checkpoint was made with.
fn begun(stored: &Stored) -> Result<Settings, RunError> {
    Ok(settings_of(stored.settings()?, "the settings in the checkpoint")?)
}
