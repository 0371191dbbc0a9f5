//! Everything that can be chosen about a training.

use std::fmt;
use std::sync::Arc;

use super::check::ConfigError;
use super::exploration::Exploration;
use super::learner::Optimisation;
use super::local_search::LocalSearch;
use super::memory::memory;
use super::replay::ReplayOptions;
use crate::network::{Backbone, View};
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::process::{Corrections, Destruction, Generation, GenerationVariance, Grid, TimeGrid};
use crate::target::Target;
use crate::trajectory::Model;

/// A training as asked for. [`Config::validate`] turns it into one that can be run.
///
/// ```
/// # use std::sync::Arc;
/// # use ebbtide::{objective::Method, target::{Formula, Target}, trajectory::Threads};
/// use ebbtide::train::{Arrangement, Config, CorrectionReference, Keep, LocalSearch, NetworkOptions};
/// use ebbtide::train::{Optimisation, Recall, ReplayOptions, Trainer};
///
/// let mut config = Config::new(Method::TbTb, 3);
/// (config.iterations, config.batch) = (20, 16);
/// config.network = NetworkOptions { width: 16, depth: 1, ..config.network };
/// config.optimisation = Optimisation { arrangement: Arrangement::Single, clip: 10.0, ..config.optimisation };
/// config.replay = ReplayOptions { capacity: 100, reference: CorrectionReference::Batch, ..config.replay };
/// let usual = LocalSearch { every: 5, steps: 8, burn_in: 4, capacity: 100, ..LocalSearch::default() };
/// config.local_search = Some(LocalSearch { keep: Keep::Sample, recall: Recall::Even, ..usual });
///
/// let wells: Arc<dyn Target> = Arc::new(Formula::new("-(x0^2 - 4)^2", 1, &[])?);
/// let mut trainer = Trainer::new(config.validate(wells)?, &Threads::new(1)?);
/// while !trainer.is_finished() {
///     trainer.step()?;
/// }
/// // A batch in each iteration, and in every fifth a search from it: the starts, and 8 steps of each chain.
/// assert_eq!(trainer.state().evaluations(), 20 * 16 + 4 * 16 * (1 + 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How many iterations.
    pub iterations: u64,
    /// Trajectories of each update.
    pub batch: usize,
    /// Names all random streams.
    pub seed: u64,
    /// How time is divided.
    pub grid: Grid,
    /// σ²
    pub sigma_squared: f32,
    /// Variance of the generation process.
    pub generation_variance: GenerationVariance,
    /// Corrections of the destruction process.
    pub destruction: Corrections,
    /// Whether C₂ stays or rises.
    pub destruction_bound: BoundSchedule,
    /// The largest drift let through.
    pub drift_bound: f32,
    /// The network.
    pub network: NetworkOptions,
    /// How the generation process learns.
    pub generation_objective: GenerationObjective,
    /// How the destruction process learns; `None` if and only if it is fixed.
    pub destruction_objective: Option<DestructionObjective>,
    /// What trajectory likelihood learns from, where it is the destruction objective.
    pub likelihood_source: LikelihoodSource,
    /// Gradients to steps.
    pub optimisation: Optimisation,
    /// τ of the lagging networks; `None` for no lag.
    pub target_network: Option<f32>,
    /// How fast the weights that samples are drawn with follow those that learn; `None` if they are the same.
    pub averaging: Option<f32>,
    /// Prioritised replay.
    pub replay: ReplayOptions,
    /// Noise added to training trajectories.
    pub exploration: Exploration,
    /// Langevin local search; `None` for none.
    pub local_search: Option<LocalSearch>,
    /// How forward and backward updates are arranged.
    pub schedule: Schedule,
}

/// The network's size.
///
/// ```
/// use ebbtide::network::{Backbone, View};
/// use ebbtide::objective::Method;
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::{Config, NetworkOptions};
///
/// let mut config = Config::new(Method::TbTb, 5);
/// config.network = NetworkOptions { width: 32, depth: 3, backbone: Backbone::Separate, scale: 1.0, view: View::Plain };
/// let valid = config.validate(NamedTarget::Gmm25.build().into())?;
/// // Both processes have a backbone of their own, whose third and last layer is 32 × 32.
/// for name in ["generation.backbone.2.weight", "destruction.backbone.2.weight"] {
///     let (_, weight) = valid.model().layout.tensors().find(|(each, _)| *each == name).expect(name);
///     assert_eq!((weight.inputs, weight.outputs), (32, 32));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkOptions {
    /// Features of each layer.
    pub width: usize,
    /// Layers of the backbone.
    pub depth: usize,
    /// Shared or separate.
    pub backbone: Backbone,
    /// How large the states are that it expects: the first weights that a state is multiplied with are divided by it.
    pub scale: f32,
    /// How it sees states.
    pub view: View,
}

