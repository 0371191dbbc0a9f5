//! The page on what goes wrong, as it stands: every command on it is run, and says what the page says.

#![cfg(unix)]

#[path = "../../ebbtide-run/tests/python/numpy.rs"]
mod numpy;
mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use place::{Place, last_checkpoint, told};

/// Files of settings that the page shows.
const SETTINGS: [&str; 5] = ["wrong.toml", "broken.toml", "grid.toml", "sweep.toml", "latent.toml"];

/// Networks that it talks about.
const NETWORKS: [&str; 8] = [
    "two-inputs.onnx",
    "plane.onnx",
    "energy.onnx",
    "energy-only.onnx",
    "conditional.onnx",
    "external.onnx",
    "huge-constant.onnx",
    "unknown-operator.onnx",
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    fs::read_to_string(path).expect("the page")
}

/// A file that the page shows, by the name it gives it.
fn shown<'a>(page: &'a str, name: &str, language: &str) -> &'a str {
    let (_, after) = page.split_once(&format!("`{name}`")).expect("the page names the file");
    let (_, file) = after.split_once(&format!("```{language}\n")).expect("the page shows the file");
    file.split_once("```").expect("a block ends").0
}

/// The page without the section on Python files, where there is no Python that could run them.
fn without_python(page: &str) -> String {
    let (before, rest) = page.split_once("## Python files").expect("the page has the section");
    let (_, after) = rest.split_once("\n## ").expect("it is not the last");
    format!("{before}## {after}")
}

/// Settings, networks and the model.
fn furnish(folder: &Path, page: &str) {
    for name in SETTINGS {
        fs::write(folder.join(name), shown(page, name, "toml")).expect("written");
    }
    fs::write(folder.join("model.py"), shown(page, "model.py", "python")).expect("written");
    let networks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ebbtide-onnx/tests/fixtures");
    for name in NETWORKS {
        fs::copy(networks.join(name), folder.join(name)).expect("copied");
    }
    let whole = fs::read(networks.join("energy.onnx")).expect("a network");
    fs::write(folder.join("cut.onnx"), &whole[..300]).expect("written");
    fs::create_dir(folder.join("notes")).expect("made");
    fs::write(folder.join("notes/today.txt"), "no run").expect("written");
}

/// A run that has finished, and copies of it with something wrong; a sweep that was begun with other settings.
fn damage(place: &Place, folder: &Path) {
    let made = told(place.command(&[
        "train",
        "25gmm",
        "--iterations=60",
        "--batch=16",
        "--quiet",
        "--runs=made",
        "--set=evaluation.samples=64",
        "--set=checkpoint.seconds=0",
    ]));
    assert_eq!(made.code, 0, "{}", made.err);
    let (run, runs) = (place.only_run("made"), folder.join("runs"));
    for name in ["wells", "cut", "lost", "other", "edited", "torn"] {
        copy(&run, &runs.join(name));
    }
    shorten(&last_checkpoint(&runs.join("cut")).expect("a checkpoint"));
    checkpoints(&runs.join("lost")).iter().for_each(|path| shorten(path));
    for path in checkpoints(&runs.join("other")) {
        rename_format(&path);
    }
    let config = runs.join("edited/config.toml");
    let text = fs::read_to_string(&config).expect("settings");
    assert!(text.contains("\nbatch = 16\n"), "{text}");
    fs::write(&config, text.replace("\nbatch = 16\n", "\nbatch = 32\n")).expect("written");
    fs::write(runs.join("torn/result.json"), "{\n").expect("written");

    let sweep = folder.join("grid.toml");
    let text = fs::read_to_string(&sweep).expect("a sweep");
    assert!(text.contains("batch = 32"), "{text}");
    fs::write(&sweep, text.replace("batch = 32", "batch = 16")).expect("written");
    let mut command = place.command(&["sweep", "grid.toml", "--quiet"]);
    command.current_dir(folder);
    let begun = told(command);
    assert_eq!(begun.code, 0, "{}", begun.err);
    fs::write(&sweep, text).expect("written");
}

/// A folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let place = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &place);
        } else {
            fs::copy(&path, &place).expect("copied");
        }
    }
}

fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).expect("checkpoints");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The last hundred bytes are gone.
fn shorten(path: &Path) {
    let bytes = fs::read(path).expect("a file");
    fs::write(path, &bytes[..bytes.len() - 100]).expect("written");
}

/// As if another version had written it.
fn rename_format(path: &Path) {
    let (ours, theirs) = (b"ebbtide-checkpoint-1", b"ebbtide-checkpoint-9");
    let mut bytes = fs::read(path).expect("a file");
    let at =
        bytes.windows(ours.len()).position(|window| window == ours).expect("the format is in the header");
    bytes[at..at + theirs.len()].copy_from_slice(theirs);
    fs::write(path, bytes).expect("written");
}

#[test]
fn messages_are_those_of_the_page() {
    let page = page();
    let place = Place::new();
    // Commands run in a copy of the folder `.in`, because there is a folder `.out`.
    for folder in ["troubleshooting.in", "troubleshooting.out"] {
        fs::create_dir(place.path().join(folder)).expect("made");
    }
    let folder = place.path().join("troubleshooting.in");
    furnish(&folder, &page);
    damage(&place, &folder);
    let python = numpy::with_numpy();
    place.write("troubleshooting.md", &if python.is_some() { page } else { without_python(&page) });
    let cases = trycmd::TestCases::new();
    cases.register_bin("ebbtide", Path::new(env!("CARGO_BIN_EXE_ebbtide"))).env("NO_COLOR", "1");
    cases.env("EBBTIDE_PYTHON", python.unwrap_or_default().to_string_lossy());
    cases.case(place.path().join("troubleshooting.md")).run();
}

/// Commands of blocks of plain text, with what they answer. Their messages have paths in them, and lines break where the paths let them.
fn plain(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```text\n").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("```").expect("a block ends").0);
    blocks.filter_map(|block| block.strip_prefix("$ ")?.split_once('\n')).collect()
}

/// Without what depends on the width of lines.
fn unbroken(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && *letter != '│').collect()
}

#[test]
fn networks_are_refused_in_the_words_of_the_page() {
    let page = page();
    let place = Place::new();
    furnish(place.path(), &page);
    let all = plain(&page);
    assert!(all.len() >= 8, "{all:?}");
    for (line, answer) in all {
        let (variables, arguments) = line.split_once("ebbtide ").expect("a command of ours");
        let mut command: Command = place.command(&arguments.split_whitespace().collect::<Vec<_>>());
        command.env_remove("ORT_DYLIB_PATH");
        command.envs(variables.split_whitespace().filter_map(|variable| variable.split_once('=')));
        let said = told(command);
        assert_eq!(said.code, 2, "{line}\n{}", said.err);
        let folder = fs::canonicalize(place.path()).expect("the folder is there");
        // Letters alone first: a long path is broken too.
        let said = unbroken(&said.err).replace(&unbroken(&format!("{}/", folder.display())), "…/");
        assert_eq!(said, unbroken(answer), "{line}");
    }
}
