//! Settings: what a run is asked for, from files and arguments, checked as a whole before anything starts.

mod choices;
mod document;
mod draft;
mod idle;
mod length;
pub(crate) mod placing;
mod preset;
mod print;
mod problem;
mod setting;
mod subject;
mod table;
mod usual;
mod value;

use std::sync::Arc;

use ebbtide::objective::{GenerationObjective, Method};
use ebbtide::process::{Corrections, GenerationVariance};
use ebbtide::target::Target;
use ebbtide::train::{Config, ConfigError, ValidConfig};

pub use document::{Entry, entries};
pub use draft::{Draft, MOST_SAMPLES, Strictness};
pub use placing::Placing;
pub use preset::Preset;
pub use problem::{Place, Problem, Problems, Source};
pub use setting::Setting;
pub use subject::{BringError, Given, LatentTarget, OnnxFile, PythonFile, Subject};
pub(crate) use table::LOG_Z_START;
pub use table::SETTINGS;
pub(crate) use value::Mismatch;
pub use value::{Value, nearest};

/// All that is asked of a run.
///
/// ```
/// use ebbtide::objective::Method;
/// use ebbtide::target::NamedTarget;
/// use ebbtide_run::settings::Preset;
///
/// let settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbTb), 5);
/// assert_eq!(settings.name(), "25gmm-tb-tb-T5-s0");
/// assert_eq!((settings.method_name(), settings.steps()), ("tb-tb", 5));
/// assert!(settings.learns_log_z());
/// assert_eq!(settings.built_target().log_z(), Some(0.0));
/// assert_eq!(settings.validate()?.config().batch, 512);
/// assert!(settings.entries().contains(&("batch", "512".to_owned())));
///
/// let mut nameless = settings.clone();
/// nameless.method = None;
/// nameless.config.sigma_squared = -1.0;
/// assert_eq!(nameless.method_name(), "custom");
/// assert!(nameless.validate().is_err());
/// # Ok::<(), ebbtide::train::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What it began with, before anybody changed anything.
    pub preset: Preset,
    /// What is sampled.
    pub target: Subject,
    /// In which coordinates.
    pub placing: Placing,
    /// How the two processes learn; `None` for a combination that has no name.
    pub method: Option<Method>,
    /// The training.
    pub config: Config,
    /// What is kept of it.
    pub keeping: Keeping,
}

/// How closely a run is watched.
///
/// ```
/// use ebbtide_run::settings::{Draft, Keeping, Strictness};
///
/// let mut draft = Draft::new();
/// draft.document("run.toml", "target = \"25gmm\"\niterations = 1000\nevaluation.samples = 64");
/// let Keeping { evaluate_every, record_every, samples, .. } = draft.resolve(Strictness::Strict)?.keeping;
/// // Fifty evaluations, and five lines of metrics for each.
/// assert_eq!((evaluate_every, record_every, samples), (20, 4, 64));
/// # Ok::<(), ebbtide_run::settings::Problems>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keeping {
    /// Iterations from one evaluation to the next; 0 for none before the end.
    pub evaluate_every: u64,
    /// Trajectories of an evaluation.
    pub samples: usize,
    /// By how many times 1 + its size a bound may fall behind the best.
    pub explosion: f64,
    /// Iterations from one line of metrics to the next.
    pub record_every: u64,
    /// Seconds from one checkpoint to the next.
    pub save_seconds: f64,
}

impl Keeping {
    /// For a training of so many iterations: fifty evaluations, five lines for each.
    pub(crate) fn new(iterations: u64) -> Self {
        let evaluate_every = (iterations / 50).max(1);
        Self {
            evaluate_every,
            samples: 2048,
            explosion: 1e6,
            record_every: (evaluate_every / 5).max(1),
            save_seconds: 60.0,
        }
    }
}

impl Settings {
    /// Steps of a trajectory.
    pub fn steps(&self) -> usize {
        self.config.grid.steps()
    }

