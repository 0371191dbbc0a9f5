//! A run: a training with a folder, from its beginning or from where it was, to its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebbtide::metric::{Evaluation, EvaluationError, EvaluationOptions, evaluate};
use ebbtide::network::Layout;
use ebbtide::train::{ConfigError, RestoreError, TrainError, Trainer};
use ebbtide::trajectory::{SamplerError, Threads};

use crate::checkpoint::{self, CheckpointError, Progress};
use crate::durable::{self, FileError};
use crate::export::{self, Export, ExportError};
use crate::folder::{Folder, FolderError};
use crate::journal::{Journal, JournalError};
use crate::log::Log;
use crate::settings::{Difference, Draft, Problems, Settings, Strictness};
use crate::{Environment, Event, Figures, Observer, Outcome, Status, Stop};

/// A training that is kept in a folder.
pub struct Run {
    folder: Folder,
    settings: Settings,
    trainer: Trainer,
    layout: Layout,
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

/// Why a run cannot begin or go on. That it diverges is not among the reasons: see [`Status`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The metrics cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The settings make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nor does the file that has them.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// No checkpoint can be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint belongs to another training.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// It could not be evaluated.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Weights do not make a sampler.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// Samples could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// There is nothing left to do.
    #[error("{} is finished: all {iterations} iterations are done; `--iterations` with a larger number goes on", path.display())]
    Finished {
        /// The run.
        path: PathBuf,
        /// How many there are.
        iterations: u64,
    },
    /// It would diverge again.
    #[error(
        "{} diverged at iteration {at}, and would again: the same seed gives the same bits. Begin a new run with another seed \
         or other settings (a lower learning rate, a smaller bound)",
        path.display()
    )]
    Diverged {
        /// The run.
        path: PathBuf,
        /// The iteration.
        at: u64,
    },
    /// Fewer iterations than are done.
    #[error("{} has done {done} iterations already; it cannot end at {asked}", path.display())]
    TooFew {
        /// The run.
        path: PathBuf,
        /// What is done.
        done: u64,
        /// What was asked for.
        asked: u64,
    },
    /// Something is a function of the number of iterations.
    #[error("{} cannot be extended: its destruction bound rises over the whole training, and would have to fall back", path.display())]
    Rising {
        /// The run.
        path: PathBuf,
    },
    /// Somebody changed the settings.
    #[error(
        "{} was begun with {} = {}, and now its config.toml says {}. A resumed run must be the run that was begun: change it \
         back, or begin a new one with `ebbtide train --config`",
        path.display(), difference.key, difference.theirs, difference.ours
    )]
    Changed {
        /// The run.
        path: PathBuf,
        /// The setting.
        difference: Difference,
    },
}

/// Settings that do not touch the training itself, and may change when a run is resumed.
const MAY_CHANGE: &[&str] = &[
    "iterations",
    "evaluation.every",
    "evaluation.samples",
    "evaluation.explosion",
    "metrics.every",
    "checkpoint.seconds",
];

/// Writing checkpoints may take this share of the time.
const SAVING_SHARE: u32 = 100;

impl Run {
    /// Begins a run in a new folder in `parent`, named after the day and the settings.
    pub fn begin(parent: &Path, settings: Settings, threads: &Threads) -> Result<Self, RunError> {
        let name = format!("{}-{}", jiff::Zoned::now().strftime("%Y-%m-%d"), settings.name());
        Self::begin_in(Folder::create(parent, &name)?, settings, threads)
    }

    /// Begins a run in a folder that has none yet.
    pub fn begin_in(folder: Folder, settings: Settings, threads: &Threads) -> Result<Self, RunError> {
        let trainer = Trainer::new(settings.validate()?, threads);
        let environment = Environment::now(threads.count());
        let mut described = serde_json::to_vec_pretty(&environment).expect("an environment is JSON");
        described.push(b'\n');
        durable::replace_with(&folder.files().environment(), &described)?;
        // Last, for a folder with a configuration is a run.
        durable::replace_with(&folder.files().config(), settings.to_toml().as_bytes())?;
        Self::assemble(folder, settings, trainer, Progress::default(), environment, Vec::new())
    }

