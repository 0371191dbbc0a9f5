//! One suite for every target, every kernel and every objective: whatever is added to a list below is tested.

mod user;

use std::sync::Arc;

use ebbtide::metric::{Bounds, Estimate, Evaluation, EvaluationOptions, evaluate};
use ebbtide::network::Backbone;
use ebbtide::objective::{DestructionObjective, GenerationObjective, Method};
use ebbtide::process::{Corrections, GenerationVariance, Grid, Multiplier};
use ebbtide::target::{Mixture, NamedTarget, Target};
use ebbtide::train::{Arrangement, BoundSchedule, Config, LocalSearch, NetworkOptions, Schedule, Trainer};
use user::{BlackBox, Gaussian};

/// Iterations of a training that is held to have gained something.
const ITERATIONS: u64 = 200;

/// Iterations of one that is held to make sense, and by reverse KL to lose nothing, with one local search in them: there are
/// over two hundred of these.
const FEW_ITERATIONS: u64 = 80;

/// How much faster than usual a short training learns.
const HASTE: f64 = 5.0;

/// How a target is made, and how a configuration is changed.
type Build = fn() -> Box<dyn Target>;
type Change = fn(&mut Config);

/// Targets without a name, each easy enough for any objective to learn in [`ITERATIONS`]. Those with one are in [`NamedTarget::ALL`].
const USER_TARGETS: &[(&str, Build)] = &[
    ("one coordinate", || Box::new(Gaussian { dim: 1, variance: 0.4, log_z: -3.0 })),
    ("wide, unnormalised", || Box::new(Gaussian { dim: 3, variance: 2.5, log_z: 20.0 })),
    ("values alone", || Box::new(BlackBox(Gaussian { dim: 2, variance: 0.5, log_z: 1.5 }))),
    ("two modes", || Box::new(two_modes())),
];

/// What a sampler is made of, but for its size.
struct Kernel {
    generation: GenerationVariance,
    destruction: Corrections,
    bound: BoundSchedule,
    backbone: Backbone,
}

const BOUNDED: Corrections = Corrections::Learned { bound: 0.9, multiplier: Multiplier::Bounded };
const EXPONENTIAL: Corrections =
    Corrections::Learned { bound: 0.5, multiplier: Multiplier::Exponential { bound: 1.0 } };

const GENERATION_VARIANCES: &[GenerationVariance] =
    &[GenerationVariance::Fixed, GenerationVariance::Learned { bound: 4.0 }];
const DESTRUCTIONS: &[(Corrections, BoundSchedule)] = &[
    (Corrections::Fixed, BoundSchedule::Constant),
    (BOUNDED, BoundSchedule::Constant),
    (BOUNDED, BoundSchedule::Rising),
    (EXPONENTIAL, BoundSchedule::Constant),
    (EXPONENTIAL, BoundSchedule::Rising),
];
const BACKBONES: &[Backbone] = &[Backbone::Shared, Backbone::Separate];

/// How the two processes learn. A destruction process without objective is fixed.
type Objective = (GenerationObjective, Option<DestructionObjective>);

const OBJECTIVES: &[Objective] = &[
    (GenerationObjective::TrajectoryBalance, None),
    (GenerationObjective::TrajectoryBalance, Some(DestructionObjective::TrajectoryBalance)),
    (GenerationObjective::TrajectoryBalance, Some(DestructionObjective::VarGrad)),
    (GenerationObjective::TrajectoryBalance, Some(DestructionObjective::TrajectoryLikelihood)),
    (GenerationObjective::VarGrad, None),
    (GenerationObjective::VarGrad, Some(DestructionObjective::VarGrad)),
    (GenerationObjective::VarGrad, Some(DestructionObjective::TrajectoryLikelihood)),
    (GenerationObjective::ReverseKl, None),
    (GenerationObjective::ReverseKl, Some(DestructionObjective::VarGrad)),
    (GenerationObjective::ReverseKl, Some(DestructionObjective::TrajectoryLikelihood)),
];

