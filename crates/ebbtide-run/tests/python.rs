//! Functions in Python files: what is asked and answered, and what goes wrong.

#![cfg(unix)]

#[path = "python/numpy.rs"]
mod numpy;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ebbtide::target::{Formula, Oracle, Target};
use ebbtide_run::Digest;
use ebbtide_run::python::{Function, Interpreter, Worker};
use ebbtide_run::settings::{PythonFile, Subject};
use tempfile::TempDir;

/// A folder with a model in it.
struct Model {
    folder: TempDir,
    python: Interpreter,
}

impl Model {
    /// Nothing where there is no Python to run it.
    fn new(text: &str) -> Option<Self> {
        let python = Interpreter::at(numpy::with_numpy()?);
        let model = Self { folder: tempfile::tempdir().expect("a folder"), python };
        model.write("model.py", text);
        Some(model)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    fn function(&self, name: &str, dim: usize, gradient: Option<&str>) -> Function {
        let file = self.folder.path().join("model.py");
        Function { file, name: name.to_owned(), dim, gradient: gradient.map(str::to_owned) }
    }

    /// Asks for `log_density` in two dimensions.
    fn worker(&self) -> Worker {
        Worker::new(self.python.clone(), self.function("log_density", 2, None), None)
    }

    /// What goes wrong.
    fn refusal(&self, function: Function) -> String {
        let values = &mut [0.0; 3];
        let points = vec![0.0; 3 * function.dim];
        let worker = Worker::new(self.python.clone(), function, None);
        worker.log_density(points, values).expect_err("it fails").to_string()
    }
}

const HUMPS: &str = "
import numpy as np

def log_density(x):
    return -(x[:, 0]**2 - 4)**2 - 0.5 * (x[:, 1] - x[:, 0])**2

def slopes(x):
    pull = x[:, 1] - x[:, 0]
    return np.stack([-4 * x[:, 0] * (x[:, 0]**2 - 4) + pull, -pull], axis=1)
";

#[test]
fn values_and_gradients_are_those_of_the_same_formula() {
    let Some(model) = Model::new(HUMPS) else { return };
    let function = model.function("log_density", 2, Some("slopes"));
    let python = Subject::Python(PythonFile::new(model.python.clone(), function));
    assert_eq!(python.to_string(), "model-log_density");
    let formula = Formula::new("-(x0^2 - 4)^2 - 0.5*(x1 - x0)^2", 2, &[]).expect("a formula");
    let points: Vec<f32> = (0..1000).map(|i| 3.0 * (0.37 * i as f32).sin()).collect();
    let asked = |target: &dyn Target| {
        let (mut values, mut both, mut slopes) = (vec![0.0; 500], vec![0.0; 500], vec![0.0; 1000]);
        target.log_density(&points, &mut values).expect("finite");
        let differentiable = target.differentiable().expect("it has a gradient");
        differentiable.log_density_and_gradient(&points, &mut both, &mut slopes).expect("finite");
        assert_eq!(values, both);
        (values, slopes)
    };
    let ((ours, our_slopes), (theirs, their_slopes)) = (asked(&*python.build()), asked(&formula));
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs())));
    assert!(our_slopes.iter().zip(&their_slopes).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs())));
}

#[test]
fn a_million_points_come_and_go() {
    let Some(model) = Model::new("def log_density(x):\n    return x.sum(axis=1)") else { return };
    let worker = Worker::new(model.python.clone(), model.function("log_density", 10, None), None);
    let points: Vec<f64> = (0..10_000_000).map(f64::from).collect();
    let mut values = vec![0.0; 1_000_000];
    worker.log_density(points, &mut values).expect("finite");
    for (row, value) in values.into_iter().enumerate() {
        assert_eq!(value, (100 * row + 45) as f64);
    }
    worker.log_density(Vec::new(), &mut []).expect("nothing to ask");
}

#[test]
fn a_model_is_a_module_beside_its_file_that_prints_and_reads_what_it_likes() {
    let text = "
import os, sys
import beside

assert __name__ == 'model' and sys.modules['model'].__dict__ is globals()
assert os.path.isabs(__file__) and sys.stdin.read() == ''
print('imported')

def log_density(x):
    print('asked')
    os.write(1, b'=========')
    x[:] = 0  # the points are its own
    return [beside.VALUE] * len(x)
";
    let Some(model) = Model::new(text) else { return };
    model.write("beside.py", "VALUE = 7");
    let (worker, mut values) = (model.worker(), [0.0; 2]);
    for _ in 0..3 {
        worker.log_density(vec![1.0; 4], &mut values).expect("it answers");
        assert_eq!(values, [7.0; 2]);
    }
}

