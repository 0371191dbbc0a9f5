//! A run: a training with a folder, from its beginning or from where it was, to its end.

mod ending;
mod error;
mod own;
mod resume;

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use ebbtide::metric::{Evaluation, EvaluationError, EvaluationOptions, evaluate};
use ebbtide::pilot::Pilot;
use ebbtide::train::{TrainError, Trainer};
use ebbtide::trajectory::Threads;
use serde::de::DeserializeOwned;

pub use error::RunError;
use own::MAY_CHANGE;
pub(crate) use own::{own_best, own_checkpoint};
pub use resume::may_change;

use crate::best::Explosion;
use crate::checkpoint::{self, Progress};
use crate::durable::{self, FileError};
use crate::folder::{Files, Folder};
use crate::journal::Journal;
use crate::log::Log;
use crate::number::{number, thousands};
use crate::settings::{Draft, Placing, Preset, Problems, Settings, Strictness};
use crate::{Environment, Event, Figures, Observer, Outcome, Record, Status, Stop};

/// A training that is kept in a folder.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide_run::run::{Run, RunError, read_outcome, read_settings};
/// use ebbtide_run::{Status, Stop, settings::Preset};
///
/// let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
/// let run = Run::begin(runs.path(), settings, &threads)?;
/// let folder = run.folder().to_owned();
/// assert_eq!(run.go(&Stop::new(), &mut ())?.status, Status::Finished);
///
/// // What is done is not done again, but it can be made longer.
/// let again = Run::resume(&folder, None, &threads);
/// assert!(matches!(again.err(), Some(RunError::Finished { iterations: 6, .. })));
/// let longer = Run::resume(&folder, Some(8), &threads)?;
/// assert_eq!(*longer.settings(), read_settings(&folder)?);
/// let outcome = longer.go(&Stop::new(), &mut ())?;
/// assert_eq!(outcome.iterations, 8);
/// assert_eq!(read_outcome(&folder)?, Some(outcome));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    folder: Folder,
    settings: Settings,
    trainer: Trainer,
    journal: Journal,
    log: Log,
    progress: Progress,
    /// What there is to say once somebody listens.
    remarks: Vec<String>,
    saved: Saved,
}

/// When the last checkpoint was written, of what, and how long that took.
struct Saved {
    at: Instant,
    iteration: Option<u64>,
    cost: Duration,
}

/// From one checkpoint to the next it takes at least so many times what the writing takes.
const SAVING_RATIO: u32 = 100;

impl Run {
    /// Begins a run in a new folder in `parent`, named after the day and the settings.
    pub fn begin(parent: &Path, settings: Settings, threads: &Threads) -> Result<Self, RunError> {
        let name = format!("{}-{}", jiff::Zoned::now().strftime("%Y-%m-%d"), settings.name());
        // First, for a density that is not found leaves no folder.
        let (settings, remarks) = found(settings, threads)?;
        let folder = Folder::create(parent, &name)?;
        let path = folder.path().to_owned();
        Self::begin_with(folder, settings, remarks, threads).inspect_err(|_| Folder::abandon(&path))
    }

    /// Begins a run in a folder that has none yet.
    pub fn begin_in(folder: Folder, settings: Settings, threads: &Threads) -> Result<Self, RunError> {
        let (settings, remarks) = found(settings, threads)?;
        Self::begin_with(folder, settings, remarks, threads)
    }

    fn begin_with(
        folder: Folder,
        settings: Settings,
        remarks: Vec<String>,
        threads: &Threads,
    ) -> Result<Self, RunError> {
        let trainer = Trainer::new(settings.validate()?, threads);
        let environment = Environment::now(threads.count());
        let mut described = serde_json::to_vec_pretty(&environment).expect("an environment is JSON");
        described.push(b'\n');
        durable::replace_with(&folder.files().environment(), &described)?;
        // Last, for a folder with a configuration is a run.
        durable::replace_with(&folder.files().config(), settings.to_toml().as_bytes())?;
        Self::assemble(folder, settings, trainer, Progress::default(), environment, remarks)
    }

