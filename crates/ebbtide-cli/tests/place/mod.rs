//! A folder of its own to run the command in.

#![allow(dead_code)] // not every test needs all of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// An empty folder.
pub struct Place(TempDir);

/// A run that takes a moment and uses everything: replay, local search, lines and evaluations.
pub const SMALL: &[&str] = &[
    "--steps=3",
    "--batch=16",
    "--set=network.width=16",
    "--set=replay.capacity=200",
    "--set=local-search.every=20",
    "--set=local-search.steps=20",
    "--set=local-search.burn-in=10",
    "--set=local-search.capacity=2000",
    "--set=evaluation.samples=64",
    "--set=evaluation.every=50",
    "--set=metrics.every=7",
    "--threads=1",
];

/// Moments that are all over the place, and the same every time.
pub struct Moments(pub u64);

impl Moments {
    pub fn next(&mut self, most: Duration) -> Duration {
        // The multiplier is Knuth's for a 64-bit linear congruential generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        most.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command, to be run here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ebbtide"));
        command.current_dir(self.path()).env_remove("EBBTIDE_RUNS").env("NO_COLOR", "1").args(arguments);
        command
    }

    /// A small training.
    pub fn train(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["train"]);
        command.args(arguments).args(SMALL);
        command
    }

    /// Starts a command whose words nobody reads.
    pub fn spawn(&self, mut command: Command) -> Child {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Waits until a run whose name ends so has begun to train.
    pub fn wait_for(&self, name: &str) -> PathBuf {
        let mut found = None;
        wait_until(&format!("the beginning of {name}"), || {
            let entries = fs::read_dir(self.path().join("runs")).into_iter().flatten().flatten();
            let mut runs =
                entries.map(|entry| entry.path()).filter(|run| run.to_string_lossy().ends_with(name));
            found = runs
                .find(|run| fs::read_to_string(run.join("log.txt")).is_ok_and(|log| log.contains("begins:")));
            found.is_some()
        });
        found.expect("it was found")
    }

    /// The only run in a folder of runs.
    pub fn only_run(&self, runs: &str) -> PathBuf {
        let entries = fs::read_dir(self.path().join(runs)).expect("runs");
        let all: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }
}

/// Waits for something that comes soon, however busy the machine.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} took too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What came of a command that is over.
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs to the end.
pub fn told(mut command: Command) -> Told {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Told { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Asks a process to stop, as Ctrl-C does.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    let status =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    // It may have ended just before.
    let _ = status;
}

/// All that a run leaves, but what tells the time: file by file.
pub fn traces(run: &Path) -> Vec<(String, Vec<u8>)> {
    let mut traces = Vec::new();
    for name in ["config.toml", "samples.npy"] {
        traces.push((
            name.to_owned(),
            fs::read(run.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")),
        ));
    }
    for name in ["metrics.jsonl", "result.json"] {
        let text = fs::read_to_string(run.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let timeless = match name {
            "metrics.jsonl" => text.lines().map(timeless).collect::<Vec<_>>().join("\n"),
            _ => timeless(&text),
        };
        traces.push((name.to_owned(), timeless.into_bytes()));
    }
    for (name, beginning) in [("the state", "0"), ("the best", "best-")] {
        let newest = newest(run, beginning).expect("a checkpoint");
        let mut bytes = newest.file_name().expect("a name").to_string_lossy().into_owned().into_bytes();
        bytes.extend(tensors(&fs::read(newest).expect("a checkpoint")));
        traces.push((name.to_owned(), bytes));
    }
    traces
}

fn timeless(json: &str) -> String {
    let mut value: serde_json::Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    value["seconds"] = 0.into();
    value.to_string()
}

/// The newest checkpoint, if there is any.
pub fn last_checkpoint(run: &Path) -> Option<PathBuf> {
    newest(run, "0")
}

/// The last of the files in `checkpoints` whose names begin so.
pub fn newest(run: &Path, beginning: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).ok()?;
    let names = entries.map(|entry| entry.expect("an entry").path());
    names
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning)))
        .max()
}

/// Names and bytes of all tensors. The header apart, which has the seconds.
fn tensors(file: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&file[8..8 + length]).expect("a header");
    header["__metadata__"] = serde_json::Value::Null;
    let mut all = header.to_string().into_bytes();
    all.extend_from_slice(&file[8 + length..]);
    all
}

/// That two runs left the same, with the file that differs.
pub fn assert_same(one: &Path, other: &Path) {
    for ((name, ours), (_, theirs)) in traces(one).into_iter().zip(traces(other)) {
        assert!(ours == theirs, "{name} differs between {} and {}", one.display(), other.display());
    }
}
