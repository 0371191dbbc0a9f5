//! Densities that fail, answer nonsense or lead astray.

use std::sync::Arc;

use ebbtide::objective::Method;
use ebbtide::target::{Target, TargetError};
use ebbtide::train::{Config, TrainError, Trainer};

use crate::config;
use crate::user::{self, Formula, bowl};

pub fn trainer(config: &Config, target: Arc<dyn Target>) -> Trainer {
    Trainer::new(config.validate(target).expect("valid"), &user::thread())
}

/// Trains until something fails.
fn fails(config: &Config, answer: user::Answer) -> TrainError {
    let mut trainer = trainer(config, Arc::new(Formula { dim: 2, answer }));
    let error = (0..200).find_map(|_| trainer.step().err());
    error.unwrap_or_else(|| panic!("200 iterations without an error"))
}

/// Trains as many iterations as configured; everything stays finite.
fn goes_on(config: &Config, answer: user::Answer) -> Trainer {
    let mut trainer = trainer(config, Arc::new(Formula { dim: 2, answer }));
    for _ in 0..config.iterations {
        let what = (config.generation_objective, config.destruction_objective);
        let report = trainer.step().unwrap_or_else(|error| panic!("{what:?}: {error}"));
        assert!(report.generation_loss.is_some_and(f64::is_finite) && report.log_z.is_finite(), "{report:?}");
    }
    assert!(trainer.state().learner().parameters().iter().all(|weight| weight.is_finite()));
    trainer
}

#[test]
fn an_impossible_density_is_named_with_its_point() {
    let answers: [(user::Answer, &str); 2] = [
        (|x, g| Ok(if x[0] > 0.7 { f32::NAN } else { bowl(x, g) }), "NaN"),
        (|x, g| Ok(if x[0] > 0.7 { f32::INFINITY } else { bowl(x, g) }), "inf"),
    ];
    for method in Method::ALL {
        for (answer, printed) in answers {
            let error = fails(&config(method), answer);
            let text = error.to_string();
            let TrainError::Target { iteration, source: TargetError::Impossible { value, point, .. } } =
                error
            else {
                panic!("{method}: {text}")
            };
            assert!(value.is_nan() || value == f64::INFINITY);
            assert!(point.len() == 2 && point[0] > 0.7, "{text}");
            assert!(text.contains(&format!("iteration {iteration}")), "{text}");
            assert!(
                text.contains(&format!("is {printed}")) && text.contains(&format!("{point:?}")),
                "{text}"
            );
        }
    }
}

#[test]
fn a_gradient_that_is_none_is_named_with_its_point() {
    let answer: user::Answer = |x, g| {
        let value = bowl(x, g);
        g[1] = if x[0] > 0.7 { f32::NAN } else { g[1] };
        Ok(value)
    };
    let error = fails(&config(Method::PisVariance), answer);
    let text = error.to_string();
    match error {
        TrainError::Target {
            iteration: 1,
            source: TargetError::Gradient { value, coordinate: 1, point },
        } => {
            assert!(value.is_nan() && point[0] > 0.7);
            assert!(text.contains("NaN in coordinate 1") && text.contains(&format!("{point:?}")), "{text}");
        }
        _ => panic!("{text}"),
    }
    // Local search refuses such proposals and goes on.
    goes_on(&config(Method::TbTb), answer);
}

#[test]
fn a_failing_density_has_its_own_words() {
    let answer: user::Answer = |_, _| Err(TargetError::failed("the licence server is asleep"));
    for method in [Method::TbTb, Method::PisVarGrad] {
        let error = fails(&config(method), answer);
        assert!(
            matches!(error, TrainError::Target { iteration: 1, source: TargetError::Failed(_) }),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("iteration 1") && text.contains("the licence server is asleep"), "{text}");
    }
}

/// Densities of zero, or as good as zero, in half of the space.
pub const NOWHERE: [user::Answer; 3] = [
    |x, g| Ok(if x[0] < 0.0 { f32::NEG_INFINITY } else { bowl(x, g) }),
    |x, g| Ok(if x[0] < 0.0 { -1e30 } else { bowl(x, g) }),
    |x, g| Ok(if x[0] < 0.0 { f32::MIN } else { bowl(x, g) }),
];

#[test]
fn a_density_of_zero_is_allowed() {
    for method in Method::ALL {
        for answer in NOWHERE {
            let trainer = goes_on(&config(method), answer);
            let target = Arc::clone(trainer.target());
            // What was trained can be taken up again.
            let valid = trainer.config().validate(target).expect("valid");
            let restored = Trainer::restore(valid, &user::thread(), trainer.state().clone());
            restored.unwrap_or_else(|error| panic!("{method}: {error}")).step().expect("an iteration");
        }
    }
}

#[test]
fn a_density_of_zero_everywhere_is_allowed() {
    for method in Method::ALL {
        goes_on(&config(method), |_, gradient| {
            gradient.fill(0.0);
            Ok(f32::NEG_INFINITY)
        });
    }
}

#[test]
fn absurd_learning_rates_diverge_with_a_name_or_not_at_all() {
    // Not normalisable: grows without end.
    let answer: user::Answer = |x, g| {
        g.copy_from_slice(x);
        Ok((0.5 * x.iter().map(|x| x * x).sum::<f32>()).min(1e30))
    };
    for method in Method::ALL {
        for rate in [1e3, 1e6, 1e30] {
            let mut config = config(method);
            config.optimisation.generation_rate = rate;
            config.optimisation.destruction_rate = rate;
            config.optimisation.log_z_rate = rate;
            let mut trainer = trainer(&config, Arc::new(Formula { dim: 2, answer }));
            match (0..30).find_map(|_| trainer.step().err()) {
                None => assert!(trainer.state().learner().parameters().iter().all(|w| w.is_finite())),
                Some(error) => {
                    let text = error.to_string();
                    let TrainError::Diverged { iteration, what, value, point } = error else {
                        panic!("{method} at {rate:e}: {text}")
                    };
                    assert!(!value.is_finite() && point.len() == 2, "{text}");
                    for part in [format!("iteration {iteration}"), what.into(), format!("{point:?}")] {
                        assert!(text.contains(&part), "{text} lacks {part}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_gradient_beyond_all_bounds_names_the_trajectory_to_blame() {
    // Such densities have finite losses, but their gradients do not fit into single precision.
    let answer: user::Answer = |x, g| Ok(if x[0] > 0.7 { 3e38 } else { bowl(x, g) });
    for method in [Method::TbVariance, Method::TbTb] {
        match fails(&config(method), answer) {
            TrainError::Diverged { what, value, point, .. } => {
                assert!(what.contains("gradient") && !value.is_finite(), "the {what} is {value}");
                assert!(point[0] > 0.7, "{point:?}");
            }
            other => panic!("{other}"),
        }
    }
}
