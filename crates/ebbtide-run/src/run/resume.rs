//! Taking a run up where its last checkpoint left it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ebbtide::target::Oracle;
use ebbtide::train::{BoundSchedule, Trainer};
use ebbtide::trajectory::Threads;

use super::{MAY_CHANGE, Run, RunError, own_checkpoint, read_outcome, read_settings};
use crate::checkpoint::{self, Progress, Stored};
use crate::durable::FileError;
use crate::folder::Folder;
use crate::settings::{LOG_Z_START, Placing, Settings, placing};
use crate::{Environment, Outcome, Status, durable, log};

impl Run {
    /// Takes a run up where its last checkpoint left it, to a result that is bitwise that of a run that was never stopped.
    /// `iterations` is its new length.
    pub fn resume(path: &Path, iterations: Option<u64>, threads: &Threads) -> Result<Self, RunError> {
        Self::resume_in(Folder::open(path)?, iterations, None, threads)
    }

    /// The same in a folder that is this process's already, with the density that its files can only name.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// # use ebbtide::target::{Oracle, TargetError};
    /// use ebbtide::{objective::Method, trajectory::Threads};
    /// use ebbtide_run::settings::{Given, Preset, Subject};
    /// use ebbtide_run::trained::{Trained, Which};
    /// use ebbtide_run::{Stop, folder::Folder, run::Run};
    ///
    /// # struct Bell;
    /// # impl Oracle for Bell {
    /// #     fn dim(&self) -> usize {
    /// #         1
    /// #     }
    /// #     fn has_gradient(&self) -> bool {
    /// #         false
    /// #     }
    /// #     fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
    /// #         out.iter_mut().zip(points).for_each(|(out, x)| *out = -0.5 * (x - 5.0).powi(2));
    /// #         Ok(())
    /// #     }
    /// #     fn log_density_and_gradient(&self, _: Vec<f64>, _: &mut [f64], _: &mut [f64]) -> Result<(), TargetError> {
    /// #         Err(TargetError::failed("it has no gradient"))
    /// #     }
    /// # }
    /// // `Bell` is an `Oracle`: of N(5, 1) it knows the log density, and no gradient.
    /// let bell = Subject::Given(Given::new("bell", Arc::new(Bell)));
    /// let mut settings = Preset::Recommended.settings(bell, Some(Method::TbFixed), 2);
    /// (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
    /// let (parent, threads, stop) = (tempfile::tempdir()?, Threads::new(1)?, Stop::new());
    /// let path = parent.path().join("bell");
    /// stop.ask();
    /// Run::begin_in(Folder::at(&path)?, settings, &threads)?.go(&stop, &mut ())?;
    ///
    /// // Whoever goes on with it, or weighs what it draws, brings the density again.
    /// let run = Run::resume_in(Folder::open(&path)?, None, Some(Arc::new(Bell)), &threads)?;
    /// assert_eq!(run.go(&Stop::new(), &mut ())?.iterations, 6);
    /// let mut trained = Trained::open_with(&path, Which::Last, Some(Arc::new(Bell)), &threads)?;
    /// let drawn = trained.weighted(100, 0, &Stop::new())?.expect("nobody asked to stop");
    /// let mean = drawn.points.iter().sum::<f32>() / 100.0;
    /// assert!((mean - 5.0).abs() < 2.0 && drawn.log_weights.iter().all(|weight| weight.is_finite()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume_in(
        folder: Folder,
        iterations: Option<u64>,
        oracle: Option<Arc<dyn Oracle>>,
        threads: &Threads,
    ) -> Result<Self, RunError> {
        let path = folder.path().to_owned();
        let mut written = read_settings(&path)?;
        if let Some(oracle) = oracle {
            written.target.bring(oracle)?;
        }
        let mut settings = written.clone();
        settings.config.iterations = iterations.unwrap_or(written.config.iterations);
        let mut remarks = Vec::new();
        let own = own_checkpoint(&path, &settings, &mut remarks)?;
        // What the run was begun with, as far as anything is left of it.
        let (found, begun) = match own {
            Some((stored, begun)) => (Some(stored), begun),
            None => (None, settings.clone()),
        };
        let done = found.as_ref().map_or(0, Stored::iteration);
        if let Some(saved) = log::saved(&folder.files().log())
            && saved > done
            && !checkpoint::is_there(&folder.files().checkpoints(), saved)
        {
            remarks.push(format!("the newest checkpoint, of iteration {saved}, is gone"));
        }
        let outcome = read_outcome(&path).unwrap_or_else(|error| {
            remarks.push(format!("{error}; it is left aside"));
            None
        });
        let lengths = Lengths {
            done,
            asked: settings.config.iterations,
            written: written.config.iterations,
            begun: begun.config.iterations,
        };
        is_something_left(&path, &settings, lengths, outcome.as_ref())?;
        settings.target.employ(threads.count());
        settings.target.fix()?;
        let valid = settings.validate()?;
        let (trainer, progress) = match found {
            Some(stored) => {
                let progress = stored.progress()?;
                (Trainer::restore(valid.clone(), threads, stored.state(&valid.model().layout)?)?, progress)
            }
            None => {
                remarks.push("there is no checkpoint yet: it begins anew".to_owned());
                (Trainer::new(valid, threads), Progress::default())
            }
        };
        if outcome.is_some_and(|outcome| outcome.status != Status::Finished) {
            // It is not over any more.
            for file in [folder.files().report(), folder.files().result()] {
                if file.exists() {
                    fs::remove_file(&file).map_err(FileError::of("remove", &file))?;
                }
            }
            durable::sync_folder(&path).map_err(FileError::of("make sure of", &path))?;
        }
        checkpoint::put_aside(&folder.files().checkpoints(), done, &mut remarks)?;
        checkpoint::keep_best(&folder.files().checkpoints(), progress.best.iteration())?;
        if lengths.asked != lengths.begun {
            remarks.push(format!("its length is {} iterations now; it was {}", lengths.asked, lengths.begun));
        }
        if settings != written {
            durable::replace_with(&folder.files().config(), settings.to_toml().as_bytes())?;
        }
        let environment = Environment::now(threads.count());
        Self::assemble(folder, settings, trainer, progress, environment, remarks)
    }
}

