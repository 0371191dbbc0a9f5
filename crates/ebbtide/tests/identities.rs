//! What must hold exactly, held to through the library's own sampler.

mod reference;
mod user;

use std::f64::consts::TAU;
use std::sync::Arc;

use ebbtide::metric::{Bounds, Estimate, Evaluation, EvaluationOptions, Extreme, evaluate, log_weights};
use ebbtide::network::Backbone;
use ebbtide::objective::{Method, OffPolicy};
use ebbtide::process::{
    Corrections, Destruction, Generation, GenerationVariance, Grid, Multiplier, TimeGrid,
};
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::Target;
use ebbtide::train::{Batch, Config, Differentiator, LocalSearch, Objectives, Trainer, Weights};
use ebbtide::trajectory::{Model, Sampler, Trajectories};
use reference::draw::Draw;
use reference::kernel::{destruction, generation, log_destruction, log_generation, state};
use reference::network::random_parameters;
use reference::{Parameters, Settings, exact};
use user::{Formula, Gaussian};

const LEARNED: Corrections = Corrections::Learned { bound: 0.9, multiplier: Multiplier::Bounded };

fn model(settings: &Settings) -> Model {
    let sigma_squared = settings.sigma_squared as f32;
    Model::new(
        settings.dim,
        TimeGrid::new(&Grid::Given(settings.times.clone())).expect("a grid"),
        Generation {
            variance: match settings.generation_variance {
                reference::GenerationVariance::Fixed => GenerationVariance::Fixed,
                reference::GenerationVariance::Learned => {
                    GenerationVariance::Learned { bound: settings.c1 as f32 }
                }
            },
            sigma_squared,
            drift_bound: settings.drift_bound as f32,
        },
        Destruction {
            corrections: match settings.destruction {
                reference::Destruction::Fixed => Corrections::Fixed,
                reference::Destruction::Learned(_) => {
                    Corrections::Learned { bound: settings.c2 as f32, multiplier: Multiplier::Bounded }
                }
            },
            sigma_squared,
        },
        settings.width,
        settings.depth,
        Backbone::Shared,
    )
}

/// Named tensors as the library's flat vector.
fn flat(model: &Model, named: &Parameters) -> Vec<f32> {
    let mut flat = vec![0.0; model.layout.parameters()];
    for (name, tensor) in model.layout.tensors() {
        for (place, value) in flat[tensor.range()].iter_mut().zip(&named[name]) {
            *place = *value as f32;
        }
    }
    flat
}

fn settings(dim: usize, width: usize, depth: usize, destruction: reference::Destruction) -> Settings {
    Settings {
        dim,
        width,
        depth,
        times: vec![0.0, 0.4, 1.0],
        sigma_squared: 1.7,
        c1: 1.0,
        c2: 0.9,
        drift_bound: 1e4,
        generation_variance: reference::GenerationVariance::Learned,
        destruction,
        backbone: reference::Backbone::Shared,
        view: reference::View::Plain,
        residual_bound: f64::INFINITY,
    }
}

fn bounds(target: &dyn Target, sampler: &mut Sampler, samples: usize) -> Bounds {
    let options = EvaluationOptions { samples, transport: false, ..EvaluationOptions::default() };
    evaluate(target, sampler, options).expect("an evaluation").bounds
}

/// The extremes that an evaluation names are those of the log weights, with the points that have them.
fn assert_extremes_are_named(target: &dyn Target, sampler: &mut Sampler) {
    let options = EvaluationOptions { samples: 100, transport: false, ..EvaluationOptions::default() };
    let Evaluation { bounds, samples, worst_generated, worst_destroyed, .. } =
        evaluate(target, sampler, options).expect("an evaluation");
    let dim = target.dim();
    let trajectories = sampler.generate(100, Address::new(0, Purpose::EvaluateGenerate, 0));
    let weights = log_weights(target, sampler, &trajectories).expect("a density");
    assert_eq!(Estimate::mean(&weights), bounds.elbo);
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let row = weights.iter().position(|&weight| weight == least).expect("one is the least");
    let named = Extreme { log_weight: least, point: samples[row * dim..(row + 1) * dim].to_vec() };
    assert_eq!(worst_generated, named);
    let mut truth = vec![0.0; 100 * dim];
    let drawable = target.drawable().expect("exact draws");
    drawable.draw(Address::new(0, Purpose::ExactDraw, 0), &mut truth).expect("draws");
    let trajectories = sampler.destroy(&truth, Address::new(0, Purpose::EvaluateDestroy, 0));
    let weights = log_weights(target, sampler, &trajectories).expect("a density");
    let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let row = weights.iter().position(|&weight| weight == most).expect("one is the largest");
    let named = Extreme { log_weight: most, point: truth[row * dim..(row + 1) * dim].to_vec() };
    assert_eq!(worst_destroyed, Some(named));
}

