//! `ebbtide train`: one training from beginning to end.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate};
use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Config, ConfigError, TrainError, Trainer};
use ebbtide::trajectory::{Threads, ThreadsError};

use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::outcome::Outcome;
use crate::progress::Progress;

/// How many times a training is evaluated on its way.
const EVALUATIONS: u64 = 50;

/// What to train. Everything not given is as in the paper.
#[derive(Args)]
#[command(after_help = METHODS)]
pub struct Train {
    /// What to sample; `ebbtide targets` lists the names
    target: NamedTarget,
    /// Steps from the origin to a sample
    #[arg(long, value_name = "T", default_value_t = 5)]
    steps: usize,
    /// How the two processes learn
    #[arg(long, value_name = "NAME", default_value = "tb-tb")]
    method: Method,
    /// Iterations [default: the paper's 25000]
    #[arg(long, value_name = "N")]
    iterations: Option<u64>,
    /// Trajectories of each update [default: the paper's 512]
    #[arg(long, value_name = "B")]
    batch: Option<usize>,
    /// Seed of all randomness; the same seed gives the same bits on any number of threads
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Threads; 0 takes all cores
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
    /// Print the final figures as one line of JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

const METHODS: &str = "\
Methods (generation objective, then what happens to variance and destruction):
  tb-fixed      trajectory balance; both variance and destruction fixed
  tb-variance   trajectory balance; learned variance
  tb-tlm        trajectory balance; learned variance, destruction by likelihood of trajectories
  tb-tb         trajectory balance for both processes; learned variance
  pis-fixed, pis-variance, pis-tlm, pis-vargrad
                the same with reverse KL through the simulation (needs the gradient of the density)

Ctrl-C stops a training and prints the figures of what was learned so far; a second one leaves at once.";

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    #[error("could not listen for Ctrl-C: {0}")]
    Interrupt(#[from] ctrlc::Error),
    #[error("could not write the result: {0}")]
    Write(#[from] io::Error),
}

impl Failure {
    /// What the shell gets.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Train(TrainError::Diverged { .. }) => ExitCode::from(3),
            _ => ExitCode::FAILURE,
        }
    }
}

impl Train {
    /// Trains, evaluates, prints.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let target: Arc<dyn Target> = self.target.build().into();
        let valid = self.config().validate(Arc::clone(&target))?;
        let interrupt = Interrupt::listen()?;
        let mut trainer = Trainer::new(valid, &Threads::new(self.threads)?);
        let all = trainer.config().iterations;
        let mut progress = Progress::begin(all, self.quiet);
        let mut evaluating = 0.0;
        while !trainer.is_finished() && !interrupt.asked() {
            let report = trainer.step()?;
            if !self.quiet && report.iteration.is_multiple_of((all / EVALUATIONS).max(1)) {
                let begun = progress.seconds();
                let options = self.evaluation(report.iteration, false);
                progress.evaluated(&evaluate(&*target, &mut trainer.sampler(), options)?.bounds);
                evaluating += progress.seconds() - begun;
            }
            progress.stepped(&report);
        }
        let seconds = progress.seconds() - evaluating;
        let finished = trainer.is_finished();
        progress.finish(if finished { "evaluating" } else { "interrupted: evaluating what was learned" });
        let options = self.evaluation(trainer.state().iteration(), true);
        let evaluation = evaluate(&*target, &mut trainer.sampler(), options)?;
        let outcome = Outcome::new(self.target, self.method, &trainer, seconds, &evaluation);
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &outcome).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{outcome}")?;
        }
        Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
    }

    fn config(&self) -> Config {
        let mut config = Config::preset(self.target, self.method, self.steps);
        config.seed = self.seed;
        config.iterations = self.iterations.unwrap_or(config.iterations);
        config.batch = self.batch.unwrap_or(config.batch);
        config
    }

    fn evaluation(&self, iteration: u64, transport: bool) -> EvaluationOptions {
        EvaluationOptions { seed: self.seed, iteration, transport, ..EvaluationOptions::default() }
    }
}
