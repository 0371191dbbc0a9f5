//! Nothing is allocated by a training step after the first: on no thread, by no method, search and replay included.

mod user;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ebbtide::network::Backbone;
use ebbtide::objective::{DestructionObjective, GenerationObjective, Method};
use ebbtide::target::{Mixture, NamedTarget, Target};
use ebbtide::train::{Arrangement, BoundSchedule, Config, Keep, LocalSearch, Schedule, Trainer};
use ebbtide::trajectory::Threads;
use user::Gaussian;

/// The system's allocator, counting what all threads ask of it.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is passed on as it came, and the counter neither allocates nor panics.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `place` came from the system allocator, as all places do.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Long enough for both rings to come round and for several searches.
const STEPS: u64 = 24;
/// Where it is saved and restored: before the replay ring comes round, and between two searches.
const SAVED: u64 = 3;

fn small(mut config: Config) -> Config {
    config.iterations = STEPS;
    config.batch = 70;
    config.network.width = config.network.width.min(24);
    config.replay.capacity = 300;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 5, steps: 8, burn_in: 3, capacity: 800, ..*search };
    }
    config
}

/// How a configuration is changed.
type Change = fn(&mut Config);

/// A configuration, and what it is trained on.
struct Case {
    name: String,
    config: Config,
    target: Arc<dyn Target>,
}

fn case(name: &str, target: NamedTarget, method: Method, change: Change) -> Case {
    let mut config = small(Config::new(method, 3));
    change(&mut config);
    Case { name: format!("{name} {method} on {target}"), config, target: target.build().into() }
}

fn cases() -> Vec<Case> {
    let plain: Change = |_| {};
    let mut cases = Vec::new();
    for method in Method::ALL {
        cases.push(case("plain", NamedTarget::Gmm25, method, plain));
    }
    for target in NamedTarget::ALL {
        cases.push(case("every target", target, Method::TbTb, plain));
        cases.push(case("every target", target, Method::PisVarGrad, plain));
    }
    let changes: [(&str, Change); 14] = [
        ("a large network", |c| c.network.width = 128),
        ("a very large network", |c| (c.network.width, c.batch) = (512, 300)),
        ("one optimiser", |c| c.optimisation.arrangement = Arrangement::Single),
        ("alternating", |c| c.schedule = Schedule::Alternating),
        ("no target network", |c| c.target_network = None),
        ("averaged weights", |c| c.averaging = Some(0.1)),
        ("a sample of all finds", |c| c.local_search.as_mut().expect("on").keep = Keep::Sample),
        ("separate backbones", |c| c.network.backbone = Backbone::Separate),
        ("rising bound", |c| c.destruction_bound = BoundSchedule::Rising),
        ("VarGrad", |c| {
            c.generation_objective = GenerationObjective::VarGrad;
            c.destruction_objective = Some(DestructionObjective::VarGrad);
        }),
        ("no replay", |c| c.replay.ratio = 0),
        ("no search", |c| c.local_search = None),
        ("the paper's archive", |c| c.local_search.as_mut().expect("on").capacity = 600_000),
        ("a batch of one", |c| c.batch = 1),
    ];
    for (name, change) in changes {
        cases.push(case(name, NamedTarget::Gmm25, Method::TbTb, change));
    }
    cases
        .push(case("no target network", NamedTarget::Gmm25, Method::PisVarGrad, |c| c.target_network = None));
    cases.push(case("one optimiser", NamedTarget::Gmm25, Method::PisTlm, |c| {
        c.optimisation.arrangement = Arrangement::Single;
    }));
    let means: Vec<f64> = (0..700).map(f64::from).collect();
    let others: [(&str, Arc<dyn Target>); 2] = [
        ("a user's target", Arc::new(Gaussian { dim: 3, variance: 0.7, log_z: 0.3 })),
        ("a mixture of many", Arc::new(Mixture::isotropic(1, &means, 0.5).expect("a mixture"))),
    ];
    for (name, target) in others {
        cases.push(Case { name: name.into(), config: small(Config::new(Method::TbTb, 3)), target });
    }
    cases
}

/// Allocations of each step until `end`.
fn allocations(trainer: &mut Trainer, end: u64) -> Vec<u64> {
    let steps = end - trainer.state().iteration();
    let mut counts = Vec::with_capacity(steps as usize);
    for _ in 0..steps {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        trainer.step().expect("an iteration");
        counts.push(ALLOCATIONS.load(Ordering::SeqCst) - before);
    }
    counts
}

/// A program of its own, since the allocator counts what all threads do, those of a test harness too.
fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    a_step_after_the_first_allocates_nothing();
    println!("test a_step_after_the_first_allocates_nothing ... ok");
}

fn a_step_after_the_first_allocates_nothing() {
    let mut failures = Vec::new();
    for count in [1, 2] {
        let threads = Threads::new(count).expect("threads");
        // A thread that begins allocates too, whenever the system lets it.
        std::thread::sleep(Duration::from_millis(500));
        for case in cases() {
            let valid = || case.config.validate(Arc::clone(&case.target)).expect("valid");
            let mut trainer = Trainer::new(valid(), &threads);
            let begun = allocations(&mut trainer, SAVED);
            let mut restored =
                Trainer::restore(valid(), &threads, trainer.state().clone()).expect("its own state");
            let (gone_on, restored) = (allocations(&mut trainer, STEPS), allocations(&mut restored, STEPS));
            assert!(begun[0] > 0, "the counter counts");
            let later = begun[1..].iter().chain(&gone_on).chain(&restored[1..]);
            if later.sum::<u64>() > 0 {
                let counts = format!("{begun:?}, then {gone_on:?}, or restored {restored:?}");
                failures.push(format!("{} on {} threads: {counts}", case.name, threads.count()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
