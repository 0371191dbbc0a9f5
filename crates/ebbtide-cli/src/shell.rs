//! `ebbtide completions` and `ebbtide man`: what a shell and a reader of manuals want.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use ebbtide_run::durable::FileError;

use crate::failure::Failure;

/// For which shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  ebbtide completions bash > ~/.local/share/bash-completion/completions/ebbtide
  ebbtide completions zsh > ~/.zfunc/_ebbtide
  ebbtide completions fish > ~/.config/fish/completions/ebbtide.fish")]
pub struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(&self, mut command: Command) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "ebbtide", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Where to.
#[derive(Args)]
#[command(after_help = "\
Examples:
  ebbtide man ~/.local/share/man/man1 && man ebbtide-train")]
pub struct Man {
    /// A folder for the pages, one for each command
    folder: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub fn run(&self, command: Command) -> Result<ExitCode, Failure> {
        fs::create_dir_all(&self.folder).map_err(FileError::of("make", &self.folder))?;
        clap_mangen::generate_to(command, &self.folder).map_err(FileError::of("write", &self.folder))?;
        Ok(ExitCode::SUCCESS)
    }
}
