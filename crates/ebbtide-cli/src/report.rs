//! `ebbtide report`: pages to look at.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_report::Pair;
use ebbtide_report::keep;
use ebbtide_report::page::{self, Life, Shown};
use ebbtide_report::portrait::{Portrait, PortraitError};
use ebbtide_run::compare::{Gathered, gather};
use ebbtide_run::durable::replace_with;
use ebbtide_run::folder::{Files, is_run};
use ebbtide_run::trained::Which;

use crate::compare::tell_unreadable;
use crate::failure::Failure;
use crate::find::places;
use crate::parse;

/// What to show.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Report {
    /// A run's folder or its name, or several, or folders of them
    #[arg(required = true, value_name = "RUN")]
    names: Vec<PathBuf>,
    /// Where the page goes [default: report.html in the run's folder (report-best.html of its best weights); of several runs, in the folder given or here]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every chart into this folder too, as SVG and as PNG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Coordinates to look at together, as 0,1 (may be given several times) [default: a choice]
    #[arg(long, value_name = "I,J", value_parser = parse::pair)]
    pair: Vec<Pair>,
    /// Weights of the newest checkpoint (last) or of the best evaluation (best)
    #[arg(long, value_name = "WHICH", default_value = "last", value_parser = parse::which(), hide_possible_values = true)]
    checkpoint: Which,
    /// Threads; 0 takes all cores
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
}

/// More pairs than this nobody looks at, and the page would become heavy.
const MOST_PAIRS: usize = 12;

const HELP: &str = "\
The page of one run shows its figures and what they mean, curves, samples over the density, marginals, the two processes
step by step with what was learned of them, modes, weights and settings. That of several runs shows bounds and distances
against the number of steps. A page is one file that needs no network. Every run leaves one when it ends; of a run that is
going on, this command makes one of its newest checkpoint, and `ebbtide watch` shows it live.

Examples:
  ebbtide report runs/2026-11-16-25gmm-tb-tb-T5-s0
  ebbtide report runs/2026-11-16-25gmm-tb-tb-T5-s0 --plots figures --pair 0,1
  ebbtide report runs/ -o comparison.html";

impl Report {
    /// Makes a page and says where it is.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let places = places(&self.names, runs)?;
        let ((shown, unreadable), path) = match &places[..] {
            [one] if is_run(one) => ((self.one(one)?, Vec::new()), self.place(one)),
            [folder] => (self.several(&places, folder)?, Files(folder).report()),
            _ => (self.several(&places, Path::new("."))?, PathBuf::from("report.html")),
        };
        let path = self.output.as_ref().unwrap_or(&path);
        replace_with(path, shown.page.to_html(Life::Still).as_bytes())?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", path.display())?;
        if let Some(folder) = &self.plots {
            keep::plots(folder, &shown)?;
            writeln!(out, "{} charts, as SVG and PNG, in {}", shown.charts.len(), folder.display())?;
            if !shown.pictures.is_empty() {
                writeln!(out, "{} pictures, as PNG, beside them", shown.pictures.len())?;
            }
        }
        tell_unreadable(unreadable)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Where the page of a run goes. That of its best weights is not what the run came to.
    fn place(&self, run: &Path) -> PathBuf {
        match self.checkpoint {
            Which::Last => Files(run).report(),
            Which::Best => run.join("report-best.html"),
        }
    }

    fn one(&self, folder: &Path) -> Result<Shown, Failure> {
        let portrait = Portrait::read(folder, self.checkpoint, &Threads::new(self.threads)?)?;
        let dim = portrait.settings.built_target().dim();
        if let Some((i, j)) = self.pair.iter().find(|(i, j)| i.max(j) >= &dim) {
            return Err(Failure::Usage(format!(
                "--pair is {i},{j}, but {} has coordinates 0 to {}",
                portrait.settings.target,
                dim - 1
            )));
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for pair in &self.pair {
            if !pairs.contains(pair) {
                pairs.push(*pair);
            }
        }
        if pairs.len() > MOST_PAIRS {
            let count = pairs.len();
            return Err(Failure::Usage(format!(
                "{count} pairs are more than a page has room for: {MOST_PAIRS}"
            )));
        }
        Ok(page::run(&portrait, &pairs).map_err(PortraitError::from)?)
    }

    fn several(
        &self,
        places: &[PathBuf],
        folder: &Path,
    ) -> Result<(Shown, Vec<ebbtide_run::run::RunError>), Failure> {
        if !self.pair.is_empty() || self.checkpoint != Which::Last {
            return Err(Failure::Usage(
                "--pair and --checkpoint are for the page of a single run".to_owned(),
            ));
        }
        let Gathered { found, unreadable } = gather(places);
        if found.is_empty() {
            tell_unreadable(unreadable)?;
            return Err(Failure::Usage("there is no run to show".to_owned()));
        }
        let name =
            folder.file_name().map_or_else(|| "Runs".to_owned(), |name| name.to_string_lossy().into_owned());
        let from = self.output.as_deref().map_or(folder, |output| output.parent().unwrap_or(folder));
        let from = if from == Path::new("") { Path::new(".") } else { from };
        Ok((page::comparison(&name, &found, from), unreadable))
    }
}
