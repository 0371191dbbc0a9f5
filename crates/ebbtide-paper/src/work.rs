//! Work: the runs that rows ask for, and what is missing of them.
//!
//! ```
//! # use ebbtide::{objective::Method, target::NamedTarget};
//! # use ebbtide_run::settings::{Preset, Settings};
//! use ebbtide_paper::work::{Task, tasks};
//! use ebbtide_paper::{Finding, Paper, Results, Selection};
//! use ebbtide_run::Stop;
//!
//! # fn small(target: NamedTarget, method: Method, steps: usize) -> Settings {
//! #     let mut settings = Preset::Paper.settings(target, Some(method), steps);
//! #     (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 64);
//! #     settings
//! # }
//! let (paper, place) = (Paper::based_on(small), tempfile::tempdir()?);
//! let (runs, found) = (place.path().join("runs"), place.path().join("results"));
//! let (names, methods) = (vec!["25gmm".to_owned()], vec!["tb-fixed".to_owned()]);
//! let rows = Selection { names, methods, steps: vec![2], ..Selection::default() }.rows(&paper)?;
//!
//! // Three targets, two seeds.
//! let asked: Vec<Task> = tasks(&paper, &rows, 2, None, &runs);
//! let missing = || {
//!     let results = Results::read(&found, &paper);
//!     asked.iter().filter(|task| !task.is_done(&results)).count()
//! };
//! assert_eq!(missing(), 6);
//! asked[0].job.run(&Stop::new(), &mut ())?;
//! Finding::of_run(&asked[0].job.folder)?.write(&found.join(asked[0].row.file(asked[0].seed)))?;
//! assert_eq!(missing(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use ebbtide_run::job::Job;

use crate::results::Results;
use crate::{Paper, Row};

/// A run that a row asks for.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// The row.
    pub row: &'a Row,
    /// The seed.
    pub seed: u64,
    /// The run.
    pub job: Job,
}

/// The runs of rows in a folder of runs, `seeds` for each: all rows with the first seed, then all with the next, so that there is
/// something to see everywhere as soon as possible.
///
/// Another number of `iterations` changes nothing else: such a run is the beginning of the whole one.
pub fn tasks<'a>(
    paper: &Paper,
    rows: &[&'a Row],
    seeds: u64,
    iterations: Option<u64>,
    runs: &Path,
) -> Vec<Task<'a>> {
    let task = |row: &'a Row, seed: u64| {
        let mut settings = paper.settings(row, seed);
        settings.config.iterations = iterations.unwrap_or(settings.config.iterations);
        Task { row, seed, job: Job { folder: Paper::runs(runs).join(row.folder(seed)), settings } }
    };
    (0..seeds).flat_map(|seed| rows.iter().map(move |row| task(row, seed))).collect()
}

impl Task<'_> {
    /// Whether it was done and written down.
    pub fn is_done(&self, results: &Results) -> bool {
        results.has(self.row, self.seed, self.job.settings.config.iterations)
    }
}
