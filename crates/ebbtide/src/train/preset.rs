//! The paper's settings for each of its targets and methods.

use super::config::{BoundSchedule, Config, LikelihoodSource, NetworkOptions, Schedule};
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
            likelihood_source: LikelihoodSource::Fresh,
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

    /// σ², harmonic grid, decay, lrφ / lrθ at T = 5 and 10, exploration, width and depth: as the paper has them.
    type Row = (NamedTarget, f32, bool, f64, [f64; 2], f64, usize, usize);

    const PAPER: [Row; 9] = [
        (NamedTarget::Gmm25, 5.0, true, 0.99988, [1.0, 1.0], 0.3, 64, 2),
        (NamedTarget::SlightlyDistortedGmm25, 5.0, true, 0.9999, [1.0, 1.0], 0.3, 64, 2),
        (NamedTarget::DistortedGmm25, 5.0, true, 0.9999, [1.0, 1.0], 0.3, 64, 2),
        (NamedTarget::Gmm125, 5.0, true, 0.9999, [1.0, 1.0], 0.3, 64, 2),
        (NamedTarget::Gmm40, 5.0, true, 0.99988, [1.0, 1.0], 0.3, 64, 2),
        (NamedTarget::EasyFunnel, 1.0, false, 0.9999, [1.0, 1.0], 0.2, 64, 2),
        (NamedTarget::HardFunnel, 1.0, false, 0.9999, [1e-3, 1e-3], 0.2, 64, 2),
        (NamedTarget::Manywell, 1.0, false, 0.9999, [1e-5, 1e-4], 0.1, 256, 4),
        (NamedTarget::DistortedManywell, 1.0, false, 0.9999, [1e-5, 1e-4], 0.1, 256, 4),
    ];

    #[test]
    fn presets_are_the_papers() {
        for (target, sigma_squared, harmonic, decay, ratios, exploration, width, depth) in PAPER {
            for (steps, ratio) in [5, 10].into_iter().zip(ratios) {
                let preset = Config::preset(target, Method::TbTb, steps);
                let grid = if harmonic { Grid::Harmonic(steps) } else { Grid::Uniform(steps) };
                assert_eq!((preset.grid, preset.sigma_squared), (grid, sigma_squared), "{target}");
                assert_eq!((preset.network.width, preset.network.depth), (width, depth), "{target}");
                assert_eq!(
                    (preset.exploration.factor, preset.exploration.anneal),
                    (exploration, 10_000),
                    "{target}"
                );
                let optimisation = preset.optimisation;
                assert_eq!((optimisation.decay, optimisation.generation_rate), (decay, 1e-3), "{target}");
                assert!((optimisation.destruction_rate / (1e-3 * ratio) - 1.0).abs() < 1e-12, "{target}");
                assert_eq!(
                    (preset.iterations, preset.batch, preset.replay.ratio),
                    (25_000, 512, 2),
                    "{target}"
                );
                let on_policy = Config::preset(target, Method::PisTlm, steps);
                assert_eq!((on_policy.replay.ratio, on_policy.exploration.factor), (0, 0.0), "{target}");
                assert_eq!(on_policy.local_search, None, "{target}");
            }
        }
    }

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
