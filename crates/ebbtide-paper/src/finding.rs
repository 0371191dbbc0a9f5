//! A finding: what came of one run, small enough to be committed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use ebbtide_run::durable::{self, FileError};
use ebbtide_run::folder::Files;
use ebbtide_run::run::{RunError, read_environment, read_outcome, read_settings};
use ebbtide_run::settings::{Draft, Problems, Settings, Strictness};
use ebbtide_run::{Outcome, Record, Status, journal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::command;

/// What came of a run, with all it takes to have it again. No weights.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide_paper::{Curve, Finding, FindingError};
/// use ebbtide_run::{Stop, run::Run, settings::Preset};
///
/// let (place, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
/// (settings.config.iterations, settings.config.batch) = (10, 16);
/// (settings.keeping.evaluate_every, settings.keeping.samples) = (5, 64);
/// let run = Run::begin(place.path(), settings.clone(), &threads)?;
/// let folder = run.folder().to_owned();
/// assert!(matches!(Finding::of_run(&folder), Err(FindingError::Unfinished(_))));
/// run.go(&Stop::new(), &mut ())?;
///
/// let (finding, file) = (Finding::of_run(&folder)?, place.path().join("found.json"));
/// finding.write(&file)?;
/// assert_eq!(Finding::read(&file)?, finding);
/// assert_eq!(finding.settings()?.difference(&settings, &[]), None);
/// let Curve { iteration, elbo, .. } = finding.curve;
/// assert_eq!((iteration, elbo.len()), (vec![0, 5, 10], 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Commit of the program.
    pub commit: String,
    /// Version of the program.
    pub version: String,
    /// The command that gives the same bits.
    pub command: String,
    /// When it began.
    pub begun: String,
    /// The processor it ran on.
    pub cpu: String,
    /// Threads it had.
    pub threads: usize,
    /// Every setting and its value.
    pub settings: BTreeMap<String, Value>,
    /// What it came to.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The bounds on the way.
    pub curve: Curve,
}

/// The evaluations of a run, column by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// After how many iterations.
    pub iteration: Vec<u64>,
    /// Lower bounds on log Z; none where they are not finite.
    pub elbo: Vec<Option<f64>>,
    /// Upper bounds on log Z.
    pub eubo: Vec<Option<f64>>,
    /// Effective share of the samples.
    pub ess: Vec<Option<f64>>,
}

/// Why there is no finding.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindingError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The run has not ended.
    #[error("{} has not ended", .0.display())]
    Unfinished(std::path::PathBuf),
}

impl Finding {
    /// What came of the run in a folder.
    pub fn of_run(folder: &Path) -> Result<Self, FindingError> {
        let settings = read_settings(folder)?;
        let outcome = read_outcome(folder)?.ok_or_else(|| FindingError::Unfinished(folder.to_owned()))?;
        let missing = || FileError::of("read", &Files(folder).environment())(io::ErrorKind::NotFound.into());
        let environment = read_environment(folder)?.ok_or_else(missing)?;
        let records = journal::read(&Files(folder).metrics()).map_err(RunError::from)?;
        Ok(Self {
            commit: environment.commit,
            version: environment.version,
            command: command::of(&settings),
            begun: environment.begun,
            cpu: environment.cpu,
            threads: environment.threads,
            settings: flat(&settings),
            outcome,
            curve: Curve::of(&records),
        })
    }

    /// Reads one that was written.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let read = || Ok(serde_json::from_slice(&fs::read(path)?)?);
        read().map_err(FileError::of("read", path))
    }

    /// Writes it to its place, whole or not at all, with a line for each thing there is to say.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, Lines(PrettyFormatter::new()));
        self.serialize(&mut serializer).expect("a finding is JSON, and memory takes it");
        text.push(b'\n');
        durable::replace_with(path, &text)
    }

    /// Whether it left all bounds.
    pub(crate) fn has_diverged(&self) -> bool {
        matches!(self.outcome.status, Status::Diverged { .. })
    }

    /// The settings it was trained with.
    pub fn settings(&self) -> Result<Settings, Problems> {
        let mut draft = Draft::new();
        let lines: String = self.settings.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        draft.document("settings", &lines);
        draft.resolve(Strictness::Lenient)
    }
}

/// All settings and their values. What TOML writes for a number, a text or a list of numbers is JSON as well.
fn flat(settings: &Settings) -> BTreeMap<String, Value> {
    let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    settings.entries().into_iter().map(|(key, text)| (key.to_owned(), value(text))).collect()
}

impl Curve {
    fn of(records: &[Record]) -> Self {
        let mut curve = Self::default();
        for record in records {
            let Some(figures) = record.figures else { continue };
            curve.iteration.push(record.iteration);
            curve.elbo.push(rounded(figures.elbo));
            curve.eubo.push(figures.eubo.and_then(rounded));
            curve.ess.push(rounded(figures.ess));
        }
        curve
    }
}

/// To five digits, which is more than an evaluation is worth.
fn rounded(value: f64) -> Option<f64> {
    let text = format!("{value:.4e}");
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// JSON with a line for each entry of an object, and lists on one line.
struct Lines<'a>(PrettyFormatter<'a>);

impl Formatter for Lines<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_are_kept() {
        assert_eq!(rounded(-0.440_703_619), Some(-0.440_70));
        assert_eq!(rounded(2_800.634_9), Some(2_800.6));
        assert_eq!(rounded(0.0), Some(0.0));
        assert_eq!(rounded(f64::NAN), None);
    }
}
