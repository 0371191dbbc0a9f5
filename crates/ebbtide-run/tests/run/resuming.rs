//! Stopped, killed and extended runs end as if nothing had been.

use std::fs;

use ebbtide::objective::Method;
use ebbtide_run::folder::Files;
use ebbtide_run::run::Run;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Status, Stop};

use crate::small::{begin, folder, last_line, resume, small, threads, traces};

#[test]
fn a_run_stopped_anywhere_and_resumed_leaves_the_same_traces() {
    for method in [Method::TbTb, Method::TbTlm, Method::PisVarGrad] {
        let parent = folder();
        let settings = small(method, 3);
        let (whole, outcome) = begin(parent.path(), &settings, u64::MAX);
        assert_eq!(outcome.status, Status::Finished);
        let (broken, outcome) = begin(parent.path(), &settings, 7);
        assert_eq!((&outcome.status, outcome.iterations), (&Status::Interrupted, 7));
        for stop in [8, 20, 31] {
            let outcome = resume(&broken, None, stop).expect("it goes on");
            assert_eq!((outcome.status, outcome.iterations), (Status::Interrupted, stop));
        }
        assert_eq!(resume(&broken, None, u64::MAX).expect("it ends").status, Status::Finished);
        assert!(traces(&whole) == traces(&broken), "{method}");
    }
}

#[test]
fn a_run_killed_between_checkpoints_writes_its_lines_again() {
    let parent = folder();
    let settings = small(Method::TbTb, 1);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    let (killed, _) = begin(parent.path(), &settings, 11);
    // What a kill after iteration 30 would leave: lines and a best beyond the checkpoint of iteration 11.
    let mut lines = fs::read(Files(&killed).metrics()).expect("metrics");
    lines.extend(fs::read(Files(&whole).metrics()).expect("metrics").split_at(1000).1);
    fs::write(Files(&killed).metrics(), lines).expect("written");
    for best in
        fs::read_dir(Files(&whole).checkpoints()).expect("listed").map(|entry| entry.expect("an entry"))
    {
        if best.file_name().to_string_lossy().starts_with("best-") {
            fs::copy(best.path(), Files(&killed).checkpoints().join("best-000000039.safetensors"))
                .expect("copied");
        }
    }
    fs::write(killed.join(".abc.part"), "half a file").expect("written");
    fs::write(Files(&killed).checkpoints().join(".def.part"), "half a file").expect("written");
    resume(&killed, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&killed));
    assert!(!killed.join(".abc.part").exists() && !Files(&killed).checkpoints().join(".def.part").exists());
}

#[test]
fn a_run_without_a_checkpoint_begins_anew() {
    let parent = folder();
    let settings = small(Method::TbTb, 1);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    drop(Run::begin(parent.path(), settings.clone(), &threads()).expect("it begins"));
    let killed = parent.path().join(format!("{}-2", whole.file_name().expect("a name").to_string_lossy()));
    resume(&killed, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&killed));
}

#[test]
fn a_run_stopped_before_its_first_iteration_has_one_first_line() {
    let parent = folder();
    let stop = Stop::new();
    stop.ask();
    let run = Run::begin(parent.path(), small(Method::TbTb, 0), &threads()).expect("it begins");
    let folder = run.folder().to_owned();
    assert_eq!(run.go(&stop, &mut ()).expect("it ends").iterations, 0);
    resume(&folder, None, u64::MAX).expect("it ends");
    let (whole, _) = begin(parent.path(), &small(Method::TbTb, 0), u64::MAX);
    assert!(traces(&folder) == traces(&whole));
}

#[test]
fn an_extended_run_is_the_longer_run() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    let (longer, _) = begin(parent.path(), &settings, u64::MAX);
    settings.config.iterations = 25;
    let (extended, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert_eq!((outcome.status, outcome.iterations), (Status::Finished, 25));
    let refused = resume(&extended, None, u64::MAX).expect_err("there is nothing to do").to_string();
    assert!(refused.contains("all 25 iterations are done"), "{refused}");
    let refused = resume(&extended, Some(10), u64::MAX).expect_err("that is over").to_string();
    assert!(refused.contains("25 iterations already"), "{refused}");
    assert_eq!(last_line(&extended).iteration, 25, "the last iteration has a line");
    resume(&extended, Some(40), u64::MAX).expect("it goes on");
    assert!(traces(&longer) == traces(&extended));
}

/// The best weights of a longer run are not those of an end that it does not have.
#[test]
fn extended_runs_keep_the_best_of_the_longer_run() {
    for seed in 0..8 {
        let parent = folder();
        let mut settings = small(Method::TbTb, seed);
        settings.config.iterations = 31;
        let (longer, _) = begin(parent.path(), &settings, u64::MAX);
        settings.config.iterations = 25;
        let (extended, _) = begin(parent.path(), &settings, u64::MAX);
        resume(&extended, Some(31), u64::MAX).expect("it goes on");
        assert!(traces(&longer) == traces(&extended), "seed {seed}");
    }
}

#[test]
fn an_extension_killed_before_its_result_is_concluded() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.config.iterations = 25;
    let (extended, _) = begin(parent.path(), &settings, u64::MAX);
    let old = fs::read(Files(&extended).result()).expect("a result");
    resume(&extended, Some(40), u64::MAX).expect("it goes on");
    let whole = traces(&extended);
    fs::write(Files(&extended).result(), old).expect("as a kill would have left it");
    let outcome = resume(&extended, None, u64::MAX).expect("it is concluded");
    assert_eq!((outcome.status, outcome.iterations), (Status::Finished, 40));
    assert!(whole == traces(&extended));
}

#[test]
fn an_extension_can_be_taken_back() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 0), u64::MAX);
    let whole = traces(&folder);
    drop(Run::resume(&folder, Some(1000), &threads()).expect("it would go on"));
    resume(&folder, Some(40), u64::MAX).expect("it is concluded again");
    assert!(whole == traces(&folder));
    assert!(fs::read_to_string(Files(&folder).config()).expect("configuration").contains("iterations = 40"));
}

#[test]
fn the_last_line_comes_again_when_only_the_result_is_missing() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.keeping.record_every = 7;
    settings.keeping.evaluate_every = 14;
    let (folder, _) = begin(parent.path(), &settings, u64::MAX);
    let whole = traces(&folder);
    assert_eq!(last_line(&folder).iteration, 40);
    fs::remove_file(Files(&folder).result()).expect("as a kill would have left it");
    resume(&folder, None, u64::MAX).expect("it is concluded");
    assert!(whole == traces(&folder));
}

#[test]
fn best_weights_are_of_an_iteration_that_the_run_has() {
    let parent = folder();
    for seed in 0..4 {
        let mut settings = small(Method::TbTb, seed);
        settings.keeping.evaluate_every = 2;
        let (longer, _) = begin(parent.path(), &settings, u64::MAX);
        let (killed, _) = begin(parent.path(), &small(Method::TbTb, seed), 12);
        // A kill after iteration 40, with a checkpoint of iteration 12.
        for file in
            fs::read_dir(Files(&longer).checkpoints()).expect("listed").map(|entry| entry.expect("an entry"))
        {
            if file.file_name().to_string_lossy().starts_with("best-") {
                fs::copy(file.path(), Files(&killed).checkpoints().join(file.file_name())).expect("copied");
            }
        }
        resume(&killed, Some(12), u64::MAX).expect("it is concluded");
        let best = Trained::open(&killed, Which::Best, &threads()).expect("the best");
        assert!(best.iteration <= 12, "seed {seed}: the best is of iteration {}", best.iteration);
    }
}
