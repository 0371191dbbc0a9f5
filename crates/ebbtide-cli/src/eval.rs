//! `ebbtide eval`: what a trained sampler is worth, measured anew.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::trajectory::Threads;
use ebbtide_run::folder::find;
use ebbtide_run::run::read_outcome;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Outcome, Status};

use crate::failure::Failure;
use crate::final_table::FinalTable;

/// What to evaluate.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Eval {
    /// The run's folder, or its name (the date may be left out)
    run: PathBuf,
    /// Trajectories of each kind [default: as the run's evaluations]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// Seed of the evaluation; another one tells how much of the figures is chance [default: the run's]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Weights of the newest checkpoint (last) or of the best evaluation (best)
    #[arg(long, value_name = "WHICH", default_value = "last")]
    checkpoint: Which,
    /// Leave out the 2-Wasserstein distance, whose cost grows as the cube of the samples
    #[arg(long)]
    no_transport: bool,
    /// Print the figures as one line of JSON
    #[arg(long)]
    json: bool,
    /// Threads; 0 takes all cores
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
}

const HELP: &str = "\
Works on a run that is still going on, too.

Examples:
  ebbtide eval runs/2026-11-16-25gmm-tb-tb-T5-s0
  ebbtide eval runs/2026-11-16-25gmm-tb-tb-T5-s0 --samples 16384 --seed 1 --no-transport --json";

impl Eval {
    /// Evaluates and prints.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let mut trained =
            Trained::open(&find(&self.run, runs)?, self.checkpoint, &Threads::new(self.threads)?)?;
        trained.remarks.iter().for_each(|remark| eprintln!("{remark}"));
        let options = EvaluationOptions {
            samples: self.samples.unwrap_or(trained.settings.keeping.samples),
            seed: self.seed.unwrap_or(trained.settings.config.seed),
            iteration: trained.iteration,
            transport: !self.no_transport,
        };
        let evaluation = evaluate(&*trained.target, &mut trained.sampler, options)?;
        let before = read_outcome(&trained.folder)?;
        let outcome = Outcome {
            best_iteration: before.and_then(|before| before.best_iteration),
            ..Outcome::new(Status::Finished, &trained.settings, &*trained.target, trained.iteration)
        }
        .evaluated(&evaluation);
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &outcome).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", FinalTable { outcome: &outcome, folder: None })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