#[test]
fn every_mistake_is_told() {
    let Some(model) = Model::new("") else { return };
    let of = |text: &str| {
        model.write("model.py", text);
        model.refusal(model.function("log_density", 2, None))
    };
    let raised = of("def log_density(x):\n    return inner(x)\n\ndef inner(x):\n    return x @ x");
    assert!(
        raised.contains("`log_density` in ") && raised.contains("raised an exception:\nTraceback"),
        "{raised}"
    );
    assert!(raised.contains("line 2, in log_density") && raised.contains("line 5, in inner"), "{raised}");
    assert!(raised.contains("ValueError: matmul") && !raised.contains("<"), "{raised}");
    let shape = of("def log_density(x):\n    return x");
    assert!(shape.contains("an array of shape (3, 2); it must be (3,): one number for each row"), "{shape}");
    let nothing = of("def log_density(x):\n    pass");
    assert!(nothing.contains("`log_density` answered with None: is there a `return`?"), "{nothing}");
    let syntax = of("def log_density(x)\n    return x");
    assert!(syntax.contains("cannot be imported:\n  File ") && syntax.contains("line 1"), "{syntax}");
    assert!(syntax.contains("SyntaxError: ") && !syntax.contains("Traceback"), "{syntax}");
    let import = of("import numpy\n\nimport nothing_of_the_kind\n");
    assert!(import.contains("line 3, in <module>") && import.contains("No module named"), "{import}");
    assert!(!import.contains("<string>"), "{import}");
    let exit = of("raise SystemExit(3)");
    assert!(exit.contains("cannot be imported") && exit.contains("SystemExit: 3"), "{exit}");
    let nearest = of("from numpy import log\n\ndef log_dens(x):\n    return x");
    assert!(nearest.ends_with("there is no function `log_density`; did you mean `log_dens`?"), "{nearest}");
    let number = of("log_density = 3");
    assert!(number.contains("it is no function: its type is `int`"), "{number}");
    let library = model.refusal(model.function("log_density", 2, Some("slope")));
    assert!(library.contains("no function"), "{library}");
    fs::remove_file(model.folder.path().join("model.py")).expect("removed");
    let missing = model.refusal(model.function("log_density", 2, None));
    assert!(missing.contains("could not read") && missing.contains("model.py"), "{missing}");
}

#[test]
fn a_library_that_is_missing_is_told_with_the_interpreter() {
    let Some(model) = Model::new("def log_density(x):\n    return x[:, 0]") else { return };
    model.write("torch.py", "raise ImportError('a stand-in')");
    let told = model.refusal(model.function("log_density", 2, Some("torch")));
    assert!(
        told.contains("the gradient is asked of torch, which ") && told.contains("(a stand-in)"),
        "{told}"
    );
}

#[test]
fn an_interpreter_that_is_none_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("model.py");
    fs::write(&file, "").expect("written");
    let refusal = |interpreter: &Path| {
        let function = Function { file: file.clone(), name: "f".to_owned(), dim: 1, gradient: None };
        let worker = Worker::new(Interpreter::at(interpreter.to_owned()), function, None);
        worker.start().expect_err("there is none").to_string()
    };
    let nowhere = refusal(Path::new("no-such-python"));
    assert!(nowhere.starts_with("the Python interpreter `no-such-python` does not start ("), "{nowhere}");
    let speaks = folder.path().join("speaks");
    for (script, told) in [
        ("echo of no use >&2; exit 3", "ended by itself (exit status: 3); the last that it said:\nof no use"),
        (
            "cat > /dev/null & echo HTTP/1.1 404 Not Found",
            "answered with something that is no answer (it begins",
        ),
        ("kill -SEGV $$", "ended by itself (signal: 11 (SIGSEGV)"),
    ] {
        fs::write(&speaks, format!("#!/bin/sh\n{script}\n")).expect("written");
        let executable = Command::new("chmod").arg("+x").arg(&speaks).status().expect("chmod is there");
        assert!(executable.success());
        let refused = refusal(&speaks);
        assert!(refused.contains(told), "{script}: {refused}");
    }
}

/// The process's number, as its model tells it.
const NUMBER: &str = "import os\nimport sys\nprint('last words', file=sys.stderr)\ndef log_density(x):\n    return [os.getpid()] * len(x)";

fn number(worker: &Worker) -> String {
    let mut values = [0.0];
    worker.log_density(vec![0.0; 2], &mut values).expect("it answers");
    values[0].to_string()
}

fn is_there(process: &str) -> bool {
    Command::new("kill").args(["-0", process]).output().expect("kill is there").status.success()
}

#[test]
fn one_that_is_killed_is_told_and_one_that_is_done_with_is_gone() {
    let Some(model) = Model::new(NUMBER) else { return };
    let worker = model.worker();
    let first = number(&worker);
    assert_eq!(number(&worker), first, "one process for all questions");
    for signal in ["-INT", "-TERM", "-HUP"] {
        assert!(Command::new("kill").args([signal, &first]).status().expect("kill is there").success());
    }
    assert_eq!(number(&worker), first, "it is ours to end");
    assert!(Command::new("kill").args(["-KILL", &first]).status().expect("kill is there").success());
    let told = worker.log_density(vec![0.0; 2], &mut [0.0]).expect_err("it is gone").to_string();
    assert!(told.contains("ended by itself (signal: 9 (SIGKILL)") && told.ends_with("last words"), "{told}");
    let second = number(&worker);
    assert!(is_there(&second) && !is_there(&first));
    drop(worker);
    assert!(!is_there(&second));
}

#[test]
fn a_file_that_changed_is_another_density() {
    let Some(model) = Model::new(NUMBER) else { return };
    let worker = model.worker();
    let (begun, first) = (worker.start().expect("it starts"), number(&worker));
    model.write("model.py", &format!("{NUMBER}\n"));
    assert_eq!(number(&worker), first, "what runs is what it was");
    let again = Worker::new(model.python.clone(), model.function("log_density", 2, None), Some(begun));
    let told = again.start().expect_err("another one").to_string();
    assert!(told.contains("model.py has changed since the run was begun"), "{told}");
    let other = Worker::new(model.python.clone(), model.function("log_density", 2, None), None);
    assert_ne!(other.start().expect("any will do"), begun);
    assert_eq!(Digest(0xab).to_string(), "00000000000000ab");
}

#[test]
fn a_process_that_would_not_end_is_ended() {
    let text = format!("import atexit, time\natexit.register(time.sleep, 1000)\n{NUMBER}");
    let Some(model) = Model::new(&text) else { return };
    let worker = model.worker();
    let (process, begun) = (number(&worker), Instant::now());
    drop(worker);
    assert!(!is_there(&process) && begun.elapsed() < Duration::from_secs(60));
}