    fn assemble(
        folder: Folder,
        settings: Settings,
        trainer: Trainer,
        progress: Progress,
        environment: Environment,
        mut remarks: Vec<String>,
    ) -> Result<Self, RunError> {
        let journal = Journal::resume(&folder.files().metrics(), progress.journal)?;
        if journal.len() < progress.journal {
            remarks.push("lines of metrics.jsonl are missing: somebody took them away".to_owned());
        }
        let mut log = Log::open(&folder.files().log())?;
        log.environment(&environment);
        let saved = Saved { at: Instant::now(), iteration: None, cost: Duration::ZERO };
        Ok(Self { folder, settings, trainer, journal, log, progress, remarks, saved })
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Trains until all iterations are done, somebody asks to stop, or it diverges. Whatever happens, the folder holds what a
    /// resumed run needs.
    pub fn go(mut self, stop: &Stop, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        for remark in std::mem::take(&mut self.remarks) {
            self.remark(observer, &remark);
        }
        let folder = self.folder.path().to_owned();
        let (iteration, iterations) = (self.trainer.state().iteration(), self.settings.config.iterations);
        let seconds = self.progress.seconds;
        self.tell(observer, Event::Begun { folder: &folder, iteration, iterations, seconds });
        match self.train(stop, observer) {
            Ok(finished) => self.conclude(finished, observer),
            Err(Halt::Diverged { at, reason, point }) => {
                self.diverged(Status::Diverged { at, reason, point }, observer)
            }
            Err(Halt::Failed(error)) => {
                // Whoever began the run gets the error itself.
                self.log.notice(Event::Remarked(&format!("failed: {error}")));
                Err(error)
            }
        }
    }

    /// Iterations, one after the other; answers whether all are done.
    fn train(&mut self, stop: &Stop, observer: &mut dyn Observer) -> Result<Status, Halt> {
        let keeping = self.settings.keeping;
        let is_due = |iteration: u64, every: u64| every > 0 && iteration.is_multiple_of(every);
        let is_new = self.trainer.state().iteration() == 0 && self.progress.evaluated.is_none();
        if is_new && keeping.evaluate_every > 0 {
            self.first_line(observer)?;
        }
        let mut since = Instant::now();
        while !self.trainer.is_finished() && !stop.asked() {
            let report = self.trainer.step()?;
            self.progress.window.add(&report);
            observer.notice(Event::Stepped(&report));
            let evaluates = is_due(report.iteration, keeping.evaluate_every);
            if evaluates || is_due(report.iteration, keeping.record_every) {
                self.progress.seconds += since.elapsed().as_secs_f64();
                let mut record = self.progress.window.close(&report, self.progress.seconds);
                if evaluates {
                    record.figures = Some(self.evaluate(report.iteration)?);
                }
                self.record(&record, observer)?;
                since = Instant::now();
            }
            if self.saved.at.elapsed() >= self.interval() {
                self.progress.seconds += since.elapsed().as_secs_f64();
                self.save(observer)?;
                since = Instant::now();
            }
        }
        self.progress.seconds += since.elapsed().as_secs_f64();
        Ok(if self.trainer.is_finished() { Status::Finished } else { Status::Interrupted })
    }

    /// Adds a line to the metrics.
    fn record(&mut self, record: &Record, observer: &mut dyn Observer) -> Result<(), FileError> {
        self.progress.recorded = Some(record.iteration);
        self.journal.add(record)?;
        self.tell(observer, Event::Recorded(record));
        Ok(())
    }

    /// What a sampler is worth that has not learned anything: what a training that explodes at once is measured by.
    fn first_line(&mut self, observer: &mut dyn Observer) -> Result<(), Halt> {
        let figures = Figures::from(&self.measure(0, false)?.bounds);
        self.progress.best.begin(&figures);
        self.progress.evaluated = Some((0, figures));
        let record = Record {
            figures: Some(figures),
            log_z_learned: self.settings.config.optimisation.log_z_start,
            ..Record::default()
        };
        Ok(self.record(&record, observer)?)
    }

    /// From one checkpoint to the next.
    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.settings.keeping.save_seconds).max(SAVING_RATIO * self.saved.cost)
    }

    /// What the sampler is worth now. The best weights are kept; a bound that exploded ends the run.
    fn evaluate(&mut self, iteration: u64) -> Result<Figures, Halt> {
        let evaluation = self.measure(iteration, false)?;
        if let Some(explosion) = self.progress.best.exploded(&evaluation, self.settings.keeping.explosion) {
            return Err(explosion.at(iteration));
        }
        let figures = Figures::from(&evaluation.bounds);
        self.progress.evaluated = Some((iteration, figures));
        if self.progress.best.note(iteration, &figures) {
            self.save_best()?;
        }
        Ok(figures)
    }

    fn measure(&self, iteration: u64, transport: bool) -> Result<Evaluation, Halt> {
        let options = EvaluationOptions {
            samples: self.settings.keeping.samples,
            seed: self.settings.config.seed,
            iteration,
            transport,
        };
        evaluate(&**self.trainer.target(), &mut self.trainer.sampler(), options).map_err(
            |error| match error {
                EvaluationError::NotFinite { what: "sample", point, .. } => {
                    let reason = "a sample of the evaluation is not finite".to_owned();
                    Halt::Diverged { at: iteration, reason, point }
                }
                source => Halt::Failed(RunError::Evaluation { iteration, source }),
            },
        )
    }

    /// Writes a checkpoint, but for a state that cannot be gone on with: then the one before is still the last good one, and a
    /// resumed run comes to the same end from there.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<(), FileError> {
        let (begun, iteration) = (Instant::now(), self.trainer.state().iteration());
        if self.saved.iteration == Some(iteration) || !self.trainer.is_sound() {
            return Ok(());
        }
        // First the lines, then the checkpoint that says they are there.
        self.journal.sync()?;
        self.progress.journal = self.journal.len();
        let folder = self.folder.files().checkpoints();
        let settings = self.settings.to_toml();
        let (state, layout) = (self.trainer.state(), &self.trainer.model().layout);
        let path = checkpoint::save(&folder, state, layout, &self.progress, &settings)?;
        checkpoint::keep_best(&folder, self.progress.best.iteration())?;
        self.saved = Saved { at: Instant::now(), iteration: Some(iteration), cost: begun.elapsed() };
        self.tell(observer, Event::Saved { iteration, path: &path });
        Ok(())
    }

    fn save_best(&self) -> Result<(), FileError> {
        let folder = self.folder.files().checkpoints();
        let layout = &self.trainer.model().layout;
        checkpoint::save_best(&folder, self.trainer.state(), layout, &self.settings.to_toml())
    }

    fn remark(&mut self, observer: &mut dyn Observer, text: &str) {
        self.tell(observer, Event::Remarked(text));
    }

    fn tell(&mut self, observer: &mut dyn Observer, event: Event) {
        self.log.notice(event);
        observer.notice(event);
    }
}

