//! The ends of every range: one step, one trajectory, one entry, states and densities beyond all measure, points that coincide, weights that vanish.
//! Each has a result that is defined, or an error that names it.

mod user;

use std::f64::consts::SQRT_2;
use std::sync::Arc;

use ebbtide::metric::{Bounds, EvaluationOptions, evaluate, wasserstein2};
use ebbtide::objective::Method;
use ebbtide::process::Corrections;
use ebbtide::process::{GenerationVariance, Multiplier};
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::Target;
use ebbtide::train::{Config, LocalSearch, NetworkOptions, TrainError, Trainer};
use ebbtide::trajectory::Multipliers;
use user::{Formula, Gaussian};

/// A training that uses everything, of so many steps.
fn config(method: Method, steps: usize) -> Config {
    let mut config = Config::new(method, steps);
    (config.iterations, config.batch) = (12, 8);
    config.network = NetworkOptions { width: 6, depth: 1, ..config.network };
    config.replay.capacity = 16;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 2, steps: 6, burn_in: 2, capacity: 20, ..*search };
    }
    config
}

/// Trains to the end. What comes of it is finite.
fn trained(config: &Config, target: Arc<dyn Target>) -> Trainer {
    let valid = config.validate(target).unwrap_or_else(|error| panic!("{error}"));
    let mut trainer = Trainer::new(valid, &user::thread());
    for _ in 0..config.iterations {
        let report = trainer.step().unwrap_or_else(|error| panic!("{error}"));
        assert!(report.generation_loss.is_some_and(f64::is_finite), "{report:?}");
    }
    assert!(trainer.state().learner().parameters().iter().all(|weight| weight.is_finite()));
    trainer
}

fn gaussian(dim: usize, variance: f64) -> Arc<dyn Target> {
    Arc::new(Gaussian { dim, variance, log_z: 0.0 })
}

fn bounds(trainer: &Trainer, samples: usize) -> Bounds {
    let options = EvaluationOptions { samples, seed: 0, iteration: 0, transport: true };
    evaluate(&**trainer.target(), &mut trainer.sampler(), options).expect("figures").bounds
}

#[test]
fn one_step_of_one_coordinate_with_one_feature() {
    for method in Method::ALL {
        let mut config = config(method, 1);
        config.network.width = 1;
        let bounds = bounds(&trained(&config, gaussian(1, 1.0)), 16);
        assert!(bounds.elbo.value.is_finite() && bounds.importance.effective > 0.0, "{method}: {bounds:?}");
    }
}

#[test]
fn a_thousand_steps() {
    for method in Method::ALL {
        let bounds = bounds(&trained(&config(method, 1000), gaussian(2, 1.0)), 16);
        assert!(bounds.elbo.value.is_finite(), "{method}: {bounds:?}");
    }
}

#[test]
fn one_trajectory_and_buffers_of_one_entry() {
    for method in Method::ALL {
        let mut config = config(method, 3);
        (config.batch, config.replay.capacity) = (1, 1);
        if let Some(search) = &mut config.local_search {
            search.capacity = 1;
        }
        match config.validate(gaussian(2, 1.0)) {
            Ok(_) => {
                let bounds = bounds(&trained(&config, gaussian(2, 1.0)), 1);
                assert!(bounds.elbo.value.is_finite(), "{method}: {bounds:?}");
                assert_eq!(bounds.importance.effective, 1.0, "one weight is all there is");
            }
            // A variance needs two.
            Err(error) => {
                assert_eq!(method, Method::PisVarGrad, "{error}");
                assert!(error.to_string().contains("batch"), "{error}");
            }
        }
    }
}

#[test]
fn states_of_a_million() {
    for method in Method::ALL {
        let mut config = config(method, 3);
        config.sigma_squared = 1e12;
        config.network.scale = 1e6;
        let bounds = bounds(&trained(&config, gaussian(2, 1e12)), 16);
        assert!(bounds.elbo.value.is_finite(), "{method}: {bounds:?}");
    }
}

