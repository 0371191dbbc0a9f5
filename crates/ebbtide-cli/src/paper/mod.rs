//! `ebbtide paper`: the tables and figures of the paper, run and shown.

mod list;
mod run;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_paper::{Paper, Results, Selection};

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

/// Which rows of tables are meant; all of them, unless it is said.
#[derive(Args)]
struct Rows {
    /// Only these targets: easy-funnel,hard-funnel
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Suggested(NamedTarget::PAPER.map(NamedTarget::name).to_vec()), hide_possible_values = true)]
    targets: Vec<String>,
    /// Only these methods, or rows of the ablation: tb-tlm,tb-tb
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Suggested(Method::ALL.map(Method::name).to_vec()), hide_possible_values = true)]
    methods: Vec<String>,
    /// Only these numbers of steps: 5,10
    #[arg(long, value_name = "T,…", value_delimiter = ',')]
    steps: Vec<usize>,
}

impl Rows {
    /// Those rows of the tables and figures of these names.
    fn of(&self, names: &[String]) -> Selection {
        Selection {
            names: names.to_vec(),
            targets: self.targets.clone(),
            methods: self.methods.clone(),
            steps: self.steps.clone(),
        }
    }
}

/// Names that a shell may offer.
fn names() -> Suggested {
    Suggested(Paper::new().names().collect())
}
