//! A run and its folder: what is there, what survives, what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::trajectory::Threads;
use ebbtide_run::compare::{gather, group};
use ebbtide_run::folder::Files;
use ebbtide_run::run::{Run, RunError};
use ebbtide_run::settings::Settings;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Event, Observer, Outcome, Record, Status, Stop, journal};
use tempfile::TempDir;

/// A run that takes a moment: all buffers in use, every kind of line in the metrics.
fn small(method: Method, seed: u64) -> Settings {
    let mut settings = Settings::preset(NamedTarget::Gmm25, Some(method), 3);
    settings.config.iterations = 40;
    settings.config.batch = 16;
    settings.config.seed = seed;
    settings.config.network.width = 16;
    settings.config.replay.capacity = 100;
    if let Some(search) = &mut settings.config.local_search {
        (search.every, search.steps, search.burn_in, search.capacity) = (10, 10, 5, 300);
    }
    settings.keeping.evaluate_every = 10;
    settings.keeping.record_every = 3;
    settings.keeping.samples = 64;
    settings
}

fn threads() -> Threads {
    Threads::new(1).expect("a thread")
}

/// Asks to stop after some iterations.
struct StopAfter(u64, Stop);

impl Observer for StopAfter {
    fn notice(&mut self, event: Event) {
        if let Event::Stepped(report) = event
            && report.iteration == self.0
        {
            self.1.ask();
        }
    }
}

fn begin(parent: &Path, settings: &Settings, stop_after: u64) -> (PathBuf, Outcome) {
    let run = Run::begin(parent, settings.clone(), &threads()).expect("it begins");
    let folder = run.folder().to_owned();
    let stop = Stop::new();
    let outcome = run.go(&stop, &mut StopAfter(stop_after, stop.clone())).expect("it ends");
    (folder, outcome)
}

fn resume(folder: &Path, iterations: Option<u64>, stop_after: u64) -> Result<Outcome, RunError> {
    let stop = Stop::new();
    Run::resume(folder, iterations, &threads())?.go(&stop, &mut StopAfter(stop_after, stop.clone()))
}

/// Samples, lines of metrics, and the last and the best weights with their iterations.
type Traces = (Vec<u8>, Vec<Record>, [(u64, Vec<f32>); 2]);

/// Everything a run leaves that is not about time.
fn traces(folder: &Path) -> Traces {
    let mut records = journal::read(&Files(folder).metrics()).expect("metrics");
    records.iter_mut().for_each(|record| record.seconds = 0.0);
    let samples = fs::read(Files(folder).samples()).expect("samples");
    let weights = [Which::Last, Which::Best].map(|which| {
        let trained = Trained::open(folder, which, &threads()).expect("weights");
        (trained.iteration, trained.sampler.parameters().to_vec())
    });
    (samples, records, weights)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

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

fn last_line(folder: &Path) -> Record {
    journal::read(&Files(folder).metrics()).expect("metrics").pop().expect("a line")
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
fn a_damaged_checkpoint_is_passed_over() {
    let parent = folder();
    let settings = small(Method::TbTb, 2);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    let (broken, _) = begin(parent.path(), &settings, 12);
    resume(&broken, None, 23).expect("it goes on");
    let checkpoints = Files(&broken).checkpoints();
    let (old, new) = (checkpoints.join("000000012.safetensors"), checkpoints.join("000000023.safetensors"));
    let good = fs::read(&new).expect("the newest");
    let mut flipped = good.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    for (damage, message) in [
        (&flipped[..], "checksum"),
        (&good[..good.len() / 2], "not a whole safetensors file"),
        (b"", "not a whole safetensors file"),
    ] {
        fs::write(&new, damage).expect("damaged");
        let trained = Trained::open(&broken, Which::Last, &threads()).expect("the one before");
        assert_eq!(trained.iteration, 12);
        assert!(trained.remarks[0].contains(message), "{}", trained.remarks[0]);
    }
    resume(&broken, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&broken));
    for path in fs::read_dir(&checkpoints).expect("listed").map(|entry| entry.expect("entry").path()) {
        fs::write(path, "rubbish").expect("damaged");
    }
    let message = resume(&broken, Some(50), u64::MAX).expect_err("all are damaged").to_string();
    assert!(message.contains("none of the checkpoints"), "{message}");
    assert!(!old.exists(), "only the newest two are kept");
}

#[test]
fn settings_changed_behind_its_back_are_refused() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    let config = Files(&folder).config();
    let text = fs::read_to_string(&config).expect("the configuration");
    fs::write(&config, text.replace("batch = 16", "batch = 32")).expect("changed");
    let message = resume(&folder, None, u64::MAX).expect_err("another run").to_string();
    assert!(message.contains("batch = 16") && message.contains("says 32"), "{message}");
    // How closely it is watched may change.
    fs::write(&config, text.replace("samples = 64", "samples = 32")).expect("changed");
    assert_eq!(resume(&folder, None, u64::MAX).expect("it ends").status, Status::Finished);
}

