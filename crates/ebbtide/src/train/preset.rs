//! The paper's settings for each of its targets and methods.

use super::config::{BoundSchedule, Config, NetworkOptions, Schedule};
use super::exploration::Exploration;
use super::learner::Optimisation;
use super::local_search::LocalSearch;
use super::replay::ReplayOptions;
use crate::network::Backbone;
use crate::objective::{GenerationObjective, Method};
use crate::process::{Corrections, GenerationVariance, Grid, Multiplier};
use crate::target::NamedTarget;

/// C₁ and C₂
const GENERATION_BOUND: f32 = 4.0;
const DESTRUCTION_BOUND: f32 = 0.9;

impl Config {
    /// The settings for a target that the paper does not know: those it uses most.
    pub fn new(method: Method, steps: usize) -> Self {
        let on_policy = method.generation() == GenerationObjective::ReverseKl;
        Self {
            iterations: 25_000,
            batch: 512,
            seed: 0,
            grid: Grid::Uniform(steps),
            sigma_squared: 1.0,
            generation_variance: if method.learns_variance() {
                GenerationVariance::Learned { bound: GENERATION_BOUND }
            } else {
                GenerationVariance::Fixed
            },
            destruction: match method.destruction() {
                None => Corrections::Fixed,
                Some(_) => Corrections::Learned { bound: DESTRUCTION_BOUND, multiplier: Multiplier::Bounded },
            },
            destruction_bound: BoundSchedule::Constant,
            drift_bound: 1e4,
            network: NetworkOptions { width: 64, depth: 2, backbone: Backbone::Shared },
            generation_objective: method.generation(),
            destruction_objective: method.destruction(),
            optimisation: Optimisation::default(),
            target_network: Some(0.05),
            replay: ReplayOptions { ratio: if on_policy { 0 } else { 2 }, ..ReplayOptions::default() },
            exploration: Exploration::new(if on_policy { 0.0 } else { 0.2 }),
            local_search: (!on_policy).then(LocalSearch::default),
            schedule: Schedule::Every,
        }
    }

    /// The paper's settings for one of its targets. Where it chose among several learning rates for φ without
    /// saying which, this takes the first it names.
    pub fn preset(target: NamedTarget, method: Method, steps: usize) -> Self {
        let mut config = Self::new(method, steps);
        let off_policy = method.generation() != GenerationObjective::ReverseKl;
        let mut destruction_ratio = 1.0;
        match target {
            NamedTarget::Gmm25
            | NamedTarget::SlightlyDistortedGmm25
            | NamedTarget::DistortedGmm25
            | NamedTarget::Gmm125
            | NamedTarget::Gmm40 => {
                config.grid = Grid::Harmonic(steps);
                config.sigma_squared = 5.0;
                if off_policy {
                    config.exploration.factor = 0.3;
                }
                if matches!(target, NamedTarget::Gmm25 | NamedTarget::Gmm40) {
                    config.optimisation.decay = 0.99988;
                }
            }
            NamedTarget::EasyFunnel => {}
            NamedTarget::HardFunnel => destruction_ratio = 1e-3,
            NamedTarget::Manywell | NamedTarget::DistortedManywell => {
                config.network = NetworkOptions { width: 256, depth: 4, ..config.network };
                if off_policy {
                    config.exploration.factor = 0.1;
                }
                destruction_ratio = if steps <= 5 { 1e-5 } else { 1e-4 };
            }
        }
        config.optimisation.destruction_rate = destruction_ratio * config.optimisation.generation_rate;
        config
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::target::Target;

    #[test]
    fn every_preset_is_valid() {
        for target in NamedTarget::ALL {
            let built: Arc<dyn Target> = target.build().into();
            for method in Method::ALL {
                for steps in [1, 2, 5, 20] {
                    let preset = Config::preset(target, method, steps);
                    preset
                        .validate(Arc::clone(&built))
                        .unwrap_or_else(|error| panic!("{} {method}: {error}", target.name()));
                }
            }
        }
    }
}
