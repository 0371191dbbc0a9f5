//! Everything that can be chosen about a training, and the check that it makes sense.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::exploration::{Exploration, ExplorationForm};
use super::learner::{Arrangement, Optimisation};
use super::local_search::LocalSearch;
use super::replay::ReplayOptions;
use crate::network::Backbone;
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::process::{
    Corrections, Destruction, Generation, GenerationVariance, Grid, GridError, Multiplier, TimeGrid,
};
use crate::target::Target;
use crate::trajectory::{Model, Tile};

/// A training as asked for. [`Config::validate`] turns it into one that can be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkOptions {
    /// Features of each layer.
    pub width: usize,
    /// Layers of the backbone.
    pub depth: usize,
    /// Shared or separate.
    pub backbone: Backbone,
}

/// Which trajectories trajectory likelihood looks at: those of the current generation process, more or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LikelihoodSource {
    /// The fresh batch of each iteration.
    Fresh,
    /// Fresh and replayed batches; what is replayed was generated a few iterations ago.
    Generated,
}

/// Whether the bound C₂ of the destruction process stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundSchedule {
    /// It does.
    Constant,
    /// It rises linearly from 0 over the training: the paper tried it and saw no gain.
    Rising,
}

/// What one iteration consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// An exploratory update, the replayed ones, and one on destroyed paths, each time.
    Every,
    /// Exploratory and replayed updates in even iterations, destroyed paths in odd ones.
    Alternating,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is outside its range.
    #[error("{setting} is {value}, but must be {range}")]
    Range {
        /// The setting's name.
        setting: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// The grid is none.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Two settings contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The target lacks something.
    #[error("{setting} needs the gradient of the log density, and this target has none; {advice}")]
    NoGradient {
        /// What asks for it.
        setting: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// No machine could hold it.
    #[error(
        "this training would take more than a tebibyte of memory; reduce the batch, the steps, the network or the replay capacity"
    )]
    TooLarge,
    /// The target has no coordinates.
    #[error("the target has dimension 0; there is nothing to sample")]
    NoDimension,
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

    /// The target it was checked against.
    pub fn target(&self) -> &Arc<dyn Target> {
        &self.target
    }
}

/// A tebibyte of single-precision numbers.
const MOST_NUMBERS: usize = 1 << 38;

fn require(holds: bool, setting: &'static str, value: f64, range: &'static str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::Range { setting, value, range }) }
}

fn at_least_one(setting: &'static str, value: usize) -> Result<(), ConfigError> {
    require(value >= 1, setting, value as f64, "at least 1")
}

fn positive(setting: &'static str, value: f64) -> Result<(), ConfigError> {
    require(value > 0.0 && value.is_finite(), setting, value, "a finite number above 0")
}

fn not_negative(setting: &'static str, value: f64) -> Result<(), ConfigError> {
    require(value >= 0.0 && value.is_finite(), setting, value, "a finite number, 0 or above")
}

fn share(setting: &'static str, value: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&value), setting, value, "between 0 and 1")
}

fn below_2_to_the_32(setting: &'static str, value: usize) -> Result<(), ConfigError> {
    require(value <= u32::MAX as usize, setting, value as f64, "below 2^32")
}

impl Config {
    /// Checks all settings, alone, together, and against what the target offers.
    pub fn validate(&self, target: Arc<dyn Target>) -> Result<ValidConfig, ConfigError> {
        if target.dim() == 0 {
            return Err(ConfigError::NoDimension);
        }
        self.check_numbers()?;
        self.check_combinations()?;
        self.check_size(target.dim())?;
        if target.differentiable().is_none() {
            if self.generation_objective == GenerationObjective::ReverseKl {
                let advice = "use trajectory balance (a `tb-` method)";
                return Err(ConfigError::NoGradient { setting: "reverse KL", advice });
            }
            if self.local_search.is_some() {
                let advice = "turn local search off";
                return Err(ConfigError::NoGradient { setting: "local search", advice });
            }
        }
        Ok(ValidConfig { model: self.model(target.dim())?, config: self.clone(), target })
    }

