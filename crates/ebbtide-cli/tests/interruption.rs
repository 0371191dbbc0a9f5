//! Trainings that are interrupted and killed at any moment: nothing that was saved is lost, and the end is the same.

#![cfg(unix)]

mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use place::{Moments, Place, assert_same, interrupt, last_checkpoint, told, wait_until};

/// The iteration of the newest checkpoint.
fn saved(run: &Path) -> u64 {
    let name =
        last_checkpoint(run).map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned());
    name.map_or(0, |name| name.parse().expect("a number"))
}

#[test]
fn interrupted_and_killed_at_random_it_ends_as_if_nothing_had_been() {
    let place = Place::new();
    let length = "--iterations=1500";
    let whole = told(place.train(&["25gmm", length, "--runs=whole", "--quiet"]));
    assert_eq!(whole.code, 0, "{}", whole.err);
    let settings = ["25gmm", length, "--runs=broken", "--quiet", "--set=checkpoint.seconds=0.02"];
    let mut child = place.spawn(place.train(&settings));
    wait_until("the first checkpoint", || {
        let begun = fs::read_dir(place.path().join("broken")).is_ok_and(|mut runs| runs.next().is_some());
        begun && saved(&place.only_run("broken")) > 0
    });
    let run = place.only_run("broken");
    let (mut moments, mut interrupted) = (Moments(1), 0);
    for round in 0..12 {
        std::thread::sleep(moments.next(Duration::from_millis(60)));
        if round % 2 == 0 {
            interrupt(&child);
            interrupted += u32::from(child.wait().expect("it ends").code() == Some(130));
        } else {
            child.kill().expect("killed");
            child.wait().expect("it is gone");
        }
        let before = saved(&run);
        child =
            place.spawn(place.command(&["resume", run.to_str().expect("UTF-8"), "--quiet", "--threads=1"]));
        std::thread::sleep(Duration::from_millis(30));
        assert!(saved(&run) >= before, "a checkpoint was lost");
    }
    interrupt(&child);
    child.wait().expect("it ends");
    assert!(interrupted > 0, "it ended before it could be interrupted: make it longer");
    let last = told(place.command(&["resume", run.to_str().expect("UTF-8"), "--quiet", "--threads=2"]));
    assert!(last.code == 0 || last.err.contains("is finished"), "{}", last.err);
    // How often checkpoints are written is not part of what is compared.
    let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
    assert!(config.contains("seconds = 0.02"));
    fs::write(run.join("config.toml"), config.replace("seconds = 0.02", "seconds = 60.0")).expect("written");
    let whole = place.only_run("whole");
    assert_same(&run, &whole);
}

const CHECKPOINTS: [&str; 3] = ["25gmm", "--quiet", "--set=checkpoint.seconds=0"];

/// A run that would never end and does little but write checkpoints, once it has written the first.
fn endless(place: &Place) -> (Child, PathBuf) {
    let child = place.spawn(place.train(&[&CHECKPOINTS[..], &["--iterations=100000000"]].concat()));
    wait_until("the first checkpoint", || {
        let begun = fs::read_dir(place.path().join("runs")).is_ok_and(|mut runs| runs.next().is_some());
        begun && saved(&place.only_run("runs")) > 0
    });
    (child, place.only_run("runs"))
}

