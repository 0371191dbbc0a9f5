//! The arguments that say what a run is: a target, a file, single settings.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use ebbtide_run::durable::FileError;
use ebbtide_run::settings::{Draft, Settings, Strictness};

use crate::failure::Failure;

/// What is asked for. Later ones go before earlier ones: file, target, arguments of their own, `--set`.
#[derive(Args, Clone)]
pub struct Asked {
    /// What to sample; `ebbtide targets` lists the names
    target: Option<String>,
    /// Take the settings from a TOML file, as `ebbtide config` prints it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How the two processes learn [default: tb-tb]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Steps from the origin to a sample [default: 5]
    #[arg(long, value_name = "T")]
    steps: Option<String>,
    /// Iterations [default: the paper's 25000]
    #[arg(long, value_name = "N")]
    iterations: Option<String>,
    /// Trajectories of each update [default: the paper's 512]
    #[arg(long, value_name = "B")]
    batch: Option<String>,
    /// Any setting: `--set replay.ratio=4`; `ebbtide config` lists them
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Asked {
    /// All settings, checked as a whole; `seed` is one more argument.
    pub fn resolve(&self, seed: Option<(&str, u64)>) -> Result<Settings, Failure> {
        let mut draft = Draft::new();
        if let Some(path) = &self.config {
            let text = fs::read_to_string(path).map_err(FileError::of("read", path))?;
            draft.document(&path.display().to_string(), &text);
        }
        let flags = [
            ("TARGET", "target", &self.target),
            ("--method", "method", &self.method),
            ("--steps", "steps", &self.steps),
            ("--iterations", "iterations", &self.iterations),
            ("--batch", "batch", &self.batch),
        ];
        for (name, key, value) in flags {
            if let Some(value) = value {
                draft.flag(name, key, value);
            }
        }
        if let Some((name, seed)) = seed {
            draft.flag(name, "seed", &seed.to_string());
        }
        for text in &self.set {
            draft.argument("--set", text);
        }
        Ok(draft.resolve(Strictness::Strict)?)
    }
}
