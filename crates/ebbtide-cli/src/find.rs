//! Which run somebody means.

use std::path::{Path, PathBuf};

use ebbtide_run::folder::{FolderError, find};

use crate::failure::say;

/// The run of this path or name. Where more than one could be meant, standard error says which it is.
pub fn meant(name: &Path, runs: &Path) -> Result<PathBuf, FolderError> {
    let folder = find(name, runs)?;
    if folder != name && folder != runs.join(name) {
        say(&format!("{} is {}", name.display(), folder.display()));
    }
    Ok(folder)
}

/// Run folders, or folders of them, that are meant.
pub fn places(names: &[PathBuf], runs: &Path) -> Result<Vec<PathBuf>, FolderError> {
    names.iter().map(|name| if name.is_dir() { Ok(name.clone()) } else { meant(name, runs) }).collect()
}