/// A run that is killed again and again. What is on disk after a kill must be there after the
/// next start, and the run must get ahead.
#[test]
fn a_hundred_kills_never_lose_the_last_good_checkpoint() {
    let place = Place::new();
    let (mut child, run) = endless(&place);
    let (mut moments, mut last, mut leftovers) = (Moments(2), 0, 0);
    for kill in 0..100 {
        std::thread::sleep(moments.next(Duration::from_millis(12)));
        child.kill().expect("killed");
        child.wait().expect("it is gone");
        let now = saved(&run);
        assert!(
            now >= last,
            "after kill {kill} the newest checkpoint is of iteration {now}, and was of {last} before"
        );
        last = now;
        let names = fs::read_dir(run.join("checkpoints")).expect("checkpoints");
        leftovers += names
            .filter(|entry| {
                entry.as_ref().expect("an entry").file_name().to_string_lossy().ends_with(".part")
            })
            .count();
        if kill % 10 == 9 {
            // Sampling reads the newest checkpoint, and says so if it had to go back to the one before.
            let drawn = told(place.command(&["sample", run.to_str().expect("UTF-8"), "-n", "1"]));
            assert_eq!((drawn.code, drawn.err.as_str()), (0, ""), "after kill {kill}");
        }
        child =
            place.spawn(place.command(&["resume", run.to_str().expect("UTF-8"), "--quiet", "--threads=1"]));
        wait_until("a checkpoint after a kill", || saved(&run) > last);
    }
    child.kill().expect("killed");
    child.wait().expect("it is gone");
    assert!(leftovers > 0, "no kill fell into the writing of a checkpoint: they prove nothing");
    let log = fs::read_to_string(run.join("log.txt")).expect("a log");
    assert!(!log.contains("cannot be used"), "a checkpoint was damaged");
    assert_eq!(log.matches("goes on after iteration").count(), 100);
    ends_like_a_whole_one(&place, &run);
}

/// Lets a run that would never end come to an end a hundred iterations from now, and compares it with one to which nothing happened.
fn ends_like_a_whole_one(place: &Place, run: &Path) {
    let length = format!("--iterations={}", saved(run) + 100);
    let name = run.to_str().expect("UTF-8");
    let ended = told(place.command(&["resume", name, &length, "--quiet", "--threads=2"]));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let whole = told(place.train(&[&CHECKPOINTS[..], &[&length, "--runs=whole"]].concat()));
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert_same(run, &place.only_run("whole"));
}

/// The iteration of the checkpoint that the log told of last: one that was written, or that the run went on with. An earlier line may
/// be about a checkpoint of the same iteration that was damaged since.
fn last_told(run: &Path) -> Option<String> {
    let log = fs::read_to_string(run.join("log.txt")).expect("a log");
    let number = |line: &str| {
        let told = [" checkpoint after iteration ", " goes on after iteration "];
        let (_, rest) = told.iter().find_map(|words| line.split_once(words))?;
        rest.split(' ').next().map(str::to_owned)
    };
    log.lines().rev().find_map(number)
}

/// A run that is killed again and again, and whose newest checkpoint is then removed, cut, emptied, or has a bit turned over.
#[test]
fn a_checkpoint_that_is_lost_or_damaged_costs_time_and_nothing_else() {
    let place = Place::new();
    let (mut child, run) = endless(&place);
    let name = run.to_str().expect("UTF-8");
    let (mut moments, mut gone, mut damaged) = (Moments(3), 0, 0);
    let count = || {
        let names =
            fs::read_dir(run.join("checkpoints")).expect("listed").flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with('0')).count()
    };
    for round in 0..24 {
        wait_until("a second checkpoint", || count() >= 2);
        std::thread::sleep(moments.next(Duration::from_millis(12)));
        child.kill().expect("killed");
        child.wait().expect("it is gone");
        let newest = last_checkpoint(&run).expect("there are two");
        let whole = fs::read(&newest).expect("it is whole");
        let at = moments.next(Duration::from_nanos(whole.len() as u64 - 1)).as_nanos() as usize;
        match round % 4 {
            0 => fs::remove_file(&newest).expect("removed"),
            1 => fs::write(&newest, &whole[..at]).expect("cut"),
            2 => fs::write(&newest, "").expect("emptied"),
            _ => {
                let mut turned = whole;
                turned[at] ^= 1 << (round / 4);
                fs::write(&newest, turned).expect("turned over");
            }
        }
        if round % 4 == 0 {
            // A kill may have come before the log could tell of it, and then nobody misses it.
            let of = newest.file_stem().expect("a name").to_string_lossy().trim_start_matches('0').to_owned();
            gone += usize::from(last_told(&run).is_some_and(|told| told == of));
        } else {
            damaged += 1;
            let drawn = told(place.command(&["sample", name, "-n", "1"]));
            assert_eq!(drawn.code, 0, "{}", drawn.err);
            assert!(
                drawn.err.contains("cannot be used") && drawn.err.contains("the one before is taken"),
                "{}",
                drawn.err
            );
        }
        let resumed = || {
            fs::read_to_string(run.join("log.txt")).expect("a log").matches("goes on after iteration").count()
        };
        let before = resumed();
        child = place.spawn(place.command(&["resume", name, "--quiet", "--threads=1"]));
        wait_until("the run to go on", || resumed() > before);
    }
    child.kill().expect("killed");
    child.wait().expect("it is gone");
    let log = fs::read_to_string(run.join("log.txt")).expect("a log");
    let told = (log.matches(", is gone").count(), log.matches("the one before is taken").count());
    assert_eq!(told, (gone, damaged));
    assert!(gone > 0);
    ends_like_a_whole_one(&place, &run);
}

