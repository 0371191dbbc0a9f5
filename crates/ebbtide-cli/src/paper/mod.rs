//! `ebbtide paper`: the tables and figures of the paper, run and shown.

mod list;
mod run;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ebbtide_paper::{Paper, Results};

use crate::failure::{Failure, say};
use crate::parse::Suggested;

/// What to do about the paper.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct PaperCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the tables and figures, and how much of each is there
    List(list::List),
    /// Train what is missing of tables and figures
    Run(run::Run),
    /// Show tables: ours beside the published figures
    Show(show::Show),
}

const HELP: &str = "\
Every table and figure of the paper has a name. What was found of each run is a small file in paper/results, which is
committed; `run` trains what is missing there, and `show` puts all of it beside the published figures.

Examples:
  ebbtide paper list
  ebbtide paper run funnel --targets easy-funnel --steps 5 --seeds 1 --dry-run
  ebbtide paper show funnel";

impl PaperCommand {
    /// Does it.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        match &self.command {
            Command::List(list) => list.run(),
            Command::Run(run) => run.run(runs),
            Command::Show(show) => show.run(runs),
        }
    }
}

/// Where findings are.
#[derive(Args)]
struct Place {
    /// Where findings are kept, one small file for each run
    #[arg(long, value_name = "DIR", default_value = "paper/results")]
    results: PathBuf,
}

impl Place {
    /// Reads what is there, and says what does not count.
    fn read(&self, paper: &Paper) -> Results {
        let results = Results::read(&self.results, paper);
        for aside in &results.aside {
            say(&format!("not counted: {}: {}", self.results.join(&aside.file).display(), aside.reason));
        }
        results
    }
}

/// Names that a shell may offer.
fn names() -> Suggested {
    Suggested(Paper::new().names().collect())
}
