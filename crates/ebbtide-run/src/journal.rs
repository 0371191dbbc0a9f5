//! `metrics.jsonl`: the curves of a run, a line at a time.
//!
//! ```
//! use std::fs;
//!
//! use ebbtide_run::Record;
//! use ebbtide_run::journal::{JournalError, read};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("metrics.jsonl");
//! let record = Record { iteration: 10, seconds: 0.5, ..Record::default() };
//! let line = serde_json::to_string(&record)?;
//! // A kill has cut the second line off.
//! fs::write(&path, format!("{line}\n{}", &line[..20]))?;
//! assert_eq!(read(&path)?, [record]);
//!
//! fs::write(&path, format!("{line}\n{}\n", &line[..20]))?;
//! assert!(matches!(read(&path), Err(JournalError::Damaged { line: 2, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Record;
use crate::durable::FileError;

/// A journal that lines are added to.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    line: Vec<u8>,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line in the middle is damaged.
    #[error("line {line} of {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: serde_json::Error,
    },
}

impl Journal {
    /// Takes a journal up where it was `length` bytes long: what was written later, before the run was killed, will come again.
    pub fn resume(path: &Path, length: u64) -> Result<Self, FileError> {
        let open = || {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            let length = file.metadata()?.len().min(length);
            file.set_len(length)?;
            file.sync_all()?;
            Ok((file, length))
        };
        let (file, length) = open().map_err(FileError::of("open", path))?;
        Ok(Self { path: path.to_owned(), file, length, line: Vec::new() })
    }

    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Adds a line, in one piece.
    pub fn add(&mut self, record: &Record) -> Result<(), FileError> {
        self.line.clear();
        write_line(&mut self.line, record);
        self.length += self.line.len() as u64;
        self.file.write_all(&self.line).map_err(FileError::of("write", &self.path))
    }

    /// Makes sure of all lines so far.
    pub fn sync(&mut self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::of("make sure of", &self.path))
    }
}

fn write_line(line: &mut Vec<u8>, record: &Record) {
    serde_json::to_writer(&mut *line, record).expect("a record is JSON, and memory takes it");
    line.push(b'\n');
}

/// All lines of a journal. A last line without an end is one that a kill cut off, and does not count.
pub fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    let text = fs::read(path).map_err(FileError::of("read", path))?;
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let lines = text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate();
    lines
        .map(|(i, line)| {
            serde_json::from_slice(line).map_err(|reason| JournalError::Damaged {
                path: path.to_owned(),
                line: i + 1,
                reason,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(iteration: u64) -> Record {
        Record { iteration, seconds: 0.5, ..Record::default() }
    }

    #[test]
    fn what_came_after_the_checkpoint_is_taken_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics.jsonl");
        let mut journal = Journal::resume(&path, 0).expect("begun");
        journal.add(&record(10)).expect("written");
        journal.add(&record(20)).expect("written");
        let length = journal.len();
        journal.add(&record(30)).expect("written");
        drop(journal);
        let mut file = OpenOptions::new().append(true).open(&path).expect("open");
        file.write_all(b"{\"iteration\":4").expect("cut off");
        assert_eq!(read(&path).expect("read").len(), 3);
        let mut journal = Journal::resume(&path, length).expect("resumed");
        journal.add(&record(25)).expect("written");
        let iterations: Vec<u64> = read(&path).expect("read").iter().map(|record| record.iteration).collect();
        assert_eq!(iterations, [10, 20, 25]);
    }

    #[test]
    fn lines_that_are_missing_are_not_made_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::resume(&folder.path().join("metrics.jsonl"), 100).expect("resumed");
        assert_eq!(journal.len(), 0);
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, "{\"iteration\":1}\nrubbish\n").expect("written");
        let message = read(&path).expect_err("damaged").to_string();
        assert!(message.contains("line 1") && message.contains("seconds"), "{message}");
    }
}