    /// Takes a run up where its last checkpoint left it, to a result that is bitwise that of a run that was never stopped.
    /// `iterations` is its new length.
    pub fn resume(path: &Path, iterations: Option<u64>, threads: &Threads) -> Result<Self, RunError> {
        let folder = Folder::open(path)?;
        let path = || folder.path().to_owned();
        let mut settings = read_settings(folder.path())?;
        let length = settings.config.iterations;
        settings.config.iterations = iterations.unwrap_or(length);
        let valid = settings.validate()?;
        let mut remarks = Vec::new();
        let found = checkpoint::newest(&folder.files().checkpoints(), &valid.model().layout, &mut remarks)?;
        let (trainer, progress) = match found {
            None => {
                remarks.push("there is no checkpoint yet: it begins anew".to_owned());
                (Trainer::new(valid, threads), Progress::default())
            }
            Some(found) => {
                let mut begun = read_text(&found.settings, "the checkpoint")?;
                begun.target = settings.target;
                if let Some(difference) = settings.difference(&begun, MAY_CHANGE) {
                    return Err(RunError::Changed { path: path(), difference });
                }
                (Trainer::restore(valid, threads, found.state)?, found.progress)
            }
        };
        let done = trainer.state().iteration();
        if settings.config.iterations < done {
            return Err(RunError::TooFew { path: path(), done, asked: settings.config.iterations });
        }
        if let Some(Status::Diverged { at, .. }) = read_outcome(folder.path())?.map(|outcome| outcome.status)
        {
            return Err(RunError::Diverged { path: path(), at });
        }
        if settings.config.iterations == done
            && read_outcome(folder.path())?.is_some_and(|o| o.status == Status::Finished)
        {
            return Err(RunError::Finished { path: path(), iterations: done });
        }
        if settings.config.iterations != length {
            if settings.config.destruction_bound == ebbtide::train::BoundSchedule::Rising {
                return Err(RunError::Rising { path: path() });
            }
            remarks.push(format!(
                "its length is {} iterations now; it was {length}",
                settings.config.iterations
            ));
            durable::replace_with(&folder.files().config(), settings.to_toml().as_bytes())?;
        }
        let environment = Environment::now(threads.count());
        Self::assemble(folder, settings, trainer, progress, environment, remarks)
    }