/// Which trajectories trajectory likelihood looks at: those of the current generation process, more or less.
///
/// ```
/// use ebbtide::objective::Method;
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::{Arrangement, Config, LikelihoodSource};
///
/// let target = NamedTarget::Gmm25.build();
/// let mut config = Config { local_search: None, ..Config::new(Method::TbTlm, 5) };
/// config.optimisation.arrangement = Arrangement::Single;
/// // One optimiser for both losses would also move what a replayed batch has no loss for.
/// config.likelihood_source = LikelihoodSource::Fresh;
/// assert_eq!(config.check(&*target).len(), 1);
/// config.likelihood_source = LikelihoodSource::Generated;
/// assert_eq!(config.check(&*target), []);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikelihoodSource {
    /// The fresh batch of each iteration.
    Fresh,
    /// Fresh and replayed batches; what is replayed was generated a few iterations ago.
    Generated,
}

/// Whether the bound C₂ of the destruction process stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundSchedule {
    /// It does.
    Constant,
    /// It rises linearly from 0 over the training: the paper tried it and saw no gain.
    Rising,
}

/// What one iteration consists of.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide::train::{Config, LocalSearch, Schedule, Trainer};
///
/// let search = LocalSearch { steps: 4, burn_in: 2, capacity: 100, ..LocalSearch::default() };
/// for (schedule, batches) in [(Schedule::Every, 4), (Schedule::Alternating, 2)] {
///     let mut config = Config { batch: 16, schedule, ..Config::new(Method::TbTb, 2) };
///     config.local_search = Some(search);
///     let valid = config.validate(NamedTarget::Gmm25.build().into())?;
///     let mut trainer = Trainer::new(valid, &Threads::new(1)?);
///     for _ in 0..4 {
///         trainer.step()?;
///     }
///     // Fresh batches, and the starts and steps of the search that the first of them is followed by.
///     assert_eq!(trainer.state().evaluations(), 16 * batches + 16 * (1 + 4));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// An exploratory update, the replayed ones, and one on destroyed paths, each time.
    Every,
    /// Exploratory and replayed updates in even iterations, destroyed paths in odd ones.
    Alternating,
}

/// A configuration that has been checked against a target, and that target. Only such a one can be trained.
///
/// ```
/// use ebbtide::objective::Method;
/// use ebbtide::process::Corrections;
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::{BoundSchedule, Config, ValidConfig};
///
/// let config = Config { destruction_bound: BoundSchedule::Rising, ..Config::new(Method::TbTb, 5) };
/// let valid: ValidConfig = config.validate(NamedTarget::Manywell.build().into())?;
/// assert_eq!((valid.config(), valid.model().dim()), (&config, valid.target().dim()));
///
/// // C₂, which is 0.9 in the end, has gone half of its way after half of the iterations.
/// match valid.model_at(config.iterations / 2).destruction.corrections {
///     Corrections::Learned { bound, .. } => assert!((bound - 0.45).abs() < 1e-6),
///     Corrections::Fixed => unreachable!("both processes are learned"),
/// }
/// // Each thread has a workspace of its own.
/// assert!(valid.memory(2) > valid.memory(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ValidConfig {
    config: Config,
    model: Model,
    target: Arc<dyn Target>,
}

impl fmt::Debug for ValidConfig {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("ValidConfig").field("config", &self.config).field("model", &self.model).finish()
    }
}

impl ValidConfig {
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model it describes.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The bytes that a training on so many threads holds at its fullest: weights, workspaces, and both buffers when
    /// they are full. What the target takes is its own.
    pub fn memory(&self, threads: usize) -> u64 {
        memory(&self.config, self.model.dim(), threads)
    }

    /// The model after so many iterations: where the destruction bound rises over the training, it is part of the way up.
    pub fn model_at(&self, iteration: u64) -> Model {
        let mut model = self.model.clone();
        model.destruction.corrections = self.corrections_at(iteration);
        model
    }

    /// The corrections of the destruction process after so many iterations.
    pub(super) fn corrections_at(&self, iteration: u64) -> Corrections {
        match (self.config.destruction_bound, self.config.destruction) {
            (BoundSchedule::Rising, Corrections::Learned { bound, multiplier }) => {
                let share = (iteration as f64 / self.config.iterations as f64).min(1.0) as f32;
                Corrections::Learned { bound: share * bound, multiplier }
            }
            (_, corrections) => corrections,
        }
    }

    /// The target it was checked against.
    pub fn target(&self) -> &Arc<dyn Target> {
        &self.target
    }
}

impl Config {
    /// Checks all settings, alone, together, and against what the target offers; [`Config::check`] knows all that is
    /// wrong, where this fails with the first.
    pub fn validate(&self, target: Arc<dyn Target>) -> Result<ValidConfig, ConfigError> {
        match self.check(&*target).into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(ValidConfig { model: self.model(target.dim())?, config: self.clone(), target }),
        }
    }

    fn model(&self, dim: usize) -> Result<Model, ConfigError> {
        let NetworkOptions { width, depth, backbone, view, .. } = self.network;
        let generation = Generation {
            variance: self.generation_variance,
            sigma_squared: self.sigma_squared,
            drift_bound: self.drift_bound,
        };
        let destruction = Destruction { corrections: self.destruction, sigma_squared: self.sigma_squared };
        let grid = TimeGrid::new(&self.grid)?;
        Ok(Model { view, ..Model::new(dim, grid, generation, destruction, width, depth, backbone) })
    }
}
