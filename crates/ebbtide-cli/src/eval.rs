//! `ebbtide eval`: what a trained sampler is worth, measured anew.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate};
use ebbtide::trajectory::Threads;
use ebbtide_run::reading::Reading;
use ebbtide_run::run::read_outcome;
use ebbtide_run::settings::MOST_SAMPLES;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Outcome, Status};

use crate::failure::{Failure, say};
use crate::final_table::FinalTable;
use crate::find::meant;
use crate::parse;

/// What to evaluate.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Eval {
    /// The run's folder, or its name (the date may be left out)
    run: PathBuf,
    /// Trajectories of each kind [default: as the run's evaluations]
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    samples: Option<usize>,
    /// Seed of the evaluation; another one tells how much of the figures is chance [default: the run's]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Weights of the newest checkpoint (last) or of the best evaluation (best)
    #[arg(long, value_name = "WHICH", default_value = "last", value_parser = parse::which(), hide_possible_values = true)]
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
Works on a run that is still going on, too. A mode counts as reached when a single sample belongs to it; how evenly they are
reached is the total variation between the shares of the samples and the true weights of the modes.

Examples:
  ebbtide eval runs/2026-11-16-25gmm-tb-tb-T5-s0
  ebbtide eval runs/2026-11-16-25gmm-tb-tb-T5-s0 --samples 16384 --seed 1 --no-transport --json";

impl Eval {
    /// Evaluates and prints.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let mut trained =
            Trained::open(&meant(&self.run, runs)?, self.checkpoint, &Threads::new(self.threads)?)?;
        trained.remarks.iter().for_each(|remark| say(remark));
        let options = EvaluationOptions {
            samples: self.samples.unwrap_or(trained.settings.keeping.samples),
            seed: self.seed.unwrap_or(trained.settings.config.seed),
            iteration: trained.iteration,
            transport: !self.no_transport,
        };
        if !(2..=MOST_SAMPLES).contains(&options.samples) {
            let samples = options.samples;
            return Err(Failure::Usage(format!(
                "--samples is {samples}, but must be between 2 and {MOST_SAMPLES}"
            )));
        }
        let evaluation =
            evaluate(&*trained.target, &mut trained.sampler, options).map_err(|error| match error {
                EvaluationError::Transport(error) => Failure::Usage(format!(
                    "{error}; leave the distance out with --no-transport, or take fewer --samples"
                )),
                error => error.into(),
            })?;
        // How the run ended is its own affair; a figure more is not.
        let before = read_outcome(&trained.folder).ok().flatten();
        let status = before.as_ref().map_or(Status::Interrupted, |before| before.status.clone());
        let outcome = Outcome {
            best_iteration: before.and_then(|before| before.best_iteration),
            samples: options.samples,
            log_z_learned: trained.log_z_learned,
            ..Outcome::new(status, &trained.settings, &*trained.target, trained.iteration)
        }
        .evaluated(&evaluation)
        .rewarded(&*trained.target, &evaluation, options.seed)?;
        let reading = Reading::of(&outcome, &*trained.target);
        let mut out = io::stdout().lock();
        if self.json {
            let line = Line {
                folder: &trained.folder,
                checkpoint: if self.checkpoint == Which::Best { "best" } else { "last" },
                evaluation_seed: options.seed,
                verdict: reading.words(),
                outcome: &outcome,
            };
            serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", FinalTable { outcome: &outcome, reading: &reading, folder: None })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An evaluation in one line of JSON.
#[derive(serde::Serialize)]
struct Line<'a> {
    folder: &'a Path,
    checkpoint: &'static str,
    evaluation_seed: u64,
    verdict: Option<String>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}
