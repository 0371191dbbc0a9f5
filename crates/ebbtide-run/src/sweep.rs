//! Sweeps: a grid of runs in one folder, done by several workers, processes or machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ebbtide::trajectory::Threads;

use crate::compare::{Found, gather, is_done};
use crate::durable::FileError;
use crate::folder::{Folder, FolderError, is_run};
use crate::run::{Run, RunError, read_outcome, read_settings};
use crate::settings::{
    Difference, Draft, Entry, Mismatch, Problem, Problems, Settings, Strictness, Value, entries, nearest,
};
use crate::{Observer, Outcome, Stop};

/// A grid of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Where their folders are.
    pub folder: PathBuf,
    /// How many at once, if the file says so.
    pub workers: Option<usize>,
    /// All of them, in order: targets, then methods, then steps, then seeds.
    pub jobs: Vec<Settings>,
}

/// One of several equal parts of a sweep: `2/8` is the second of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// The whole.
    pub const ALL: Shard = Shard { part: 1, of: 1 };

    /// Whether the job at this place belongs to it. Neighbours go to different shards, for they take about as long.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.part - 1
    }
}

/// A text that is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a part of a whole; write 2/8 for the second of eight parts")]
pub struct NotAShard(String);

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Self, NotAShard> {
        let parse = || {
            let (part, of) = text.split_once('/')?;
            let (part, of) = (part.trim().parse().ok()?, of.trim().parse().ok()?);
            (1..=of).contains(&part).then_some(Shard { part, of })
        };
        parse().ok_or_else(|| NotAShard(text.to_owned()))
    }
}

/// Why a job of a sweep could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The sweep was changed after the job began.
    #[error(
        "{} was begun with {} = {}, and the sweep now asks for {}; choose another folder for the changed sweep, or remove that run",
        path.display(), difference.key, difference.theirs, difference.ours
    )]
    Changed {
        /// The job's folder.
        path: PathBuf,
        /// The setting.
        difference: Difference,
    },
}

impl From<FolderError> for JobError {
    fn from(error: FolderError) -> Self {
        JobError::Run(error.into())
    }
}

const KEYS: [&str; 6] = ["folder", "workers", "targets", "methods", "steps", "seeds"];

impl Sweep {
    /// Reads a sweep from TOML and checks all of its runs. `name` is the file's, for messages and the default folder.
    pub fn read(name: &str, text: &str) -> Result<Self, Problems> {
        let mut reading = Reading::new(name, text)?;
        let targets = reading.list("targets", None);
        let methods = reading.list("methods", Some("tb-tb"));
        let steps = reading.list("steps", Some("5"));
        let seeds = reading.list("seeds", Some("0"));
        let workers = reading.whole("workers");
        let stem = Path::new(name).file_stem().map_or("sweep".as_ref(), |stem| stem);
        let folder = reading.text("folder").map_or_else(|| Path::new("runs").join(stem), PathBuf::from);
        let mut jobs = Vec::new();
        for target in &targets {
            for method in &methods {
                for steps in &steps {
                    for seed in &seeds {
                        jobs.extend(reading.job([target, method, steps, seed]));
                    }
                }
            }
        }
        reading.finish()?;
        Ok(Self { folder, workers, jobs })
    }

    /// Where a job is kept.
    pub fn place(&self, job: &Settings) -> PathBuf {
        self.folder.join(job.name())
    }

    /// Whether a job is done already.
    pub fn is_done(&self, job: &Settings) -> Result<bool, RunError> {
        let folder = self.place(job);
        if !is_run(&folder) {
            return Ok(false);
        }
        let outcome = read_outcome(&folder)?;
        Ok(is_done(&Found { folder, settings: job.clone(), outcome }))
    }

    /// Does a job from its beginning, or from where it was.
    pub fn run(&self, job: &Settings, stop: &Stop, observer: &mut dyn Observer) -> Result<Outcome, JobError> {
        let path = self.place(job);
        let threads = Threads::new(1).map_err(|error| {
            RunError::File(FileError::of("start a thread for", &path)(std::io::Error::other(
                error.to_string(),
            )))
        })?;
        let run = if is_run(&path) {
            let begun = read_settings(&path)?;
            if let Some(difference) = job.difference(&begun, &["iterations", "checkpoint.seconds"]) {
                return Err(JobError::Changed { path, difference });
            }
            Run::resume(&path, Some(job.config.iterations), &threads)?
        } else {
            Run::begin_in(Folder::at(&path)?, job.clone(), &threads)?
        };
        Ok(run.go(stop, observer)?)
    }

