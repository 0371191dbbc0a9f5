//! Same seed, same bits: on any number of threads, through saving and restoring, and watched or not.

mod open;
mod user;

use std::sync::Arc;

use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::network::Backbone;
use ebbtide::objective::Method;
use ebbtide::process::Grid;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Arrangement, BoundSchedule, Config, LocalSearch, RestoreError, State, Trainer};
use ebbtide::trajectory::Threads;
use open::{Open, bytes};
use user::Gaussian;

/// How a configuration is changed.
type Change = fn(&mut Config);

/// Where trainings are saved, and where they end.
const SAVED: u64 = 7;
const END: u64 = 12;

fn target() -> Arc<dyn Target> {
    NamedTarget::Gmm25.build().into()
}

/// Every part of a training at work, on a batch that does not divide evenly.
fn config(method: Method) -> Config {
    let mut config = Config::preset(NamedTarget::Gmm25, method, 3);
    config.iterations = END;
    config.batch = 70;
    config.network.width = 16;
    config.replay.capacity = 150;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 5, steps: 8, burn_in: 3, capacity: 400, ..*search };
    }
    config
}

fn trainer(config: &Config, threads: usize) -> Trainer {
    let target = target();
    Trainer::new(config.validate(target).expect("valid"), &Threads::new(threads).expect("threads"))
}

fn run(trainer: &mut Trainer, until: u64) {
    while trainer.state().iteration() < until {
        trainer.step().expect("an iteration");
    }
}

fn trained(config: &Config, threads: usize, until: u64) -> Trainer {
    let mut trainer = trainer(config, threads);
    run(&mut trainer, until);
    trainer
}

fn restore(config: &Config, target: Arc<dyn Target>, state: State) -> Result<Trainer, RestoreError> {
    Trainer::restore(config.validate(target).expect("valid"), &Threads::new(1).expect("a thread"), state)
}

fn assert_refused(what: &str, config: &Config, target: Arc<dyn Target>, state: State) {
    let refused = matches!(restore(config, target, state), Err(RestoreError::Mismatch));
    assert!(refused, "{what}: must not be restored");
}

#[test]
fn threads_do_not_matter() {
    for method in [Method::TbTb, Method::TbTlm, Method::PisVarGrad] {
        let alone = bytes(trained(&config(method), 1, END).state());
        for threads in [2, 3, 8] {
            let state = bytes(trained(&config(method), threads, END).state());
            assert!(alone == state, "{method} on {threads} threads is not {method} on one");
        }
    }
}

#[test]
fn threads_do_not_matter_to_an_evaluation() {
    let trainers = [1, 2, 8].map(|threads| trained(&config(Method::TbTb), threads, 3));
    let options = EvaluationOptions { samples: 333, transport: false, ..EvaluationOptions::default() };
    let evaluations =
        trainers.map(|trainer| evaluate(&*target(), &mut trainer.sampler(), options).expect("an evaluation"));
    assert_eq!(evaluations[0], evaluations[1]);
    assert_eq!(evaluations[0], evaluations[2]);
}

#[test]
fn a_restored_training_goes_on_as_if_nothing_had_happened() {
    for method in Method::ALL {
        for bound in [BoundSchedule::Constant, BoundSchedule::Rising] {
            let config = Config { destruction_bound: bound, ..config(method) };
            let mut uninterrupted = trained(&config, 1, SAVED);
            let saved = bytes(uninterrupted.state());
            let state: State = postcard::from_bytes(&saved).expect("a state can be read");
            assert!(state == *uninterrupted.state(), "{method}: read as written");
            let mut restored = restore(&config, target(), state).expect("the same configuration");
            let [before, after] = [&uninterrupted, &restored].map(|trainer| {
                let options =
                    EvaluationOptions { samples: 64, transport: false, ..EvaluationOptions::default() };
                let mut sampler = trainer.sampler();
                evaluate(&*target(), &mut sampler, options).expect("an evaluation")
            });
            assert_eq!(before, after, "{method} {bound:?}: the sampler when restored");
            run(&mut uninterrupted, END);
            run(&mut restored, END);
            assert!(bytes(uninterrupted.state()) == bytes(restored.state()), "{method} {bound:?}");
        }
    }
}

#[test]
fn seeds_matter() {
    for method in Method::ALL {
        let states = [0, 1].map(|seed| trained(&Config { seed, ..config(method) }, 1, 2));
        let [one, other] = states.each_ref().map(|trainer| trainer.state().learner().parameters());
        assert_ne!(one, other, "{method}");
    }
}

#[test]
fn watching_changes_nothing() {
    let mut watched = trainer(&config(Method::TbTb), 1);
    for _ in 0..END {
        watched.step().expect("an iteration");
        let before = bytes(watched.state());
        let mut sampler = watched.sampler();
        let options = EvaluationOptions { samples: 32, ..EvaluationOptions::default() };
        evaluate(&*target(), &mut sampler, options).expect("an evaluation");
        assert!(before == bytes(watched.state()));
    }
    assert!(bytes(watched.state()) == bytes(trained(&config(Method::TbTb), 1, END).state()));
}

