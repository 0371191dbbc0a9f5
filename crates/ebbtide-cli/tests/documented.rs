//! What is documented is run: the page on the command line as it stands, and the examples of every `--help`.

#![cfg(unix)]

#[path = "../../ebbtide-run/tests/python/numpy.rs"]
mod numpy;
mod place;

use std::fs;
use std::path::Path;
use std::process::Command;

use place::{Place, interrupt, told};

fn documentation() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md")
}

/// The files that the page shows, by the name it gives them.
fn shown(page: &str, name: &str) -> String {
    let (_, after) = page.split_once(&format!("`{name}`")).expect("the page names the file");
    let (_, file) = after.split_once("```toml\n").expect("the page shows the file");
    file.split_once("```").expect("a block ends").0.to_owned()
}

/// The model that the page shows.
fn model(page: &str) -> &str {
    let (_, file) = page.split_once("```python\n").expect("the page shows a model");
    file.split_once("```").expect("a block ends").0
}

/// The page without the section on Python, where there is none that could run it.
fn without_python(page: &str) -> String {
    let (before, rest) = page.split_once("## A density in Python").expect("the page has the section");
    let (_, after) = rest.split_once("\n## ").expect("it is not the last");
    format!("{before}## {after}")
}

#[test]
fn the_page_tells_the_truth() {
    let page = fs::read_to_string(documentation()).expect("the page");
    let place = Place::new();
    // Commands run in a copy of the folder `.in`, because there is a folder `.out`.
    for folder in ["commands.in", "commands.out"] {
        fs::create_dir(place.path().join(folder)).expect("made");
    }
    for name in ["mine.toml", "sweep.toml"] {
        place.write(&format!("commands.in/{name}"), &shown(&page, name));
    }
    let python = numpy::with_numpy();
    place.write("commands.in/model.py", model(&page));
    place.write("commands.md", &if python.is_some() { page } else { without_python(&page) });
    let cases = trycmd::TestCases::new();
    cases.register_bin("ebbtide", Path::new(env!("CARGO_BIN_EXE_ebbtide"))).env("NO_COLOR", "1");
    cases.env("EBBTIDE_PYTHON", python.unwrap_or_default().to_string_lossy());
    cases.case(place.path().join("commands.md")).run();
}

/// Lines of a help text that begin with the command.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim);
    lines
        .filter(|line| line.starts_with("ebbtide ") || line.starts_with("srun ebbtide "))
        .map(str::to_owned)
        .collect()
}

/// Every example is run as a shell would, in a place that has what it talks about. Those that would train for minutes are
/// interrupted after a moment, which is code 130.
#[test]
fn every_example_of_every_help_works() {
    let place = Place::new();
    let endless =
        ["train", "25gmm", "--iterations=100000000", "--batch=16", "--quiet", "--set=evaluation.samples=64"];
    let mut child = place.spawn(place.command(&endless));
    place.wait_for("25gmm-tb-tb-T5-s0");
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let run = place.only_run("runs");
    fs::rename(run, place.path().join("runs/2026-11-16-25gmm-tb-tb-T5-s0")).expect("renamed");
    let config = told(place.command(&["config", "25gmm"])).out;
    place.write("mine.toml", &config);
    place.write(
        "sweep.toml",
        "targets = \"25gmm\"\nseeds = [0, 1]\n[set]\niterations = 5\nevaluation.samples = 16",
    );
    place.write("model.py", "def log_density(x):\n    return -0.5 * (x**2).sum(axis=1)");
    let networks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ebbtide-onnx/tests/fixtures");
    for file in ["energy.onnx", "plane.onnx", "reward.onnx"] {
        fs::copy(networks.join(file), place.path().join(file)).expect("copied");
    }
    place.write(
        "latent.toml",
        "target = \"latent\"\nlatent.generator = \"plane.onnx\"\nlatent.reward = \"reward.onnx\"\nlatent.engine = \"tract\"\nnetwork.width = 16",
    );
    let python = numpy::with_numpy();
    let overview = told(place.command(&["--help"])).out;
    let mut all = examples(&overview);
    for command in [
        "train",
        "resume",
        "sample",
        "eval",
        "compare",
        "report",
        "watch",
        "sweep",
        "paper",
        "config",
        "check",
        "completions",
        "man",
    ] {
        let found = examples(&told(place.command(&[command, "--help"])).out);
        assert!(!found.is_empty(), "{command} --help has no example");
        all.extend(found);
    }
    for command in ["list", "run", "show"] {
        let found = examples(&told(place.command(&["paper", command, "--help"])).out);
        assert!(!found.is_empty(), "paper {command} --help has no example");
        all.extend(found);
    }
    assert!(all.len() > 20, "{all:?}");
    let binaries = Path::new(env!("CARGO_BIN_EXE_ebbtide")).parent().expect("a folder");
    for example in all {
        if example.contains("--python") && python.is_none() {
            continue;
        }
        // What only a cluster or a home folder has.
        let line = example.replace("srun ", "").replace("$SLURM_ARRAY_TASK_ID", "1").replace("~/", "./home/");
        let line = line.replace("&& man ", "&& echo ");
        for folder in
            ["home/.zfunc", "home/.local/share/bash-completion/completions", "home/.config/fish/completions"]
        {
            fs::create_dir_all(place.path().join(folder)).expect("made");
        }
        let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("timeout");
        shell.args(["--preserve-status", "--signal=INT", "--kill-after=60", "0.5", "sh", "-c", &line]);
        shell.current_dir(place.path()).env("PATH", path).env_remove("EBBTIDE_RUNS");
        shell.env("EBBTIDE_PYTHON", python.clone().unwrap_or_default());
        let answer = told(shell);
        assert!(
            [0, 130].contains(&answer.code),
            "{example}\ncode {}\n{}\n{}",
            answer.code,
            answer.out,
            answer.err
        );
    }
}
