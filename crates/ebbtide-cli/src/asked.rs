//! The arguments that say what a run is: a target, a file, single settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_onnx::Engine;
use ebbtide_run::durable::FileError;
use ebbtide_run::settings::{Draft, Preset, SETTINGS, Settings, Strictness, entries};

use crate::failure::Failure;
use crate::parse::Suggested;

/// What is asked for. Arguments go before the file.
#[derive(Args, Clone)]
pub struct Asked {
    /// What to sample; `ebbtide targets` lists the names
    #[arg(value_parser = Suggested(NamedTarget::ALL.map(NamedTarget::name).to_vec()), hide_possible_values = true)]
    target: Option<String>,
    /// What to sample, as a log density in words, up to a constant: "-(x0^2 - 4)^2 - 0.5*(x1 - x0)^2"
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "target")]
    formula: Option<String>,
    /// What to sample, as a function in a Python file that takes points as a NumPy array of shape (n, dim) and answers with their n log
    /// densities, up to a constant: model.py:log_density
    #[arg(long, value_name = "FILE[:FUNCTION]", conflicts_with_all = ["target", "formula", "parameter"])]
    python: Option<String>,
    /// What differentiates the Python function: `torch` or `jax`, if it computes with one of them, or a function of the same file, with answers of shape
    /// (n, dim) [default: nothing does]
    #[arg(long, value_name = "torch|jax|FUNCTION", conflicts_with_all = ["target", "formula", "parameter"])]
    gradient: Option<String>,
    /// What to sample, as an ONNX network: one input of points [rows, coordinates], an output `log_density` [rows] (or `energy`, its negative), and `grad`
    /// [rows, coordinates] if it has one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "formula", "parameter", "python", "gradient"])]
    onnx: Option<String>,
    /// What evaluates ONNX networks: `tract`, which is part of this program, or `ort`, which is onnxruntime [default: ort if it is found, for it is faster]
    #[arg(long, value_name = "NAME", value_parser = Suggested(Engine::ALL.map(Engine::name).to_vec()), hide_possible_values = true, conflicts_with_all = ["target", "formula", "parameter", "python", "gradient"])]
    engine: Option<String>,
    /// How many coordinates the formula has (x0, x1, …), or the points of the Python function, or of a network that does not tell
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    dim: Option<String>,
    /// A value for a name in the formula: `--parameter k=3`
    #[arg(long, value_name = "NAME=VALUE")]
    parameter: Vec<String>,
    /// Take the settings from a TOML file, as `ebbtide config` prints it; `-` is standard input
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Whose settings to begin with: `recommended`, or the `paper`'s [default: recommended]
    #[arg(long, value_name = "PRESET", value_parser = Suggested(Preset::ALL.map(Preset::name).to_vec()), hide_possible_values = true)]
    preset: Option<String>,
    /// How the two processes learn [default: tb-tb, or the posterior's own]
    #[arg(long, value_name = "NAME", value_parser = Suggested(Method::ALL.map(Method::name).to_vec()), hide_possible_values = true)]
    method: Option<String>,
    /// Steps from the origin to a sample [default: 5, or the posterior's own]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    steps: Option<String>,
    /// Iterations [default: 25000, or the posterior's own]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    iterations: Option<String>,
    /// Trajectories of each update [default: 512, or the posterior's own]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    batch: Option<String>,
    /// Any setting: `--set replay.ratio=4`; `ebbtide config` lists them
    #[arg(long, value_name = "KEY=VALUE", value_parser = Suggested(SETTINGS.iter().map(|setting| setting.key).collect()), hide_possible_values = true)]
    set: Vec<String>,
}

impl Asked {
    /// The text of the file, if there is one. Standard input can be read only once.
    pub fn file(&self) -> Result<Option<String>, Failure> {
        self.config.as_deref().map(read).transpose()
    }

    /// All settings, checked as a whole; `file` is its text, `seed` one more argument.
    pub fn resolve(&self, file: Option<&str>, seed: Option<(&str, u64)>) -> Result<Settings, Failure> {
        let mut draft = Draft::new();
        if let (Some(path), Some(text)) = (&self.config, file) {
            refuse_sweep(path, text)?;
            draft.document(&path.display().to_string(), text);
        }
        let (python, function) = self.python.as_deref().map(file_and_function).unzip();
        let function = function.flatten();
        let has = |table: &str| file.is_some_and(|text| has_table(text, table));
        let dim = match () {
            () if python.is_some() || has("python") => "python.dim",
            () if self.onnx.is_some() || has("onnx") => "onnx.dim",
            () => "formula.dim",
        };
        let engine = if has("latent") { "latent.engine" } else { "onnx.engine" };
        let flags = [
            ("TARGET", "target", &self.target),
            ("--formula", "formula.log-density", &self.formula),
            ("--python", "python.file", &python),
            ("--python", "python.function", &function),
            ("--gradient", "python.gradient", &self.gradient),
            ("--onnx", "onnx.file", &self.onnx),
            ("--engine", engine, &self.engine),
            ("--dim", dim, &self.dim),
            ("--preset", "preset", &self.preset),
            ("--method", "method", &self.method),
            ("--steps", "steps", &self.steps),
            ("--iterations", "iterations", &self.iterations),
            ("--batch", "batch", &self.batch),
        ];
        if self.formula.is_some() {
            draft.flag("--formula", "target", "formula");
        }
        if python.is_some() {
            draft.flag("--python", "target", "python");
        }
        if self.onnx.is_some() {
            draft.flag("--onnx", "target", "onnx");
        }
        for (name, key, value) in flags {
            if let Some(value) = value {
                draft.flag(name, key, value);
            }
        }
        if let Some((name, seed)) = seed {
            draft.flag(name, "seed", &seed.to_string());
        }
        for text in &self.parameter {
            draft.parameter("--parameter", text);
        }
        for text in &self.set {
            draft.argument("--set", text);
        }
        Ok(draft.resolve(Strictness::Strict)?)
    }
}

/// `model.py:log_density` taken apart. What has a slash in it is no function, but more of the path.
fn file_and_function(text: &str) -> (String, Option<String>) {
    match text.rsplit_once(':') {
        Some((file, function)) if !file.is_empty() && !function.contains(['/', '\\']) => {
            (file.to_owned(), Some(function.to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}

/// Whether a file has a table that says what is sampled.
fn has_table(text: &str, table: &str) -> bool {
    let is_in = |path: &str| path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    entries(0, text).is_ok_and(|entries| entries.iter().any(|entry| is_in(&entry.path)))
}

/// A file, or standard input.
pub fn read(path: &Path) -> Result<String, Failure> {
    let text =
        if path == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    Ok(text.map_err(FileError::of("read", path))?)
}

/// Whether a text is meant as a sweep.
pub fn is_sweep(text: &str) -> bool {
    let axes = ["targets", "methods", "seeds"];
    entries(0, text).is_ok_and(|entries| entries.iter().any(|entry| axes.contains(&entry.path.as_str())))
}

fn refuse_sweep(path: &Path, text: &str) -> Result<(), Failure> {
    match is_sweep(text) {
        false => Ok(()),
        true => Err(Failure::Usage(format!("{0} is a sweep: `ebbtide sweep {0}`", path.display()))),
    }
}