#[test]
fn a_state_of_another_configuration_is_refused() {
    let own = config(Method::TbTb);
    let state = trained(&own, 1, SAVED).state().clone();
    let others: &[(&str, Change)] = &[
        ("wider", |config| config.network.width = 17),
        ("deeper", |config| config.network.depth = 3),
        ("separate backbones", |config| config.network.backbone = Backbone::Separate),
        ("one optimiser", |config| config.optimisation.arrangement = Arrangement::Single),
        ("no target network", |config| config.target_network = None),
        ("no replay", |config| config.replay.ratio = 0),
        ("larger replay", |config| config.replay.capacity = 151),
        ("smaller replay", |config| config.replay.capacity = 149),
        ("more steps", |config| config.grid = Grid::Harmonic(4)),
        ("no local search", |config| config.local_search = None),
        ("larger archive", |config| config.local_search.as_mut().expect("on").capacity = 401),
        ("another method", |config| *config = self::config(Method::TbVariance)),
        ("reverse KL", |config| *config = self::config(Method::PisVarGrad)),
    ];
    for (what, change) in others {
        let mut other = own.clone();
        change(&mut other);
        assert_refused(what, &other, target(), state.clone());
    }
    let wider: Arc<dyn Target> = Arc::new(Gaussian { dim: 3, variance: 1.0, log_z: 0.0 });
    assert_refused("another dimension", &own, wider, state.clone());
    restore(&own, target(), state).expect("its own configuration");
}

type Damage = fn(&mut Open);

/// Ways for a saved state to be damaged.
const DAMAGE: &[(&str, Damage)] = &[
    ("a weight is NaN", |s| s.learner.parameters[3] = f32::NAN),
    ("a weight is infinite", |s| s.learner.parameters[3] = f32::INFINITY),
    ("a weight is missing", |s| s.learner.parameters.truncate(9)),
    ("a lagging weight is NaN", |s| s.lagging()[0] = f32::NAN),
    ("a lagging weight is missing", |s| s.lagging().truncate(1)),
    ("no lagging weights", |s| s.learner.lagging = None),
    ("log Z is NaN", |s| s.learner.log_z = f32::NAN),
    ("a first moment is NaN", |s| s.learner.generation.first[0] = f32::NAN),
    ("a second moment is NaN", |s| s.learner.destruction.second[0] = f32::NAN),
    ("a second moment is negative", |s| s.learner.destruction.second[0] = -1.0),
    ("first moments are missing", |s| s.learner.generation.first.clear()),
    ("second moments are missing", |s| s.learner.generation.second.clear()),
    ("no moments of log Z", |s| s.learner.log_z_moments.first.clear()),
    ("an optimiser that cannot count on", |s| s.learner.generation.steps = u64::MAX),
    ("iterations that cannot be counted on", |s| s.iteration = u64::MAX),
    ("updates that cannot be counted on", |s| s.on_policy_updates = u64::MAX),
    ("evaluations that cannot be counted on", |s| s.evaluations = u64::MAX - 3),
    ("no replay", |s| s.replay = None),
    ("a replayed state is NaN", |s| s.replay().paths[5] = f32::NAN),
    ("a replayed state is missing", |s| s.replay().paths.truncate(5)),
    ("a replayed density is NaN", |s| s.replay().log_density[5] = f64::NAN),
    ("replayed densities are missing", |s| s.replay().log_density.truncate(5)),
    ("a priority is NaN", |s| s.replay().tree[5] = f64::NAN),
    ("a priority is negative", |s| s.replay().tree[5] = -1.0),
    ("a priority is infinite", |s| s.replay().tree[5] = f64::INFINITY),
    ("priorities are so large that their sum is infinite", |s| s.replay().tree.fill(f64::MAX)),
    ("priorities are missing", |s| s.replay().tree.truncate(5)),
    ("the largest priority is NaN", |s| s.replay().largest = f64::NAN),
    ("the largest priority is negative", |s| s.replay().largest = -2.0),
    ("the largest priority is beyond all bounds", |s| s.replay().largest = f64::MAX),
    ("the replay ring is past its end", |s| s.replay().next = 150),
    ("the replay ring begins past what it holds", |s| {
        let replay = s.replay();
        replay.paths.truncate(20 * replay.path_len);
        replay.log_density.truncate(20);
        replay.tree[20..].fill(0.0);
        replay.next = 77;
    }),
    ("paths of another length", |s| s.replay().path_len = 3),
    ("a ring without capacity", |s| s.replay().capacity = 0),
    ("no archive", |s| s.archive = None),
    ("an archived point is NaN", |s| s.archive().points[0] = f32::NAN),
    ("an archived point is missing", |s| s.archive().points.truncate(1)),
    ("an archived density is NaN", |s| s.archive().log_density[0] = f64::NAN),
    ("archived densities are missing", |s| s.archive().log_density.truncate(2)),
    ("the archive is past its end", |s| s.archive().next = 400),
    ("the archive begins past what it holds", |s| {
        let archive = s.archive();
        archive.points.truncate(20 * archive.dim);
        archive.log_density.truncate(20);
        archive.next = 90;
    }),
    ("an archive of another dimension", |s| s.archive().dim = 1),
    ("an archive without capacity", |s| s.archive().capacity = 0),
];

#[test]
fn a_damaged_state_is_refused() {
    let config = config(Method::TbTb);
    let written = bytes(trained(&config, 1, SAVED).state());
    let open: Open = postcard::from_bytes(&written).expect("the fields as they are written");
    assert!(postcard::to_stdvec(&open).expect("written again") == written);
    for (what, damage) in DAMAGE {
        let mut damaged = open.clone();
        damage(&mut damaged);
        let damaged = postcard::to_stdvec(&damaged).expect("a damaged state can be written");
        match postcard::from_bytes::<State>(&damaged) {
            Ok(state) => assert_refused(what, &config, target(), state),
            Err(error) => panic!("{what}: the bytes are well formed, but {error}"),
        }
    }
}

#[test]
fn bytes_cut_off_anywhere_are_an_error() {
    let written = bytes(trained(&config(Method::TbTb), 1, 2).state());
    for length in (0..written.len()).step_by(written.len() / 97) {
        assert!(postcard::from_bytes::<State>(&written[..length]).is_err(), "{length} bytes");
    }
}
