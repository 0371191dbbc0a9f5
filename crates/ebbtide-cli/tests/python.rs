//! Densities in Python files: trained, interrupted, drawn from, looked at, and refused before anything is made.

#![cfg(unix)]

#[path = "../../ebbtide-run/tests/python/numpy.rs"]
mod numpy;
mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use place::{Moments, Place, Told, assert_same, interrupt, told, wait_until};

/// Two humps, and a note of which process has them.
const MODEL: &str = "
import os, pathlib
import numpy as np

pathlib.Path(__file__).with_name('process').write_text(str(os.getpid()))
print('the model is here')

def log_density(x):
    return -(x[:, 0]**2 - 4)**2 - 0.5 * (x[:, 1] - x[:, 0])**2

def slopes(x):
    pull = x[:, 1] - x[:, 0]
    return np.stack([-4 * x[:, 0] * (x[:, 0]**2 - 4) + pull, -pull], axis=1)
";

/// A place with a model in it, and the Python that it needs.
struct Modelled {
    place: Place,
    python: PathBuf,
}

impl Modelled {
    fn new() -> Option<Self> {
        let python = numpy::with_numpy()?;
        let place = Place::new();
        place.write("model.py", MODEL);
        Some(Self { place, python })
    }

    fn train(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.train(arguments);
        command.env("EBBTIDE_PYTHON", &self.python);
        command
    }

    /// A training as anybody would ask for it.
    fn plainly(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(&["train"]);
        command.args(arguments).env("EBBTIDE_PYTHON", &self.python);
        command
    }

    /// A command about a run, from another folder.
    fn about(&self, run: &Path, arguments: &[&str]) -> Told {
        let mut command = self.place.command(&arguments[..1]);
        command.arg(run).args(&arguments[1..]).env("EBBTIDE_PYTHON", &self.python).current_dir("/");
        told(command)
    }

    fn process(&self) -> String {
        self.place.read("process")
    }
}

fn signal(name: &str, process: &str) -> bool {
    Command::new("kill").args([name, process]).output().expect("kill is there").status.success()
}

const HUMPS: [&str; 4] = ["--python=model.py", "--dim=2", "--gradient=slopes", "--iterations=300"];

