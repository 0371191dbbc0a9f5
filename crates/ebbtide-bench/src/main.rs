//! The `ebbtide-bench` command: how long Ebbtide's work takes, and how much of it is arithmetic.

mod arithmetic;
mod case;
mod growth;
mod latent;
mod memory;
mod overhead;
mod points;
mod request;
mod serve;
mod timing;
mod updates;
mod work;

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use ebbtide::trajectory::Threads;

/// Whatever can go wrong, in words for whoever asked.
type Failure = Box<dyn Error>;

/// Time Ebbtide's work: updates, sampling, whole iterations, exact optimal transport.
#[derive(Parser)]
#[command(name = "ebbtide-bench", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ebbtide-bench updates
  ebbtide-bench growth --threads 1 > growth.csv
  ebbtide-bench latent examples/digits/prompts/seven.toml --engines tract,ort
  echo '{\"work\": \"sgemm\", \"seconds\": 1}' | ebbtide-bench serve

`benches/peers/run` asks this command and its peers in turn and writes down how they compare.";

#[derive(Subcommand)]
enum Command {
    /// Print `ebbtide,d,width,depth,T,batch,update_ms,sample_ms` for each of four sizes.
    Updates(updates::Updates),
    /// Answer requests, one line of JSON each, until standard input ends.
    Serve(serve::Serve),
    /// Print how time and memory of an update grow with the steps, the batch and the width, as CSV.
    Growth(growth::Growth),
    /// Print what it costs to keep a training in a folder, as CSV.
    Overhead(overhead::Overhead),
    /// Print how an iteration's time is split between networks and sampler, as CSV.
    Latent(latent::Latent),
}

/// How many threads work.
#[derive(Args, Clone, Copy)]
struct ThreadCount {
    /// Threads; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
}

impl ThreadCount {
    fn start(self) -> Result<Threads, Failure> {
        Ok(Threads::new(self.threads)?)
    }
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Updates(updates) => updates.run(),
        Command::Serve(serve) => serve.run(),
        Command::Growth(growth) => growth.run(),
        Command::Overhead(overhead) => overhead.run(),
        Command::Latent(latent) => latent.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
