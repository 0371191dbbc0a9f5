//! Work: the runs that rows ask for, and what is missing of them.

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
