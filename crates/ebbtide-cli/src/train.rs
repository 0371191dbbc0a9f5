//! `ebbtide train`: one training from beginning to end.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use ebbtide::metric::{Evaluation, EvaluationError, EvaluationOptions, evaluate};
use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Config, ConfigError, TrainError, Trainer};
use ebbtide::trajectory::{Threads, ThreadsError};
use ebbtide_run::{Event, Figures, Observer, Outcome, Record, Status};

use crate::display::Display;
use crate::final_table::FinalTable;
use crate::interrupt::{INTERRUPTED, Interrupt};

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
        let display = Display::new(self.quiet);
        let name = format!("{} {} T{} s{}", self.target.name(), self.method.name(), self.steps, self.seed);
        let mut observer = display.observe(&name);
        observer.notice(Event::Begun { folder: Path::new(""), iteration: 0, iterations: all, seconds: 0.0 });
        let begun = Instant::now();
        let mut evaluating = 0.0;
        while !trainer.is_finished() && !interrupt.asked() {
            let report = trainer.step()?;
            observer.notice(Event::Stepped(&report));
            if !self.quiet && report.iteration.is_multiple_of((all / EVALUATIONS).max(1)) {
                let paused = Instant::now();
                let options = self.evaluation(report.iteration, false);
                let bounds = evaluate(&*target, &mut trainer.sampler(), options)?.bounds;
                let figures = Some(Figures::from(&bounds));
                observer.notice(Event::Recorded(&Record { figures, ..Record::default() }));
                evaluating += paused.elapsed().as_secs_f64();
            }
        }
        let seconds = begun.elapsed().as_secs_f64() - evaluating;
        let finished = trainer.is_finished();
        if !finished {
            display.remark("interrupted: evaluating what was learned");
        }
        observer.notice(Event::Evaluating);
        let options = self.evaluation(trainer.state().iteration(), true);
        let evaluation = evaluate(&*target, &mut trainer.sampler(), options)?;
        let outcome = self.outcome(&trainer, seconds, &evaluation);
        observer.notice(Event::Ended(&outcome));
        display.finish();
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &outcome).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", FinalTable { outcome: &outcome, folder: None })?;
        }
        Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
    }

    /// What a training, its length in seconds, and its evaluation come to.
    fn outcome(&self, trainer: &Trainer, seconds: f64, evaluation: &Evaluation) -> Outcome {
        let (config, coverage) = (trainer.config(), evaluation.coverage.as_ref());
        Outcome {
            status: if trainer.is_finished() { Status::Finished } else { Status::Interrupted },
            target: self.target.name().to_owned(),
            method: self.method.name().to_owned(),
            steps: config.grid.steps(),
            batch: config.batch,
            seed: config.seed,
            iterations: trainer.state().iteration(),
            seconds,
            evaluations: trainer.state().evaluations(),
            figures: Some(Figures::from(&evaluation.bounds)),
            log_z_true: trainer.target().log_z(),
            w2: evaluation.wasserstein2,
            w2_floor: evaluation.wasserstein2_floor,
            modes: coverage.map(|coverage| (coverage.reached, coverage.frequencies.len())),
            modes_total_variation: coverage.map(|coverage| coverage.total_variation),
            best_iteration: None,
        }
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