/// ELBO = log Z = EUBO, and every sample counts in full.
fn assert_solved(what: &str, target: &dyn Target, sampler: &mut Sampler) {
    let log_z = target.log_z().expect("known");
    let Bounds { elbo, eubo, importance } = bounds(target, sampler, 512);
    for estimate in [elbo, eubo.expect("exact draws"), importance.log_z] {
        assert!((estimate.value - log_z).abs() < 1e-5, "{what}: {estimate:?} is not {log_z}");
        assert!(estimate.standard_error < 1e-5, "{what}: {estimate:?} varies");
    }
    assert!((importance.effective - 1.0).abs() < 1e-6, "{what}: {importance:?}");
}

/// log Z + log p→ − log p← − log density of each trajectory, relative to the size of the first two.
fn relative_residuals(target: &dyn Target, sampler: &mut Sampler, trajectories: &Trajectories) -> Vec<f64> {
    let mut ends = Vec::new();
    trajectories.copy_ends(&mut ends);
    let mut log_density = vec![0.0; trajectories.len()];
    target.log_density(&ends, &mut log_density).expect("a density");
    let log_z = target.log_z().expect("known");
    let logs = sampler.log_probs(trajectories);
    let both = logs.generation.iter().zip(&logs.destruction).zip(&log_density);
    both.map(|((g, d), &l)| (log_z + g - d - l) / (1.0 + g.abs() + d.abs())).collect()
}

#[test]
fn an_untrained_sampler_is_exact_where_the_target_is_brownian() {
    for steps in [1, 2, 5, 20] {
        let squares = (0..=steps).map(|i| (i as f64 / steps as f64).powi(2)).collect();
        for grid in [Grid::Uniform(steps), Grid::Harmonic(steps), Grid::Given(squares)] {
            for method in [Method::TbFixed, Method::TbVariance, Method::TbTb] {
                for backbone in [Backbone::Shared, Backbone::Separate] {
                    let target = Gaussian { dim: 3, variance: 1.7, log_z: 2.5 };
                    let mut config = Config::new(method, steps);
                    (config.grid, config.sigma_squared) = (grid.clone(), 1.7);
                    (config.network.width, config.network.backbone) = (8, backbone);
                    untrained_is_exact(&config, &target, &format!("{grid:?} {method} {backbone:?}"));
                }
            }
        }
    }
}

fn untrained_is_exact(config: &Config, target: &Gaussian, what: &str) {
    let valid = config.validate(Arc::new(*target)).expect("valid");
    let weights = valid.model().layout.initialise(3);
    let mut sampler = Sampler::new(valid.model().clone(), weights, &user::thread()).expect("weights");
    assert_solved(what, target, &mut sampler);
    // Not only the trajectories that either process draws: any at all.
    let mut stream = Address::new(1, Purpose::Sample, 0).stream(0);
    let mut any = Trajectories::new(50, valid.model().steps(), target.dim);
    any.states_mut().iter_mut().for_each(|x| *x = 3.0 * stream.normal());
    for residual in relative_residuals(target, &mut sampler, &any) {
        assert!(residual.abs() < 2e-6, "{what}: the residual is {residual:e}");
    }
}