/// The paper's ablation on 40GMM: what each row changes of TBθ,φ with the settings found best.
const ABLATION: &[(&str, Change)] = &[
    ("optimal: shared backbone, separate optimisers, lrφ = lrθ, replay 2, target network", |_| {}),
    ("fixed generation variance", |config| {
        config.generation_variance = GenerationVariance::Fixed;
        fix_destruction(config);
    }),
    ("learned generation variance", fix_destruction),
    ("separate backbones", |config| config.network.backbone = Backbone::Separate),
    ("single optimiser", |config| config.optimisation.arrangement = Arrangement::Single),
    ("lrφ = 0.10 lrθ", |config| {
        config.optimisation.destruction_rate = 0.1 * config.optimisation.generation_rate;
    }),
    ("lrφ = 0.01 lrθ", |config| {
        config.optimisation.destruction_rate = 0.01 * config.optimisation.generation_rate;
    }),
    ("replay ratio 0", |config| config.replay.ratio = 0),
    ("replay ratio 1", |config| config.replay.ratio = 1),
    ("replay ratio 4", |config| config.replay.ratio = 4),
    ("replay ratio 8", |config| config.replay.ratio = 8),
    ("no target network", |config| config.target_network = None),
];

fn fix_destruction(config: &mut Config) {
    config.destruction = Corrections::Fixed;
    config.destruction_objective = None;
}

fn two_modes() -> Mixture {
    Mixture::isotropic(2, &[-1.5, 0.0, 1.5, 0.5], 0.3).expect("a mixture")
}

/// Small enough for a suite of hundreds of trainings.
fn shrink(config: &mut Config, iterations: u64) {
    config.iterations = iterations;
    config.batch = 48;
    config.network = NetworkOptions { width: 16, depth: 2, ..config.network };
    config.optimisation.generation_rate *= HASTE;
    config.optimisation.destruction_rate *= HASTE;
    config.replay.capacity = 500;
    config.exploration.anneal = iterations as usize / 2;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 50, steps: 20, burn_in: 10, capacity: 2000, ..*search };
    }
}

/// Puts an objective into a configuration made for a method of the same kind.
fn set_objective(config: &mut Config, (generation, destruction): Objective) {
    config.generation_objective = generation;
    config.destruction_objective = destruction;
    config.destruction = if destruction.is_some() { BOUNDED } else { Corrections::Fixed };
}

/// The method whose settings suit a generation objective.
fn usual(generation: GenerationObjective) -> Method {
    if generation == GenerationObjective::ReverseKl { Method::PisVariance } else { Method::TbVariance }
}

fn evaluation(target: &dyn Target, trainer: &Trainer, samples: usize) -> Evaluation {
    let mut sampler = trainer.sampler();
    let options = EvaluationOptions { samples, seed: 5, iteration: 0, transport: false };
    evaluate(target, &mut sampler, options).expect("an evaluation")
}