#[test]
fn densities_that_are_next_to_nothing() {
    for method in Method::ALL {
        let config = config(method, 3);
        let nothing = Formula {
            dim: 2,
            answer: |_, gradient| {
                gradient.fill(0.0);
                Ok(-1e30)
            },
        };
        let mut trainer = Trainer::new(config.validate(Arc::new(nothing)).expect("valid"), &user::thread());
        for _ in 0..config.iterations {
            match trainer.step() {
                Ok(report) => {
                    assert!(report.generation_loss.is_some_and(f64::is_finite), "{method}: {report:?}")
                }
                Err(TrainError::Diverged { what, .. }) => {
                    assert!(!what.to_string().is_empty());
                    break;
                }
                Err(error) => panic!("{method}: {error}"),
            }
        }
        let bounds = bounds(&trainer, 8);
        assert!(bounds.elbo.value < -9e29 && bounds.importance.log_z.value < -9e29, "{method}: {bounds:?}");
    }
}

#[test]
fn variances_at_their_bounds() {
    // Inputs that are a billion times what the network expects drive every output to its end.
    for method in Method::ALL {
        let mut config = config(method, 3);
        config.network.scale = 1e-9;
        config.generation_variance = match config.generation_variance {
            GenerationVariance::Learned { .. } => GenerationVariance::Learned { bound: 8.0 },
            fixed => fixed,
        };
        if let Corrections::Learned { .. } = config.destruction {
            config.destruction = Corrections::Learned { bound: 0.99, multiplier: Multiplier::Bounded };
        }
        let trainer = trained(&config, gaussian(2, 1.0));
        let bounds = bounds(&trainer, 16);
        assert!(bounds.elbo.value.is_finite(), "{method}: {bounds:?}");
        let mut sampler = trainer.sampler();
        let paths = sampler.generate(16, Address::new(0, Purpose::EvaluateGenerate, 0));
        let Multipliers { gamma, beta, .. } = sampler.multipliers(&paths);
        let farthest =
            |values: Vec<f32>, distance: fn(f32) -> f32| values.into_iter().map(distance).fold(0.0, f32::max);
        let (gamma, beta) = (farthest(gamma, |it| it.ln().abs()), farthest(beta, |it| (it - 1.0).abs()));
        let learns = matches!(config.generation_variance, GenerationVariance::Learned { .. });
        assert!(
            (gamma - if learns { 8.0 } else { 0.0 }).abs() < 1e-4,
            "{method}: γ goes as far as e^±{gamma}"
        );
        let learns = matches!(config.destruction, Corrections::Learned { .. });
        assert!(
            (beta - if learns { 0.99 } else { 0.0 }).abs() < 1e-4,
            "{method}: β goes as far as 1 ± {beta}"
        );
    }
}

#[test]
fn points_that_coincide() {
    let same = [1.5_f32, -2.0].repeat(64);
    assert_eq!(wasserstein2(&same, &same, 2).expect("a distance"), 0.0);
    let moved: Vec<f32> = same.iter().map(|x| x + 1.0).collect();
    assert!((wasserstein2(&same, &moved, 2).expect("a distance") - SQRT_2).abs() < 1e-6);
    // Half of them here and half there, in another order: nothing has to move.
    let halves = [[0.0_f32, 0.0].repeat(32), [3.0, 4.0].repeat(32)].concat();
    let turned = [[3.0_f32, 4.0].repeat(32), [0.0, 0.0].repeat(32)].concat();
    assert_eq!(wasserstein2(&halves, &turned, 2).expect("a distance"), 0.0);
    // All of them to where one half is: the other half has five to go.
    let one = [0.0_f32, 0.0].repeat(64);
    assert!((wasserstein2(&halves, &one, 2).expect("a distance") - 12.5_f64.sqrt()).abs() < 1e-6);
    assert_eq!(wasserstein2(&[7.0], &[7.0], 1).expect("a distance"), 0.0);
}

#[test]
fn weights_that_all_vanish() {
    let bounds = Bounds::new(&[f64::NEG_INFINITY; 9], None);
    assert_eq!(bounds.elbo.value, f64::NEG_INFINITY);
    assert_eq!((bounds.importance.log_z.value, bounds.importance.effective), (f64::NEG_INFINITY, 0.0));
    assert_eq!(bounds.importance.tail, None);
    let one = Bounds::new(&[f64::NEG_INFINITY, 2.0, f64::NEG_INFINITY], None);
    assert!((one.importance.log_z.value - (2.0 - 3.0_f64.ln())).abs() < 1e-12);
    assert!((one.importance.effective - 1.0 / 3.0).abs() < 1e-12);
}