#[test]
fn divergence_is_an_outcome() {
    let parent = folder();
    let mut settings = small(Method::TbVariance, 0);
    settings.config.optimisation.generation_rate = 1e30;
    settings.config.optimisation.clip = 1e30;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    let Status::Diverged { at, reason, .. } = &outcome.status else { panic!("{:?}", outcome.status) };
    assert!(*at <= 40 && !reason.is_empty());
    let read = ebbtide_run::run::read_outcome(&folder).expect("it can be read").expect("it is there");
    assert!(matches!(&read.status, Status::Diverged { at: written, .. } if written == at));
    assert!(
        fs::read_to_string(Files(&folder).log())
            .expect("log")
            .contains(&format!("diverged at iteration {at}"))
    );
    let message = resume(&folder, None, u64::MAX).expect_err("it would again").to_string();
    assert!(message.contains(&format!("diverged at iteration {at}")), "{message}");
    let groups = group(&gather(&[folder]).found);
    assert_eq!((groups[0].diverged, groups[0].seeds.len(), groups[0].unfinished), (1, 0, 0));
}

#[test]
fn an_exploding_bound_is_divergence_too() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    // Any fall of a bound behind its best counts.
    settings.keeping.explosion = 1e-9;
    settings.keeping.evaluate_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    let Status::Diverged { reason, point, .. } = &outcome.status else { panic!("{:?}", outcome.status) };
    assert!(reason.contains("BO is") && point.len() == 2, "{reason} {point:?}");
    assert!(outcome.figures.is_some(), "figures of the evaluation before");
    assert!(fs::read_to_string(Files(&folder).log()).expect("log").contains(reason));
}

#[test]
fn seeds_are_put_together_and_what_is_unfinished_is_counted() {
    let parent = folder();
    for seed in 0..3 {
        begin(parent.path(), &small(Method::TbTb, seed), u64::MAX);
    }
    begin(parent.path(), &small(Method::TbTb, 3), 5);
    begin(parent.path(), &small(Method::TbVariance, 0), u64::MAX);
    let found = gather(&[parent.path().to_owned()]).found;
    let groups = group(&found);
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[0].method.as_str(), groups[1].method.as_str()), ("tb-variance", "tb-tb"));
    let (seeds, unfinished) = (&groups[1].seeds, groups[1].unfinished);
    assert_eq!((seeds.as_slice(), unfinished), (&[0, 1, 2][..], 1));
    let elbos: Vec<f64> = found
        .iter()
        .filter(|run| run.settings.method == Some(Method::TbTb))
        .filter_map(|run| run.outcome.as_ref().filter(|outcome| outcome.status == Status::Finished))
        .map(|outcome| outcome.figures.expect("figures").elbo)
        .collect();
    let mean = groups[1].elbo.expect("a mean");
    assert!((mean.mean - elbos.iter().sum::<f64>() / 3.0).abs() < 1e-12 && mean.deviation.is_some());
}

/// A training whose first update leaves weights that no number holds.
fn explosive(rate: f64, clip: f64) -> Settings {
    let mut settings = small(Method::TbVariance, 0);
    settings.config.replay.ratio = 0;
    settings.config.local_search = None;
    settings.config.optimisation.generation_rate = rate;
    settings.config.optimisation.clip = clip;
    settings.keeping.evaluate_every = 0;
    settings
}

#[test]
fn an_interruption_does_not_change_how_a_training_ends() {
    for (rate, clip) in [(1e38, 1e30), (1e20, 200.0), (1e15, 1e30), (1e4, 1e30), (1e3, 1e30)] {
        let parent = folder();
        let (_, outcome) = begin(parent.path(), &explosive(rate, clip), u64::MAX);
        for stop in [1, 2, 5] {
            let (broken, first) = begin(parent.path(), &explosive(rate, clip), stop);
            if first.status == Status::Interrupted {
                let resumed = resume(&broken, None, u64::MAX).expect("it goes on");
                assert_eq!(
                    format!("{:?}", resumed.status),
                    format!("{:?}", outcome.status),
                    "{rate} {clip} {stop}"
                );
                assert_eq!(resumed.iterations, outcome.iterations);
            } else {
                assert_eq!(
                    format!("{:?}", first.status),
                    format!("{:?}", outcome.status),
                    "{rate} {clip} {stop}"
                );
            }
        }
    }
}

#[test]
fn a_training_that_explodes_before_its_first_evaluation_has_diverged() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.keeping.explosion = 0.1;
    settings.config.optimisation.generation_rate = 0.5;
    settings.config.optimisation.clip = 1e30;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }), "{:?}", outcome.status);
    let first = &journal::read(&Files(&folder).metrics()).expect("metrics")[0];
    assert!(first.iteration == 0 && first.figures.is_some(), "what it was worth before it learned anything");
}

