//! A run folder: where everything about a run is kept, by one process at a time.
//!
//! ```
//! use std::{fs, path::Path};
//!
//! use ebbtide_run::folder::{Files, Folder, FolderError, find, is_at_work, is_run};
//!
//! let runs = tempfile::tempdir()?;
//! let folder = Folder::create(runs.path(), "2026-11-16-25gmm")?;
//! let path = folder.path().to_owned();
//! assert!(is_at_work(&path) && !is_run(&path));
//! fs::write(Files(&path).config(), "target = \"25gmm\"")?;
//! assert!(is_run(&path));
//! assert!(matches!(Folder::open(&path), Err(FolderError::InUse { .. })));
//!
//! drop(folder);
//! assert!(!is_at_work(&path));
//! assert_eq!(find(Path::new("25gmm"), runs.path())?, path);
//! assert_eq!(Folder::open(&path)?.path(), path);
//!
//! let other = runs.path().join("40gmm");
//! assert!(matches!(Folder::open(&other), Err(FolderError::NotARun { .. })));
//! assert_eq!(Folder::at(&other)?.path(), other);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::durable::{self, FileError};

/// Somebody who only looks whether a folder is in use ([`is_at_work`]) is gone after so long.
const LOOK: Duration = Duration::from_millis(5);
/// So often a folder in use is looked at again.
const LOOKS: u32 = 10;

/// A folder that belongs to this process as long as this value lives.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is none, or it is not a run's.
    #[error("{} {}{}", path.display(), if path.exists() { "is not a run folder: it has no config.toml" } else { "does not exist, and no run has that name" }, suggestion(near))]
    NotARun {
        /// What was given.
        path: PathBuf,
        /// A run whose name is like it.
        near: Option<PathBuf>,
    },
    /// Another process has it.
    #[error("{} is in use: another process is training there; wait for it, or stop it", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

fn suggestion(near: &Option<PathBuf>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean {}?", near.display()))
}

/// A folder's files.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # run.go(&Stop::new(), &mut ())?;
/// use ebbtide_run::folder::Files;
///
/// // `folder` has a run that is over.
/// let files = Files(&folder);
/// let asked = [files.config(), files.environment()];
/// let kept = [files.metrics(), files.log(), files.checkpoints()];
/// let came = [files.result(), files.samples()];
/// assert!(asked.iter().chain(&kept).chain(&came).all(|path| path.exists()));
/// // Reports are made for whoever wants to look.
/// assert!(!files.report().exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Files<'a>(pub &'a Path);

impl Files<'_> {
    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// Version, commit, processor, threads.
    pub fn environment(&self) -> PathBuf {
        self.0.join("environment.json")
    }

    /// Curves.
    pub fn metrics(&self) -> PathBuf {
        self.0.join("metrics.jsonl")
    }

    /// What happened, in words.
    pub fn log(&self) -> PathBuf {
        self.0.join("log.txt")
    }

    /// Final figures.
    pub fn result(&self) -> PathBuf {
        self.0.join("result.json")
    }

    /// The samples that the final figures were computed from.
    pub fn samples(&self) -> PathBuf {
        self.0.join("samples.npy")
    }

    /// What it came to, to look at.
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// What a resumed run begins with, and the best weights.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }
}

impl Folder {
    /// Makes a new folder in `parent` named `name`, or `name-2`, `name-3`, … if that is taken.
    pub fn create(parent: &Path, name: &str) -> Result<Self, FolderError> {
        fs::create_dir_all(parent).map_err(FileError::of("make", parent))?;
        let mut number = 1_u64;
        loop {
            let path = parent.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
            match fs::create_dir(&path) {
                Ok(()) => {
                    durable::sync_folder(parent).map_err(FileError::of("make sure of", parent))?;
                    return Self::furnish(path.clone()).inspect_err(|_| Self::abandon(&path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(FileError::of("make", &path)(error).into()),
            }
        }
    }

    /// Gives up a folder in which no run could begin.
    pub(crate) fn abandon(path: &Path) {
        if !is_run(path) {
            // Whatever prevents this has prevented the run too, and was told.
            let _ = fs::remove_dir_all(path);
        }
    }

    /// A folder at this very place, made if it is not there.
    pub fn at(path: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(FileError::of("make", path))?;
        Self::furnish(path.to_owned())
    }

    /// The folder of a run that has begun.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        if !is_run(path) {
            return Err(FolderError::NotARun { path: path.to_owned(), near: None });
        }
        Self::furnish(path.to_owned())
    }

    fn furnish(path: PathBuf) -> Result<Self, FolderError> {
        let lock = Self::lock(&path)?;
        let checkpoints = Files(&path).checkpoints();
        fs::create_dir_all(&checkpoints).map_err(FileError::of("make", &checkpoints))?;
        for folder in [&path, &checkpoints] {
            durable::sweep_leftovers(folder).map_err(FileError::of("tidy", folder))?;
            durable::sync_folder(folder).map_err(FileError::of("make sure of", folder))?;
        }
        Ok(Self { path, _lock: lock })
    }

    fn lock(path: &Path) -> Result<File, FolderError> {
        let lock_path = Files(path).lock();
        let file = File::create(&lock_path).map_err(FileError::of("make", &lock_path))?;
        for patience in (0..LOOKS).rev() {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if patience > 0 => thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => break,
                // A file system without locks: one process at a time is then the user's affair.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(file);
                }
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::of("lock", &lock_path)(error).into());
                }
            }
        }
        Err(FolderError::InUse { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    pub(crate) fn files(&self) -> Files<'_> {
        Files(&self.path)
    }
}

