//! Sweeps: a grid of runs in one folder, done by several workers, processes or machines.
//!
//! ```
//! use ebbtide_run::sweep::{Shard, Sweep};
//! use ebbtide_run::{Stop, job::Job, pool};
//!
//! let text = r#"
//! targets = ["25gmm"]
//! methods = ["tb-fixed", "tb-tb"]
//! steps = [2]
//! seeds = [0, 1]
//!
//! [set]
//! iterations = 3
//! batch = 16
//! evaluation.samples = 64
//! "#;
//! let runs = tempfile::tempdir()?;
//! let sweep = Sweep::read("grid.toml", text, runs.path())?;
//! assert_eq!((&sweep.folder, sweep.jobs.len()), (&runs.path().join("grid"), 4));
//! sweep.prepare()?;
//!
//! // What one of two machines does.
//! let shard: Shard = "2/2".parse()?;
//! let mine = sweep.jobs.iter().enumerate().filter(|(place, _)| shard.has(*place));
//! let mine: Vec<&Job> = mine.map(|(_, job)| job).collect();
//! for outcome in pool::work(mine, 2, |job| job.run(&Stop::new(), &mut ())) {
//!     assert_eq!(outcome?.expect("nobody else has done it").seed, 1);
//! }
//! assert_eq!(sweep.gather().found.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::compare::{Gathered, gather};
use crate::durable::FileError;
use crate::folder::is_run;
use crate::job::Job;
use crate::settings::{
    Draft, Entry, Mismatch, Place, Problem, Problems, Settings, Source, Strictness, Value, entries, nearest,
};

/// A grid of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Where their folders are.
    pub folder: PathBuf,
    /// How many at once, if the file says so.
    pub workers: Option<usize>,
    /// All of them, in order: targets, then methods, then steps, then seeds.
    pub jobs: Vec<Job>,
}

/// One of several equal parts of a sweep: `2/8` is the second of eight.
///
/// ```
/// use ebbtide_run::sweep::{NotAShard, Shard};
///
/// let shard: Shard = "2/8".parse()?;
/// assert!(shard.has(1) && shard.has(9) && !shard.has(2));
/// let error: NotAShard = "9/8".parse::<Shard>().unwrap_err();
/// assert!(error.to_string().starts_with("`9/8` is not a part of a whole"));
/// # Ok::<(), NotAShard>(())
/// ```
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

const KEYS: [&str; 6] = ["folder", "workers", "targets", "methods", "steps", "seeds"];

/// What the grid decides for each run, and where.
const AXES: [(&str, &str); 4] =
    [("target", "targets"), ("method", "methods"), ("steps", "steps"), ("seed", "seeds")];

/// Runs that a sweep may have. Lists multiply, so that a page of them could ask for more than any disk holds.
const MOST: usize = 10_000;

impl Sweep {
    /// Reads a sweep from TOML and checks all of its runs. `name` is the file's, for messages and the default folder, which is in
    /// `runs`.
    pub fn read(name: &str, text: &str, runs: &Path) -> Result<Self, Problems> {
        let mut reading = Reading::new(name, text)?;
        let targets = reading.list("targets", true);
        let methods = reading.list("methods", false);
        let steps = reading.list("steps", false);
        let seeds = reading.list("seeds", false);
        let workers = reading.workers();
        let stem = Path::new(name).file_stem().map_or("sweep".as_ref(), |stem| stem);
        let folder = reading.text("folder").map_or_else(|| runs.join(stem), PathBuf::from);
        if reading.has_too_many(&[&targets, &methods, &steps, &seeds]) {
            return Err(reading.problems);
        }
        let mut jobs = Vec::new();
        for target in &targets {
            for method in &methods {
                for steps in &steps {
                    for seed in &seeds {
                        reading.job([target, method, steps, seed], &mut jobs);
                    }
                }
            }
        }
        reading.finish()?;
        let jobs = jobs.into_iter().map(|settings| Job { folder: folder.join(settings.name()), settings });
        let jobs = jobs.collect();
        Ok(Self { folder, workers, jobs })
    }

    /// All runs of the sweep that have begun, by whomever.
    pub fn gather(&self) -> Gathered {
        let begun: Vec<PathBuf> =
            self.jobs.iter().map(|job| job.folder.clone()).filter(|path| is_run(path)).collect();
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
    /// Names of the runs so far.
    names: HashSet<String>,
}

impl<'a> Reading<'a> {
    fn new(name: &'a str, text: &'a str) -> Result<Self, Problems> {
        let sources = vec![Source::file(name, text)];
        let entries = entries(0, text).map_err(|problems| Problems { sources: sources.clone(), problems })?;
        let problems = Problems { sources, problems: Vec::new() };
        let mut reading = Self { name, text, entries, problems, names: HashSet::new() };
        reading.refuse_unknown();
        Ok(reading)
    }

