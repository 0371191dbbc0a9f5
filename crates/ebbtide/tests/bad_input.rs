//! Whatever a user can get wrong has an error of its own that names it; nothing panics.

mod user;

use std::sync::Arc;

use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate};
use ebbtide::network::Backbone;
use ebbtide::objective::{DestructionObjective, GenerationObjective, Method};
use ebbtide::process::{Corrections, GenerationVariance, Grid, GridError, Multiplier};
use ebbtide::target::{NamedTarget, Target, TargetError};
use ebbtide::train::{
    Arrangement, BoundSchedule, Config, ConfigError, Exploration, ExplorationForm, LocalSearch,
    NetworkOptions, ReplayOptions, Schedule, TrainError, Trainer,
};
use proptest::prelude::*;
use user::{BlackBox, Formula, Gaussian, bowl};

/// How a configuration is spoilt.
type Change = fn(&mut Config);

/// All settings in use, and small.
fn config(method: Method) -> Config {
    let mut config = Config::new(method, 3);
    (config.iterations, config.batch) = (10, 20);
    config.network = NetworkOptions { width: 6, depth: 1, backbone: Backbone::Shared };
    config.replay.capacity = 64;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 2, steps: 6, burn_in: 2, capacity: 100, ..*search };
    }
    config
}

fn gaussian(dim: usize) -> Gaussian {
    Gaussian { dim, variance: 1.0, log_z: 0.0 }
}

fn search(config: &mut Config) -> &mut LocalSearch {
    config.local_search.as_mut().expect("local search is on")
}

/// Settings out of range: the change, the setting that must be named, and its value as it must be printed.
const OUT_OF_RANGE: &[(Change, &str, &str)] = &[
    (|c| c.iterations = 0, "iterations", "0"),
    (|c| c.batch = 0, "batch", "0"),
    (|c| c.network.width = 0, "network.width", "0"),
    (|c| c.network.depth = 0, "network.depth", "0"),
    (|c| c.sigma_squared = 0.0, "sigma-squared", "0"),
    (|c| c.sigma_squared = -2.5, "sigma-squared", "-2.5"),
    (|c| c.sigma_squared = f32::NAN, "sigma-squared", "NaN"),
    (|c| c.sigma_squared = f32::INFINITY, "sigma-squared", "inf"),
    (|c| c.drift_bound = f32::NAN, "drift-bound", "NaN"),
    (|c| c.drift_bound = 0.0, "drift-bound", "0"),
    (|c| c.generation_variance = generation(0.0), "generation.variance-bound", "0"),
    (|c| c.generation_variance = generation(-1.0), "generation.variance-bound", "-1"),
    (|c| c.generation_variance = generation(21.0), "generation.variance-bound", "21"),
    (|c| c.generation_variance = generation(f32::NAN), "generation.variance-bound", "NaN"),
    (|c| c.destruction = bounded(1.0), "destruction.bound", "1"),
    (|c| c.destruction = bounded(0.0), "destruction.bound", "0"),
    (|c| c.destruction = bounded(f32::NAN), "destruction.bound", "NaN"),
    (|c| c.destruction = exponential(f32::NAN), "destruction.multiplier-bound", "NaN"),
    (|c| c.destruction = exponential(-3.0), "destruction.multiplier-bound", "-3"),
    (|c| c.destruction = exponential(500.0), "destruction.multiplier-bound", "500"),
    (|c| c.optimisation.generation_rate = -0.25, "optimisation.generation-rate", "-0.25"),
    (|c| c.optimisation.destruction_rate = f64::NAN, "optimisation.destruction-rate", "NaN"),
    (|c| c.optimisation.log_z_rate = f64::INFINITY, "optimisation.log-z-rate", "inf"),
    (|c| c.optimisation.weight_decay = -1.0, "optimisation.weight-decay", "-1"),
    (|c| c.optimisation.clip = 0.0, "optimisation.clip", "0"),
    (|c| c.optimisation.clip = f64::NAN, "optimisation.clip", "NaN"),
    (|c| c.optimisation.decay = 1.5, "optimisation.decay", "1.5"),
    (|c| c.optimisation.decay = 0.0, "optimisation.decay", "0"),
    (|c| c.target_network = Some(0.0), "target-network", "0"),
    (|c| c.target_network = Some(1.5), "target-network", "1.5"),
    (|c| c.target_network = Some(f32::NAN), "target-network", "NaN"),
    (|c| c.replay.capacity = 0, "replay.capacity", "0"),
    (|c| c.replay.capacity = usize::MAX, "replay.capacity", "18446744073709552000"),
    (|c| c.replay.priority_exponent = -1.0, "replay.priority-exponent", "-1"),
    (|c| c.replay.priority_exponent = f64::NAN, "replay.priority-exponent", "NaN"),
    (|c| c.replay.priority_exponent = 20.0, "replay.priority-exponent", "20"),
    (|c| c.replay.correction_exponent = -0.5, "replay.correction-exponent", "-0.5"),
    (|c| c.replay.correction_exponent = 20.0, "replay.correction-exponent", "20"),
    (|c| c.exploration.factor = -0.1, "exploration.factor", "-0.1"),
    (|c| c.exploration.factor = f64::NAN, "exploration.factor", "NaN"),
    (|c| c.exploration.form = rate(-100.0), "exploration.scale", "-100"),
    (|c| c.exploration.form = rate(f64::NAN), "exploration.scale", "NaN"),
    (|c| search(c).every = 0, "local-search.every", "0"),
    (|c| search(c).steps = 0, "local-search.steps", "0"),
    (|c| search(c).capacity = 0, "local-search.capacity", "0"),
    (|c| search(c).step_size = -0.1, "local-search.step-size", "-0.1"),
    (|c| search(c).step_size = f64::NAN, "local-search.step-size", "NaN"),
    (|c| search(c).acceptance = 1.5, "local-search.acceptance", "1.5"),
    (|c| search(c).acceptance = f64::NAN, "local-search.acceptance", "NaN"),
    (|c| search(c).burn_in = 6, "local-search.burn-in", "6"),
];

