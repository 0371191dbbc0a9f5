//! `ebbtide train` and `ebbtide resume`: runs from beginning to end.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_report::keep;
use ebbtide_run::compare::{gather, group};
use ebbtide_run::reading::Reading;
use ebbtide_run::run::{Run, RunError};
use ebbtide_run::settings::Settings;
use ebbtide_run::{Event, Observer, Outcome, Status, pool};

use crate::asked::Asked;
use crate::compare::{Form, write_groups};
use crate::display::Display;
use crate::failure::{Failure, say, settle};
use crate::final_table::FinalTable;
use crate::find::meant;
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::parse::{self, Seeds};

/// The exit code of a run that diverged.
const DIVERGED: u8 = 3;

/// What to train. Everything not given is as in the paper.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Train {
    #[command(flatten)]
    asked: Asked,
    /// Seed of all randomness; the same seed gives the same bits on any number of threads [default: 0]
    #[arg(long, value_name = "S", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Several runs, one for each seed, side by side: 0,1,2 or 0-2
    #[arg(long, value_name = "S,S,…", value_parser = parse::seeds)]
    seeds: Option<Seeds>,
    #[command(flatten)]
    manner: Manner,
}

/// A run to go on with.
#[derive(Args)]
#[command(after_help = RESUME_HELP)]
pub struct Resume {
    /// The run's folder, or its name (the date may be left out); several go on side by side
    #[arg(required = true, value_name = "RUN")]
    names: Vec<PathBuf>,
    /// A new number of iterations: more, or fewer if so many are not done yet
    #[arg(long, value_name = "N", value_parser = parse::iterations)]
    iterations: Option<u64>,
    #[command(flatten)]
    manner: Manner,
}

/// How runs are done and shown.
#[derive(Args)]
struct Manner {
    /// Threads; 0 takes all cores
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
    /// Print the final figures as JSON, one line for each run
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
Methods (generation objective, then what happens to variance and destruction):
  tb-fixed      trajectory balance; both variance and destruction fixed
  tb-variance   trajectory balance; learned variance
  tb-tlm        trajectory balance; learned variance, destruction by likelihood of trajectories
  tb-tb         trajectory balance for both processes; learned variance
  pis-fixed, pis-variance, pis-tlm, pis-vargrad
                the same with reverse KL through the simulation (needs the gradient of the density)
  custom        whatever the settings say

A Python function is asked in a process of its own: `python3` of the PATH, and so of an active virtual environment, or the interpreter that the
environment variable EBBTIDE_PYTHON names. It needs NumPy. With `--gradient` local search finds modes, and reverse KL becomes possible.

Latents of a generator under a reward are a file's affair (docs/latent.md): target = \"latent\", latent.generator, latent.reward, latent.beta. Their
networks, like that of --onnx, are evaluated by onnxruntime if its library is found (ORT_DYLIB_PATH names it, or the active Python's package onnxruntime has it), and
otherwise by tract, which is part of this program.

Everything is kept in a folder of its own, runs/<date>-<target>-<method>-T<steps>-s<seed>/:
config.toml, environment.json, metrics.jsonl, checkpoints/, samples.npy, result.json, report.html, log.txt.

Ctrl-C writes a checkpoint, prints the figures of what was learned so far, and ends with code 130; a
second one leaves at once. `ebbtide resume` goes on, to the same bits.

Examples:
  ebbtide train 25gmm
  ebbtide train easy-funnel --steps 10 --method tb-tlm --seeds 0,1,2
  ebbtide train --formula \"-(x0^2 - 4)^2 - 0.5*(x1 - x0)^2\" --dim 2
  ebbtide train --python model.py:log_density --dim 10
  ebbtide train --onnx energy.onnx
  ebbtide train --config latent.toml
  ebbtide train manywell --iterations 2000 --set network.width=128 --json > result.json
  ebbtide config 40gmm > mine.toml && ebbtide train --config mine.toml";

const RESUME_HELP: &str = "\
The result is bitwise that of a run that was never stopped. Settings that the training does not depend on
(evaluation.*, metrics.*, checkpoint.*) may be changed in the run's config.toml before.

Examples:
  ebbtide resume runs/2026-11-16-25gmm-tb-tb-T5-s0
  ebbtide resume runs/2026-11-16-25gmm-tb-tb-T5-s0 --iterations 50000";

/// Leaves a page in a run's folder. A run is worth as much without one, so what goes wrong is only told.
pub fn leave_report(folder: &Path, threads: &Threads, observer: &mut dyn Observer) {
    if let Err(error) = keep::leave_report(folder, threads) {
        observer.notice(Event::Remarked(&format!("no report: {error}")));
    }
}

/// How a run comes about.
enum Start {
    New { parent: PathBuf, settings: Box<Settings> },
    Old { folder: PathBuf, iterations: Option<u64> },
}

/// A run that is over.
struct Ended {
    folder: PathBuf,
    outcome: Outcome,
    reading: Reading,
}

impl Start {
    fn name(&self) -> String {
        match self {
            Start::New { settings, .. } => settings.name(),
            Start::Old { folder, .. } => {
                folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            }
        }
    }

    fn run(self, threads: &Threads) -> Result<Run, RunError> {
        match self {
            Start::New { parent, settings } => Run::begin(&parent, *settings, threads),
            Start::Old { folder, iterations } => Run::resume(&folder, iterations, threads),
        }
    }
}

impl Train {
    /// Trains, evaluates, prints.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let seeds: Vec<Option<(&str, u64)>> = match (self.seed, &self.seeds) {
            (None, None) => vec![None],
            (Some(seed), _) => vec![Some(("--seed", seed))],
            (None, Some(Seeds(seeds))) => seeds.iter().map(|seed| Some(("--seeds", *seed))).collect(),
        };
        let file = self.asked.file()?;
        let mut starts = Vec::new();
        for seed in seeds {
            let settings = Box::new(self.asked.resolve(file.as_deref(), seed)?);
            starts.push(Start::New { parent: runs.to_owned(), settings });
        }
        self.manner.go(starts)
    }
}

