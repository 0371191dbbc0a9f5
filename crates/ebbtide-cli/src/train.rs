//! `ebbtide train`: one training from beginning to end.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate};
use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Config, ConfigError, TrainError, Trainer};
use ebbtide::trajectory::ThreadsError;

use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::outcome::Outcome;
use crate::progress::Progress;

/// How many times a training is evaluated on its way.
const EVALUATIONS: u64 = 50;
/// Trajectories of each kind that the final figures are computed from, as in the paper.
const SAMPLES: usize = 2048;

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
    /// Iterations, of one fresh, two replayed and one local-search update each
    #[arg(long, value_name = "N", default_value_t = 25_000)]
    iterations: u64,
    /// Trajectories of each update
    #[arg(long, value_name = "B", default_value_t = 512)]
    batch: usize,
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
        let config = Config {
            iterations: self.iterations,
            batch: self.batch,
            seed: self.seed,
            ..Config::preset(self.target, self.method, self.steps)
        };
        let valid = config.validate(&*target)?;
        let interrupt = Interrupt::listen()?;
        let mut trainer = Trainer::new(valid, Arc::clone(&target), self.threads)?;
        let mut progress = Progress::begin(self.iterations, self.quiet);
        let mut evaluating = 0.0;
        while trainer.state().iteration() < self.iterations && !interrupt.asked() {
            let report = trainer.step()?;
            if report.iteration.is_multiple_of((self.iterations / EVALUATIONS).max(1)) {
                let begun = progress.seconds();
                let options = self.evaluation(report.iteration, false);
                progress.evaluated(&evaluate(&*target, &mut trainer.sampler()?, options)?.bounds);
                evaluating += progress.seconds() - begun;
            }
            progress.stepped(&report);
        }
        let seconds = progress.seconds() - evaluating;
        let iterations = trainer.state().iteration();
        progress.finish(if interrupt.asked() {
            "interrupted: evaluating what was learned"
        } else {
            "evaluating"
        });
        let evaluation = evaluate(&*target, &mut trainer.sampler()?, self.evaluation(iterations, true))?;
        let outcome = self.outcome(&trainer, seconds).with(&evaluation);
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &outcome).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{outcome}")?;
        }
        Ok(if interrupt.asked() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
    }

    fn evaluation(&self, iteration: u64, transport: bool) -> EvaluationOptions {
        EvaluationOptions { samples: SAMPLES, seed: self.seed, iteration, transport }
    }

    fn outcome(&self, trainer: &Trainer, seconds: f64) -> Outcome {
        Outcome {
            target: self.target.name(),
            method: self.method.name(),
            steps: self.steps,
            batch: self.batch,
            seed: self.seed,
            iterations: trainer.state().iteration(),
            seconds,
            evaluations: trainer.state().evaluations(),
            elbo: f64::NAN,
            elbo_error: f64::NAN,
            eubo: None,
            eubo_error: None,
            log_z: f64::NAN,
            log_z_error: f64::NAN,
            log_z_true: trainer.target().log_z(),
            ess: f64::NAN,
            w2: None,
            w2_floor: None,
            modes: None,
            modes_total_variation: None,
        }
    }
}
