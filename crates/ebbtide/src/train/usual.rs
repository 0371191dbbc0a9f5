//! The settings for a target that nobody has tuned them for.

use super::config::{BoundSchedule, Config, LikelihoodSource, NetworkOptions, Schedule};
use super::exploration::Exploration;
use super::learner::Optimisation;
use super::local_search::LocalSearch;
use super::replay::ReplayOptions;
use crate::network::{Backbone, View};
use crate::objective::{GenerationObjective, Method};
use crate::process::{Corrections, GenerationVariance, Grid, Multiplier};

/// C₁ and C₂
const GENERATION_BOUND: f32 = 4.0;
const DESTRUCTION_BOUND: f32 = 0.9;
/// The most that the corrections of all steps come to, as a logarithm.
const DESTRUCTION_REACH: f32 = 27.0;

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
                Some(_) => {
                    Corrections::Learned { bound: destruction_bound(steps), multiplier: Multiplier::Bounded }
                }
            },
            destruction_bound: BoundSchedule::Constant,
            drift_bound: 1e4,
            network: NetworkOptions {
                width: 64,
                depth: 2,
                backbone: Backbone::Shared,
                scale: 1.0,
                view: View::Plain,
            },
            generation_objective: method.generation(),
            destruction_objective: method.destruction(),
            likelihood_source: LikelihoodSource::Fresh,
            optimisation: Optimisation::default(),
            target_network: Some(0.05),
            averaging: None,
            replay: ReplayOptions { ratio: if on_policy { 0 } else { 2 }, ..ReplayOptions::default() },
            exploration: Exploration::new(if on_policy { 0.0 } else { 0.2 }),
            local_search: (!on_policy).then(LocalSearch::default),
            schedule: Schedule::Every,
        }
    }
}

/// C₂. Corrections of all steps multiply each other: beyond the 30 steps of the paper each may do less, or states are beyond all numbers before
/// anything is learned.
fn destruction_bound(steps: usize) -> f32 {
    DESTRUCTION_BOUND.min(DESTRUCTION_REACH / steps as f32)
}
