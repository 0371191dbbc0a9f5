//! The memory that a configuration is said to take is what a training of it takes; a saved state or a formula, however hostile,
//! takes no more than it accounts for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ebbtide::network::Backbone;
use ebbtide::objective::Method;
use ebbtide::target::{Formula, NamedTarget, Target};
use ebbtide::train::{Arrangement, Array, Config, State, Trainer};
use ebbtide::trajectory::Threads;

/// The system's allocator, keeping count of what is in use and of the most that ever was.
struct Counting;

static IN_USE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

fn grow(size: usize) {
    let now = IN_USE.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn shrink(size: usize) {
    IN_USE.fetch_sub(size as u64, Ordering::Relaxed);
}

// SAFETY: every call is passed on as it came, and the counters neither allocate nor panic.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        shrink(layout.size());
        grow(size);
        // SAFETY: as above; `place` came from the system allocator, as all places do.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How far the estimate may be from the truth, as a share of it. It knows every array, so that it is nearer than this;
/// names of tensors, the grid and other trifles are what is left.
const TOLERANCE: f64 = 0.03;

/// How a configuration is changed.
type Change = fn(&mut Config);

fn without_search(config: &mut Config) {
    config.local_search = None;
}

fn without_buffers(config: &mut Config) {
    config.local_search = None;
    config.replay.ratio = 0;
}

fn wide_and_deep(config: &mut Config) {
    (config.network.width, config.network.depth) = (256, 4);
}

/// What is trained: target, method, steps, and how the usual settings are changed.
const CASES: &[(&str, NamedTarget, Method, usize, Change)] = &[
    ("as in the paper", NamedTarget::Gmm25, Method::TbTb, 5, |_| {}),
    ("no search", NamedTarget::Gmm25, Method::TbTb, 5, without_search),
    ("no buffers", NamedTarget::Gmm25, Method::TbTb, 5, without_buffers),
    ("nothing learned but the drift", NamedTarget::Gmm25, Method::TbFixed, 5, without_buffers),
    ("longer, as in the paper", NamedTarget::Gmm25, Method::TbTb, 20, |_| {}),
    ("longer, no buffers", NamedTarget::Gmm25, Method::TbTb, 20, without_buffers),
    ("very long, no search", NamedTarget::Gmm25, Method::TbTlm, 100, without_search),
    ("wide and deep, as in the paper", NamedTarget::Manywell, Method::TbTb, 5, wide_and_deep),
    ("wide and deep, no search", NamedTarget::Manywell, Method::TbTb, 10, |config| {
        wide_and_deep(config);
        without_search(config);
        config.batch = 100;
    }),
    ("wide and deep, no buffers", NamedTarget::Manywell, Method::TbTb, 20, |config| {
        wide_and_deep(config);
        without_buffers(config);
    }),
    ("wide and deep, reverse KL", NamedTarget::Manywell, Method::PisVarGrad, 5, wide_and_deep),
    ("two trunks", NamedTarget::Manywell, Method::TbTb, 5, |config| {
        wide_and_deep(config);
        without_search(config);
        config.network.backbone = Backbone::Separate;
    }),
    ("one optimiser", NamedTarget::HardFunnel, Method::TbTb, 10, |config| {
        without_search(config);
        config.optimisation.arrangement = Arrangement::Single;
    }),
    ("large batch", NamedTarget::HardFunnel, Method::TbTb, 10, |config| {
        without_buffers(config);
        config.batch = 5000;
    }),
    ("wider still", NamedTarget::EasyFunnel, Method::TbTb, 5, |config| {
        without_search(config);
        config.network.width = 512;
    }),
    ("wider still, reverse KL", NamedTarget::EasyFunnel, Method::PisVarGrad, 5, |config| {
        without_search(config);
        config.network.width = 512;
    }),
    ("wider still, two trunks", NamedTarget::EasyFunnel, Method::TbTb, 4, |config| {
        without_search(config);
        config.network.width = 600;
        config.network.backbone = Backbone::Separate;
    }),
    ("long and very narrow", NamedTarget::Gmm25, Method::TbTb, 50, |config| {
        without_buffers(config);
        (config.network.width, config.batch) = (16, 64);
    }),
    ("short and narrow", NamedTarget::EasyFunnel, Method::TbVariance, 2, |config| {
        without_buffers(config);
        config.network.width = 32;
    }),
];

/// A program of its own, since the allocator counts what all threads do, those of a test harness too.
fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    the_estimate_is_what_a_training_takes();
    println!("test the_estimate_is_what_a_training_takes ... ok");
    reading_a_state_takes_a_small_multiple_of_it();
    println!("test reading_a_state_takes_a_small_multiple_of_it ... ok");
    reading_a_formula_takes_what_its_words_account_for();
    println!("test reading_a_formula_takes_what_its_words_account_for ... ok");
}