/// Trains, holding every report to be finite.
fn train(what: &str, config: &Config, target: &Arc<dyn Target>, iterations: u64) -> Trainer {
    let valid = config.validate(Arc::clone(target)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut trainer = Trainer::new(valid, &user::thread());
    for iteration in 1..=iterations {
        let report = trainer.step().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(report.iteration, iteration, "{what}");
        let numbers = [
            report.generation_loss.unwrap_or(0.0),
            report.destruction_loss.unwrap_or(0.0),
            report.generation_norm,
            report.log_z,
        ];
        assert!(numbers.iter().all(|number| number.is_finite()), "{what}: {report:?}");
        assert!(report.acceptance.is_none_or(|rate| (0.0..=1.0).contains(&rate)), "{what}: {report:?}");
    }
    let learner = trainer.state().learner();
    assert!(learner.parameters().iter().all(|weight| weight.is_finite()), "{what}");
    assert!(learner.lagging().is_none_or(|weights| weights.iter().all(|w| w.is_finite())), "{what}");
    trainer
}

/// log Z and its standard error: exact, or the estimate that goes with a name.
fn log_z(what: &str, named: Option<NamedTarget>, target: &dyn Target) -> (f64, f64) {
    let estimate = || named?.reference().map(|reference| (reference.log_z, reference.error));
    let known = target.log_z().map(|log_z| (log_z, 0.0)).or_else(estimate);
    known.unwrap_or_else(|| panic!("{what}: log Z is not known"))
}

/// ELBO ≤ log Z ≤ EUBO but for chance, shares that are shares, and nothing that is not a number.
fn check(what: &str, named: Option<NamedTarget>, target: &dyn Target, evaluation: &Evaluation) {
    let bounds = &evaluation.bounds;
    let finite = |estimate: Estimate| estimate.value.is_finite() && estimate.standard_error.is_finite();
    assert!(finite(bounds.elbo) && finite(bounds.importance.log_z), "{what}: {bounds:?}");
    assert!((0.0..=1.0 + 1e-9).contains(&bounds.importance.effective), "{what}: {bounds:?}");
    assert_eq!(bounds.eubo.is_some(), target.drawable().is_some(), "{what}");
    assert!(evaluation.samples.iter().all(|x| x.is_finite()), "{what}");
    let (log_z, error) = log_z(what, named, target);
    // Where generation all but reverses destruction, what is left is rounding.
    let slack = 1e-5 * (1.0 + log_z.abs()) + 4.0 * error;
    assert!(bounds.elbo.value <= log_z + 4.0 * bounds.elbo.standard_error + slack, "{what}: {bounds:?}");
    if let Some(eubo) = bounds.eubo {
        assert!(finite(eubo), "{what}: {bounds:?}");
        assert!(eubo.value >= log_z - 4.0 * eubo.standard_error - slack, "{what}: {bounds:?}");
    }
    assert!(evaluation.worst_generated.log_weight <= bounds.elbo.value + slack, "{what}");
    let (worst, eubo) = (&evaluation.worst_destroyed, bounds.eubo);
    let above = worst.as_ref().zip(eubo).is_none_or(|(worst, eubo)| worst.log_weight >= eubo.value - slack);
    assert!(above && worst.is_some() == eubo.is_some(), "{what}: {worst:?} {eubo:?}");
    assert_eq!(evaluation.coverage.is_some(), target.modes().is_some(), "{what}");
    if let Some(coverage) = &evaluation.coverage {
        let shares: f64 =
            coverage.frequencies.iter().map(|f| f.value).sum::<f64>() + coverage.unclaimed.value;
        assert!((shares - 1.0).abs() < 1e-9, "{what}: the shares sum to {shares}");
        assert!(coverage.reached <= coverage.frequencies.len(), "{what}");
        assert!((0.0..=1.0 + 1e-9).contains(&coverage.total_variation), "{what}");
    }
}

/// A short training with the settings `config`, made small.
fn conforms(
    what: &str,
    named: Option<NamedTarget>,
    mut config: Config,
    target: &Arc<dyn Target>,
    claim: Option<Claim>,
) {
    let gains = matches!(claim, Some(Claim::Gain));
    let (iterations, samples) = if gains { (ITERATIONS, 4096) } else { (FEW_ITERATIONS, 2048) };
    shrink(&mut config, iterations);
    if named.is_some_and(|named| NamedTarget::POSTERIORS.contains(&named)) {
        // Their scales differ by more than a hasty training finds its way among: the rates are as usual.
        config.optimisation.generation_rate /= HASTE;
        config.optimisation.destruction_rate /= HASTE;
    }
    if target.differentiable().is_none() {
        if config.generation_objective == GenerationObjective::ReverseKl {
            config.validate(Arc::clone(target)).expect_err("reverse KL asks for a gradient");
            return;
        }
        config.local_search = None;
    }
    let before = train(what, &config, target, 0);
    let before = evaluation(&**target, &before, samples);
    check(&format!("{what}, untrained"), named, &**target, &before);
    let after = train(what, &config, target, iterations);
    let after = evaluation(&**target, &after, samples);
    check(what, named, &**target, &after);
    if let Some(claim) = claim {
        claim.check(what, &before.bounds, &after.bounds, log_z(what, named, &**target).0);
    }
}

/// What a short training is held to have gained.
#[derive(Clone, Copy)]
enum Claim {
    /// Reverse KL climbs the ELBO itself, so it has not fallen. The other objectives may first lose what
    /// they win later.
    NoLoss,
    /// Both gaps to log Z have shrunk by a quarter or more: the target is easy.
    Gain,
}

impl Claim {
    fn check(self, what: &str, before: &Bounds, after: &Bounds, log_z: f64) {
        let chance = before.elbo.standard_error.hypot(after.elbo.standard_error);
        match self {
            Claim::NoLoss => {
                let rises = after.elbo.value >= before.elbo.value - 4.0 * chance;
                assert!(rises, "{what}: {before:?} became {after:?}");
            }
            Claim::Gain => {
                let gaps = |bounds: &Bounds| {
                    (log_z - bounds.elbo.value, bounds.eubo.map_or(0.0, |eubo| eubo.value - log_z))
                };
                let (lower, upper) = gaps(before);
                let (lower_left, upper_left) = gaps(after);
                let shrunk = lower_left < 0.75 * lower && upper_left <= 0.75 * upper;
                assert!(shrunk, "{what}: {before:?} became {after:?}");
            }
        }
    }
}

#[test]
fn every_method_on_every_named_target() {
    for named in NamedTarget::ALL {
        let target: Arc<dyn Target> = named.build().into();
        for method in Method::ALL {
            let claim = (method.generation() == GenerationObjective::ReverseKl).then_some(Claim::NoLoss);
            conforms(&format!("{named} {method}"), Some(named), Config::new(method, 4), &target, claim);
        }
    }
}

#[test]
fn every_objective_on_every_target() {
    let named = NamedTarget::ALL.iter().map(|named| (named.name(), named.build(), Some(*named)));
    let users = USER_TARGETS.iter().map(|(name, build)| (*name, build(), None));
    for (name, target, named) in named.chain(users) {
        let target: Arc<dyn Target> = target.into();
        for &objective in OBJECTIVES {
            let method = usual(objective.0);
            // What Method::ALL has is trained on the named targets elsewhere.
            let elsewhere = |method: &Method| (method.generation(), method.destruction()) == objective;
            if named.is_some() && Method::ALL.iter().any(elsewhere) {
                continue;
            }
            let mut config = Config::new(method, 3);
            set_objective(&mut config, objective);
            let claim = named.is_none().then_some(Claim::Gain);
            conforms(&format!("{name} {objective:?}"), named, config, &target, claim);
        }
    }
}

#[test]
fn every_kernel_with_every_objective() {
    let target: Arc<dyn Target> = Arc::new(two_modes());
    let mut seen = 0;
    for &generation in GENERATION_VARIANCES {
        for &(destruction, bound) in DESTRUCTIONS {
            for &backbone in BACKBONES {
                let kernel = Kernel { generation, destruction, bound, backbone };
                for &objective in OBJECTIVES {
                    if objective.1.is_some() == (destruction != Corrections::Fixed) {
                        train_kernel(&kernel, objective, &target);
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 2 * 2 * (3 + 4 * 7), "every combination that makes sense");
}

fn train_kernel(kernel: &Kernel, objective: Objective, target: &Arc<dyn Target>) {
    let mut config = Config::new(usual(objective.0), 3);
    shrink(&mut config, 12);
    set_objective(&mut config, objective);
    config.generation_variance = kernel.generation;
    config.destruction = kernel.destruction;
    config.destruction_bound = kernel.bound;
    config.network.backbone = kernel.backbone;
    let what = format!(
        "{:?} {:?} {:?} {:?} {objective:?}",
        kernel.generation, kernel.destruction, kernel.bound, kernel.backbone
    );
    let trainer = train(&what, &config, target, 12);
    check(&what, None, &**target, &evaluation(&**target, &trainer, 1024));
}

#[test]
fn every_schedule_on_every_kind_of_grid() {
    let target: Arc<dyn Target> = Arc::new(two_modes());
    for schedule in [Schedule::Every, Schedule::Alternating] {
        for grid in
            [Grid::Uniform(1), Grid::Uniform(4), Grid::Harmonic(4), Grid::Given(vec![0.0, 0.1, 0.8, 1.0])]
        {
            let what = format!("{schedule:?} {grid:?}");
            let mut config = Config::new(Method::TbTb, 1);
            shrink(&mut config, 10);
            (config.schedule, config.grid) = (schedule, grid);
            let trainer = train(&what, &config, &target, 10);
            check(&what, None, &*target, &evaluation(&*target, &trainer, 1024));
        }
    }
}

#[test]
fn every_row_of_the_ablation_is_a_configuration() {
    let target: Arc<dyn Target> = NamedTarget::Gmm40.build().into();
    let mut configurations: Vec<Config> = Vec::new();
    for (row, change) in ABLATION {
        let mut config = Config::new(Method::TbTb, 5);
        config.batch = 40;
        if let Some(search) = &mut config.local_search {
            *search = LocalSearch { steps: 10, burn_in: 5, ..*search };
        }
        change(&mut config);
        assert!(!configurations.contains(&config), "{row} is like a row before it");
        train(row, &config, &target, 3);
        configurations.push(config);
    }
    assert_eq!(configurations.len(), 12, "the paper's table has twelve rows");
}