#[test]
fn a_run_is_interrupted_resumed_and_used() {
    let Some(model) = Modelled::new() else { return };
    let whole = told(model.train(&[&HUMPS[..], &["--runs=whole", "--quiet"]].concat()));
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert!(whole.out.starts_with("model-log_density, tb-tb, T = 3"), "{}", whole.out);
    assert!(whole.err.contains("the model is here"), "what a model prints is told: {}", whole.err);
    let whole = model.place.only_run("whole");
    fs::remove_file(model.place.path().join("process")).expect("the model was imported");
    let mut child = model.place.spawn(model.train(&[&HUMPS[..], &["--runs=broken"]].concat()));
    wait_until("lines of metrics", || {
        let runs = fs::read_dir(model.place.path().join("broken")).into_iter().flatten().flatten();
        let mut lines =
            runs.map(|run| fs::read_to_string(run.path().join("metrics.jsonl")).unwrap_or_default());
        lines.any(|lines| lines.lines().count() > 3)
    });
    // A terminal sends it to everyone.
    assert!(signal("-INT", &model.process()));
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "the figures so far need the density");
    let broken = model.place.only_run("broken");
    assert!(broken.join("result.json").is_file() && broken.join("report.html").is_file());
    let resumed = model.about(&broken, &["resume", "--quiet", "--threads=1"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_same(&broken, &whole);
    let eval = model.about(&broken, &["eval", "--samples=16", "--json"]);
    assert_eq!(eval.code, 0, "{}", eval.err);
    let weighted = model.about(&broken, &["sample", "-n2", "--weights"]);
    assert!(weighted.out.starts_with("x0,x1,log_weight\n"), "{}", weighted.err);
    let report = model.about(&broken, &["report"]);
    assert_eq!(report.code, 0, "{}", report.err);
    let page = fs::read_to_string(broken.join("report.html")).expect("a page");
    assert!(page.contains("<code>log_density</code> in <code>"));
    assert!(!signal("-0", &model.process()), "no process is left");
    // Whoever changes the model has another density, and the sampler is still that of the first.
    model.place.write("model.py", &MODEL.replace("- 4", "- 5"));
    let changed = model.about(&broken, &["eval", "--samples=16"]);
    assert_eq!(changed.code, 1);
    assert!(changed.err.contains("model.py has changed since the run was begun"), "{}", changed.err);
    let resumed = model.about(&whole, &["resume", "--iterations=400"]);
    assert!(resumed.err.contains("model.py has changed since the run was begun"), "{}", resumed.err);
    assert!(whole.join("result.json").is_file(), "nothing was begun");
    let drawn = model.about(&broken, &["sample", "-n2"]);
    assert_eq!(drawn.code, 0, "{}", drawn.err);
}

#[test]
fn who_goes_away_leaves_no_process_behind() {
    let Some(model) = Modelled::new() else { return };
    let endless = ["--python=model.py", "--dim=2", "--iterations=100000000"];
    let mut child = model.place.spawn(model.plainly(&endless));
    model.place.wait_for("model-log_density-tb-tb-T5-s0");
    let process = model.process();
    assert!(signal("-0", &process));
    child.kill().expect("killed");
    child.wait().expect("it is gone");
    wait_until("the end of the model", || !signal("-0", &process));
}

/// What a model does at the call whose number is in a file beside it.
const FAULTY: &str = "
import os, pathlib, time
import numpy as np

here = pathlib.Path(__file__).parent
here.joinpath('process').write_text(str(os.getpid()))
calls = 0

def log_density(x):
    global calls
    calls += 1
    fault = here / 'fault'
    if fault.exists():
        kind, at = fault.read_text().split()
        if calls == int(at):
            here.joinpath('met').write_text(kind)
            if kind == 'hang':
                while True:
                    pass
            if kind == 'raise':
                raise ValueError('no such point')
            if kind == 'leave':
                os._exit(3)
            return {'nan': x[:, 0] * np.nan, 'inf': x[:, 0] + np.inf, 'short': x[1:, 0], 'words': 'high'}[kind]
    return -(x[:, 0]**2 - 4)**2 - 0.5 * (x[:, 1] - x[:, 0])**2

def slopes(x):
    pull = x[:, 1] - x[:, 0]
    return np.stack([-4 * x[:, 0] * (x[:, 0]**2 - 4) + pull, -pull], axis=1)
";

const FAULTY_RUN: [&str; 9] = [
    "--python=model.py",
    "--dim=2",
    "--gradient=slopes",
    "--set=placement.by=\"hand\"",
    "--set=placement.location=[0, 0]",
    "--set=placement.scale=[2, 2]",
    "--iterations=60",
    "--set=checkpoint.seconds=0",
    "--quiet",
];

/// Such a model, and a run of it to which nothing happened.
fn faulty() -> Option<(Modelled, PathBuf)> {
    let model = Modelled::new()?;
    model.place.write("model.py", FAULTY);
    let told = told(model.train(&[&FAULTY_RUN[..], &["--runs=whole"]].concat()));
    assert_eq!(told.code, 0, "{}", told.err);
    let whole = model.place.only_run("whole");
    Some((model, whole))
}

#[test]
fn a_model_that_fails_once_costs_nothing_that_was_saved() {
    let Some((model, whole)) = faulty() else { return };
    let faults = [
        ("raise", "ValueError: no such point"),
        ("leave", "ended by itself (exit status: 3)"),
        ("nan", "the log density is NaN at x = ["),
        ("inf", "the log density is inf at x = ["),
        ("short", "one number for each row"),
        ("words", "which is no array of numbers"),
    ];
    let mut moments = Moments(4);
    for (kind, words) in faults {
        let at = 5 + moments.next(Duration::from_nanos(100)).as_nanos();
        model.place.write("fault", &format!("{kind} {at}"));
        let failed = told(model.train(&[&FAULTY_RUN[..], &["--runs", kind]].concat()));
        assert_eq!(failed.code, 1, "{kind} at {at}: {}", failed.err);
        assert!(failed.err.contains(words), "{kind} at {at}: {}", failed.err);
        fs::remove_file(model.place.path().join("fault")).expect("mended");
        let run = model.place.only_run(kind);
        let resumed = model.about(&run, &["resume", "--quiet", "--threads=1"]);
        assert_eq!(resumed.code, 0, "{kind} at {at}: {}", resumed.err);
        assert_same(&run, &whole);
    }
}

#[test]
fn a_model_that_never_answers_is_left_by_the_second_interrupt() {
    let Some((model, whole)) = faulty() else { return };
    model.place.write("fault", "hang 50");
    let mut child = model.place.spawn(model.train(&[&FAULTY_RUN[..], &["--runs=broken"]].concat()));
    wait_until("the model to hang", || model.place.path().join("met").exists());
    let process = model.process();
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("it can be asked").is_none(), "an iteration is ended first");
    interrupt(&child);
    let begun = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(10));
    wait_until("the end of the model", || !signal("-0", &process));
    fs::remove_file(model.place.path().join("fault")).expect("mended");
    let run = model.place.only_run("broken");
    let resumed = model.about(&run, &["resume", "--quiet", "--threads=1"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_same(&run, &whole);
}

#[test]
fn mistakes_leave_no_folder() {
    let Some(model) = Modelled::new() else { return };
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let answer = told(model.plainly(arguments));
        assert!(answer.err.contains(words), "{arguments:?}: {}", answer.err);
        assert_eq!(answer.code, code, "{arguments:?}");
        assert!(!model.place.path().join("runs").exists(), "{arguments:?}");
    };
    refused(&["--python=other.py", "--dim=2"], 1, "could not read ");
    refused(&["--python=model.py:log_densty", "--dim=2"], 1, "did you mean `log_density`?");
    refused(&["--python=model.py", "--dim=2", "--gradient=slops"], 1, "did you mean `slopes`?");
    refused(&["--python=model.py:slopes", "--dim=2"], 1, "one number for each row");
    refused(&["--python=model.py", "--dim=1"], 1, "IndexError");
    refused(&["--python=model.py"], 2, "nothing says how many coordinates the log density has");
    refused(&["--python=model.py", "--dim=0"], 2, "must be a whole number, 1 or above");
    refused(&["--python=model.py:", "--dim=2"], 2, "must be the name of a function");
    refused(&["25gmm", "--python=model.py"], 2, "cannot be used with");
    refused(&["--python=model.py", "--dim=2", "--method=pis-tlm"], 2, "gradient");
    refused(&["25gmm", "--set=python.dim=2"], 2, "the target is 25gmm, and there is a Python file as well");
    let mut elsewhere = model.plainly(&["--python=model.py", "--dim=2"]);
    elsewhere.env("EBBTIDE_PYTHON", "no-such-python");
    let answer = told(elsewhere);
    assert!(answer.err.contains("EBBTIDE_PYTHON names it, and must name one that does"), "{}", answer.err);
}