fn generation(bound: f32) -> GenerationVariance {
    GenerationVariance::Learned { bound }
}

fn bounded(bound: f32) -> Corrections {
    Corrections::Learned { bound, multiplier: Multiplier::Bounded }
}

fn exponential(bound: f32) -> Corrections {
    Corrections::Learned { bound: 0.9, multiplier: Multiplier::Exponential { bound } }
}

fn rate(scale: f64) -> ExplorationForm {
    ExplorationForm::VarianceRate { scale }
}

#[test]
fn settings_out_of_range_are_named_with_their_value() {
    config(Method::TbTb).validate(Arc::new(gaussian(2))).expect("valid before it is changed");
    for (change, named, printed) in OUT_OF_RANGE {
        let mut config = config(Method::TbTb);
        change(&mut config);
        match config.validate(Arc::new(gaussian(2))) {
            Err(error @ ConfigError::Range { setting, .. }) => {
                assert_eq!((setting, error.settings()), (*named, &[*named][..]), "{error}");
                let expected = format!("{named} is {printed}, but must be ");
                assert!(error.to_string().starts_with(&expected), "{error}");
            }
            other => panic!("{named} = {printed}: {other:?}"),
        }
    }
}

#[test]
fn grids_that_are_none_are_refused() {
    let with =
        |grid| Config { grid, ..config(Method::TbTb) }.validate(Arc::new(gaussian(2))).expect_err("no grid");
    for grid in [Grid::Uniform(0), Grid::Harmonic(0), Grid::Given(vec![]), Grid::Given(vec![0.0])] {
        assert_eq!(with(grid), ConfigError::Grid(GridError::Empty));
    }
    let given = |times: &[f64]| with(Grid::Given(times.to_vec()));
    let refused: [(&[f64], GridError); 4] = [
        (&[0.1, 1.0], GridError::Ends { first: 0.1, last: 1.0 }),
        (&[0.0, 0.5, 2.0], GridError::Ends { first: 0.0, last: 2.0 }),
        (&[0.0, 0.7, 0.3, 1.0], GridError::NotIncreasing { index: 2, time: 0.3, before: 0.7 }),
        (&[0.0, 0.5, 0.5, 1.0], GridError::NotIncreasing { index: 2, time: 0.5, before: 0.5 }),
    ];
    for (times, expected) in refused {
        assert_eq!(given(times), ConfigError::Grid(expected));
    }
    assert!(given(&[0.0, 0.7, 0.3, 1.0]).to_string().contains("is 0.3"));
    assert!(matches!(
        given(&[0.0, f64::NAN, 1.0]),
        ConfigError::Grid(GridError::NotIncreasing { index: 1, .. })
    ));
    assert!(matches!(given(&[0.0, f64::NAN]), ConfigError::Grid(GridError::Ends { .. })));
    // Apart, but not in the precision that the kernels compute with.
    let fine = given(&[0.0, 1e-60, 1.0]);
    assert_eq!(fine, ConfigError::Grid(GridError::TooFine { index: 1, time: 1e-60, before: 0.0 }));
    let fine = given(&[0.0, 1.0 - 1e-14, 1.0]);
    assert!(matches!(fine, ConfigError::Grid(GridError::TooFine { index: 2, .. })), "{fine}");
}

