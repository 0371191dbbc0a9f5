//! Whether a configuration makes sense: every problem it has, each with the settings it is about.

use super::config::{Config, LikelihoodSource, Schedule};
use super::exploration::ExplorationForm;
use super::learner::Arrangement;
use super::memory::memory;
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::process::{Corrections, GenerationVariance, Grid, GridError, Multiplier, TimeGrid};
use crate::target::Target;
use crate::trajectory::Lanes;

/// What is wrong with a configuration.
///
/// ```
/// use ebbtide::objective::Method;
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::{Config, ConfigError};
///
/// let config = Config { target_network: Some(1.5), ..Config::new(Method::TbTb, 5) };
/// match config.validate(NamedTarget::EasyFunnel.build().into()) {
///     Err(ConfigError::Range { setting, value, .. }) => assert_eq!((setting, value), ("target-network", 1.5)),
///     other => panic!("{other:?}"),
/// }
/// ```
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
    /// Settings contradict each other.
    #[error("{reason}")]
    Contradiction {
        /// Their names.
        settings: &'static [&'static str],
        /// Why they cannot stand together, and what to do.
        reason: &'static str,
    },
    /// The target lacks something.
    #[error("{what} needs the gradient of the log density, and this target has none; {advice}")]
    NoGradient {
        /// The setting that asks for it.
        setting: &'static str,
        /// What it asks for, in words.
        what: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// No machine could hold it.
    #[error(
        "this training would take more than a tebibyte of memory; reduce the batch, the steps, the network, or the capacity of replay or local search"
    )]
    TooLarge,
    /// The target has no coordinates.
    #[error("the target has dimension 0; there is nothing to sample")]
    NoDimension,
}

impl ConfigError {
    /// The names of the settings that it is about.
    ///
    /// ```
    /// use ebbtide::objective::Method;
    /// use ebbtide::target::NamedTarget;
    /// use ebbtide::train::Config;
    ///
    /// let config = Config { batch: 0, ..Config::new(Method::TbTb, 0) };
    /// let problems = config.check(&*NamedTarget::EasyFunnel.build());
    /// assert_eq!(problems.iter().map(|problem| problem.settings()).collect::<Vec<_>>(), [["batch"], ["steps"]]);
    /// ```
    pub fn settings(&self) -> &[&str] {
        match self {
            Self::Range { setting, .. } | Self::NoGradient { setting, .. } => std::slice::from_ref(setting),
            Self::Grid(GridError::Empty) => &["steps"],
            Self::Grid(_) => &["grid"],
            Self::Contradiction { settings, .. } => settings,
            Self::TooLarge => &[
                "batch",
                "steps",
                "network.width",
                "network.depth",
                "replay.capacity",
                "local-search.steps",
                "local-search.capacity",
            ],
            Self::NoDimension => &[],
        }
    }
}

/// A tebibyte.
const MOST_BYTES: u64 = 1 << 40;

/// The problems found so far.
#[derive(Default)]
struct Problems(Vec<ConfigError>);

impl Problems {
    fn require(&mut self, holds: bool, setting: &'static str, value: f64, range: &'static str) {
        if !holds {
            self.0.push(ConfigError::Range { setting, value, range });
        }
    }

    fn at_least_one(&mut self, setting: &'static str, value: usize) {
        self.require(value >= 1, setting, value as f64, "at least 1");
    }

    fn positive(&mut self, setting: &'static str, value: f64) {
        self.require(value > 0.0 && value.is_finite(), setting, value, "a finite number above 0");
    }

    fn not_negative(&mut self, setting: &'static str, value: f64) {
        self.require(value >= 0.0 && value.is_finite(), setting, value, "a finite number, 0 or above");
    }

    fn share(&mut self, setting: &'static str, value: f64) {
        self.require((0.0..=1.0).contains(&value), setting, value, "between 0 and 1");
    }

    fn above_0_up_to(&mut self, most: f64, setting: &'static str, value: f64, range: &'static str) {
        self.require(value > 0.0 && value <= most, setting, value, range);
    }

    fn below_2_to_the_32(&mut self, setting: &'static str, value: usize) {
        self.require(value <= u32::MAX as usize, setting, value as f64, "below 2^32");
    }