#[test]
fn the_exact_reversal_as_a_network_has_no_loss() {
    let settings = settings(2, 5, 1, reference::Destruction::Fixed);
    let target = Gaussian { dim: 2, variance: 0.9, log_z: 2.5 };
    let model = model(&settings);
    let weights = flat(&model, &exact::network(&settings, target.variance));
    let mut sampler = Sampler::new(model.clone(), weights.clone(), &user::thread()).expect("weights");
    assert_solved("exact network", &target, &mut sampler);

    let mut stream = Address::new(2, Purpose::Sample, 0).stream(0);
    let mut any = Trajectories::new(70, 2, 2);
    any.states_mut().iter_mut().for_each(|x| *x = stream.normal());
    let (mut ends, mut log_density) = (Vec::new(), vec![0.0; any.len()]);
    any.copy_ends(&mut ends);
    target.log_density(&ends, &mut log_density).expect("a density");
    let mut differentiator = Differentiator::new(model, &user::thread());
    for generation in [OffPolicy::TrajectoryBalance, OffPolicy::VarGrad] {
        let batch = Batch { trajectories: &any, log_density: &log_density, importance: None };
        let (generation, residual_bound) = (Some(generation), f64::INFINITY);
        let objectives = Objectives { generation, destruction: None, log_z: target.log_z, residual_bound };
        let weights = Weights { live: &weights, lagging: None };
        let loss = differentiator.off_policy(weights, batch, objectives).generation.expect("a loss");
        assert!((0.0..1e-10).contains(&loss), "{generation:?}: {loss:e}");
    }
}

#[test]
fn training_approaches_log_z() {
    for (dim, variance) in [(1, 0.3), (2, 2.5)] {
        let target: Arc<dyn Target> = Arc::new(Gaussian { dim, variance, log_z: 1.5 });
        let mut config = Config::new(Method::TbVariance, 2);
        (config.batch, config.network.width) = (64, 24);
        config.optimisation.generation_rate = 5e-3;
        config.optimisation.decay = 0.995;
        config.exploration.anneal = 200;
        config.local_search = Some(LocalSearch {
            every: 100,
            steps: 40,
            burn_in: 20,
            capacity: 2000,
            ..LocalSearch::default()
        });
        let valid = config.validate(Arc::clone(&target)).expect("valid");
        let mut trainer = Trainer::new(valid, &user::thread());
        let untrained = bounds(&*target, &mut trainer.sampler(), 2048);
        for _ in 0..600 {
            trainer.step().expect("an iteration");
        }
        let trained = bounds(&*target, &mut trainer.sampler(), 2048);
        assert_extremes_are_named(&*target, &mut trainer.sampler());
        let gap = |bounds: Bounds| (1.5 - bounds.elbo.value).max(bounds.eubo.expect("draws").value - 1.5);
        assert!(gap(untrained) > 0.1, "{untrained:?}");
        assert!(gap(trained) < 0.02, "{trained:?}");
        assert!(trained.importance.effective > 0.9, "{trained:?}");
        assert!((trainer.state().learner().log_z() - 1.5).abs() < 0.1, "the learned log Z");
    }
}

/// A shifted Gaussian, not normalised: −E(x) = 0.7 − (x − 0.4)² / (2 · 0.8).
fn shifted(x: f64) -> f64 {
    0.7 - (x - 0.4).powi(2) / 1.6
}

/// KL(p→ ‖ p_target p←) over (x_1, x_2), by the trapezoid rule on a grid of states.
fn divergence(settings: &Settings, parameters: &Parameters, log_z: f64) -> f64 {
    let (count, spacing) = (240, 0.1);
    let at = |k: usize| spacing * (k as f64 - 0.5 * count as f64);
    let mut divergence = 0.0;
    for j in 0..=count {
        for k in 0..=count {
            let states = [at(j), at(k)];
            let forward = log_generation(settings, parameters, &states);
            let backward = log_destruction(settings, parameters, &states);
            let target = shifted(states[1]) - log_z;
            divergence += forward.exp() * spacing * spacing * (forward - target - backward);
        }
    }
    divergence
}

#[test]
fn the_soft_value_is_the_elbo_is_log_z_less_the_divergence() {
    let target = Formula {
        dim: 1,
        answer: |point, gradient| {
            gradient[0] = -(point[0] - 0.4) / 0.8;
            Ok(shifted(f64::from(point[0])) as f32)
        },
    };
    let log_z = 0.7 + 0.5 * (TAU * 0.8).ln();
    let bounded = reference::Destruction::Learned(reference::DestructionVariance::Bounded);
    for destruction in [reference::Destruction::Fixed, bounded] {
        let settings = settings(1, 4, 2, destruction);
        let parameters = random_parameters(&settings, 0.6, &mut Draw::new(11));
        let model = model(&settings);
        let weights = flat(&model, &parameters);
        let mut sampler = Sampler::new(model, weights, &user::thread()).expect("weights");

        let count = 20_000;
        let elbo = bounds(&target, &mut sampler, count).elbo;
        let trajectories = sampler.generate(count, Address::new(0, Purpose::EvaluateGenerate, 0));
        let (mut ends, mut rewards) = (Vec::new(), vec![0.0; count]);
        trajectories.copy_ends(&mut ends);
        target.log_density(&ends, &mut rewards).expect("a density");
        let logs = sampler.log_probs(&trajectories);
        let returns: Vec<f64> =
            (0..count).map(|i| logs.destruction[i] - logs.generation[i] + rewards[i]).collect();
        let value = Estimate::mean(&returns);
        assert!((value.value - elbo.value).abs() < 1e-9, "V {value:?} is the ELBO {elbo:?}");

        let divergence = divergence(&settings, &parameters, log_z);
        assert!(divergence > 0.01, "a case far from solved");
        let error = (log_z - elbo.value - divergence).abs();
        assert!(error < 4.0 * elbo.standard_error + 1e-5, "{elbo:?}, log Z {log_z}, divergence {divergence}");
    }
}

