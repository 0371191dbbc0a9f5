//! Writing that survives: a file is there whole, or as it was before.
//!
//! ```
//! use std::fs;
//! use std::io::{ErrorKind, Write};
//!
//! use ebbtide_run::durable::{FileError, Pending, replace, replace_with};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("table.csv");
//! replace_with(&path, b"seed,elbo\n0,-1.5\n")?;
//!
//! let failed = replace(&path, |file: &mut Pending| {
//!     writeln!(file, "seed,elbo")?;
//!     Err(ErrorKind::StorageFull.into())
//! });
//! let FileError { action, source, .. } = failed.unwrap_err();
//! assert_eq!((action, source.kind()), ("write", ErrorKind::StorageFull));
//! assert_eq!(fs::read_to_string(&path)?, "seed,elbo\n0,-1.5\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

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
            "; make room and go on: nothing that was there before is lost"
        }
        _ => "",
    }
}

impl FileError {
    /// Says what was tried with which file; made for `map_err`.
    ///
    /// ```
    /// use std::{fs, path::Path};
    ///
    /// use ebbtide_run::durable::FileError;
    ///
    /// let path = Path::new("nowhere/config.toml");
    /// let error = fs::read(path).map_err(FileError::of("read", path)).unwrap_err();
    /// assert!(error.to_string().starts_with("could not read nowhere/config.toml: "));
    /// ```
    pub fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { action, path, source }
    }
}

/// A file in the making, beside the place it is meant for: once it is whole it is moved there, dropping it leaves nothing.
#[derive(Debug)]
pub struct Pending {
    file: io::BufWriter<NamedTempFile>,
    place: PathBuf,
}

impl Pending {
    /// Begins a file for `path`. Where that is a link, the link stays and what it points to is replaced.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let attempt = || {
            let place = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
            // Moving would fail too, but only after everything was written.
            if place.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let folder = folder_of(&place);
            if !folder.is_dir() {
                let message = format!("there is no folder {}", folder.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, message));
            }
            let temporary = tempfile::Builder::new()
                .prefix(".")
                .suffix(".part")
                .permissions(readable())
                .tempfile_in(folder)?;
            Ok(Self { file: io::BufWriter::with_capacity(1 << 16, temporary), place })
        };
        attempt().map_err(FileError::of("write", path))
    }

    /// Makes sure of the file and moves it to its place: whatever happens in between, the place holds the old file or the
    /// new one.
    pub(crate) fn commit(self) -> Result<(), FileError> {
        let Self { file, place } = self;
        let attempt = || {
            let temporary = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            temporary.as_file().sync_all()?;
            temporary.persist(&place).map_err(|error| error.error)?;
            sync_folder(folder_of(&place))
        };
        attempt().map_err(FileError::of("write", &place))
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file beside its place, makes sure of it, and moves it there: whatever happens in between, the place holds the old
/// file or the new one.
pub fn replace(path: &Path, write: impl FnOnce(&mut Pending) -> io::Result<()>) -> Result<(), FileError> {
    let mut pending = Pending::create(path)?;
    write(&mut pending).map_err(FileError::of("write", path))?;
    pending.commit()
}

/// [`replace`], for contents that are there already.
pub fn replace_with(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    replace(path, |file| file.write_all(contents))
}

/// Makes sure that names made, moved or removed in a folder stay so.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and renames are made sure of by the system.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes what an interrupted [`Pending`] left behind in a folder.
pub(crate) fn sweep_leftovers(folder: &Path) -> io::Result<()> {
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
    fn a_folder_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Pending::create(folder.path()).expect_err("not a file");
        assert_eq!(error.source.kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").expect("written");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        replace_with(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).expect("still there"), b"new");
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