/// Settings that contradict each other, those that must be named, and words that the message must have.
const CONTRADICTIONS: &[(Method, Change, &[&str], &str)] = &[
    (
        Method::TbTb,
        |c| c.destruction = Corrections::Fixed,
        &["destruction.process", "destruction.objective"],
        "fixed, so it can have no objective",
    ),
    (
        Method::TbTb,
        |c| c.destruction_objective = None,
        &["destruction.process", "destruction.objective"],
        "learned, so it needs an objective",
    ),
    (
        Method::TbTb,
        |c| c.generation_objective = GenerationObjective::VarGrad,
        &["destruction.objective", "generation.objective"],
        "use VarGrad",
    ),
    (
        Method::PisVarGrad,
        |c| c.destruction_objective = Some(DestructionObjective::TrajectoryBalance),
        &["destruction.objective", "generation.objective"],
        "use VarGrad",
    ),
    (
        Method::TbTlm,
        |c| c.optimisation.arrangement = Arrangement::Single,
        &["optimisation.arrangement", "destruction.objective"],
        "set optimisation.arrangement",
    ),
    (
        Method::PisFixed,
        |c| c.replay.ratio = 1,
        &["generation.objective", "replay.ratio"],
        "set replay.ratio = 0",
    ),
    (
        Method::PisFixed,
        |c| c.exploration.factor = 0.1,
        &["generation.objective", "exploration.factor"],
        "set exploration.factor = 0",
    ),
    (
        Method::PisFixed,
        |c| c.local_search = Some(LocalSearch::default()),
        &["generation.objective", "local-search.every"],
        "set local-search.every = 0",
    ),
    (
        Method::TbTb,
        |c| {
            c.schedule = Schedule::Alternating;
            c.local_search = None;
        },
        &["schedule", "local-search.every"],
        "without local search",
    ),
];

#[test]
fn sizes_that_no_machine_holds_are_refused_before_anything_is_made() {
    let changes: [Change; 9] = [
        |c| c.batch = usize::MAX,
        |c| c.grid = Grid::Uniform(usize::MAX),
        |c| c.grid = Grid::Harmonic(1 << 40),
        |c| c.network.width = 1 << 33,
        |c| c.network.width = usize::MAX,
        |c| c.network.depth = usize::MAX,
        |c| (c.replay.capacity, c.grid) = (u32::MAX as usize, Grid::Uniform(1000)),
        |c| search(c).steps = usize::MAX,
        |c| (search(c).capacity, c.batch, search(c).steps) = (u32::MAX as usize, 1 << 20, 1 << 20),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut config = config(Method::TbTb);
        change(&mut config);
        let error = config.validate(Arc::new(gaussian(2))).expect_err("too large");
        assert_eq!(error, ConfigError::TooLarge, "change {index}");
        assert!(error.settings().contains(&"batch") && error.settings().contains(&"steps"));
    }
}