#[test]
fn a_file_of_settings_says_the_same() {
    let Some(model) = Modelled::new() else { return };
    model.place.write("mine.toml", "target = \"python\"\npython.file = \"model.py\"\niterations = 20\n");
    let arguments = ["--config=mine.toml", "--dim=2", "--gradient=slopes", "--quiet"];
    let trained = told(model.train(&arguments));
    assert_eq!(trained.code, 0, "{}", trained.err);
    let config = fs::read_to_string(model.place.only_run("runs").join("config.toml")).expect("settings");
    let file = model.place.path().join("model.py");
    assert!(config.contains(&format!("python.file = \"{}\"\n", file.display())), "{config}");
    for line in [
        "python.function = \"log_density\"",
        "python.dim = 2",
        "python.gradient = \"slopes\"",
        "python.digest = \"",
    ] {
        assert!(config.contains(line), "{config}");
    }
    model.place.write("sweep.toml", "targets = \"python\"\nseeds = [0, 1]\n[set]\npython.file = \"model.py\"\npython.dim = 2\niterations = 5\nevaluation.samples = 16");
    for _ in 0..2 {
        let mut sweep = model.place.command(&["sweep", "sweep.toml", "--quiet"]);
        sweep.env("EBBTIDE_PYTHON", &model.python);
        let swept = told(sweep);
        assert_eq!(swept.code, 0, "{}", swept.err);
        assert!(swept.out.contains("model-log_density  tb-tb"), "{}", swept.out);
    }
}
