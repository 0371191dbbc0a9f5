//! Any configuration whatsoever: an answer, and never a panic.

use std::sync::Arc;

use ebbtide::network::Backbone;
use ebbtide::objective::{GenerationObjective, Method};
use ebbtide::process::{Corrections, GenerationVariance, Grid, Multiplier};
use ebbtide::target::Target;
use ebbtide::train::{
    Arrangement, BoundSchedule, Config, Exploration, ExplorationForm, Keep, LocalSearch, NetworkOptions,
    Recall, ReplayOptions, Schedule, Trainer,
};
use proptest::prelude::*;

use crate::densities::NOWHERE;
use crate::gaussian;
use crate::settings::{bounded, rate};
use crate::user::{self, BlackBox, Formula};

/// A number that may be ordinary, at the edge, or nonsense.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        60 => 0.01_f64..1.0,
        1 => prop::sample::select(vec![0.0, -1.0, 1e-30, 1e30, f64::NAN, f64::INFINITY]),
    ]
}

fn single() -> impl Strategy<Value = f32> {
    number().prop_map(|value| value as f32)
}

fn share() -> impl Strategy<Value = Option<f32>> {
    prop::option::of(prop_oneof![60 => 0.01_f32..1.0, 1 => single()])
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 60 => 1_usize..9]
}

fn grids() -> impl Strategy<Value = Grid> {
    prop_oneof![
        count().prop_map(Grid::Uniform),
        count().prop_map(Grid::Harmonic),
        prop::collection::vec(0.0_f64..1.0, 0..4).prop_map(|mut times| {
            times.sort_by(f64::total_cmp);
            times.insert(0, 0.0);
            times.push(1.0);
            Grid::Given(times)
        }),
    ]
}

fn destructions() -> impl Strategy<Value = Corrections> {
    let bound = || prop_oneof![60 => 0.01_f32..0.99, 1 => single()];
    prop_oneof![
        Just(Corrections::Fixed),
        bound().prop_map(bounded),
        (bound(), single()).prop_map(|(bound, exponent)| Corrections::Learned {
            bound,
            multiplier: Multiplier::Exponential { bound: exponent }
        }),
    ]
}

fn searches() -> impl Strategy<Value = Option<LocalSearch>> {
    let keep = prop::sample::select(vec![Keep::Newest, Keep::Sample]);
    let search = (count(), 4_usize..9, 0_usize..5, number(), 0.0_f64..1.0, count(), keep);
    prop::option::of(search.prop_map(|(every, steps, burn_in, step_size, acceptance, capacity, keep)| {
        LocalSearch { every, steps, burn_in, step_size, acceptance, capacity, keep, recall: Recall::Even }
    }))
}

prop_compose! {
    /// Anything that can be written down, of a size that can be run.
    fn any_config()(
        method in prop::sample::select(Method::ALL.to_vec()),
        generation_objective in prop::option::weighted(0.1, prop::sample::select(vec![
            GenerationObjective::TrajectoryBalance, GenerationObjective::VarGrad, GenerationObjective::ReverseKl,
        ])),
        (iterations, batch, seed) in (prop_oneof![1 => Just(0), 60 => 1_u64..9], prop_oneof![1 => Just(0), 60 => 1_usize..80], any::<u64>()),
        grid in grids(),
        (sigma_squared, drift_bound, c1) in (single(), single(), single()),
        (destruction, loose) in (destructions(), prop::bool::weighted(0.05)),
        (width, depth, separate, rising, alternating, one) in
            (count(), 1_usize..4, any::<bool>(), any::<bool>(), prop::bool::weighted(0.2), any::<bool>()),
        (generation_rate, destruction_rate, log_z_rate, weight_decay, clip, decay) in
            (number(), number(), number(), single(), number(), prop_oneof![60 => 0.5_f64..1.0, 1 => number()]),
        (target_network, averaging) in (share(), share()),
        replay in prop::option::of((count(), count(), number(), number())),
        exploration in prop::option::of((number(), 0_usize..9, number(), any::<bool>())),
        search in prop::option::weighted(0.5, searches()),
    ) -> Config {
        let mut config = Config::new(method, 1);
        (config.iterations, config.batch, config.seed, config.grid) = (iterations, batch, seed, grid);
        (config.sigma_squared, config.drift_bound) = (sigma_squared, drift_bound);
        if let GenerationVariance::Learned { bound } = &mut config.generation_variance {
            *bound = c1;
        }
        config.generation_objective = generation_objective.unwrap_or(config.generation_objective);
        let on_policy = config.generation_objective == GenerationObjective::ReverseKl;
        let learns = destruction != Corrections::Fixed;
        if loose || learns == config.destruction_objective.is_some() {
            config.destruction = destruction;
        }
        let backbone = if separate { Backbone::Separate } else { Backbone::Shared };
        config.network = NetworkOptions { width, depth, backbone, ..config.network };
        config.destruction_bound = if rising { BoundSchedule::Rising } else { BoundSchedule::Constant };
        let optimisation = &mut config.optimisation;
        optimisation.arrangement = if one { Arrangement::Single } else { Arrangement::Separate };
        (optimisation.generation_rate, optimisation.destruction_rate) = (generation_rate, destruction_rate);
        (optimisation.log_z_rate, optimisation.weight_decay) = (log_z_rate, weight_decay);
        (optimisation.clip, optimisation.decay) = (clip, decay);
        (config.target_network, config.averaging) = (target_network, averaging);
        if let (true, Some((ratio, capacity, priority_exponent, correction_exponent))) = (loose || !on_policy, replay) {
            config.replay = ReplayOptions { ratio, capacity, priority_exponent, correction_exponent, ..ReplayOptions::default() };
        }
        if let (true, Some((factor, anneal, scale, each))) = (loose || !on_policy, exploration) {
            let form = if each { ExplorationForm::StepDeviation } else { rate(scale) };
            config.exploration = Exploration { factor, anneal, form };
        }
        let search = search.filter(|_| loose || !on_policy);
        config.local_search = search.unwrap_or(config.local_search.map(|search| {
            LocalSearch { steps: 5, burn_in: 1, ..search }
        }));
        config.schedule = if alternating { Schedule::Alternating } else { Schedule::Every };
        config
    }
}

/// Targets for random configurations: an ordinary one, one without gradient, one that is zero in places.
fn any_target(index: usize, dim: usize) -> Arc<dyn Target> {
    match index {
        0 => Arc::new(gaussian(dim)),
        1 => Arc::new(BlackBox(gaussian(dim))),
        _ => Arc::new(Formula { dim, answer: NOWHERE[0] }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(config in any_config(), target in 0_usize..3, dim in 1_usize..5) {
        let target = any_target(target, dim);
        match config.validate(target) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(valid) => {
                let mut trainer = Trainer::new(valid, &user::thread());
                for _ in 0..2 {
                    if let Err(error) = trainer.step() {
                        prop_assert!(error.to_string().contains("iteration"));
                        break;
                    }
                }
            }
        }
    }
}
