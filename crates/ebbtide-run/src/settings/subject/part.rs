//! The settings that say what one kind of target is, one by one, and all that is wrong with them.

use std::collections::BTreeMap;
use std::path::{self, Path, PathBuf};

use super::{Entry, Problem, Source};
use crate::Digest;

/// What a digest looks like.
const DIGITS: &str = "the digest that Ebbtide wrote, in quotes";

/// Settings being read.
pub struct Parts<'a> {
    given: &'a BTreeMap<String, Entry>,
    pub problems: Vec<Problem>,
}

impl<'a> Parts<'a> {
    pub fn of(given: &'a BTreeMap<String, Entry>) -> Self {
        Self { given, problems: Vec::new() }
    }

    /// A setting, if it is given.
    pub fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.given.get(key)
    }

    /// Complains if a setting is not given.
    pub fn need(&mut self, key: &str, missing: &str, help: &str) {
        if !self.given.contains_key(key) {
            self.problems.push(Problem::new(missing).help(help));
        }
    }

    /// Complains about a value.
    pub fn wrong(&mut self, entry: &Entry, wanted: &str) {
        let problem = Problem::new(format!("{} is {}, but must be {wanted}", entry.path, entry.value));
        self.problems.push(problem.at(entry.place.clone(), format!("not {wanted}")));
    }

    /// A value that `read` can make something of.
    pub fn read<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'a Entry) -> Option<T>,
    ) -> Option<T> {
        let entry = self.given.get(key)?;
        let value = read(entry);
        if value.is_none() {
            self.wrong(entry, wanted);
        }
        value
    }

    /// Text that is not blank.
    pub fn text(&mut self, key: &str, wanted: &str) -> Option<&'a str> {
        self.read(key, wanted, |entry| entry.value.text().ok().filter(|text| !text.trim().is_empty()))
    }

    /// A number of coordinates.
    pub fn dim(&mut self, key: &str) -> Option<usize> {
        self.read(key, "a whole number, 1 or above", |entry| entry.value.whole().ok().filter(|dim| *dim > 0))
    }

    /// A digest.
    pub fn digest(&mut self, key: &str) -> Option<Digest> {
        self.read(key, DIGITS, |entry| entry.value.text().ok()?.parse().ok())
    }

    /// The path of a file, which means the same from everywhere: runs are resumed from other folders than they were begun in.
    pub fn file(&mut self, key: &str) -> Option<PathBuf> {
        let file = self.text(key, "the path of a file, in quotes")?;
        let wanted = "a path that can be written in UTF-8, in a folder that is there";
        self.read(key, wanted, |_| absolute(Path::new(file)))
    }

    /// The same, seen from the folder of the document that names it; arguments name it from where we are.
    pub fn file_beside(&mut self, key: &str, sources: &[Source]) -> Option<PathBuf> {
        let file = self.file(key)?;
        let entry = self.given.get(key)?;
        let source = &sources[entry.place.source];
        let folder = Path::new(&source.name).parent().filter(|_| !source.is_argument);
        match (folder, entry.value.text()) {
            // Without the way there and back, if there is such a file.
            (Some(folder), Ok(own)) => absolute(&folder.join(own))
                .map(|file| file.canonicalize().ok().filter(|file| file.to_str().is_some()).unwrap_or(file)),
            _ => Some(file),
        }
    }
}

fn absolute(file: &Path) -> Option<PathBuf> {
    path::absolute(file).ok().filter(|file| file.to_str().is_some())
}