    fn refuse_unknown(&mut self) {
        if let Some(entry) = self.get("target") {
            let problem = Problem::new("this is the configuration of a run, not a sweep")
                .at(entry.key.clone(), "of a run");
            let help = format!("`ebbtide train --config {}`, or `targets = [{}]`", self.name, entry.value);
            self.problems.problems.push(problem.help(help));
            return;
        }
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
        for (setting, axis) in AXES {
            if let Some(entry) = self.get(&format!("set.{setting}")) {
                let problem = Problem::new(format!("`{setting}` is an axis of the sweep"));
                let help = format!("write `{axis} = [{}]` before the tables", entry.value);
                let problem = problem.at(entry.key.clone(), "not for all runs").help(help);
                self.problems.problems.push(problem);
            }
        }
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == key)
    }

    /// The entries of a list, each as an entry of its own. One that is not given has one entry: whatever is usual.
    fn list(&mut self, key: &'static str, needed: bool) -> Vec<Option<Entry>> {
        let Some(entry) = self.get(key) else {
            if needed {
                let problem = Problem::new(format!("the sweep has no `{key}`"));
                self.problems.problems.push(problem.help(format!("write `{key} = [\"25gmm\"]`")));
            }
            return vec![None];
        };
        match &entry.value {
            Value::List(values) if values.is_empty() => {
                let problem = Problem::new(format!("`{key}` is empty: there is nothing to run"));
                let problem = problem.at(entry.place.clone(), "at least one");
                self.problems.problems.push(problem);
                Vec::new()
            }
            Value::List(values) => {
                // Without the list, which would be copied for each of its values.
                let with = |(value, span): &(Value, Range<usize>)| {
                    Some(Entry {
                        path: entry.path.clone(),
                        key: entry.key.clone(),
                        table: entry.table.clone(),
                        place: Place { source: 0, span: span.clone() },
                        value: value.clone(),
                    })
                };
                values.iter().map(with).collect()
            }
            _ => vec![Some(entry.clone())],
        }
    }

    /// Before any of them is looked at.
    fn has_too_many(&mut self, lists: &[&Vec<Option<Entry>>]) -> bool {
        let runs = lists.iter().fold(1_usize, |runs, list| runs.saturating_mul(list.len()));
        if runs <= MOST {
            return false;
        }
        let mut problem = Problem::new(format!("the sweep has {runs} runs, and {MOST} are the most"));
        let longest = lists.iter().max_by_key(|list| list.len()).and_then(|list| list.first()?.as_ref());
        if let Some(entry) = longest {
            problem = problem.at(entry.key.clone(), "the longest list");
        }
        self.tell(problem.help("lists multiply: make several sweeps of it"));
        true
    }

    fn workers(&mut self) -> Option<usize> {
        let entry = self.get("workers")?.clone();
        let wanted = Mismatch { wanted: "a whole number, 1 or above".to_owned(), nearest: None };
        let workers = entry.value.whole().ok().filter(|workers| *workers > 0).ok_or(wanted);
        self.checked(&entry, workers)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let entry = self.get(key)?.clone();
        self.checked(&entry, entry.value.text().map(str::to_owned))
    }

    fn checked<T>(&mut self, entry: &Entry, value: Result<T, Mismatch>) -> Option<T> {
        value.map_err(|mismatch| self.tell(entry.mismatched(&mismatch))).ok()
    }

    /// One run: the settings for all, and its place in the grid.
    fn job(&mut self, place: [&Option<Entry>; 4], jobs: &mut Vec<Settings>) {
        // Everything would be wrong with a run without a target.
        let Some(target) = place[0] else { return };
        let mut draft = Draft::new();
        draft.source(self.name, self.text);
        for entry in &self.entries {
            if let Some(path) = entry.path.strip_prefix("set.") {
                draft.add(Entry { path: path.to_owned(), ..entry.clone() });
            }
        }
        for ((setting, _), entry) in AXES.into_iter().zip(place) {
            if let Some(entry) = entry {
                draft.add(Entry { path: setting.to_owned(), ..entry.clone() });
            }
        }
        match draft.resolve(Strictness::Lenient) {
            Ok(settings) if !self.names.insert(settings.name()) => {
                let problem = Problem::new(format!("{} is in the sweep twice", settings.name()));
                let last = place.into_iter().flatten().next_back().unwrap_or(target);
                self.tell(problem.at(last.place.clone(), "again"));
            }
            Ok(settings) => jobs.push(settings),
            Err(problems) => problems.problems.into_iter().for_each(|problem| self.tell(problem)),
        }
    }

    /// The same mistake shows up in many runs.
    fn tell(&mut self, problem: Problem) {
        if !self.problems.problems.contains(&problem) {
            self.problems.problems.push(problem);
        }
    }

    fn finish(self) -> Result<(), Problems> {
        if self.problems.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }
}
