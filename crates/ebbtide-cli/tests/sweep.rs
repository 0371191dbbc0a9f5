//! Sweeps: killed, restarted, divided and merged.

#![cfg(unix)]

mod place;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use place::{Moments, Place, assert_same, told};

const SWEEP: &str = r#"
targets = ["25gmm", "easy-funnel"]
methods = ["tb-tb", "tb-variance"]
steps = [2, 3]
seeds = [0, 1]
workers = 2

[set]
iterations = 120
batch = 16
network.width = 16
"replay.capacity" = 200
checkpoint.seconds = 0.01
[set.local-search]
every = 20
steps = 20
burn-in = 10
capacity = 2000
[set.evaluation]
samples = 64
every = 40
"#;

fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut runs: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

/// Finished runs, and when their results were written.
fn done(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let results = runs_in(folder).into_iter().map(|run| run.join("result.json"));
    results.filter_map(|path| Some((path.clone(), path.metadata().ok()?.modified().ok()?))).collect()
}

#[test]
fn a_sweep_killed_and_restarted_loses_and_repeats_nothing() {
    let place = Place::new();
    place.write("whole.toml", SWEEP);
    place.write("broken.toml", SWEEP);
    let whole = told(place.command(&["sweep", "whole.toml", "--quiet"]));
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert_eq!(whole.out.lines().count(), 1 + 8, "{}", whole.out);
    let folder = place.path().join("runs/broken");
    let (mut kills, mut moments, mut patience) = (0, Moments(3), 1);
    let begun = Instant::now();
    while done(&folder).len() < 16 {
        assert!(begun.elapsed() < Duration::from_secs(300), "{kills} kills, and not done");
        let before = done(&folder);
        let mut child = place.spawn(place.command(&["sweep", "broken.toml", "--quiet"]));
        // On a slow machine it must be let alone for longer to get anywhere.
        std::thread::sleep(moments.next(Duration::from_millis(20 * patience)));
        child.kill().expect("killed");
        child.wait().expect("it is gone");
        kills += 1;
        let after = done(&folder);
        patience = if after.len() > before.len() { 1 } else { patience + 1 };
        for (path, written) in &before {
            assert_eq!(after.get(path), Some(written), "{} was done and is done again", path.display());
        }
    }
    assert!(kills >= 20, "only {kills} kills");
    let last = told(place.command(&["sweep", "broken.toml"]));
    assert_eq!(last.code, 0);
    assert!(last.err.contains("16 of 16 runs are done already"), "{}", last.err);
    let timeless = |table: &str| {
        let lines = table
            .lines()
            .map(|line| line.rsplit_once("  ").map_or(line, |(rest, _)| rest.trim_end()).to_owned());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(timeless(&last.out), timeless(&whole.out));
    let mut resumed = 0;
    for run in runs_in(&place.path().join("runs/whole")) {
        let other = folder.join(run.file_name().expect("a name"));
        assert_same(&run, &other);
        let log = fs::read_to_string(other.join("log.txt")).expect("a log");
        resumed += log.matches("goes on after iteration").count();
    }
    assert!(resumed > 0, "no kill fell into a run: they prove nothing");
}

#[test]
fn shards_make_up_the_whole() {
    let place = Place::new();
    place.write("whole.toml", SWEEP);
    place.write("parts.toml", SWEEP);
    assert_eq!(told(place.command(&["sweep", "whole.toml", "--quiet"])).code, 0);
    let shards = ["1/3", "2/3", "3/3"];
    let children: Vec<_> = shards
        .iter()
        .map(|shard| {
            place.spawn(place.command(&["sweep", "parts.toml", "--quiet", "--workers=1", "--shard", shard]))
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
    let (whole, parts) = (place.path().join("runs/whole"), place.path().join("runs/parts"));
    for run in runs_in(&whole) {
        let other = parts.join(run.file_name().expect("a name"));
        assert_same(&run, &other);
        let log = fs::read_to_string(other.join("log.txt")).expect("a log");
        assert_eq!(log.matches("begins:").count(), 1, "each run belongs to one shard");
    }
    let merged = told(place.command(&["sweep", "parts.toml", "--merge", "--form", "csv"]));
    assert_eq!((merged.code, merged.err.as_str()), (0, ""));
    assert_eq!(merged.out, place.read("runs/parts/results.csv"));
    let timeless = |text: &str| {
        text.lines().map(|line| line.rsplitn(3, ',').nth(2).map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(timeless(&merged.out), timeless(&place.read("runs/whole/results.csv")));
}

#[test]
fn a_sweep_that_was_changed_is_refused_where_it_has_begun() {
    let place = Place::new();
    let text = "targets = [\"25gmm\"]\nsteps = 2\nseeds = [0, 1]\n[set]\niterations = 5\nbatch = 8\nevaluation.samples = 16";
    place.write("sweep.toml", text);
    assert_eq!(told(place.command(&["sweep", "sweep.toml", "-q"])).code, 0);
    // More iterations and more seeds are more of the same, also where evaluations follow the number of iterations.
    place.write(
        "sweep.toml",
        &text.replace("iterations = 5", "iterations = 200").replace("[0, 1]", "[0, 1, 2]"),
    );
    let longer = told(place.command(&["sweep", "sweep.toml", "-q"]));
    assert_eq!(longer.code, 0, "{}", longer.err);
    assert!(place.read("runs/sweep/25gmm-tb-tb-T2-s0/result.json").contains("\"iterations\": 200"));
    // A run that is done is not taken for one that was never asked for.
    place.write("sweep.toml", &text.replace("batch = 8", "batch = 16"));
    for merge in [&[][..], &["--merge"]] {
        let other = told(place.command(&[&["sweep", "sweep.toml", "-q"], merge].concat()));
        assert!(other.err.contains("2 of 2 runs are not done"), "{}", other.err);
        if merge.is_empty() {
            assert_eq!(other.code, 1);
            assert!(
                other.err.contains("was begun with batch = 8, and is now asked for with 16"),
                "{}",
                other.err
            );
            assert!(other.err.contains("2 of 2 runs failed"), "{}", other.err);
        }
    }
}

#[test]
fn two_processes_share_a_sweep() {
    let place = Place::new();
    let text = "targets = [\"25gmm\"]\nsteps = [3, 2]\nseeds = [0, 1]\n[set]\niterations = 100\nbatch = 16\nevaluation.samples = 16";
    place.write("sweep.toml", text);
    let mut children: Vec<_> =
        (0..3).map(|_| place.spawn(place.command(&["sweep", "sweep.toml", "-q", "--workers=1"]))).collect();
    for child in &mut children {
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
    let last = told(place.command(&["sweep", "sweep.toml", "-q"]));
    assert_eq!((last.code, last.err.as_str()), (0, ""));
    for run in runs_in(&place.path().join("runs/sweep")) {
        let log = fs::read_to_string(run.join("log.txt")).expect("a log");
        assert_eq!(log.matches("finished after").count(), 1, "{log}");
    }
    assert_eq!(
        place.read("runs/sweep/runs.csv").lines().filter(|line| line.contains(",finished,100,")).count(),
        4
    );
}

#[test]
fn a_run_that_cannot_be_read_does_not_stop_the_others() {
    let place = Place::new();
    place.write(
        "sweep.toml",
        "targets = \"25gmm\"\nseeds = [0, 1]\n[set]\niterations = 5\nbatch = 8\nevaluation.samples = 16",
    );
    assert_eq!(told(place.command(&["sweep", "sweep.toml", "-q", "--shard=1/2"])).code, 0);
    fs::write(place.path().join("runs/sweep/25gmm-tb-tb-T5-s0/result.json"), "{").expect("damaged");
    let rest = told(place.command(&["sweep", "sweep.toml", "-q"]));
    assert_eq!(rest.code, 1);
    assert!(rest.err.contains("result.json") && rest.out.contains("25gmm"), "{}{}", rest.out, rest.err);
    assert!(place.path().join("runs/sweep/25gmm-tb-tb-T5-s1/result.json").exists());
    let compared = told(place.command(&["compare", "runs"]));
    assert!(compared.code == 1 && compared.out.contains("25gmm"), "{}{}", compared.out, compared.err);
}

#[test]
fn a_wrong_sweep_is_told_with_its_places() {
    let place = Place::new();
    let hundred = |first: u32| (first..first + 100).map(|one| one.to_string()).collect::<Vec<_>>().join(", ");
    let many = format!("targets = \"25gmm\"\nsteps = [{}]\nseeds = [{}, 300]", hundred(1), hundred(0));
    let cases = [
        (&*many, "the sweep has 10100 runs, and 10000 are the most"),
        ("seeds = [0]", "the sweep has no `targets`"),
        ("targets = []", "`targets` is empty"),
        ("targets = [\"26gmm\"]", "did you mean `25gmm`?"),
        ("target = \"25gmm\"", "this is the configuration of a run, not a sweep"),
        ("targets = \"25gmm\"\nsteps = [0]", "a grid needs at least one step"),
        ("targets = \"25gmm\"\nworkers = \"two\"", "workers is \"two\", but must be a whole number"),
        ("targets = \"25gmm\"\n[set]\nbtach = 3", "did you mean `batch`?"),
        ("targets = \"25gmm\"\n[set]\nseed = 3", "write `seeds = [3]` before the tables"),
        ("targets = \"25gmm\"\nseeds = [0, 1, 0]", "25gmm-tb-tb-T5-s0 is in the sweep twice"),
        ("targets = \"25gmm\"\nworkers = 0", "workers is 0, but must be a whole number, 1 or above"),
        (
            "targets = \"25gmm\"\nmethods = [\"tb-tb\", \"pis-tlm\"]\n[set]\nreplay.ratio = 2",
            "reverse KL cannot learn from replayed",
        ),
    ];
    for (text, message) in cases {
        place.write("sweep.toml", text);
        let answer = told(place.command(&["sweep", "sweep.toml"]));
        assert_eq!(answer.code, 2, "{text}");
        assert!(answer.err.contains(message), "{text}\n{}", answer.err);
        assert!(!place.path().join("runs").exists(), "nothing was begun");
        if text.contains("targets") {
            assert_eq!(told(place.command(&["check", "sweep.toml"])).code, 2, "{text}");
        }
    }
}
