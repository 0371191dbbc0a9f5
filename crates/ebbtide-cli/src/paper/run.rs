//! `ebbtide paper run`: the runs of tables and figures that are not there yet.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide_paper::block::sections;
use ebbtide_paper::work::{Task, tasks};
use ebbtide_paper::write::{Form, write};
use ebbtide_paper::{Finding, Paper, Results, Row};
use ebbtide_run::durable::FileError;
use ebbtide_run::job::JobState;
use ebbtide_run::pool;
use ebbtide_run::sweep::Shard;

use super::{Place, Rows, names};
use crate::failure::{Failure, settle};
use crate::jobs::Jobs;
use crate::parse;

/// What to train. Everything is as in the paper, and nothing is trained twice.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Run {
    /// Tables and figures; `ebbtide paper list` has their names
    #[arg(required = true, value_name = "TABLE", value_parser = names(), hide_possible_values = true)]
    names: Vec<String>,
    #[command(flatten)]
    only: Rows,
    /// How many seeds, from 0 on
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Runs at a time, of one thread each [default: one for each core]
    #[arg(long, value_name = "K")]
    jobs: Option<usize>,
    /// Only one of several parts: 2/8 is the second of eight
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Stop each run early; what is found of it is marked as shorter [default: the paper's 25000]
    #[arg(long, value_name = "N", value_parser = parse::iterations)]
    iterations: Option<u64>,
    #[command(flatten)]
    place: Place,
    /// List what would be trained, and train nothing
    #[arg(long)]
    dry_run: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
Runs are kept in runs/paper, one folder each. Killed and started again, the command goes on where it was; what another process
works on is left alone, so several may share the folders. As soon as a run is done, what was found of it is a small file in
paper/results, to be committed: figures, curve, settings, commit, and the one command that gives the same bits again.

A file whose settings are not those of the row any more does not count, and its run is asked for again; so is one that is
shorter than what is asked for, and its run goes on. Figure 3 shows samples, which are in the folders of its runs: those are
trained again where they are not there.

Examples:
  ebbtide paper run funnel --targets easy-funnel --steps 5,10 --dry-run
  ebbtide paper run ablation --methods optimal,replay-4 --seeds 5 --jobs 2
  ebbtide paper run figure-3 --seeds 1 --shard 1/2

The code is 0 when all runs of the shard are done or at work elsewhere, whether they diverged or not, 130 when interrupted,
1 when some failed.";

impl Run {
    /// Trains what is missing, and prints the tables of what was asked for.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let paper = Paper::new();
        let selection = self.only.of(&self.names);
        let rows = selection.rows(&paper).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
        let results = self.place.read(&paper);
        let shard = self.shard.unwrap_or(Shard::ALL);
        let all = tasks(&paper, &rows, self.seeds, self.iterations, runs);
        let asked = all.len();
        // Places in the whole are the same for every shard, however much is done.
        let mine = all.into_iter().enumerate().filter(|(place, _)| shard.has(*place)).map(|(_, task)| task);
        let to_draw = |task: &Task| {
            let is_there = matches!(task.job.state(), Ok(JobState::Done));
            selection.shows_samples_of(task.row, task.seed) && !is_there
        };
        let missing: Vec<Task> = mine.filter(|task| !task.is_done(&results) || to_draw(task)).collect();
        if self.dry_run {
            list(&missing, asked)?;
            return Ok(ExitCode::SUCCESS);
        }
        let worked = self.work(&missing, &results, runs);
        // Whatever became of some runs, the others are worth a table.
        let shown = self.show(&paper, &rows);
        match worked {
            Ok(code) => settle(code, shown),
            Err(failure) => {
                shown.unwrap_or_else(|failure| failure.tell());
                Err(failure)
            }
        }
    }

    fn work(&self, missing: &[Task], results: &Results, runs: &Path) -> Result<ExitCode, Failure> {
        if missing.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let folder = Paper::runs(runs);
        fs::create_dir_all(&folder).map_err(FileError::of("make", &folder))?;
        // What was found before of a run that is trained for its samples stays.
        let places: HashMap<&Path, PathBuf> = missing
            .iter()
            .filter(|task| !task.is_done(results))
            .map(|task| (task.job.folder.as_path(), task.row.file(task.seed)))
            .collect();
        let workers = self.jobs.unwrap_or_else(pool::cores);
        let jobs = missing.iter().map(|task| &task.job).collect();
        Jobs { jobs, workers, quiet: self.quiet }.work(|job| {
            let Some(place) = places.get(job.folder.as_path()) else { return Ok(()) };
            Ok(Finding::of_run(&job.folder)?.write(&self.place.results.join(place))?)
        })
    }

    fn show(&self, paper: &Paper, rows: &[&Row]) -> Result<(), Failure> {
        let results = Results::read(&self.place.results, paper);
        Ok(write(&mut io::stdout().lock(), &sections(paper, &results, rows), Form::Text)?)
    }
}

/// What would be trained.
fn list(missing: &[Task], asked: usize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for task in missing {
        let state = match task.job.state() {
            Ok(JobState::Begun) => " (begun)",
            Ok(JobState::Done) => " (trained, and to be written down)",
            Ok(JobState::New) | Err(_) => "",
        };
        writeln!(out, "{}  {}{state}", task.row.table, task.row.name(task.seed))?;
    }
    writeln!(out, "{} of {asked} runs to train", missing.len())
}