    fn contradiction(&mut self, settings: &'static [&'static str], reason: &'static str) {
        self.0.push(ConfigError::Contradiction { settings, reason });
    }
}

/// As far from 0 as log Ẑ may begin: farther, single precision could not tell one step of it from the next.
const MOST_LOG_Z: f64 = 1e9;

impl Config {
    /// Everything that is wrong with these settings, alone, together, and against what the target offers; nothing, if
    /// they can be trained. [`Config::validate`] fails with the first.
    pub fn check(&self, target: &dyn Target) -> Vec<ConfigError> {
        let mut problems = Problems::default();
        if target.dim() == 0 {
            problems.0.push(ConfigError::NoDimension);
        }
        self.check_numbers(&mut problems);
        self.check_combinations(&mut problems);
        self.check_size(target.dim(), &mut problems);
        if target.differentiable().is_none() {
            self.check_gradient(&mut problems);
        }
        problems.0
    }

    fn check_numbers(&self, problems: &mut Problems) {
        problems.require(self.iterations >= 1, "iterations", self.iterations as f64, "at least 1");
        problems.at_least_one("batch", self.batch);
        problems.at_least_one("network.width", self.network.width);
        problems.at_least_one("network.depth", self.network.depth);
        problems.positive("network.scale", self.network.scale.into());
        problems.positive("sigma-squared", self.sigma_squared.into());
        problems.positive("drift-bound", self.drift_bound.into());
        self.check_bounds(problems);
        self.check_optimisation(problems);
        if self.replay.ratio > 0 {
            problems.at_least_one("replay.capacity", self.replay.capacity);
            problems.below_2_to_the_32("replay.capacity", self.replay.capacity);
            problems.share("replay.priority-exponent", self.replay.priority_exponent);
            problems.share("replay.correction-exponent", self.replay.correction_exponent);
        }
        problems.not_negative("exploration.factor", self.exploration.factor);
        if let ExplorationForm::VarianceRate { scale } = self.exploration.form {
            problems.not_negative("exploration.scale", scale);
        }
        if let Some(search) = &self.local_search {
            problems.at_least_one("local-search.every", search.every);
            problems.at_least_one("local-search.steps", search.steps);
            problems.at_least_one("local-search.capacity", search.capacity);
            problems.positive("local-search.step-size", search.step_size);
            problems.share("local-search.acceptance", search.acceptance);
            if search.steps > 0 {
                let (burn_in, range) = (search.burn_in, "below local-search.steps, or nothing is kept");
                problems.require(burn_in < search.steps, "local-search.burn-in", burn_in as f64, range);
            }
            problems.below_2_to_the_32("local-search.capacity", search.capacity);
        }
    }

    fn check_bounds(&self, problems: &mut Problems) {
        let range = "above 0 and at most 20";
        if let GenerationVariance::Learned { bound } = self.generation_variance {
            problems.above_0_up_to(20.0, "generation.variance-bound", bound.into(), range);
        }
        if let Corrections::Learned { bound, multiplier } = self.destruction {
            let between = bound > 0.0 && bound < 1.0;
            problems.require(between, "destruction.bound", bound.into(), "between 0 and 1");
            if let Multiplier::Exponential { bound } = multiplier {
                problems.above_0_up_to(20.0, "destruction.multiplier-bound", bound.into(), range);
            }
        }
    }

    fn check_optimisation(&self, problems: &mut Problems) {
        let optimisation = &self.optimisation;
        problems.not_negative("optimisation.generation-rate", optimisation.generation_rate);
        problems.not_negative("optimisation.destruction-rate", optimisation.destruction_rate);
        problems.not_negative("optimisation.log-z-rate", optimisation.log_z_rate);
        let start = optimisation.log_z_start;
        let is_number = start.abs() <= MOST_LOG_Z;
        problems.require(is_number, "optimisation.log-z-start", start, "between -1e9 and 1e9");
        problems.not_negative("optimisation.weight-decay", optimisation.weight_decay.into());
        problems.positive("optimisation.clip", optimisation.clip);
        if let Some(bound) = optimisation.residual_bound {
            problems.positive("optimisation.residual-bound", bound.into());
        }
        let range = "above 0 and at most 1";
        problems.above_0_up_to(1.0, "optimisation.decay", optimisation.decay, range);
        if let Some(tau) = self.target_network {
            problems.above_0_up_to(1.0, "target-network", tau.into(), range);
        }
        if let Some(rate) = self.averaging {
            problems.above_0_up_to(1.0, "averaging", rate.into(), range);
        }
    }