#[test]
fn a_learned_constant_beyond_all_numbers_is_no_error_of_the_files() {
    let parent = folder();
    let mut settings = explosive(1e-3, 200.0);
    settings.config.optimisation.log_z_rate = 1e37;
    settings.keeping.record_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }), "{:?}", outcome.status);
    journal::read(&Files(&folder).metrics()).expect("metrics that can be read");
}

#[test]
fn weights_are_not_used_in_another_sampler() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    let config = Files(&folder).config();
    let text = fs::read_to_string(&config).expect("the configuration");
    for (from, to) in [
        ("steps = 3", "steps = 4"),
        ("\"25gmm\"", "\"40gmm\""),
        ("width = 16", "width = 32"),
        ("squared = 5.0", "squared = 6.0"),
    ] {
        fs::write(&config, text.replace(from, to)).expect("changed");
        for which in [Which::Last, Which::Best] {
            let refused =
                Trained::open(&folder, which, &threads()).err().expect("another sampler").to_string();
            assert!(refused.contains("was begun with"), "{to}: {refused}");
        }
        assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Changed { .. })), "{to}");
    }
}

#[test]
fn a_bound_that_rises_cannot_be_made_to_fall_back() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 2);
    settings.config.destruction_bound = ebbtide::train::BoundSchedule::Rising;
    let (folder, _) = begin(parent.path(), &settings, 12);
    assert!(matches!(resume(&folder, Some(50), u64::MAX), Err(RunError::Rising { .. })));
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("iterations = 40", "iterations = 50")).expect("changed");
    assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Rising { .. })));
}

#[test]
fn a_header_that_was_changed_and_a_name_that_lies_are_noticed() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    resume(&folder, None, 23).expect("it goes on");
    let newest = Files(&folder).checkpoints().join("000000023.safetensors");
    let good = fs::read(&newest).expect("the newest");
    let text = String::from_utf8_lossy(&good[..4000]).into_owned();
    let place = text.find("\\\"iteration\\\":").expect("the best iteration is in the header") + 14;
    let mut changed = good.clone();
    changed[place] = if changed[place] == b'1' { b'2' } else { b'1' };
    fs::write(&newest, &changed).expect("changed");
    let trained = Trained::open(&folder, Which::Last, &threads()).expect("the one before");
    assert!(trained.iteration == 12 && trained.remarks[0].contains("checksum"), "{:?}", trained.remarks);
    fs::write(&newest, &good).expect("as it was");
    fs::rename(&newest, newest.with_file_name("000000099.safetensors")).expect("renamed");
    let trained = Trained::open(&folder, Which::Last, &threads()).expect("the one before");
    assert!(trained.iteration == 12 && trained.remarks[0].contains("its name"), "{:?}", trained.remarks);
}

#[test]
fn runs_that_cannot_be_read_do_not_hide_the_others() {
    let parent = folder();
    let (broken, _) = begin(parent.path(), &small(Method::TbTb, 0), u64::MAX);
    begin(parent.path(), &small(Method::TbTb, 1), u64::MAX);
    fs::write(Files(&broken).result(), "{").expect("damaged");
    let gathered = gather(&[parent.path().to_owned()]);
    assert_eq!((gathered.found.len(), gathered.unreadable.len()), (1, 1));
    assert!(gathered.unreadable[0].to_string().contains("result.json"));
    // What a run came to is not needed to go on with it.
    resume(&broken, Some(45), u64::MAX).expect("it goes on");
    assert_eq!(gather(&[parent.path().to_owned()]).found.len(), 2);
}

#[test]
fn best_weights_are_of_an_iteration_that_the_run_has() {
    let parent = folder();
    for seed in 0..4 {
        let mut settings = small(Method::TbTb, seed);
        settings.keeping.evaluate_every = 2;
        let (longer, _) = begin(parent.path(), &settings, u64::MAX);
        settings.config.iterations = 12;
        let (shorter, _) = begin(parent.path(), &settings, u64::MAX);
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
        assert!(Trained::open(&shorter, Which::Best, &threads()).is_ok());
    }
}

#[test]
fn a_bound_that_is_let_through_lets_a_run_go_on_as_often_as_it_takes() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.keeping.explosion = 1e-9;
    settings.keeping.evaluate_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }));
    assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Diverged { .. })));
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("explosion = 1e-9", "explosion = 1e6")).expect("changed");
    for stop in [15, 25, u64::MAX] {
        let status = resume(&folder, None, stop).expect("it goes on").status;
        assert_eq!(status, if stop == u64::MAX { Status::Finished } else { Status::Interrupted });
    }
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
fn a_rising_bound_is_that_of_the_run_whatever_the_file_says_now() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 2);
    settings.config.destruction_bound = ebbtide::train::BoundSchedule::Rising;
    let (folder, _) = begin(parent.path(), &settings, 12);
    let model = || Trained::open(&folder, Which::Last, &threads()).expect("weights").sampler.model().clone();
    let before = model();
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("iterations = 40", "iterations = 4000"))
        .expect("changed");
    assert_eq!(model(), before);
}