impl Resume {
    /// Goes on, evaluates, prints.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let (mut starts, mut folders) = (Vec::new(), HashSet::new());
        for name in &self.names {
            let folder = meant(name, runs)?;
            if folders.insert(fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone())) {
                starts.push(Start::Old { folder, iterations: self.iterations });
            }
        }
        self.manner.go(starts)
    }
}

impl Manner {
    /// As many runs at once as there are threads, the threads shared out among them.
    fn go(&self, starts: Vec<Start>) -> Result<ExitCode, Failure> {
        let cores = if self.threads == 0 { pool::cores() } else { self.threads };
        let workers = starts.len().min(cores);
        let display = Display::new(self.quiet);
        let interrupt = Interrupt::listen(&display)?;
        let jobs: Vec<_> = starts.into_iter().map(|start| (display.observe(&start.name()), start)).collect();
        let results = pool::work(jobs, workers, |(mut observer, start)| {
            if interrupt.stop().asked() {
                return Ok(None);
            }
            let threads = Threads::new(cores / workers)?;
            let run = start.run(&threads)?;
            let (folder, target) = (run.folder().to_owned(), run.settings().built_target());
            let outcome = run.go(interrupt.stop(), &mut observer)?;
            leave_report(&folder, &threads, &mut observer);
            let reading = Reading::of(&outcome, &*target);
            Ok::<_, Failure>(Some(Ended { folder, outcome, reading }))
        });
        display.finish();
        self.print(results)
    }

    /// A run that had not begun when somebody asked to stop is `None`.
    fn print(&self, results: Vec<Result<Option<Ended>, Failure>>) -> Result<ExitCode, Failure> {
        let (all, mut ended, mut failures, mut waiting) = (results.len(), Vec::new(), Vec::new(), 0);
        for result in results {
            match result {
                Ok(Some(run)) => ended.push(run),
                Ok(None) => waiting += 1,
                Err(failure) => failures.push(failure),
            }
        }
        let printed = print_outcomes(&ended, self.json);
        if waiting > 0 {
            say(&format!("{waiting} of {all} runs were not begun"));
        }
        match failures.len() {
            0 if waiting > 0 => settle(ExitCode::from(INTERRUPTED), printed),
            0 => settle(exit_code(ended.iter().map(|run| &run.outcome)), printed),
            1 if all == 1 => Err(failures.remove(0)),
            failed => {
                failures.iter().for_each(Failure::tell);
                Err(Failure::Several { failed, all })
            }
        }
    }
}

/// Final figures, for people or for programs.
fn print_outcomes(ended: &[Ended], json: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for Ended { folder, outcome, reading } in ended {
        if json {
            let verdict = reading.words();
            serde_json::to_writer(&mut out, &Line { folder, verdict, outcome }).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", FinalTable { outcome, reading, folder: Some(folder) })?;
        }
    }
    if ended.len() > 1 && !json {
        let folders: Vec<PathBuf> = ended.iter().map(|run| run.folder.clone()).collect();
        writeln!(out, "\nTogether, mean ± deviation from run to run:")?;
        write_groups(&mut out, &group(&gather(&folders).found), Form::Text)?;
    }
    Ok(())
}

/// A run in one line of JSON.
#[derive(serde::Serialize)]
struct Line<'a> {
    folder: &'a Path,
    verdict: Option<String>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// What the shell gets for runs that ended.
fn exit_code<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> ExitCode {
    let statuses: Vec<&Status> = outcomes.map(|outcome| &outcome.status).collect();
    if statuses.contains(&&Status::Interrupted) {
        ExitCode::from(INTERRUPTED)
    } else if statuses.iter().any(|status| matches!(status, Status::Diverged { .. })) {
        ExitCode::from(DIVERGED)
    } else {
        ExitCode::SUCCESS
    }
}