#[test]
fn a_second_interrupt_leaves_at_once() {
    let place = Place::new();
    // A final evaluation that takes minutes.
    let arguments = ["manywell", "--iterations=100000000", "--quiet", "--set=evaluation.every=0"];
    let mut command = place.train(&arguments);
    command.arg("--set=evaluation.samples=20000");
    let mut child = place.spawn(command);
    let run = place.wait_for("manywell-tb-tb-T3-s0");
    interrupt(&child);
    wait_until("the checkpoint", || last_checkpoint(&run).is_some());
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().expect("it can be asked").is_none(), "it still evaluates");
    interrupt(&child);
    let begun = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let resumed = told(place.command(&["eval", "manywell-tb-tb-T3-s0", "--samples=16", "--json"]));
    assert_eq!(resumed.code, 0, "the checkpoint of the first interrupt is there: {}", resumed.err);
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let place = Place::new();
    let mut child = place.spawn(place.train(&["25gmm", "--iterations=100000000", "--quiet"]));
    place.wait_for("25gmm-tb-tb-T3-s0");
    let second = told(place.command(&["resume", "25gmm-tb-tb-T3-s0"]));
    assert_eq!(second.code, 1);
    assert!(second.err.contains("is in use: another process is training there"), "{}", second.err);
    child.kill().expect("killed");
    child.wait().expect("it is gone");
}

#[test]
fn what_a_batch_system_sends_is_an_interruption_too() {
    let place = Place::new();
    for (seed, signal) in [("0", "-TERM"), ("1", "-HUP")] {
        let mut child =
            place.spawn(place.train(&["25gmm", "--iterations=100000000", "--quiet", "--seed", seed]));
        place.wait_for(&format!("25gmm-tb-tb-T3-s{seed}"));
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{signal}");
        let drawn = told(place.command(&["sample", &format!("25gmm-tb-tb-T3-s{seed}"), "-n1"]));
        assert_eq!(drawn.code, 0, "{signal} left a checkpoint: {}", drawn.err);
    }
}

#[test]
fn waiting_seeds_do_not_begin_after_an_interrupt() {
    let place = Place::new();
    let mut child = place.spawn(place.train(&["25gmm", "--iterations=100000000", "--quiet", "--seeds=0-9"]));
    place.wait_for("25gmm-tb-tb-T3-s0");
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    place.only_run("runs");
}

#[test]
fn interrupted_sampling_leaves_nothing_behind() {
    let place = Place::new();
    assert_eq!(told(place.train(&["25gmm", "--iterations=5", "-q"])).code, 0);
    let mut child =
        place.spawn(place.command(&["sample", "25gmm-tb-tb-T3-s0", "-n", "1e12", "-o", "many.npy"]));
    wait_until("the file", || fs::read_dir(place.path()).expect("listed").count() > 1);
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let names: Vec<_> = fs::read_dir(place.path())
        .expect("listed")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["runs"]);
}
