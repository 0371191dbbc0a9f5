//! What the fuzz targets share.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;

/// A folder for the files of this process, in memory where there is such a place.
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        made.expect("a folder")
    };
    FOLDER.get_or_init(make).path()
}