    /// Name of the method, `custom` if it has none.
    pub fn method_name(&self) -> &'static str {
        self.method.map_or(CUSTOM, Method::name)
    }

    /// Whether log Ẑ is learned along with the processes; otherwise it stays what it was at first, and means nothing.
    pub fn learns_log_z(&self) -> bool {
        self.config.generation_objective == GenerationObjective::TrajectoryBalance
            && self.config.optimisation.log_z_rate > 0.0
    }

    /// Whether training looks for what its own samples miss, with exploration or local search.
    pub(crate) fn searches(&self) -> bool {
        self.config.generation_objective != GenerationObjective::ReverseKl
            && (self.config.exploration.factor > 0.0 || self.config.local_search.is_some())
    }

    /// `25gmm-tb-tb-T5-s0`: what tells a run from its neighbours.
    pub fn name(&self) -> String {
        format!("{}-{}-T{}-s{}", self.target, self.method_name(), self.steps(), self.config.seed)
    }

    /// Ready to train, target included.
    pub fn validate(&self) -> Result<ValidConfig, ConfigError> {
        self.config.validate(self.built_target())
    }

    /// The target itself.
    pub fn built_target(&self) -> Arc<dyn Target> {
        match &self.placing {
            Placing::At(placement) => self.target.placed(placement),
            Placing::AsIs | Placing::Pilot => self.target.build(),
        }
    }

    /// Every setting with its value in TOML, those first that the others are presets of. As lines `key = value` they are a
    /// configuration again.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let heads = [
            ("preset", setting::quoted(self.preset.name())),
            ("method", setting::quoted(self.method_name())),
            ("steps", self.steps().to_string()),
        ];
        let rest = SETTINGS.iter().map(|setting| (setting.key, (setting.write)(self)));
        self.target.entries().into_iter().chain(heads).chain(rest).collect()
    }

    /// The first setting in which the two differ, but for those in `except`.
    pub fn difference(&self, other: &Self, except: &[&str]) -> Option<Difference> {
        self.differences(other, except).next()
    }

    /// All settings in which the two differ, with both values, but for those in `except`. What has no effect in either makes no
    /// difference.
    ///
    /// ```
    /// use ebbtide::target::NamedTarget;
    /// use ebbtide_run::settings::{Difference, Preset};
    ///
    /// let ours = Preset::Paper.settings(NamedTarget::Gmm25, None, 5);
    /// let mut theirs = ours.clone();
    /// (theirs.config.batch, theirs.config.seed) = (64, 1);
    /// let batch = Difference { key: "batch", ours: "512".to_owned(), theirs: "64".to_owned() };
    /// assert_eq!(ours.difference(&theirs, &["seed"]), Some(batch));
    /// let keys: Vec<_> = ours.differences(&theirs, &[]).map(|difference| difference.key).collect();
    /// assert_eq!(keys, ["batch", "seed"]);
    /// ```
    pub fn differences(&self, other: &Self, except: &[&str]) -> impl Iterator<Item = Difference> {
        let keys = subject::KEYS.into_iter().filter(|key| !except.contains(key));
        let subject = keys.map(|key| (key, self.target.entry(key), other.target.entry(key)));
        let heads = [
            ("method", self.method_name().to_owned(), other.method_name().to_owned()),
            ("steps", self.steps().to_string(), other.steps().to_string()),
        ];
        let counts = |setting: &&Setting| {
            let idle = (setting.idle)(self).is_some() && (setting.idle)(other).is_some();
            !idle && !except.contains(&setting.key)
        };
        let row = |setting: &Setting| (setting.key, (setting.write)(self), (setting.write)(other));
        let rest: Vec<_> = SETTINGS.iter().filter(counts).map(row).collect();
        let all =
            subject.chain(heads).chain(rest).map(|(key, ours, theirs)| Difference { key, ours, theirs });
        all.filter(|difference| difference.ours != difference.theirs)
    }
}

/// The method of a combination that has no name.
const CUSTOM: &str = "custom";

/// A setting that two runs do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub key: &'static str,
    /// Its value in the one.
    pub ours: String,
    /// Its value in the other.
    pub theirs: String,
}

/// The settings that a method decides.
const DECIDED: [&str; 4] =
    ["generation.objective", "generation.variance", "destruction.process", "destruction.objective"];

/// Those of them in which a configuration is not what the method says.
fn disagreements(method: Method, config: &Config) -> impl Iterator<Item = &'static str> {
    let learns_destruction = config.destruction != Corrections::Fixed;
    let learns_variance = config.generation_variance != GenerationVariance::Fixed;
    let agrees = [
        config.generation_objective == method.generation(),
        learns_variance == method.learns_variance(),
        learns_destruction == method.destruction().is_some(),
        config.destruction_objective == method.destruction(),
    ];
    DECIDED.into_iter().zip(agrees).filter(|(_, agrees)| !agrees).map(|(key, _)| key)
}