/// Numbers of iterations: done, asked for, in config.toml, and when the last checkpoint was written.
#[derive(Clone, Copy)]
struct Lengths {
    done: u64,
    asked: u64,
    written: u64,
    begun: u64,
}

/// Settings that a run may change without becoming another. The length is not among them where something is a function of it.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget, train::BoundSchedule};
/// use ebbtide_run::run::may_change;
/// use ebbtide_run::settings::Preset;
///
/// let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbTb), 5);
/// let mut longer = settings.clone();
/// longer.config.iterations *= 2;
/// assert_eq!(longer.difference(&settings, &may_change(&settings)), None);
///
/// settings.config.destruction_bound = BoundSchedule::Rising;
/// assert!(!may_change(&settings).contains(&"iterations"));
/// ```
pub fn may_change(settings: &Settings) -> Vec<&'static str> {
    let is_rising = settings.config.destruction_bound == BoundSchedule::Rising;
    let lengths = MAY_CHANGE.iter().copied().filter(|key| !(is_rising && *key == "iterations"));
    // A pilot that is asked for may have found anything, and a file that anything may be in may have been any.
    let places =
        placing::KEYS.into_iter().chain([LOG_Z_START]).filter(|_| settings.placing == Placing::Pilot);
    lengths.chain(places).chain(settings.target.open_digest()).collect()
}

/// Refuses a run that is over, or that cannot become what is asked for.
fn is_something_left(
    path: &Path,
    settings: &Settings,
    lengths: Lengths,
    outcome: Option<&Outcome>,
) -> Result<(), RunError> {
    let path = path.to_owned();
    let Lengths { done, asked, written, begun } = lengths;
    if asked < done {
        return Err(RunError::TooFew { path, done, asked });
    }
    if settings.config.destruction_bound == BoundSchedule::Rising && asked != begun {
        return Err(RunError::Rising { path });
    }
    let Some(outcome) = outcome else { return Ok(()) };
    match outcome.status {
        // A bound that is let through now may have been what ended it.
        Status::Diverged { at, .. } if outcome.explosion == Some(settings.keeping.explosion) => {
            Err(RunError::Diverged { path, at })
        }
        Status::Finished if outcome.iterations == asked && written == asked => {
            Err(RunError::Finished { path, iterations: asked })
        }
        _ => Ok(()),
    }
}