/// Whether a process is training in this folder.
pub fn is_at_work(path: &Path) -> bool {
    let lock = File::open(Files(path).lock());
    // The look itself holds the lock for an instant, together with others that look.
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether there is a run at this very place.
pub fn is_run(path: &Path) -> bool {
    Files(path).config().is_file()
}

/// The run that somebody means: a path, or a name in `runs`. Of a name without its date, the newest.
pub fn find(path: &Path, runs: &Path) -> Result<PathBuf, FolderError> {
    for candidate in [path.to_owned(), runs.join(path)] {
        if is_run(&candidate) {
            return Ok(candidate);
        }
    }
    let newest = path.to_str().and_then(|name| {
        let (folders, name) = (folders_in(runs), format!("-{name}"));
        folders
            .filter(|folder| name_of(folder).contains(&name))
            .filter_map(|folder| Some((age(&folder, &name)?, folder)))
            .max()
    });
    match newest {
        Some((_, folder)) => Ok(folder),
        None => Err(FolderError::NotARun { path: path.to_owned(), near: nearest(path, runs) }),
    }
}

/// Date and number of a folder `<date><name>` or `<date><name>-<number>`.
fn age(folder: &Path, name: &str) -> Option<(String, u64)> {
    let full = name_of(folder);
    let (date, rest) = full.split_once(name)?;
    let number = if rest.is_empty() { 1 } else { rest.strip_prefix('-')?.parse().ok()? };
    let is_date = date.len() == 10 && date.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
    is_date.then(|| (date.to_owned(), number))
}

/// Run folders in a folder; none if it cannot be read.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_run(path))
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The run whose name is most like that of `path`, beside it or in `runs`.
fn nearest(path: &Path, runs: &Path) -> Option<PathBuf> {
    let wanted = name_of(path);
    let beside = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let likeness = |folder: &PathBuf| strsim::normalized_damerau_levenshtein(&wanted, &name_of(folder));
    let near = folders_in(beside).chain(folders_in(runs)).filter(|folder| likeness(folder) >= 0.5);
    near.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_never_used_twice() {
        let parent = tempfile::tempdir().expect("a folder");
        let first = Folder::create(parent.path(), "run").expect("made");
        let second = Folder::create(parent.path(), "run").expect("made");
        assert_eq!(first.path(), parent.path().join("run"));
        assert_eq!(second.path(), parent.path().join("run-2"));
    }

    #[test]
    fn one_process_at_a_time() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(parent.path(), "run").expect("made");
        fs::write(folder.files().config(), "").expect("written");
        let path = folder.path().to_owned();
        assert!(matches!(Folder::open(&path), Err(FolderError::InUse { .. })));
        assert!(is_at_work(&path));
        drop(folder);
        assert!(!is_at_work(&path));
        Folder::open(&path).expect("free again");
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_one() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(parent.path(), "2026-11-16-25gmm").expect("made");
        fs::write(folder.files().config(), "").expect("written");
        let wrong = parent.path().join("2026-11-16-26gmm");
        let message = find(&wrong, Path::new("runs")).expect_err("no such run").to_string();
        assert!(message.contains("did you mean") && message.contains("25gmm"), "{message}");
    }

    #[test]
    fn a_date_may_be_left_out() {
        let runs = tempfile::tempdir().expect("a folder");
        for name in
            ["2026-11-15-25gmm-T5", "2026-11-16-25gmm-T5", "2026-11-16-25gmm-T5-2", "2026-11-16-25gmm-T50"]
        {
            let folder = Folder::create(runs.path(), name).expect("made");
            fs::write(folder.files().config(), "").expect("written");
        }
        let found = |name: &str| find(Path::new(name), runs.path()).ok().map(|path| name_of(&path));
        assert_eq!(found("25gmm-T5").as_deref(), Some("2026-11-16-25gmm-T5-2"));
        assert_eq!(found("2026-11-15-25gmm-T5").as_deref(), Some("2026-11-15-25gmm-T5"));
        assert_eq!(found("gmm-T5"), None);
    }
}
