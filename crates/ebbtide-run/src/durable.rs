//! Writing that survives: a file is there whole, or as it was before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Something about a file went wrong.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}: {source}{}", path.display(), advice(source))]
pub struct FileError {
    /// What was tried: "write", "read", "open".
    pub action: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// What to try, for failures that have a usual way out.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; nothing that was saved before is lost: make room and resume"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; choose a folder that can be written to"
        }
        _ => "",
    }
}

impl FileError {
    /// Says what was tried with which file; made for `map_err`.
    pub fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { action, path, source }
    }
}

/// Writes a file beside its place, makes sure of it, and moves it there: whatever happens in between, the place holds the old
/// file or the new one.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut io::BufWriter<&File>) -> io::Result<()>,
) -> Result<(), FileError> {
    let error = FileError::of("write", path);
    let attempt = || {
        let folder = folder_of(path);
        let mut temporary = tempfile::Builder::new()
            .prefix(".")
            .suffix(".part")
            .permissions(readable())
            .tempfile_in(folder)?;
        let mut buffered = io::BufWriter::with_capacity(1 << 16, &*temporary.as_file_mut());
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        sync_folder(folder)
    };
    attempt().map_err(error)
}

/// [`replace`], for contents that are there already.
pub fn replace_with(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    replace(path, |file| file.write_all(contents))
}

/// Makes sure that names made, moved or removed in a folder stay so.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and renames are made sure of by the system.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes what an interrupted [`replace`] left behind in a folder.
pub fn sweep_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let is_leftover = name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(".part"));
        if is_leftover {
            fs::remove_file(folder.join(name))?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Temporary files are private unless told otherwise; results are for everyone whom the folder lets in.
#[cfg(unix)]
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o666)
}

#[cfg(not(unix))]
fn readable() -> fs::Permissions {
    fs::metadata(".").map(|data| data.permissions()).expect("the current folder can be looked at")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        replace_with(&path, b"old").expect("written");
        let failed = replace(&path, |file| {
            file.write_all(b"half of the ne")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        let message = failed.expect_err("it failed").to_string();
        assert!(message.contains("make room"), "{message}");
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn leftovers_are_swept_and_all_else_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".abc.part", ".hidden", "whole.part"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        sweep_leftovers(folder.path()).expect("swept");
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .expect("listed")
            .map(|entry| entry.expect("entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, [".hidden", "whole.part"]);
    }
}
