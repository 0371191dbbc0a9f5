//! `ebbtide paper show`: ours beside the published figures.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide_paper::block::sections;
use ebbtide_paper::{Paper, keep, write};

use super::{Place, Rows, names};
use crate::compare::Form;
use crate::failure::Failure;

/// What to show.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Show {
    /// Tables and figures; `ebbtide paper list` has their names [default: all]
    #[arg(value_name = "TABLE", value_parser = names(), hide_possible_values = true)]
    names: Vec<String>,
    #[command(flatten)]
    only: Rows,
    /// How the tables are written
    #[arg(long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    form: Form,
    /// The same as `--form json`: a list with an object for each cell
    #[arg(long, conflicts_with = "form")]
    json: bool,
    /// Write everything there is into this folder instead: README.md, index.html and figures/
    #[arg(long, value_name = "DIR", conflicts_with_all = ["form", "json", "names", "Rows"])]
    into: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

const HELP: &str = "\
A cell is our mean over seeds that finished, beside the published mean and deviation, and what to say of the two:
  reproduced   no further away than two published deviations, or 0.05
  better       further away on the good side, or there is a figure where the paper's training diverged
  worse        further away on the bad side
  diverged     no seed finished
  not run      nothing is there yet
Seeds that diverged are counted below the table, and runs that were stopped early are named. Bounds of Manywell are gaps to log Z.

Examples:
  ebbtide paper show funnel
  ebbtide paper show 25gmm funnel --methods tb-tb --steps 5,10
  ebbtide paper show ablation --form markdown
  ebbtide paper show --json
  ebbtide paper show --into paper";

impl Show {
    /// Prints tables, or writes pages.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let paper = Paper::new();
        if let Some(folder) = &self.into {
            return self.keep(&paper, runs, folder);
        }
        let rows =
            self.only.of(&self.names).rows(&paper).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
        let results = self.place.read(&paper);
        let sections = sections(&paper, &results, &rows);
        write::write(&mut io::stdout().lock(), &sections, self.form())?;
        Ok(ExitCode::SUCCESS)
    }

    fn keep(&self, paper: &Paper, runs: &Path, folder: &Path) -> Result<ExitCode, Failure> {
        let written = keep::leave(paper, &self.place.read(paper), runs, folder)?;
        let mut out = io::stdout().lock();
        for path in written {
            writeln!(out, "{}", path.display())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn form(&self) -> write::Form {
        match self.form {
            _ if self.json => write::Form::Json,
            Form::Json => write::Form::Json,
            Form::Text => write::Form::Text,
            Form::Markdown => write::Form::Markdown,
            Form::Csv => write::Form::Csv,
        }
    }
}