#[test]
fn corrections_that_say_nothing_change_nothing() {
    // With zero heads the learned destruction is the fixed one.
    let target = Gaussian { dim: 2, variance: 0.6, log_z: 0.0 };
    let [fixed, learned] = [Corrections::Fixed, LEARNED].map(|destruction| {
        let method = if destruction == LEARNED { Method::TbTb } else { Method::TbVariance };
        let mut config = Config::new(method, 4);
        config.destruction = destruction;
        let valid = config.validate(Arc::new(target)).expect("valid");
        let weights = valid.model().layout.initialise(0);
        let mut sampler = Sampler::new(valid.model().clone(), weights, &user::thread()).expect("weights");
        bounds(&target, &mut sampler, 256)
    });
    let close = |a: Estimate, b: Estimate| (a.value - b.value).abs() < 1e-5;
    assert!(close(fixed.elbo, learned.elbo), "{fixed:?} {learned:?}");
    assert!(close(fixed.eubo.expect("draws"), learned.eubo.expect("draws")), "{fixed:?} {learned:?}");
}

#[test]
fn multipliers_are_the_variances_and_means_of_the_kernels() {
    let learned = reference::Destruction::Learned(reference::DestructionVariance::Bounded);
    for form in [reference::Destruction::Fixed, learned] {
        let settings = Settings { times: vec![0.0, 0.2, 0.5, 1.0], ..settings(2, 8, 1, form) };
        let parameters = random_parameters(&settings, 0.6, &mut Draw::new(5));
        let model = model(&settings);
        let weights = flat(&model, &parameters);
        let mut sampler = Sampler::new(model, weights, &user::thread()).expect("weights");
        // More than a tile.
        let trajectories = sampler.generate(150, Address::new(0, Purpose::Sample, 0));
        let all = sampler.multipliers(&trajectories);
        let mut least = [f64::INFINITY; 3];
        for path in 0..trajectories.len() {
            let states: Vec<f64> = trajectories.path(path).iter().map(|&x| f64::from(x)).collect();
            for i in 0..3 {
                let (from, to) = (state(&settings, &states, i), state(&settings, &states, i + 1));
                let base = settings.sigma_squared * settings.delta(i);
                let up = generation(&settings, &parameters, i, &from);
                let down = (i > 0).then(|| destruction(&settings, &parameters, i, &to));
                for k in 0..2 {
                    let place = (path * 3 + i) * 2 + k;
                    let [gamma, alpha, beta] =
                        [&all.gamma, &all.alpha, &all.beta].map(|values| f64::from(values[place]));
                    let rho = settings.rho(i);
                    let (mean, variance) =
                        down.as_ref().map_or((0.0, base), |down| (down.mean[k], down.variance[k] / rho));
                    assert!((gamma - up.variance[k] / base).abs() < 1e-4 * gamma, "γ of step {i} of {path}");
                    assert!(
                        (alpha * rho * to[k] - mean).abs() < 1e-4 * (1.0 + mean.abs()),
                        "α of step {i} of {path}"
                    );
                    assert!((beta - variance / base).abs() < 1e-4, "β of step {i} of {path}");
                    for (least, value) in least.iter_mut().zip([gamma, alpha, beta]) {
                        *least = least.min(value);
                    }
                }
            }
        }
        // They say something, where they may.
        assert!(least[0] < 0.9, "{least:?}");
        assert_eq!(least[1..].iter().all(|&least| least < 0.9), form == learned, "{least:?}");
    }
}
