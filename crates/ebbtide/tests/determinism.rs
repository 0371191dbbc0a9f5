//! Same seed, same bits: on any number of threads, through saving and restoring, and watched or not.

mod open;
mod user;

use std::sync::Arc;

use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::network::Backbone;
use ebbtide::objective::Method;
use ebbtide::process::Grid;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{
    Arrangement, Array, BoundSchedule, Config, LocalSearch, RestoreError, State, StateError, Trainer,
};
use ebbtide::trajectory::{Sampler, Threads};
use open::{Open, bytes, open};
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
    let mut config = Config::new(method, 3);
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

/// Batches that leave an odd number of lanes, and networks so large that the passes over their parameters are shared out too.
#[test]
fn threads_do_not_matter_to_many_lanes_and_large_networks() {
    for (width, backbone, batch) in [
        (16, Backbone::Shared, 300),
        (128, Backbone::Shared, 300),
        (128, Backbone::Separate, 300),
        (512, Backbone::Shared, 150),
    ] {
        let mut config = config(Method::TbTb);
        (config.grid, config.batch) = (Grid::Uniform(12), batch);
        (config.network.width, config.network.backbone) = (width, backbone);
        let alone = bytes(trained(&config, 1, 3).state());
        for threads in [2, 3, 8] {
            let state = bytes(trained(&config, threads, 3).state());
            assert!(
                alone == state,
                "width {width}, {backbone:?}, on {threads} threads is not the same on one"
            );
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
fn how_samples_are_cut_into_portions_does_not_matter() {
    let mut trainers = [1, 3].map(|threads| trained(&config(Method::TbTb), threads, 3).sampler());
    let whole = trainers[0].sample(1000, 11);
    for sampler in &mut trainers {
        assert!(sampler.sample(1000, 11) == whole);
        let (mut first, mut cut, mut ends) = (0, Vec::new(), Vec::new());
        for count in [1, 0, 7, 64, 65, 331, 3, 500, 29] {
            let portion = sampler.portion(first, count, 11);
            assert_eq!((portion.len(), portion.steps()), (count, 3));
            portion.copy_ends(&mut ends);
            cut.extend_from_slice(&ends);
            first += count;
        }
        let bits = |samples: &[f32]| samples.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((first, bits(&cut)), (1000, bits(&whole)));
        assert_ne!(sampler.portion(0, 5, 12), sampler.portion(0, 5, 11));
        // Nothing overflows where nobody goes.
        assert!(sampler.portion(usize::MAX, 3, 11).is_empty());
    }
}

/// Samples are drawn without their ways, a few tiles at a time: they are the ends that whole trajectories have.
#[test]
fn samples_are_the_ends_of_trajectories() {
    // Counts on both sides of a vector, a tile and a lane's share; paths so long that noise for a tile's rows is not at hand.
    for (named, steps, counts) in [
        (NamedTarget::Gmm25, 1, &[0, 1, 15, 17, 700, 3001][..]),
        (NamedTarget::Gmm25, 20, &[1, 15, 17, 700, 3001]),
        (NamedTarget::Manywell, 2100, &[1, 150]),
    ] {
        let mut config = Config::new(Method::TbTb, steps);
        (config.network.width, config.network.depth, config.local_search) = (8, 1, None);
        let valid = config.validate(Arc::from(named.build())).expect("a valid configuration");
        // Fresh heads say nothing.
        let mut weights = valid.model().layout.initialise(4);
        weights.iter_mut().for_each(|weight| *weight += 0.01);
        for threads in [1, 2] {
            let threads = Threads::new(threads).expect("threads");
            let mut sampler =
                Sampler::new(valid.model().clone(), weights.clone(), &threads).expect("a sampler");
            for &count in counts {
                let (samples, mut ends) = (sampler.sample(count, 3), Vec::new());
                sampler.portion(0, count, 3).copy_ends(&mut ends);
                assert!(samples.iter().all(|x| x.is_finite()));
                assert!(samples == ends, "{count} samples of {named:?} in {steps} steps");
            }
        }
    }
}

#[test]
fn a_restored_training_goes_on_as_if_nothing_had_happened() {
    for method in Method::ALL {
        for bound in [BoundSchedule::Constant, BoundSchedule::Rising] {
            let config = Config { destruction_bound: bound, ..config(method) };
            let mut uninterrupted = trained(&config, 1, SAVED);
            let saved = open(uninterrupted.state());
            let state = State::from_arrays(saved.0).expect("a state can be read");
            assert!(bytes(&state) == bytes(uninterrupted.state()), "{method}: read as written");
            assert!(state == *uninterrupted.state(), "{method}: and what follows from it is the same");
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
        ("averaged weights", |config| config.averaging = Some(0.1)),
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
    ("a weight is NaN", |s| s.singles("parameters")[3] = f32::NAN),
    ("a weight is infinite", |s| s.singles("parameters")[3] = f32::INFINITY),
    ("a weight is missing", |s| s.singles("parameters").truncate(9)),
    ("a lagging weight is NaN", |s| s.singles("lagging-parameters")[0] = f32::NAN),
    ("a lagging weight is missing", |s| s.singles("lagging-parameters").truncate(1)),
    ("no lagging weights", |s| s.remove("lagging-parameters")),
    ("log Z is NaN", |s| s.singles("log-z")[0] = f32::NAN),
    ("a first moment is NaN", |s| s.singles("generation.first-moment")[0] = f32::NAN),
    ("a second moment is NaN", |s| s.singles("destruction.second-moment")[0] = f32::NAN),
    ("a second moment is negative", |s| s.singles("destruction.second-moment")[0] = -1.0),
    ("first moments are missing", |s| s.singles("generation.first-moment").clear()),
    ("second moments are missing", |s| s.singles("generation.second-moment").clear()),
    ("no moments of log Z", |s| s.singles("log-z.first-moment").clear()),
    ("an optimiser that cannot count on", |s| *s.whole("generation.steps") = u64::MAX),
    ("iterations that cannot be counted on", |s| *s.whole("iteration") = u64::MAX),
    ("updates that cannot be counted on", |s| *s.whole("on-policy-updates") = u64::MAX),
    ("evaluations that cannot be counted on", |s| *s.whole("evaluations") = u64::MAX - 3),
    ("no replay", |s| s.remove("replay.")),
    ("a replayed state is NaN", |s| s.singles("replay.paths")[5] = f32::NAN),
    ("a replayed state is missing", |s| s.singles("replay.paths").truncate(5)),
    ("a replayed density is NaN", |s| s.doubles("replay.log-density")[5] = f64::NAN),
    ("replayed densities are missing", |s| s.doubles("replay.log-density").truncate(5)),
    ("a priority is NaN", |s| s.doubles("replay.priorities")[5] = f64::NAN),
    ("a priority is negative", |s| s.doubles("replay.priorities")[5] = -1.0),
    ("a priority is infinite", |s| s.doubles("replay.priorities")[5] = f64::INFINITY),
    ("priorities are so large that their sum is infinite", |s| {
        s.doubles("replay.priorities").fill(f64::MAX);
    }),
    ("priorities are missing", |s| s.doubles("replay.priorities").truncate(5)),
    ("the largest priority is NaN", |s| s.doubles("replay.largest")[0] = f64::NAN),
    ("the largest priority is negative", |s| s.doubles("replay.largest")[0] = -2.0),
    ("the largest priority is beyond all bounds", |s| s.doubles("replay.largest")[0] = f64::MAX),
    ("the replay ring is past its end", |s| *s.whole("replay.next") = 150),
    ("the replay ring begins past what it holds", |s| {
        let path = *s.whole("replay.path-length") as usize;
        s.singles("replay.paths").truncate(20 * path);
        s.doubles("replay.log-density").truncate(20);
        s.doubles("replay.priorities")[20..].fill(0.0);
        *s.whole("replay.next") = 77;
    }),
    ("paths of another length", |s| *s.whole("replay.path-length") = 3),
    ("a ring without capacity", |s| *s.whole("replay.capacity") = 0),
    ("a ring of nothing at all", |s| {
        s.doubles("replay.priorities").clear();
        *s.whole("replay.capacity") = 0;
    }),
    ("a capacity beyond all machines", |s| *s.whole("replay.capacity") = 1 << 60),
    ("no archive", |s| s.remove("archive.")),
    ("an archived point is NaN", |s| s.singles("archive.points")[0] = f32::NAN),
    ("an archived point is missing", |s| s.singles("archive.points").truncate(1)),
    ("an archived density is NaN", |s| s.doubles("archive.log-density")[0] = f64::NAN),
    ("archived densities are missing", |s| s.doubles("archive.log-density").truncate(2)),
    ("more finds than can be counted", |s| *s.whole("archive.next") = u64::MAX),
    ("the archive begins past what it holds", |s| {
        let dim = *s.whole("archive.dim") as usize;
        s.singles("archive.points").truncate(20 * dim);
        s.doubles("archive.log-density").truncate(20);
        *s.whole("archive.next") = 90;
    }),
    ("an archive of another dimension", |s| *s.whole("archive.dim") = 1),
    ("an archive without capacity", |s| *s.whole("archive.capacity") = 0),
    ("an archive beyond all machines", |s| *s.whole("archive.capacity") = u64::MAX),
];

#[test]
fn a_damaged_state_is_refused() {
    let config = config(Method::TbTb);
    let whole = open(trained(&config, 1, SAVED).state());
    for (what, damage) in DAMAGE {
        let mut damaged = whole.clone();
        damage(&mut damaged);
        match State::from_arrays(damaged.0) {
            Ok(state) => assert_refused(what, &config, target(), state),
            // A tree is made only of priorities that are there.
            Err(error) => assert!(matches!(error, StateError::Priorities { .. }), "{what}: {error}"),
        }
    }
}

/// An array of other numbers, as many.
fn of_another_type(array: &Array) -> Array {
    match array {
        Array::F32(values) => Array::F64(values.iter().map(|&value| value.into()).collect()),
        Array::F64(values) => Array::F32(values.iter().map(|&value| value as f32).collect()),
        Array::U64(values) => Array::F64(values.iter().map(|&value| value as f64).collect()),
    }
}

#[test]
fn every_array_must_be_there_and_of_its_type() {
    let config = config(Method::TbTb);
    let whole = open(trained(&config, 1, 2).state());
    for (name, array) in &whole.0 {
        let mut missing = whole.clone();
        missing.0.remove(name);
        match State::from_arrays(missing.0) {
            Err(error) => assert!(matches!(error, StateError::Missing { name: it } if it == name), "{error}"),
            // The only one that a training may do without; this one does not.
            Ok(state) => {
                assert_eq!(name, "lagging-parameters");
                assert_refused(name, &config, target(), state);
            }
        }
        let mut other = whole.clone();
        other.0.insert(name.clone(), of_another_type(array));
        let error = State::from_arrays(other.0).expect_err("another type");
        assert!(matches!(error, StateError::Type { name: it, .. } if it == name), "{error}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn a_single_number_is_neither_none_nor_two() {
    let whole = open(trained(&config(Method::TbTb), 1, 2).state());
    let named = ["iteration", "generation.steps", "log-z", "replay.largest", "replay.next", "archive.dim"];
    for name in named {
        for len in [0, 2] {
            let mut other = whole.clone();
            match other.0.get_mut(name).expect("it is there") {
                Array::F32(values) => values.resize(len, 0.0),
                Array::F64(values) => values.resize(len, 0.0),
                Array::U64(values) => values.resize(len, 0),
            }
            assert_eq!(State::from_arrays(other.0), Err(StateError::NotOne { name, len }));
        }
    }
}

#[test]
fn an_unknown_array_is_an_error() {
    let whole = open(trained(&config(Method::TbTb), 1, 2).state());
    for name in ["", "parameters ", "replay.path", "archive.points.more", "zzz"] {
        let mut more = whole.clone();
        more.0.insert(name.into(), Array::U64(vec![1]));
        let error = State::from_arrays(more.0);
        assert_eq!(error, Err(StateError::Unknown { name: name.into() }));
    }
}
