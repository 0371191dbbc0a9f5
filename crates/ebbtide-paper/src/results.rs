//! Results: all findings in a folder, those that count and those that do not, with the reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ebbtide_run::number::thousands;
use ebbtide_run::run::may_change;
use ebbtide_run::settings::Settings;
use ebbtide_run::{Outcome, Status};

use crate::finding::Finding;
use crate::{Paper, Row};

/// What was found so far.
///
/// ```
/// use std::path::Path;
/// use ebbtide_paper::{Aside, Paper, Results};
///
/// let paper = Paper::new();
/// let row = paper.rows().find(|row| row.name(0) == "easy-funnel-tb-variance-T5-s0");
/// let row = row.expect("it is in the paper");
/// let results = Results::read(Path::new("../../paper/results"), &paper);
/// let seeds: Vec<u64> = results.of(row).iter().map(|finding| finding.outcome.seed).collect();
/// assert!(seeds.starts_with(&[0, 1, 2]));
/// assert!(results.has(row, 2, 25_000) && !results.has(row, 2, 25_001));
///
/// // What does not count is told.
/// let place = tempfile::tempdir()?;
/// std::fs::create_dir(place.path().join("funnel"))?;
/// std::fs::write(place.path().join(row.file(0)), "{")?;
/// let Aside { file, reason } = &Results::read(place.path(), &paper).aside[0];
/// assert!(*file == row.file(0) && reason.starts_with("it cannot be read: "));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Results {
    /// By table and by name without seed.
    counted: BTreeMap<(String, String), Vec<Finding>>,
    /// What is there and does not count.
    pub aside: Vec<Aside>,
}

/// A file that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// Which, within the folder of results.
    pub file: PathBuf,
    /// Why not.
    pub reason: String,
}

impl Results {
    /// Reads a folder of findings. One that is not there has none.
    pub fn read(folder: &Path, paper: &Paper) -> Self {
        let mut results = Self::default();
        for table in &paper.tables {
            for file in files(&folder.join(table.name)) {
                let place = PathBuf::from(table.name).join(file.file_name().unwrap_or_default());
                match judged(&file, &table.rows, paper) {
                    Ok((row, finding)) => results.count(row, finding),
                    Err(reason) => results.aside.push(Aside { file: place, reason }),
                }
            }
        }
        results
    }

    /// Takes one more into account, in place of one that it had for the same seed.
    pub(crate) fn count(&mut self, row: &Row, finding: Finding) {
        let findings = self.counted.entry((row.table.to_owned(), row.slug())).or_default();
        findings.retain(|other| other.outcome.seed != finding.outcome.seed);
        findings.push(finding);
        findings.sort_by_key(|finding| finding.outcome.seed);
    }

    /// What was found for a row, by seeds.
    pub fn of(&self, row: &Row) -> &[Finding] {
        self.counted.get(&(row.table.to_owned(), row.slug())).map_or(&[], Vec::as_slice)
    }

    /// Whether there is a finding for a seed that is no shorter than this, or that diverged.
    pub fn has(&self, row: &Row, seed: u64, iterations: u64) -> bool {
        let is_long = |outcome: &Outcome| match outcome.status {
            Status::Diverged { .. } => true,
            Status::Finished | Status::Interrupted => outcome.iterations >= iterations,
        };
        self.of(row).iter().any(|finding| finding.outcome.seed == seed && is_long(&finding.outcome))
    }
}

/// Files of findings in a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    files
}

/// The row that a file is a finding of, or why it does not count.
fn judged<'a>(file: &Path, rows: &'a [Row], paper: &Paper) -> Result<(&'a Row, Finding), String> {
    let finding = Finding::read(file).map_err(|error| format!("it cannot be read: {}", error.source))?;
    let seed = finding.outcome.seed;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let row = rows.iter().find(|row| row.name(seed) == stem);
    let row = row.ok_or("no row of the table is called so")?;
    match objection(&finding, &paper.settings(row, seed)) {
        Some(reason) => Err(reason),
        None => Ok((row, finding)),
    }
}

/// Why a finding is not one of these settings. How often a run was looked at makes no difference, and a shorter one counts as such.
fn objection(finding: &Finding, wanted: &Settings) -> Option<String> {
    let trained = match finding.settings() {
        Ok(trained) => trained,
        Err(problems) => return Some(format!("its settings are none: {problems}")),
    };
    if let Some(difference) = wanted.difference(&trained, &may_change(wanted)) {
        let (key, theirs, ours) = (difference.key, difference.theirs, difference.ours);
        return Some(format!("trained with {key} = {theirs}; the row asks for {ours}"));
    }
    // A distance between fewer samples is a larger one.
    let (measured, asked) = (finding.outcome.samples, wanted.keeping.samples);
    if measured != asked {
        return Some(format!("measured with {measured} samples; the row asks for {asked}"));
    }
    let (done, asked) = (finding.outcome.iterations, wanted.config.iterations);
    (done > asked)
        .then(|| format!("trained for {} iterations; the row asks for {}", thousands(done), thousands(asked)))
}