    /// The size, and then the grid: one of too many steps is never made.
    fn check_size(&self, dim: usize, problems: &mut Problems) {
        let given = matches!(self.grid, Grid::Given(_));
        let too_large = memory(self, dim, Lanes::MOST) > MOST_BYTES;
        if too_large {
            problems.0.push(ConfigError::TooLarge);
        }
        if given || !too_large {
            problems.0.extend(TimeGrid::new(&self.grid).err().map(ConfigError::Grid));
        }
    }

    fn check_combinations(&self, problems: &mut Problems) {
        let process = &["destruction.process", "destruction.objective"];
        match (self.destruction, self.destruction_objective) {
            (Corrections::Fixed, Some(_)) => {
                problems
                    .contradiction(process, "the destruction process is fixed, so it can have no objective: set destruction.objective = \"none\"");
            }
            (Corrections::Learned { .. }, None) => {
                problems
                    .contradiction(process, "the destruction process is learned, so it needs an objective");
            }
            _ => {}
        }
        let likelihood = self.destruction_objective == Some(DestructionObjective::TrajectoryLikelihood);
        let unseen_replay = self.replay.ratio > 0 && self.likelihood_source == LikelihoodSource::Fresh;
        let unseen = unseen_replay || self.local_search.is_some();
        if likelihood && unseen && self.optimisation.arrangement == Arrangement::Single {
            problems.contradiction(
                &["optimisation.arrangement", "destruction.objective"],
                "a single optimiser would move the destruction process in updates that it does not learn from: \
                 trajectory likelihood looks at generated trajectories only; set optimisation.arrangement to \
                 separate optimisers",
            );
        }
        let learns_log_z = self.generation_objective == GenerationObjective::TrajectoryBalance;
        if !learns_log_z && self.destruction_objective == Some(DestructionObjective::TrajectoryBalance) {
            problems.contradiction(
                &["destruction.objective", "generation.objective"],
                "trajectory balance for the destruction process needs the log Z that trajectory balance learns \
                 for the generation process; use VarGrad, which needs none",
            );
        }
        if self.generation_objective == GenerationObjective::ReverseKl {
            self.check_on_policy(problems);
        }
        if self.schedule == Schedule::Alternating && self.local_search.is_none() {
            problems.contradiction(
                &["schedule", "local-search.every"],
                "an alternating schedule has nothing to do in odd iterations without local search: \
                 set local-search.every, or change the schedule",
            );
        }
    }

    /// What reverse KL, which learns from its own simulations alone, cannot do.
    fn check_on_policy(&self, problems: &mut Problems) {
        if self.replay.ratio > 0 {
            problems.contradiction(
                &["generation.objective", "replay.ratio"],
                "reverse KL cannot learn from replayed trajectories: set replay.ratio = 0",
            );
        }
        if self.exploration.factor > 0.0 {
            problems.contradiction(
                &["generation.objective", "exploration.factor"],
                "reverse KL cannot learn from explored trajectories: set exploration.factor = 0",
            );
        }
        if self.local_search.is_some() {
            problems.contradiction(
                &["generation.objective", "local-search.every"],
                "reverse KL cannot learn from destroyed trajectories: set local-search.every = 0",
            );
        }
    }

    /// What cannot be done without a gradient of the log density.
    fn check_gradient(&self, problems: &mut Problems) {
        if self.generation_objective == GenerationObjective::ReverseKl {
            problems.0.push(ConfigError::NoGradient {
                setting: "generation.objective",
                what: "reverse KL",
                advice: "use trajectory balance (a `tb-` method)",
            });
        }
        if self.local_search.is_some() {
            problems.0.push(ConfigError::NoGradient {
                setting: "local-search.every",
                what: "local search",
                advice: "set local-search.every = 0",
            });
        }
    }
}
