//! The sampler that a run has trained, ready to draw.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use ebbtide::target::{Oracle, Target};
use ebbtide::trajectory::{Sampler, Threads};

use crate::checkpoint::CheckpointError;
use crate::folder::Files;
use crate::run::{RunError, own_best, own_checkpoint, read_settings};
use crate::settings::Settings;

/// Which weights of a run.
///
/// ```
/// use ebbtide_run::trained::{NeitherLastNorBest, Which};
///
/// assert_eq!("best".parse(), Ok(Which::Best));
/// let error: NeitherLastNorBest = "first".parse::<Which>().unwrap_err();
/// assert_eq!(error.to_string(), "`first` is neither `last` nor `best`");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Those of the newest checkpoint.
    #[default]
    Last,
    /// Those of the best evaluation.
    Best,
}

/// A word that is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `last` nor `best`")]
pub struct NeitherLastNorBest(String);

impl FromStr for Which {
    type Err = NeitherLastNorBest;

    fn from_str(text: &str) -> Result<Self, NeitherLastNorBest> {
        match text {
            "last" => Ok(Which::Last),
            "best" => Ok(Which::Best),
            _ => Err(NeitherLastNorBest(text.to_owned())),
        }
    }
}

/// What a run has trained so far. Reading it does not disturb a run that is going on.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
/// # settings.keeping.evaluate_every = 2;
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # let outcome = run.go(&Stop::new(), &mut ())?;
/// use ebbtide_run::trained::{Trained, Which};
///
/// // `folder` has a run of six iterations, evaluated at every second, that came to `outcome`.
/// let best = Trained::open(&folder, Which::Best, &threads)?;
/// assert_eq!(Some(best.iteration), outcome.best_iteration);
///
/// let mut last = Trained::open(&folder, Which::Last, &threads)?;
/// assert_eq!(last.iteration, 6);
/// let mut samples = last.sampler.sample(100, 0);
/// // In the coordinates of the density; here they are the same.
/// last.settings.placing.apply(&mut samples);
/// assert_eq!(samples.len(), 100 * last.target.dim());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trained {
    /// Where the run is.
    pub folder: PathBuf,
    /// What was asked for.
    pub settings: Settings,
    /// The target.
    pub target: Arc<dyn Target>,
    /// The sampler.
    pub sampler: Sampler,
    /// Iterations that made it.
    pub iteration: u64,
    /// log Ẑ, where it was learned.
    pub log_z_learned: Option<f64>,
    /// What a person should know about the files.
    pub remarks: Vec<String>,
}

impl Trained {
    /// Reads the weights of a run.
    pub fn open(path: &Path, which: Which, threads: &Threads) -> Result<Self, RunError> {
        Self::open_with(path, which, None, threads)
    }

    /// The same, with the density that the run's files can only name.
    pub fn open_with(
        path: &Path,
        which: Which,
        oracle: Option<Arc<dyn Oracle>>,
        threads: &Threads,
    ) -> Result<Self, RunError> {
        let folder = path.to_owned();
        let mut settings = read_settings(path)?;
        let mut remarks = Vec::new();
        // Weights make no sense in any other sampler than the one that they were trained for.
        let (stored, mut begun) = match which {
            Which::Last => own_checkpoint(path, &settings, &mut remarks)?
                .ok_or_else(|| CheckpointError::None { folder: Files(path).checkpoints() })?,
            Which::Best => own_best(path, &settings)?,
        };
        if let Some(oracle) = oracle {
            begun.target.bring(oracle)?;
        }
        begun.target.employ(threads.count());
        // The same one: a density that is computed elsewhere is computed in one place.
        settings.target = begun.target.clone();
        let valid = begun.validate()?;
        let weights = stored.weights(&valid.model().layout)?;
        let sampler = Sampler::new(valid.model_at(weights.iteration), weights.parameters, threads)?;
        let target = Arc::clone(valid.target());
        let log_z_learned = weights.log_z.filter(|_| settings.learns_log_z());
        Ok(Self { folder, settings, target, sampler, iteration: weights.iteration, log_z_learned, remarks })
    }
}
