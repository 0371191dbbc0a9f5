//! The `ebbtide` command: reads what is asked, and leaves the method to the library.

mod display;
mod final_table;
mod interrupt;
mod targets;
mod train;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Learn to sample a density known up to a constant, in a handful of steps.
#[derive(Parser)]
#[command(name = "ebbtide", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ebbtide targets
  ebbtide train 25gmm
  ebbtide train easy-funnel --steps 10 --method tb-tlm --seed 1
  ebbtide train manywell --iterations 2000 --json > result.json

Exit codes:
  0  done            1  an error       2  wrong usage
  3  it diverged   130  interrupted";

#[derive(Subcommand)]
enum Command {
    /// Train a sampler and say how good it became.
    Train(train::Train),
    /// List the targets that can be named.
    Targets,
}

fn main() -> ExitCode {
    let code = match Arguments::parse().command {
        Command::Train(train) => train.run(),
        Command::Targets => targets::list(),
    };
    match code {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_code()
        }
    }
}