    /// All runs of the sweep that have begun, by whomever.
    pub fn gather(&self) -> Result<Vec<Found>, RunError> {
        let begun: Vec<PathBuf> =
            self.jobs.iter().map(|job| self.place(job)).filter(|path| is_run(path)).collect();
        gather(&begun)
    }

    /// Makes the folder.
    pub fn prepare(&self) -> Result<(), FileError> {
        fs::create_dir_all(&self.folder).map_err(FileError::of("make", &self.folder))
    }
}

/// A sweep's file on its way to runs.
struct Reading<'a> {
    name: &'a str,
    text: &'a str,
    entries: Vec<Entry>,
    problems: Problems,
}

impl<'a> Reading<'a> {
    fn new(name: &'a str, text: &'a str) -> Result<Self, Problems> {
        let mut draft = Draft::new();
        draft.source(name, text);
        let sources = draft.sources().to_vec();
        let entries = entries(0, text).map_err(|problems| Problems { sources: sources.clone(), problems })?;
        let mut reading = Self { name, text, entries, problems: Problems { sources, problems: Vec::new() } };
        reading.refuse_unknown();
        Ok(reading)
    }

    fn refuse_unknown(&mut self) {
        let known = |path: &str| KEYS.contains(&path) || path.starts_with("set.");
        for entry in self.entries.iter().filter(|entry| !known(&entry.path)) {
            let problem =
                Problem::new(format!("a sweep has no `{}`", entry.path)).at(entry.key.clone(), "unknown");
            let help = match nearest(&entry.path, KEYS) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    format!("a sweep has {}; settings for all runs go into a table [set]", KEYS.join(", "))
                }
            };
            self.problems.problems.push(problem.help(help));
        }
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == key)
    }

    /// The entries of a list, each as an entry of its own; or the default.
    fn list(&mut self, key: &'static str, default: Option<&str>) -> Vec<Entry> {
        let Some(entry) = self.get(key) else {
            return match default {
                Some(value) => vec![self.default_entry(value)],
                None => {
                    let problem = Problem::new(format!("the sweep has no `{key}`"));
                    self.problems.problems.push(problem.help(format!("write `{key} = [\"25gmm\"]`")));
                    Vec::new()
                }
            };
        };
        let with = |value: &Value| Entry { value: value.clone(), ..entry.clone() };
        match &entry.value {
            Value::List(values) if values.is_empty() => {
                let problem = Problem::new(format!("`{key}` is empty: there is nothing to run"));
                let problem = problem.at(entry.place.clone(), "at least one");
                self.problems.problems.push(problem);
                Vec::new()
            }
            Value::List(values) => values.iter().map(with).collect(),
            single => vec![with(single)],
        }
    }

    fn default_entry(&self, value: &str) -> Entry {
        let nowhere = crate::settings::Place { source: 0, span: 0..0 };
        let value = value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Whole);
        Entry { path: String::new(), key: nowhere.clone(), table: nowhere.clone(), place: nowhere, value }
    }

    fn whole(&mut self, key: &str) -> Option<usize> {
        let entry = self.get(key)?.clone();
        self.checked(&entry, entry.value.whole())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let entry = self.get(key)?.clone();
        self.checked(&entry, entry.value.text().map(str::to_owned))
    }

    fn checked<T>(&mut self, entry: &Entry, value: Result<T, Mismatch>) -> Option<T> {
        value
            .map_err(|mismatch| {
                let message = format!("{} is {}, but must be {}", entry.path, entry.value, mismatch.wanted);
                let problem =
                    Problem::new(message).at(entry.place.clone(), format!("not {}", mismatch.wanted));
                self.problems.problems.push(problem);
            })
            .ok()
    }

    /// One run: the settings for all, and its place in the grid.
    fn job(&mut self, place: [&Entry; 4]) -> Option<Settings> {
        let mut draft = Draft::new();
        draft.source(self.name, self.text);
        for entry in &self.entries {
            if let Some(path) = entry.path.strip_prefix("set.") {
                draft.add(Entry { path: path.to_owned(), ..entry.clone() });
            }
        }
        for (key, entry) in ["target", "method", "steps", "seed"].into_iter().zip(place) {
            draft.add(Entry { path: key.to_owned(), ..entry.clone() });
        }
        match draft.resolve(Strictness::Lenient) {
            Ok(settings) => Some(settings),
            Err(problems) => {
                // The same mistake shows up in many runs.
                for problem in problems.problems {
                    if !self.problems.problems.contains(&problem) {
                        self.problems.problems.push(problem);
                    }
                }
                None
            }
        }
    }

    fn finish(self) -> Result<(), Problems> {
        if self.problems.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }
}