    fn assemble(
        folder: Folder,
        settings: Settings,
        trainer: Trainer,
        progress: Progress,
        environment: Environment,
        remarks: Vec<String>,
    ) -> Result<Self, RunError> {
        let journal = Journal::resume(&folder.files().metrics(), trainer.state().iteration())?;
        let mut log = Log::open(&folder.files().log())?;
        log.environment(&environment);
        let layout = settings.validate()?.model().layout.clone();
        let saved = Saved { at: Instant::now(), iteration: None, cost: Duration::ZERO };
        Ok(Self { folder, settings, trainer, layout, journal, log, progress, remarks, saved })
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
            self.tell(observer, Event::Remarked(&remark));
        }
        let folder = self.folder.path().to_owned();
        let (iteration, iterations) = (self.trainer.state().iteration(), self.settings.config.iterations);
        let seconds = self.progress.seconds;
        self.tell(observer, Event::Begun { folder: &folder, iteration, iterations, seconds });
        match self.train(stop, observer) {
            Ok(finished) => self.conclude(finished, observer),
            Err(Halt::Diverged(status)) => self.diverged(status, observer),
            Err(Halt::Failed(error)) => {
                self.tell(observer, Event::Remarked(&format!("failed: {error}")));
                Err(error)
            }
        }
    }

    /// Iterations, one after the other; answers whether all are done.
    fn train(&mut self, stop: &Stop, observer: &mut dyn Observer) -> Result<Status, Halt> {
        let keeping = self.settings.keeping;
        let is_due = |iteration: u64, every: u64| every > 0 && iteration.is_multiple_of(every);
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
                self.journal.add(&record)?;
                self.tell(observer, Event::Recorded(&record));
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

    /// From one checkpoint to the next.
    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.settings.keeping.save_seconds).max(SAVING_SHARE * self.saved.cost)
    }

    /// What the sampler is worth now. The best weights are kept; a bound that exploded ends the run.
    fn evaluate(&mut self, iteration: u64) -> Result<Figures, Halt> {
        let evaluation = self.measure(iteration, false)?;
        if let Some(explosion) = self.progress.best.exploded(&evaluation, self.settings.keeping.explosion) {
            let (reason, point) = (explosion.reason, explosion.point);
            return Err(Halt::Diverged(Status::Diverged { at: iteration, reason, point }));
        }
        let figures = Figures::from(&evaluation.bounds);
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
                    Halt::Diverged(Status::Diverged { at: iteration, reason, point })
                }
                error => Halt::Failed(error.into()),
            },
        )
    }

    fn save(&mut self, observer: &mut dyn Observer) -> Result<(), FileError> {
        let (begun, iteration) = (Instant::now(), self.trainer.state().iteration());
        if self.saved.iteration == Some(iteration) {
            return Ok(());
        }
        // First the lines, then the checkpoint that says they are there.
        self.journal.sync()?;
        let folder = self.folder.files().checkpoints();
        let settings = self.settings.to_toml();
        let path = checkpoint::save(&folder, self.trainer.state(), &self.layout, &self.progress, &settings)?;
        self.saved = Saved { at: Instant::now(), iteration: Some(iteration), cost: begun.elapsed() };
        self.tell(observer, Event::Saved { iteration, path: &path });
        Ok(())
    }

    fn save_best(&self) -> Result<(), FileError> {
        let folder = self.folder.files().checkpoints();
        checkpoint::save_best(&folder, self.trainer.state(), &self.layout, &self.settings.to_toml())
    }

    /// Checkpoint, final figures, samples. A final evaluation counts for the best too.
    fn conclude(mut self, status: Status, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        self.save(observer)?;
        self.tell(observer, Event::Evaluating);
        let iteration = self.trainer.state().iteration();
        let evaluation = match self.measure(iteration, true) {
            Ok(evaluation) => evaluation,
            Err(Halt::Diverged(status)) => return self.diverged(status, observer),
            Err(Halt::Failed(error)) => return Err(error),
        };
        let figures = Figures::from(&evaluation.bounds);
        if status == Status::Finished && self.progress.best.note(iteration, &figures) {
            self.save_best()?;
        }
        self.write_samples(&evaluation)?;
        let outcome = self.outcome(status).evaluated(&evaluation);
        self.end(outcome, observer)
    }

    /// The last good checkpoint and the metrics stay as they are; the figures are those of the last evaluation.
    fn diverged(mut self, status: Status, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        self.journal.sync()?;
        let records = crate::journal::read(&self.folder.files().metrics())?;
        let figures = records.iter().rev().find_map(|record| record.figures);
        let outcome = Outcome { figures, ..self.outcome(status) };
        self.end(outcome, observer)
    }

    fn end(mut self, outcome: Outcome, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        let mut described = serde_json::to_vec_pretty(&outcome).expect("an outcome is JSON");
        described.push(b'\n');
        durable::replace_with(&self.folder.files().result(), &described)?;
        self.tell(observer, Event::Ended(&outcome));
        Ok(outcome)
    }

    /// All of an outcome but what an evaluation tells.
    fn outcome(&self, status: Status) -> Outcome {
        let state = self.trainer.state();
        Outcome {
            seconds: Some(self.progress.seconds),
            evaluations: Some(state.evaluations()),
            best_iteration: self.progress.best.iteration(),
            ..Outcome::new(status, &self.settings, &**self.trainer.target(), state.iteration())
        }
    }

    fn write_samples(&self, evaluation: &Evaluation) -> Result<(), RunError> {
        let dim = self.trainer.target().dim();
        let shape = export::Shape { dim, weights: false, times: None };
        let count = evaluation.samples.len() / dim;
        let mut file = Export::to_file(&self.folder.files().samples(), export::Format::Npy, shape, count)?;
        file.write(&evaluation.samples, None)?;
        Ok(file.finish()?)
    }

    fn tell(&mut self, observer: &mut dyn Observer, event: Event) {
        self.log.notice(event);
        observer.notice(event);
    }
}

/// Why the iterations ended early.
enum Halt {
    Diverged(Status),
    Failed(RunError),
}

impl From<TrainError> for Halt {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Diverged { iteration, what, value, point } => Halt::Diverged(Status::Diverged {
                at: iteration,
                reason: format!("the {what} is {value}"),
                point,
            }),
            error => Halt::Failed(error.into()),
        }
    }
}

impl From<FileError> for Halt {
    fn from(error: FileError) -> Self {
        Halt::Failed(error.into())
    }
}

/// The settings of a run.
pub fn read_settings(folder: &Path) -> Result<Settings, RunError> {
    let path = crate::folder::Files(folder).config();
    let text = std::fs::read_to_string(&path).map_err(FileError::of("read", &path))?;
    Ok(read_text(&text, &path.display().to_string())?)
}

fn read_text(text: &str, name: &str) -> Result<Settings, Problems> {
    let mut draft = Draft::new();
    draft.document(name, text);
    draft.resolve(Strictness::Lenient)
}

/// What a run came to, if it ended.
pub fn read_outcome(folder: &Path) -> Result<Option<Outcome>, FileError> {
    let path = crate::folder::Files(folder).result();
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::of("read", &path)(error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| FileError::of("read", &path)(error.into()))
}
