//! Everything that can be chosen about a training.

use std::fmt;
use std::sync::Arc;

use super::check::ConfigError;
use super::exploration::Exploration;
use super::learner::Optimisation;
use super::local_search::LocalSearch;
use super::memory::memory;
use super::replay::ReplayOptions;
use crate::network::Backbone;
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::process::{Corrections, Destruction, Generation, GenerationVariance, Grid, TimeGrid};
use crate::target::Target;
use crate::trajectory::Model;

/// A training as asked for. [`Config::validate`] turns it into one that can be run.
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
}

/// Which trajectories trajectory likelihood looks at: those of the current generation process, more or less.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// An exploratory update, the replayed ones, and one on destroyed paths, each time.
    Every,
    /// Exploratory and replayed updates in even iterations, destroyed paths in odd ones.
    Alternating,
}

/// A configuration that has been checked against a target, and that target. Only such a one can be trained.
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
        let NetworkOptions { width, depth, backbone, .. } = self.network;
        let generation = Generation {
            variance: self.generation_variance,
            sigma_squared: self.sigma_squared,
            drift_bound: self.drift_bound,
        };
        let destruction = Destruction { corrections: self.destruction, sigma_squared: self.sigma_squared };
        let grid = TimeGrid::new(&self.grid)?;
        Ok(Model::new(dim, grid, generation, destruction, width, depth, backbone))
    }
}
