//! The `ebbtide` command: reads what is asked, and leaves the rest to the libraries.

mod asked;
mod check;
mod compare;
mod config;
mod display;
mod eval;
mod failure;
mod final_table;
mod find;
mod interrupt;
mod jobs;
mod paper;
mod parse;
mod report;
mod sample;
mod shell;
mod sweep;
mod targets;
mod train;
mod watch;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Learn to sample a density known up to a constant, in a handful of steps.
#[derive(Parser)]
#[command(name = "ebbtide", version, max_term_width = 100, after_help = HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Where run folders are made and looked for [default: the environment's EBBTIDE_RUNS, or runs]
    #[arg(long, global = true, value_name = "DIR")]
    runs: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  ebbtide targets
  ebbtide train 25gmm
  ebbtide train easy-funnel --steps 10 --method tb-tlm --seeds 0,1,2
  ebbtide config 40gmm > mine.toml && ebbtide check mine.toml && ebbtide train --config mine.toml
  ebbtide resume runs/2026-11-16-25gmm-tb-tb-T5-s0
  ebbtide sample runs/2026-11-16-25gmm-tb-tb-T5-s0 -n 100000 -o samples.npy
  ebbtide compare runs/
  ebbtide paper show funnel

Exit codes:
  0  done            1  an error       2  wrong usage or configuration
  3  it diverged   130  interrupted";

#[derive(Subcommand)]
enum Command {
    /// Train a sampler and say how good it became
    Train(Box<train::Train>),
    /// Go on with a run that was stopped, or extend one
    Resume(train::Resume),
    /// Draw from a trained sampler
    Sample(sample::Sample),
    /// Say how good a trained sampler is
    Eval(eval::Eval),
    /// Put runs side by side: mean ± deviation over seeds
    Compare(compare::Compare),
    /// Make a page to look at, of one run or several
    Report(report::Report),
    /// Show a run in a browser while it goes on
    Watch(watch::Watch),
    /// Run a grid of targets, methods, steps and seeds
    Sweep(sweep::SweepCommand),
    /// Reproduce the paper: its tables and figures, by name
    Paper(paper::PaperCommand),
    /// Print a whole configuration, commented, ready to edit
    Config(config::Config),
    /// Check a configuration or a sweep, and estimate time and memory
    Check(check::Check),
    /// List the targets that can be named
    Targets,
    /// Print a completion script for a shell
    Completions(shell::Completions),
    /// Write manual pages
    Man(shell::Man),
}

fn main() -> ExitCode {
    let Arguments { command, runs } = Arguments::parse();
    let chosen = || std::env::var_os("EBBTIDE_RUNS").filter(|chosen| !chosen.is_empty());
    let runs = runs.or_else(|| chosen().map(PathBuf::from)).unwrap_or_else(|| "runs".into());
    let result = match command {
        Command::Train(train) => train.run(&runs),
        Command::Resume(resume) => resume.run(&runs),
        Command::Sample(sample) => sample.run(&runs),
        Command::Eval(eval) => eval.run(&runs),
        Command::Compare(compare) => compare.run(&runs),
        Command::Report(report) => report.run(&runs),
        Command::Watch(watch) => watch.run(&runs),
        Command::Sweep(sweep) => sweep.run(&runs),
        Command::Paper(paper) => paper.run(&runs),
        Command::Config(config) => config.run(),
        Command::Check(check) => check.run(&runs),
        Command::Targets => targets::list(),
        Command::Completions(completions) => completions.run(Arguments::command()),
        Command::Man(man) => man.run(Arguments::command()),
    };
    result.unwrap_or_else(|failure| {
        failure.tell();
        failure.exit_code()
    })
}