    fn model(&self, dim: usize) -> Result<Model, ConfigError> {
        let NetworkOptions { width, depth, backbone } = self.network;
        let generation = Generation {
            variance: self.generation_variance,
            sigma_squared: self.sigma_squared,
            drift_bound: self.drift_bound,
        };
        let destruction = Destruction { corrections: self.destruction, sigma_squared: self.sigma_squared };
        let grid = TimeGrid::new(&self.grid)?;
        Ok(Model::new(dim, grid, generation, destruction, width, depth, backbone))
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        require(self.iterations >= 1, "iterations", self.iterations as f64, "at least 1")?;
        at_least_one("batch", self.batch)?;
        at_least_one("network.width", self.network.width)?;
        at_least_one("network.depth", self.network.depth)?;
        positive("sigma-squared", self.sigma_squared.into())?;
        positive("drift-bound", self.drift_bound.into())?;
        if let GenerationVariance::Learned { bound } = self.generation_variance {
            let range = "above 0 and at most 20";
            require(bound > 0.0 && bound <= 20.0, "generation-variance.learned.bound", bound.into(), range)?;
        }
        if let Corrections::Learned { bound, multiplier } = self.destruction {
            require(
                bound > 0.0 && bound < 1.0,
                "destruction.learned.bound",
                bound.into(),
                "between 0 and 1",
            )?;
            if let Multiplier::Exponential { bound } = multiplier {
                let setting = "destruction.learned.multiplier.exponential.bound";
                require(bound > 0.0 && bound <= 20.0, setting, bound.into(), "above 0 and at most 20")?;
            }
        }
        let optimisation = &self.optimisation;
        not_negative("optimisation.generation-rate", optimisation.generation_rate)?;
        not_negative("optimisation.destruction-rate", optimisation.destruction_rate)?;
        not_negative("optimisation.log-z-rate", optimisation.log_z_rate)?;
        not_negative("optimisation.weight-decay", optimisation.weight_decay.into())?;
        positive("optimisation.clip", optimisation.clip)?;
        let decay = optimisation.decay;
        require(decay > 0.0 && decay <= 1.0, "optimisation.decay", decay, "above 0 and at most 1")?;
        if let Some(tau) = self.target_network {
            require(tau > 0.0 && tau <= 1.0, "target-network", tau.into(), "above 0 and at most 1")?;
        }
        if self.replay.ratio > 0 {
            at_least_one("replay.capacity", self.replay.capacity)?;
            below_2_to_the_32("replay.capacity", self.replay.capacity)?;
            share("replay.priority-exponent", self.replay.priority_exponent)?;
            share("replay.correction-exponent", self.replay.correction_exponent)?;
        }
        not_negative("exploration.factor", self.exploration.factor)?;
        if let ExplorationForm::VarianceRate { scale } = self.exploration.form {
            not_negative("exploration.form.variance-rate.scale", scale)?;
        }
        if let Some(search) = &self.local_search {
            at_least_one("local-search.every", search.every)?;
            at_least_one("local-search.steps", search.steps)?;
            at_least_one("local-search.capacity", search.capacity)?;
            positive("local-search.step-size", search.step_size)?;
            share("local-search.acceptance", search.acceptance)?;
            let (burn_in, range) = (search.burn_in, "below local-search.steps, or nothing is kept");
            require(burn_in < search.steps, "local-search.burn-in", burn_in as f64, range)?;
            below_2_to_the_32("local-search.capacity", search.capacity)?;
        }
        Ok(())
    }

    /// A rough count of the numbers that a training keeps at all times, every product checked.
    fn check_size(&self, dim: usize) -> Result<(), ConfigError> {
        let (h, depth, steps) = (self.network.width, self.network.depth, self.grid.steps());
        let count = || {
            let square = h.checked_mul(h)?;
            let trunk = square.checked_mul(depth.checked_add(6)?)?.checked_add(h.checked_mul(dim)?)?;
            let parameters = trunk.checked_add(h.checked_mul(dim)?.checked_mul(4)?)?;
            // Both trunks, moments and a gradient of either loss for each of eight lanes.
            let weights = parameters.checked_mul(32)?;
            let path = steps.checked_mul(dim)?;
            let paths = self.batch.checked_mul(path)?.checked_mul(2)?;
            let replay = self.replay.capacity.checked_mul(path.checked_add(6)?)?;
            let rows = Tile::trajectories(steps.max(1), h).checked_mul(steps)?.checked_mul(8)?;
            let tiles =
                rows.checked_mul(h.checked_mul(depth.checked_add(3)?)?.checked_add(dim)?)?.checked_mul(2)?;
            let replay = if self.replay.ratio > 0 { replay } else { 0 };
            weights.checked_add(paths)?.checked_add(replay)?.checked_add(tiles)
        };
        match count() {
            Some(numbers) if numbers <= MOST_NUMBERS => Ok(()),
            _ => Err(ConfigError::TooLarge),
        }
    }

    fn check_combinations(&self) -> Result<(), ConfigError> {
        let contradiction = |text| Err(ConfigError::Contradiction(text));
        match (self.destruction, self.destruction_objective) {
            (Corrections::Fixed, Some(_)) => {
                return contradiction("the destruction process is fixed, so it can have no objective");
            }
            (Corrections::Learned { .. }, None) => {
                return contradiction("the destruction process is learned, so it needs an objective");
            }
            _ => {}
        }
        let likelihood = self.destruction_objective == Some(DestructionObjective::TrajectoryLikelihood);
        let unseen_replay = self.replay.ratio > 0 && self.likelihood_source == LikelihoodSource::Fresh;
        let unseen = unseen_replay || self.local_search.is_some();
        if likelihood && unseen && self.optimisation.arrangement == Arrangement::Single {
            return contradiction(
                "a single optimiser would move the destruction process in updates that it does not learn from: \
                 trajectory likelihood looks at generated trajectories only; use separate optimisers",
            );
        }
        let learns_log_z = self.generation_objective == GenerationObjective::TrajectoryBalance;
        if !learns_log_z && self.destruction_objective == Some(DestructionObjective::TrajectoryBalance) {
            return contradiction(
                "trajectory balance for the destruction process needs the log Z that trajectory balance learns \
                 for the generation process; use VarGrad, which needs none",
            );
        }
        if self.generation_objective == GenerationObjective::ReverseKl {
            if self.replay.ratio > 0 {
                return contradiction(
                    "reverse KL cannot learn from replayed trajectories: set replay.ratio = 0",
                );
            }
            if self.exploration.factor > 0.0 {
                return contradiction(
                    "reverse KL cannot learn from explored trajectories: set exploration.factor = 0",
                );
            }
            if self.local_search.is_some() {
                return contradiction(
                    "reverse KL cannot learn from destroyed trajectories: turn local search off",
                );
            }
        }
        if self.schedule == Schedule::Alternating && self.local_search.is_none() {
            return contradiction(
                "an alternating schedule has nothing to do in odd iterations without local search",
            );
        }
        Ok(())
    }
}
