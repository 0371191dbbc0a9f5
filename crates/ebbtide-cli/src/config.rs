//! `ebbtide config`: the whole configuration of a run, commented, ready to edit.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;

/// Whose configuration to print.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Config {
    #[command(flatten)]
    asked: Asked,
}

const HELP: &str = "\
Examples:
  ebbtide config 25gmm --method tb-tlm > mine.toml
  ebbtide config --config mine.toml --set batch=1024";

impl Config {
    /// Prints it.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        io::stdout()
            .lock()
            .write_all(self.asked.resolve(self.asked.file()?.as_deref(), None)?.to_toml().as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