fn the_estimate_is_what_a_training_takes() {
    let mut failures = Vec::new();
    let threads = [1, 2, 3].map(|count| Threads::new(count).expect("threads"));
    for (&(name, target, method, steps, change), threads) in CASES.iter().zip(threads.iter().cycle()) {
        let mut config = Config::new(method, steps);
        change(&mut config);
        let target: Arc<dyn Target> = target.build().into();
        let before = IN_USE.load(Ordering::SeqCst);
        PEAK.store(before, Ordering::SeqCst);
        let valid = config.validate(target).expect("valid");
        let estimate = valid.memory(threads.count()) as f64;
        let mut trainer = Trainer::new(valid, threads);
        for _ in 0..3 {
            trainer.step().expect("an iteration");
        }
        let taken = (PEAK.load(Ordering::SeqCst) - before) as f64;
        let error = estimate / taken - 1.0;
        let line = format!(
            "{name}, {method} in {steps} steps on {} threads: {:.2} MiB, estimated at {:.2} ({:+.1} %)",
            threads.count(),
            taken / 1048576.0,
            estimate / 1048576.0,
            100.0 * error,
        );
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("{line}");
        }
        if error.abs() > TOLERANCE {
            failures.push(line);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Counts in a saved state that ask for the moon.
const HOSTILE: &[&str] = &[
    "replay.capacity",
    "replay.path-length",
    "replay.next",
    "archive.capacity",
    "archive.dim",
    "archive.next",
    "iteration",
];

fn bytes(arrays: &BTreeMap<String, Array>) -> u64 {
    let size = |array: &Array| match array {
        Array::F32(values) => size_of_val(&values[..]),
        Array::F64(values) => size_of_val(&values[..]),
        Array::U64(values) => size_of_val(&values[..]),
    };
    arrays.values().map(size).sum::<usize>() as u64
}

fn reading_a_state_takes_a_small_multiple_of_it() {
    let config = Config::new(Method::TbTb, 5);
    let target: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
    let threads = Threads::new(1).expect("a thread");
    let valid = || config.validate(Arc::clone(&target)).expect("valid");
    let mut trainer = Trainer::new(valid(), &threads);
    trainer.step().expect("an iteration");
    let arrays = trainer.state().arrays().into_iter();
    let saved: BTreeMap<String, Array> = arrays.map(|(name, array)| (name.into(), array.into())).collect();
    let read = |what: &str, arrays: BTreeMap<String, Array>| {
        let given = bytes(&arrays);
        let before = IN_USE.load(Ordering::SeqCst);
        PEAK.store(before, Ordering::SeqCst);
        let state = State::from_arrays(arrays);
        let taken = PEAK.load(Ordering::SeqCst) - before;
        assert!(taken <= 8 * given, "{what}: {taken} bytes for {given}");
        state
    };
    assert!(read("as it was saved", saved.clone()).expect("a state") == *trainer.state());
    for &name in HOSTILE {
        for value in [u64::MAX, 1 << 60, 1 << 40] {
            let mut hostile = saved.clone();
            hostile.insert(name.into(), Array::U64(vec![value]));
            // What is not refused when it is read is refused when it is taken up, before anything is made of it.
            if let Ok(state) = read(name, hostile) {
                let restored = Trainer::restore(valid(), &threads, state);
                let goes_on = name == "iteration" && value < 1 << 62;
                assert_eq!(restored.is_ok(), goes_on, "{name} = {value}");
            }
        }
    }
}

fn reading_a_formula_takes_what_its_words_account_for() {
    let waves: String = (1..20_000).map(|wave| format!("+sin({wave}*x0)")).collect();
    let cases = [
        ("many terms, none the same", 1, format!("-x0^2{waves}"), true),
        (
            "their sum, scaled again and again",
            1,
            format!("-x0^2 + {}0{waves}{}", "2*(".repeat(150), ")".repeat(150)),
            true,
        ),
        ("a coordinate for each", 2000, "-sum(x^2)/2".to_owned(), true),
        ("all pairs of coordinates", 150, "-sum(i, 0, dim-1, sum(j, i, dim-1, x[i]*x[j]))".to_owned(), true),
        ("sums of sums", 1, "sum(i, 0, 9999, sum(j, 0, 9999, sin(i*x0 + j)))".to_owned(), false),
        ("sums of nothing", 1, "x0 + sum(i, 1, 1e8, sum(j, 1, 1e8, 0))".to_owned(), false),
        ("one term all over", 1, "sum(i, 1, 1e8, x0)".to_owned(), false),
        ("sums over coordinates within each other", 500, "sum(sum(sum(x0*i)))".to_owned(), false),
    ];
    for (what, dim, text, is_read) in cases {
        let before = IN_USE.load(Ordering::SeqCst);
        PEAK.store(before, Ordering::SeqCst);
        let read = Formula::new(&text, dim, &[]);
        let taken = PEAK.load(Ordering::SeqCst) - before;
        let allowed = (24 << 20) + 1024 * (text.len() * dim) as u64;
        assert!(taken <= allowed, "{what}: {taken} bytes, where {allowed} are allowed");
        assert_eq!(read.is_ok(), is_read, "{what}: {:?}", read.err());
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("{what}: {} bytes took {:.2} MiB", text.len(), taken as f64 / 1048576.0);
        }
    }
}
