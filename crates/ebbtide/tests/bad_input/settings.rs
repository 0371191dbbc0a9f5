//! Settings that are out of range, contradict each other, or ask for what a target lacks.

use std::sync::Arc;

use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate};
use ebbtide::objective::{DestructionObjective, GenerationObjective, Method};
use ebbtide::process::{Corrections, GenerationVariance, Grid, GridError, Multiplier};
use ebbtide::train::{Arrangement, Config, ConfigError, ExplorationForm, LocalSearch, Schedule};

use crate::densities::trainer;
use crate::user::BlackBox;
use crate::{config, gaussian};

/// How a configuration is spoilt.
type Change = fn(&mut Config);

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
    (|c| c.averaging = Some(0.0), "averaging", "0"),
    (|c| c.network.scale = 0.0, "network.scale", "0"),
    (|c| c.network.scale = f32::INFINITY, "network.scale", "inf"),
    (|c| c.averaging = Some(1.5), "averaging", "1.5"),
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

pub fn bounded(bound: f32) -> Corrections {
    Corrections::Learned { bound, multiplier: Multiplier::Bounded }
}

fn exponential(bound: f32) -> Corrections {
    Corrections::Learned { bound: 0.9, multiplier: Multiplier::Exponential { bound } }
}

pub fn rate(scale: f64) -> ExplorationForm {
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