/// Settings with the coordinates that a pilot finds, if one is asked for, and what there is to say of them. Whatever cannot be evaluated
/// at all is refused.
fn found(mut settings: Settings, threads: &Threads) -> Result<(Settings, Vec<String>), RunError> {
    settings.target.employ(threads.count());
    settings.target.fix()?;
    let mut remarks = Vec::new();
    if settings.placing == Placing::Pilot {
        let pilot = settings.target.find(settings.config.seed)?;
        remarks.push(words(&pilot));
        let start = &mut settings.config.optimisation.log_z_start;
        if *start == 0.0 {
            *start = pilot.log_z.round().clamp(-1e9, 1e9);
        }
        settings.placing = Placing::At(pilot.placement);
    } else {
        let target = settings.built_target();
        target.log_density(&vec![0.0; target.dim()], &mut [0.0])?;
    }
    if !settings.target.has_gradient() {
        remarks.push(NO_GRADIENT.to_owned());
    }
    Ok((settings, remarks))
}

/// What it costs to know the density alone.
const NO_GRADIENT: &str = "the density comes without its gradient, so there is no local search, and reverse KL (pis-…) is out of the question: modes far from \
     where samples begin to go may never be found";

/// What a pilot found, by its first coordinates.
fn words(pilot: &Pilot) -> String {
    let (location, scale) = (pilot.placement.location(), pilot.placement.scale());
    let digits = |scale: f64| (2.0 - scale.log10().floor()).clamp(0.0, 9.0) as usize;
    let place = |(location, scale): (&f64, &f64)| {
        format!("{} ± {}", number(*location, digits(*scale)), number(*scale, digits(*scale)))
    };
    let first: Vec<String> = location.iter().zip(scale).take(4).map(place).collect();
    let more = if location.len() > first.len() { ", …" } else { "" };
    let settled = if pilot.settled { "" } else { "; it did not settle, so this may be far off" };
    let apart =
        if pilot.placement.factor().is_empty() { "" } else { "; what is correlated is learned apart" };
    format!(
        "the pilot found the density at x = ({}{more}) in {} evaluations{apart}{settled}",
        first.join(", "),
        thousands(pilot.evaluations)
    )
}

/// Why the iterations ended early.
enum Halt {
    Diverged { at: u64, reason: String, point: Vec<f32> },
    Failed(RunError),
}

impl From<TrainError> for Halt {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Diverged { iteration, what, value, point } => {
                Halt::Diverged { at: iteration, reason: format!("the {what} is {value}"), point }
            }
            error => Halt::Failed(error.into()),
        }
    }
}

impl From<FileError> for Halt {
    fn from(error: FileError) -> Self {
        Halt::Failed(error.into())
    }
}

impl Explosion {
    fn at(self, iteration: u64) -> Halt {
        Halt::Diverged { at: iteration, reason: self.reason, point: self.point }
    }
}

/// The settings of a run.
pub fn read_settings(folder: &Path) -> Result<Settings, RunError> {
    let path = Files(folder).config();
    let text = fs::read_to_string(&path).map_err(FileError::of("read", &path))?;
    Ok(settings_of(&text, &path.display().to_string())?)
}

pub(crate) fn settings_of(text: &str, name: &str) -> Result<Settings, Problems> {
    // Before there were others, all runs had the paper's presets.
    let mut draft = Draft::on(Preset::Paper);
    draft.document(name, text);
    draft.resolve(Strictness::Lenient)
}

/// What a run came to, if it ended.
pub fn read_outcome(folder: &Path) -> Result<Option<Outcome>, FileError> {
    read_json(&Files(folder).result())
}

/// What a run ran on, if that was written down.
pub fn read_environment(folder: &Path) -> Result<Option<Environment>, FileError> {
    read_json(&Files(folder).environment())
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::of("read", path)(error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| FileError::of("read", path)(error.into()))
}