#[test]
fn contradictions_are_explained() {
    for (method, change, named, words) in CONTRADICTIONS {
        let mut config = config(*method);
        change(&mut config);
        match config.validate(Arc::new(gaussian(2))) {
            Err(error @ ConfigError::Contradiction { settings, reason }) => {
                assert_eq!((settings, error.settings()), (*named, *named));
                assert!(reason.contains(words) && error.to_string() == reason, "{reason}");
            }
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[test]
fn what_a_target_lacks_is_said_before_anything_starts() {
    let black_box = BlackBox(gaussian(2));
    for (method, named, asks) in [
        (Method::PisTlm, "generation.objective", "reverse KL"),
        (Method::TbTb, "local-search.every", "local search"),
    ] {
        match config(method).validate(Arc::new(black_box)) {
            Err(error @ ConfigError::NoGradient { what, advice, .. }) => {
                assert_eq!((what, error.settings()), (asks, &[named][..]));
                assert!(error.to_string().contains(asks) && error.to_string().contains(advice), "{error}");
            }
            other => panic!("{asks}: {other:?}"),
        }
    }
    let config = Config { local_search: None, ..config(Method::TbTb) };
    config.validate(Arc::new(black_box)).expect("trajectory balance asks for values alone");
    assert_eq!(config.validate(Arc::new(gaussian(0))).err(), Some(ConfigError::NoDimension));
    let trainer = trainer(&config, Arc::new(black_box));
    let options = EvaluationOptions { samples: 0, ..EvaluationOptions::default() };
    let result = evaluate(&gaussian(2), &mut trainer.sampler(), options);
    assert!(matches!(result, Err(EvaluationError::NoSamples)));
}

#[test]
fn all_problems_are_told_at_once() {
    let mut config = config(Method::PisFixed);
    (config.batch, config.sigma_squared, config.grid) = (0, -1.0, Grid::Given(vec![0.0, 2.0]));
    (config.replay.ratio, config.replay.capacity) = (1, usize::MAX);
    config.local_search = Some(LocalSearch { step_size: 0.0, ..LocalSearch::default() });
    let black_box = BlackBox(gaussian(2));
    let problems = config.check(&black_box);
    let named: Vec<&[&str]> = problems.iter().map(ConfigError::settings).collect();
    let expected: [&[&str]; 8] = [
        &["batch"],
        &["sigma-squared"],
        &["replay.capacity"],
        &["local-search.step-size"],
        &["generation.objective", "replay.ratio"],
        &["generation.objective", "local-search.every"],
        ConfigError::TooLarge.settings(),
        &["grid"],
    ];
    assert_eq!(named[..8], expected, "{problems:?}");
    assert_eq!(named[8..], [["generation.objective"], ["local-search.every"]], "{problems:?}");
    assert_eq!(config.validate(Arc::new(black_box)).err().as_ref(), problems.first());
    assert_eq!(self::config(Method::TbTb).check(&gaussian(2)), []);
    assert_eq!(self::config(Method::TbTb).check(&gaussian(0)), [ConfigError::NoDimension]);
    let empty = Config { grid: Grid::Uniform(0), ..self::config(Method::TbTb) }.check(&gaussian(2));
    assert_eq!(empty.iter().map(ConfigError::settings).collect::<Vec<_>>(), [["steps"]]);
}

fn trainer(config: &Config, target: Arc<dyn Target>) -> Trainer {
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
const NOWHERE: [user::Answer; 3] = [
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

#[test]
fn unknown_names_are_answered_with_all_names_and_the_nearest() {
    for (given, nearest) in [("tb_tlmm", "tb-tlm"), ("pisvargrad", "pis-vargrad"), ("", "tb-tb")] {
        let text = given.parse::<Method>().expect_err("no method").to_string();
        assert!(
            text.contains(&format!("`{given}`")) && text.contains(&format!("mean `{nearest}`")),
            "{text}"
        );
        assert!(Method::ALL.iter().all(|method| text.contains(method.name())), "{text}");
    }
    let pairs = [
        ("40gm", NamedTarget::Gmm40),
        ("manywel", NamedTarget::Manywell),
        ("hard funel", NamedTarget::HardFunnel),
    ];
    for (given, nearest) in pairs {
        let error = given.parse::<NamedTarget>().expect_err("no target");
        let text = error.to_string();
        assert_eq!(error.nearest, Some(nearest), "{text}");
        assert!(text.contains(&format!("{given:?}")) && text.contains(&format!("mean {nearest}?")), "{text}");
        assert!(NamedTarget::ALL.iter().all(|target| text.contains(target.name())), "{text}");
    }
    let text = "☃".parse::<NamedTarget>().expect_err("no target").to_string();
    assert!(text.contains('☃') && text.contains("manywell") && !text.contains("did you mean"), "{text}");
}

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
    let search = (count(), 4_usize..9, 0_usize..5, number(), 0.0_f64..1.0, count());
    prop::option::of(search.prop_map(|(every, steps, burn_in, step_size, acceptance, capacity)| {
        LocalSearch { every, steps, burn_in, step_size, acceptance, capacity }
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
        target_network in prop::option::of(prop_oneof![60 => 0.01_f32..1.0, 1 => single()]),
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
        config.network = NetworkOptions { width, depth, backbone };
        config.destruction_bound = if rising { BoundSchedule::Rising } else { BoundSchedule::Constant };
        let optimisation = &mut config.optimisation;
        optimisation.arrangement = if one { Arrangement::Single } else { Arrangement::Separate };
        (optimisation.generation_rate, optimisation.destruction_rate) = (generation_rate, destruction_rate);
        (optimisation.log_z_rate, optimisation.weight_decay) = (log_z_rate, weight_decay);
        (optimisation.clip, optimisation.decay) = (clip, decay);
        config.target_network = target_network;
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
